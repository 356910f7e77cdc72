"""Percentiles of a mix, from the distributions of the cells that it is made of.

A percentile of a mix is not the weighted mean of percentiles: the 99th percentile of 90 % fast reads and 10 % slow
writes is about the 90th of the writes. What mixes is the share of operations that are faster than some latency, so
distributions are mixed, each in proportion to its *operations*, and the percentile is read off the mixture.

A distribution is kept as a curve: the logarithm of its quantile, in microseconds, at each share of `GRID`. Between two
thread counts the logarithm of the quantile is taken as linear in the logarithm of threads, share by share: tails differ
by factors, and quantiles of a closed loop grow about in proportion to threads, which this keeps. (Linear in threads
themselves it would be too low, by a quarter and more over wide gaps between thread counts of the recorded runs.) A mean
is interpolated linearly itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import ArrayLike

from cassbook.core.types import Floats
from cassbook.latency import histograms, percentiles

#: Shares of operations at which a curve is known: even ones, dense in the upper tail, the slowest operation last.
GRID: Floats = np.unique(
    np.round(
        np.concatenate(
            [np.linspace(0, 1, 201), 1 - 10 ** -np.arange(1, 6.025, 0.025), list(percentiles.SHARES.values())]
        ),
        9,
    )
)
#: Latencies are whole microseconds; a half stands for what is below one.
_LEAST_US = 0.5
#: What tells equal values of a curve apart, far below the precision of a histogram.
_STEP = 1e-12


def curve(counted: HdrHistogram) -> Floats:
    """Return the logarithm of the quantile in us at each share of `GRID`, of shape (shares,)."""
    return np.asarray(np.log(np.maximum(histograms.quantiles_us(counted, GRID), _LEAST_US)))


def cell_curves(recorded: Mapping[str, HdrHistogram], cell_ids: Iterable[str]) -> dict[str, Floats]:
    """Return the curve of each cell, over all of its operations.

    Parameters
    ----------
    recorded : mapping of str to HdrHistogram
        By tag, `CELL.OPERATION`: service times.
    cell_ids : iterable of str

    Returns
    -------
    dict
        Of those cells that have a histogram.
    """
    tags = histograms.tags_by_cell(recorded)
    return {
        cell_id: curve(histograms.merged(recorded[tag] for tag in tags[cell_id]))
        for cell_id in cell_ids
        if cell_id in tags
    }


def quantiles(one: Floats, shares: ArrayLike) -> Floats:
    """Return the logarithms of quantiles of one curve."""
    return np.interp(np.asarray(shares, dtype=float), GRID, one)


def mixed_quantiles(curves: Floats, weights: ArrayLike, shares: ArrayLike) -> Floats:
    """Return the logarithms of quantiles of a mixture.

    Parameters
    ----------
    curves : ndarray, shape (parts, GRID.size)
    weights : array_like, shape (parts,)
        Share of the operations that each part has; they add up to 1.
    shares : array_like
        Quantiles wanted, from 0 to 1.

    Returns
    -------
    ndarray
        Of the shape of `shares`; NaN where a part is not known.

    Examples
    --------
    Reads at 1 ms, writes at 9 ms; with 90 % reads the 95th percentile is a write's.

    >>> reads, writes = np.full(GRID.size, np.log(1000.0)), np.full(GRID.size, np.log(9000.0))
    >>> np.exp(mixed_quantiles(np.stack([reads, writes]), [0.9, 0.1], [0.5, 0.95])).round()
    array([1000., 9000.])
    """
    wanted = np.asarray(shares, dtype=float)
    if not np.isfinite(curves).all():
        return np.full(wanted.shape, np.nan)
    rising = np.maximum.accumulate(curves, axis=1) + _STEP * np.arange(GRID.size)
    at = np.unique(rising)
    below = np.zeros(at.size)
    for one, weight in zip(rising, np.asarray(weights, dtype=float), strict=True):
        below += weight * np.interp(at, one, GRID, left=0.0, right=1.0)
    # The least latency that so many operations do not exceed; between two known points the line through them.
    place = np.searchsorted(below, wanted - _STEP).clip(0, at.size - 1)
    before = np.maximum(place - 1, 0)
    rise = below[place] - below[before]
    part = np.divide(wanted - below[before], rise, out=np.ones(wanted.shape), where=rise > 0)
    return np.asarray(at[before] + (at[place] - at[before]) * part.clip(0, 1))
