import numpy as np
import pytest

from cassbook.lab.load import keys


def reference_fnv(value):
    """YCSB's Utils.fnvhash64, in plain Python with Java's 64-bit arithmetic."""
    hashed = 0xCBF29CE484222325
    for _ in range(8):
        hashed = ((hashed ^ (value & 0xFF)) * 1099511628211) & (2**64 - 1)
        value >>= 8
    return abs(hashed - 2**64 if hashed >= 2**63 else hashed)


def test_hash_is_ycsbs():
    numbers = [0, 1, 2, 12345, 2**40 + 7]
    assert keys.fnv64(numbers).tolist() == [reference_fnv(n) for n in numbers]


def test_the_first_key_is_the_one_everybody_knows():
    assert keys.row_keys([0]) == [b"user6284781860667377211"]


def test_popularity_is_zipfian_with_theta_099():
    draws = keys.draw("zipfian", 1_000_000, 400_000, np.random.default_rng(5))
    counts = np.sort(np.unique(draws, return_counts=True)[1])[::-1]
    assert counts[0] / draws.size == pytest.approx(1 / 26.469, rel=0.05)
    assert counts[1] / counts[0] == pytest.approx(0.5**0.99, rel=0.08)
    assert draws.min() >= 0
    assert draws.max() < 1_000_000


def test_the_popular_rows_are_scattered():
    draws = keys.draw("zipfian", 25_000, 100_000, np.random.default_rng(5))
    rows, counts = np.unique(draws, return_counts=True)
    popular = rows[np.argsort(counts)[-20:]]
    assert popular.std() > 25_000 / 8


def test_uniform_is_uniform():
    draws = keys.draw("uniform", 10, 100_000, np.random.default_rng(5))
    counts = np.bincount(draws, minlength=10)
    assert counts.min() > 9_500
    assert counts.max() < 10_500
