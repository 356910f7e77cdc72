"""Figures of the chapter on measured staleness: P(consistent) over t and k, and what a fresher read costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from cassbook.book import palette
from cassbook.book.chapters import staleness_measured
from cassbook.book.figure_style import done, panels
from cassbook.core.consistency import setting_waiting_for
from cassbook.records import prediction_errors, staleness_results
from cassbook.records.staleness import StalenessRun
from cassbook.staleness import curves

_POINTS = 200
_LEAST_MS = 0.3  # where a logarithmic axis of t begins; t = 0 is drawn there
_TIMES_MS = (1, 10, 100, 1000)
_COLUMNS, _LINES = 2, 5  # of `frontier`: panels side by side; lines of names below what is fresh at once


def over_t(runs: Mapping[str, StalenessRun], setup: str) -> Figure:
    """Draw measured P(consistent) over t with intervals, the traces' prediction with its band, and WARS (dashed).

    One row per run, by version, one column per load.
    """
    keys = {
        version: [key for key in prediction_errors.weak_panels(run) if key[0] == setup] for version, run in runs.items()
    }
    threads = sorted({key[1] for of_run in keys.values() for key in of_run})
    figure, axes = panels(len(runs), len(threads), width=4.8, height=3.4, sharex=True, sharey=True)
    for row, (version, run) in zip(axes, runs.items(), strict=True):
        for panel, load in zip(row, threads, strict=True):
            for key in (key for key in keys[version] if key[1] == load):
                _one(panel, run, key, palette.setting(setting_waiting_for(*key[2:])))
            panel.set(title=f"{version}, {staleness_measured.load_name(load)}", ylim=(0, 1.03), xscale="log")
        row[0].set_ylabel("P(consistent)")
    for panel in axes[-1]:
        panel.set_xlabel("t by the client's clock, ms")
    axes[0, -1].legend(loc="lower right")
    return done(figure)


def _one(panel: Axes, run: StalenessRun, key: tuple[str, int, int, int], colour: str) -> None:
    seen = prediction_errors.curve(run, *key)
    at = seen["t_ms"].clip(lower=_LEAST_MS)
    below, above = seen["p"] - seen["low"], seen["high"] - seen["p"]
    label = setting_waiting_for(*key[2:])
    panel.errorbar(at, seen["p"], [below, above], fmt="o", color=colour, markersize=4, capsize=2, label=label)
    t_ms = np.geomspace(_LEAST_MS, seen["t_ms"].iloc[-1], _POINTS // 6)
    estimates = run.traced(*key).p_consistent_estimates(t_ms)
    panel.plot(t_ms, [estimate.value for estimate in estimates], color=colour)
    panel.fill_between(
        t_ms,
        [estimate.low for estimate in estimates],
        [estimate.high for estimate in estimates],
        color=colour,
        alpha=0.2,
    )
    panel.plot(at, seen[prediction_errors.FIRST], "--", color=colour, linewidth=1)


def over_k(run: StalenessRun, setups: Sequence[str], most: int = 10) -> Figure:
    """Draw measured P(one of the last k versions) right after the last acknowledgement, and what is predicted
    (crosses).
    """
    figure, axes = panels(1, len(setups), width=4.8, height=3.4, sharey=True)
    for panel, setup in zip(axes[0], setups, strict=True):
        for colour, (threads, group) in zip(
            palette.SERIES, staleness_results.versions(run, setup, most).groupby("threads"), strict=False
        ):
            half = [group["p"] - group["low"], group["high"] - group["p"]]
            panel.errorbar(group["k"], group["p"], half, fmt="o-", color=colour, markersize=4, capsize=2,
                           label=staleness_measured.load_name(int(str(threads))))  # fmt: skip
            panel.plot(group["k"], group["predicted"], "x", color=colour)
            panel.plot(group["k"], group["formula"], ":", color="grey")
        panel.set(title=staleness_measured.setup_name(setup), xlabel="k, versions", ylim=(0, 1.03))
    axes[0, 0].set_ylabel("P(one of the last k)")
    axes[0, -1].legend(loc="lower right")
    return done(figure)


def frontier(table: pd.DataFrame) -> Figure:
    """Draw the latency of half reads, half writes against the time to 99.9 % consistent reads; from
    `staleness_results.frontier`.

    One panel per number of replicas, place and load; triangles where 99.9 % was not reached; settings that no other
    beats in both are joined.
    """
    groups = sorted(table.groupby(["n", "setup", "threads"]), key=lambda of: (of[0][0], of[0][1] != "near", of[0][2]))
    rows = -(-len(groups) // _COLUMNS)
    figure, axes = panels(rows, min(_COLUMNS, len(groups)), width=4.6, height=3.4, sharey=True)
    kept = curves.unbeaten(table)
    longest_ms = 3 * float(table["t_999_ms"].max())
    for panel, ((n, setup, threads), group) in zip(axes.flat, groups, strict=False):
        t_ms = group["t_999_ms"].fillna(longest_ms).clip(lower=_LEAST_MS)
        _settings(panel, group.assign(t_ms=t_ms, kept=kept[group.index]))
        place, load = staleness_measured.setup_name(setup), staleness_measured.load_name(threads)
        panel.set(
            title=f"{n} replicas {place}, {load}", xscale="log", yscale="log", ylim=(_LEAST_MS / 30, 3 * longest_ms)
        )
        panel.margins(x=0.15)
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.xaxis.set_minor_formatter(NullFormatter())
    for panel in axes.flat[len(groups) :]:
        panel.set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel("latency, half reads, half writes, ms")
    axes[0, 0].set_yticks([_LEAST_MS, *_TIMES_MS], ["at once", *map("{:,}".format, _TIMES_MS)])
    axes[0, 0].set_yticks([], minor=True)
    for row in axes:
        row[0].set_ylabel("time to 99.9 % consistent reads, ms")
    return done(figure)


def _settings(panel: Axes, settings: pd.DataFrame) -> None:
    """One panel of `frontier`: one point per setting, named."""
    edge = settings[settings["kept"]].sort_values("latency_ms")
    panel.plot(edge["latency_ms"], edge["t_ms"], "-", color="lightgrey", zorder=0)
    below = 0
    for place, row in enumerate(settings.sort_values("latency_ms").to_dict("records")):
        marker, colour = "^" if np.isnan(row["t_999_ms"]) else "o", palette.setting(row["setting"], place)
        panel.plot(row["latency_ms"], row["t_ms"], marker, color=colour)
        name = {"text": row["setting"], "xy": (row["latency_ms"], row["t_ms"]), "fontsize": 8, "ha": "center",
                "textcoords": "offset points"}  # fmt: skip
        if row["t_ms"] > _LEAST_MS:
            panel.annotate(**name, va="bottom", xytext=(0, 5))
            continue
        # Where all are whose quorums meet: names go below, each on one of several lines, so that none is on another.
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6}
        panel.annotate(**name, va="top", xytext=(0, -10 - 11 * (below % _LINES)), arrowprops=line)
        below += 1


def claimed(table: pd.DataFrame, claims: Mapping[str, float]) -> Figure:
    """Draw measured P(consistent) of each weak setting over t in every setup, and the one number that is claimed for
    it.
    """
    figure, axes = panels(1, len(claims), width=4.0, height=3.2, sharey=True)
    for panel, (setting, share) in zip(axes[0], claims.items(), strict=True):
        group = table[table["setting"] == setting]
        lines = group.groupby(["setup", "threads"], sort=False)
        for colour, ((setup, threads), line) in zip(palette.SERIES, lines, strict=False):
            label = f"{staleness_measured.setup_name(setup)}, {staleness_measured.load_name(threads)}"
            panel.plot(line["t_ms"].clip(lower=_LEAST_MS), line["p"], "o-", color=colour, markersize=3, label=label)
        panel.axhline(share, color="black", linestyle=":")
        panel.set(title=setting, xscale="log", xlabel="t, ms", ylim=(0, 1.03))
    axes[0, 0].set_ylabel("P(consistent)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return done(figure)
