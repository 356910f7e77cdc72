"""Figures of the chapters on the queueing network."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cassbook.book.chapters.plots import LEVEL_COLOURS, SETTING_COLOURS, done, panels
from cassbook.book.chapters.tables import LEVELS
from cassbook.queueing.mva import Analysed
from cassbook.queueing.paper import FIELD_LENGTH

#: What Figures 5 to 9 of the paper show, and what it is called here.
_SHOWN = {
    "throughput_per_s": "requests/s", "response_ms": "mean response time, ms", "node_cpu": "busy part of a node's CPU",
}  # fmt: skip
#: Factors by which points of several series at one number of jobs are set apart.
_ASIDE = (0.94, 1.06, 1.0, 1.12)
_OTHER = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def over_jobs(table: pd.DataFrame, analysed: Mapping[str, Analysed], by: str = "level") -> Figure:
    """Simulated points with intervals, and the analysis as a line: a panel a figure of the paper.

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
    colours = dict(zip(analysed, _OTHER, strict=False)) | LEVEL_COLOURS
    for panel, (name, title) in zip(axes[0], shown.items(), strict=True):
        for key, own in table.groupby(by, sort=False):
            _points(panel, own["jobs"], own[name], colours[str(key)], str(key))
            line = analysed[str(key)]
            panel.plot(line.jobs, _of(line, name), color=colours[str(key)], linewidth=1.2)
        panel.set(xlabel="jobs", ylabel=title, xlim=(0, None), ylim=(0, None))
    axes[0, 0].legend(loc="lower right")
    return done(figure)


def _of(line: Analysed, name: str) -> np.ndarray:
    return line.utilisation["node1 CPU"] if name == "node_cpu" else np.asarray(getattr(line, name))


def _points(panel: Axes, x: pd.Series, estimates: pd.Series, colour: str, label: str, face: str = "") -> None:
    y = np.array([own.value for own in estimates])
    half = [[own.value - own.low for own in estimates], [own.high - own.value for own in estimates]]
    panel.errorbar(
        x, y, half, fmt="o", color=colour, markerfacecolor=face or colour, markersize=3.5, capsize=2, label=label
    )


def _jobs_axis(panel: Axes, jobs: pd.Series) -> None:
    """Numbers of jobs on a logarithmic scale, each with its own mark."""
    marks = sorted(set(jobs))
    panel.set_xscale("log")
    panel.set_xticks(marks, [str(mark) for mark in marks])
    panel.set_xticks([], minor=True)


def analysis_off(table: pd.DataFrame) -> Figure:
    """How far the analysis is from the simulation, over jobs: a panel a level, a line a number of cores."""
    levels = list(table["level"].unique())
    figure, axes = panels(1, len(levels), width=4.0, height=3.0, sharey=True)
    for panel, level in zip(axes[0], levels, strict=True):
        for colour, (cores, own) in zip(_OTHER, table[table["level"] == level].groupby("cores"), strict=False):
            panel.plot(own["jobs"], 100 * own["off"], "o-", color=colour, markersize=3, label=f"{cores} cores")
        panel.axhline(0, color="grey", linewidth=0.8)
        panel.set(title=level, xlabel="jobs", xscale="log")
    axes[0, 0].set_ylabel("analysis over simulation, %")
    axes[0, -1].legend()
    return done(figure)


def predicted(tables: Mapping[str, pd.DataFrame], operation: str) -> Figure:
    """Throughput measured and predicted over jobs, of one operation and the usual rows.

    A panel a kind of cluster; points are hollow where held out.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By version, of `recorded.by_level`: a row of panels each.
    operation : str
    """
    rule = f"operation == {operation!r} and not ask_all and field_length == {FIELD_LENGTH}"
    kept = {name: own.query(rule) for name, own in tables.items()}
    kinds = sorted(set().union(*(zip(own["nodes"], own["replication"], strict=True) for own in kept.values())))
    figure, axes = panels(len(kept), len(kinds), width=3.4, height=3.1, sharey=True)
    for row, (version, own) in zip(axes, kept.items(), strict=True):
        for panel, (nodes, replication) in zip(row, kinds, strict=True):
            cells = own[(own["nodes"] == nodes) & (own["replication"] == replication)]
            _predicted(panel, cells)
            panel.set(title=f"{version}: {nodes} nodes, replication {replication}", ylim=(0, None))
        row[0].set_ylabel(f"{operation.lower()}s a second")
        row[-1].legend()
    for panel in axes[-1]:
        panel.set_xlabel("jobs")
    return done(figure)


def _predicted(panel: Axes, cells: pd.DataFrame) -> None:
    for level in [level for level in LEVELS if level in set(cells["level"])]:
        some, colour = cells[cells["level"] == level], LEVEL_COLOURS[level]
        _points(panel, some["jobs"], some["measured"], colour, level, "white" if some["held_out"].all() else colour)
        panel.plot(some["jobs"], some["predicted_per_s"], "-", color=colour)
    _jobs_axis(panel, cells["jobs"])


def slowdowns(table: pd.DataFrame) -> Figure:
    """By how much work is slower with few at the processors than with many; a line a version and operation."""
    figure, axes = panels(1, 1, width=5.2, height=3.2)
    for colour, (series, own) in zip(_OTHER, table.groupby("series", sort=False), strict=False):
        _points(axes[0, 0], own["jobs"], own["factor"], colour, str(series))
        axes[0, 0].plot(own["jobs"], [factor.value for factor in own["factor"]], color=colour, linewidth=1)
    axes[0, 0].set(xlabel="requests at the processors", ylabel="time of the same work, with 64: 1", ylim=(0, None))
    _jobs_axis(axes[0, 0], table["jobs"])
    axes[0, 0].legend()
    return done(figure)


def replication_pays(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Asking all three over asking two at QUORUM, over jobs: measured with intervals, and the model's line.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By version, of `calibration_tables.replication_pays`.
    """
    figure, axes = panels(1, 2, width=4.4, height=3.6)
    titles = {"throughput": "requests/s", "response": "response time"}
    for panel, (name, title) in zip(axes[0], titles.items(), strict=True):
        for aside, colour, (version, table) in zip(_ASIDE, _OTHER, tables.items(), strict=False):
            jobs = pd.Series(table.index)
            _points(panel, aside * jobs, table[name], colour, f"{version}, measured")
            panel.plot(jobs, table[f"{name}_model"], color=colour, label=f"{version}, model")
            _jobs_axis(panel, jobs)
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set(xlabel="jobs", ylabel=f"{title}, three asked over two")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2 * len(tables))
    return done(figure)


def mixes(table: pd.DataFrame) -> Figure:
    """Latency of mixes over the share of reads: measured with intervals, and the model's lines; a panel a load.

    Parameters
    ----------
    table : DataFrame
        Of `mixes.compared`.
    """
    loads = sorted(table["threads"].unique())
    figure, axes = panels(1, len(loads), width=3.6, height=3.4)
    for panel, threads in zip(axes[0], loads, strict=True):
        for aside, (setting, own) in zip(
            (-1, 0, 1), table[table["threads"] == threads].groupby("setting"), strict=True
        ):
            percent, colour = 100 * own["read_share"], SETTING_COLOURS[str(setting)]
            _points(panel, percent + aside, own["measured_ms"], colour, str(setting))
            panel.plot(percent, own["foretold_ms"], color=colour)
        panel.set(title=f"{threads} jobs", xlabel="reads, % of operations", ylim=(0, None))
    axes[0, 0].set_ylabel("mean latency, ms")
    axes[0, -1].legend()
    return done(figure)
