"""How far a figure can be trusted: within a cell, where operations depend on each other, and over blocks.

Operations that follow each other share a queue, a garbage collection, a compaction. What n of them say of a mean is
therefore less than n independent ones would, and the textbook's interval is too narrow. Here the time of a cell is cut
into equal batches; long enough batches forget each other, and the interval comes from how *they* differ.

The number of batches follows Fishman (Management Science 24, 1978): begin with `BATCHES`, and halve it as long as von
Neumann's ratio says that neighbours are alike, at least `FEWEST`. Quantiles go by Woodruff (JASA 47, 1952): an
interval for the *share* of operations below, from the same batches, read back as latencies; its bounds are those of
Korn and Graubard (Survey Methodology 24, 1998), so that they are right for p99 as well.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from cassbook.core.estimate import Estimate, binomial_bounds
from cassbook.core.types import Floats

#: Batches to begin with, and the fewest to end with; between 10 and 30 is what Schmeiser (1982) recommends.
BATCHES = 32
FEWEST = 8
LEVEL = 0.95
_TAIL = (1 - LEVEL) / 2
#: One-sided level at which neighbouring batches count as alike.
_ALIKE = 0.05
#: What an interval rests on.
BLOCKS, ONE_START, NOTHING = "blocks", "one cluster start", ""

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Figures:
    """A statistic of each cell with its 95 % interval within the cell; arrays of shape (cells,)."""

    #: NaN where the operations of a cell do not suffice.
    value: Floats
    low: Floats
    high: Floats
    #: How many independent operations would say as much. Above the true number where neighbours make up for each other,
    #: as in a closed loop they may.
    effective_n: Floats


def batch_of(started_s: Floats) -> Counts:
    """Batch of each operation of a cell: `BATCHES` equal slices of the time from its first start to its last."""
    if started_s.size == 0:
        return np.empty(0, dtype=np.int64)
    first, last = started_s.min(), started_s.max()
    scale = BATCHES / (last - first) if last > first else 0.0
    return np.minimum(((started_s - first) * scale).astype(np.int64), BATCHES - 1)


def _von_neumann(residuals: Floats) -> Floats:
    """Standardised ratio of von Neumann along the last axis: strongly negative where neighbours are alike."""
    n = residuals.shape[-1]
    squares = (residuals**2).sum(axis=-1)
    steps = (np.diff(residuals, axis=-1) ** 2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = steps / squares
    return np.asarray((ratio - 2) / np.sqrt(4 * (n - 2) / (n**2 - 1)))


def ratio_error(sums: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Standard error of sum / count from batches, and its degrees of freedom.

    Parameters
    ----------
    sums, counts : ndarray, shape (..., BATCHES)
        Sum of the values, and number of operations, of each batch in the order of time.

    Returns
    -------
    error, degrees : ndarray, shape (...)
        NaN error where fewer than `FEWEST` batches hold an operation.
    """
    value = np.asarray(sums.sum(axis=-1) / np.maximum(counts.sum(axis=-1), 1))
    residuals = sums - value[..., None] * counts
    total = np.maximum(counts.sum(axis=-1), 1)
    error, degrees = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    open_ = np.ones(value.shape, dtype=bool)
    while True:
        n = residuals.shape[-1]
        here = np.sqrt(n / (n - 1) * (residuals**2).sum(axis=-1)) / total
        alike = _von_neumann(residuals) < special.ndtri(_ALIKE)
        ends = open_ & (~alike | (n <= FEWEST))
        error[ends], degrees[ends] = here[ends], n - 1
        open_ &= ~ends
        if n <= FEWEST:
            break
        residuals = residuals[..., 0::2] + residuals[..., 1::2]
    error[(counts > 0).sum(axis=-1) < FEWEST] = np.nan
    return error, degrees


@dataclass(frozen=True, slots=True)
class Within:
    """What the operations of each cell say, arrays of shape (cells,)."""

    mean: Figures
    sd: Floats  # with n - 1; NaN for fewer than two operations
    rate_half: Floats  # half-width of the 95 % interval of the throughput, as a part of it
    quantiles: list[Figures]  # in the order asked for


def means(sums: Floats, counts: Floats, sd: Floats) -> Figures:
    """Mean of each cell with Student's t interval over batches.

    `sums` and `counts`: shape (cells, BATCHES); sum of latencies and number of operations by batch. `sd`: shape
    (cells,); standard deviation over operations; only the effective number needs it.
    """
    n = counts.sum(axis=-1)
    value = np.where(n > 0, sums.sum(axis=-1) / np.maximum(n, 1), np.nan)
    error, degrees = ratio_error(sums, counts)
    half = special.stdtrit(degrees, 1 - _TAIL) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        effective_n = np.where(error > 0, (sd / error) ** 2, np.where(np.isnan(error), np.nan, n))
    return Figures(value, value - half, value + half, effective_n)


def share_bounds(share: float, above: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Interval for the share of operations below a quantile (Korn and Graubard 1998).

    Parameters
    ----------
    share : float
        The quantile's own: 0.99 for p99.
    above, counts : ndarray, shape (cells, BATCHES)
        Operations over the sample quantile, and all, by batch.

    Returns
    -------
    low, high, effective_n : ndarray, shape (cells,)
        Shares between 0 and 1. NaN where the effective number is so small that the most (or the least) of them
        would not bound the quantile in 97.5 of 100 cases, as with fewer than 368 for p99.
    """
    n = counts.sum(axis=-1).astype(float)
    error, degrees = ratio_error(above, counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        widened = (special.ndtri(_TAIL) / special.stdtrit(degrees, _TAIL)) ** 2
        effective_n = np.where(error > 0, share * (1 - share) / error**2, n)
    effective_n = np.where(np.isnan(error), np.nan, np.minimum(effective_n, n))
    size = effective_n * widened
    low, high = binomial_bounds(share, size)
    low = np.where((1 - share) ** size > _TAIL, np.nan, low)
    high = np.where(share**size > _TAIL, np.nan, high)
    return low, high, effective_n


@dataclass(frozen=True, slots=True)
class Sorted:
    """Latencies of all cells, ascending within each: quantiles of every cell in one step."""

    values: Floats  # ndarray of float, shape (operations,)
    #: shape (cells,); where a cell begins, and how many operations it has.
    first: Counts
    n: Counts

    def at(self, share: Floats | float) -> Floats:
        """Quantile of each cell, interpolated as `numpy.quantile` does; NaN for an empty cell or a NaN share."""
        share = np.broadcast_to(np.asarray(share, dtype=float), self.n.shape)
        quantiles = np.full(self.n.shape, np.nan)
        known = (self.n > 0) & ~np.isnan(share)
        exact = share[known] * (self.n[known] - 1)
        place = np.floor(exact).astype(np.int64)
        after = np.minimum(place + 1, self.n[known] - 1)
        low, high = self.values[self.first[known] + place], self.values[self.first[known] + after]
        quantiles[known] = low + (high - low) * (exact - place)
        return quantiles


def _groups(place: NDArray[np.int64], n_cells: int) -> tuple[NDArray[np.int64] | None, Counts, Counts]:
    """Order that brings the operations of a cell together (None if they are), where each begins, and how many."""
    n = np.bincount(place, minlength=n_cells)
    first = np.cumsum(n) - n
    together = bool((np.diff(place) >= 0).all())
    small = place.astype(np.int16) if n_cells < np.iinfo(np.int16).max else place  # radix sort
    return (None if together else np.argsort(small, kind="stable")), first, n


def within_cells(
    place: NDArray[np.int64], started_s: Floats, latency_us: Floats, n_cells: int, shares: Sequence[float]
) -> Within:
    """Mean, standard deviation and quantiles of each cell, with intervals within the cell.

    Parameters
    ----------
    place : ndarray of int, shape (operations,)
        Cell of each operation, from 0 to n_cells - 1.
    started_s, latency_us : ndarray of float, shape (operations,)
    n_cells : int
    shares : sequence of float
        Quantiles wanted.
    """
    order, first, n = _groups(place, n_cells)
    if order is not None:
        started_s, latency_us = started_s[order], latency_us[order]
    owns = [slice(begin, begin + size) for begin, size in zip(first, n, strict=True)]
    shape = (n_cells, BATCHES)
    sums, counts, sd = np.zeros(shape), np.zeros(shape), np.full(n_cells, np.nan)
    batch, ascending = np.empty(latency_us.size, dtype=np.int8), np.empty_like(latency_us)
    for cell, rows in enumerate(owns):
        batch[rows] = batch_of(started_s[rows])
        counts[cell] = np.bincount(batch[rows], minlength=BATCHES)
        sums[cell] = np.bincount(batch[rows], latency_us[rows], minlength=BATCHES)
        ascending[rows] = np.sort(latency_us[rows])
        if n[cell] > 1:
            sd[cell] = latency_us[rows].std(ddof=1)
    values = Sorted(ascending, first, n)
    quantiles = []
    for share in shares:
        at, above = values.at(share), np.zeros(shape)
        for cell, rows in enumerate(owns):
            above[cell] = np.bincount(batch[rows][latency_us[rows] > at[cell]], minlength=BATCHES)
        low, high, effective_n = share_bounds(share, above, counts)
        quantiles.append(Figures(at, values.at(low), values.at(high), effective_n))
    error, degrees = ratio_error(counts, np.ones(shape))
    rate_half = special.stdtrit(degrees, 1 - _TAIL) * error / np.where(n > 0, n / BATCHES, np.nan)
    mean = means(sums, counts, sd)
    return Within(mean, sd, np.where(np.isnan(mean.low), np.nan, rate_half), quantiles)


def over_blocks(by_block: Floats, low: float = np.nan, high: float = np.nan) -> tuple[Estimate, str]:
    """Estimate a latency or a rate over blocks, with its interval and what that rests on.

    Parameters
    ----------
    by_block : ndarray of float, shape (blocks,)
        One figure per block; NaN are left out.
    low, high : float
        Bounds within the cell, for the case that there is one block.

    Returns
    -------
    estimate : Estimate
        `Estimate.positive` over blocks. With one block the bounds within the cell: they tell what this cluster start
        would have given with more operations, *not* what another start would give.
    basis : str
        `BLOCKS`, `ONE_START`, or `NOTHING` where there is no interval, as of two blocks.

    Raises
    ------
    ValueError
        If no block has a figure.
    """
    known = by_block[np.isfinite(by_block)]
    estimate = Estimate.positive(known)
    if not np.isnan(estimate.low):
        return estimate, BLOCKS
    if known.size > 1 or np.isnan(low) or np.isnan(high):
        return estimate, NOTHING
    return Estimate(estimate.value, float(low), float(high), 1), ONE_START


def holm(p_values: Sequence[float]) -> Floats:
    """Adjust p-values for their number (Holm 1979), in the order given."""
    if len(p_values) == 1:
        return np.asarray(p_values, dtype=float)
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415 - brings scipy.stats along, see below

    gc.freeze()  # statsmodels collects garbage at each call, which takes 60 ms and more of all that there is
    try:
        return np.asarray(multipletests(p_values, method="holm")[1])
    finally:
        gc.unfreeze()


def paired_p(differences: Floats) -> float:
    """Two-sided p-value of Student's t for a mean of zero; NaN for fewer than two differences.

    Differences that are all the same leave no doubt: 0, or 1 if they are nothing.
    """
    return float(paired_p_values(differences))


def paired_p_values(differences: Floats) -> Floats:
    """`paired_p` of many rows at once.

    `differences`: shape (n, ...); one a block along the first axis; NaN are left out.
    """
    from scipy import stats  # noqa: PLC0415 - takes half a second, and reading a run tests nothing

    known = np.isfinite(differences)
    least = np.where(known, differences, np.inf).min(axis=0)
    most = np.where(known, differences, -np.inf).max(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of differences that are few, or all the same
        policy = "propagate" if known.all() else "omit"  # which takes ten times as long
        p = stats.ttest_1samp(np.where(known, differences, np.nan), 0.0, nan_policy=policy).pvalue
    same = (known.sum(axis=0) > 1) & (least == most)
    return np.asarray(np.where(same, (most == 0).astype(float), p))
