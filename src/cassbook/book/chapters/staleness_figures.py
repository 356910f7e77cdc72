"""Figures of the chapters on staleness: P(consistent) over t and k, and what a fresher read costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from cassbook.book.chapters import ccm_latency, prediction_errors, staleness
from cassbook.book.chapters.plots import done, panels
from cassbook.core.consistency import setting_waiting_for
from cassbook.records import predictor
from cassbook.records.experiment import Results
from cassbook.records.predictor import SAYING, OracleRun
from cassbook.records.staleness import StalenessRun
from cassbook.staleness import pbs
from cassbook.staleness.ccm_study import SETTINGS

#: Colours that the colour-blind can tell apart (Okabe and Ito).
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
_BY_OPERATION = {"read": "#0072B2", "write": "#D55E00"}
#: Lines of those who say something of P(consistent).
_SAYING = tuple(
    {"color": colour, "linestyle": style} for colour, style in zip(_COLOURS[1:5], ("-", ":", "--", "-."), strict=True)
)
_LEAST_CHANCE = 1e-4
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


def over_t(runs: Mapping[str, StalenessRun], setup: str) -> Figure:
    """Measured P(consistent) over t with intervals, the traces' prediction with its band, and WARS (dashed).

    A row a run, by version, a column a load.
    """
    keys = {
        version: [key for key in prediction_errors.weak_panels(run) if key[0] == setup] for version, run in runs.items()
    }
    threads = sorted({key[1] for own in keys.values() for key in own})
    figure, axes = panels(len(runs), len(threads), width=4.8, height=3.4, sharex=True, sharey=True)
    for row, (version, run) in zip(axes, runs.items(), strict=True):
        for panel, load in zip(row, threads, strict=True):
            for colour, key in zip(_COLOURS, [key for key in keys[version] if key[1] == load], strict=False):
                _one(panel, run, key, colour)
            panel.set(title=f"{version}, {staleness.load_name(load)}", ylim=(0, 1.03), xscale="log")
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
    panel.plot(t_ms, [own.value for own in estimates], color=colour)
    panel.fill_between(t_ms, [own.low for own in estimates], [own.high for own in estimates], color=colour, alpha=0.2)
    panel.plot(at, seen[prediction_errors.FIRST], "--", color=colour, linewidth=1)


def over_k(run: StalenessRun, setups: Sequence[str], most: int = 10) -> Figure:
    """Measured P(one of the last k versions) right after the last acknowledgement, and what is predicted (crosses)."""
    figure, axes = panels(1, len(setups), width=4.8, height=3.4, sharey=True)
    for panel, setup in zip(axes[0], setups, strict=True):
        for colour, (threads, own) in zip(
            _COLOURS, staleness.versions(run, setup, most).groupby("threads"), strict=False
        ):
            half = [own["p"] - own["low"], own["high"] - own["p"]]
            panel.errorbar(own["k"], own["p"], half, fmt="o-", color=colour, markersize=4, capsize=2,
                           label=staleness.load_name(int(str(threads))))  # fmt: skip
            panel.plot(own["k"], own["predicted"], "x", color=colour)
            panel.plot(own["k"], own["formula"], ":", color="grey")
        panel.set(title=staleness.setup_name(setup), xlabel="k, versions", ylim=(0, 1.03))
    axes[0, 0].set_ylabel("P(one of the last k)")
    axes[0, -1].legend(loc="lower right")
    return done(figure)


def frontier(table: pd.DataFrame) -> Figure:
    """Latency of half reads, half writes against the time to 99.9 % consistent reads; from `tables.frontier`.

    A row a number of replicas, a column a place and load; triangles where 99.9 % was not reached; what is not beaten
    in both is joined.
    """
    cases = table[["setup", "threads"]].drop_duplicates().itertuples(index=False, name=None)
    ordered = sorted(cases, key=lambda case: (case[0] != "near", case[1]))
    counts = sorted(table["n"].unique())
    figure, axes = panels(len(counts), len(ordered), width=3.4, height=3.4, sharey=True)
    kept = staleness.unbeaten(table)
    longest_ms = 3 * float(table["t_999_ms"].max())
    for row, n in zip(axes, counts, strict=True):
        for panel, (setup, threads) in zip(row, ordered, strict=True):
            own = table[(table["n"] == n) & (table["setup"] == setup) & (table["threads"] == threads)]
            panel.set_visible(not own.empty)
            t_ms = own["t_999_ms"].fillna(longest_ms).clip(lower=_LEAST_MS)
            _settings(panel, own.assign(t_ms=t_ms, kept=kept[own.index]))
            panel.set(
                title=f"{n} replicas {staleness.setup_name(setup)},\n{staleness.load_name(threads)}",
                xscale="log", yscale="log", xlabel="latency, half reads, half writes, ms",
                ylim=(_LEAST_MS / 1.6, 3 * longest_ms),
            )  # fmt: skip
            panel.margins(x=0.2)
            panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            panel.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            panel.xaxis.set_minor_formatter(NullFormatter())
        row[0].set_ylabel("time to 99.9 % consistent reads, ms")
    return done(figure)


def _settings(panel: Axes, own: pd.DataFrame) -> None:
    """One panel of `frontier`: a point a setting, named."""
    edge = own[own["kept"]].sort_values("latency_ms")
    panel.plot(edge["latency_ms"], edge["t_ms"], "-", color="lightgrey", zorder=0)
    for place, row in enumerate(own.to_dict("records")):
        marker = "^" if np.isnan(row["t_999_ms"]) else "o"
        panel.plot(row["latency_ms"], row["t_ms"], marker, color=_COLOURS[place % len(_COLOURS)])
        crowded = row["t_ms"] == _LEAST_MS  # where all are whose quorums meet
        panel.annotate(
            row["setting"], (row["latency_ms"], row["t_ms"]), fontsize=8, va="bottom", xytext=(0, 5),
            textcoords="offset points", rotation=90 if crowded else 0, ha="center",
        )  # fmt: skip


def claimed(table: pd.DataFrame, claims: Mapping[str, float]) -> Figure:
    """Measured P(consistent) of each weak setting over t in every setup, and the one number that is claimed for it."""
    figure, axes = panels(1, len(claims), width=4.0, height=3.2, sharey=True)
    for panel, (setting, share) in zip(axes[0], claims.items(), strict=True):
        own = table[table["setting"] == setting]
        lines = own.groupby(["setup", "threads"], sort=False)
        for colour, ((setup, threads), line) in zip(_COLOURS, lines, strict=False):
            label = f"{staleness.setup_name(setup)}, {staleness.load_name(threads)}"
            panel.plot(line["t_ms"].clip(lower=_LEAST_MS), line["p"], "o-", color=colour, markersize=3, label=label)
        panel.axhline(share, color="black", linestyle=":")
        panel.set(title=setting, xscale="log", xlabel="t, ms", ylim=(0, 1.03))
    axes[0, 0].set_ylabel("P(consistent)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return done(figure)


def study(results: Results) -> Figure:
    """Mean latency in each setting with intervals over cluster starts: a row a tool, a panel a setup."""
    figure, axes = panels(len(ccm_latency.TOOLS), len(ccm_latency.SETUPS), width=3.6, height=2.8, sharey="col")
    for row, (tool, name) in zip(axes, ccm_latency.TOOLS.items(), strict=True):
        table = ccm_latency.latencies(results, tool)
        for panel, (setup, title) in zip(row, ccm_latency.SETUPS.items(), strict=True):
            for offset, operation in ((-0.2, "read"), (0.2, "write")):
                own = table.loc[(setup, operation)]
                places = [place + offset for place in range(len(own))]
                values = [estimate.value for estimate in own]
                below = [max(0.0, e.value - max(0.0, e.low)) for e in own]
                above = [e.high - e.value for e in own]
                label = ccm_latency.OPERATIONS[operation]
                panel.bar(places, values, 0.38, color=_BY_OPERATION[operation], label=label,
                          yerr=[below, above], capsize=2)  # fmt: skip
            panel.set_xticks(range(len(SETTINGS)), [setting_waiting_for(r, w) for r, w in SETTINGS], rotation=45)
            panel.set(title=f"{title}\n{name}", ylim=(0, None))
        row[0].set_ylabel("mean latency, ms")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return done(figure)


def beside_oracle(run: OracleRun, setups: Mapping[str, str]) -> Figure:
    """Measured P(consistent) over t with intervals, and who says what of it: a row a setup, a column a setting."""
    figure, axes = panels(len(setups), len(run.settings), width=4.2, height=3.2, sharex="row", sharey=True)
    for panel, seen in _beside_oracle(run, setups, axes, predictor.over_t):
        at = seen["t_ms"].clip(lower=_LEAST_MS)
        for line, name in zip(_SAYING, SAYING, strict=True):
            panel.plot(at, seen[name], **line, label=name)
        half = [seen["p"] - seen["low"], seen["high"] - seen["p"]]
        panel.errorbar(at, seen["p"], half, fmt="o", color=_COLOURS[0], markersize=4, capsize=2, label="measured")
        panel.set(xscale="log", xlabel="t by the client's clock, ms")
    axes[0, 0].set_ylim(top=1.01)
    return _finished(figure, axes, "P(consistent)")


def beside_oracle_k(run: OracleRun, setups: Mapping[str, str]) -> Figure:
    """P(older than the last k versions), 100 ms after the last was acknowledged; never is drawn at 1 / 10,000."""
    figure, axes = panels(len(setups), len(run.settings), width=4.2, height=3.2, sharex=True, sharey=True)
    for panel, seen in _beside_oracle(run, setups, axes, predictor.over_k):
        for line, name in zip(_SAYING, SAYING, strict=True):
            panel.plot(seen["k"], (1 - seen[name]).clip(lower=_LEAST_CHANCE), **line, label=name)
        missed, low, high = ((1 - seen[name]).clip(lower=_LEAST_CHANCE) for name in ("p", "high", "low"))
        panel.errorbar(
            seen["k"], missed, [missed - low, high - missed], fmt="o", color=_COLOURS[0], markersize=4, capsize=2,
            label="measured",
        )  # fmt: skip
        panel.set(yscale="log", xlabel="k, versions")
    return _finished(figure, axes, "P(older than the last k)")


def _beside_oracle(
    run: OracleRun, setups: Mapping[str, str], axes: np.ndarray, table: Callable[..., pd.DataFrame]
) -> Iterator[tuple[Axes, pd.DataFrame]]:
    """Panels with their titles, and what belongs there."""
    for row, (setup, title) in zip(axes, setups.items(), strict=True):
        for panel, (r, w) in zip(row, run.settings, strict=True):
            panel.set_title(f"{setting_waiting_for(r, w)}, {title}")
            yield panel, table(run, setup, r, w)


def _finished(figure: Figure, axes: np.ndarray, what: str) -> Figure:
    for row in axes:
        row[0].set_ylabel(what)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return done(figure)
