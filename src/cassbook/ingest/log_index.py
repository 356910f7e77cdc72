"""`logs.csv`: what no log knows of itself, one row per log (see `log_folder`)."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd

from cassbook.core.consistency import LEVEL_CODES
from cassbook.core.errors import InputError
from cassbook.core.paths import LOGS_INDEX
from cassbook.core.schema import UNKNOWN_THREADS
from cassbook.ingest.common import cell_id_of
from cassbook.ingest.formats import logs_in
from cassbook.ingest.hdr import UNITS_US

REQUIRED = ("file", "engine", "threads", "read_cl", "write_cl", "read_share", "block")
#: What differs between cells, so that logs of one cell must agree on it.
SETTINGS = ("engine", "threads", "read_cl", "write_cl", "read_share", "block")
OPTIONAL = {
    "cell_id": "", "kind": "", "repeat": 1, "deployment": "", "workload": "", "condition": "", "ramp_s": 0.0,
    "unit": "", "reads": "", "stress_profile": "",
}  # fmt: skip
UNKNOWN = "unknown"
#: Logs of a folder that a message names.
_NAMED = 3


def alone(name: str) -> pd.DataFrame:
    """Return the index of one log of which nothing is known yet."""
    row = OPTIONAL | {"file": name, "engine": UNKNOWN, "read_cl": UNKNOWN, "write_cl": UNKNOWN}
    row |= {"threads": UNKNOWN_THREADS, "read_share": 0.5, "block": 1, "cell_id": cell_id_of([Path(name)], Path())}
    return pd.DataFrame([row])


def only_log(folder: Path) -> str:
    """Return the name of the one log in a folder without `logs.csv`; raise InputError if it holds none or several."""
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
            f"{','.join(REQUIRED)} (and cell_id, the same for all clients of one "
            "cell). A single log needs none"
        )
    return names[0]


def read_index(folder: Path) -> pd.DataFrame:
    """Read and check a folder's `logs.csv`, separated by commas, or by semicolons as spreadsheets write it.

    There is one row per log: the required columns and the optional ones, with cell_id and kind filled in; threads are
    `UNKNOWN_THREADS` where the field is empty, for the log to say. Raise InputError with the row and column that is
    missing or wrong.
    """
    path = folder / LOGS_INDEX
    index, decimal = _table(path)
    missing = [name for name in REQUIRED if name not in index.columns]
    unknown = [name for name in index.columns if name not in (*REQUIRED, *OPTIONAL)]
    if missing or unknown:
        wrong = f"no column {', '.join(missing)}" if missing else f"unknown column {', '.join(unknown)}"
        raise InputError(
            f"{path}: {wrong}; its columns are {', '.join(REQUIRED)} and, if you like, {', '.join(OPTIONAL)}"
        )
    if index.empty:
        raise InputError(f"{path}: names no log")
    for name, default in OPTIONAL.items():
        filled = index[name] if name in index.columns else pd.Series("", index.index)
        index[name] = filled.where(filled != "", str(default))
    index["threads"] = index["threads"].where(index["threads"] != "", str(UNKNOWN_THREADS))
    for name, kind in (("threads", int), ("block", int), ("repeat", int), ("read_share", float), ("ramp_s", float)):
        texts = index[name].str.replace(decimal, ".", regex=False) if kind is float else index[name]
        index[name] = [_number(path, line, name, text, kind) for line, text in enumerate(texts, start=2)]
    _check_rows(path, index)
    named = zip(index["cell_id"], index["file"], strict=True)
    cell_ids = [cell_id or cell_id_of([Path(file)], path) for cell_id, file in named]
    several = index["file"].duplicated(keep=False) & (index["cell_id"] == "")  # tests of one log, by their threads
    cell_ids = [
        f"{name}-t{threads:04d}" if of_one else name
        for name, threads, of_one in zip(cell_ids, index["threads"], several, strict=True)
    ]
    pure = np.where(index["read_share"].isin([0.0, 1.0]), "pure", "mixed")
    index = index.assign(cell_id=cell_ids, kind=index["kind"].where(index["kind"] != "", pure))
    for cell_id, logs in index.groupby("cell_id"):
        differing = [name for name in (*SETTINGS, "kind", "ramp_s") if len(set(logs[name])) > 1]
        if differing:
            raise InputError(f"{path}: the logs of cell {cell_id} differ in {', '.join(differing)}")
    return index


def _table(path: Path) -> tuple[pd.DataFrame, str]:
    """Return the rows as texts, and the decimal sign: a comma only where semicolons separate."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        if text.lower().startswith("sep="):  # Excel's own word on what separates
            text = text.partition("\n")[2]
        head = text.partition("\n")[0]
        separator = next((sign for sign in (";", "\t") if sign in head and "," not in head), ",")
        rows = pd.read_csv(io.StringIO(text), sep=separator, dtype="str", keep_default_na=False, skipinitialspace=True)
    except UnicodeDecodeError:
        raise InputError(f"{path}: is neither UTF-8 nor UTF-16; save it as CSV UTF-8") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    fields = [len(row) for row in csv.reader(io.StringIO(text), delimiter=separator) if row]
    for line, n in enumerate(fields[1:], start=2):
        if n > fields[0]:
            has = f"has {n} fields, the heading {fields[0]}"
            raise InputError(f"{path}, line {line}: {has}; quote what holds a {separator!r}")
    return rows.rename(columns=lambda name: name.strip().lower()), "." if separator == "," else ","


def _check_rows(path: Path, index: pd.DataFrame) -> None:
    for line, row in enumerate(index.to_dict("records"), start=2):
        for name in ("file", *(["stress_profile"] if row["stress_profile"] else [])):
            if not (path.parent / row[name]).is_file():
                raise InputError(f"{path}, line {line}: {row[name]!r} does not exist")
        if not 0 <= row["read_share"] <= 1:
            raise InputError(f"{path}, line {line}: read_share {row['read_share']:g} is no share, from 0 to 1")
        if row["threads"] < 0:
            raise InputError(f"{path}, line {line}: threads {row['threads']} is no number of threads")
        if row["unit"] not in ("", *UNITS_US):
            raise InputError(f"{path}, line {line}: unit {row['unit']!r} is none of {', '.join(UNITS_US)}")
        if row["reads"] and row["stress_profile"]:
            raise InputError(f"{path}, line {line}: reads and stress_profile both say which operations read; give one")
        for name in ("read_cl", "write_cl"):
            if row[name] not in (*LEVEL_CODES, UNKNOWN, ""):
                raise InputError(f"{path}, line {line}: {name} {row[name]!r} is no level; use {', '.join(LEVEL_CODES)}")
    doubled = index.duplicated(["file", "threads"]) | (
        index["file"].duplicated() & (index["threads"] == UNKNOWN_THREADS)
    )
    if doubled.any():
        raise InputError(f"{path}: {index.loc[doubled, 'file'].iloc[0]} is named twice")


def _number(path: Path, line: int, name: str, text: str, kind: type) -> float:
    try:
        return kind(text)
    except ValueError:
        what = "whole number" if kind is int else "number"
        raise InputError(f"{path}, line {line}: {name} {text!r} is no {what}") from None
