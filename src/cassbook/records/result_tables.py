"""The results of a run by cell, as `cassbook show` and `cassbook run` print them and `cassbook report` has them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from cassbook.core.consistency import survival
from cassbook.core.estimate import NOT_DETERMINED_MEANS, Estimate
from cassbook.core.markdown import markdown
from cassbook.core.schema import UNKNOWN_THREADS
from cassbook.core.words import counted
from cassbook.latency import percentiles, summaries
from cassbook.latency.comparison import Run
from cassbook.latency.results import KEYS, Results, results
from cassbook.latency.slices import rates_in_groups
from cassbook.records import fault_costs, price_tables
from cassbook.records.run import RecordedRun

_WIDTH = 120
_BEHIND = (
    "Operations per second, and latencies in ms. Behind ±: the farther side of the 95 % interval, in percent (for both "
    f"sides: --format json); {NOT_DETERMINED_MEANS}."
)
#: Said of runs of earlier versions.
_IN_GROUPS = (
    "At a fixed rate the settings of a workload were measured together, in slices of one load: where one of them does "
    "not carry the rate, figures and prices of all are those of the group."
)
#: What makes cells a section of the table, and what a section is called.
_SECTION = ["engine", "deployment", "kind"]
_TITLES = {
    "pure": "Reads alone and writes alone",
    "mixed": "Mixes of reads and writes",
    "workload": "Workloads",
    "paced": "Fixed rates, and closed loops to compare them with",
    "cold": "Cold starts",
}
#: Columns that name a cell: their heads. One that is the same in a whole section stands in its title.
_HEADS = {"rate_per_s": "rate/s"}
_ALWAYS = ("operation", "level")
#: Those that may be long.
_NAMES = ("workload", "condition", *_ALWAYS)


class Shown(Run, Protocol):
    """What is shown: a recorded run, a folder of logs, or samples in Parquet."""

    @property
    def has_histograms(self) -> bool:
        """Whether it has the next."""

    @property
    def histograms(self) -> Mapping[str, HdrHistogram]:
        """Of its cells and operations, in microseconds."""


def of_run(run: Shown) -> Results:
    """Results of a run; p99.9 is left out where the installed package has no histograms of it."""
    recorded = run.histograms if run.has_histograms else None
    of = results(run.statistics, recorded, replication(run), run.parts)
    if isinstance(run, RecordedRun) and rates_in_groups(run.statistics, run.slices).any():
        of.notes.insert(0, _IN_GROUPS)
    return of


def replication(run: Shown) -> int | None:
    """Replication factor of a run; None where it does not say, as logs do not."""
    factor: int | None = run.manifest.get("profile", {}).get("cluster", {}).get("replication_factor")
    return factor


def three_digits(value: float) -> str:
    """Value in three significant digits, all of those before the point, and none below a nanosecond in ms.

    >>> three_digits(23912.0), three_digits(31.0), three_digits(0.0004)
    ('23912', '31.0', '0.000400')
    """
    digits = 0 if value >= 100 else int(min(2 - np.floor(np.log10(value * (1 + 1e-9))), 6)) if value > 0 else 0  # noqa: PLR2004
    return f"{value:.{digits}f}"


def figure(row: pd.Series, column: str, scale: float) -> str:
    """Value in three digits, and the farther side of its interval in percent of it; '-' where there is no value."""
    value, low, high = (row[name] * scale for name in (column, *(summaries.bound(column, s) for s in ("low", "high"))))
    if np.isnan(value):
        return "-"
    return f"{three_digits(value)} {Estimate(value, low, high, 0).reach}".rstrip()


def sections(of: Results) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield titles and tables in words, one row per cell: latencies in ms, behind ± how far an interval reaches."""
    differing = [name for name in _SECTION[:2] if len(of.table[name].unique()) > 1]
    for key, cells in of.table.groupby(_SECTION, sort=False):
        engine, deployment, kind = map(str, key)
        own = {"engine": f"Cassandra {engine}", "deployment": deployment}
        title = [_TITLES.get(kind, kind), *(own[name] for name in differing if own[name])]
        text: dict[str, object] = {}
        for name in KEYS:
            if name in _SECTION or (name == "workload" and kind != "paced"):  # operations are named by it
                continue
            if len(cells[name].unique()) > 1 or (len(cells) == 1 and name in _ALWAYS):
                text[_HEADS.get(name, name)] = cells[name].map(_key)
            elif word := _of_all(name, cells[name].iloc[0]):
                title.append(word)
        text |= _figures(cells)
        yield ", ".join(title), pd.DataFrame(text)


def _figures(cells: pd.DataFrame) -> dict[str, object]:
    text: dict[str, object] = {"ops/s": [figure(row, "throughput_per_s", 1.0) for _, row in cells.iterrows()]}
    for name, column in percentiles.COLUMNS.items():
        text[name] = [figure(row, column, 1e-3) for _, row in cells.iterrows()]
    if "max_us" in cells.columns and cells["max_us"].notna().any():
        text["max"] = [three_digits(us * 1e-3) if us == us else "-" for us in cells["max_us"]]  # noqa: PLR0124 - NaN
    text["errors"] = cells["errors"].map("{:.0f}".format)
    if (cells["marks"] != "").any():
        text["marks"] = cells["marks"].str.replace(";", ",")
    return text


def _key(value: object) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:g}"
    return str(value or "")


def _of_all(name: str, value: object) -> str:
    """Words for what all cells of a section have alike."""
    if name == "threads":
        return counted(int(str(value)), "thread") if value != UNKNOWN_THREADS else ""
    if name == "rate_per_s":
        return f"{_key(value)} a second" if _key(value) else ""
    return str(value)


def heading(run: Shown, of: Results) -> str:
    """Say in a line which run it is."""
    engines = ", ".join(of.table["engine"].unique()) or run.manifest.get("engine", "")
    blocks = int(of.table["blocks"].max()) if len(of.table) else 0
    n = len(of.table) - of.parts
    return f"{run.name}: Cassandra {engines}, {counted(n, 'cell')} in {counted(blocks, 'block')}"


def notes(run: Shown, of: Results) -> list[str]:
    """Return what a reader of the table must know, one sentence or two each."""
    return [_BEHIND, *surviving(run, of), *of.notes, *run.notes]


def surviving(run: Shown, of: Results) -> list[str]:
    """Say what a run's pairs of levels survive, where its replication factor is known, and what a dead node costs."""
    n, table = replication(run), of.table
    pairs = table[table["survives_reads"].notna() & table["survives_writes"].notna()]
    if n is None or pairs.empty:
        return []
    counts = pairs.drop_duplicates("level")[["level", "survives_reads", "survives_writes"]]
    said = [f"at {level} {survival(int(reads), int(writes))}" for level, reads, writes in counts.to_numpy()]
    waits = [(n - int(reads), n - int(writes)) for _, reads, writes in counts.to_numpy()]
    measured = fault_costs.said(waits, n, str(run.manifest.get("engine", "")))
    return [f"With {counted(n, 'replica')}: {'; '.join(said)}.", *(f"Measured {line}." for line in measured)]


def as_text(run: Shown) -> str:
    """Return the tables for a terminal, and their notes."""
    of = of_run(run)
    lines = [heading(run, of), ""]
    for title, table in (*sections(of), *price_tables.sections(price_tables.of_run(run))):
        lines += [title, _columns(table), ""]
    lines += [line for note in notes(run, of) for line in textwrap.wrap(note, _WIDTH, subsequent_indent="  ")]
    return "\n".join(lines).rstrip()


def _columns(table: pd.DataFrame) -> str:
    """Columns of text; closer together where they would not fit, then with marks and names on lines of their own."""
    closer = table.replace({" ±": "±"}, regex=True)
    for drawn, apart in ((table, ()), (closer, ()), (closer, ("marks",)), (closer, ("marks", *_NAMES))):
        lines = _lines(drawn, apart)
        if max(map(len, lines)) <= _WIDTH:
            break
    return "\n".join(lines)


def _lines(table: pd.DataFrame, apart: Collection[str]) -> list[str]:
    """Lines of a table: words to the left, figures to the right; columns that stand apart above and below the rows."""
    above = [name for name in table if name in apart and name != "marks"]
    rest = table.drop(columns=[name for name in apart if name in table])
    words = {name: max(map(len, [name, *rest[name]])) for name in ("condition", *_ALWAYS, "marks") if name in rest}
    formatters = {name: (f"{{:<{width}}}".format) for name, width in words.items()}
    head = [f"{name:<{words[name]}}" if name in words else name for name in rest.columns]
    first, *rows = rest.to_string(index=False, justify="right", formatters=formatters, header=head).splitlines()
    lines, named = [first], ""
    for row, cell in zip(rows, table.to_dict("records"), strict=True):
        name = ", ".join(cell[column] for column in above if cell[column])
        if name != named:
            lines.append(name)
        lines.append(row)
        if "marks" in apart and cell.get("marks"):
            lines.append(f"    marked {cell['marks']}")
        named = name
    return [line.rstrip() for line in lines]


def as_markdown(run: Shown) -> str:
    """Return the tables and their notes as Markdown."""
    of = of_run(run)
    lines = [f"# {heading(run, of)}", ""]
    for title, table in (*sections(of), *price_tables.sections(price_tables.of_run(run))):
        lines += [f"## {title}", "", markdown(table), ""]
    return "\n".join([*lines, *(f"* {note}" for note in notes(run, of))]).rstrip()


def as_json(run: Shown) -> str:
    """JSON: run, engine, cells (a list of objects, units in their names; what is not known is null), prices, notes."""
    of = of_run(run)
    cells = json.loads(of.table.to_json(orient="records", double_precision=6))
    content = {"run": run.name, "engine": run.manifest.get("engine"), "replication_factor": replication(run)}
    ratios = json.loads(price_tables.of_run(run).to_json(orient="records", double_precision=6))
    content |= {"cells": cells, "prices": ratios, "notes": [*surviving(run, of), *of.notes, *run.notes]}
    return json.dumps(content, indent=2)


def as_csv(run: Shown) -> str:
    """CSV of the cells, with the run's name in front."""
    table = of_run(run).table
    table.insert(0, "run", run.name)
    return table.to_csv(index=False, lineterminator="\n", float_format="%.7g").rstrip("\n")


FORMATS: dict[str, Callable[[Shown], str]] = {
    "text": as_text, "json": as_json, "csv": as_csv, "md": as_markdown,
}  # fmt: skip
