"""Random numbers inside compiled code: xoshiro256++ (Blackman and Vigna 2019), and a ziggurat for the exponential.

numba's own exponential takes a logarithm each time; the ziggurat (Marsaglia and Tsang 2000) needs one in a hundred. The
state is handed on by value, four numbers, so that it stays in the processor's registers while an array is filled.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cassbook.core.compilation import compiled
from cassbook.core.types import Floats

_R, _V = 7.69711747013104972, 0.0039496598225815571993
_TWO_53 = 2.0**53


def _layers() -> tuple[NDArray[np.uint64], Floats, Floats]:
    """Acceptance bounds, widths and heights of 256 layers."""
    bounds, widths, heights = np.zeros(256, np.uint64), np.zeros(256), np.zeros(256)
    right = last = _R
    base = _V / math.exp(-_R)
    bounds[0] = int(right / base * _TWO_53)
    widths[0], widths[255] = base / _TWO_53, right / _TWO_53
    heights[0], heights[255] = 1.0, math.exp(-_R)
    for i in range(254, 0, -1):
        right = -math.log(_V / right + math.exp(-right))
        bounds[i + 1] = int(right / last * _TWO_53)
        last = right
        heights[i], widths[i] = math.exp(-right), right / _TWO_53
    return bounds, widths, heights


_BOUNDS, _WIDTHS, _HEIGHTS = _layers()


@compiled(inline="always")
def following(s):  # type: ignore[no-untyped-def]
    """Next 64 bits, and the state after them."""
    s0, s1, s2, s3 = s
    total = s0 + s3
    bits = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    t = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    return bits, (s0, s1, s2, (s3 << np.uint64(45)) | (s3 >> np.uint64(19)))


@compiled(inline="always")
def evenly(s):  # type: ignore[no-untyped-def]
    """A float64 in [0, 1), and the state after it."""
    bits, s = following(s)
    return np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0), s


@compiled(inline="always")
def exponential(s):  # type: ignore[no-untyped-def]
    """Exponential of mean 1, and the state after it."""
    while True:
        bits, s = following(s)
        layer = (bits >> np.uint64(3)) & np.uint64(255)
        bits >>= np.uint64(11)
        x = np.float64(bits) * _WIDTHS[layer]
        if bits < _BOUNDS[layer]:
            return x, s
        chance, s = evenly(s)  # next to a layer's core: one draw in a hundred
        if layer == 0:
            return _R - math.log1p(-chance), s
        if (_HEIGHTS[layer - 1] - _HEIGHTS[layer]) * chance + _HEIGHTS[layer] < math.exp(-x):
            return x, s


def streams(seed: int, count: int) -> NDArray[np.uint64]:
    """States of `count` independent streams, shape (count, 4)."""
    return np.random.SeedSequence(seed).generate_state(4 * count, np.uint64).reshape(count, 4).astype(np.uint64)
