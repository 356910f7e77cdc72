"""Figures of the chapters on staleness: P(consistent) over t and k, and what a fresher read costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cassbook.plots import done, panels
from cassbook.staleness import compare, pbs, study_tables, tables
from cassbook.staleness.recorded import StalenessRun
from cassbook.staleness.study import SETTINGS
from cassbook.trials.results import Results

#: Colours that the colour-blind can tell apart (Okabe and Ito).
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
_BY_OPERATION = {"read": "#0072B2", "write": "#D55E00"}
_POINTS = 200
_LEAST_MS = 0.3  # where a logarithmic axis of t begins; t = 0 is drawn there


def production(predictions: Mapping[str, Mapping[str, pbs.Prediction]], least_ms: float = 0.1) -> Figure:
    """P(consistent) over t of named models; solid where a read asks all and takes the first, dashed where it asks R."""
    figure, axes = panels(1, 1, width=7.0, height=3.6)
    panel = axes[0, 0]
    for colour, (name, modes) in zip(_COLOURS, predictions.items(), strict=False):
        for style, own in zip(("-", "--"), modes.values(), strict=True):
            t_ms = np.geomspace(least_ms, own.t_visibility(0.9999) + 1, _POINTS)
            label = name if style == "-" else None
            panel.plot(t_ms, pbs.p_consistent_over(own, t_ms), style, color=colour, label=label)
    panel.set(xscale="log", xlabel="t after the commit, ms", ylabel="P(consistent)", ylim=(0, 1.02))
    panel.legend(loc="lower right")
    return done(figure)


def over_t(run: StalenessRun, setup: str) -> Figure:
    """Measured P(consistent) over t with intervals, the traces' prediction with its band, and WARS (dashed)."""
    keys = [key for key in compare.weak_panels(run) if key[0] == setup]
    threads = sorted({key[1] for key in keys})
    figure, axes = panels(1, len(threads), width=4.8, height=3.8, sharey=True)
    for panel, load in zip(axes[0], threads, strict=True):
        own = [key for key in keys if key[1] == load]
        for colour, key in zip(_COLOURS, own, strict=False):
            _one(panel, run, key, colour)
        panel.set(
            title=tables.load_name(load), xlabel="t by the client's clock, ms", ylim=(0, 1.03), xscale="log",
        )  # fmt: skip
    axes[0, 0].set_ylabel("P(consistent)")
    axes[0, -1].legend(loc="lower right")
    return done(figure)


def _one(panel: Axes, run: StalenessRun, key: tuple[str, int, int, int], colour: str) -> None:
    seen = compare.curve(run, *key)
    at = seen["t_ms"].clip(lower=_LEAST_MS)
    below, above = seen["p"] - seen["low"], seen["high"] - seen["p"]
    label = tables.setting_name(*key[2:])
    panel.errorbar(at, seen["p"], [below, above], fmt="o", color=colour, markersize=4, capsize=2, label=label)
    t_ms = np.geomspace(_LEAST_MS, seen["t_ms"].iloc[-1], _POINTS // 4)
    estimates = run.traced(*key).p_consistent_estimates(t_ms)
    panel.plot(t_ms, [own.value for own in estimates], color=colour)
    panel.fill_between(t_ms, [own.low for own in estimates], [own.high for own in estimates], color=colour, alpha=0.2)
    panel.plot(at, seen[compare.FIRST], "--", color=colour, linewidth=1)


def over_k(run: StalenessRun, setups: Sequence[str], most: int = 10) -> Figure:
    """Measured P(one of the last k versions) right after the last acknowledgement, and what is predicted (crosses)."""
    figure, axes = panels(1, len(setups), width=4.8, height=3.4, sharey=True)
    for panel, setup in zip(axes[0], setups, strict=True):
        for colour, (threads, own) in zip(_COLOURS, tables.versions(run, setup, most).groupby("threads"), strict=False):
            half = [own["p"] - own["low"], own["high"] - own["p"]]
            panel.errorbar(own["k"], own["p"], half, fmt="o-", color=colour, markersize=4, capsize=2,
                           label=tables.load_name(int(str(threads))))  # fmt: skip
            panel.plot(own["k"], own["predicted"], "x", color=colour)
            panel.plot(own["k"], own["formula"], ":", color="grey")
        panel.set(title=tables.setup_name(setup), xlabel="k, versions", ylim=(0, 1.03))
    axes[0, 0].set_ylabel("P(one of the last k)")
    axes[0, -1].legend(loc="lower right")
    return done(figure)


def frontier(table: pd.DataFrame) -> Figure:
    """Latency of half reads, half writes against the time to 99.9 % consistent reads; from `tables.frontier`."""
    cases = table[["setup", "threads"]].drop_duplicates().itertuples(index=False, name=None)
    ordered = sorted(cases, key=lambda case: (case[0] != "near", case[1]))
    figure, axes = panels(1, len(ordered), width=3.4, height=3.6, sharey=True)
    for panel, (setup, threads) in zip(axes[0], ordered, strict=True):
        own = table[(table["setup"] == setup) & (table["threads"] == threads)]
        for place, row in enumerate(own.itertuples()):
            colour = _COLOURS[place % len(_COLOURS)]
            t_ms = max(float(row.t_999_ms), _LEAST_MS)
            panel.plot(row.latency_ms, t_ms, "^" if np.isnan(row.t_999_ms) else "o", color=colour)
            panel.annotate(f" {row.setting}", (row.latency_ms, t_ms), fontsize=8, va="bottom")
        panel.set(
            title=f"{tables.setup_name(setup)}, {tables.load_name(threads)}", xscale="log", yscale="log",
            xlabel="latency, half reads, half writes, ms",
        )  # fmt: skip
        panel.margins(x=0.25)
    axes[0, 0].set_ylabel("time to 99.9 % consistent reads, ms")
    return done(figure)


def claimed(table: pd.DataFrame, claims: Mapping[str, float]) -> Figure:
    """Measured P(consistent) of each weak setting over t in every setup, and the one number that is claimed for it."""
    figure, axes = panels(1, len(claims), width=4.0, height=3.2, sharey=True)
    for panel, (setting, share) in zip(axes[0], claims.items(), strict=True):
        own = table[table["setting"] == setting]
        lines = own.groupby(["setup", "threads"], sort=False)
        for colour, ((setup, threads), line) in zip(_COLOURS, lines, strict=False):
            label = f"{tables.setup_name(setup)}, {tables.load_name(threads)}"
            panel.plot(line["t_ms"].clip(lower=_LEAST_MS), line["p"], "o-", color=colour, markersize=3, label=label)
        panel.axhline(share, color="black", linestyle=":")
        panel.set(title=setting, xscale="log", xlabel="t, ms", ylim=(0, 1.03))
    axes[0, 0].set_ylabel("P(consistent)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return done(figure)


def study(results: Results) -> Figure:
    """Mean latency in each setting with intervals over cluster starts: a row a tool, a panel a setup."""
    figure, axes = panels(len(study_tables.TOOLS), len(study_tables.SETUPS), width=3.6, height=2.8, sharey="col")
    for row, (tool, name) in zip(axes, study_tables.TOOLS.items(), strict=True):
        table = study_tables.latencies(results, tool)
        for panel, (setup, title) in zip(row, study_tables.SETUPS.items(), strict=True):
            for offset, operation in ((-0.2, "read"), (0.2, "write")):
                own = table.loc[(setup, operation)]
                places = [place + offset for place in range(len(own))]
                values = [estimate.value for estimate in own]
                below = [max(0.0, e.value - max(0.0, e.low)) for e in own]
                above = [e.high - e.value for e in own]
                label = study_tables.OPERATIONS[operation]
                panel.bar(places, values, 0.38, color=_BY_OPERATION[operation], label=label,
                          yerr=[below, above], capsize=2)  # fmt: skip
            panel.set_xticks(range(len(SETTINGS)), [tables.setting_name(r, w) for r, w in SETTINGS], rotation=45)
            panel.set(title=f"{title}\n{name}" if row is axes[0] else name, ylim=(0, None))
        row[0].set_ylabel("mean latency, ms")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return done(figure)
