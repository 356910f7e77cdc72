"""`cassbook report`: what runs measured, as one page that holds everything it shows and asks nothing of a network."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from cassbook import __version__
from cassbook.advisor.advice import SURVIVE
from cassbook.book import report_answers
from cassbook.book import report_figures as figures
from cassbook.book.paper_tables import p_text
from cassbook.core.errors import InputError
from cassbook.core.estimate import NOT_DETERMINED_MEANS
from cassbook.core.schema import UNKNOWN_THREADS, explained, without_open
from cassbook.core.units import PERCENT
from cassbook.core.words import counted
from cassbook.latency import percentiles, ranking
from cassbook.latency.comparison import choose, compare
from cassbook.latency.labels import labelled
from cassbook.latency.open_results import MIX, open_cells
from cassbook.latency.results import Results
from cassbook.records.fault_summary import summary
from cassbook.records.faults import OPERATIONS, FaultRun
from cassbook.records.results import Measured, of_run, replication
from cassbook.shown import comparison as shown_comparison
from cassbook.shown import faults as shown_faults
from cassbook.shown import open_results as shown_open
from cassbook.shown import rankings
from cassbook.shown import results as shown_results
from cassbook.shown.dead_replicas import dead_replicas, stops
from cassbook.shown.tables import intervals, three_digits

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
#: What each figure of the response time over the rate answers.
_OPEN_QUESTIONS = {
    "p50": "How long does a request usually take, as more arrive? Median of the response time",
    "p99": "How long does one request in a hundred take at least, as more arrive? p99 of the response time",
}
_TEXT = {"operation", "level", "condition", "marks", "deployment", "workload", "kind", "setting", "driver", "table"}
#: Of several cluster starts one is drawn: faults strike each at other moments.
_DRAWN_START = 1


def page(runs: Sequence[Measured | FaultRun], answer: Mapping[str, Any] | None = None) -> str:
    """Return the page about some runs; with several, each after the first is compared with the first.

    `runs`: records of faults are not compared. `answer`: a decision that they led to, which comes first: its `first`
    sentences, `table`, `notes`, `changes`, and `lines` for a service.
    """
    measured = [run for run in runs if not isinstance(run, FaultRun)]
    failing = [run for run in runs if isinstance(run, FaultRun)]
    names = [*(str(run.name) for run in measured), *(run.results.name for run in failing)]
    return _template().render(
        title=", ".join(dict.fromkeys(names)), names=names, version=__version__, answer=answer,
        runs=[_about(run, f"run-{number}") for number, run in enumerate(measured, start=1)],
        faults=[
            of_faults(run, f"run-{number}") | {"manifest": _manifest_text(run.results.manifest)}
            for number, run in enumerate(failing, start=len(measured) + 1)
        ],
        pairs=[_compared(measured[0], other, f"compared-{number}") for number, other in enumerate(measured[1:], 1)],
    )  # fmt: skip


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cassbook.book"), autoescape=True, undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.globals |= {"classes_of": _classes, "counted": counted, "longest_open": _LONG}
    return environment.get_template("report.html")


def _about(run: Measured, anchor: str) -> dict[str, Any]:
    """Return what the template shows of a run."""
    results = of_run(run)
    table, n = shown_results.with_open(results), replication(run)
    about: dict[str, Any] = {
        "anchor": anchor, "heading": shown_results.heading(run, results), "circumstances": _circumstances(run.manifest),
        "facts": _facts(run.manifest), "manifest": _manifest_text(run.manifest), "empty": table.empty,
        "own": _own(run.manifest.get("profile", {})),
    }  # fmt: skip
    if table.empty:
        return about | {"notes": [*shown_results.explained_results(results), *run.notes]}
    return about | {
        "answers": report_answers.of_run(run, n), "survive": dead_replicas(SURVIVE),
        "open_by": report_answers.OPEN_BY, "survives": _survives(table),
        "replicas": n, "orders": _orders(run.statistics, results.table), "drawn": _drawn(results.table),
        "open": _open(run.statistics, results), "client_ends": _ends(results.under_open),
        "notes": [*_notes(results), *run.notes],
        "sections": [
            *shown_results.sections(results), *shown_open.sections(results.under_open, results.carried)
        ],
        "cells": counted(len(table), "cell"), "marks": _marks(table),
    }  # fmt: skip


def _notes(of: Results) -> list[str]:
    """What a reader of the tables must know; marks have a table of their own."""
    behind = (
        "Operations per second, and latencies in ms. Behind ±: the farther side of the 95 % interval, in percent; "
        f"{NOT_DETERMINED_MEANS}."
    )
    return [behind, *(note for note in shown_results.explained_results(of) if not note.startswith("Marked "))]


def _circumstances(manifest: Mapping[str, Any]) -> str:
    """Say in a sentence what was measured and on what."""
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
    return text[:1].upper() + text[1:]


def _survives(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many dead replicas reads and writes survive, by level; empty where that is not known."""
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
    return pd.DataFrame(rows)


def _orders(statistics: pd.DataFrame, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Order of the levels, fastest first, wherever several were measured alike; over all loads, and load by load."""
    cells = labelled(without_open(statistics))
    if "response_us" in cells.columns:
        cells["latency_us"] = cells["response_us"].where(cells["response_us"].notna(), cells["latency_us"])
    overall = ranking.of_cells(cells, _SAME, _LOADS)
    if overall.empty:
        return []
    each = ranking.of_cells(cells, [*_SAME, *_LOADS], [])
    planned = table[_SAME].drop_duplicates().itertuples(index=False, name=None)
    places = {key: number for number, key in enumerate(planned)}
    overall, each = (
        orders.assign(place=[places[key] for key in orders[_SAME].itertuples(index=False, name=None)]).sort_values(
            ["place", *(name for name in _LOADS if name in orders)], ignore_index=True
        )
        for orders in (overall, each)
    )
    return [
        ("Over all loads together", _order_words(overall, "loads")),
        ("Load by load", _order_words(each, *_LOADS)),
    ]


def _order_words(orders: pd.DataFrame, *more: str) -> pd.DataFrame:
    """Orders in words; what is the same everywhere is left out."""
    kept = [name for name in _SAME if name not in ("kind", "workload") and len(orders[name].unique()) > 1]
    shown = orders[[*kept, *more]].astype(object)
    if "rate_per_s" in more:
        shown["rate_per_s"] = orders["rate_per_s"].map(lambda rate: f"{rate:g}" if rate > 0 else "")
        shown = shown.rename(columns=_HEADS)
    shown["by mean latency, fastest first"] = rankings.orders(orders)
    shown["differ"] = [_differ(row) for row in orders.to_dict("records")]
    return shown.loc[:, [name for name in shown.columns if (shown[name] != "").any()]]


def _differ(row: Mapping[Hashable, Any]) -> str:
    if row["distinguishable"] is None:
        return "unknown"
    p = p_text(row["p_value"])
    return f"{'yes' if row['distinguishable'] else 'not all'}, p {p if p.startswith('<') else f'= {p}'}"


def _drawn(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Panels by kind of cell and operation, with a legend of the levels; none where nothing has several loads."""
    table = table.assign(paced=table["rate_per_s"].notna())
    drawn = table[table["kind"].isin(list(_DRAWN)) & (table["threads"] != UNKNOWN_THREADS)]
    colour_of = figures.colours(drawn["level"].drop_duplicates().tolist())
    several = len(drawn["deployment"].unique()) > 1
    groups = []
    for (deployment, kind, operation, paced), cells in drawn.groupby(_DRAWN_APART, sort=False):
        if len(cells[_LOADS].drop_duplicates()) <= 1:
            continue
        known = (name for name in ("p99", "p95") if cells[percentiles.COLUMNS[name]].notna().mean() > 1 / 2)
        panels = figures.percentile_panels(cells, colour_of, _DRAWN[str(kind)])
        groups.append(
            {
                "title": f"{operation}{f', {deployment}' if several else ''}{', at fixed rates' if paced else ''}",
                "legend": [(level, colour_of[level]) for level in cells["level"].unique()],
                "panels": [*panels, figures.throughput_panel(cells, colour_of, next(known, "mean"))],
            }
        )
    return groups


def _open(statistics: pd.DataFrame, results: Results) -> list[dict[str, Any]]:
    """Panels of response time over rate by mix, with a legend of the settings; none without open arrivals."""
    table, drawn = results.under_open, list[dict[str, Any]]()
    if table.empty:
        return drawn
    colour_of, points = figures.colours(list(dict.fromkeys(table["setting"]))), open_cells(statistics)
    for _, rows in table.groupby(MIX, sort=False):
        own = points.merge(rows[MIX].drop_duplicates(), on=MIX)
        known = [name for name in _OPEN_QUESTIONS if rows[percentiles.COLUMNS[name]].notna().any()]
        drawn.append({
            "title": shown_open.mix_of(rows, table),
            "legend": [(setting, colour_of[setting]) for setting in dict.fromkeys(rows["setting"])],
            "panels": [
                figures.open_panel(_OPEN_QUESTIONS[name], name, rows, own, colour_of) for name in known
            ],
        })  # fmt: skip
    return drawn


def _ends(table: pd.DataFrame) -> list[str]:
    """Say which settings do not carry a rate, and where a curve ends by the client."""
    said = []
    for _, rows in table.groupby(MIX, sort=False) if len(table) else ():
        mix = shown_open.mix_of(rows, table)
        for setting, own in rows.groupby("setting", sort=False):
            lost = own[(own["not_carried"] > 0) & own["rate_per_s"].notna()]
            client = own[(own["client"] | (own["beyond_client"] > 0)) & own["rate_per_s"].notna()]
            if len(lost):
                said.append(f"{mix}: {setting} does not carry {lost['rate_per_s'].min():.0f} requests a second.")
            if len(client):
                said.append(
                    f"{mix}: the client is a part of what {setting} shows from {client['rate_per_s'].min():.0f} "
                    "requests a second on; its curve ends there."
                )
    return said


def _marks(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each mark means and how many cells have it."""
    counts = Counter(mark for marks in table["marks"] for mark in marks.split(";") if mark)
    return pd.DataFrame([{"mark": mark, "cells": n, "meaning": explained(mark)} for mark, n in sorted(counts.items())])


def _facts(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Machine, versions and profile, by what they are called."""
    profile = manifest.get("profile", {})
    java = {str(start.get("java", {}).get("version", "")) for start in manifest.get("cluster_starts", [])} - {""}
    facts = {
        "Profile": profile.get("title") or profile.get("name"),
        "Table": _pairs(profile.get("table", {})) if _uses_table(profile) else None,
        "Load": _pairs(profile.get("load", {})),
        "Machine": _pairs(manifest.get("machine", {})),
        "Load average before": f"{manifest['load_before']:.2f}" if "load_before" in manifest else None,
        "Java": ", ".join(sorted(java)),
        "Versions": _pairs(manifest.get("versions", {})),
    }
    return {name: value for name, value in facts.items() if value}


def _uses_table(profile: Mapping[str, Any]) -> bool:
    """Whether a profile, as a manifest has it, measured something on YCSB's table: see `Profile.uses_table`."""
    opened = profile.get("open") or []
    sections = [opened] if isinstance(opened, Mapping) else opened
    presets = (profile.get("workloads") or {}).get("presets")
    parts = (profile.get(name) for name in ("pure", "mixed", "cold", "paced", "faults"))
    return bool(presets) or any(section.get("read_shares") for section in sections) or any(parts)


def _own(profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the workloads of a profile's own: name, statements that create and load, and what is sent how often."""
    return [
        {
            "name": one["name"], "create": one.get("create") or [], "load": one.get("load"),
            "sent": [
                (f"{100 * operation['share']:.3g} % {operation['kind']}",
                 [operation["statement"], *([operation["then"]] if operation.get("then") else [])])
                for operation in one["operations"]
            ],
        }
        for one in (profile.get("workloads") or {}).get("own") or []
    ]  # fmt: skip


def _pairs(of: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in of.items() if value not in (None, "", {}))


def _manifest_text(manifest: Mapping[str, Any]) -> str:
    """Return a manifest as JSON, without the sums of its files."""
    shown = {name: value for name, value in manifest.items() if name != "sums"}
    return json.dumps(shown, indent=2, ensure_ascii=False, default=str)


def _compared(first: Measured, second: Measured, anchor: str) -> dict[str, Any]:
    """Return what the template shows of two runs, the largest differences first."""
    about: dict[str, Any] = {"anchor": anchor, "first": first.name, "second": second.name, "refused": ""}
    try:
        comparison = choose(compare(first, second), _TOP)
    except InputError as error:
        return about | {"refused": str(error)}
    labels = comparison.first["label"], comparison.second["label"]
    differences = _differences(comparison.shown, labels)
    return about | {"said": shown_comparison.summary(comparison), "labels": labels, "differences": differences}


def _differences(shown: pd.DataFrame, labels: tuple[str, str]) -> pd.DataFrame:
    if shown.empty:
        return pd.DataFrame()
    known = shown.replace({np.nan: "", 0.0: ""})
    more = [name for name in ("deployment", "condition", "rate_per_s") if name in known and (known[name] != "").any()]
    figure_of = [_FIGURES.get(name, (1.0, name)) for name in shown["figure"]]
    table = known[[*more, "operation", "level", "threads"]].rename(columns=_HEADS)
    table["figure"] = [name for _, name in figure_of]
    for label, side in zip(labels, ("first", "second"), strict=True):
        values = zip(shown[f"{side}_value"], figure_of, strict=True)
        table[label] = [three_digits(value * scale) for value, (scale, _) in values]
    table["ratio"] = intervals(shown, ".2f", "ratio", "ratio_low", "ratio_high")
    return table.assign(differs=[shown_comparison.verdict(row) for row in shown.to_dict("records")])


def _classes(table: pd.DataFrame, wide: Sequence[str]) -> list[str]:
    """Return the class of each column: of figures alone, which stand to the right, or of long words."""
    return [_class(name, table[name], wide) for name in table.columns]


def _class(name: object, column: pd.Series, wide: Sequence[str]) -> str:
    if name in wide:
        return "wide"
    figures_only = name not in _TEXT and column.astype(str).str.match(r"[-+\d.,>±]*( .*%| ±n\.d\.)?$").all()
    return "number" if figures_only else ""


def of_faults(run: FaultRun, anchor: str) -> dict[str, Any]:
    """Return what the template shows of one record, but for its manifest."""
    found = groupby(shown_faults.sections(summary(run)), key=lambda section: section[0])
    schedules = [
        {
            "title": shown_faults.title_of(run, setup), "drawn": _answered_over_time(run, setup),
            "faults": [section[1:] for section in sections],
        }
        for setup, sections in found
    ]  # fmt: skip
    return {
        "anchor": anchor, "heading": shown_faults.heading(run), "schedules": schedules, "wide": shown_faults.ENDED,
        "kept": shown_faults.kept(run), "notes": shown_faults.notes(run),
    }  # fmt: skip


def _answered_over_time(run: FaultRun, setup: str) -> dict[str, Any] | None:
    """Draw the share answered over time, of reads and of writes, a line per setting; of one driver and table."""
    bins = run.bins_of(setup, _DRAWN_START)
    if bins.empty:
        return None
    names = bins["setting"].drop_duplicates().tolist()
    colour_of = figures.colours(names)
    faults = run.faults(setup).query("start == @_DRAWN_START")
    ends_s = faults["ends_s"].fillna(run.length_s(setup))
    bands = list(zip(faults["begins_s"], ends_s, strict=True))
    which = {column: bins[column].iloc[0] for column in ("driver", "table") if len(bins[column].unique()) > 1}
    own = bins[(bins[list(which)] == pd.Series(which)).all(axis=1)] if which else bins
    panels = []
    for operation, word in OPERATIONS.items():
        lines = {
            str(name): (of_setting["bin_s"].to_numpy(), (PERCENT * of_setting["ok"] / of_setting["n"]).to_numpy())
            for name, of_setting in own[own["operation"] == operation].groupby("setting", sort=False)
        }
        panels.append(figures.over_time_panel(f"{word} answered, %", lines, bands, colour_of))
    return {
        "start": _DRAWN_START, "which": "".join(f", {column} {name}" for column, name in which.items()),
        "legend": list(colour_of.items()), "panels": panels,
    }  # fmt: skip
