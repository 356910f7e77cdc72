"""A folder of logs in place of a run: `logs.csv` in it says what no log knows, and the analyses read it as a run.

`log_index` has its columns. Each cell's seconds count from its own first operation, and its steady window ends when the
last request is sent. One log alone needs no logs.csv: engine and levels are then unknown, and so are the threads unless
the log tells; one that holds tests of several numbers of threads has a cell for each. Several logs do need it, for
nothing in two that overlap says whether they are clients of one run or two settings that were measured side by side.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
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

from cassbook.core.errors import InputError
from cassbook.core.files import sha256
from cassbook.core.paths import LOGS_INDEX, cache_dir
from cassbook.core.schema import CELLS, SAMPLES, SCHEMA_VERSION, UNKNOWN_THREADS
from cassbook.ingest import log_index, read_tables, totals
from cassbook.ingest.common import Options, cell_id_of
from cassbook.ingest.formats import Format, recognise
from cassbook.ingest.hdr import Histograms
from cassbook.ingest.merge import read_table, to_samples
from cassbook.ingest.operations import UNTAGGED, Meanings
from cassbook.ingest.summary import Figures
from cassbook.latency import summaries
from cassbook.latency.labels import labelled
from cassbook.records import digest
from cassbook.records.run import RecordedRun
from cassbook.records.sample_stream import SampleFile

#: Goes into the names of what is kept, so that nothing made by an older reader is taken for new.
_READER = 3
#: How far the read share of logs.csv may be from that of the log before a note says so.
_SHARE_OFF = 0.02


class LogFolder(RecordedRun):
    """Logs of other tools, in the shape of a run.

    Samples are made when they are first asked for and kept in cassbook's cache under the sums of the logs. The path is
    that of a folder that holds `logs.csv` and the logs that it names, or one log alone; or that log; or the Parquet
    that `cassbook read` made of logs of figures or histograms. Options say how logs are read; what a row of logs.csv
    says comes first. Raise InputError if the index or a log in it is missing or wrong.
    """

    def __init__(self, path: Path, options: Options | None = None) -> None:
        self._options = options or Options()
        self._alone = path.name if path.is_file() else None
        folder = path.parent if self._alone else path
        self.folder = folder.resolve()
        self._described = not self._alone and (folder / LOGS_INDEX).is_file()
        index = (
            log_index.read_index(folder)
            if self._described
            else log_index.alone(self._alone or log_index.only_log(folder))
        )
        described_by = [LOGS_INDEX] if self._described else []
        files = {*index["file"], *index.loc[index["stress_profile"] != "", "stress_profile"]}
        sums = {name: sha256(folder / name) for name in (*described_by, *sorted(files))}
        #: As a run's, as far as logs say; what they do not is not in it.
        self.manifest: dict[str, Any] = {
            "schema": SCHEMA_VERSION,
            "complete": True,
            "engine": ", ".join(sorted(set(index["engine"]))),
            "sums": sums,
        }
        self._tables: dict[str, list[Figures | Histograms]] = {}
        self._formats = {name: self._format(name) for name in index["file"]}
        self.index = pd.DataFrame([test for row in index.to_dict("records") for test in self._tests(row)])
        self._check_names()
        if not self._described:
            self.index = self._described_by_log()

    @property
    def name(self) -> str:
        """Name of the folder, or of the log that was given instead."""
        return self._alone or self.folder.name

    def _format(self, name: str) -> Format | None:
        """Format of a log; None for a table that was made of logs."""
        path = self.folder / name
        form = None if read_tables.holds_table(path) else recognise(path, self._options.skip_damaged)
        if self._options.unit and self._alone and form is not Format.HDR_LOG:
            what = form.value if form else "Parquet of `cassbook read`, which has --unit itself"
            raise InputError(f"--unit: is for HdrHistogram logs, and {path} is {what}; leave it out")
        return form

    def _meanings(self, row: Mapping[Hashable, Any]) -> Meanings:
        """What is known of operations with names of the user's own."""
        if row["stress_profile"]:
            return Meanings.of_profile(self.folder / row["stress_profile"])
        if row["reads"]:
            names = row["reads"].replace(",", " ").replace(";", " ").split()
            return Meanings.listed(names, f"{self.folder / LOGS_INDEX}: reads {' '.join(names)}")
        return self._options.meanings()

    def _tables_of(self, row: Mapping[Hashable, Any]) -> list[Figures | Histograms]:
        """The tables of a log of figures or histograms: one, but for a file that was made of several logs."""
        name = row["file"]
        if name not in self._tables:
            path, form = self.folder / name, self._formats[name]
            options = replace(self._options, unit=row["unit"] or self._options.unit)
            self._tables[name] = [read_table(path, form, options)] if form else read_tables.read(path)
        return self._tables[name]

    def _tests(self, row: dict[Hashable, Any]) -> list[dict[Hashable, Any]]:
        """A row per test of a log: one may hold several numbers of threads, and a table several logs."""
        form, file = self._formats[row["file"]], self.folder / row["file"]
        if form and (form.holds_operations or form is Format.HDR_LOG):
            return [row | {"table": 0}]
        tests = [
            row | {"table": place, "threads": row["threads"] or threads or UNKNOWN_THREADS, "own_threads": threads}
            for place, table in enumerate(self._tables_of(row))
            for threads in (table.threads() if isinstance(table, Figures) else ()) or (None,)
        ]
        if not tests:
            raise InputError(f"{file}: holds no figure")
        if row["threads"] != UNKNOWN_THREADS and len({test["own_threads"] for test in tests}) > 1:
            kept = [test for test in tests if test["own_threads"] in (None, row["threads"])]
            if not kept:
                ran = ", ".join(str(test["own_threads"]) for test in tests)
                raise InputError(
                    f"{self.folder / LOGS_INDEX}: threads {row['threads']} of {row['file']}, which ran with {ran}; "
                    "leave threads empty to take what the log says"
                )
            tests = kept
        if self._described and len({test["table"] for test in tests}) > 1:
            raise InputError(f"{file}: was made of several logs; name those themselves in {LOGS_INDEX}")
        if form is None and not self._described:
            paths = [table.tally.path for table in self._tables_of(row)]
            ids = [cell_id_of([path], file) for path in paths]
            ids = ids if len(set(ids)) == len(ids) else [str(path.with_suffix("")) for path in paths]
            # Logs are no repeats of each other, for all that is known; a name of its own keeps each apart.
            apart = [f"log {path}" if len(paths) > 1 else "" for path in paths]
            tests = [test | {"cell_id": ids[test["table"]], "condition": apart[test["table"]]} for test in tests]
        if len(tests) > len({test["table"] for test in tests}):
            tests = [test | {"cell_id": f"{test['cell_id']}-t{test['threads']:04d}"} for test in tests]
        return tests

    def _described_by_log(self) -> pd.DataFrame:
        """Return the index of a log without `logs.csv`, with what the log itself says."""
        rows = []
        for row in self.index.to_dict("records"):
            share, alone = self._read_share(row["cell_id"]), bool(self._named(row["cell_id"]))
            kind = "pure" if share in (0.0, 1.0) else "workload" if alone else "mixed"
            # A mix that two logs have alike comes out a little different in each, so its share is no name for it.
            rows.append(row | {"read_share": share, "kind": kind, "workload": "" if kind == "pure" else kind})
        return pd.DataFrame(rows)

    def _read_share(self, cell_id: str) -> float:
        """Reads among the operations that succeeded, as the logs have it; NaN where they do not say which read."""
        if cell_id in self._sampled_cells:
            return float(self._sampled_cells[cell_id].statistics["read_share"].iloc[0])
        return self._summed[cell_id].read_share

    def _named(self, cell_id: str) -> str:
        """What the one operation of a cell is called; empty for several, or one that is plainly a read or a write."""
        if cell_id in self._sampled_cells:
            return str(self._sampled_cells[cell_id].statistics["named"].iloc[0])
        return str(self._summed[cell_id].figures["named"])

    def _check_names(self) -> None:
        """Refuse names that are said to read and that no log has: they are misspelt."""
        said: dict[str, tuple[set[str], set[str]]] = {}
        for row in self.index.to_dict("records"):
            meanings = self._meanings(row)
            if not meanings.source:
                continue
            if row["cell_id"] not in self._summed:
                raise InputError(f"{meanings.source}: operations of {row['file']} are known by its tool; leave it out")
            wanted, names = said.setdefault(meanings.source, (set(), set()))
            wanted |= meanings.reads if meanings.others_write else set()
            own = set(self._summed[row["cell_id"]].names)
            names |= {name or UNTAGGED for name in own}
            if not meanings.others_write and not any(meanings.of(name) for name in own):
                raise InputError(
                    f"{meanings.source}: has no query of {row['file']}, whose operations are {', '.join(sorted(names))}"
                )
        for source, (wanted, names) in said.items():
            known = {name.lower() for name in names} | {name.lower().rpartition(".")[2] for name in names}
            lacking = sorted(wanted - known)
            if lacking:
                raise InputError(
                    f"{source}: no operation is called {', '.join(lacking)}; the log has {', '.join(sorted(names))}"
                )

    @cached_property
    def notes(self) -> list[str]:
        """What a reader must know of what the logs said and of what was left out, log by log."""
        said = []
        for row in self.index.drop_duplicates(["file", "table"]).to_dict("records"):
            if row["cell_id"] in self._summed:
                table = self._tables_of(row)[row["table"]]
                said += [f"{table.tally.path.name}: {line}" for line in table.remarks()]
        for cell_id in self.index["cell_id"].unique():
            if cell_id in self._sampled_cells:
                said += self._sampled_cells[cell_id].notes
            else:
                said += [f"{cell_id}: {line}" for line in self._summed[cell_id].notes]
        return [*said, *self._differing()]

    def _differing(self) -> list[str]:
        """Where logs.csv and the logs differ in the share of reads, or in threads."""
        if not self._described:
            return []
        threads = [
            f"{LOGS_INDEX} has {row['threads']} threads for {row['file']}, the log itself {row['own_threads']:.0f}."
            for row in self.index.to_dict("records")
            if row.get("own_threads", row["threads"]) not in (None, row["threads"])
            and not pd.isna(row.get("own_threads"))
        ]
        said = self.index.drop_duplicates("cell_id").set_index("cell_id")["read_share"].items()
        found = [(str(cell_id), share, self._share_bounds(str(cell_id))) for cell_id, share in said]
        return threads + [
            f"{LOGS_INDEX} has read_share {share:g} for {cell_id}, the log itself "
            + (f"{low:.3g}." if low == high else f"{low:.3g} to {high:.3g}.")
            for cell_id, share, (low, high) in found
            if not np.isnan(low) and not low - _SHARE_OFF <= share <= high + _SHARE_OFF
        ]

    def _share_bounds(self, cell_id: str) -> tuple[float, float]:
        """Range of the read share that the logs of a cell allow."""
        if cell_id in self._sampled_cells:
            share = self._read_share(cell_id)
            return share, share
        return self._summed[cell_id].read_bounds

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells, columns as in `schema.CELLS`; what logs do not say is NaN or empty."""
        rows = [self._row(str(cell_id), logs) for cell_id, logs in self.index.groupby("cell_id", sort=False)]
        return pd.DataFrame(rows, columns=list(CELLS)).astype(CELLS)

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Statistics of each cell; of one without samples those that its logs hold, the others NaN.

        Besides the columns of `cells.cell_statistics`: p999_us and max_us of logs without samples; printed, whether the
        percentiles are the log's own; named, what a cell's one operation is called where that is neither plainly a read
        nor a write.
        """
        samples = self.samples(digest.COLUMNS)
        twice = frozenset().union(*(file.twice for file in self._sampled_cells.values()))
        if twice and not samples["operation"].isin(twice).all():
            samples = samples[~samples["operation"].isin(twice)]
        statistics = summaries.cell_statistics(samples, self.cells)
        figures = {cell_id: sums.figures for cell_id, sums in self._summed.items()}
        figures |= {cell_id: {"named": self._named(cell_id)} for cell_id in self._sampled_cells}
        return _with_figures(statistics, figures)

    @cached_property
    def parts(self) -> pd.DataFrame | None:
        """Statistics of each operation of the cells that mix several, as `statistics`; `named` names it."""
        whole = labelled(self.statistics, failed_too=True).set_index("cell_id", drop=False)
        rows = []
        for cell_id, cell in whole.iterrows():
            sampled = self._sampled_cells.get(str(cell_id))
            if sampled is not None:
                parts = [] if sampled.parts is None else [dict(row) for _, row in sampled.parts.iterrows()]
            else:
                parts = self._summed[str(cell_id)].parts
            of = f" of {cell['operation']}" if self._described else ""
            own = {name: cell[name] for name in summaries.CELL_COLUMNS} | {"workload": ""}
            rows += [part | own | {"read_share": part["read_share"], "named": part["named"] + of} for part in parts]
        return pd.DataFrame(rows) if rows else None

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
        return any(form is not None and form.holds_operations for form in map(self._formats.get, self._files(cell_id)))

    def samples(self, columns: Sequence[str] | None = None, cells: Sequence[str] | None = None) -> pd.DataFrame:
        """Read samples as `RecordedRun.samples` does; a cell whose logs hold no single operations has none."""
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
        sums = [self.manifest["sums"][name] for name in logs["file"]]
        key = json.dumps([_READER, SCHEMA_VERSION, cell_id, ramp_s, sums, self._options.skip_damaged])
        kept = cache_dir() / "logs" / f"{hashlib.sha256(key.encode()).hexdigest()}.parquet"
        if not kept.is_file():
            kept.parent.mkdir(parents=True, exist_ok=True)
            formats = {
                self.folder / name: recognise(self.folder / name, self._options.skip_damaged) for name in logs["file"]
            }
            to_samples(formats, kept, cell_id, Options(skip_damaged=self._options.skip_damaged), ramp_s)
        return kept

    @cached_property
    def _sampled_cells(self) -> dict[str, SampleFile]:
        """The samples of the cells that have some."""
        cell_ids = self.index["cell_id"].unique()
        return {cell_id: SampleFile(self._sample_path(cell_id)) for cell_id in cell_ids if self.has_samples(cell_id)}

    @cached_property
    def _summed(self) -> dict[str, totals.Totals]:
        """What the cells say that have no samples."""
        sums = {}
        for cell_id, logs in self.index.groupby("cell_id", sort=False):
            if not self.has_samples(str(cell_id)):
                rows = logs.to_dict("records")
                tables = [self._tables_of(row)[row["table"]] for row in rows]
                where = f"{self.folder}: cell {cell_id}"
                sums[str(cell_id)] = totals.of(tables, where, self._meanings(rows[0]), rows[0].get("own_threads"))
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


def _with_figures(statistics: pd.DataFrame, figures: dict[str, dict[str, Any]]) -> pd.DataFrame:
    """Statistics with figures of some cells put into their rows."""
    columns = dict.fromkeys(column for own in figures.values() for column in own)
    for column in columns:
        of_cells = {cell_id: own[column] for cell_id, own in figures.items() if column in own}
        before = statistics[column] if column in statistics.columns else pd.Series(np.nan, statistics.index)
        given = statistics["cell_id"].map(of_cells)
        statistics = statistics.assign(**{column: given.where(statistics["cell_id"].isin(list(of_cells)), before)})
    return statistics


def _errors(table: pa.Table) -> str:
    """Failed operations as a cell's row has them: `read_timeout:3;unavailable:1`."""
    counted = table["outcome"].cast("string").value_counts().to_pylist()
    return ";".join(f"{entry['values']}:{entry['counts']}" for entry in counted if entry["values"] != "ok")
