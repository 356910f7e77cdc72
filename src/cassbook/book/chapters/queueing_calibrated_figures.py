"""Figures of the chapter on calibration: predictions over jobs, and slowdowns."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, jobs_axis, panels, points
from cassbook.core.consistency import LEVELS
from cassbook.queueing.paper import FIELD_LENGTH


def predicted(tables: Mapping[str, pd.DataFrame], operation: str) -> Figure:
    """Draw the throughput measured and predicted over jobs, of one operation and the usual rows.

    One panel per kind of cluster; points are hollow where held out.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By version, of `records.calibration.by_level`: one row of panels each.
    operation : str
    """
    rule = f"operation == {operation!r} and not ask_all and field_length == {FIELD_LENGTH}"
    kept = {name: table.query(rule) for name, table in tables.items()}
    kinds = sorted(set().union(*(zip(table["nodes"], table["replication"], strict=True) for table in kept.values())))
    figure, axes = panels(len(kept), len(kinds), width=3.4, height=3.1, sharey=True)
    for row, (version, table) in zip(axes, kept.items(), strict=True):
        for panel, (nodes, replication) in zip(row, kinds, strict=True):
            cells = table[(table["nodes"] == nodes) & (table["replication"] == replication)]
            _predicted(panel, cells)
            panel.set(title=f"{version}: {nodes} nodes, replication {replication}", ylim=(0, None))
        row[0].set_ylabel(f"{operation.lower()}s a second")
        row[-1].legend()
    for panel in axes[-1]:
        panel.set_xlabel("jobs")
    return done(figure)


def _predicted(panel: Axes, cells: pd.DataFrame) -> None:
    for level in [level for level in LEVELS if level in set(cells["level"])]:
        of_level, colour = cells[cells["level"] == level], palette.LEVELS[level]
        points(
            panel,
            of_level["jobs"],
            of_level["measured"],
            colour,
            level,
            "white" if of_level["held_out"].all() else colour,
        )
        panel.plot(of_level["jobs"], of_level["predicted_per_s"], "-", color=colour)
    jobs_axis(panel, cells["jobs"])


def slowdowns(table: pd.DataFrame) -> Figure:
    """Draw how much slower work is with few at the processors than with many; one line per version and operation."""
    figure, axes = panels(1, 1, width=5.2, height=3.2)
    for series, group in table.groupby("series", sort=False):
        colour = palette.version(str(series))
        points(axes[0, 0], group["jobs"], group["factor"], colour, str(series))
        axes[0, 0].plot(group["jobs"], [factor.value for factor in group["factor"]], color=colour, linewidth=1)
    axes[0, 0].set(xlabel="requests at the processors", ylabel="time of the same work, with 64: 1", ylim=(0, None))
    jobs_axis(axes[0, 0], table["jobs"])
    axes[0, 0].legend()
    return done(figure)
