"""What the chapter on what-if questions says of the calibrated network: of mixes, of asking all, of other clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from cassbook.advisor import from_calibration
from cassbook.advisor.latency_map import LatencyMap
from cassbook.book import palette
from cassbook.book.chapters.queueing_calibrated import QUORUM_READ
from cassbook.book.figure_style import ASIDE, done, jobs_axis, panels, points
from cassbook.core.units import PERCENT
from cassbook.latency import policies
from cassbook.records.calibration import CalibrationRun, gain_of_asking_all
from cassbook.shown.calibration import asked
from cassbook.shown.tables import Format, titled

#: What tables call the columns of `from_calibration.by_setting`.
TITLES = {"parts_off": "parts: off, %", "mixes_off": "mixes: off, %", "above": "mix above its parts, %"}
#: Ways of choosing a setting that the chapter compares, besides fixed ones and rules of thumb.
NETWORK, WEIGHTED = "the network", "the calibration's pure cells, weighted"


def values(predicted: LatencyMap, cell_stats: pd.DataFrame, regret: pd.DataFrame) -> dict[str, object]:
    """Return what the chapter says of mixes: how many, from how many starts, how far off; and of `regret`, of
    `from_calibration.regrets`.
    """
    rows = from_calibration.compared(predicted, cell_stats)
    every, network = from_calibration.by_setting(predicted, cell_stats).loc["all"], regret.loc[NETWORK]
    above = every["above"]
    return {
        "mixes": len(rows), "mixes_starts": rows["measured_ms"].iloc[0].n, "mixes_within": int(rows["within"].sum()),
        "mixes_off": f"{every['mixes_off']:.0f}", "parts_off": f"{every['parts_off']:.0f}", "above": above.value,
        "above_low": above.low, "above_high": above.high,
        "above_predicted": PERCENT * float((rows["predicted_ms"] / rows["parts_ms"] - 1).abs().max()),
        "right": network["right"].right, "asked": network["right"].total, "worst_regret": network["worst_percent"],
        "network_regret": network["regret"].value, "rule_regret": regret["regret"][policies.RULE].value,
    }  # fmt: skip


def pays_values(run: CalibrationRun, table: pd.DataFrame, prefix: str = "") -> dict[str, object]:
    """Return what asking all three gains of throughput, percent, of all numbers of jobs together.

    `table` is of `calibration.asking_all`.

    Returns
    -------
    dict
        gain, gain_low, gain_high (95 % over cluster starts); within: numbers of jobs whose interval holds what the
        model says, of how many.
    """
    gain = gain_of_asking_all(run, QUORUM_READ)
    pairs = zip(table["throughput"], table["throughput_model"], strict=True)
    within = [ratio.low <= predicted <= ratio.high for ratio, predicted in pairs]
    ratios = {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}
    percents = {name: PERCENT * (ratio - 1) for name, ratio in ratios.items()}
    return {prefix + name: value for name, value in percents.items()} | {
        f"{prefix}within": f"{sum(within)} of {len(within)}"
    }


#: Questions of the what-if chapter, each one change from what was measured.
WHAT_IF: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as measured": ({}, {}),
    "six nodes on the same machine": ({"nodes": 6}, {}),
    "two replicas": ({"replication": 2}, {}),
    "all replicas asked": ({"ask_all": True}, {}),
    "four processors": ({}, {"cores": 4}),
    "eight processors": ({}, {"cores": 8}),
    "disks that take 2 ms a look": ({}, {"disk_ms": 2.0}),
    "disks that take 8 ms a look": ({}, {"disk_ms": 8.0}),
}


def what_if(run: CalibrationRun, jobs: int = 64) -> pd.DataFrame:
    """Return reads at QUORUM with one thing changed.

    Returns
    -------
    DataFrame
        Index what is changed; columns per_s, response_ms (Estimate), busiest (a station), busy (Estimate of its
        utilisation, 0 to 1), outside (of `Outside`: what of it was never measured).
    """
    rows = {}
    for name, (changed, others) in WHAT_IF.items():
        question = replace(QUORUM_READ, **changed)
        predicted = run.predict(question, [jobs], **others)
        busiest = predicted.bottleneck(0)
        rows[name] = {
            "per_s": predicted.throughput_per_s[0], "response_ms": predicted.response_ms[0],
            "busiest": busiest, "busy": predicted.utilisation(0)[busiest], "outside": tuple(predicted.outside),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("changed")


def what_if_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `what_if` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "per_s": ("requests/s", "±%.0f"), "response_ms": ("response, ms", "±%.1f"),
        "busy": ("busiest", lambda busy: f"{PERCENT * busy.value:.0f} %"),
        "outside": ("outside", lambda outside: "; ".join(map(asked, outside))),
    }  # fmt: skip
    words = titled(table, columns)
    return words.assign(busiest=table["busiest"] + ", " + words["busiest"])


def what_if_values(table: pd.DataFrame, jobs: int = 64) -> dict[str, object]:
    """Return the throughput of some rows of `what_if` over that as measured, and how many there are of its jobs."""
    per_s = table["per_s"].map(lambda estimate: estimate.value)
    first = per_s["as measured"]
    names = {
        "processors": "four processors", "nodes": "six nodes on the same machine",
        "asked": "all replicas asked", "disks": "disks that take 8 ms a look",
    }  # fmt: skip
    return {"jobs": jobs} | {f"by_{short}": per_s[name] / first for short, name in names.items()}


def replication_pays(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw asking all three over asking two at QUORUM, over jobs: measured with intervals, and the model's line.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By version, of `calibration.asking_all`.
    """
    figure, axes = panels(1, 2, width=4.4, height=3.6)
    titles = {"throughput": "requests/s", "response": "response time"}
    for panel, (name, title) in zip(axes[0], titles.items(), strict=True):
        for aside, (version, table) in zip(ASIDE, tables.items(), strict=False):
            colour = palette.version(version)
            jobs = pd.Series(table.index)
            points(panel, aside * jobs, table[name], colour, f"{version}, measured")
            panel.plot(jobs, table[f"{name}_model"], color=colour, label=f"{version}, model")
            jobs_axis(panel, jobs)
        panel.axhline(1, color="grey", linewidth=0.8)
        panel.set(xlabel="jobs", ylabel=f"{title}, three asked / two")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2 * len(tables))
    return done(figure)


def mixes(table: pd.DataFrame) -> Figure:
    """Draw the latency of mixes over the share of reads: measured with intervals, and the model's lines; one panel
    per load.

    Parameters
    ----------
    table : DataFrame
        Of `from_calibration.compared`.
    """
    loads = sorted(table["threads"].unique())
    figure, axes = panels(1, len(loads), width=3.6, height=3.4)
    for panel, threads in zip(axes[0], loads, strict=True):
        for aside, (setting, group) in zip(
            (-1, 0, 1), table[table["threads"] == threads].groupby("setting"), strict=True
        ):
            percent, colour = 100 * group["read_share"], palette.SETTINGS[str(setting)]
            points(panel, percent + aside, group["measured_ms"], colour, str(setting))
            panel.plot(percent, group["predicted_ms"], color=colour)
        panel.set(title=f"{threads} jobs", xlabel="reads, % of operations", ylim=(0, None))
    axes[0, 0].set_ylabel("mean latency, ms")
    axes[0, -1].legend()
    return done(figure)
