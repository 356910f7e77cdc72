"""The part of `cassbook report` about a record of faults: what each setting made of each fault of its schedules."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pandas as pd

from cassbook.book import report_figures as figures
from cassbook.records.fault_summary import summary
from cassbook.records.faults import OPERATIONS, FaultRun
from cassbook.shown import faults as shown_faults

#: Of several cluster starts one is drawn: faults strike each at other moments.
_DRAWN_START = 1
_PERCENT = 100


def about(run: FaultRun, anchor: str) -> dict[str, Any]:
    """Return what the template shows of one record, but for its manifest."""
    found = groupby(shown_faults.sections(summary(run)), key=lambda section: section[0])
    schedules = [
        {
            "title": shown_faults.title_of(run, setup), "drawn": _drawn(run, setup),
            "faults": [section[1:] for section in sections],
        }
        for setup, sections in found
    ]  # fmt: skip
    return {
        "anchor": anchor, "heading": shown_faults.heading(run), "schedules": schedules, "wide": shown_faults.ENDED,
        "kept": shown_faults.kept(run), "notes": shown_faults.notes(run),
    }  # fmt: skip


def _drawn(run: FaultRun, setup: str) -> dict[str, Any] | None:
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
            str(name): (of_setting["bin_s"].to_numpy(), (_PERCENT * of_setting["ok"] / of_setting["n"]).to_numpy())
            for name, of_setting in own[own["operation"] == operation].groupby("setting", sort=False)
        }
        panels.append(figures.over_time_panel(f"{word} answered, %", lines, bands, colour_of))
    return {
        "start": _DRAWN_START, "which": "".join(f", {column} {name}" for column, name in which.items()),
        "legend": list(colour_of.items()), "panels": panels,
    }  # fmt: skip
