"""Requests while nodes fail: how many are answered over time, how late, and when all is well again."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from cassbook.core.errors import InputError
from cassbook.core.schema import OK, OUTCOMES
from cassbook.core.types import Floats

#: How requests end, as a person sees it: answered; refused, since too few replicas are up; timed out by the server or
#: by the client; lost with their connection; failed otherwise.
ENDS = ("ok", "unavailable", "server_timeout", "client_timeout", "connection_lost", "other")
_SERVER_TIMEOUTS = frozenset({"write_timeout", "read_timeout"})
_QUANTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}
WIDTH_S = 0.5
#: Columns of `over_time`, beside those that it groups by.
BINS = ("bin_s", "n", *ENDS, *_QUANTILES, "stale", "back")


def end_of(outcome: int) -> str:
    """Return which of `ENDS` an outcome is, by its number in `schema.OUTCOMES`."""
    name = OUTCOMES[outcome]
    if name in _SERVER_TIMEOUTS:
        return "server_timeout"
    return name if name in ENDS else "other"


def over_time(requests: pd.DataFrame, width_s: float = WIDTH_S) -> pd.DataFrame:
    """Count requests, and give their response times, by the moment at which they were due.

    Parameters
    ----------
    requests : DataFrame
        outcome (number), due_s, ended_s; and stale and back, True for reads that were.
    width_s : float
        Of a bin.

    Returns
    -------
    DataFrame
        One row per bin with requests, in order: columns `BINS`. bin_s is where it begins; times are response times of
        answered requests, from when they were due, in milliseconds (hundredths): NaN where none was answered.
    """
    place = np.floor(requests["due_s"] / width_s).astype(int)
    ends = requests["outcome"].map(end_of)
    counts = pd.crosstab(place, ends).reindex(columns=list(ENDS), fill_value=0)
    good = requests["outcome"] == OK
    response_ms = ((requests["ended_s"] - requests["due_s"]) * 1000)[good].groupby(place[good])
    quantiles = pd.DataFrame({name: response_ms.quantile(q) for name, q in _QUANTILES.items()})
    flags = requests[["stale", "back"]].astype(int).groupby(place).sum()
    table = counts.assign(n=counts.sum(axis=1)).join(quantiles.round(2).astype("float32")).join(flags)
    table = table.assign(bin_s=np.round(table.index.to_numpy() * width_s, 6)).reset_index(drop=True)
    return table[list(BINS)].rename_axis(columns=None)


def between(bins: pd.DataFrame, from_s: float, to_s: float) -> pd.DataFrame:
    """Return the bins of `WIDTH_S` from the one that holds a moment until before the one that holds another.

    What strikes just after a bin has begun, as all that is ordered on the second does, is of that bin.
    """
    first_s, last_s = _bin_s(np.array([from_s, to_s]))
    return bins[(bins["bin_s"] >= first_s) & (bins["bin_s"] < last_s)]


def _bin_s(moments_s: Floats) -> Floats:
    """When the bins of `WIDTH_S` begin that hold these moments."""
    return np.asarray(np.floor(moments_s / WIDTH_S) * WIDTH_S)


def recovered_after_s(bins: pd.DataFrame, since_s: float, most_failed: float = 0.01, for_s: float = 2.0) -> float:
    """Return how long after a moment requests are answered again, as they were before the fault.

    Parameters
    ----------
    bins : DataFrame
        Of one setting and operation, from `over_time`.
    since_s : float
        Such as the moment at which the fault began, or was over.
    most_failed : float
        Of the requests of `for_s` at most so many may fail.
    for_s : float
        For so long it must have gone well.

    Returns
    -------
    float
        Seconds; 0 where it went well from that moment on; infinite where it did not before the end.

    Raises
    ------
    InputError
        If there are no bins from that moment on.
    """
    after = bins[bins["bin_s"] >= since_s].sort_values("bin_s")
    if after.empty:
        raise InputError(f"bins: none begins at {since_s:g} s or later")
    starts, ok, n = (after[name].to_numpy() for name in ("bin_s", "ok", "n"))
    width_s = float(np.min(np.diff(starts))) if len(starts) > 1 else for_s
    first, last = (np.searchsorted(starts, _bin_s(moments)) for moments in (starts, starts + for_s))  # of its window
    answered, asked = (np.insert(np.cumsum(counts), 0, 0) for counts in (ok, n))
    failed = 1 - (answered[last] - answered[first]) / (asked[last] - asked[first])
    in_time = starts + for_s <= starts[-1] + width_s + 1e-9  # the end does not come too soon to tell
    (well,) = np.nonzero(in_time & (ok[first] == n[first]) & (failed <= most_failed))
    if not len(well):
        return math.inf
    return float(max(0.0, starts[well[0]] - since_s)) if well[0] else 0.0
