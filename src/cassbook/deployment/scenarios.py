"""The 2021 paper's scenarios, printed and measured in one shape: its Tables 2 to 4, and what the model makes of both.

A *point* is what a scenario does at a level and a number of threads: columns `POINTS`. Printed ones come from Tables 3
and 4, with throughput by Little's law; measured ones from the cells of a run, one row per block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cassbook import published
from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.deployment.distances import Distances, Placement, placed, printed
from cassbook.deployment.inferred_regions import LEVELS, SCENARIOS, by_deployment, held_at_coordinator, latencies
from cassbook.deployment.model import IN_FLIGHT, Model
from cassbook.deployment.notation import parse
from cassbook.latency.summaries import pure_cells

POINTS = ("scenario", "operation", "level", "threads", "block", "latency_ms", "throughput_per_s", "marks")
KEYS = ["scenario", "operation", "level", "threads"]
#: Where the hosts are, in the profile `distance` and in the model: the paper does not say.
REGIONS: Mapping[str, tuple[str, ...]] = {
    "a": ("ap_south_1",),
    "b": ("eu_west_2", "ap_south_1"),
    "c": ("ap_south_1", "eu_west_2", "ca_central_1"),
    "d": ("ap_south_1", "eu_west_2", "ca_central_1", "us_west_2"),
}


def placements(distances: Distances | None = None) -> dict[str, Placement]:
    """Each scenario where these chapters have it."""
    return {name: placed(parse(text), REGIONS[name], distances) for name, text in SCENARIOS.items()}


def printed_points() -> pd.DataFrame:
    """Tables 3 and 4 as points of one block."""
    table = latencies()
    per_s = table["threads"] / table["latency_ms"] * 1000
    return table.assign(throughput_per_s=per_s, block=1, marks="")[list(POINTS)]


def measured_points(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Points of a run, by its cells' deployments.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`; cells of other deployments are left out.

    Raises
    ------
    InputError
        If there is no cell of any of the scenarios.
    """
    names = by_deployment()
    parts = [
        pure_cells(group).assign(scenario=names[str(deployment)])
        for deployment, group in cell_stats.groupby("deployment")
        if deployment in names
    ]
    if not parts:
        raise LackingError(f"the run has none of the deployments {', '.join(names)}")
    cells = pd.concat(parts, ignore_index=True)
    return cells.assign(latency_ms=cells["latency_us"] / 1000)[list(POINTS)]


def over_blocks(points: pd.DataFrame) -> pd.DataFrame:
    """Means over blocks with 95 % intervals: `KEYS`, then latency_ms and throughput_per_s, each also _low and _high."""
    rows = []
    for key, group in points.groupby(KEYS, sort=False):
        row = dict(zip(KEYS, key, strict=True))
        for name in ("latency_ms", "throughput_per_s"):
            mean = Estimate.positive(group[name])
            row |= {name: mean.value, f"{name}_low": mean.low, f"{name}_high": mean.high}
        rows.append(row | {"blocks": len(group)})
    return pd.DataFrame(rows)


def highest_throughput(points: pd.DataFrame) -> pd.DataFrame:
    """Highest throughput over the threads of each block: index (scenario, operation, level).

    Columns: per_s, low, high (over blocks), at_threads (of the highest mean) and saturated: whether that is not at
    the most threads of all points, more of which might bring more.
    """
    keys = KEYS[:-1]
    most = points.groupby([*keys, "block"])["throughput_per_s"].max().groupby(keys).apply(Estimate.positive)
    means = points.groupby(KEYS)["throughput_per_s"].mean().reset_index()
    at = means.loc[means.groupby(keys)["throughput_per_s"].idxmax()].set_index(keys)["threads"]
    rows = [(estimate.value, estimate.low, estimate.high) for estimate in most]
    table = pd.DataFrame(rows, most.index, ["per_s", "low", "high"]).assign(at_threads=at)
    return table.assign(saturated=table["at_threads"] != points["threads"].max())


def printed_throughput() -> pd.DataFrame:
    """Table 2 as `highest_throughput`, but for the threads."""
    table = published.table("g21_table2").set_index(KEYS[:-1])
    saturated = table["saturated"].astype(str).str.lower() == "true"
    return pd.DataFrame({"per_s": table["throughput_per_s"], "low": np.nan, "high": np.nan, "saturated": saturated})


def model_of(
    scenario: str,
    level: str,
    distances: Distances | None = None,
    in_flight: int = IN_FLIGHT,
    service_ms: float = 0.0,
    most_per_s: float = float("inf"),
) -> Model:
    """Return the model of a scenario, its hosts in `REGIONS` and the nearest region's nodes taking turns."""
    placement = placements(distances)[scenario]
    return Model(placement, level, service_ms=service_ms, most_per_s=most_per_s, in_flight=in_flight)


def ground(points: pd.DataFrame, distances: Distances | None = None, alone: pd.DataFrame | None = None) -> pd.DataFrame:
    """What requests take by scenario a, where hardly anything is far.

    Parameters
    ----------
    points : DataFrame
    distances : Distances, optional
        Default: the printed ones.
    alone : DataFrame, optional
        From `forecast.near`, of a run with fewer threads. Where the fewest of scenario a keep processors busy, what a
        request takes by itself does not show there.

    Returns
    -------
    DataFrame
        Index (operation, level): service_ms (latency at the fewest threads less the round trips, at least 0; or that of
        `alone`) and most_per_s (highest throughput), means over blocks.
    """
    near = points[points["scenario"] == "a"].groupby(KEYS[1:])[["latency_ms", "throughput_per_s"]].mean().reset_index()
    if near.empty:
        raise LackingError("there are no points of scenario a, which tell what is not distance")
    keys = ["operation", "level"]
    few_ms = near.loc[near.groupby(keys)["threads"].idxmin()].set_index(keys)["latency_ms"]
    round_trips_ms = {level: model_of("a", level, distances).alone_ms() for level in LEVELS}
    far_ms = few_ms.index.get_level_values("level").map(round_trips_ms)
    most = near.groupby(keys)["throughput_per_s"].max()
    service_ms = (few_ms - far_ms).clip(lower=0.0)
    if alone is not None:
        service_ms = alone.groupby(keys)["service_ms"].mean().reindex(service_ms.index)
    return pd.DataFrame({"service_ms": service_ms, "most_per_s": most})


def predicted(
    points: pd.DataFrame,
    distances: Distances | None = None,
    in_flight: int = IN_FLIGHT,
    known: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Points of the far scenarios next to what the model says of them.

    Parameters
    ----------
    points : DataFrame
    distances : Distances, optional
        Default: the printed ones.
    in_flight : int
        Requests that a coordinator holds.
    known : DataFrame, optional
        From `ground`. Default: of these points' own scenario a, of which nothing else is used.

    Returns
    -------
    DataFrame
        `KEYS`, latency_ms (mean over blocks), predicted_ms, bound (see `Model.bounds_ms`), ratio (predicted by found).
    """
    known = ground(points, distances) if known is None else known
    means = points[points["scenario"] != "a"].groupby(KEYS, as_index=False, sort=False)["latency_ms"].mean()
    table = means.merge(known.reset_index(), on=["operation", "level"])
    largest = []
    for row in table.itertuples(index=False):
        model = model_of(row.scenario, row.level, distances, in_flight, row.service_ms, row.most_per_s)
        bounds = model.bounds_ms(row.threads)
        largest.append(max(bounds.items(), key=lambda pair: pair[1]))
    bound, predicted_ms = zip(*largest, strict=True)
    table = table.assign(predicted_ms=predicted_ms, bound=bound)
    table["ratio"] = table["predicted_ms"] / table["latency_ms"]
    return table[[*KEYS, "latency_ms", "predicted_ms", "bound", "ratio"]]


def errors(sources: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """How far the model is off, in percent, by source: what `predicted` returned, by label.

    Returns
    -------
    DataFrame
        Index (scenario, level); columns (source, 'typical'): half of the points are closer; (source, 'mean'): with its
        sign, of the logarithms; (source, 'worst').
    """
    columns = {}
    for label, table in sources.items():
        logs = table.assign(log=np.log(table["ratio"])).groupby(["scenario", "level"])["log"]
        columns[label, "typical"] = logs.apply(lambda x: float(np.expm1(x.abs().median())))
        columns[label, "mean"] = logs.apply(lambda x: float(np.expm1(x.mean())))
        columns[label, "worst"] = logs.apply(lambda x: float(np.expm1(x.abs().max())))
    percent = pd.DataFrame(columns) * 100
    return _in_order(percent).round(1)


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Rows by scenario and level, as the paper orders them."""
    return table.loc[[(name, level) for name in SCENARIOS for level in LEVELS if (name, level) in table.index]]


def bounds(table: pd.DataFrame) -> pd.DataFrame:
    """What bounds latency, by the model: index (scenario, level), columns threads; of reads."""
    reads = table[table["operation"] == "READ"]
    bounding = reads.pivot_table("bound", ["scenario", "level"], "threads", aggfunc="first")
    return _in_order(bounding)


def over_round_trips(points: pd.DataFrame, scale: float = 1.0) -> pd.DataFrame:
    """Points of the far scenarios with `times`: latency by the round trips that a request alone waits for.

    Parameters
    ----------
    points : DataFrame
    scale : float
        How many times as long as printed all distances were.
    """
    distances = printed().scaled(scale) if scale != 1 else printed()
    far = points[points["scenario"] != "a"]
    alone_ms = {(s, lv): model_of(s, lv, distances).alone_ms() for s in REGIONS for lv in LEVELS}
    far_ms = [alone_ms[s, lv] for s, lv in zip(far["scenario"], far["level"], strict=True)]
    return far.assign(times=far["latency_ms"] / far_ms)


def ratio_of_levels(
    points: pd.DataFrame, scenario: str, operation: str, over: str = "ALL", under: str = "ONE"
) -> float:
    """Mean over threads of one level's latency by another's, as section 2.3 has it; of points of one block."""
    both = points[(points["scenario"] == scenario) & (points["operation"] == operation)]
    means = both.pivot_table("latency_ms", "threads", "level")
    return float((means[over] / means[under]).mean())


def ratio_of_scenarios(
    points: pd.DataFrame, operation: str, over: str = "a", under: str = "c", level: str = "ONE"
) -> float:
    """Highest throughput of one scenario by another's, as section 2.2 has it; of points of one block."""
    most = highest_throughput(points)["per_s"]
    return float(most[over, operation, level] / most[under, operation, level])


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What is compared, what sections 2.2 and 2.3 print, and how it comes from tables and from points of one block."""

    name: str
    text: str
    tables: Callable[[], float]
    here: Callable[[pd.DataFrame], float]


def _of_levels(scenario: str, operation: str, text: str) -> _Sentence:
    def compute(points: pd.DataFrame) -> float:
        return ratio_of_levels(points, scenario, operation)

    name = f"latency of {scenario}, ALL by ONE, {operation.lower()}s"
    return _Sentence(name, text, lambda: compute(printed_points()), compute)


def _of_scenarios(operation: str, text: str) -> _Sentence:
    def printed_ratio() -> float:
        known = printed_throughput()["per_s"]
        return float(known["a", operation, "ONE"] / known["c", operation, "ONE"])

    name = f"throughput at ONE, a by c, {operation.lower()}s"
    return _Sentence(name, text, printed_ratio, lambda points: ratio_of_scenarios(points, operation))


_SENTENCES = (
    _of_levels("a", "READ", "1.36"), _of_levels("a", "WRITE", "1.22"), _of_levels("c", "READ", "47"),
    _of_levels("c", "WRITE", "53"), _of_levels("d", "READ", "6.6"), _of_levels("d", "WRITE", "7.0"),
    _of_scenarios("READ", "1.13"), _of_scenarios("WRITE", "1.13"),
)  # fmt: skip


def sentences(points: pd.DataFrame) -> pd.DataFrame:
    """What the paper says of its scenarios, next to what its own tables and a run give.

    Section 2.3 calls the third and fourth those of b; they are those of c, whose latencies are so far apart. "By an
    average of 560 %" higher is 6.6 times.

    Index: what is compared; columns: 'the text' (as printed), 'its tables' (a ratio), 'here' (Estimate).
    """
    blocks = [block for _, block in points.groupby("block")]
    rows = {one.name: (one.text, one.tables(), Estimate.ratio(map(one.here, blocks))) for one in _SENTENCES}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["the text", "its tables", "here"])


def asked_and_found(manifest: Mapping[str, Any]) -> pd.DataFrame:
    """Round trips as asked and as the echo found them before the first load of each cluster start.

    `manifest`: of a run of scenarios.

    Index (scenario, from, to): asked_ms, found_ms (median over cluster starts), farthest_off_ms.
    """
    by_regions = {regions: name for name, regions in REGIONS.items()}
    parts = [
        pd.DataFrame(start["distances"]).assign(scenario=by_regions[tuple(start["regions"])])
        for start in manifest["cluster_starts"]
        if start.get("distances") and tuple(start["regions"]) in by_regions
    ]
    if not parts:
        raise LackingError("the run says nothing of distances between the scenarios' hosts")
    pairs = pd.concat(parts).groupby(["scenario", "from", "to"], sort=False)
    off_ms = pairs["off_ms"].agg(lambda values: max(values, key=abs))
    round_trips = pd.DataFrame({"asked_ms": pairs["asked_ms"].first(), "found_ms": pairs["median_ms"].median()})
    return round_trips.assign(farthest_off_ms=off_ms).sort_index(level="scenario", sort_remaining=False).round(2)


def held_by_source(sources: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """How many requests a coordinator holds by the slopes of latency, by source (see `held_at_coordinator`).

    Index (scenario, operation, level); columns ('hold_ms', source) and ('requests', source).
    """
    columns = {}
    for label, points in sources.items():
        held = held_at_coordinator(points.groupby(KEYS)["latency_ms"].mean().reset_index())
        columns["hold_ms", label] = held["hold_ms"]
        columns["requests", label] = held["requests"]
    table = pd.DataFrame(columns).round(0).astype(int)
    return table[[(value, label) for value in ("hold_ms", "requests") for label in sources]]


def by_one_coordinator(ways: pd.DataFrame) -> pd.DataFrame:
    """Assignments in which one node coordinates everything, from `inferred_regions.assignments`, best first."""
    return ways[ways["coordinator"] != "round_robin"].reset_index(drop=True)


def best_assignments(ways: Mapping[str, pd.DataFrame], how_many: int = 3) -> pd.DataFrame:
    """The assignments of regions (`inferred_regions.assignments`) that fit best: index (scenario, place).

    Columns: regions (the client's first), coordinator, rms_percent, worst_percent.
    """
    columns = ["regions", "coordinator", "rms_percent", "worst_percent"]
    parts = {name: fit.head(how_many)[columns].round(1).set_axis(range(1, how_many + 1)) for name, fit in ways.items()}
    return pd.concat(parts, names=["scenario", "place"])
