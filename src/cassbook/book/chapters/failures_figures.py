"""Figures of the chapter on failures."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.chapters.failures import OPERATIONS
from cassbook.book.figure_style import done, panels
from cassbook.records.faults import FaultRun

_BAND = "#bbbbbb"


def colours(names: list[str]) -> dict[str, str]:
    """Return a colour for each setting, the same wherever it is drawn."""
    return {name: palette.setting(name, place) for place, name in enumerate(names)}


def answered(run: FaultRun, setup: str) -> Figure:
    """Draw the share of requests that are answered by when they were due, and faults as bands.

    One row for reads and one for writes, one panel per setting; a line per cluster start.
    """
    bins = run.bins[run.bins["setup"] == setup]
    names = bins["setting"].drop_duplicates().tolist()
    chosen = colours(names)
    figure, axes = panels(len(OPERATIONS), len(names), width=2.5, height=2.0, sharex=True, sharey=True)
    for row, (operation, word) in enumerate(OPERATIONS.items()):
        for column, name in enumerate(names):
            panel = axes[row, column]
            bands(panel, run, setup)
            own = bins[(bins["operation"] == operation) & (bins["setting"] == name)]
            for _, of_start in own.groupby("start"):
                share = 100 * of_start["ok"] / of_start["n"]
                panel.plot(of_start["bin_s"], share, color=chosen[name], linewidth=1.0, alpha=0.7)
            if row == 0:
                panel.set_title(name, fontsize=10)
        axes[row, 0].set_ylabel(f"{word}, %")
    for panel in axes[-1]:
        panel.set(xlabel="s", ylim=(-3, 103))
    return done(figure)


def response_times(run: FaultRun, setup: str) -> Figure:
    """Draw the 99th percentile of response time by half seconds, medians over starts, and faults as bands."""
    bins = run.bins[run.bins["setup"] == setup]
    names = bins["setting"].drop_duplicates().tolist()
    chosen = colours(names)
    figure, axes = panels(1, len(OPERATIONS), width=5.0, height=3.2, sharey=True)
    for panel, (operation, word) in zip(axes[0], OPERATIONS.items(), strict=True):
        bands(panel, run, setup)
        own = bins[bins["operation"] == operation].groupby(["setting", "bin_s"])["p99_ms"].median()
        for name in names:
            panel.plot(own[name].index, own[name], color=chosen[name], linewidth=1.2, label=name)
        panel.set(title=word, xlabel="s", yscale="log")
    axes[0, 0].set_ylabel("p99 of half a second, ms")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))
    return done(figure)


def bands(panel: Axes, run: FaultRun, setup: str) -> None:
    """Shade the time of each fault: from when it struck until its node answered, medians over starts."""
    length_s = run.length_s(setup)
    for _, fault in run.faults(setup).groupby(["number", "node"]):
        ends_s = fault["ends_s"].fillna(length_s).median()
        panel.axvspan(fault["begins_s"].median(), ends_s, color=_BAND, alpha=0.35, linewidth=0)


def trade_off(table: pd.DataFrame, by: str = "p99_ms") -> Figure:
    """Draw latency when all is well against requests that fail in a fault: a point per setting, with least and most.

    Parameters
    ----------
    table : DataFrame
        `failures.trade_off`.
    by : str
        p50_ms or p99_ms.
    """
    figure, axes = panels(1, 1, width=6.0, height=4.0)
    panel = axes[0, 0]
    for name, colour in colours(table.index.tolist()).items():
        row = table.loc[name]
        x, y = row[by], 100 * row["failed"]
        bars = [np.abs([[row[f"{of}_least"] * k - at], [row[f"{of}_most"] * k - at]]) for of, at, k in
                (("failed", y, 100), (by, x, 1))]  # fmt: skip
        panel.errorbar(x, y, yerr=bars[0], xerr=bars[1], fmt="o", color=colour, markersize=7, capsize=2)
        panel.annotate(name, (x, y), xytext=(7, 5), textcoords="offset points", color=colour, fontsize=10)
    panel.set(xlabel=f"{by.removesuffix('_ms')} of response time when all is well, ms", ylim=(0, None))
    panel.set_ylabel("requests not answered in the fault, %")
    return done(figure)
