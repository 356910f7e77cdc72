"""Figures of the chapter on latency: over threads, over throughput, and ratios with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from cassbook.book import needs, palette
from cassbook.book.figure_style import OPERATIONS, done, error_bars, panels
from cassbook.book.gaps import served
from cassbook.book.provenance import Source
from cassbook.core.consistency import LEVELS
from cassbook.core.units import US_PER_MS
from cassbook.latency import (
    summaries,
)


def prices(tables: Mapping[str, Mapping[str, pd.DataFrame]]) -> Figure:
    """Draw what levels cost by threads, as multiples of ONE with 95 % intervals: a row per figure, a column per run.

    Parameters
    ----------
    tables : mapping of str to mapping of str to DataFrame
        By figure ('mean', 'p99') and the run's label: `prices.prices`.
    """
    figures, runs = list(tables), list(next(iter(tables.values())))
    figure, axes = panels(len(figures), 2 * len(runs), width=3.4, height=2.6, sharex=True, sharey="row")
    for row, name in enumerate(figures):
        columns = [(run, operation) for run in runs for operation in OPERATIONS]
        for column, (run, operation) in enumerate(columns):
            panel, table = axes[row, column], tables[name][run]
            of = table[table["operation"] == operation]
            places = {threads: place for place, threads in enumerate(sorted(of["threads"].unique()))}
            for level in LEVELS[1:]:
                group = of[of["level"] == level].sort_values("threads")
                bars = np.vstack([group["ratio"] - group["low"], group["high"] - group["ratio"]])
                x = group["threads"].map(places) + (0.12 if level == LEVELS[-1] else -0.12)
                panel.errorbar(
                    x, group["ratio"], yerr=bars, fmt="o-", markersize=3.5, linewidth=0.9, capsize=2, elinewidth=0.9,
                    color=palette.LEVELS[level], label=f"{level}/ONE",
                )  # fmt: skip
            panel.axhline(1, color="grey", linewidth=0.8)
            panel.set(yscale="log", ylim=(0.5, 10))  # wide intervals are cut off
            panel.yaxis.set_major_locator(FixedLocator([0.5, 1, 2, 4, 8, 16]))
            panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            panel.yaxis.set_minor_formatter(NullFormatter())
            panel.set_xticks(list(places.values()), [str(threads) for threads in places], rotation=60, fontsize=8)
            panel.set_title(f"{run}: {OPERATIONS[operation]}" if row == 0 else "", fontsize=10)
            panel.set_xlabel("threads" if row == len(figures) - 1 else "")
        axes[row, 0].set_ylabel(f"{name}, multiple of ONE's")
    axes[0, 0].legend()
    return done(figure)


def distributions(curves: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw latency by quantile, by level, with its 95 % band over blocks; one panel per load.

    Parameters
    ----------
    curves : mapping of str to DataFrame
        By title: `distributions.curves`.
    """
    figure, axes = panels(1, len(curves), width=3.8, sharey=True)
    for panel, (title, table) in zip(axes[0], curves.items(), strict=True):
        for level in LEVELS:
            group = table[table["level"] == level]
            beyond = 1 / (1 - group["share"])
            panel.plot(beyond, group["latency_us"] / US_PER_MS, color=palette.LEVELS[level], linewidth=1.3, label=level)
            low_ms, high_ms = group["low"] / US_PER_MS, group["high"] / US_PER_MS
            panel.fill_between(beyond, low_ms, high_ms, color=palette.LEVELS[level], alpha=0.2, linewidth=0)
        panel.set(title=title, xscale="log", yscale="log", xlabel="percentile")
        panel.set_xticks([2, 10, 100, 1000, 10000], ["50", "90", "99", "99.9", "99.99"])
        panel.set_xticks([], minor=True)
    axes[0, 0].set_ylabel("latency, ms")
    axes[0, 0].legend(title="level")
    return done(figure)


def latency_by_threads(sources: Sequence[Source]) -> Figure:
    """Draw Fig. 4: mean latency over threads, reads above writes, one column per source; bars are 95 % over blocks.

    Open circles are points that the client is a part of (see `schema.CLIENT_MARKS`).
    """
    shown = served(sources, needs.pure)
    figure, axes = panels(2, len(shown), sharex=True, sharey="col")
    for column, source in enumerate(shown):
        for row, (operation, word) in enumerate(OPERATIONS.items()):
            panel = axes[row, column]
            stats = source.level_stats[source.level_stats["operation"] == operation]
            for level in LEVELS:
                error_bars(panel, stats[stats["level"] == level].sort_values("threads"), "threads", level)
            panel.set_title(f"{source.label}: {word}")
            panel.set_ylim(0, 1.15 * source.level_stats["latency_us"].max() / US_PER_MS)  # wide intervals are cut off
            panel.set_ylabel("mean latency, ms" if column == 0 else "")
            panel.set_xlabel("threads" if row == 1 else "")
    axes[0, 0].legend(title="level")
    return done(figure)


def latency_by_throughput(sources: Sequence[Source]) -> Figure:
    """Draw Fig. 5: mean latency over throughput; the curve turns upwards where more threads bring no more work."""
    shown = served(sources, needs.pure)
    figure, axes = panels(2, len(shown), sharey="col")
    for column, source in enumerate(shown):
        for row, (operation, word) in enumerate(OPERATIONS.items()):
            panel = axes[row, column]
            stats = source.level_stats[source.level_stats["operation"] == operation]
            for level in LEVELS:
                group = stats[stats["level"] == level].sort_values("threads")
                panel.plot(
                    group["throughput_per_s"], group["latency_us"] / US_PER_MS, "o-", markersize=4, linewidth=1.3,
                    color=palette.LEVELS[level], label=level,
                )  # fmt: skip
                marked = group[summaries.client_marked(group)]
                at = marked["throughput_per_s"], marked["latency_us"] / US_PER_MS
                panel.plot(*at, "o", color="white", markersize=2.5, zorder=3)
            panel.set_title(f"{source.label}: {word}")
            panel.set_ylim(bottom=0)
            panel.xaxis.set_major_locator(MaxNLocator(5))
            panel.set_ylabel("mean latency, ms" if column == 0 else "")
            panel.set_xlabel("operations per second" if row == 1 else "")
    axes[0, 0].legend(title="level")
    return done(figure)


def ratios(table: pd.DataFrame, of: str) -> Figure:
    """Draw ratios with their 95 % intervals by threads, on a log scale; one panel per operation.

    Parameters
    ----------
    table : DataFrame
        Columns operation, level, threads, ratio, low, high; bounds may be NaN.
    of : str
        What over what.
    """
    figure, axes = panels(1, table["operation"].nunique(), width=4.8, sharey=True)
    for panel, (operation, group) in zip(axes[0], table.groupby("operation"), strict=True):
        places = {threads: place for place, threads in enumerate(sorted(group["threads"].unique()))}
        for shift, level in zip((-0.2, 0, 0.2), LEVELS, strict=True):
            of_level = group[group["level"] == level]
            bars = np.vstack([of_level["ratio"] - of_level["low"], of_level["high"] - of_level["ratio"]])
            x = of_level["threads"].map(places) + shift
            panel.errorbar(
                x, of_level["ratio"], yerr=bars, fmt="o", markersize=4, color=palette.LEVELS[level], capsize=2,
                elinewidth=1, label=level,
            )  # fmt: skip
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set_xticks(list(places.values()), [str(threads) for threads in places], rotation=45)
        panel.set(title=f"{str(operation).lower()}s", xlabel="threads", yscale="log")
        panel.yaxis.set_major_locator(FixedLocator([0.1, 0.25, 0.5, 1, 2, 4, 10]))
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel(of)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, title="level")
    return done(figure)
