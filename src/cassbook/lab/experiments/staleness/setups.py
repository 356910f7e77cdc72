"""Clusters that are probed for staleness: side by side and far apart, of three replicas, of five, and the study's."""

from __future__ import annotations

from cassbook.deployment.distances import Distances, Placement, placed, printed
from cassbook.deployment.link import NONE, Link
from cassbook.deployment.notation import parse
from cassbook.lab.engine.cluster import Spec
from cassbook.lab.experiments.experiment import Setup, SideBySide
from cassbook.lab.experiments.staleness.oracle_experiment import OracleExperiment, StudySetup, StudySideBySide
from cassbook.lab.experiments.staleness.panels import StalenessExperiment
from cassbook.lab.experiments.staleness.study import StudyExperiment

HERE = "here"
#: Regions of the 2021 paper, from its Table 1.
REGIONS = ("ap_south_1", "eu_west_2", "us_west_2", "ca_central_1")
_NEAR_MS = (0.0, 0.5, 1.0, 1.6, 2.4, 3.5, 5.0, 8.0, 13.0, 22.0, 40.0, 100.0, 250.0)
#: Of one way between the regions, which a read must wait for.
_STEPS = (0.95, 1.0, 1.05)
#: Two nodes in each of four regions.
_PAIRS = "{C}, ({[R1], [R2]}, {[R3], [R4]}, {[R5], [R6]}, {[R7], [R8]})"
_PAIRS_MS = (0.0, 1.0, 10.0, 25.0, 40.0, 60.0, 75.0, 90.0, 100.0, 110.0, 125.0, 140.0, 170.0, 250.0, 400.0)
_EVENLY = (0.0, 0.01, 0.1, 0.25, 0.4, 0.75, 1.2, 1.5)  # of the longest


def beside_every_node(notation: str, regions: tuple[str, ...]) -> Placement:
    """Return nodes in regions of the 2021 paper, and a client as near to each as if it ran on the same machine.

    So t, which the client counts, is the time between the two coordinators, without distances that differ.
    """
    table = printed()
    links = {pair: NONE for region in regions for pair in ((HERE, region), (region, HERE))}
    distances = Distances(f"{table.name}, the client beside every node", {**table.links, **links})
    return placed(parse(notation), (HERE, *regions), distances)


def waits_ms(placement: Placement) -> tuple[float, ...]:
    """Return the waits of a setup at a distance: some evenly spaced, more around each delay between two nodes."""
    nodes = [host.name for host in placement.deployment.replicas]
    links = placement.links()
    ways = sorted({round(links[a, b].delay_ms) for a in nodes for b in nodes if a != b})
    around = {round(way * step, 1) for way in ways for step in _STEPS}
    evenly = {round(ways[-1] * step, 1) for step in _EVENLY}
    return tuple(sorted(around | evenly | {100.0}))


def _replicas(
    n: int, notation: str, regions: tuple[str, ...], threads: tuple[int, ...], seconds: float, traced: int
) -> StalenessExperiment:  # fmt: skip
    far = beside_every_node(notation, regions)
    near = SideBySide(Spec(nodes=n, replication_factor=n))
    return StalenessExperiment(
        {"near": near, "far": Setup(far)},
        {"near": _NEAR_MS, "far": waits_ms(far)},
        threads,
        seconds,
        traced=traced,
    )


def three() -> StalenessExperiment:
    """Probe three replicas, at rest and under load."""
    return _replicas(3, "{C}, ({R1}, {R2}, {R3})", REGIONS[:3], (0, 100), 20.0, 3)


def five() -> StalenessExperiment:
    """Probe five replicas at rest; nothing is traced, for tracing on five nodes is a load of its own on two cores."""
    return _replicas(5, "{C}, ({R1}, {R2}, {R3}, {[R4], [R5]})", REGIONS, (0,), 10.0, 0)


def study() -> StudyExperiment:
    """Measure latency without distance, with 1 ms between all nodes, and with two nodes in each of four regions.

    The study does not say how it emulated distance.
    """
    eight = "{[C], ([R1], [R2], [R3], [R4], [R5], [R6], [R7], [R8])}"
    apart = Distances("1 ms between all nodes", {("ccm", "ccm"): Link(0.5)})
    options = {"start_rpc": True}  # without Thrift, 2.1's cassandra-stress cannot make its table
    heap_mb = 512
    return StudyExperiment(
        {
            "none": SideBySide(Spec(8, 3, heap_mb, options)),
            "1-ms": Setup(placed(parse(eight), ("ccm",), apart), options, heap_mb, 3),
            "regions": Setup(beside_every_node(_PAIRS, REGIONS), options, heap_mb, 3),
        },
    )


def oracle() -> OracleExperiment:
    """Ask Cassandra 1.2's predictor, and measure its reads."""
    far = beside_every_node(_PAIRS, REGIONS)
    heap_mb = 512
    return OracleExperiment(
        {"none": StudySideBySide(Spec(8, 3, heap_mb)), "regions": StudySetup(far, {}, heap_mb, 3)},
        {"none": _NEAR_MS, "regions": _PAIRS_MS},
    )
