"""Coordinated omission: what a closed loop does not see of a node that hangs.

The same cluster, the same pause, once in a closed loop and once at a fixed rate. Service time counts from when a
request left, response time from when it was meant to; no statistic holds both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from cassbook.latency import histograms

CONDITIONS = ("healthy", "paused_node")
QUANTILES = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999, "max_ms": 1.0}
_COLUMNS = ["cell_id", "started_s", "intended_s", "latency_us", "outcome", "phase"]
_MS = 1000.0


class Run(Protocol):
    """What is asked of a recorded run (`records.run.RecordedRun` is one)."""

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell, columns of `schema.CELLS`."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """With `pauses`: cell_id, from_s and to_s of each node that hung."""

    @property
    def histograms(self) -> Mapping[str, HdrHistogram]:
        """Latencies of each cell by tag, `CELL.OPERATION` and `CELL.OPERATION.response`."""

    def samples(self, columns: list[str], cells: Sequence[str]) -> pd.DataFrame:
        """Return columns of the samples of some cells."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one way of measuring saw in one cell.

    Attributes
    ----------
    rate_per_s : float
        NaN in a closed loop.
    threads : int
    kind : str
        'service' or 'response'.
    since_s : ndarray, shape (n,)
        Start of each operation (for response time: when it was meant to start) in seconds of the steady window.
    latency_ms : ndarray, shape (n,)
    """

    rate_per_s: float
    threads: int
    kind: str
    since_s: np.ndarray
    latency_ms: np.ndarray


def paced_cells(run: Run | None) -> pd.DataFrame:
    """Cells of kind 'paced' of a run: at fixed rates and in the closed loop; none for the printed tables."""
    cells = pd.DataFrame(columns=["kind"]) if run is None else run.cells
    return cells[cells["kind"] == "paced"]


def seen(run: Run, cell: pd.Series) -> list[Seen]:
    """What a cell shows in each kind of latency that it has.

    Parameters
    ----------
    run : Run
    cell : Series
        A row of the run's cells.
    """
    samples = run.samples(_COLUMNS, [cell["cell_id"]])
    steady = samples[(samples["phase"] == "steady") & (samples["outcome"] == "ok")]
    started_s, service_ms = steady["started_s"].to_numpy(), steady["latency_us"].to_numpy() / _MS
    intended_s = steady["intended_s"].to_numpy(dtype=float)
    load = (float(cell["rate_per_s"]), int(cell["threads"]))
    kinds = [Seen(*load, "service", started_s - cell["steady_from_s"], service_ms)]
    if not np.isnan(cell["rate_per_s"]):
        response_ms = service_ms + (started_s - intended_s) * _MS
        kinds.append(Seen(*load, "response", intended_s - cell["steady_from_s"], response_ms))
    return kinds


def table(run: Run) -> pd.DataFrame:
    """Quantiles of every paced cell, by level, condition and way of measuring; operations of all blocks together.

    Returns
    -------
    DataFrame
        Index level, condition, rate_per_s (NaN in a closed loop), threads, time ('service' or 'response'); columns n
        and those of `QUANTILES`.
    """
    rows = []
    cells = paced_cells(run).sort_values(["read_cl", "condition", "rate_per_s"], na_position="first")
    alike = ["read_cl", "condition", "rate_per_s", "threads"]
    for key, group in cells.groupby(alike, sort=False, dropna=False):
        level, condition, rate_per_s, threads = cast("tuple[str, str, float, int]", key)
        for kind in ("service",) if np.isnan(rate_per_s) else ("service", "response"):
            counted = _counted(run, group["cell_id"], kind)
            quantiles_ms = (histograms.quantile_us(counted, q) / _MS for q in QUANTILES.values())
            rows.append((level, condition, rate_per_s, threads, kind, counted.get_total_count(), *quantiles_ms))
    names = ["level", "condition", "rate_per_s", "threads", "time"]
    return pd.DataFrame(rows, columns=[*names, "n", *QUANTILES]).set_index(names)


def _counted(run: Run, cell_ids: Iterable[str], kind: str) -> HdrHistogram:
    """Latencies of some cells together, of service or of response."""
    tags = histograms.tags_by_cell(run.histograms, response=kind == "response")
    return histograms.merged(run.histograms[tag] for cell_id in cell_ids for tag in tags[cell_id])


def pause_of(run: Run, cell: pd.Series) -> tuple[float, float]:
    """When the node hung, in seconds of the cell's steady window."""
    pauses = {pause["cell_id"]: (pause["from_s"], pause["to_s"]) for pause in run.manifest["pauses"]}
    from_s, to_s = pauses[cell["cell_id"]]
    return from_s - cell["steady_from_s"], to_s - cell["steady_from_s"]


def paused_cells(run: Run | None, level: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cells with a paused node, one per block: in the closed loop, and at the lowest rate; both may have no row."""
    cells = paced_cells(run)
    if cells.empty:
        return cells, cells
    cells = cells[(cells["read_cl"] == level) & (cells["condition"] == "paused_node")].sort_values("block")
    return cells[cells["rate_per_s"].isna()], cells[cells["rate_per_s"] == cells["rate_per_s"].min()]


def hidden(run: Run | None, level: str, quantile: float = 0.99) -> tuple[float, float]:
    """A quantile with a paused node: service time in the closed loop and response time at the lowest rate, in ms.

    NaN where a run has no such cells.
    """
    closed, paced = paused_cells(run, level)
    if run is None or closed.empty or paced.empty:
        return float("nan"), float("nan")
    service, response = _counted(run, closed["cell_id"], "service"), _counted(run, paced["cell_id"], "response")
    return histograms.quantile_us(service, quantile) / _MS, histograms.quantile_us(response, quantile) / _MS
