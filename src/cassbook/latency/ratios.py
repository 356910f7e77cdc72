"""A ratio of two runs' figures with its interval: Welch's t over blocks, or what one cluster start can say."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import NamedTuple

import numpy as np
from scipy import stats

from cassbook.core.estimate import FEWEST, Estimate
from cassbook.latency import uncertainty


class Ratio(NamedTuple):
    """A ratio, its bounds, and what they rest on."""

    value: float
    low: float
    high: float
    basis: str


def half_log(value: float, low: float, high: float) -> float:
    """Half-width of an interval on the scale of logarithms, the wider side."""
    if not value > 0 or not high > 0:
        return float("nan")
    upper = np.log(high / value)
    return float(max(upper, np.log(value / low)) if low > 0 else np.nan)


def _half(logs: np.ndarray, within: float) -> float:
    """Half-width of one run's interval on the scale of logarithms: over its blocks if there are some."""
    if logs.size == 1:
        return within
    over_blocks = Estimate.mean(logs)
    return (over_blocks.high - over_blocks.low) / 2


def welch_bounds(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Bounds of each difference of means, second less first, NaN where one has too few; shape (pairs, 2).

    Pairs of the same sizes are computed in one step. Without any spread the difference is exact.
    """
    bounds, by_size = np.full((len(pairs), 2), np.nan), defaultdict(list)
    for place, (a, b) in enumerate(pairs):
        if min(a.size, b.size) < FEWEST:
            continue
        if np.ptp(a) == 0 and np.ptp(b) == 0:
            bounds[place] = b.mean() - a.mean()
        else:
            by_size[a.size, b.size].append(place)
    for places in by_size.values():
        a, b = (np.stack([pairs[place][side] for place in places]) for side in (0, 1))
        with warnings.catch_warnings():
            # A side may not vary at all, as throughput at a fixed rate: where there is no spread, no precision is lost.
            warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
            found = stats.ttest_ind(b, a, axis=1, equal_var=False).confidence_interval(uncertainty.LEVEL)
        bounds[places] = np.column_stack([found.low, found.high])
    return bounds


def ratio_of(a: np.ndarray, b: np.ndarray, halves: tuple[float, float], welch: np.ndarray) -> Ratio:
    """Ratio of b to a with its bounds, and what they rest on; `halves` are the intervals within one start."""
    if not min(a.size, b.size):  # as the throughput of one operation, which took no time
        return Ratio(float("nan"), float("nan"), float("nan"), uncertainty.NOTHING)
    centre = float(b.mean() - a.mean())
    if min(a.size, b.size) >= FEWEST:
        low, high = np.exp(welch)
        return Ratio(float(np.exp(centre)), float(low), float(high), uncertainty.BLOCKS)
    half = float(np.hypot(_half(a, halves[0]), _half(b, halves[1])))
    basis = uncertainty.NOTHING if np.isnan(half) else uncertainty.ONE_START
    return Ratio(float(np.exp(centre)), float(np.exp(centre - half)), float(np.exp(centre + half)), basis)
