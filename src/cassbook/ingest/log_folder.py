"""A folder of logs in place of a run: `logs.csv` in it says what no log knows, and the analyses read it as a run.

logs.csv has one row per log and the columns `file, engine, threads, read_cl, write_cl, read_share, block`; others
may be cell_id (logs of the same one are the clients of one cell), kind, repeat, deployment, workload, condition and
ramp_s (seconds at the beginning that are warm-up). Each cell's seconds count from its own first operation, and its
steady window ends when the last request is sent. One log alone needs no logs.csv: engine and levels are then unknown,
and so are the threads unless the log tells. Several do, for nothing in two logs that overlap says whether they are
clients of one run or two settings that were measured side by side.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from hdrh.histogram import HdrHistogram

from cassbook.core.consistency import LEVEL_CODES
from cassbook.core.errors import InputError
from cassbook.core.files import sha256
from cassbook.core.paths import LOGS_INDEX, cache_dir
from cassbook.core.schema import CELLS, SAMPLES, SCHEMA_VERSION, UNKNOWN_THREADS, without_aside
from cassbook.ingest import summed
from cassbook.ingest.common import Options, cell_id_of
from cassbook.ingest.formats import logs_in, recognise
from cassbook.ingest.merge import read_table, to_samples
from cassbook.latency import summaries
from cassbook.records import digest
from cassbook.records.run import RecordedRun

REQUIRED = ("file", "engine", "threads", "read_cl", "write_cl", "read_share", "block")
_SETTINGS = ("engine", "threads", "read_cl", "write_cl", "read_share", "block")
_OPTIONAL = {"cell_id": "", "kind": "", "repeat": 1, "deployment": "", "workload": "", "condition": "", "ramp_s": 0.0}
#: Goes into the names of what is kept, so that nothing made by an older reader is taken for new.
_READER = 2
_UNKNOWN = "unknown"
#: Logs of a folder that a message names.
_NAMED = 3


class LogFolder(RecordedRun):
    """Logs of other tools, in the shape of a run.

    Samples are made when they are first asked for and kept in cassbook's cache under the sums of the logs.

    Parameters
    ----------
    path : Path
        A folder that holds `logs.csv` and the logs that it names, or one log alone; or that log.

    Raises
    ------
    InputError
        If the index or a log in it is missing or wrong.
    """

    def __init__(self, path: Path) -> None:
        self._alone = path.name if path.is_file() else None
        folder = path.parent if self._alone else path
        self.folder = folder.resolve()
        described = not self._alone and (folder / LOGS_INDEX).is_file()
        self.index = read_index(folder) if described else _index_of(self._alone or _only_log(folder))
        described_by = [LOGS_INDEX] if described else []
        artefacts = {name: sha256(folder / name) for name in (*described_by, *sorted(set(self.index["file"])))}
        #: As a run's, as far as logs say; what they do not is not in it.
        self.manifest: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "complete": True,
            "engine": ", ".join(sorted(set(self.index["engine"]))),
            "artefacts": artefacts,
        }
        self._formats = {name: recognise(folder / name) for name in self.index["file"]}
        if not described:
            self.index = self._told_by_log()

    @property
    def name(self) -> str:
        """Name of the folder, or of the log that was given instead."""
        return self._alone or self.folder.name

    def _told_by_log(self) -> pd.DataFrame:
        """Return the index of a log without `logs.csv`, with what the log itself tells."""
        (cell_id,) = self.index["cell_id"]
        threads = None
        if self.has_samples(cell_id):
            operations = pq.read_table(self._sample_path(cell_id), columns=["operation"])["operation"].cast("string")
            read_share = (pc.sum(pc.equal(operations, "READ")).as_py() or 0) / len(operations)
        else:
            read_share, threads = self._summed[cell_id].read_share, self._summed[cell_id].threads
        pure = read_share in (0.0, 1.0)
        # A mix that two logs have alike comes out a little different in each, so its share is no name for it.
        told = {"read_share": read_share, "kind": "pure" if pure else "mixed", "workload": "" if pure else "mixed"}
        return self.index.assign(threads=threads or UNKNOWN_THREADS, **told)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells, columns as in `schema.CELLS`; what logs do not say is NaN or empty."""
        rows = [self._row(str(cell_id), logs) for cell_id, logs in self.index.groupby("cell_id", sort=False)]
        return pd.DataFrame(rows, columns=list(CELLS)).astype(CELLS)

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Statistics of each cell; of one without samples those that its logs hold, the others NaN."""
        sampled = self.cells["cell_id"].map(self.has_samples)
        statistics = summaries.cell_statistics(self.samples(digest.COLUMNS), self.cells)
        for cell_id in without_aside(self.cells[~sampled])["cell_id"]:
            for column, value in self._summed[cell_id].figures.items():
                statistics.loc[statistics["cell_id"] == cell_id, column] = value
        return statistics

    @cached_property
    def histograms(self) -> dict[str, HdrHistogram]:
        """Histograms of the cells that have samples, microseconds, by `CELL.OPERATION`."""
        return digest.counted(self.samples(digest.COLUMNS))

    @property
    def has_histograms(self) -> bool:
        """Logs that hold single operations give histograms; the others give none."""
        return True

    def has_samples(self, cell_id: str) -> bool:
        """Whether the logs of a cell hold single operations."""
        return any(self._formats[name].holds_operations for name in self._files(cell_id))

    def samples(self, columns: Sequence[str] | None = None, cells: Sequence[str] | None = None) -> pd.DataFrame:
        """Read samples, columns as in `schema.SAMPLES`; labels come as categories.

        Parameters
        ----------
        columns : sequence of str, optional
            Only these.
        cells : sequence of str, optional
            Only those of these cells. A cell whose logs hold no single operations has none (see `has_samples`).

        Raises
        ------
        InputError
            For a cell that there is not.
        """
        known = self.index["cell_id"].unique().tolist()
        wanted = known if cells is None else list(cells)
        for cell_id in wanted:
            if cell_id not in known:
                raise InputError(f"{self.folder}: has no cell {cell_id!r}")
        paths = [str(self._sample_path(cell_id)) for cell_id in wanted if self.has_samples(cell_id)]
        names = list(columns) if columns else SAMPLES.names
        if not paths:
            return SAMPLES.empty_table().select(names).to_pandas()
        table = ds.dataset(paths, format="parquet", schema=SAMPLES).to_table(columns=names)
        return table.unify_dictionaries().to_pandas()

    def _files(self, cell_id: str) -> list[str]:
        return self.index.loc[self.index["cell_id"] == cell_id, "file"].tolist()

    def _sample_path(self, cell_id: str) -> Path:
        """The samples of a cell, made now if they are not kept yet."""
        logs = self.index[self.index["cell_id"] == cell_id]
        ramp_s = float(logs["ramp_s"].iloc[0])
        sums = [self.manifest["artefacts"][name] for name in logs["file"]]
        key = json.dumps([_READER, SCHEMA_VERSION, cell_id, ramp_s, sums])
        kept = cache_dir() / "logs" / f"{hashlib.sha256(key.encode()).hexdigest()}.parquet"
        if not kept.is_file():
            kept.parent.mkdir(parents=True, exist_ok=True)
            formats = {self.folder / name: self._formats[name] for name in logs["file"]}
            to_samples(formats, kept, cell_id, Options(), ramp_s)
        return kept

    @cached_property
    def _summed(self) -> dict[str, summed.Summed]:
        """What the cells say that have no samples."""
        sums = {}
        for cell_id in self.index["cell_id"].unique():
            if not self.has_samples(cell_id):
                tables = [read_table(self.folder / n, self._formats[n], Options()) for n in self._files(cell_id)]
                sums[cell_id] = summed.of(tables, f"{self.folder}: cell {cell_id}")
        return sums

    def _row(self, cell_id: str, logs: pd.DataFrame) -> dict[str, Any]:
        """A cell as the index and its logs have it."""
        first = logs.iloc[0]
        row: dict[str, Any] = {name: first[name] for name in CELLS if name in logs.columns}
        row |= {name: "" if kind == "str" else np.nan for name, kind in CELLS.items() if name not in row}
        row |= {
            "schema_version": SCHEMA_VERSION,
            "order": 0,
            "slices": 0,
            "cluster_start": first["block"],
            "started_s": 0.0,
        }
        row |= {"client_processes": len(logs), "steady_from_s": float(first["ramp_s"])}
        if self.has_samples(cell_id):
            table = pq.read_table(self._sample_path(cell_id), columns=["started_s", "latency_us", "outcome"])
            ends = pc.max(pc.add(table["started_s"], pc.divide(table["latency_us"], 1e6))).as_py()
            last = pc.max(table["started_s"]).as_py()  # until then every thread had a request in flight
            steady = table.filter(pc.greater_equal(table["started_s"], row["steady_from_s"]))
            busy_s = (pc.sum(steady["latency_us"]).as_py() or 0.0) / 1e6
            window_s = max(last - row["steady_from_s"], 0.0)
            ratio = busy_s / window_s / row["threads"] if window_s and row["threads"] else np.nan
            row |= {"little_ratio": ratio, "errors": _errors(table)}
            return row | {"ended_s": ends, "steady_to_s": last, "measured_s": window_s, "operations": table.num_rows}
        sums = self._summed[cell_id]
        window = {"ended_s": sums.length_s, "steady_to_s": sums.length_s, "measured_s": sums.length_s}
        return row | window | {"operations": sums.operations}


def _errors(table: pa.Table) -> str:
    """Failed operations as a cell's row has them: `read_timeout:3;unavailable:1`."""
    counted = table["outcome"].cast("string").value_counts().to_pylist()
    return ";".join(f"{entry['values']}:{entry['counts']}" for entry in counted if entry["values"] != "ok")


def _only_log(folder: Path) -> str:
    """Return the name of the one log in a folder without `logs.csv`.

    Raises
    ------
    InputError
        If it holds none or several.
    """
    names = logs_in(folder)
    if not names:
        raise InputError(
            f"{folder}: is neither a run (no manifest.json) nor a folder of logs (no {LOGS_INDEX}, and no log in it)"
        )
    if len(names) > 1:
        shown = ", ".join([*names[:_NAMED], *["..."][: len(names) > _NAMED]])
        raise InputError(
            f"{folder}: holds {len(names)} logs ({shown}) and no "
            f"{LOGS_INDEX}, which says what logs cannot know; write one with a row per log and the columns "
            f"{','.join(REQUIRED)} (and cell_id, the same for all clients of one cell). A single log needs none"
        )
    return names[0]


def _index_of(name: str) -> pd.DataFrame:
    """Return the index of a log of which nothing is known yet."""
    unknown = {"engine": _UNKNOWN, "threads": UNKNOWN_THREADS, "read_cl": _UNKNOWN, "write_cl": _UNKNOWN}
    row = (
        _OPTIONAL | unknown | {"file": name, "read_share": 0.5, "block": 1, "cell_id": cell_id_of([Path(name)], Path())}
    )
    return pd.DataFrame([row])


def read_index(folder: Path) -> pd.DataFrame:
    """Read and check a folder's `logs.csv`.

    Returns
    -------
    DataFrame
        One row a log: the required columns and the optional ones, with cell_id and kind filled in.

    Raises
    ------
    InputError
        With the row and column that is missing or wrong.
    """
    path = folder / LOGS_INDEX
    try:
        index = pd.read_csv(path, dtype="str", keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    missing = [name for name in REQUIRED if name not in index.columns]
    unknown = [name for name in index.columns if name not in (*REQUIRED, *_OPTIONAL)]
    if missing or unknown:
        wrong = f"no column {', '.join(missing)}" if missing else f"unknown column {', '.join(unknown)}"
        raise InputError(f"{path}: {wrong}; it has {', '.join(REQUIRED)} and may have {', '.join(_OPTIONAL)}")
    if index.empty:
        raise InputError(f"{path}: names no log")
    for name, default in _OPTIONAL.items():
        filled = index[name] if name in index.columns else pd.Series("", index.index)
        index[name] = filled.where(filled != "", str(default))
    for name, kind in (("threads", int), ("block", int), ("repeat", int), ("read_share", float), ("ramp_s", float)):
        index[name] = [_number(path, line, name, text, kind) for line, text in enumerate(index[name], start=2)]
    _check_rows(path, index)
    named = zip(index["cell_id"], index["file"], strict=True)
    cell_ids = [cell_id or cell_id_of([Path(file)], path) for cell_id, file in named]
    pure = np.where(index["read_share"].isin([0.0, 1.0]), "pure", "mixed")
    index = index.assign(cell_id=cell_ids, kind=index["kind"].where(index["kind"] != "", pure))
    for cell_id, logs in index.groupby("cell_id"):
        differing = [name for name in (*_SETTINGS, "kind", "ramp_s") if len(set(logs[name])) > 1]
        if differing:
            raise InputError(f"{path}: the logs of cell {cell_id} differ in {', '.join(differing)}")
    return index


def _check_rows(path: Path, index: pd.DataFrame) -> None:
    for line, (file, share) in enumerate(zip(index["file"], index["read_share"], strict=True), start=2):
        if not (path.parent / file).is_file():
            raise InputError(f"{path}, line {line}: {file!r} does not exist")
        if not 0 <= share <= 1:
            raise InputError(f"{path}, line {line}: read_share {share:g} is no share, from 0 to 1")
    for name in ("read_cl", "write_cl"):
        for line, level in enumerate(index[name], start=2):
            if level not in (*LEVEL_CODES, _UNKNOWN, ""):
                raise InputError(f"{path}, line {line}: {name} {level!r} is no level; use {', '.join(LEVEL_CODES)}")
    doubled = index["file"].duplicated()
    if doubled.any():
        raise InputError(f"{path}: {index.loc[doubled, 'file'].iloc[0]} is named twice")


def _number(path: Path, line: int, name: str, text: str, kind: type) -> float:
    try:
        return kind(text)
    except ValueError:
        what = "whole number" if kind is int else "number"
        raise InputError(f"{path}, line {line}: {name} {text!r} is no {what}") from None
