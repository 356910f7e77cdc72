"""Percentiles of samples that are too many to hold: Parquet is read row group by row group into histograms.

Memory is that of one row group and of a histogram per cell and operation, however many samples there are. The files
are those that `cassbook read` writes, and those of a run's blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import InputError
from cassbook.core.schema import SAMPLES, UNKNOWN_OUTCOMES, UNKNOWN_THREADS
from cassbook.latency import histograms, percentiles
from cassbook.latency.cells import QUANTILES, WRITES

_COLUMNS = ["cell_id", "started_s", "intended_s", "operation", "latency_us", "outcome", "phase"]
_UNKNOWN = "unknown"
_US = 1e6
#: What samples do not say of their cells.
_UNSAID: dict[str, Any] = {
    "condition": "", "engine": _UNKNOWN, "deployment": "", "threads": UNKNOWN_THREADS, "read_cl": _UNKNOWN,
    "write_cl": _UNKNOWN, "rate_per_s": np.nan, "block": 1, "repeat": 1, "marks": "",
}  # fmt: skip


@dataclass(slots=True)
class _Cell:
    """What has been seen of the steady operations of a cell."""

    by_operation: dict[str, histograms.Counter] = field(default_factory=dict)
    responses: dict[str, histograms.Counter] = field(default_factory=dict)
    sum_us: float = 0.0
    response_sum_us: float = 0.0
    failed: int = 0
    unknown: int = 0
    first_s: float = np.inf
    last_s: float = -np.inf

    def add(self, operation: str, outcome: str, group: dict[str, np.ndarray]) -> None:
        """Count operations of one kind and outcome."""
        started_s, latency_us = group["started_s"], group["latency_us"]
        self.first_s, self.last_s = min(self.first_s, started_s.min()), max(self.last_s, started_s.max())
        if outcome != "ok":
            self.failed += started_s.size
            self.unknown += started_s.size if outcome in UNKNOWN_OUTCOMES and operation in WRITES else 0
            return
        self.sum_us += float(latency_us.sum())
        self.by_operation.setdefault(operation, histograms.Counter()).add(latency_us)
        late_us = (started_s - group["intended_s"]) * _US
        if np.isfinite(late_us).all():
            response_us = np.maximum(latency_us + late_us, 0.0)
            self.response_sum_us += float(response_us.sum())
            self.responses.setdefault(operation, histograms.Counter()).add(response_us)


class SampleFile:
    """Samples in Parquet, one file or a folder of parts, in the shape of a run as far as they tell.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        For a file that holds no samples.
    """

    has_histograms = True

    def __init__(self, path: Path) -> None:
        self.folder, self.name = path, path.name
        self.manifest: dict[str, Any] = {"engine": _UNKNOWN}
        self._paths = _parts(path)
        for part in self._paths:
            _check(part)

    @cached_property
    def _cells(self) -> dict[str, _Cell]:
        cells: dict[str, _Cell] = {}
        for part in self._paths:
            with pq.ParquetFile(part) as file:
                for number in range(file.num_row_groups):
                    _count(file.read_row_group(number, columns=_COLUMNS), cells)
        if not cells:
            raise InputError(f"{self.folder}: holds no steady operation")
        return cells

    @cached_property
    def histograms(self) -> dict[str, HdrHistogram]:
        """Histograms in microseconds by `CELL.OPERATION`, and `CELL.OPERATION.response` of paced operations."""
        recorded: dict[str, HdrHistogram] = {}
        for cell_id, cell in self._cells.items():
            recorded |= {f"{cell_id}.{name}": counter.histogram() for name, counter in cell.by_operation.items()}
            if _paced(cell):
                recorded |= {f"{cell_id}.{name}.response": c.histogram() for name, c in cell.responses.items()}
        return recorded

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Statistics of each cell, as far as histograms give them; see `cells.cell_statistics`.

        Percentiles are right to three digits, with bounds by order statistics.
        """
        return pd.DataFrame([_row(cell_id, cell) for cell_id, cell in self._cells.items()])


def holds_samples(path: Path) -> bool:
    """Whether a path is a Parquet file of cassbook's, or a folder of such files that is no run."""
    if path.is_dir():
        parts = sorted(path.glob("*.parquet"))
        return bool(parts) and not any((path / n).exists() for n in ("manifest.json", "logs.csv")) and _ours(parts[0])
    return path.is_file() and _ours(path)


def _ours(path: Path) -> bool:
    try:
        with pq.ParquetFile(path) as file:
            return b"cassbook_schema_version" in (file.schema_arrow.metadata or {})
    except (OSError, pa.ArrowInvalid):
        return False


def _parts(path: Path) -> Sequence[Path]:
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def _check(path: Path) -> None:
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error})") from None
    table = (schema.metadata or {}).get(b"cassbook_table")
    if table is not None:
        raise InputError(f"{path}: is a table of {table.decode()} that `cassbook read` made; show the log itself")
    missing = [name for name in _COLUMNS if name not in schema.names]
    if missing:
        raise InputError(
            f"{path}: holds no samples (no column {', '.join(missing)}); they have {', '.join(SAMPLES.names)}"
        )


def _count(table: pa.Table, cells: dict[str, _Cell]) -> None:
    """Count the steady operations of a row group."""
    codes, words = {}, {}
    for name in ("cell_id", "operation", "outcome", "phase"):
        chunk = table[name].combine_chunks()
        column = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        codes[name] = column.indices.to_numpy(zero_copy_only=False)
        words[name] = column.dictionary.to_pylist()
    values = {name: table[name].to_numpy() for name in ("started_s", "intended_s", "latency_us")}
    sizes = [len(words[name]) for name in ("cell_id", "operation", "outcome")]
    kinds = np.ravel_multi_index(tuple(codes[name] for name in ("cell_id", "operation", "outcome")), sizes)
    steady = (
        codes["phase"] == words["phase"].index("steady") if "steady" in words["phase"] else np.zeros(len(kinds), bool)
    )
    for kind in np.flatnonzero(np.bincount(kinds[steady], minlength=1)):
        at = np.flatnonzero(steady & (kinds == kind))
        cell_id, operation, outcome = (
            words[name][code]
            for name, code in zip(("cell_id", "operation", "outcome"), np.unravel_index(kind, sizes), strict=True)
        )
        of_kind = slice(None) if at.size == kinds.size else at
        group = {name: column[of_kind] for name, column in values.items()}
        cells.setdefault(cell_id, _Cell()).add(operation, outcome, group)


def _paced(cell: _Cell) -> bool:
    """Whether every operation of a cell says when it should have started."""
    known = {name: counter.count for name, counter in cell.responses.items()}
    return bool(known) and known == {name: counter.count for name, counter in cell.by_operation.items()}


def _row(cell_id: str, cell: _Cell) -> dict[str, Any]:
    counts = {name: counter.count for name, counter in cell.by_operation.items()}
    n_ok, window_s = sum(counts.values()), cell.last_s - cell.first_s
    read_share = counts.get("READ", 0) / n_ok if n_ok else np.nan
    pure = read_share in (0.0, 1.0)
    row = _UNSAID | {"cell_id": cell_id, "kind": "pure" if pure else "mixed", "workload": "" if pure else "mixed"}
    row |= {"read_share": read_share, "n_ok": n_ok, "n_errors": cell.failed, "n_unknown": cell.unknown}
    row["throughput_per_s"] = n_ok / window_s if window_s > 0 else np.nan
    times = [("latency_us", "", cell.by_operation, cell.sum_us)]
    if _paced(cell):
        times.append(("response_us", "response_", cell.responses, cell.response_sum_us))
    for mean, prefix, counters, total in times:
        row[mean] = total / n_ok if n_ok else np.nan
        merged = histograms.merged(counter.histogram() for counter in counters.values())
        for name, share in QUANTILES.items():
            if n_ok:
                shares = (share, *percentiles.order_bounds(share, n_ok))
                for side, at in zip(("", "_low", "_high"), shares, strict=True):
                    row[f"{prefix}{name}{side}_us"] = histograms.quantile_us(merged, at)
    return row
