"""Record an experiment: a file of rows a cluster start, and a manifest whose last word is that all are there.

Tables within rows go to Parquet files beside it, which are there before it is.
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
from cassbook.lab.experiments.distance.catalogue import TRIALS
from cassbook.lab.experiments.experiment import Row, Trial
from cassbook.lab.run.circumstances import circumstances

SEED = 20211212
_SAME = ("trial", "engine", "starts", "seed", "setups", "numbers")

Say = Callable[[str], None]
Catalogue = Mapping[str, Callable[[], Trial]]


def record(
    name: str, folder: Path, engine: str, starts: int = 3, say: Say = print, catalogue: Catalogue = TRIALS
) -> Path:
    """Measure what is missing of an experiment.

    Parameters
    ----------
    name : str
        In the catalogue.
    folder : Path
        New, or one to go on with that was begun alike.
    engine : str
    starts : int
        Of each of its clusters.
    say : callable
    catalogue : mapping of str to callable
        Experiments by name.

    Returns
    -------
    Path
        The folder: `start-N-SETUP.csv` a cluster start, `start-N-SETUP-TABLE.parquet`, `manifest.json`.

    Raises
    ------
    InputError
        For an unknown name, an engine that it cannot be measured on, or a folder that holds something else.
    """
    trial = named(name, catalogue)
    for own in trial.setups.values():
        own.cluster(engine, say)  # not started; says so where that version cannot be
    notes = _begin(folder, name, trial, engine, starts)
    units = [(start, setup) for start in range(1, starts + 1) for setup in _order(trial, start)]
    todo = [(start, setup) for start, setup in units if not _path(folder, start, setup).is_file()]
    total = sum(trial.rows(setup) for _, setup in units)
    left = sum(trial.rows(setup) for _, setup in todo)
    say(f"{name}: {trial.question}")
    with bar(total, total - left, "row") as progress:
        for start, setup in todo:
            _measure(folder, trial, start, setup, engine, notes, say, progress.update)
    files = sorted([*folder.glob("start-*.csv"), *folder.glob("start-*.parquet")])
    notes |= {"artefacts": sums(files), "complete": True}
    _save(folder, notes)
    return folder


def named(name: str, catalogue: Catalogue = TRIALS) -> Trial:
    """Return an experiment of a catalogue.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    if name not in catalogue:
        raise InputError(f"trial: there is no {name!r}; use one of {', '.join(catalogue)}")
    return catalogue[name]()


def _order(trial: Trial, start: int) -> list[str]:
    return np.random.default_rng([SEED, start]).permutation(list(trial.setups)).tolist()


def _path(folder: Path, start: int, setup: str) -> Path:
    return folder / f"start-{start}-{setup}.csv"


def _save(folder: Path, notes: dict[str, Any]) -> None:
    write_text(folder / "manifest.json", json.dumps(notes, indent=1) + "\n")


def _begin(folder: Path, name: str, trial: Trial, engine: str, starts: int) -> dict[str, Any]:
    """Return the manifest of a record that begins, or goes on."""
    own = {
        "trial": name, "starts": starts, "seed": SEED, "numbers": trial.notes(),
        "setups": {key: setup.told() for key, setup in trial.setups.items()},
    }  # fmt: skip
    own = json.loads(json.dumps(own)) | {"engine": engine}
    path = folder / "manifest.json"
    if path.is_file():
        there = dict(json.loads(path.read_text()))
        differs = [key for key in _SAME if there.get(key) != own[key]]
        if differs:
            raise InputError(f"{path}: was begun with another {', '.join(differs)}; use another folder")
        return there
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not empty and holds no experiment; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    notes = own | circumstances() | {"complete": False, "cluster_starts": []}
    _save(folder, notes)
    return notes


def _measure(
    folder: Path, trial: Trial, start: int, name: str, engine: str, notes: dict[str, Any], say: Say,
    advance: Callable[[], Any],
) -> None:  # fmt: skip
    setup = trial.setups[name]
    say(f"start {start}, {name}: {setup}")
    rng = np.random.default_rng([SEED, start, list(trial.setups).index(name)])
    rows: list[Row] = []
    with setup.cluster(engine, say) as cluster:
        for row in trial.measure(name, cluster, rng):
            rows.append({"start": start, "setup": name} | row)
            advance()
        notes["cluster_starts"].append({"start": start, "setup": name, **cluster.notes()})
    _save(folder, notes)
    write_rows(_path(folder, start, name), rows)


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write what a cluster start gave: tables within rows first, then the rows themselves; `rows` lose their tables."""
    start, name = rows[0]["start"], rows[0]["setup"]
    for table in [key for key, value in rows[0].items() if isinstance(value, pd.DataFrame)]:
        parts = [own.assign(panel=row["panel"]) for row in rows if len(own := row.pop(table))]
        if parts:
            whole = pd.concat(parts, ignore_index=True).assign(start=start, setup=name)
            write_parquet(whole, path.with_name(f"{path.stem}-{table}.parquet"))
    write_text(path, pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def write_parquet(table: pd.DataFrame, path: Path) -> None:
    """Write a table that appears whole."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    with whole(path) as draft:
        pq.write_table(arrow, draft, compression="zstd", compression_level=19)
