"""Percentiles of samples that are too many to hold: Parquet is read row group by row group into histograms.

Memory is that of one row group and of a histogram per cell and operation, however many samples there are. The files
are those that `cassbook read` writes, and those of a run's blocks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from cassbook.core.units import US_PER_S
from cassbook.latency import histograms, percentiles
from cassbook.latency.cells import QUANTILES, READS, WRITES

_COLUMNS = ["cell_id", "started_s", "intended_s", "operation", "latency_us", "outcome", "phase"]
_UNKNOWN = "unknown"
#: What samples do not say of their cells.
_UNSAID: dict[str, Any] = {
    "condition": "", "engine": _UNKNOWN, "deployment": "", "threads": UNKNOWN_THREADS, "read_cl": _UNKNOWN,
    "write_cl": _UNKNOWN, "rate_per_s": np.nan, "block": 1, "repeat": 1, "marks": "",
}  # fmt: skip


#: Operations that a tool counts a second time, beside the read and the write inside each, by its format.
_TWICE = {"YCSB raw": frozenset({"RMW"})}
#: What a cell is called whose operations have rows of their own, and all read, or all write.
ALL_READS, ALL_WRITES = "all reads", "all writes"
#: What an operation is called where a cell has no other and it is neither plainly a read nor a write.
_NAMED = {"SCAN": "SCAN", "RMW": "RMW", "UNKNOWN": "(unknown)"}


@dataclass(slots=True)
class _Kind:
    """What has been seen of the steady operations of one kind."""

    latencies: histograms.Counter = field(default_factory=histograms.Counter)
    responses: histograms.Counter = field(default_factory=histograms.Counter)
    sum_us: float = 0.0
    response_sum_us: float = 0.0
    failed: int = 0
    unknown: int = 0

    @property
    def paced(self) -> bool:
        """Whether every operation says when it should have started."""
        return self.responses.count == self.latencies.count


@dataclass(slots=True)
class _Cell:
    """What has been seen of the steady operations of a cell."""

    kinds: dict[str, _Kind] = field(default_factory=dict)
    first_s: float = np.inf
    last_s: float = -np.inf

    def add(self, operation: str, outcome: str, group: dict[str, np.ndarray]) -> None:
        """Count operations of one kind and outcome."""
        started_s, latency_us = group["started_s"], group["latency_us"]
        self.first_s, self.last_s = min(self.first_s, started_s.min()), max(self.last_s, started_s.max())
        kind = self.kinds.setdefault(operation, _Kind())
        if outcome != "ok":
            kind.failed += started_s.size
            kind.unknown += started_s.size if outcome in UNKNOWN_OUTCOMES and operation in WRITES else 0
            return
        kind.sum_us += float(latency_us.sum())
        kind.latencies.add(latency_us)
        late_us = (started_s - group["intended_s"]) * US_PER_S
        if np.isfinite(late_us).all():
            response_us = np.maximum(latency_us + late_us, 0.0)
            kind.response_sum_us += float(response_us.sum())
            kind.responses.add(response_us)

    def requests(self, twice: frozenset[str]) -> list[str]:
        """Operations that are requests of their own."""
        return [name for name in self.kinds if name not in twice] or list(self.kinds)


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
    def _logs(self) -> list[dict[str, Any]]:
        """What is noted of the logs that the samples are from; none for those of a run."""
        metadata = pq.read_schema(self._paths[0]).metadata or {}
        logs: list[dict[str, Any]] = json.loads(metadata.get(b"cassbook_logs", b"[]"))
        return logs

    @cached_property
    def twice(self) -> frozenset[str]:
        """Operations that the logs count beside the requests inside them."""
        return frozenset().union(*(_TWICE.get(log["format"], frozenset()) for log in self._logs))

    @cached_property
    def notes(self) -> list[str]:
        """What was left out of the logs that the samples are from, and what a reader must know of them."""
        return [f"{log['file']}: {line}" for log in self._logs for line in _said(log)]

    @cached_property
    def histograms(self) -> dict[str, HdrHistogram]:
        """Histograms in microseconds by `CELL.OPERATION`, and `CELL.OPERATION.response` of paced operations."""
        recorded: dict[str, HdrHistogram] = {}
        for cell_id, cell in self._cells.items():
            kinds = {name: cell.kinds[name] for name in cell.requests(self.twice) if cell.kinds[name].latencies.count}
            recorded |= {f"{cell_id}.{name}": kind.latencies.histogram() for name, kind in kinds.items()}
            if all(kind.paced for kind in kinds.values()):
                recorded |= {f"{cell_id}.{name}.response": kind.responses.histogram() for name, kind in kinds.items()}
        return recorded

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Statistics of each cell, as far as histograms give them; see `cells.cell_statistics`.

        Percentiles are right to three digits, with bounds by order statistics.
        """
        return pd.DataFrame([_row(cell_id, cell, cell.requests(self.twice)) for cell_id, cell in self._cells.items()])

    @cached_property
    def parts(self) -> pd.DataFrame | None:
        """The same of each operation of a cell that mixes several, if the samples are from logs; `named` names it."""
        rows = [
            _row(cell_id, cell, [name], tails=True) | {"kind": "mixed", "workload": "", "named": name}
            for cell_id, cell in self._cells.items()
            for name in cell.kinds
            if len(cell.kinds) > 1 and self._logs
        ]
        return pd.DataFrame(rows) if rows else None


def _said(log: dict[str, Any]) -> list[str]:
    """Say what was left out of a log, and what its reader noted."""
    left = ", ".join(f"{name} {n:,}" for name, n in log["left_out"].items())
    counted = [
        (log["damaged_lines"], "damaged lines left out"),
        (log.get("text_lines"), "lines of console text passed over"),
    ]
    said = [f"left out, for they are no requests or have no place in samples: {left}"] if left else []
    said += [f"{n:,} {what}" for n, what in counted if n]
    said += [f"damaged {damage}" for damage in log.get("damaged", [])]
    return [
        f"{line.rstrip('.')}." for line in (*said, *log.get("notes", []), *([log["cut"]] if log.get("cut") else []))
    ]


def holds_samples(path: Path) -> bool:
    """Whether a path is a Parquet file of cassbook's, or a folder of such files that is no run."""
    if path.is_dir():
        parts = sorted(path.glob("*.parquet"))
        return bool(parts) and not any((path / n).exists() for n in ("manifest.json", "logs.csv")) and _ours(parts[0])
    return path.is_file() and _ours(path)


def _ours(path: Path) -> bool:
    try:
        with pq.ParquetFile(path) as file:
            metadata = file.schema_arrow.metadata or {}
            return b"cassbook_schema_version" in metadata and b"cassbook_table" not in metadata
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


def _row(cell_id: str, cell: _Cell, names: list[str], tails: bool = False) -> dict[str, Any]:
    """Statistics of some of a cell's operations, with p99.9 if asked for and where they support it."""
    kinds = {name: cell.kinds[name] for name in names}
    counts = {name: kind.latencies.count for name, kind in kinds.items() if kind.latencies.count}
    # An operation of which none succeeded is one of the mix all the same.
    attempted = {name: kind.latencies.count or kind.failed for name, kind in kinds.items()}
    n_ok, window_s = sum(counts.values()), cell.last_s - cell.first_s
    share = read_share(attempted)
    pure = share in (0.0, 1.0)
    row = _UNSAID | {"cell_id": cell_id, "kind": "pure" if pure else "mixed", "workload": "" if pure else "mixed"}
    row |= {"read_share": share, "n_ok": n_ok, "named": _name(share, names)}
    row |= {"n_errors": sum(k.failed for k in kinds.values()), "n_unknown": sum(k.unknown for k in kinds.values())}
    row["throughput_per_s"] = n_ok / window_s if window_s > 0 else np.nan
    used = [kinds[name] for name in counts]
    times = [("latency_us", "", [kind.latencies for kind in used], sum(kind.sum_us for kind in used))]
    if used and all(kind.paced for kind in used):
        total = sum(kind.response_sum_us for kind in used)
        times.append(("response_us", "response_", [kind.responses for kind in used], total))
    quantiles = dict(QUANTILES)
    if tails and percentiles.supported("p99.9", n_ok):
        quantiles["p999"] = percentiles.SHARES["p99.9"]
    for mean, prefix, counters, total in times:
        row[mean] = total / n_ok if n_ok else np.nan
        merged = histograms.merged(counter.histogram() for counter in counters)
        for name, share in quantiles.items():
            if n_ok:
                shares = (share, *percentiles.order_bounds(share, n_ok))
                for side, at in zip(("", "_low", "_high"), shares, strict=True):
                    row[f"{prefix}{name}{side}_us"] = histograms.quantile_us(merged, at)
    return row


def _name(share: float, names: list[str]) -> str:
    """What a cell's operations are called together, where that is neither plainly a read nor a write."""
    if len(names) == 1:
        return _NAMED.get(names[0], "")
    return {1.0: ALL_READS, 0.0: ALL_WRITES}.get(share, "")


def read_share(counts: Mapping[str, float]) -> float:
    """Reads among operations by their names in samples; NaN where one may be either, or there is none.

    >>> read_share({"READ": 1, "SCAN": 2, "INSERT": 1}), read_share({"READ": 1, "UNKNOWN": 1})
    (0.75, nan)
    """
    n = sum(counts.values())
    return sum(counts.get(name, 0) for name in READS) / n if n and not counts.get("UNKNOWN") else np.nan
