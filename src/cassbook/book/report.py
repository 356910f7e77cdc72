"""`cassbook report`: what runs measured, as one page that holds everything it shows and asks nothing of a network."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from cassbook import __version__
from cassbook.advisor.advice import SURVIVE
from cassbook.book import report_answers, report_faults
from cassbook.book import report_figures as figures
from cassbook.book.paper_tables import p_text
from cassbook.core.consistency import dead_replicas, stops
from cassbook.core.errors import InputError
from cassbook.core.estimate import NOT_DETERMINED_MEANS, Estimate
from cassbook.core.schema import UNKNOWN_THREADS, explained
from cassbook.core.words import counted
from cassbook.latency import percentiles, ranking
from cassbook.latency.comparison import choose, compare
from cassbook.latency.labels import labelled
from cassbook.latency.results import Results
from cassbook.records import fault_tables, result_tables
from cassbook.records.comparison_report import summary
from cassbook.records.faults import FaultRun
from cassbook.records.result_tables import Shown

#: Tables of more rows are folded.
_LONG = 30
#: Differences between two runs that are shown, the largest first.
_TOP = 25
#: What tells one group of panels from another.
_DRAWN_APART = ["deployment", "kind", "operation", "paced"]
#: What makes cells comparable whatever their load, and what is their load.
_SAME = ["deployment", "kind", "workload", "condition", "operation"]
_LOADS = ["threads", "rate_per_s"]
#: Kinds of cell that are drawn, and which figures of latency; the others are in the tables.
_DRAWN = {"pure": ("p50", "p95", "p99", "p99.9"), "mixed": ("mean", "p99"), "workload": ("p50", "p95", "p99", "p99.9")}
#: Figures of a comparison: what they are multiplied by, and what they are called.
_FIGURES = {
    "latency_us": (1e-3, "mean, ms"), "response_us": (1e-3, "mean response, ms"),
    "throughput_per_s": (1.0, "operations/s"),
    **{f"{name}_us": (1e-3, f"{name}, ms") for name in percentiles.SHARES},
    **{f"response_{name}_us": (1e-3, f"{name} of response, ms") for name in percentiles.SHARES},
}  # fmt: skip
_HEADS = {"rate_per_s": "rate/s"}
_TEXT = {"operation", "level", "condition", "marks", "deployment", "workload", "kind", "setting", "driver", "table"}


@dataclass(frozen=True)
class _Run:
    """A run with its results."""

    run: Shown

    @cached_property
    def results(self) -> Results:
        return result_tables.of_run(self.run)

    @property
    def name(self) -> str:
        return str(self.run.name)


def page(runs: Sequence[Shown | FaultRun]) -> str:
    """Return the page about some runs; with several, each after the first is compared with the first.

    Parameters
    ----------
    runs : sequence of RecordedRun, LogFolder, SampleFile or FaultRun
        Records of faults are not compared.
    """
    of = [_Run(run) for run in runs if not isinstance(run, FaultRun)]
    failing = [run for run in runs if isinstance(run, FaultRun)]
    named = [*(one.name for one in of), *(run.results.name for run in failing)]
    names = ", ".join(dict.fromkeys(named))
    body = [f"<h1>What was measured: {_text(names)}</h1>", *_contents(named, len(of) > 1)]
    for number, one in enumerate(of, start=1):
        body += _about(one, f"run-{number}")
    for number, run in enumerate(failing, start=len(of) + 1):
        body += report_faults.about(run, f"run-{number}", partial(_table, wide=(fault_tables.ENDED,)))
    for number, other in enumerate(of[1:], start=1):
        body += _compared(of[0], other, f"compared-{number}")
    style = resources.files("cassbook.book").joinpath("templates/report.css").read_text(encoding="utf-8")
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{_text(names)}</title>\n<link rel="icon" href="data:,">\n<style>\n{style}</style>\n</head>\n<body>\n'
    )
    return head + "\n".join(body) + f'\n<p class="quiet">Made by cassbook {__version__}.</p>\n</body>\n</html>\n'


def _text(value: object) -> str:
    return html.escape(str(value))


def _contents(names: list[str], compared: bool) -> list[str]:
    if len(names) == 1:
        return []
    links = [f'<li><a href="#run-{n}">{_text(name)}</a></li>' for n, name in enumerate(names, start=1)]
    last = ['<li><a href="#compared-1">Runs compared</a></li>'] if compared else []
    return ["<ul>", *links, *last, "</ul>"]


def _about(one: _Run, anchor: str) -> list[str]:
    """Everything about one run."""
    table = one.results.table
    lines = [f'<h2 id="{anchor}">{_text(result_tables.heading(one.run, one.results))}</h2>', *_circumstances(one)]
    if table.empty:
        return [*lines, *_list([*one.results.notes, *one.run.notes]), *_manifest(one)]
    lines += ["<h3>In short</h3>", *_answers(one)]
    lines += ["<h3>What survives a dead replica</h3>", *_survives(one)]
    lines += ["<h3>Settings compared</h3>", *_settings(one)]
    lines += ["<h3>Latency and throughput</h3>", *_figures(table)]
    lines += ["<h3>Every cell</h3>", *_list([*_notes(one.results), *one.run.notes])]
    for title, cells in result_tables.sections(one.results):
        lines += _folded(title, cells)
    return [*lines, "<h3>Marks</h3>", *_marks(table), "<h3>Machine and manifest</h3>", *_manifest(one)]


def _answers(one: _Run) -> list[str]:
    """Begin with what `advise` and `capacity` answer, or say why they do not."""
    found = report_answers.of_run(one.run, result_tables.replication(one.run))
    lines = []
    if len(found.advice):
        lead = (
            f"Recommended is the strong setting (read level/write level) with the lowest mean latency of those that "
            f"survive {dead_replicas(SURVIVE)}. <code>cassbook advise</code> answers for other loads and percentiles."
        )
        lines += [f"<p>{lead}</p>", _table(found.advice, wide=("recommended", "fastest"))]
    if len(found.capacity):
        lead = "Highest rate at which response times keep a bound; <code>cassbook capacity</code> takes other bounds."
        lines += [f"<p>{lead}</p>", _table(found.capacity)]
    return [*lines, *_list(found.lacking)] if found.lacking else lines


def _notes(of: Results) -> list[str]:
    """What a reader of the tables must know; marks have a table of their own."""
    behind = (
        "Operations per second, and latencies in ms. Behind ±: the farther side of the 95 % interval, in percent; "
        f"{NOT_DETERMINED_MEANS}."
    )
    return [behind, *(note for note in of.notes if not note.startswith("Marked "))]


def _circumstances(one: _Run) -> list[str]:
    """Say in a sentence what was measured and on what."""
    manifest = one.run.manifest
    cluster, machine = manifest.get("profile", {}).get("cluster", {}), manifest.get("machine", {})
    said = []
    if "begun" in manifest:
        said.append(f"begun {manifest['begun'][:16].replace('T', ' ')} UTC")
    if "profile" in manifest:
        said.append(f"profile {manifest['profile'].get('name', '')}")
    if cluster:
        said.append(
            f"{counted(cluster.get('nodes', 0), 'node')}, replication factor {cluster.get('replication_factor')}"
        )
    existing = any(start.get("kind") == "existing" for start in manifest.get("cluster_starts", []))
    if machine and not existing:
        said.append(
            f"nodes and client share the {counted(machine.get('cores', 0), 'core')} of one machine "
            f"({machine.get('cpu')})"
        )
    elif existing:
        said.append("on an existing cluster")
    text = "; ".join(said)
    return [f"<p>{_text(text[:1].upper() + text[1:])}.</p>"] if said else []


def _survives(one: _Run) -> list[str]:
    table = one.results.table
    rows = []
    for level, cells in table.groupby("level", sort=False):
        counts = {what: cells[f"survives_{what}"].dropna() for what in ("reads", "writes")}
        known = {what: int(of.iloc[0]) for what, of in counts.items() if len(of)}
        if not known:
            continue
        most = max(known.values())  # what was not measured stops nothing
        then = stops(known.get("reads", most), known.get("writes", most), 1).removesuffix(" with one replica down")
        survived = {f"{what} survive": str(known.get(what, "-")) for what in ("reads", "writes")}
        rows.append({"level": level} | survived | {"with one replica down": then or "goes on"})
    if not rows:
        return ["<p>Replication factor or levels are not known, so neither is what they survive.</p>"]
    n = result_tables.replication(one.run)
    lead = f"<p>So many of the {n} replicas of a row may be dead for reads and writes to go on:</p>"
    return [lead, _table(pd.DataFrame(rows), wide=("with one replica down",))]


def _settings(one: _Run) -> list[str]:
    """Order of the levels, fastest first, wherever several were measured alike."""
    cells = labelled(one.run.statistics)
    if "response_us" in cells.columns:
        cells["latency_us"] = cells["response_us"].where(cells["response_us"].notna(), cells["latency_us"])
    overall = ranking.of_cells(cells, _SAME, _LOADS)
    if overall.empty:
        return ["<p>Nothing was measured at several levels alike.</p>"]
    each = ranking.of_cells(cells, [*_SAME, *_LOADS], [])
    planned = one.results.table[_SAME].drop_duplicates().itertuples(index=False, name=None)
    places = {key: number for number, key in enumerate(planned)}
    overall, each = (
        orders.assign(place=[places[key] for key in orders[_SAME].itertuples(index=False, name=None)]).sort_values(
            ["place", *(name for name in _LOADS if name in orders)], ignore_index=True
        )
        for orders in (overall, each)
    )
    lead = (
        "<p>Levels by mean latency: <code>&lt;</code> where neighbours differ significantly within cluster starts "
        "(5 %, Holm), <code>~</code> where they may not, <code>?</code> where one cluster start cannot tell. The "
        "fastest is not the one to choose where it stops with one replica down: see above.</p>"
    )
    return [
        lead,
        *_folded("Over all loads together", _orders(overall, "loads")),
        *_folded("Load by load", _orders(each, *_LOADS)),
    ]


def _orders(orders: pd.DataFrame, *more: str) -> pd.DataFrame:
    """Orders in words; what is the same everywhere is left out."""
    kept = [name for name in _SAME if name not in ("kind", "workload") and len(orders[name].unique()) > 1]
    shown = orders[[*kept, *more]].astype(object)
    if "rate_per_s" in more:
        shown["rate_per_s"] = orders["rate_per_s"].map(lambda rate: f"{rate:g}" if rate > 0 else "")
        shown = shown.rename(columns={"rate_per_s": "rate/s"})
    shown["by mean latency, fastest first"] = orders["order"]
    shown["differ"] = [_differ(row) for row in orders.to_dict("records")]
    return shown.loc[:, [name for name in shown.columns if (shown[name] != "").any()]]


def _differ(row: Mapping[Hashable, Any]) -> str:
    if row["distinguishable"] is None:
        return "unknown"
    p = p_text(row["p_value"])
    return f"{'yes' if row['distinguishable'] else 'not all'}, p {p if p.startswith('<') else f'= {p}'}"


def _figures(table: pd.DataFrame) -> list[str]:
    """Panels by kind of cell and operation, with a legend of the levels."""
    table = table.assign(paced=table["rate_per_s"].notna())
    drawn = table[table["kind"].isin(list(_DRAWN)) & (table["threads"] != UNKNOWN_THREADS)]
    parts = [(key, cells) for key, cells in drawn.groupby(_DRAWN_APART, sort=False) if _loads(cells) > 1]
    if not parts:
        return ["<p>Nothing was measured at several numbers of threads, or rates; the table has each cell.</p>"]
    colour_of = figures.colours(drawn["level"].drop_duplicates().tolist())
    lines = [
        "<p>Vertical bars are 95 % intervals, cut off where they reach far. An open circle is a cell with a mark. "
        "Lines against throughput follow the number of threads, or the rate.</p>"
    ]
    several = len(drawn["deployment"].unique()) > 1
    for (deployment, kind, operation, paced), cells in parts:
        title = f"{operation}{f', {deployment}' if several else ''}{', at fixed rates' if paced else ''}"
        lines += [f"<h4>{_text(title)}</h4>", *_legend(cells, colour_of), '<div class="panels">']
        known = (name for name in ("p99", "p95") if cells[percentiles.COLUMNS[name]].notna().mean() > 1 / 2)
        panels = figures.percentile_panels(cells, colour_of, _DRAWN[str(kind)])
        for panel in (*panels, figures.throughput_panel(cells, colour_of, next(known, "mean"))):
            lines.append(f"<figure><figcaption>{_text(panel.title)}</figcaption>{panel.svg}</figure>")
        lines.append("</div>")
    return lines


def _loads(cells: pd.DataFrame) -> int:
    return len(cells[_LOADS].drop_duplicates())


def _legend(cells: pd.DataFrame, colour_of: dict[str, str]) -> list[str]:
    items = [
        f'<li><i style="background: {colour_of[level]}"></i>{_text(level)}</li>' for level in cells["level"].unique()
    ]
    return ['<ul class="legend">', *items, "</ul>"]


def _marks(table: pd.DataFrame) -> list[str]:
    """Say what each mark means and which cells have it."""
    counts = Counter(mark for marks in table["marks"] for mark in marks.split(";") if mark)
    if not counts:
        return ["<p>No cell is marked.</p>"]
    rows = [{"mark": mark, "cells": n, "meaning": explained(mark)} for mark, n in sorted(counts.items())]
    return [f"<p>Of {counted(len(table), 'cell')}:</p>", _table(pd.DataFrame(rows), wide=("meaning",))]


def _manifest(one: _Run) -> list[str]:
    """Machine, versions and profile; the whole manifest without the sums of its files behind a fold."""
    manifest = {name: value for name, value in one.run.manifest.items() if name != "sums"}
    machine, versions = manifest.get("machine", {}), manifest.get("versions", {})
    profile = manifest.get("profile", {})
    table, load = profile.get("table", {}), profile.get("load", {})
    java = {str(start.get("java", {}).get("version", "")) for start in manifest.get("cluster_starts", [])} - {""}
    facts = {
        "Profile": profile.get("title") or profile.get("name"),
        "Table": _told(table),
        "Load": _told(load),
        "Machine": _told(machine),
        "Load average before": f"{manifest['load_before']:.2f}" if "load_before" in manifest else None,
        "Java": ", ".join(sorted(java)),
        "Versions": _told(versions),
    }
    lines = [f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in facts.items() if value not in (None, "")]
    whole = _text(json.dumps(manifest, indent=2, ensure_ascii=False, default=str))
    described = ["<dl>", *lines, "</dl>"] if lines else ["<p>Logs do not say on what they were measured.</p>"]
    return [*described, "<details><summary>The whole manifest</summary>", f"<pre>{whole}</pre>", "</details>"]


def _told(of: dict[str, Any]) -> str:
    told = {name: value for name, value in of.items() if value not in (None, "", {})}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in told.items())


def _compared(first: _Run, second: _Run, anchor: str) -> list[str]:
    """The largest differences between two runs."""
    lines = [f'<h2 id="{anchor}">{_text(first.name)} and {_text(second.name)} compared</h2>']
    try:
        comparison = choose(compare(first.run, second.run), _TOP)
    except InputError as error:
        return [*lines, f"<p>{_text(error)}</p>"]
    labels = comparison.first["label"], comparison.second["label"]
    known = comparison.shown.replace({np.nan: "", 0.0: ""}) if len(comparison.shown) else comparison.shown
    more = [name for name in ("deployment", "condition", "rate_per_s") if name in known and (known[name] != "").any()]
    rows = []
    for row, keys in zip(comparison.shown.to_dict("records"), known.to_dict("records"), strict=True):
        scale, what = _FIGURES.get(row["figure"], (1.0, row["figure"]))
        cell = {_HEADS.get(name, name): keys[name] for name in (*more, "operation", "level", "threads")}
        sides = zip(labels, ("first", "second"), strict=True)
        values = {label: result_tables.three_digits(row[f"{side}_value"] * scale) for label, side in sides}
        interval = Estimate(row["ratio"], row["ratio_low"], row["ratio_high"], 0)
        rows.append(cell | {"figure": what} | values | {"ratio": f"{interval:.2f}", "differs": _clear(row)})
    said = [f"<p>{_text(sentence)}</p>" for sentence in summary(comparison)]
    lead = f"<p>The largest differences, {_text(labels[1])} by {_text(labels[0])}:</p>"
    return [*lines, *said, lead, _table(pd.DataFrame(rows))]


def _clear(row: Mapping[Hashable, Any]) -> str:
    if row["interval"] != "blocks":
        return "unknown"
    return "yes" if row["distinguishable"] else "no"


def _list(notes: Iterable[str]) -> list[str]:
    return ["<ul>", *(f"<li>{_text(note)}</li>" for note in notes), "</ul>"]


def _folded(title: str, table: pd.DataFrame) -> list[str]:
    """Put a table below a summary that opens and closes it; long ones begin closed."""
    begins = "" if len(table) > _LONG else " open"
    rows = counted(len(table), "row")
    return [f"<details{begins}><summary>{_text(title)} ({rows})</summary>", _table(table), "</details>"]


def _table(table: pd.DataFrame, wide: Sequence[str] = ()) -> str:
    """Return a table of words; columns of figures stand to the right."""
    kinds = [_class(name, table[name], wide) for name in table.columns]
    head = "".join(f"<th{kind}>{_text(name)}</th>" for name, kind in zip(table.columns, kinds, strict=True))
    rows = "\n".join(_rows(table, kinds))
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'


def _rows(table: pd.DataFrame, kinds: list[str]) -> Iterator[str]:
    for row in table.itertuples(index=False):
        yield "<tr>" + "".join(f"<td{k}>{_text(value)}</td>" for value, k in zip(row, kinds, strict=True)) + "</tr>"


def _class(name: object, column: pd.Series, wide: Sequence[str]) -> str:
    if name in wide:
        return ' class="wide"'
    figures_only = name not in _TEXT and column.astype(str).str.match(r"[-+\d.,>±]*( .*%| ±n\.d\.)?$").all()
    return ' class="number"' if figures_only else ""
