"""The experiments on the 2021 paper, its explanations and its proposals: which conditions each compares."""

from __future__ import annotations

from cassbook.deployment.distances import CLUSTER, placed, printed, uplink_distances
from cassbook.deployment.notation import parse
from cassbook.deployment.scenarios import placements
from cassbook.lab.experiments.distance.load import Condition, LoadExperiment, Pauses
from cassbook.lab.experiments.distance.page_reads import PageExperiment
from cassbook.lab.experiments.distance.timeouts import TimeoutExperiment
from cassbook.lab.experiments.experiment import Setup

TWO_CENTRES = "{[C], ([R1], [R2], [R3]}, {[R4], [R5], [R6]})"


def coordinators() -> LoadExperiment:
    """Compare one coordinator with three, and ask what it can hold."""
    many = {"native_transport_max_threads": 1024}
    return LoadExperiment(
        {"a": Setup(placements()["a"]), "c": Setup(placements()["c"]), "c-1024": Setup(placements()["c"], many)},
        {
            "a": {
                "three at ONE": Condition("ONE", threads=1000),
                "one at ONE": Condition("ONE", "node1", 1000),
            },
            "c": {
                "one at ONE": Condition("ONE", threads=1000),
                "one at QUORUM": Condition("QUORUM", threads=1000),
                "three at QUORUM": Condition("QUORUM", "round_robin", 1000),
            },
            "c-1024": {
                "one at QUORUM": Condition("QUORUM", threads=1000),
                "one at ALL": Condition("ALL", threads=1000),
            },
        },
    )  # fmt: skip


def uplinks() -> LoadExperiment:
    """Compare slow uplinks with slow downlinks."""
    return LoadExperiment(
        {"b": Setup(placements()["b"])},
        {"b": {name: Condition("ONE", threads=100, distances=way) for name, way in uplink_distances().items()}},
    )


def asynchronous() -> LoadExperiment:
    """Keep more and more requests in flight."""
    return LoadExperiment(
        {"a": Setup(placements()["a"]), "b": Setup(placements()["b"])},
        {
            "a": {f"{n}": Condition(threads=n) for n in (100, 1000)},
            "b": {f"{n}": Condition(threads=n) for n in (100, 300, 1000, 2000, 4000)},
        },
    )


def two_centres() -> LoadExperiment:
    """Compare the levels that know of data centres with the others."""
    levels = ("LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM", "ONE", "QUORUM", "ALL")
    where = placed(parse(TWO_CENTRES), ("ap_south_1", "eu_west_2"))
    return LoadExperiment(
        {"two-centres": Setup(where, heap_mb=512)},
        {"two-centres": {level: Condition(level, threads=50) for level in levels}},
    )


def speculation() -> LoadExperiment:
    """Compare settings of speculative retry while a replica stalls."""
    # Read repair would ask additional replicas by itself.
    plain: dict[str, str | float] = {"read_repair_chance": 0.0, "dclocal_read_repair_chance": 0.0}
    retries = ("NONE", "ALWAYS", "99PERCENTILE", "150ms")
    return LoadExperiment(
        {"c": Setup(placements()["c"])},
        {
            "c": {
                retry: Condition(
                    threads=50, operations=("READ",), table=plain | {"speculative_retry": retry},
                    pauses=Pauses(node=2, every_s=4.0, for_s=1.0),
                )
                for retry in retries
            }
        },
        steady_s=12.0,
    )  # fmt: skip


def proxy() -> PageExperiment:
    """Compare direct requests with a proxy near the cluster."""
    return PageExperiment(
        {"b": Setup(placements()["b"])},
        {"b": printed().between(CLUSTER, CLUSTER)},
    )


def timeouts() -> TimeoutExperiment:
    """Compare time-outs fixed and set at run time."""
    return TimeoutExperiment(
        {"d": Setup(placements()["d"])},
    )
