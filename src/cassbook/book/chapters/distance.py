"""Figures that the prose of the chapters on distance quotes, by the names they are glued under."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from cassbook.book.chapters import price
from cassbook.book.provenance import Source
from cassbook.core.schema import without_aside
from cassbook.deployment.inferred_regions import by_deployment
from cassbook.deployment.link import CEILING_CHUNKS_PER_S
from cassbook.deployment.scenarios import KEYS, highest_throughput
from cassbook.records import bench_results
from cassbook.shown.tables import Format, formatted

_FAR_LEVELS = ("QUORUM", "ALL")


def _off(ratio: float) -> float:
    return abs(math.log(ratio))


def kept(cells: pd.DataFrame) -> dict[str, float]:
    """Return how well a run kept its distances: kept_cells of all_cells, most_chunks a second, ceiling (as stated)."""
    loaded = without_aside(cells)
    off = loaded["marks"].map(lambda marks: "distance" in marks.split(";"))
    return {
        "kept_cells": int((~off).sum()), "all_cells": len(loaded),
        "most_chunks": float(loaded["relay_chunks_per_s"].max()), "ceiling": float(CEILING_CHUNKS_PER_S),
    }  # fmt: skip


def side_by_side(here: pd.DataFrame, paper: pd.DataFrame) -> dict[str, float]:
    """Return how the measured points compare with the printed ones.

    Returns
    -------
    dict
        far_off and far_off_worst (median and most difference in percent of c at QUORUM and ALL); b_here and
        b_paper (latency of reads of b at ONE with the most threads by that with the fewest); c_quorum_here and
        c_quorum_paper (highest throughput of reads); near_by_far (that of a by that of c, here).
    """
    means = [points.groupby(KEYS)["latency_ms"].mean() for points in (here, paper)]
    off = (means[0] / means[1]).map(_off).rename("off").reset_index()
    far = off[(off["scenario"] == "c") & off["level"].isin(_FAR_LEVELS)]["off"].dropna()
    quoted = {"far_off": float(np.expm1(far.median()) * 100), "far_off_worst": float(np.expm1(far.max()) * 100)}
    for label, points, mean in zip(("here", "paper"), (here, paper), means, strict=True):
        flat = mean["b", "READ", "ONE"].sort_index()
        quoted[f"b_{label}"] = float(flat.iloc[-1] / flat.iloc[0])
        quoted[f"c_quorum_{label}"] = float(highest_throughput(points)["per_s"]["c", "READ", "QUORUM"])
    most = highest_throughput(here)["per_s"]
    return quoted | {"near_by_far": float(most["a", "READ", "QUORUM"] / most["c", "READ", "QUORUM"])}


def near_values(found: pd.DataFrame, scenario: str = "a") -> dict[str, float]:
    """Return what the prose quotes of `scenarios.asked_and_found` where all hosts are near each other, ms.

    near_asked, near_least and near_most (found, over the pairs of hosts).
    """
    of = found.loc[scenario]
    return {
        "near_asked": float(of["asked_ms"].max()), "near_least": float(of["found_ms"].min()),
        "near_most": float(of["found_ms"].max()),
    }  # fmt: skip


def tails(source: Source) -> pd.DataFrame:
    """Return what levels cost in each scenario, in the mean and in the tail.

    Returns
    -------
    DataFrame of Estimate
        Index (scenario, operation, ratio); columns as in `price.table`.
    """
    of_source = price.table([source], by=("deployment", "operation")).droplevel("run")
    named = of_source.rename(index=by_deployment(), level="deployment").sort_index()
    return named.rename_axis(["scenario", "operation", "ratio"])


def tail_values(table: pd.DataFrame) -> dict[str, str]:
    """Return what the prose quotes of `tails`: reads at QUORUM in a and in c, SCENARIO_mean and SCENARIO_p99."""
    reads = table.xs(("READ", "QUORUM/ONE"), level=("operation", "ratio"))
    figures = ("mean", "p99")
    return {f"tail_{name}_{figure}": f"{reads[figure][name]:.2f}" for name in ("a", "c") for figure in figures}


def typically(predicted: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Return the median deviation of the model in percent, by source, from `scenarios.predicted`: typically_SOURCE."""
    return {
        f"typically_{label}": float(np.expm1(np.abs(np.log(table["ratio"])).median()) * 100)
        for label, table in predicted.items()
    }


def little_factor(rates: pd.DataFrame) -> dict[str, float]:
    """Return how many times more the printed latencies allow than is printed, from
    `inferred_regions.throughput_from_latency`.

    Returns
    -------
    dict
        factor (median of the far scenarios), factor_low, factor_high (their range), near_low, near_high (that of a).
    """
    times = 1 / rates["ratio"]
    far = times[times.index.get_level_values("scenario") != "a"]
    near = times[times.index.get_level_values("scenario") == "a"]
    return {
        "factor": float(far.median()), "factor_low": float(far.min()), "factor_high": float(far.max()),
        "near_low": float(near.min()), "near_high": float(near.max()),
    }  # fmt: skip


def implied_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `inferred_regions.implied` for readers: a difference of latencies may be negative, a round trip is not."""
    return table.map(lambda ms: f"{ms:.1f}" if ms >= 0 else "about 0")


def relay_shown() -> pd.DataFrame:
    """Return `bench_results.relay_accuracy` in words."""
    titles = {
        "asked_ms": "requested, ms",
        "median_ms": "median",
        "p95_ms": "95 %",
        "p99_ms": "99 %",
        "kept": "within 1 ms or 2 %",
    }
    formats: dict[str, Format] = {**dict.fromkeys(titles, ".1f"), "kept": lambda kept: "yes" if kept else "no"}
    return formatted(bench_results.relay_accuracy(), formats).rename(columns=titles)
