"""Figures of the chapter that reproduces the 2016 paper's figures: simulation and analysis over jobs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels, points
from cassbook.queueing.mva import Analysed

#: What Figures 5 to 9 of the paper show, and what it is called here.
_SHOWN = {
    "throughput_per_s": "requests/s", "response_ms": "mean response time, ms", "node_cpu": "busy part of a node's CPU",
}  # fmt: skip
#: Marks on a logarithmic axis of jobs.
_JOBS = (1, 3, 10, 30, 100)


def over_jobs(table: pd.DataFrame, analysed: Mapping[str, Analysed], by: str = "level") -> Figure:
    """Draw simulated points with intervals, and the analysis as a line: one panel per figure of the paper.

    Parameters
    ----------
    table : DataFrame
        Of `reproduction.curves`.
    analysed : mapping of str to Analysed
        By what is in column `by`.
    by : str
    """
    shown = {name: title for name, title in _SHOWN.items() if name in table}
    figure, axes = panels(1, len(shown), width=4.4, height=3.4)
    colours = dict(zip(analysed, palette.SERIES, strict=False)) | palette.LEVELS
    for panel, (name, title) in zip(axes[0], shown.items(), strict=True):
        for key, group in table.groupby(by, sort=False):
            points(panel, group["jobs"], group[name], colours[str(key)], str(key))
            line = analysed[str(key)]
            panel.plot(line.jobs, _of(line, name), color=colours[str(key)], linewidth=1.2)
        panel.set(xlabel="jobs", ylabel=title, xlim=(0, None), ylim=(0, None))
    axes[0, 0].legend(loc="lower right")
    return done(figure)


def _of(line: Analysed, name: str) -> np.ndarray:
    return line.utilisation["node1 CPU"] if name == "node_cpu" else np.asarray(getattr(line, name))


def analysis_off(table: pd.DataFrame) -> Figure:
    """Draw how far the analysis is from the simulation, over jobs: one panel per level, one line per number of
    cores.
    """
    levels = list(table["level"].unique())
    figure, axes = panels(1, len(levels), width=4.0, height=3.0, sharey=True)
    for panel, level in zip(axes[0], levels, strict=True):
        for colour, (cores, group) in zip(
            palette.SERIES, table[table["level"] == level].groupby("cores"), strict=False
        ):
            panel.plot(group["jobs"], 100 * group["off"], "o-", color=colour, markersize=3, label=f"{cores} cores")
        panel.axhline(0, color="grey", linewidth=0.8)
        panel.set(title=level, xlabel="jobs", xscale="log")
        panel.set_xticks(_JOBS, [str(jobs) for jobs in _JOBS])
        panel.set_xticks([], minor=True)
    axes[0, 0].set_ylabel("analysis over simulation, %")
    axes[0, -1].legend()
    return done(figure)
