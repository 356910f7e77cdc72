"""Figures of the chapter on adapting."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from cassbook.advisor.payback import ADAPTIVE, FREE
from cassbook.book import palette
from cassbook.book.chapters.adapting import REGIMES
from cassbook.book.figure_style import done, panels
from cassbook.core.units import US_PER_MS
from cassbook.records.schedule_runs import ScheduleRuns

_COLOURS = palette.SETTINGS | {"adaptive": palette.BLACK, "naive": palette.PURPLE}
_SMOOTH_S = 5


def violations(switches: pd.DataFrame) -> Figure:
    """Draw reads that missed acknowledged writes, counted from the switch: a row a switch, a dash a read; naive and
    safe.
    """
    pairs = list(dict.fromkeys(zip(switches["now"], switches["then"], strict=True)))
    figure, axes = panels(1, 2, width=5.2, height=0.42 * len(pairs) + 1.2, sharex=True, sharey=True)
    for panel, how in zip(axes[0], ("naive", "safe"), strict=True):
        group = switches[switches["how"] == how]
        for row, pair in enumerate(pairs):
            at = group.loc[(group["now"] == pair[0]) & (group["then"] == pair[1]), "at_s"]
            moments = [moment for moments in at for moment in moments]
            panel.plot(moments, [row] * len(moments), "|", color=palette.VERMILION, markersize=9)
            panel.text(
                0.99, row, f"{len(moments)}", va="center", ha="right", transform=panel.get_yaxis_transform(),
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )  # fmt: skip
        panel.axvline(0, color="grey", linewidth=0.8)
        title = "the paper's switch" if how == "naive" else "the safe one"
        panel.set(
            title=title, xlabel="time since the switch was requested, s", ylim=(len(pairs) - 0.5, -0.5), xlim=(-3, 6)
        )
    axes[0, 0].set_yticks(range(len(pairs)), [f"{now} to {then}" for now, then in pairs])
    return done(figure)


def ride(rides: ScheduleRuns, block: int = 1) -> Figure:
    """Draw one block of the shifting load: latency of each regime over time, below it the levels that two of them
    used.
    """
    figure, axes = panels(3, 1, width=9.5, height=2.4, sharex=True)
    phases = rides.manifest["schedule"]
    for actor, seconds in rides.seconds(block).items():
        smooth = seconds["mean_us"].rolling(_SMOOTH_S, center=True, min_periods=1).mean() / US_PER_MS
        width = 1.8 if actor == "adaptive" else 1.0
        axes[0, 0].plot(
            seconds["second"], smooth, color=_COLOURS[actor], linewidth=width, label=REGIMES.get(actor, actor)
        )
    axes[0, 0].set(ylabel="mean latency, ms", yscale="log")
    axes[0, 0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[0, 0].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes[0, 0].yaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].legend(ncols=5, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    total = sum(phase["seconds"] for phase in phases)
    for panel, actor in zip(axes[1:, 0], ("adaptive", "naive"), strict=True):
        levels = rides.levels(block)[actor]
        for name, colour in (("reads", palette.OPERATIONS["READ"]), ("writes", palette.OPERATIONS["WRITE"])):
            shift = 0.04 if name == "reads" else -0.04
            times = [*levels["at_s"], total]
            panel.step(
                times, [*(levels[name] + shift), levels[name].iloc[-1] + shift], where="post", color=colour, label=name
            )
        panel.set(ylabel=f"{REGIMES[actor]}:\nreplicas waited for", yticks=[1, 2, 3], ylim=(0.7, 3.3))
    axes[1, 0].legend(fontsize=8)
    _phases(axes, phases)
    axes[-1, 0].set_xlabel("time, s; above: requests in flight, reads in percent")
    return done(figure)


def paying(by_map: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the latency of adapting by that of the best fixed setting, over how long a load stays; from
    `payback.over_stays`.
    """
    figure, axes = panels(1, 1, width=6.5, height=3.6)
    panel = axes[0, 0]
    for (label, table), colour in zip(by_map.items(), palette.SERIES, strict=False):
        panel.plot(table.index, table[ADAPTIVE], color=colour, label=f"{label}: the adviser")
        panel.plot(table.index, table[FREE], "--", color=colour, linewidth=1.0, label=f"{label}: switches cost nothing")
    panel.axhline(1, color="grey", linewidth=0.8)
    panel.set(
        xscale="log", xlabel="duration of a load, in sweeps",
        ylabel="mean latency / that of\nthe best fixed setting",
    )  # fmt: skip
    panel.legend(fontsize=8)
    return done(figure)


def _phases(axes: object, phases: list[dict[str, float]]) -> None:
    at = 0.0
    for phase in phases:
        for panel in axes[:, 0]:  # type: ignore[index]
            panel.axvline(at, color="lightgrey", linewidth=0.8)
        text = f"{phase['threads']:.0f}, {100 * phase['read_share']:.0f} %"
        axes[1, 0].text(at + 2, 3.32, text, fontsize=7, va="bottom")  # type: ignore[index]
        at += phase["seconds"]
