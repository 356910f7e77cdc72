"""Record an experiment: one file of rows per cluster start, and a manifest that says when all of them exist.

Tables within rows go to Parquet files next to it, which are written first. Every experiment of the catalogue is
recorded this way, and resumed this way: what is missing is measured, cluster start by cluster start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cassbook.core.errors import InputError
from cassbook.core.files import sums, whole, write_text
from cassbook.core.progress import bar
from cassbook.core.types import Log
from cassbook.lab.experiments.catalogue import CATALOGUE, Catalogue, Entry, named
from cassbook.lab.experiments.experiment import Experiment, Row
from cassbook.lab.run.circumstances import circumstances, now
from cassbook.records import manifest
from cassbook.records.kinds import recorded_of

SEED = 20211212
_SAME = ("experiment", "engine", "starts", "seed", "setups", "numbers")


def record(
    name: str, folder: Path, engine: str, blocks: int = 3, resume: bool = False,
    needed: Mapping[str, Any] | None = None, log: Log = print, catalogue: Catalogue = CATALOGUE,
) -> Path:  # fmt: skip
    """Measure an experiment of the catalogue, or what its record lacks, and return its folder.

    The folder is new or empty; with `resume` it may also be one in which the same was begun. It gets
    `start-N-SETUP.csv` and perhaps `start-N-SETUP-TABLE.parquet` per cluster start, and `manifest.json`. `blocks` is
    the number of starts of each of its clusters. `needed` is what the experiment needs, by the name that its entry
    gives it. `log` takes each line of progress.

    Raise InputError for an unknown name, something missing that it needs, an engine it cannot be measured on, or a
    folder that holds something else.
    """
    entry = named(name, catalogue)
    experiment = entry.make(**(needed or {}))
    for setup in experiment.setups.values():
        setup.cluster(engine, log)  # not started; raises where that version cannot be
    if engine not in entry.engines:
        raise InputError(f"engine: {name} cannot be measured on {engine}; use one of {', '.join(entry.engines)}")
    notes = _begin(folder, name, experiment, engine, blocks, resume)
    if notes["complete"]:
        log(f"{folder}: is complete; nothing to resume")
        return folder
    _measure_missing(folder, name, entry, experiment, engine, notes, log)
    files = sorted([*folder.glob("start-*.csv"), *folder.glob("start-*.parquet")])
    manifest.write(folder, notes | {"sums": sums(files), "ended": now(), "complete": True})
    return folder


def _measure_missing(
    folder: Path, name: str, entry: Entry, experiment: Experiment, engine: str, notes: dict[str, Any], log: Log
) -> None:  # fmt: skip
    units = [(start, setup) for start in range(1, notes["starts"] + 1) for setup in _order(experiment, start)]
    missing = [(start, setup) for start, setup in units if not _path(folder, start, setup).is_file()]
    total, left = (sum(experiment.on(setup).rows() for _, setup in listed) for listed in (units, missing))
    log(f"{name}: {entry.question}")
    with bar(total, total - left, "row") as progress:
        for start, setup in missing:
            _measure(folder, experiment, start, setup, engine, notes, log, progress.update)


def _order(experiment: Experiment, start: int) -> list[str]:
    return np.random.default_rng([SEED, start]).permutation(list(experiment.setups)).tolist()


def _path(folder: Path, start: int, setup: str) -> Path:
    return folder / f"start-{start}-{setup}.csv"


def _begin(folder: Path, name: str, experiment: Experiment, engine: str, blocks: int, resume: bool) -> dict[str, Any]:
    """Return the manifest of a record that begins, or is resumed."""
    stated = {
        "kind": recorded_of(name).kind, "schema": 1, "experiment": name, "starts": blocks, "seed": SEED,
        "numbers": experiment.notes(),
        "setups": {key: setup.notes() for key, setup in experiment.setups.items()},
    }  # fmt: skip
    stated = json.loads(json.dumps(stated)) | {"engine": engine}
    if (folder / manifest.NAME).is_file():
        return _resumed(folder, stated, resume)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is not empty and holds no experiment; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    notes = stated | circumstances() | {"complete": False, "cluster_starts": []}
    manifest.write(folder, notes)
    return notes


def _resumed(folder: Path, stated: Mapping[str, Any], resume: bool) -> dict[str, Any]:
    """Return the manifest that a folder holds, if it is of the same experiment."""
    there = manifest.read(folder)
    if differs := [key for key in _SAME if there.get(key) != stated[key]]:
        raise InputError(f"{folder}: holds a record with another {', '.join(differs)}; name a new folder")
    if not resume:
        state = "complete" if there["complete"] else "not complete"
        raise InputError(f"{folder}: holds this experiment, {state}; resume it with --resume, or name a new folder")
    return there


def _measure(
    folder: Path, experiment: Experiment, start: int, name: str, engine: str, notes: dict[str, Any], log: Log,
    advance: Callable[[], Any],
) -> None:  # fmt: skip
    setup = experiment.setups[name]
    log(f"start {start}, {name}: {setup}")
    rng = np.random.default_rng([SEED, start, list(experiment.setups).index(name)])
    rows: list[Row] = []
    begun = now()
    with setup.cluster(engine, log) as cluster:
        for row in experiment.on(name).measure(cluster, rng):
            rows.append({"start": start, "setup": name} | row)
            advance()
        notes["cluster_starts"].append({"start": start, "setup": name, "begun": begun, **cluster.notes()})
    manifest.write(folder, notes)
    write_rows(_path(folder, start, name), rows)


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write what a cluster start gave: tables within rows first, then the rows themselves; `rows` lose their tables."""
    start, name = rows[0]["start"], rows[0]["setup"]
    for table in [key for key, value in rows[0].items() if isinstance(value, pd.DataFrame)]:
        parts = [of_row.assign(panel=row["panel"]) for row in rows if len(of_row := row.pop(table))]
        if parts:
            joined = pd.concat(parts, ignore_index=True).assign(start=start, setup=name)
            with whole(path.with_name(f"{path.stem}-{table}.parquet")) as draft:
                # Most are small: what pandas and Arrow would note of their types is longer than the rows.
                parquet = pa.Table.from_pandas(joined, preserve_index=False).replace_schema_metadata(None)
                pq.write_table(
                    parquet, draft, compression="zstd", compression_level=19, write_statistics=False, store_schema=False
                )
    write_text(path, pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))
