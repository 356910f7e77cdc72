"""Which row is asked for: YCSB's scrambled zipfian and uniform request distributions, vectorised."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: YCSB's ScrambledZipfianGenerator draws from ten billion ranks, with the zeta sum of that many precomputed.
_RANKS = 10_000_000_000
_THETA = 0.99
_ZETA_RANKS = 26.46902820178302
_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(1099511628211)


def fnv64(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """FNV-1a over the eight bytes of each value, made non-negative as YCSB does it (Utils.fnvhash64).

    Parameters
    ----------
    values : array_like of int64, any shape

    Returns
    -------
    ndarray of int64, same shape
    """
    rest = np.asarray(values, dtype=np.uint64).copy()
    hashed = np.full(rest.shape, _FNV_OFFSET)
    with np.errstate(over="ignore"):
        for _ in range(8):
            hashed = (hashed ^ (rest & np.uint64(0xFF))) * _FNV_PRIME
            rest >>= np.uint64(8)
    return np.abs(hashed.view(np.int64))


def scrambled_zipfian(count: int, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw row numbers whose popularity is zipfian (theta 0.99) and scattered over the key space.

    The inverse-transform of Gray et al. (SIGMOD 1994) as YCSB uses it, then FNV modulo `count`.

    Parameters
    ----------
    count : int
        Rows there are.
    size : int
        Draws wanted.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int64, shape (size,), each in [0, count)
    """
    zeta_two = 1.0 + 0.5**_THETA
    alpha = 1.0 / (1.0 - _THETA)
    eta = (1.0 - (2.0 / _RANKS) ** (1.0 - _THETA)) / (1.0 - zeta_two / _ZETA_RANKS)
    u = rng.random(size)
    uz = u * _ZETA_RANKS
    rank = (_RANKS * (eta * u - eta + 1.0) ** alpha).astype(np.int64)
    rank = np.where(uz < zeta_two, 1, rank)
    rank = np.where(uz < 1.0, 0, rank)
    return fnv64(rank) % count


def draw(distribution: str, count: int, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw `size` row numbers below `count` from a named distribution ('zipfian' or 'uniform')."""
    if distribution == "zipfian":
        return scrambled_zipfian(count, size, rng)
    return rng.integers(0, count, size)


def row_keys(numbers: npt.ArrayLike) -> list[bytes]:
    """YCSB's key of each row number: 'user' and its hash ('hashed' insert order, the default)."""
    return [b"user%d" % h for h in fnv64(numbers).tolist()]
