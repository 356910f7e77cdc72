"""The results of a run by cell, as `cassbook show` and `cassbook run` print them and `cassbook report` has them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator

import numpy as np
import pandas as pd

from cassbook.core.estimate import NOT_DETERMINED_MEANS, Estimate
from cassbook.core.schema import UNKNOWN_THREADS, explained
from cassbook.core.words import counted, markdown
from cassbook.latency import percentiles, summaries
from cassbook.latency.results import KEYS, RESPONSE, Missing, Results
from cassbook.latency.uncertainty import BLOCKS, ONE_START
from cassbook.records.results import Measured, of_run, prices_of, replication
from cassbook.shown import open_results, outages, prices
from cassbook.shown.dead_replicas import survival
from cassbook.shown.tables import WIDTH, Format, csv, estimates, formatted, lines, three_digits, wrapped

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


def _figure(estimate: Estimate) -> str:
    """Value in three digits, and the farther side of its interval in percent of it."""
    return f"{three_digits(estimate.value)} {estimate.reach}".rstrip()


def sections(of: Results) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield titles and tables in words, one row per cell: latencies in ms, behind ± how far an interval reaches."""
    differing = [name for name in _SECTION[:2] if len(of.table[name].unique()) > 1]
    for key, cells in of.table.groupby(_SECTION, sort=False):
        engine, deployment, kind = map(str, key)
        own = {"engine": f"Cassandra {engine}", "deployment": deployment}
        title = [_TITLES.get(kind, kind), *(own[name] for name in differing if own[name])]
        words: dict[str, object] = {}
        for name in KEYS:
            if name in _SECTION or (name == "workload" and kind != "paced"):  # operations are named by it
                continue
            if len(cells[name].unique()) > 1 or (len(cells) == 1 and name in _ALWAYS):
                words[_HEADS.get(name, name)] = cells[name].map(_key)
            elif word := _of_all(name, cells[name].iloc[0]):
                title.append(word)
        yield ", ".join(title), pd.DataFrame(words | dict(_figures(cells)))


def _figures(cells: pd.DataFrame) -> pd.DataFrame:
    """Columns of figures with the formats of each; latencies in ms."""
    columns = {"ops/s": ("throughput_per_s", 1.0)} | {name: (of, 1e-3) for name, of in percentiles.COLUMNS.items()}
    figures = pd.DataFrame(
        {
            name: estimates(cells, of, *(summaries.bound(of, side) for side in ("low", "high"))).map(
                lambda estimate, scale=scale: estimate.times(scale)
            )
            for name, (of, scale) in columns.items()
        }
    )
    formats: dict[str, Format] = dict.fromkeys(columns, _figure)
    if "max_us" in cells.columns and cells["max_us"].notna().any():
        figures["max"], formats["max"] = cells["max_us"] * 1e-3, three_digits
    figures["errors"], formats["errors"] = cells["errors"], ".0f"
    if (cells["marks"] != "").any():
        figures["marks"], formats["marks"] = cells["marks"].str.replace(";", ","), ""
    return formatted(figures, formats, missing="-")


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


def heading(run: Measured, of: Results) -> str:
    """Say in a line which run it is."""
    measured = dict.fromkeys(engine for table in (of.table, of.under_open) if len(table) for engine in table["engine"])
    engines = ", ".join(measured) or run.manifest.get("engine", "")
    tables = [table for table in (of.table, of.under_open) if len(table)]
    blocks = max((int(table["blocks"].max()) for table in tables), default=0)
    n = sum(map(len, tables)) - of.parts
    return f"{run.name}: Cassandra {engines}, {counted(n, 'cell')} in {counted(blocks, 'block')}"


def notes(run: Measured, of: Results) -> list[str]:
    """Return what a reader of the table must know, one sentence or two each."""
    return [_BEHIND, *surviving(run, of), *explained_results(of), *run.notes]


def explained_results(of: Results) -> list[str]:
    """Say what figures rest on, what is not shown and why, and what the marks mean."""
    whole, parts = of.table[~of.is_part], of.table[of.is_part]
    said = [_IN_GROUPS] if of.rates_in_groups else []
    said += _on_figures(whole)
    if failed := int(whole["latency_us"].isna().sum()):
        said.append(f"{counted(failed, 'cell')} had no successful operation, so no latency either.")
    if len(none := parts.loc[parts["latency_us"].isna(), "operation"]):
        said.append(f"No {', '.join(none)} succeeded.")
    if mixes := max(missing.by_operation for missing in of.missing.values()):
        several = "es" if mixes > 1 else ""
        said.append(f"Percentiles of {mixes} mix{several} are not shown: those of several operations do not add up.")
    said += [sentence for name, one in of.missing.items() for sentence in _on_missing(name, one, of.no_histograms)]
    if len(of.under_open):
        said += open_results.explained(of.under_open)
        return said + _on_marks(pd.concat([whole["marks"], of.under_open["marks"]]))
    return said + _on_marks(whole["marks"])


def _on_figures(table: pd.DataFrame) -> Iterator[str]:
    kinds = set(table["interval"])
    if BLOCKS in kinds:
        yield "Over blocks: geometric means, with 95 % intervals from Student's t on logarithms."
    if ONE_START in kinds:
        yield (
            "Cells of one block have 95 % intervals within that block, by its own requests: they say what more of them "
            "would give, not what another cluster start would."
        )
    if (table["time"] == RESPONSE).any():
        yield "Latencies of cells with a rate count from when a request should have started (response time)."
    if (table["threads"] == UNKNOWN_THREADS).any():
        yield "Logs do not say how many threads there were where none are shown."
    unknown, failed = int(table["unknown"].sum()), int(table["errors"].sum())
    if unknown:
        yield f"Of {failed} errors, {unknown} are writes that may have taken effect all the same."


def too_few(missing: percentiles.TooFew) -> str:
    """Say that a percentile is not shown for want of operations, and how many more it takes.

    >>> too_few(percentiles.TooFew("p99", 2, 743))
    'p99 of 2 cells is not shown: it needs 1,000 operations per cell, and the fewest are 743, 257 more.'
    """
    lacks = percentiles.lacking(missing.name, missing.fewest, "the fewest are {}")
    return f"{missing.name} of {counted(missing.cells, 'cell')} is not shown: it {lacks}."


def _on_missing(name: str, missing: Missing, no_histograms: bool) -> list[str]:
    """Say which cells lack a percentile, in one text; nothing where none does."""
    said = []
    if missing.few:
        said.append(too_few(percentiles.TooFew(name, missing.few, missing.least)))
    if missing.lost:
        why = "histograms are not in the installed package" if no_histograms else "logs or tables do not hold it"
        said.append(f"{name} of {counted(missing.lost, 'cell')} is not shown: their {why}.")
    if missing.printed:
        said.append(
            f"{name} of {counted(missing.printed, 'cell')} is as the log prints it, of {missing.fewest:,.0f} "
            f"operations at the fewest: fewer than {percentiles.BEYOND} lie beyond it."
        )
    return [" ".join(said)] if said else []


def _on_marks(marks: pd.Series) -> list[str]:
    """Say what the marks of some cells mean, one sentence for each that occurs."""
    number_of = Counter(mark for own in marks for mark in own.split(";") if mark)
    return [f"Marked {mark} ({counted(n, 'cell')}): {explained(mark)}." for mark, n in sorted(number_of.items())]


def surviving(run: Measured, of: Results) -> list[str]:
    """Say what a run's pairs of levels survive, where its replication factor is known, and what a dead node costs."""
    n, table = replication(run), with_open(of)
    pairs = table[table["survives_reads"].notna() & table["survives_writes"].notna()]
    if n is None or pairs.empty:
        return []
    counts = pairs.drop_duplicates("level")[["level", "survives_reads", "survives_writes"]]
    said = [f"at {level} {survival(int(reads), int(writes))}" for level, reads, writes in counts.to_numpy()]
    waits = [(n - int(reads), n - int(writes)) for _, reads, writes in counts.to_numpy()]
    measured = outages.recorded(waits, n, str(run.manifest.get("engine", "")))
    return [f"With {counted(n, 'replica')}: {'; '.join(said)}.", *(f"Measured {line}." for line in measured)]


def with_open(of: Results) -> pd.DataFrame:
    """Rows of closed loops and of open arrivals in one table; columns that one of them lacks are empty."""
    tables = [table for table in (of.table, of.under_open) if len(table)]
    return pd.concat(tables, ignore_index=True) if len(tables) > 1 else (tables or [of.table])[0]


def _all_sections(run: Measured, of: Results) -> list[tuple[str, pd.DataFrame]]:
    return [*sections(of), *open_results.sections(of.under_open, of.carried), *prices.sections(prices_of(run))]


def as_text(run: Measured) -> str:
    """Return the tables for a terminal, and their notes."""
    of = of_run(run)
    text = [heading(run, of), ""]
    for title, table in _all_sections(run, of):
        text += [title, columns(table), ""]
    return "\n".join([*text, *wrapped(notes(run, of))]).rstrip()


def columns(table: pd.DataFrame) -> str:
    """Columns of text; closer together where they would not fit, then with marks and names on lines of their own."""
    closer = table.replace({" ±": "±"}, regex=True)
    for drawn, apart in ((table, ()), (closer, ()), (closer, ("marks",)), (closer, ("marks", *_NAMES))):
        text = _lines(drawn, apart)
        if max(map(len, text)) <= WIDTH:
            break
    return "\n".join(text)


def _lines(table: pd.DataFrame, apart: Collection[str]) -> list[str]:
    """Lines of a table; columns that stand apart are above and below the rows."""
    above = [name for name in table if name in apart and name != "marks"]
    rest = table.drop(columns=[name for name in apart if name in table])
    first, *rows = lines(rest, ("condition", *_ALWAYS, "marks"))
    text, named = [first], ""
    for row, cell in zip(rows, table.to_dict("records"), strict=True):
        name = ", ".join(cell[column] for column in above if cell[column])
        if name != named:
            text.append(name)
        text.append(row)
        if "marks" in apart and cell.get("marks"):
            text.append(f"    marked {cell['marks']}")
        named = name
    return text


def as_markdown(run: Measured) -> str:
    """Return the tables and their notes as Markdown."""
    of = of_run(run)
    text = [f"# {heading(run, of)}", ""]
    for title, table in _all_sections(run, of):
        text += [f"## {title}", "", markdown(table), ""]
    return "\n".join([*text, *(f"* {note}" for note in notes(run, of))]).rstrip()


def as_json(run: Measured) -> str:
    """JSON: run, engine, cells (a list of objects, units in their names; what is not known is null), prices, notes.

    Where there are cells under open arrivals also open and carried: `open_results.open_results` and `carried`.
    """
    of = of_run(run)
    cells = json.loads(of.table.to_json(orient="records", double_precision=6))
    content = {"run": run.name, "engine": run.manifest.get("engine"), "replication_factor": replication(run)}
    ratios = json.loads(prices_of(run).to_json(orient="records", double_precision=6))
    if len(of.under_open):
        content["open"], content["carried"] = (
            json.loads(table.to_json(orient="records", double_precision=6)) for table in (of.under_open, of.carried)
        )
    content |= {"cells": cells, "prices": ratios, "notes": [*surviving(run, of), *explained_results(of), *run.notes]}
    return json.dumps(content, indent=2)


def as_csv(run: Measured) -> str:
    """CSV of the cells, with the run's name in front; those under open arrivals last, with columns of their own."""
    return csv(with_open(of_run(run)), run=run.name)


FORMATS: dict[str, Callable[[Measured], str]] = {
    "text": as_text, "json": as_json, "csv": as_csv, "md": as_markdown,
}  # fmt: skip
