"""Figures of the chapter on failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.chapters.failures import having, labels, of_one
from cassbook.book.chapters.failures_adviser import SWITCHED_BY
from cassbook.book.figure_style import done, panels
from cassbook.book.setting_names import in_two_lines
from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.records.faults import OPERATIONS, AdvisedRun, FaultRun

_BAND = "#bbbbbb"


def colours(names: list[str]) -> dict[str, str]:
    """Return a colour for each setting, the same wherever it is drawn."""
    return {name: palette.setting(name, place) for place, name in enumerate(names)}


def answered(runs: Sequence[FaultRun], setup: str, start: int = 0) -> Figure:
    """Draw the share of requests that are answered by when they were due, and faults as bands.

    Two rows for each run, reads and writes, and one panel per setting; a line per cluster start, or that of one start,
    where faults are drawn at random.
    """
    return _over_time(runs, setup, dict(OPERATIONS), "ok", start=start)


def stale(runs: Sequence[FaultRun], setup: str, driver: str = "") -> Figure:
    """Draw the share of reads that are stale by when they were due, as `answered` does; of one driver."""
    return _over_time(runs, setup, {"READ": "stale"}, "stale", driver)


def _over_time(
    runs: Sequence[FaultRun], setup: str, rows: Mapping[str, str], what: str, driver: str = "", start: int = 0
) -> Figure:
    named = dict(zip((run.results.name for run in runs), labels(runs), strict=True))
    runs = having(runs, setup)
    binned = [of_one(run.bins_of(setup, start), driver) for run in runs]
    names = binned[0]["setting"].drop_duplicates().tolist()
    chosen = colours(names)
    figure, axes = panels(len(runs) * len(rows), len(names), width=2.3, height=1.5, sharex=True, sharey=True)
    lines = [(run, bins, operation) for run, bins in zip(runs, binned, strict=True) for operation in rows]
    for row, (run, bins, operation) in zip(axes, lines, strict=True):
        for panel, name in zip(row, names, strict=True):
            bands(panel, run, setup, start)
            own = bins[(bins["operation"] == operation) & (bins["setting"] == name)]
            for _, of_start in own.groupby("start"):
                share = 100 * of_start[what] / of_start["n"]
                panel.plot(of_start["bin_s"], share, color=chosen[name], linewidth=1.0, alpha=0.7)
        row[0].set_ylabel(f"{named[run.results.name]}\n{rows[operation]}, %")
    for panel, name in zip(axes[0], names, strict=True):
        panel.set_title(in_two_lines(name), fontsize=10)
    for panel in axes[-1]:
        panel.set_xlabel("s")
    axes[0, 0].set_ylim((-3, 103) if what == "ok" else (0, None))
    return done(figure)


def response_times(runs: Sequence[FaultRun], setup: str) -> Figure:
    """Draw the 99th percentile of response time by half seconds, medians over starts, and faults as bands."""
    runs = having(runs, setup)
    figure, axes = panels(len(runs), len(OPERATIONS), width=5.0, height=2.8, sharex=True, sharey=True)
    for row, run in zip(axes, runs, strict=True):
        bins = of_one(run.bins_of(setup))
        chosen = colours(bins["setting"].drop_duplicates().tolist())
        for panel, (operation, word) in zip(row, OPERATIONS.items(), strict=True):
            bands(panel, run, setup)
            own = bins[bins["operation"] == operation].groupby(["setting", "bin_s"])["p99_ms"].median()
            for name, colour in chosen.items():
                panel.plot(own[name].index, own[name], color=colour, linewidth=1.2, label=name)
            panel.set(title=f"{run.engine}, {word}", yscale="log")
        row[0].set_ylabel("p99, ms")
    for panel in axes[-1]:
        panel.set_xlabel("s")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(chosen))
    return done(figure)


def unanswered(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw `failures.unanswered` as a map, one panel per version: the darker, the more requests went unanswered."""
    tables = {title: table for title, table in tables.items() if not table.empty}
    if not tables:
        raise LackingError("no record has a schedule with all of these settings; `cassbook experiment faults-all` has")
    rows = max(len(table) for table in tables.values())
    figure, axes = panels(1, len(tables), width=6.5 if len(tables) == 1 else 5.0, height=0.3 * rows + 0.8, sharey=True)
    for panel, (title, table) in zip(axes[0], tables.items(), strict=True):
        sns.heatmap(
            table, ax=panel, vmin=0, vmax=100, cmap="Blues", annot=True, fmt=".1f", annot_kws={"fontsize": 10},
            cbar=False, linewidths=0.5,
        )  # fmt: skip
        panel.set(title=title, xlabel="", ylabel="")
        panel.set_xticks(panel.get_xticks(), table.columns.map(in_two_lines), rotation=0)
    return done(figure)


def bands(panel: Axes, run: FaultRun, setup: str, start: int = 0) -> None:
    """Shade the time of each fault: from when it struck until its node answered, medians over starts, or of one."""
    faults, length_s = run.faults(setup), run.length_s(setup)
    faults = faults[faults["start"] == start] if start else faults
    for _, fault in faults.groupby(["number", "node"]):
        ends_s = fault["ends_s"].fillna(length_s).median()
        panel.axvspan(fault["begins_s"].median(), ends_s, color=_BAND, alpha=0.35, linewidth=0)


def switched(run: AdvisedRun, setup: str, start: int) -> Figure:
    """Draw a cluster start in which settings are switched: the setting in force, and what is answered by who switches.

    Above, the setting of the two advisers over time; below, for each table, the share of requests answered by when they
    were due. Faults are bands.
    """
    bins = run.bins_of(setup, start)
    names = bins["table"].drop_duplicates().tolist()
    figure, axes = panels(1 + len(names), 1, width=9.0, height=1.5, sharex=True)
    steps = run.steps[(run.steps["setup"] == setup) & (run.steps["start"] == start) & (run.steps["kind"] == "epoch")]
    order = sorted(steps["setting"].unique())
    for (member, own), line in zip(steps.groupby("member"), ("-", ":"), strict=False):
        place = [*own["setting"].map(order.index), order.index(own["setting"].iloc[-1])]
        moments = [*own["at_s"], run.length_s(setup)]
        axes[0, 0].step(moments, place, where="post", color=palette.BLACK, linestyle=line, linewidth=1.2, label=member)
    axes[0, 0].set(yticks=range(len(order)), yticklabels=order, title="setting of the advisers")
    for panel, name in zip(axes[1:, 0], names, strict=True):
        of_table = bins[bins["table"] == name].groupby("bin_s")[["ok", "n"]].sum()
        panel.plot(of_table.index, 100 * of_table["ok"] / of_table["n"], color=palette.BLUE, linewidth=1.0)
        panel.set(title=f"switched by {SWITCHED_BY.get(name, name)}", ylabel="answered, %", ylim=(-3, 103))
    for panel in axes[:, 0]:
        bands(panel, run, setup, start)
    axes[-1, 0].set(xlabel="s", xlim=(0, run.length_s(setup)))
    return done(figure)


def trade_off(tables: Mapping[str, pd.DataFrame], by: str = "p99_ms") -> Figure:
    """Draw latency when all is well against requests that fail in a fault: a point per setting, with intervals.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        `failures.trade_off` by the title of their panel.
    by : str
        p50_ms or p99_ms.
    """
    columns = min(2, len(tables))
    figure, axes = panels(-(-len(tables) // columns), columns, width=4.8, height=3.4, sharey=True)
    for panel, (title, table) in zip(axes.flat, tables.items(), strict=True):
        for name, colour in colours(table.index.tolist()).items():
            latency, failed = table[by][name], table["failed"][name].times(100)
            panel.errorbar(
                latency.value, failed.value, xerr=_bars(latency), yerr=_bars(failed), fmt="o", color=colour,
                markersize=7, capsize=2, label=name,
            )  # fmt: skip
        panel.set(title=title, xlabel=f"{by.removesuffix('_ms')} of response time when all is well, ms", xlim=(0, None))
    axes[0, 0].set_ylim(-1, None)
    figure.supylabel("not answered in the fault, %", fontsize=10)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(table))
    return done(figure)


def _bars(estimate: Estimate) -> np.ndarray | None:
    """How far an interval reaches down and up, as error bars take it; none where there is no interval."""
    if np.isnan(estimate.low):
        return None
    return np.array([[estimate.value - estimate.low], [estimate.high - estimate.value]])
