"""The part of `cassbook report` about a record of faults: what each setting made of each fault of its schedules."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator

import pandas as pd

from cassbook.book import report_figures as figures
from cassbook.records import fault_tables
from cassbook.records.fault_summary import summary
from cassbook.records.faults import OPERATIONS, FaultRun

#: Of several cluster starts one is drawn: faults strike each at other moments.
_DRAWN_START = 1
_PERCENT = 100


def about(run: FaultRun, anchor: str, table: Callable[[pd.DataFrame], str]) -> list[str]:
    """Return everything about one record, as lines of HTML.

    Parameters
    ----------
    run : FaultRun
    anchor : str
        Name of its heading.
    table : callable
        Makes a table of words HTML.
    """
    text, last = html.escape, ""
    lines = [f'<h2 id="{anchor}">{text(fault_tables.heading(run))}</h2>']
    for setup, fault, who, words in fault_tables.sections(summary(run)):
        if setup != last:
            lines += [f"<h3>{text(fault_tables.title_of(run, setup))}</h3>", *_figures(run, setup)]
            last = setup
        lines += [f"<h4>{text(fault)}</h4>", f"<p>{text(who[:1].upper() + who[1:])}.</p>", table(words)]
    lines += ["<h3>Promises kept</h3>", *_list(fault_tables.kept(run))]
    lines += ["<h3>How to read the tables</h3>", *_list(fault_tables.notes(run)), "<h3>Machine and manifest</h3>"]
    manifest = {name: value for name, value in run.results.manifest.items() if name != "sums"}
    whole = text(json.dumps(manifest, indent=2, ensure_ascii=False, default=str))
    return [*lines, "<details><summary>The whole manifest</summary>", f"<pre>{whole}</pre>", "</details>"]


def _list(notes: list[str]) -> list[str]:
    return ["<ul>", *(f"<li>{html.escape(note)}</li>" for note in notes), "</ul>"]


def _figures(run: FaultRun, setup: str) -> Iterator[str]:
    """Draw the share answered over time, of reads and of writes, a line per setting; of one driver and table."""
    bins = run.bins_of(setup, _DRAWN_START)
    if bins.empty:
        return
    names = bins["setting"].drop_duplicates().tolist()
    colour_of = figures.colours(names)
    faults = run.faults(setup).query("start == @_DRAWN_START")
    ends_s = faults["ends_s"].fillna(run.length_s(setup))
    bands = list(zip(faults["begins_s"], ends_s, strict=True))
    which = {column: bins[column].iloc[0] for column in ("driver", "table") if len(bins[column].unique()) > 1}
    own = bins[(bins[list(which)] == pd.Series(which)).all(axis=1)] if which else bins
    of = "".join(f", {column} {name}" for column, name in which.items())
    yield (
        f"<p>Requests answered over time, by when they were due: cluster start {_DRAWN_START}{html.escape(of)}. "
        "A band is a fault.</p>"
    )
    items = [f'<li><i style="background: {colour_of[name]}"></i>{html.escape(name)}</li>' for name in names]
    yield from ['<ul class="legend">', *items, "</ul>", '<div class="panels">']
    for operation, word in OPERATIONS.items():
        lines = {
            str(name): (of_setting["bin_s"].to_numpy(), (_PERCENT * of_setting["ok"] / of_setting["n"]).to_numpy())
            for name, of_setting in own[own["operation"] == operation].groupby("setting", sort=False)
        }
        panel = figures.over_time_panel(f"{word} answered, %", lines, bands, colour_of)
        yield f"<figure><figcaption>{html.escape(panel.title)}</figcaption>{panel.svg}</figure>"
    yield "</div>"
