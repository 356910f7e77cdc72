"""Where the hosts of the 2021 paper can have been: its printed latencies against its printed distances.

With few requests in flight nothing waits for anything but distance, so that the latencies at the fewest threads (Tables
3 and 4) are sums of round trips. The paper does not say which of its four regions holds what; here every assignment is
tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pandas as pd

from cassbook import published
from cassbook.core.consistency import LEVELS
from cassbook.deployment.distances import Distances, placed, printed
from cassbook.deployment.model import Model
from cassbook.deployment.notation import parse

#: As section 1.2 prints them.
SCENARIOS = {
    "a": "{[C], ([R1], [R2], [R3])}",
    "b": "{C}, ({[R1], [R2], [R3]})",
    "c": "{[C], ([R1]}, {R2}, {R3})",
    "d": "{C}, ({R1}, {R2}, {R3})",
}
FAR = ("b", "c", "d")
#: From so many threads on, latencies of c and d at QUORUM and ALL are on a line.
MANY = 500


def by_deployment() -> dict[str, str]:
    """Return the scenarios' names by their deployments, as cells have them."""
    return {str(parse(text)): name for name, text in SCENARIOS.items()}


def latencies() -> pd.DataFrame:
    """Tables 3 and 4 as one: threads, scenario, operation, level, latency_ms."""
    return pd.concat([published.table("g21_table3"), published.table("g21_table4")], ignore_index=True)


def fewest_threads(table: pd.DataFrame) -> pd.DataFrame:
    """Latency in ms at the fewest threads: index (scenario, operation), columns level."""
    few = table[table["threads"] == table["threads"].min()]
    return few.pivot_table("latency_ms", ["scenario", "operation"], "level")[list(LEVELS)]


def _shortest(table: pd.DataFrame, scenario: str) -> dict[tuple[str, str], float]:
    """Latency in ms at the fewest threads, by (operation, level)."""
    shortest = table[(table["threads"] == table["threads"].min()) & (table["scenario"] == scenario)]
    return dict(
        zip(
            zip(shortest["operation"], shortest["level"], strict=True),
            shortest["latency_ms"].astype(float),
            strict=True,
        )
    )


def service_ms(table: pd.DataFrame, distances: Distances) -> dict[tuple[str, str], float]:
    """What a request takes where nothing is far, by (operation, level): scenario a less its distances, at least 0."""
    service = {}
    for (operation, level), latency_ms in _shortest(table, "a").items():
        shortest = [
            Model(placed(parse(SCENARIOS["a"]), (region,), distances), level, "round_robin").alone_ms()
            for region in distances.regions
        ]
        service[operation, level] = max(0.0, latency_ms - float(np.mean(shortest)))
    return service


def assignments(scenario: str, distances: Distances | None = None) -> pd.DataFrame:
    """Every way to put a scenario's hosts into the regions of the table, best first.

    Parameters
    ----------
    scenario : str
        'b', 'c' or 'd'.
    distances : Distances, optional
        Default: the printed ones.

    Returns
    -------
    DataFrame
        One row per assignment and coordinator: regions (of the deployment, the client's first), coordinator, and for
        each operation and level the model's latency in ms; rms_percent and worst_percent: its deviation from the
        printed ones over the six, by the root of the mean square of logarithms.
    """
    distances = distances or printed()
    deployment = parse(SCENARIOS[scenario])
    table = latencies()
    service, known = service_ms(table, distances), _shortest(table, scenario)
    rows = []
    for regions, coordinator in _ways(distances.regions, deployment.regions, [h.name for h in deployment.replicas]):
        where = placed(deployment, regions, distances)
        network_ms = {level: Model(where, level, coordinator).alone_ms() for level in LEVELS}
        predicted = {key: network_ms[key[1]] + service[key] for key in known}
        off = np.log([predicted[key] / latency_ms for key, latency_ms in known.items()])
        rows.append(
            {"regions": ", ".join(regions), "coordinator": coordinator}
            | {f"{operation} {level}": ms for (operation, level), ms in predicted.items()}
            | {
                "rms_percent": float(np.expm1(np.sqrt((off**2).mean())) * 100),
                "worst_percent": float(np.expm1(np.abs(off).max()) * 100),
            }
        )
    found_all = pd.DataFrame(rows).drop_duplicates([*(c for c in rows[0] if " " in c)])
    return found_all.sort_values("rms_percent", ignore_index=True)


def _ways(names: tuple[str, ...], regions: int, replicas: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    for chosen in permutations(names, regions):
        for coordinator in ("nearest", "round_robin", *replicas):
            yield chosen, coordinator


def implied(table: pd.DataFrame | None = None) -> pd.DataFrame:
    """Round trips that the printed latencies imply, whatever the regions: differences between levels and scenarios.

    Returns
    -------
    DataFrame
        Index (scenario, operation); to_coordinator_ms (ONE, less that of scenario a: for c it should be zero),
        to_second_ms (QUORUM less ONE) and to_third_ms (ALL less ONE).
    """
    few = fewest_threads(latencies() if table is None else table)
    near = few.loc["a"]
    rows = {}
    for scenario in FAR:
        for operation in few.loc[scenario].index:
            by_level = few.loc[(scenario, operation)]
            rows[scenario, operation] = {
                "to_coordinator_ms": by_level["ONE"] - near.loc[operation, "ONE"],
                "to_second_ms": by_level["QUORUM"] - by_level["ONE"],
                "to_third_ms": by_level["ALL"] - by_level["ONE"],
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["scenario", "operation"])


def held_at_coordinator(table: pd.DataFrame | None = None) -> pd.DataFrame:
    """How many requests a coordinator can have held, by latencies where they grow with the threads.

    A coordinator that holds M requests at a time for `hold` each answers M / hold per second, so that latency is
    N hold / M: its slope over threads gives M. `hold` is the round trip to the last replica waited for, taken from the
    latency at the fewest threads less that to the coordinator.

    Returns
    -------
    DataFrame
        Index (scenario, operation, level) for c and d at QUORUM and ALL; hold_ms, slope_ms (a thread, least squares
        over 500 threads and more), requests (M).
    """
    whole = latencies() if table is None else table
    few, rows = fewest_threads(whole), {}
    for scenario in ("c", "d"):
        for operation in few.loc[scenario].index:
            for level in ("QUORUM", "ALL"):
                hold_ms = few.loc[(scenario, operation), level] - few.loc[(scenario, operation), "ONE"]
                loaded = whole.query(
                    "scenario == @scenario and operation == @operation and level == @level and threads >= @MANY"
                )
                slope_ms = float(np.polyfit(loaded["threads"], loaded["latency_ms"], 1)[0])
                rows[scenario, operation, level] = (hold_ms, slope_ms, hold_ms / slope_ms)
    index = pd.MultiIndex.from_tuples(list(rows), names=["scenario", "operation", "level"])
    return pd.DataFrame(list(rows.values()), index, ["hold_ms", "slope_ms", "requests"])


def throughput_from_latency() -> pd.DataFrame:
    """Printed highest throughputs compared with those that the printed latencies give by Little's law.

    Returns
    -------
    DataFrame
        Index (scenario, operation, level); printed_per_s (Table 2), implied_per_s (the highest threads / latency of
        Tables 3 and 4), at_threads, ratio (printed by implied: the part of the threads that had a request in flight, if
        both are from the same runs).
    """
    table = latencies()
    table = table.assign(implied_per_s=table["threads"] / table["latency_ms"] * 1000)
    keys = ["scenario", "operation", "level"]
    most = table.loc[table.groupby(keys)["implied_per_s"].idxmax()].set_index(keys)
    known = published.table("g21_table2").set_index(keys)["throughput_per_s"]
    both = pd.DataFrame({"printed_per_s": known, "implied_per_s": most["implied_per_s"], "at_threads": most["threads"]})
    return both.assign(ratio=both["printed_per_s"] / both["implied_per_s"])


def nearest_distance_ms(rtt_ms: float, distances: Distances | None = None) -> float:
    """Round trip of the table, between two regions, that is nearest to one."""
    distances = distances or printed()
    pairs = [2 * link.delay_ms for (a, b), link in distances.links.items() if a != b]
    return min(pairs, key=lambda own_ms: abs(own_ms - rtt_ms))
