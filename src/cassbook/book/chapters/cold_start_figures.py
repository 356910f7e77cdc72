"""Figures of the chapter on cold starts: single delays, warm-ups, cold conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from cassbook.book import palette
from cassbook.book.chapters.cold_start import NO_WARM_UP, nearest_threads
from cassbook.book.figure_style import done, panels
from cassbook.book.gaps import of_each
from cassbook.book.provenance import Source
from cassbook.core.consistency import LEVELS
from cassbook.core.errors import LackingError
from cassbook.core.units import MS_PER_S, US_PER_MS
from cassbook.latency import (
    changepoint,
    cold_start,
)
from cassbook.latency.cold_start import CONDITIONS, against_warm


def raw_delays(sources: Sequence[Source], near: int) -> Figure:
    """Draw Figs. 2 and 3: every operation's delay over the time since its load began; one panel per level.

    Levels that alternate share a load, so a panel is empty where the others have their slices. Two rows per run, reads
    and writes, of the first block's pure cells at the thread count next to `near`.
    """
    drawn_of = of_each(sources, lambda source: _drawn(source, near))
    shown = [(f"{label}, {word}", drawn) for label, by_word in drawn_of.items() for word, drawn in by_word.items()]
    figure, axes = panels(len(shown), len(LEVELS), width=3.1, height=1.9, sharex=True, sharey="row")
    for row, (label, drawn) in zip(axes, shown, strict=True):
        for panel, level in zip(row, LEVELS, strict=True):
            own = drawn[drawn["read_cl"] == level]
            panel.plot(own["since_ms"], own["latency_us"] / US_PER_MS, ".", markersize=1, color=palette.LEVELS[level])
            for steady_ms in own["steady_ms"].unique():
                panel.axvline(steady_ms, color="grey", linewidth=0.5)
            panel.set_yscale("log")
        row[0].set_ylabel(f"{label},\nms", fontsize=9)
    for panel, level in zip(axes[0], LEVELS, strict=True):
        panel.set_title(level)
    for panel in axes[-1]:
        panel.set_xlabel("ms since the load began")
    return done(figure)


def _drawn(source: Source, near: int) -> dict[str, pd.DataFrame]:
    """`_delays` of the reads and of the writes of a run, as far as it has any."""
    drawn = {word: _delays(source, near, share) for word, share in (("reads", 1.0), ("writes", 0.0))}
    if not any(map(len, drawn.values())):
        raise LackingError(f"{source.label} has no single requests to draw: of these cells there are only sums")
    return {word: delays for word, delays in drawn.items() if len(delays)}


def _delays(source: Source, near: int, share: float) -> pd.DataFrame:
    """Operations of the first block's pure cells of a share of reads at the thread count next to `near`.

    Columns read_cl, latency_us, since_ms and steady_ms (where the steady window begins) since the load began.
    """
    run = source.run
    cells = run.cells[
        (run.cells["kind"] == "pure") & (run.cells["block"] == 1) & (run.cells["read_share"] == share)
        & (run.cells["threads"] == nearest_threads(source, near))
    ]  # fmt: skip
    samples = run.samples(["cell_id", "started_s", "latency_us"], cells["cell_id"].tolist())
    began_s = samples.groupby("cell_id", observed=True)["started_s"].min()
    alternated = began_s.index.isin(run.slices["cell_id"])
    began_s = began_s.mask(alternated, began_s[alternated].min())
    drawn = samples.merge(cells[["cell_id", "read_cl", "steady_from_s"]], on="cell_id")
    load_began_s = drawn["cell_id"].map(began_s).astype(float)
    since = {f"{name}_ms": (drawn[column] - load_began_s) * MS_PER_S for name, column in
             (("since", "started_s"), ("steady", "steady_from_s"))}  # fmt: skip
    return drawn.assign(**since)


def settling(series: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the mean latency since a fresh cluster got its first requests, on a log scale; one line per block.

    Parameters
    ----------
    series : mapping of str to DataFrame
        By name of the block: columns since_start_ms, mean_us (see `cold_start.series`). May be empty: logs of other
        tools have no warm-up of their own.
    """
    if not series:
        raise LackingError(NO_WARM_UP)
    figure, axes = panels(1, 1, width=7.5)
    for name, table in series.items():
        axes[0, 0].plot(table["since_start_ms"] / MS_PER_S, table["mean_us"] / US_PER_MS, linewidth=1.2, label=name)
    axes[0, 0].set(yscale="log", xlabel="time since the first request, s", ylabel="mean latency, ms")
    figure.legend(loc="outside lower center", ncols=2)
    return done(figure)


def cold_conditions(sources: Sequence[Source], bin_ms: float = 50) -> Figure:
    """Draw the latency since a cell began, one row per run, one panel per condition; a dashed line where a cold
    start ends.

    Solid lines are reads, dotted ones writes; one line per cell.
    """
    cells_of = {source.label: against_warm(source.run, bin_ms) for source in sources if source.run}
    conditions = [name for name in CONDITIONS if any((cells["condition"] == name).any() for cells in cells_of.values())]
    shown = [source for source in sources if len(cells_of.get(source.label, ()))]
    if not shown:
        raise LackingError("no cell that begins cold was recorded")
    figure, axes = panels(len(shown), len(conditions), width=3.0, sharey="row")
    for row, source in zip(axes, shown, strict=True):
        cells = cells_of[source.label]
        for panel, condition in zip(row, conditions, strict=True):
            for cell in cells[cells["condition"] == condition].itertuples():
                if cell.bins is not None:
                    _cold_line(panel, cell, cell.bins)
            panel.set(yscale="log", title=condition.replace("_", " "))
        row[0].set_ylabel(f"{source.label}\nmean latency, ms")
    for panel in axes[-1]:
        panel.set_xlabel("time since the cell began, s")
    levels = [level for level in LEVELS if any((cells["level"] == level).any() for cells in cells_of.values())]
    figure.legend(
        handles=[Patch(color=palette.LEVELS[level], label=level) for level in levels],
        loc="outside lower center", ncols=3, title="level; writes are dotted",
    )  # fmt: skip
    return done(figure)


def _cold_line(panel: Axes, cell: Any, bins: pd.DataFrame) -> None:
    colour = palette.LEVELS.get(cell.level, "grey")
    line = "-" if cell.operation == "READ" else ":"
    panel.plot(bins["since_start_ms"] / MS_PER_S, bins["mean_us"] / US_PER_MS, line, color=colour, linewidth=1)
    _mark_end(panel, bins, colour)


def _mark_end(panel: Axes, bins: pd.DataFrame, colour: str) -> None:
    ends_ms = cold_start.end(bins).ends_ms if len(bins) >= changepoint.FEWEST else None
    if ends_ms is not None:
        panel.axvline(ends_ms / MS_PER_S, color=colour, linestyle="--", linewidth=0.8)
