"""Cells that were measured after something had been made cold, and warm-ups: their series since each began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Protocol

import numpy as np
import pandas as pd

from cassbook.core.schema import WARM_UP
from cassbook.core.units import MS_PER_S
from cassbook.latency import cold_start
from cassbook.latency.summaries import LEVEL_ORDER

#: What was cold before a cell of kind 'cold' began, from little to much.
CONDITIONS = ("warm", "restarted_client", "cold_pages", "restarted_server")
_COLUMNS = ["cell_id", "started_s", "latency_us", "outcome", "phase"]


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
    """Return the latency since each cell began, by cell (see `cold_start.series`); without those whose samples were
    not kept.

    The drain is left out: towards its end fewer and fewer requests are in flight, and so it gets faster.
    """
    samples = run.samples(_COLUMNS, [cell_id for cell_id in cells["cell_id"] if run.has_samples(cell_id)])
    samples = samples[samples["phase"] != "drain"]
    groups = samples.groupby(samples["cell_id"].astype(str))
    return {str(cell_id): cold_start.series(group, bin_ms) for cell_id, group in groups}


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

    The table: with bins (series of the cell, None without samples), mean_us (of the whole cell), warm_us (of the warm
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
        yield cold_start.series(samples[samples["cell_id"] == cell_id], bin_ms)


def first_and_last_us(bins: pd.DataFrame) -> tuple[float, float]:
    """Return the mean latency within the first and the last second of a series."""
    since_ms = bins["since_start_ms"]
    return _mean_us(bins[since_ms < MS_PER_S]), _mean_us(bins[since_ms > since_ms.max() - MS_PER_S])


def _mean_us(bins: pd.DataFrame) -> float:
    return float(np.average(bins["mean_us"], weights=bins["n"]))
