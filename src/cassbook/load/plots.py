"""Figures of the load generator itself: what it hides, and how it compares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cassbook.latency import omission
from cassbook.notebook import Source
from cassbook.plots import LEVEL_COLOURS, done, panels, sentence
from cassbook.tables import LEVELS

_TIME_COLOURS = {"service": "#0072B2", "response": "#D55E00"}


def around_a_pause(sources: Sequence[Source], level: str) -> Figure:
    """Latency of every operation around a node's pause, first block: closed loop left, fixed rate right."""
    runs = {source.label: source.run for source in sources if len(omission.paced_cells(source.run))}
    if not runs:
        return sentence("No cell at a fixed rate, and no node that pauses, was recorded.")
    figure, axes = panels(len(runs), 2, width=4.6, sharex="row", sharey="row")
    for row, (label, run) in zip(axes, runs.items(), strict=True):
        for panel, cell in zip(row, omission.around_a_pause(run, level), strict=True):
            for one in reversed(omission.seen(run, cell)):
                panel.plot(
                    one.since_s, one.latency_ms, ".", markersize=1.5, color=_TIME_COLOURS[one.kind], label=one.kind
                )
                panel.set_title(f"{label}: {one.load}")
            panel.axvspan(*omission.pause_of(run, cell), color="grey", alpha=0.2, linewidth=0)
            panel.set_xlabel("time in the steady window, s")
        row[0].set_ylabel("latency, ms")
    axes[0, 1].legend(title="time counted", markerscale=6)
    return done(figure)


def throughput_ratios(ratios: pd.DataFrame) -> Figure:
    """Throughput of our generator over cassandra-stress, with 95 % intervals over pairs; reads left, updates right.

    Parameters
    ----------
    ratios : DataFrame
        Columns operation, level, threads, ratio, low, high.
    """
    figure, axes = panels(1, 2, width=4.4, sharey=True)
    for panel, (operation, group) in zip(axes[0], ratios.groupby("operation"), strict=True):
        places = {threads: place for place, threads in enumerate(sorted(group["threads"].unique()))}
        for shift, level in zip((-0.15, 0, 0.15), LEVELS, strict=True):
            own = group[group["level"] == level]
            bars = np.vstack([own["ratio"] - own["low"], own["high"] - own["ratio"]])
            x = own["threads"].map(places) + shift
            panel.errorbar(x, own["ratio"], yerr=bars, fmt="o", color=LEVEL_COLOURS[level], capsize=3, label=level)
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set_xticks(list(places.values()), [str(threads) for threads in places])
        panel.set(title=f"{str(operation).lower()}s", xlabel="threads")
    axes[0, 0].set(ylabel="throughput, ours over cassandra-stress", ylim=(0, None))
    axes[0, 0].legend(title="level", loc="lower left", ncols=3)
    return done(figure)
