"""Which row is asked for: the request distributions of YCSB 0.17, vectorised."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: YCSB's ScrambledZipfianGenerator draws from ten billion ranks, with the zeta sum of that many precomputed.
_RANKS = 10_000_000_000
_THETA = 0.99
_ZETA_RANKS = 26.46902820178302
#: As a profile names them; `latest` moves with the inserts of a workload.
DISTRIBUTIONS = ("zipfian", "uniform", "latest", "hotspot", "exponential", "sequential")
_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(1099511628211)


def fnv64(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """FNV-1a over the eight bytes of each value, made non-negative as YCSB does it (Utils.fnvhash64)."""
    rest = np.asarray(values, dtype=np.uint64).copy()
    hashed = np.full(rest.shape, _FNV_OFFSET)
    with np.errstate(over="ignore"):
        for _ in range(8):
            hashed = (hashed ^ (rest & np.uint64(0xFF))) * _FNV_PRIME
            rest >>= np.uint64(8)
    return np.abs(hashed.view(np.int64))


def _zipfian_ranks(count: int, zeta: float, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Ranks from 0, the most popular, by the inverse transform of Gray et al. (SIGMOD 1994) as YCSB uses it."""
    zeta_two = 1.0 + 0.5**_THETA
    alpha = 1.0 / (1.0 - _THETA)
    eta = (1.0 - (2.0 / count) ** (1.0 - _THETA)) / (1.0 - zeta_two / zeta)
    u = rng.random(size)
    uz = u * zeta
    rank = (count * (eta * u - eta + 1.0) ** alpha).astype(np.int64)
    rank = np.where(uz < zeta_two, 1, rank)
    return np.where(uz < 1.0, 0, rank)


def scrambled_zipfian(count: int, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw row numbers in [0, count) whose popularity is zipfian (theta 0.99) and scattered over the key space.

    YCSB's ScrambledZipfianGenerator: a rank among ten billion, then FNV modulo `count`.
    """
    return fnv64(_zipfian_ranks(_RANKS, _ZETA_RANKS, size, rng)) % count


def zipfian(count: int, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw numbers in [0, count) of which 0 is the most popular, 1 the next, and so on (ZipfianGenerator)."""
    if count <= 2:  # noqa: PLR2004 - the transform divides by zero there
        return (rng.random(size) * (1.0 + 0.5**_THETA) >= 1.0).astype(np.int64) % count
    zeta = float((np.arange(1, count + 1, dtype=np.float64) ** -_THETA).sum())
    return _zipfian_ranks(count, zeta, size, rng)


def recency(count: int, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw how many rows before the newest of `count` a row is: zipfian, 0 is the newest.

    With it `newest - recency` is YCSB's SkewedLatestGenerator, which never asks for the very first row.
    """
    return zipfian(max(count - 1, 1), size, rng)


def hotspot(
    count: int, size: int, rng: np.random.Generator, rows: float = 0.2, requests: float = 0.8
) -> npt.NDArray[np.int64]:
    """Draw row numbers of which the first fifth gets four fifths of the requests (HotspotIntegerGenerator)."""
    hot = int(count * rows)
    if hot in (0, count):
        return rng.integers(0, count, size)
    return np.where(rng.random(size) < requests, rng.integers(0, hot, size), rng.integers(hot, count, size))


def exponential(
    count: int, size: int, rng: np.random.Generator, percentile: float = 95.0, rows: float = 0.8571428571
) -> npt.NDArray[np.int64]:
    """Draw row numbers, the newest most often: 95 % lie within the newest 6/7 of the rows (ExponentialGenerator).

    What would lie before the first row is drawn again, as YCSB does: here by drawing from the cut distribution.
    """
    scale = count * rows / -np.log(1.0 - percentile / 100.0)
    within = 1.0 - np.exp(-count / scale)
    behind = (-scale * np.log1p(-rng.random(size) * within)).astype(np.int64)
    return count - 1 - np.minimum(behind, count - 1)


def draw(distribution: str, count: int, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw `size` row numbers below `count` from one of DISTRIBUTIONS, with YCSB's defaults (0.17)."""
    if distribution == "uniform":
        return rng.integers(0, count, size)
    if distribution == "sequential":
        return np.arange(size, dtype=np.int64) % count
    if distribution == "latest":
        return count - 1 - recency(count, size, rng)
    by_name = {"zipfian": scrambled_zipfian, "hotspot": hotspot, "exponential": exponential}
    return by_name[distribution](count, size, rng)


def scan_lengths(distribution: str, longest: int, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw how many rows scans ask for, from 1 to `longest`: 'uniform', or 'zipfian' with 1 the most popular."""
    if distribution == "zipfian":
        return 1 + zipfian(longest, size, rng)
    return rng.integers(1, longest + 1, size)


def row_keys(numbers: npt.ArrayLike) -> list[bytes]:
    """YCSB's key of each row number: 'user' and its hash ('hashed' insert order, the default)."""
    return [b"user%d" % h for h in fnv64(numbers).tolist()]
