"""Figures of the chapters on distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.deployment.inferred_regions import LEVELS
from cassbook.deployment.scenarios import over_blocks

_STYLES: tuple[Literal["-", "--", ":"], ...] = ("-", "--", ":")
_OPERATIONS = {"READ": "reads", "WRITE": "writes"}
_LABELS = {"latency_ms": "mean latency, ms", "throughput_per_s": "throughput, 1/s"}


def by_threads(quantity: str, sources: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the latency (Tables 3 and 4) or throughput (Figs. 2 and 3) over threads: one row per operation, one
    column per level.

    Parameters
    ----------
    quantity : str
        latency_ms or throughput_per_s.
    sources : mapping of str to DataFrame
        Points by label, at most three; the first has intervals.
    """
    figure, axes = panels(2, 3, width=3.6, height=3.0, sharex=True, sharey=True)
    for style, points in zip(_STYLES, sources.values(), strict=False):
        means = over_blocks(points)
        for row, operation in enumerate(_OPERATIONS):
            for column, level in enumerate(LEVELS):
                lines = means[(means["operation"] == operation) & (means["level"] == level)]
                for name, line in lines.groupby("scenario"):
                    _line(axes[row, column], line.sort_values("threads"), quantity, str(name), style)
    for row, word in enumerate(_OPERATIONS.values()):
        for column, level in enumerate(LEVELS):
            axes[row, column].set(title=f"{word} at {level}", yscale="log")
            _plain_log(axes[row, column])
        axes[row, 0].set_ylabel(_LABELS[quantity])
    for panel in axes[1]:
        panel.set_xlabel("threads")
    _legend(figure, list(sources))
    return done(figure)


def _line(panel: Axes, line: pd.DataFrame, quantity: str, scenario: str, style: str) -> None:
    solid = style == _STYLES[0]
    panel.plot(
        line["threads"], line[quantity], style, color=palette.SCENARIOS[scenario], linewidth=1.3,
        marker="o" if solid else None, markersize=3,
    )  # fmt: skip
    low, high = line[f"{quantity}_low"], line[f"{quantity}_high"]
    if solid and low.notna().any():
        least = line[quantity] / 3  # a wide interval may reach below zero, where a logarithm cannot go
        panel.fill_between(
            line["threads"], np.maximum(low, least), high, color=palette.SCENARIOS[scenario], alpha=0.15, linewidth=0
        )


def _plain_log(panel: Axes) -> None:
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())


def _legend(figure: Figure, labels: list[str]) -> None:
    handles = [Line2D([], [], color=colour, label=name) for name, colour in palette.SCENARIOS.items()]
    for style, label in zip(_STYLES, labels, strict=False):
        handles.append(Line2D([], [], color="black", linestyle=style, label=label))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=9)


def against_model(sources: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw predicted over found latency, one column per source; on the diagonal the model is right, dotted: a
    quarter off.
    """
    figure, axes = panels(1, len(sources), width=4.6, height=4.2, sharex=True, sharey=True)
    markers = {"ONE": "o", "QUORUM": "s", "ALL": "^"}
    for panel, (label, table) in zip(axes[0], sources.items(), strict=True):
        for name, group in table.groupby("scenario"):
            for level, points in group.groupby("level"):
                panel.plot(
                    points["latency_ms"], points["predicted_ms"], markers[str(level)], markersize=4, linestyle="",
                    color=palette.SCENARIOS[str(name)], alpha=0.7,
                )  # fmt: skip
        both = np.array([table[["latency_ms", "predicted_ms"]].min().min(), table["latency_ms"].max()])
        panel.plot(both, both, color="grey", linewidth=0.8)
        for factor in (0.75, 1.25):
            panel.plot(both, both * factor, ":", color="grey", linewidth=0.8)
        panel.set(title=label, xscale="log", yscale="log", xlabel="latency, ms")
        _plain_log(panel)
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        panel.xaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel("predicted latency, ms")
    handles = [Line2D([], [], color=palette.SCENARIOS[name], label=name) for name in "bcd"]
    handles += [Line2D([], [], color="black", marker=m, linestyle="", label=level) for level, m in markers.items()]
    axes[0, 0].legend(handles=handles, fontsize=8)
    return done(figure)
