"""What the two kinds of load show of a node that stands still."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels, sentence
from cassbook.book.source import Source
from cassbook.latency import omission

_TIME_COLOURS = {"service": palette.BLUE, "response": palette.VERMILION}


def around_a_pause(sources: Sequence[Source], level: str) -> Figure:
    """Draw the latency of every operation around a node's pause, first block: closed loop left, fixed rate right."""
    pairs = [(source, omission.paused_cells(source.run, level)) for source in sources]
    shown = [(source, cells) for source, cells in pairs if all(len(part) for part in cells)]
    if not shown:
        return sentence("No cell at a fixed rate with a node that pauses was recorded.")
    figure, axes = panels(len(shown), 2, width=4.6, sharex="row", sharey="row")
    for row, (source, cells) in zip(axes, shown, strict=True):
        for panel, part in zip(row, cells, strict=True):
            cell = part.iloc[0]
            for one in reversed(omission.seen(source.run, cell)):
                panel.plot(
                    one.since_s, one.latency_ms, ".", markersize=1.5, color=_TIME_COLOURS[one.kind], label=one.kind
                )
                panel.set_title(f"{source.label}: {one.load}")
            panel.axvspan(*omission.pause_of(source.run, cell), color="grey", alpha=0.2, linewidth=0)
            panel.set_xlabel("time in the steady window, s")
        row[0].set_ylabel("latency, ms")
    axes[0, 1].legend(title="time counted", markerscale=6)
    return done(figure)
