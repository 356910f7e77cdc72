"""The 2016 paper's own system: Figures 5 to 10 from its model, and which reading of its text fits its sentences.

The measured points of the figures are lost. What is left to hold the model against is three numbers of section 5.1:
about 6800 requests per second at ONE with 45 jobs, more than 40 % less at QUORUM, up to 60 % less at ALL.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.queueing import paper
from cassbook.queueing.loads import Loads
from cassbook.queueing.mva import analyse
from cassbook.queueing.network import Law, Network, Readings
from cassbook.queueing.paper import JOBS, LEVELS
from cassbook.queueing.simulation import run

#: Of section 5.1.
AT_ONE_PER_S, LESS_AT_QUORUM, LESS_AT_ALL = 6800.0, 0.40, 0.60
#: What the text leaves open, and what it may mean: fields of `Readings`.
OPEN: Mapping[str, tuple[object, ...]] = {
    "client_cores": (4, 1), "node_cores": (2, 1), "client_network": ("one", "two"), "node_network": ("one", "two"),
    "receiver": (False, True), "targets": ("replicas", "any"), "returned_ms": (0.0, 0.1),
    "law": (Law(), Law("constant")), "region": ("cpu", "cpu-disk", "reads", "none"),
}  # fmt: skip
#: Where the analysis is held against the simulation.
CORES, SOME_JOBS = (1, 2, 4, 8), (1, 2, 5, 10, 20, 45, 70, 100, 150, 200)
#: Where Figures 5 to 10 are simulated.
FIGURE_JOBS = (5, 10, 20, 30, 45, 60, 80, 100)
#: Section 5.3's two ways to read at QUORUM.
QUORUM, REAL_QUORUM = "two asked", "all three asked"
#: Section 5.2: average errors of the ScyllaDB model.
SCYLLA_THROUGHPUT_OFF, SCYLLA_RESPONSE_OFF = 0.08, 0.129
#: What the analysis, which knows no region, can tell apart.
_ANALYSED = tuple(name for name in OPEN if name != "region")


def curves(
    levels: Iterable[str] = LEVELS, jobs: Sequence[int] = FIGURE_JOBS, requests: int = 40_000,
    make: Callable[[str], Network] = paper.network, seed: int = 0,
) -> pd.DataFrame:  # fmt: skip
    """Simulate over jobs: Figures 5 to 7, and with other networks 8 to 10.

    One row per level and number of jobs: level, jobs, throughput_per_s, response_ms, node_cpu (`Estimate`; the last is
    the busy part of a node's CPU), bottleneck.
    """
    rows = []
    for level in levels:
        network = make(level)
        for count in jobs:
            simulated = run(network, count, requests, seed=seed)
            rows.append({
                "level": level, "jobs": count, "throughput_per_s": simulated.throughput_per_s,
                "response_ms": simulated.response_ms, "node_cpu": simulated.utilisation["node1 CPU"],
                "bottleneck": simulated.bottleneck,
            })  # fmt: skip
    return pd.DataFrame(rows)


def sentences(readings: Readings, requests: int = 40_000, seed: int = 0) -> dict[str, Estimate]:
    """Simulate what section 5.1 says: requests per second at ONE, and the parts by which QUORUM and ALL have fewer."""
    at = {
        level: run(paper.network(level, readings=readings), JOBS, requests, seed=seed).throughput_per_s
        for level in LEVELS
    }
    one = at["ONE"]
    less = {
        level: Estimate(1 - rate.value / one.value, 1 - rate.high / one.low, 1 - rate.low / one.high, rate.n)
        for level, rate in at.items()
    }
    return {"at_one_per_s": one, "less_at_quorum": less["QUORUM"], "less_at_all": less["ALL"]}


def one_at_a_time(requests: int = 40_000) -> pd.DataFrame:
    """Change one reading at a time from the first of each: columns switch, reading, and those of `sentences`."""
    base = Readings()
    rows = [{"switch": "none", "reading": "as below, the first of each"} | sentences(base, requests)]
    for name, choices in OPEN.items():
        for choice in choices[1:]:
            other: dict[str, Any] = {name: choice}
            rows.append({"switch": name, "reading": reading_name(choice)} | sentences(replace(base, **other), requests))
    return pd.DataFrame(rows)


def factorial() -> pd.DataFrame:
    """Analyse every combination of the readings that the analysis distinguishes.

    One row per combination: one column per switch, then at_one_per_s, less_at_quorum, less_at_all, and off: its
    `distance` from the sentences.
    """
    rows = []
    for choices in itertools.product(*(OPEN[name] for name in _ANALYSED)):
        chosen: dict[str, Any] = dict(zip(_ANALYSED, choices, strict=True))
        readings = replace(Readings(), **chosen)
        x = {level: analyse(paper.network(level, readings=readings), JOBS).throughput_per_s[-1] for level in LEVELS}
        row = dict(zip(_ANALYSED, map(reading_name, choices), strict=True))
        less = {f"less_at_{level.lower()}": 1 - x[level] / x["ONE"] for level in LEVELS[1:]}
        rows.append(row | {"at_one_per_s": x["ONE"]} | less)
    table = pd.DataFrame(rows)
    return table.assign(off=distance(table))


def distance(table: pd.DataFrame) -> np.ndarray:
    """Distance from the sentences, as a sum of parts: of 6800; by how much QUORUM loses less than 40 %; ALL more than
    60 %, or less than QUORUM.
    """
    rate = np.abs(table["at_one_per_s"].to_numpy(float) / AT_ONE_PER_S - 1)
    quorum, every = table["less_at_quorum"].to_numpy(float), table["less_at_all"].to_numpy(float)
    return np.asarray(
        rate + np.maximum(0, LESS_AT_QUORUM - quorum) + np.maximum(0, every - LESS_AT_ALL)
        + np.maximum(0, quorum - every)
    )  # fmt: skip


def effects(table: pd.DataFrame) -> pd.DataFrame:
    """Main effects: by how much each figure changes, on average over all else, from the first reading to the second.

    Index switch; columns at_one_per_s (ratio - 1), less_at_quorum, less_at_all (differences).
    """
    rows = {}
    for name in _ANALYSED:
        first, second = (reading_name(choice) for choice in OPEN[name][:2])
        a, b = table[table[name] == first], table[table[name] == second]
        rows[name] = {
            "at_one_per_s": float(np.exp(np.log(b["at_one_per_s"]).mean() - np.log(a["at_one_per_s"]).mean()) - 1),
            **{what: float(b[what].mean() - a[what].mean()) for what in ("less_at_quorum", "less_at_all")},
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("switch")


def reading_name(choice: object) -> str:
    """Spell a choice: yes or no, a number, or the kind of a law."""
    if isinstance(choice, Law):
        return choice.kind
    if isinstance(choice, bool):
        return "yes" if choice else "no"
    return f"{choice:g}" if isinstance(choice, float) else str(choice)


def analysis_off(requests: int = 40_000, seed: int = 0) -> pd.DataFrame:
    """Analysis over simulation, less one: one row per level, cores and jobs (level, cores, jobs, off, noise).

    noise is half the width of the simulation's own interval, as a part.
    """
    rows = []
    for level, cores in itertools.product(LEVELS, CORES):
        network = paper.network(level, readings=Readings(node_cores=cores))
        analysed = analyse(network, max(SOME_JOBS)).throughput_per_s
        for jobs in SOME_JOBS:
            simulated = run(network, jobs, requests, seed=seed).throughput_per_s
            rows.append({
                "level": level, "cores": cores, "jobs": jobs, "off": analysed[jobs - 1] / simulated.value - 1,
                "noise": (simulated.high - simulated.low) / 2 / simulated.value,
            })  # fmt: skip
    return pd.DataFrame(rows)


def quorums(level: str) -> Network:
    """Section 5.3: Cassandra's own QUORUM, which asks two, and the 'real' one, which asks all three."""
    return paper.network("QUORUM", ask_all=level == REAL_QUORUM)


def scylla(cpu: float) -> Network:
    """The network of section 5.2: QUORUM, no region, and nodes whose CPU work is such a part of Cassandra's.

    Its own demands are not printed.
    """
    at_quorum = paper.demands("QUORUM")
    demands = replace(at_quorum, cpu_ms={name: ms * cpu for name, ms in at_quorum.cpu_ms.items()})
    return paper.network("QUORUM", own_demands=demands, readings=Readings(region="none"))


def scylla_needs() -> dict[str, float]:
    """What section 5.2's sentence needs: that at high load the client's network is full first.

    cpu: the largest part of Cassandra's CPU work at which it is; most_per_s: what it then carries; network_low_ms and
    network_high_ms: demands of it that would bring a throughput within the printed 8 %; amplified: how many times as
    far off as throughput a mean response time is at `JOBS` jobs, where think time is the client's CPU.
    """
    loads = Loads(scylla(1.0)).per_server_ms
    cpu = loads["client network"] / loads["node1 CPU"]
    analysis = analyse(scylla(cpu / 2), JOBS)
    cycle_ms = 1000.0 * JOBS / analysis.throughput_per_s[-1]
    network_ms = loads["client network"]
    return {
        "cpu": cpu, "most_per_s": 1000.0 / network_ms, "network_ms": network_ms,
        "network_low_ms": network_ms * (1 - SCYLLA_THROUGHPUT_OFF),
        "network_high_ms": network_ms * (1 + SCYLLA_THROUGHPUT_OFF),
        "amplified": cycle_ms / float(analysis.response_ms[-1]),
        "printed_amplified": SCYLLA_RESPONSE_OFF / SCYLLA_THROUGHPUT_OFF,
    }  # fmt: skip
