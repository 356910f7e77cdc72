"""Figures of the chapter on interleaving: a timeline, half-widths, latency since a change, and labels compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cassbook.book import palette
from cassbook.book.chapters.interleaving import WORDS
from cassbook.book.figure_style import done, panels
from cassbook.latency.designs import INTERLEAVED, SEQUENTIAL

_COLOURS = palette.LEVELS | palette.SETTINGS


def timeline(table: pd.DataFrame) -> Figure:
    """Draw the slices of a group: a band by level, its guard hatched, and the mean latency of what counts.

    Parameters
    ----------
    table : DataFrame
        From `interleaving.timeline`.
    """
    figure, ((panel,),) = panels(1, 1, width=10)
    for row in table.to_dict("records"):
        colour, counted_from = _COLOURS[row["level"]], row["from_s"] + row["guard_s"]
        ends = counted_from + row["counted_s"]
        panel.axvspan(row["from_s"], counted_from, facecolor=colour, alpha=0.12, hatch="////", edgecolor="white")
        panel.axvspan(counted_from, ends, color=colour, alpha=0.25, linewidth=0)
        panel.plot([counted_from, ends], [row["latency_ms"]] * 2, color=colour, linewidth=2.5)
    levels = [level for level in _COLOURS if level in set(table["level"])]
    patches = [Patch(color=_COLOURS[level], alpha=0.5, label=level) for level in levels]
    patches.append(Patch(facecolor="0.85", hatch="////", edgecolor="white", label="guard"))
    panel.legend(handles=patches, loc="upper right", ncols=len(patches), fontsize=9)
    panel.set(xlabel="seconds of the steady window", ylabel="mean latency, ms")
    panel.set_ylim(0, 1.35 * table["latency_ms"].max())
    panel.margins(x=0)
    panel.grid(visible=False, axis="x")
    return done(figure)


def half_widths(table: pd.DataFrame) -> Figure:
    """Draw half-widths of ratios in both designs by threads, one panel per operation, on a logarithmic scale."""
    figure, axes = panels(1, table["operation"].nunique(), width=3.8, sharey=True)
    for panel, (operation, group) in zip(axes[0], table.groupby("operation", sort=False), strict=True):
        places = {threads: place for place, threads in enumerate(sorted(group["threads"].unique()))}
        for place, name in enumerate((SEQUENTIAL, INTERLEAVED)):
            for marker, (level, of_level) in zip("os^", group.groupby("level", sort=False), strict=False):
                panel.plot(
                    of_level["threads"].map(places), of_level[f"half_{name}"], marker=marker, linewidth=1,
                    color=palette.SERIES[place], label=f"{name}: {level}/{of_level['base'].iloc[0]}",
                )  # fmt: skip
        panel.set_xticks(list(places.values()), [str(threads) for threads in places])
        panel.set(title=WORDS[str(operation)], xlabel="threads", yscale="log")
        panel.legend(fontsize=7)
    axes[0, 0].set_ylabel("half-width of the ratio's interval, %")
    return done(figure)


def since_change(table: pd.DataFrame) -> Figure:
    """Draw latency since a change, as a multiple of what the level settles at: rows what is asked, columns threads.

    A thin line per pair of levels, in the colour of the one that began, and the median of all pairs. The last bin is
    left out: it holds the few requests that were sent when the slice was over.
    """
    table = table[table["bin_ms"] < table["bin_ms"].max()]
    threads = sorted(table["threads"].unique())
    asked = [name for name in WORDS if name in set(table["operation"])]
    figure, axes = panels(len(asked), len(threads), width=2.6, height=2.2, sharex=True, sharey="row")
    for (row, operation), (column, count) in ((r, c) for r in enumerate(asked) for c in enumerate(threads)):
        panel = axes[row, column]
        here = table[(table["operation"] == operation) & (table["threads"] == count)]
        for (level, _), group in here.groupby(["level", "after"], sort=False):
            panel.plot(group["bin_ms"] / 1000, group["ratio"], color=_COLOURS[level], linewidth=0.8, alpha=0.45)
        middle = here.groupby("bin_ms")["ratio"].median()
        panel.plot(middle.index / 1000, middle, color=palette.BLACK, linewidth=1.8)
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set_title(f"{WORDS[operation]}, {count} threads", fontsize=10)
        if row == len(asked) - 1:
            panel.set_xlabel("s since the change")
        if column == 0:
            panel.set_ylabel("latency /\nsettled latency")
    begun = [level for level in _COLOURS if level in set(table["level"])]
    handles = [Line2D([], [], color=_COLOURS[level], linewidth=0.8, label=level) for level in begun]
    handles.append(Line2D([], [], color=palette.BLACK, linewidth=1.8, label="median"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return done(figure)


def same(table: pd.DataFrame) -> Figure:
    """Draw the intervals of all comparisons of a level with itself, in the order of their ratios; left: p-values.

    Parameters
    ----------
    table : DataFrame
        From `interleaving.same_compared`.
    """
    figure, axes = panels(1, 2, width=4.8)
    ordered = table.sort_values("ratio", ignore_index=True)
    for covers, colour, label in ((True, palette.SERIES[0], "contains 1"), (False, palette.SERIES[1], "excludes 1")):
        rows = ordered[ordered["covers"] == covers]
        axes[0, 0].vlines(rows.index, rows["low"], rows["high"], color=colour, linewidth=0.8, label=label)
    axes[0, 0].plot(ordered.index, ordered["ratio"], ".", color="black", markersize=2)
    axes[0, 0].axhline(1, color="grey", linewidth=0.8)
    axes[0, 0].set(xlabel="comparisons, by their ratio", ylabel="ratio of two labels of one level", yscale="log")
    axes[0, 0].legend()
    p = np.sort(table["p"].dropna())
    axes[0, 1].plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    axes[0, 1].step(p, np.arange(1, len(p) + 1) / len(p), where="post", color=palette.SERIES[0])
    axes[0, 1].set(xlabel="p of the paired test", ylabel="share of comparisons below it", xlim=(0, 1), ylim=(0, 1))
    return done(figure)
