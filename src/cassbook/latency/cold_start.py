"""The slow beginning of a cell (Gorbenko 2020, section III.B, Fig. 2 and 3).

The paper cuts off the first 800 to 1000 ms by eye and reports delays 5 to 8 times longer there. Here the end
is found by a rule, so that 'there is none' is an answer too.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cassbook.errors import CassbookWarning, InputError

#: Consecutive bins that must lie in the band for the cell to count as settled.
CONSECUTIVE = 3

#: Half-width of the band, in robust standard deviations.
WIDTH = 3.0

#: Turns a median absolute deviation into the standard deviation of a normal distribution.
_MAD_TO_SD = 1.4826

#: The last half of the series must hold so many bins, to have a level and a spread.
_MIN_BINS = 2 * CONSECUTIVE


@dataclass(frozen=True, slots=True)
class ColdStart:
    """What was found at the beginning of a cell.

    Attributes
    ----------
    ends_ms : float or None
        Milliseconds from the cell's first operation to the first settled bin. None if there is no cold
        start, or (see `settled`) no end to it.
    factor : float
        Mean latency of the operations before the end by the mean of those after; NaN where `ends_ms` is None.
    settled_us : float
        Median of the bin means over the last half of the series.
    settled : bool
        False if no three consecutive bins ever lie in the band.
    bins : int
        How many bins held an operation.
    """

    ends_ms: float | None
    factor: float
    settled_us: float
    settled: bool
    bins: int


def series(samples: pd.DataFrame, bin_ms: float = 50) -> pd.DataFrame:
    """Latency over the time since the cell began.

    Parameters
    ----------
    samples : DataFrame
        Columns started_s, latency_us, outcome and optionally cell_id, as `schema.SAMPLES`, every phase
        wanted. Successful operations count; those of several cells are laid over each other, each from its
        own start.
    bin_ms : float
        Width of a bin in milliseconds; an operation falls into the bin in which it was started.

    Returns
    -------
    DataFrame
        One row a bin that holds an operation, ascending: since_start_ms (where the bin begins), mean_us,
        median_us, n.

    Raises
    ------
    InputError
        For a width that is not positive.
    """
    if not bin_ms > 0:
        raise InputError(f"bin_ms: {bin_ms!r} is not a positive number of milliseconds")
    started_s = samples["started_s"]
    if "cell_id" in samples.columns:
        began_s = started_s.groupby(samples["cell_id"], observed=True).transform("min")
    else:
        began_s = pd.Series(started_s.min(), index=started_s.index)
    ok = (samples["outcome"] == "ok").to_numpy()
    # an operation started on the border of two bins must not slip below it by rounding
    place = np.floor((started_s - began_s)[ok].to_numpy() * 1000 / bin_ms + 1e-9)
    table = samples["latency_us"][ok].groupby(place).agg(["mean", "median", "count"])
    table = table.set_axis(["mean_us", "median_us", "n"], axis=1)
    return table.rename_axis("since_start_ms").reset_index().assign(since_start_ms=lambda t: t.since_start_ms * bin_ms)


def _first_settled(mean_us: np.ndarray, settled_us: float, spread_us: float) -> int | None:
    """Index of the first of `CONSECUTIVE` bins in the band, None if there are none."""
    inside = np.abs(mean_us - settled_us) <= WIDTH * spread_us
    runs = np.lib.stride_tricks.sliding_window_view(inside, CONSECUTIVE).all(axis=1)
    return int(runs.argmax()) if runs.any() else None


def cold_start(samples: pd.DataFrame, bin_ms: float = 50) -> ColdStart:
    """Find the end of the cold start, if there is one (section III.B).

    The rule: the settled level is the median of the bin means over the last half of the bins, its spread
    their median absolute deviation times 1.4826; the cold start ends where the first of three consecutive
    bins within three spreads of the level begins. If that is the first bin, there is none. Bins without an
    operation tell nothing and are passed over.

    Parameters
    ----------
    samples : DataFrame
        As for `series`; one cell, from its first operation on.
    bin_ms : float
        Width of a bin in milliseconds.

    Raises
    ------
    InputError
        With fewer than six bins that hold an operation: the series is too short to have a settled half.

    Warns
    -----
    CassbookWarning
        If the series never settles.
    """
    bins = series(samples, bin_ms)
    if len(bins) < _MIN_BINS:
        raise InputError(f"a cold start needs {_MIN_BINS} bins of {bin_ms:g} ms, got {len(bins)}: use shorter bins")
    mean_us, n = bins["mean_us"].to_numpy(), bins["n"].to_numpy()
    last_half = mean_us[len(bins) // 2 :]
    settled_us = float(np.median(last_half))
    spread_us = _MAD_TO_SD * float(np.median(np.abs(last_half - settled_us)))
    first = _first_settled(mean_us, settled_us, spread_us)
    if first is None:
        warnings.warn("latency never settles for three bins: the end is not known", CassbookWarning, stacklevel=2)
    if not first:
        return ColdStart(None, float("nan"), settled_us, first is not None, len(bins))
    before, after = (float(np.average(mean_us[part], weights=n[part])) for part in (np.s_[:first], np.s_[first:]))
    return ColdStart(float(bins["since_start_ms"].iloc[first]), before / after, settled_us, True, len(bins))
