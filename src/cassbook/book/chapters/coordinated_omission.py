"""The chapter on coordinated omission: what the two kinds of load show of a node that hangs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.book.gaps import of_each
from cassbook.book.provenance import Source, check_served
from cassbook.core.consistency import LEVEL_CODES
from cassbook.core.errors import LackingError
from cassbook.latency import omission
from cassbook.shown.tables import Format, titled

_TIME_COLOURS = {"service": palette.BLUE, "response": palette.VERMILION}


def check_level(sources: Sequence[Source], level: str) -> None:
    """Refuse a level at which no run has cells with a paused node.

    Raises
    ------
    InputError
        Naming the levels that have them.
    """
    runs = [source.run for source in sources if source.run is not None]
    paused = [run.cells.loc[run.cells["condition"] == "paused_node", "read_cl"] for run in runs]
    known = sorted({one for levels in paused for one in levels})
    check_served("level", level, known or LEVEL_CODES)  # of runs without any, the page says what they lack


def table(source: Source) -> pd.DataFrame:
    """Return `omission.table` of a run in words."""
    assert source.run is not None  # noqa: S101 - only runs have cells
    quantiles = omission.table(source.run)
    if quantiles.empty:
        raise LackingError(f"{source.label} has no cells at a fixed rate")
    columns: dict[str, tuple[str, Format]] = {
        "n": ("n", ""), "p50_ms": ("median, ms", ".1f"), "p99_ms": ("p99, ms", ".1f"),
        "p999_ms": ("p99.9, ms", ".1f"), "max_ms": ("worst, ms", ".1f"),
    }  # fmt: skip
    words = titled(quantiles, columns)
    words.index = pd.MultiIndex.from_tuples(
        [
            (level, condition, f"{_load(rate_per_s, threads)}, {time} time")
            for level, condition, rate_per_s, threads, time in quantiles.index
        ],
        names=["level", "condition", "measured"],
    )
    return words


def _load(rate_per_s: float, threads: int) -> str:
    return f"closed loop, {threads} threads" if np.isnan(rate_per_s) else f"{rate_per_s:.0f} a second"


def hidden_values(source: Source, level: str) -> dict[str, float]:
    """Return what the prose quotes of `omission.hidden`, and the ratio of the two."""
    closed, paced = omission.hidden(source.run, level)
    return {"closed_p99": closed, "paced_p99": paced, "times": paced / closed}


def _around(source: Source, level: str) -> list[tuple[pd.Series, list[omission.Seen]]]:
    """First cell with a paused node in the closed loop and at the lowest rate, and what each saw."""
    cells = omission.paused_cells(source.run, level)
    if source.run is None or not all(map(len, cells)):
        raise LackingError(f"{source.label} has no cell at a fixed rate and {level} with a node that pauses")
    return [(part.iloc[0], omission.seen(source.run, part.iloc[0])) for part in cells]


def around_a_pause(sources: Sequence[Source], level: str) -> Figure:
    """Draw the latency of every operation around a node's pause, first block: closed loop left, fixed rate right."""
    drawn = of_each(sources, lambda source: _around(source, level))
    shown = [(source, drawn[source.label]) for source in sources if source.label in drawn]
    figure, axes = panels(len(shown), 2, width=4.6, sharex="row", sharey="row")
    for row, (source, cells) in zip(axes, shown, strict=True):
        for panel, part in zip(row, cells, strict=True):
            cell, parts = part
            for one in reversed(parts):
                panel.plot(
                    one.since_s, one.latency_ms, ".", markersize=1.5, color=_TIME_COLOURS[one.kind], label=one.kind
                )
                panel.set_title(f"{source.label}: {_load(one.rate_per_s, one.threads)}")
            assert source.run is not None  # noqa: S101 - only runs have cells
            panel.axvspan(*omission.pause_of(source.run, cell), color="grey", alpha=0.2, linewidth=0)
            panel.set_xlabel("time in the steady window, s")
        row[0].set_ylabel("latency, ms")
    axes[0, 1].legend(title="time counted", markerscale=6)
    return done(figure)
