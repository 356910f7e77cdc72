"""Tables and figures of the chapter that reproduces the 2016 paper's, and the values that its prose quotes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels, points
from cassbook.core.units import PERCENT
from cassbook.queueing import reproduction
from cassbook.queueing.mva import Analysed, analyse
from cassbook.queueing.network import Network, Readings
from cassbook.queueing.paper import JOBS

#: What the text leaves open, as a question.
_OPEN = {
    "client_cores": "servers of the client's CPU",
    "node_cores": "servers of a node's CPU",
    "client_network": "queues of the client's network",
    "node_network": "queues of a node's network",
    "receiver": "messages take the receiver's network too",
    "targets": "whom a coordinator asks",
    "returned_ms": "CPU for each answer, ms (printed: n/a)",
    "law": "law of service times",
    "region": "what the capacity region covers",
}
#: Of the sentences' distance, below which a reading is said to fit.
FITS = 0.02


def readings() -> pd.DataFrame:
    """Return what the text leaves open, what is taken, and what else it may mean."""
    base = Readings()
    rows = {
        name: {"question": _OPEN[name], "taken": reproduction.reading_name(getattr(base, name)),
               "or": ", ".join(reproduction.reading_name(choice) for choice in choices[1:])}
        for name, choices in reproduction.OPEN.items()
    }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("switch")


def one_at_a_time(table: pd.DataFrame) -> pd.DataFrame:
    """Return `reproduction.one_at_a_time` in words."""
    shown = table[["switch", "reading"]].copy()
    shown["ONE, reads/s"] = [f"{rate:±%.0f}" for rate in table["at_one_per_s"]]
    for name in ("quorum", "all"):
        shown[f"less at {name.upper()}, %"] = [f"{part.times(PERCENT):±.1f}" for part in table[f"less_at_{name}"]]
    return shown.set_index(["switch", "reading"])


def sentences_values(table: pd.DataFrame) -> dict[str, object]:
    """Return the first reading's three figures, and that of the region which changes them most."""
    base = table.iloc[0]
    region = table[table["switch"] == "region"]["at_one_per_s"].map(lambda rate: rate.value)
    return {
        "one_per_s": base["at_one_per_s"].value, "quorum_less": PERCENT * base["less_at_quorum"].value,
        "all_less": PERCENT * base["less_at_all"].value,
        "region_most": PERCENT * float(np.abs(region / base["at_one_per_s"].value - 1).max()),
    }  # fmt: skip


def nearest(table: pd.DataFrame, count: int = 6) -> pd.DataFrame:
    """Return the readings of `reproduction.factorial` that are nearest to the sentences."""
    top = table.sort_values("off", kind="stable").head(count)
    shown = top.drop(columns=["at_one_per_s", "less_at_quorum", "less_at_all", "off"])
    return shown.assign(**{
        "ONE, reads/s": top["at_one_per_s"].round(0), "less at QUORUM, %": (PERCENT * top["less_at_quorum"]).round(1),
        "less at ALL, %": (PERCENT * top["less_at_all"]).round(1), "off, %": (PERCENT * top["off"]).round(1),
    }).reset_index(drop=True)  # fmt: skip


def factorial_values(table: pd.DataFrame) -> dict[str, object]:
    """Return how many readings there are, how many fit all three sentences, and how far off the first of each is."""
    fits = table["off"] < FITS
    return {
        "combinations": len(table), "fitting": int(fits.sum()), "best_off": PERCENT * float(table["off"].min()),
        "two_queues_fitting": int((fits & (table["client_network"] == "two")).sum()),
    }  # fmt: skip


def effects(table: pd.DataFrame) -> pd.DataFrame:
    """Return `reproduction.effects` in percent."""
    percent = PERCENT * reproduction.effects(table)
    percent.columns = pd.Index(["ONE, %", "less at QUORUM, points", "less at ALL, points"])
    return percent.round(1)


def analysis_values(table: pd.DataFrame) -> dict[str, object]:
    """Return the mean and worst error of the analysis, percent, and what of it is the simulation's own."""
    off = table["off"].abs()
    return {
        "analysis_mean": PERCENT * float(off.mean()), "analysis_worst": PERCENT * float(off.max()),
        "simulation_noise": PERCENT * float(table["noise"].mean()), "points": len(table),
    }  # fmt: skip


def lines(networks: Mapping[str, Network], most: int = 100) -> dict[str, Analysed]:
    """Return each network analysed up to so many jobs."""
    return {name: analyse(network, most) for name, network in networks.items()}


def quorums_values(table: pd.DataFrame) -> dict[str, object]:
    """Return requests a second that asking all of three gains (light load) and loses, percent, and where it turns."""
    rates = table.assign(x=[rate.value for rate in table["throughput_per_s"]]).pivot_table("x", "jobs", "level")
    gain = PERCENT * (rates[reproduction.REAL_QUORUM] / rates[reproduction.QUORUM] - 1)
    losing = gain[gain < 0]
    return {
        "light_gain": float(gain.iloc[0]), "heavy_loss": -float(gain.iloc[-1]), "heavy_jobs": int(gain.index[-1]),
        "turns_at": int(losing.index[0]) if len(losing) else float("nan"),
    }  # fmt: skip


def response_values(table: pd.DataFrame) -> dict[str, object]:
    """Return how straight response time rises with jobs at ONE (the part of its variance that a line explains), and
    how busy nodes are.
    """
    one = table[table["level"] == "ONE"]
    response_ms = [estimate.value for estimate in one["response_ms"]]
    busy = table[table["jobs"] == JOBS].set_index("level")["node_cpu"]
    return {
        "straight_one": float(np.corrcoef(one["jobs"], response_ms)[0, 1] ** 2),
        "cpu_one": PERCENT * busy["ONE"].value, "cpu_all": PERCENT * busy["ALL"].value,
    }  # fmt: skip


def scylla_values(needs: Mapping[str, float]) -> dict[str, object]:
    """Return `reproduction.scylla_needs` under the names of the prose."""
    names = {"cpu": "cpu", "most": "most_per_s", "low": "network_low_ms", "high": "network_high_ms",
             "amplified": "amplified", "printed": "printed_amplified"}  # fmt: skip
    return {f"scylla_{name}": needs[key] for name, key in names.items()}


#: What Figures 5 to 9 of the paper show, and what it is called here.
_SHOWN = {
    "throughput_per_s": "requests/s", "response_ms": "mean response time, ms", "node_cpu": "busy part of a node's CPU",
}  # fmt: skip
#: Marks on a logarithmic axis of jobs.
_JOBS = (1, 3, 10, 30, 100)


def over_jobs(table: pd.DataFrame, analysed: Mapping[str, Analysed], by: str = "level") -> Figure:
    """Draw simulated points with intervals, and the analysis as a line: one panel per figure of the paper.

    Parameters
    ----------
    table : DataFrame
        Of `reproduction.curves`.
    analysed : mapping of str to Analysed
        By what is in column `by`.
    by : str
    """
    shown = {name: title for name, title in _SHOWN.items() if name in table}
    figure, axes = panels(1, len(shown), width=4.4, height=3.4)
    colours = dict(zip(analysed, palette.SERIES, strict=False)) | palette.LEVELS
    for panel, (name, title) in zip(axes[0], shown.items(), strict=True):
        for key, group in table.groupby(by, sort=False):
            points(panel, group["jobs"], group[name], colours[str(key)], str(key))
            line = analysed[str(key)]
            panel.plot(line.jobs, _of(line, name), color=colours[str(key)], linewidth=1.2)
        panel.set(xlabel="jobs", ylabel=title, xlim=(0, None), ylim=(0, None))
    axes[0, 0].legend(loc="lower right")
    return done(figure)


def _of(line: Analysed, name: str) -> np.ndarray:
    return line.utilisation["node1 CPU"] if name == "node_cpu" else np.asarray(getattr(line, name))


def analysis_off(table: pd.DataFrame) -> Figure:
    """Draw how far the analysis is from the simulation, over jobs: one panel per level, one line per number of
    cores.
    """
    levels = list(table["level"].unique())
    figure, axes = panels(1, len(levels), width=4.0, height=3.0, sharey=True)
    for panel, level in zip(axes[0], levels, strict=True):
        for colour, (cores, group) in zip(
            palette.SERIES, table[table["level"] == level].groupby("cores"), strict=False
        ):
            panel.plot(group["jobs"], 100 * group["off"], "o-", color=colour, markersize=3, label=f"{cores} cores")
        panel.axhline(0, color="grey", linewidth=0.8)
        panel.set(title=level, xlabel="jobs", xscale="log")
        panel.set_xticks(_JOBS, [str(jobs) for jobs in _JOBS])
        panel.set_xticks([], minor=True)
    axes[0, 0].set_ylabel("analysis over simulation, %")
    axes[0, -1].legend()
    return done(figure)
