"""Runs that hold little, cut out of a recorded run: its cells, statistics, slices, histograms and samples of some."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cassbook.core.files import sha256
from cassbook.core.paths import records_dir
from cassbook.records import digest

#: Says which cells stay, given those of the whole run.
Choose = Callable[[pd.DataFrame], pd.Series]


def cut(folder: Path, choose: Choose, name: str = "standard-2.1.20", relabel: dict[str, str] | None = None) -> Path:
    """Write a run with some cells of a recorded run; `relabel` gives columns of its cells another value."""
    recorded = records_dir() / name
    (folder / "samples").mkdir(parents=True)
    cells = pd.read_csv(recorded / "cells.csv", dtype="str", keep_default_na=False)
    typed = cells.assign(**{c: pd.to_numeric(cells[c]) for c in ("threads", "read_share", "block", "rate_per_s")})
    stay = set(cells.loc[choose(typed), "cell_id"])
    for table in ("cells.csv", digest.STATISTICS, digest.SLICES):
        if (recorded / table).is_file():
            rows = pd.read_csv(recorded / table, dtype="str", keep_default_na=False)
            rows = rows[rows["cell_id"].isin(stay)]
            columns = {column: value for column, value in (relabel or {}).items() if column in rows}
            rows.assign(**columns).to_csv(folder / table, index=False, lineterminator="\n")
    if (recorded / digest.HISTOGRAMS).is_file():
        lines = (recorded / digest.HISTOGRAMS).read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith("Tag=") or line[4 : line.index(".")] in stay]
        (folder / digest.HISTOGRAMS).write_text("".join(kept))
    for path in sorted((recorded / "samples").glob("*.parquet")):
        table = pq.read_table(path)
        table = table.filter(pc.is_in(table["cell_id"].cast("string"), pc.cast(list(stay), "string")))
        pq.write_table(table, folder / "samples" / path.name)
    if "slices" in cells and set(pd.read_csv(folder / "cells.csv")["slices"]) == {0}:
        (folder / digest.SLICES).unlink(missing_ok=True)
    notes = json.loads((recorded / "manifest.json").read_text())
    written = (path for path in folder.rglob("*") if path.is_file())
    notes["sums"] = {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(written)}
    (folder / "manifest.json").write_text(json.dumps(notes))
    return folder


def one_level(cells: pd.DataFrame) -> pd.Series:
    """Choose the pure cells of one level."""
    return (cells["kind"] == "pure") & (cells["read_cl"] == "ONE")


def one_thread_count(cells: pd.DataFrame) -> pd.Series:
    """Choose all that was measured at one thread count, and what has none of its own."""
    return (cells["threads"] == 100) & cells["kind"].isin(["pure", "mixed", "warmup"])


def one_block(cells: pd.DataFrame) -> pd.Series:
    """Choose the first block."""
    return cells["block"] == 1


def thinnest(cells: pd.DataFrame) -> pd.Series:
    """Choose two cells: reads and writes at one level and one thread count, once."""
    return one_level(cells) & one_thread_count(cells) & one_block(cells)


def mixes_only(cells: pd.DataFrame) -> pd.Series:
    """Choose mixes of one share of reads and one thread count."""
    return (cells["kind"] == "mixed") & (cells["threads"] == 100) & (cells["read_share"] == 0.5)


def as_quick(cells: pd.DataFrame) -> pd.Series:
    """Choose what has the shape of profile `quick`: six thread counts, mixes at one of them, three blocks."""
    pure = cells["kind"].isin(["pure", "warmup"]) & cells["threads"].isin([10, 50, 100, 200, 300, 400])
    mixed = (cells["kind"] == "mixed") & (cells["threads"] == 50) & cells["read_share"].isin([0.1, 0.5, 0.9])
    return (pure | mixed) & (cells["block"] <= 3)


#: Columns of cells that a user's own workload measured.
OWN_WORKLOAD = {"kind": "workload", "workload": "orders"}
