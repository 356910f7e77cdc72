"""The slow beginning of a cell (Gorbenko 2020, section III.B, Fig. 2 and 3).

The paper cuts off the first 800 to 1000 ms by eye and reports delays 5 to 8 times longer there. Here the end is found
by a rule (see `changepoint`), so that 'there is none' is an answer too. Cells that were measured after something had
been made cold, and warm-ups, have their series since each began.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import pandas as pd

from cassbook.core.errors import CassbookWarning, InputError
from cassbook.core.schema import WARM_UP
from cassbook.core.units import MS_PER_S
from cassbook.latency import changepoint
from cassbook.latency.summaries import LEVEL_ORDER

#: What the paper reports of every test: where the cold start ends, in ms, and how many times slower it is.
PAPER_ENDS_MS = (800, 1000)
PAPER_FACTOR = (5, 8)
#: What was cold before a cell of kind 'cold' began, from little to much.
CONDITIONS = ("warm", "restarted_client", "cold_pages", "restarted_server")
_COLUMNS = ["cell_id", "started_s", "latency_us", "outcome", "phase"]


@dataclass(frozen=True, slots=True)
class ColdStart:
    """What was found at the beginning of a cell.

    Attributes
    ----------
    ends_ms : float or None
        Milliseconds from the cell's first operation to the end of the slow beginning. None if there is no cold
        start, or (see `settled`) no end to it.
    factor : float
        Mean latency of the operations before the end by the mean of those after; NaN where `ends_ms` is None.
    settled_us : float
        Median of the bin means over the last half of the series.
    settled : bool
        False if the slow beginning lasts to the middle of the series or beyond.
    bins : int
        How many bins held an operation.
    p_value : float
        How often a series without a cold start, as much alike from bin to bin, looks as much like one.
    """

    ends_ms: float | None
    factor: float
    settled_us: float
    settled: bool
    bins: int
    p_value: float


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
        One row per bin that holds an operation, ascending: since_start_ms (where the bin begins), mean_us,
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


def end(bins: pd.DataFrame) -> ColdStart:
    """Find the end of the cold start in a series.

    Parameters
    ----------
    bins : DataFrame
        From `series`: since_start_ms, mean_us, n.

    Raises
    ------
    InputError
        With too few bins to have a settled half (`changepoint.FEWEST`).
    """
    if len(bins) < changepoint.FEWEST:
        raise InputError(f"a cold start needs {changepoint.FEWEST} bins, got {len(bins)}: use shorter bins")
    mean_us, n = bins["mean_us"].to_numpy(dtype=float), bins["n"].to_numpy(dtype=float)
    change = changepoint.beginning(np.log(mean_us))
    settled_us = float(np.median(mean_us[len(bins) // 2 :]))
    if not change.settled or change.bins == 0:
        return ColdStart(None, float("nan"), settled_us, change.settled, len(bins), change.p_value)
    first = change.bins
    before, after = (float(np.average(mean_us[part], weights=n[part])) for part in (np.s_[:first], np.s_[first:]))
    ends_ms = float(bins["since_start_ms"].iloc[first])
    return ColdStart(ends_ms, before / after, settled_us, True, len(bins), change.p_value)


def cold_start(samples: pd.DataFrame, bin_ms: float = 50) -> ColdStart:
    """Find the end of the cold start, if there is one (section III.B).

    The rule is that of `changepoint.beginning` on the logarithm of the bin means: a beginning is cut off as long as
    it is slower than what follows it by more than bins so alike differ by chance in one series of a hundred. Bins
    without an operation tell nothing and are passed over.

    Parameters
    ----------
    samples : DataFrame
        As for `series`; one cell, from its first operation on.
    bin_ms : float
        Width of a bin in milliseconds.

    Raises
    ------
    InputError
        With too few bins that hold an operation: the series is too short to have a settled half.

    Warns
    -----
    CassbookWarning
        If the series never settles.
    """
    start = end(series(samples, bin_ms))
    if not start.settled:
        warnings.warn(
            "latency has not settled by the middle of the series: the end is not known", CassbookWarning, stacklevel=2
        )
    return start


class Run(Protocol):
    """What is asked of a recorded run (`records.run.RecordedRun` is one)."""

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell, columns of `schema.CELLS`."""

    def has_samples(self, cell_id: str) -> bool:
        """Return whether the samples of a cell were kept."""

    def samples(self, columns: list[str], cells: Sequence[str]) -> pd.DataFrame:
        """Return columns of the samples of some cells."""


def series_of(run: Run, cells: pd.DataFrame, bin_ms: float) -> dict[str, pd.DataFrame]:
    """Return the latency since each cell began, by cell (see `series`); without those whose samples were
    not kept.

    The drain is left out: towards its end fewer and fewer requests are in flight, and so it gets faster.
    """
    samples = run.samples(_COLUMNS, [cell_id for cell_id in cells["cell_id"] if run.has_samples(cell_id)])
    samples = samples[samples["phase"] != "drain"]
    groups = samples.groupby(samples["cell_id"].astype(str))
    return {str(cell_id): series(group, bin_ms) for cell_id, group in groups}


def cold_cells(run: Run) -> pd.DataFrame:
    """Return the cells that were measured after something had been made cold, in the order of `CONDITIONS`, reads
    first; with their operation and level.
    """
    cells = run.cells[(run.cells["kind"] == "cold") & run.cells["condition"].isin(CONDITIONS)]
    reads = cells["read_share"] == 1
    level = cells["read_cl"].where(reads, cells["write_cl"])
    labelled = cells.assign(operation=np.where(reads, "READ", "WRITE"), level=level)
    place = {name: number for number, name in enumerate((*CONDITIONS, *LEVEL_ORDER))}
    return labelled.sort_values(
        ["condition", "operation", "level", "block", "repeat"],
        key=lambda column: column.map(lambda value: place.get(value, value)), ignore_index=True,
    )  # fmt: skip


@cache
def against_warm(run: Run | None, bin_ms: float = 50) -> pd.DataFrame:
    """Return `cold_cells` with what tells how they began.

    Its columns: bins (series of the cell, None without samples), mean_us (of the whole cell), warm_us (of the warm
    one of its block, operation, level and threads) and times_warm (the one by the other; NaN where unknown, and for
    warm cells). Empty for the printed tables, which have no run.
    """
    if run is None:
        return pd.DataFrame()
    cells = cold_cells(run)
    series = series_of(run, cells, bin_ms) if len(cells) else {}
    cells["bins"] = pd.Series([series.get(str(cell_id)) for cell_id in cells["cell_id"]], dtype=object)
    cells["mean_us"] = [np.nan if bins is None else _mean_us(bins) for bins in cells["bins"]]
    alike = ["operation", "level", "threads", "block"]
    warm = cells[cells["condition"] == "warm"].groupby(alike)["mean_us"].mean().rename("warm_us")
    cells = cells.join(warm, on=alike)
    cells["times_warm"] = (cells["mean_us"] / cells["warm_us"]).where(cells["condition"] != "warm")
    return cells


def warm_ups(run: Run, bin_ms: float = 250) -> Iterator[pd.DataFrame]:
    """Yield the latency series of each block's warm-up, from the first request a fresh cluster got (after loading)."""
    ids = run.cells.loc[run.cells["kind"] == WARM_UP, "cell_id"].tolist()
    samples = run.samples(["cell_id", "started_s", "latency_us", "outcome"], ids)
    for cell_id in ids:
        yield series(samples[samples["cell_id"] == cell_id], bin_ms)


def first_and_last_us(bins: pd.DataFrame) -> tuple[float, float]:
    """Return the mean latency within the first and the last second of a series."""
    since_ms = bins["since_start_ms"]
    return _mean_us(bins[since_ms < MS_PER_S]), _mean_us(bins[since_ms > since_ms.max() - MS_PER_S])


def _mean_us(bins: pd.DataFrame) -> float:
    return float(np.average(bins["mean_us"], weights=bins["n"]))
