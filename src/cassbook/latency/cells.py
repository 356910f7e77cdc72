"""From samples to cells: what every cell says over its steady window, with what it leaves open."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cassbook.core.errors import InputError
from cassbook.core.schema import CELLS, UNKNOWN_OUTCOMES, UNKNOWN_THREADS, without_aside
from cassbook.core.types import Floats
from cassbook.latency import uncertainty

#: Columns of the cells that stay next to their statistics.
CELL_COLUMNS = [
    "cell_id",
    "kind",
    "workload",
    "condition",
    "engine",
    "deployment",
    "threads",
    "read_cl",
    "write_cl",
    "read_share",
    "rate_per_s",
    "arrivals",
    "load_share",
    "own_share",
    "carried_per_s",
    "carried_after_per_s",
    "n_due",
    "n_in_flight",
    "n_unsent",
    "n_waited",
    "late_p50_us",
    "late_p99_us",
    "node_cpu_us_per_op",
    "busy_share",
    "disk_busy_share",
    "wire_mb_per_s",
    "client_cpu_us_per_op",
    "block",
    "repeat",
    "marks",
]
#: Operations that write; Cassandra treats inserts and updates alike, as upserts (section II.B).
WRITES = ("UPDATE", "INSERT", "DELETE", "BATCH")
#: Operations that read; where a cell has single reads, its `read_latency_us` is theirs.
READS = ("READ", "SCAN")
QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}

#: Figures that stand before the bounds.
_FIRST = (
    "n_ok",
    "n_errors",
    "n_unknown",
    "latency_us",
    "sd_us",
    "cv_percent",
    "p50_us",
    "p95_us",
    "p99_us",
    "read_latency_us",
    "update_latency_us",
    "throughput_per_s",
    "little_ratio",
)

_Mask = NDArray[np.bool_]


def _is(column: pd.Series, *labels: str) -> _Mask:
    """Where a column of labels holds one of them; fast for categories, of which there are few."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        wanted = np.append(column.cat.categories.isin(labels), False)  # code -1, a missing label, takes the last
        return np.asarray(wanted[column.cat.codes.to_numpy()])
    return column.isin(labels).to_numpy()


def _places(samples: pd.DataFrame, cells: pd.DataFrame) -> NDArray[np.int64]:
    """Row of `cells` each sample belongs to, -1 for a cell that is not there."""
    ids = samples["cell_id"].astype("category")
    place = np.append(pd.Index(cells["cell_id"]).get_indexer(ids.cat.categories), -1)
    return np.asarray(place[ids.cat.codes.to_numpy()])


def _checked_cells(samples: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Cells to be summarised, without the warm-ups, or an InputError on what is missing or doubled."""
    needed = {
        "samples": (samples, ["cell_id", "started_s", "operation", "latency_us", "outcome", "phase"]),
        "cells": (cells, list(CELLS)),
    }
    for name, (frame, columns) in needed.items():
        missing = [column for column in columns if column not in frame.columns]
        if missing:
            raise InputError(f"{name}: no column {', '.join(missing)}")
    if cells["cell_id"].duplicated().any():
        raise InputError(f"cells: {cells.loc[cells['cell_id'].duplicated(), 'cell_id'].iloc[0]} stands there twice")
    return without_aside(cells).reset_index(drop=True)


def _response_us(samples: pd.DataFrame) -> Floats:
    """Time from when each operation should have started to its answer, NaN in a closed loop."""
    if "intended_s" not in samples.columns:
        return np.full(len(samples), np.nan)
    waited_s = samples["started_s"].to_numpy(dtype=float) - samples["intended_s"].to_numpy(dtype=float)
    return np.asarray(samples["latency_us"].to_numpy(dtype=float) + waited_s * 1e6)


def _latency_columns(within: uncertainty.Within, mean: str, others: str) -> dict[str, Floats]:
    """Mean and quantiles with their bounds; names begin with `mean` and with `others`."""
    figures = {mean: within.mean}
    figures |= {f"{others}{label}_": estimate for label, estimate in zip(QUANTILES, within.quantiles, strict=True)}
    columns: dict[str, Floats] = {}
    for name, estimate in figures.items():
        columns |= {f"{name}us": estimate.value, f"{name}low_us": estimate.low, f"{name}high_us": estimate.high}
    return columns


class _ByCell:
    """Samples that know the cell they belong to, and figures of some of them by cell."""

    def __init__(self, samples: pd.DataFrame, cells: pd.DataFrame) -> None:
        self._cells, self._place = len(cells), _places(samples, cells)
        self.steady = _is(samples["phase"], "steady") & (self._place >= 0)
        self.ok = self.steady & _is(samples["outcome"], "ok")
        self.latency_us, self._started_s = (samples[name].to_numpy(dtype=float) for name in ("latency_us", "started_s"))
        self._measured_at_s = _without_gaps(samples, self._place, self._started_s)

    def windows(self, cells: pd.DataFrame) -> tuple[_Mask, Floats]:
        """Which samples began within their cell's steady window, and how much of it counts, NaN if there is none."""
        from_s, to_s = (cells[c].to_numpy(dtype=float) for c in ("steady_from_s", "steady_to_s"))
        measured_s = cells["measured_s"].to_numpy(dtype=float)
        within, at, started_s = self.steady.copy(), self._place[self.steady], self._started_s[self.steady]
        within[self.steady] = (started_s >= from_s[at]) & (started_s < to_s[at])
        return within, np.where(measured_s > 0, measured_s, np.nan)

    def count(self, mask: _Mask) -> NDArray[np.int64]:
        return np.bincount(self._place[mask], minlength=self._cells)

    def mean_us(self, mask: _Mask) -> Floats:
        n = self.count(mask)
        total = np.bincount(self._place[mask], self.latency_us[mask], minlength=self._cells)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    def uncertain(self, mask: _Mask, values_us: Floats) -> uncertainty.Within:
        shares = list(QUANTILES.values())
        return uncertainty.within_cells(
            self._place[mask], self._measured_at_s[mask], values_us[mask], self._cells, shares
        )


def _without_gaps(samples: pd.DataFrame, place: NDArray[np.int64], started_s: Floats) -> Floats:
    """When each operation began in the time that its cell was measured: slices of a cell are put end to end."""
    if "slice" not in samples.columns or samples["slice"].isna().all():
        return started_s
    frame = pd.DataFrame({"place": place, "slice": samples["slice"].to_numpy(dtype=float), "at": started_s})
    bounds = frame.groupby(["place", "slice"], sort=True)["at"].agg(["min", "max"])
    lengths = bounds["max"] - bounds["min"]
    shift = bounds["min"] - (lengths.groupby(level="place").cumsum() - lengths)
    moved = frame["at"] - frame.join(shift.rename("shift"), on=["place", "slice"])["shift"]
    return moved.fillna(frame["at"]).to_numpy(dtype=float)


def _known_threads(cells: pd.DataFrame) -> np.ndarray:
    return cells["threads"].astype(float).replace(UNKNOWN_THREADS, np.nan).to_numpy()


def _little_ratio(cells: pd.DataFrame, per_s: Floats, mean_us: Floats) -> Floats:
    """Little's ratio of cells of their own; of those that alternated it is their group's, which their rows have."""
    return np.where(cells["slices"] > 0, cells["little_ratio"], per_s * mean_us * 1e-6 / _known_threads(cells))


def cell_statistics(samples: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Statistics of every cell over its steady window.

    Parameters
    ----------
    samples : DataFrame
        Columns `schema.SAMPLES`, one row per operation, any number of cells. Samples of a cell that is not in
        `cells` are ignored: its row is the mark that a cell was completed. Without the column intended_s, the load
        is taken for a closed loop.
    cells : DataFrame
        Columns `schema.CELLS`. Warm-up cells are left out.

    Returns
    -------
    DataFrame
        One row per cell, in the order of `cells`: `CELL_COLUMNS`; n_ok and n_errors, operations of the steady
        phase by outcome; n_unknown, those writes among the errors that may have taken effect all the same;
        latency_us, read_latency_us, update_latency_us (means), sd_us, cv_percent, p50_us, p95_us and p99_us,
        all of successful steady operations, NaN where there is none; throughput_per_s,
        successful steady operations started in [steady_from_s, steady_to_s) by measured_s;
        little_ratio, the same throughput but with every outcome, times the mean latency of every outcome, by
        the threads: 1 where the client loses no time between requests (failures hold a thread as well).

        The mean and each quantile have 95 % bounds *within the cell* that respect autocorrelation (see
        `uncertainty`): latency_low_us and latency_high_us, p50_low_us and p50_high_us and so on, and the throughput
        throughput_low_per_s and throughput_high_per_s; NaN where the operations do not suffice. effective_n is the
        number of independent operations that would say as much of the mean. Operations of a paced load also have a
        response time, from when they should have started: response_us, response_p50_us and so on, NaN in a closed loop.

    Raises
    ------
    InputError
        For a missing column or a cell given twice.
    """
    cells = _checked_cells(samples, cells)
    by_cell = _ByCell(samples, cells)
    count, mean_us, steady, ok = by_cell.count, by_cell.mean_us, by_cell.steady, by_cell.ok
    within, window_s = by_cell.windows(cells)
    response_us = _response_us(samples)
    service = by_cell.uncertain(ok, by_cell.latency_us)
    response = by_cell.uncertain(ok & ~np.isnan(response_us), response_us)
    throughput_per_s = count(within & ok) / window_s
    figures = {
        **_latency_columns(service, "latency_", ""),
        **_latency_columns(response, "response_", "response_"),
        "sd_us": service.sd,
        "cv_percent": service.sd / service.mean.value * 100,
        "effective_n": service.mean.effective_n,
        "n_ok": count(ok),
        "n_errors": count(steady & ~ok),
        "n_unknown": count(steady & _is(samples["outcome"], *UNKNOWN_OUTCOMES) & _is(samples["operation"], *WRITES)),
        "read_latency_us": mean_us(ok & _is(samples["operation"], "READ")),
        "update_latency_us": mean_us(ok & _is(samples["operation"], *WRITES)),
        "throughput_per_s": throughput_per_s,
        "throughput_low_per_s": throughput_per_s * (1 - service.rate_half),
        "throughput_high_per_s": throughput_per_s * (1 + service.rate_half),
        "little_ratio": _little_ratio(cells, count(within) / window_s, mean_us(steady)),
    }
    order = [*_FIRST, *(name for name in figures if name not in _FIRST)]
    return cells[CELL_COLUMNS].join(pd.DataFrame({name: figures[name] for name in order}))
