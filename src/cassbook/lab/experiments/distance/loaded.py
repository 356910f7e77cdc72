"""Experiments with a closed loop: one cluster, several conditions in random order, each for reads and for writes."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from cassandra.cluster import Session

from cassbook.core.consistency import READ_LEVELS
from cassbook.core.errors import LaboratoryError
from cassbook.core.schema import OK, OUTCOMES
from cassbook.core.threads import meanwhile
from cassbook.deployment.distances import Distances, Placement
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.experiments.experiment import Row, Setup
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, UPDATE, Usertable, create_table
from cassbook.lab.run.client import fill, mix
from cassbook.lab.run.distance import Watch
from cassbook.lab.run.warmup import WarmUp
from cassbook.profile.profile import TablePart, WarmUpPart

_KINDS = {"READ": READ, "UPDATE": UPDATE}
_QUANTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "p999_ms": 0.999}
_TIMEOUT_S = 12.0
_LOAD_THREADS = 200
_WARM_UP_THREADS = 100


@dataclass(frozen=True, slots=True)
class Pauses:
    """A node that stands still again and again, as in a long collection of garbage."""

    node: int
    every_s: float
    for_s: float


@dataclass(frozen=True, slots=True)
class Condition:
    """What is the same throughout one measurement.

    Attributes
    ----------
    level, coordinator : str
    threads : int
    operations : tuple of str
        READ and UPDATE, or one of them; reads are left out where the level is for writes only.
    table : mapping
        Options of the table, as CQL has them.
    distances : Distances, optional
        In place of the setup's.
    pauses : Pauses, optional
    """

    level: str = "QUORUM"
    coordinator: str = "nearest_dc"
    threads: int = 100
    operations: tuple[str, ...] = ("READ", "UPDATE")
    table: Mapping[str, str | float] = field(default_factory=dict)
    distances: Distances | None = None
    pauses: Pauses | None = None

    def asked(self) -> list[str]:
        """Operations that the level allows."""
        return [name for name in self.operations if name == "UPDATE" or self.level in READ_LEVELS]


@dataclass(frozen=True, slots=True)
class LoadTrial:
    """An experiment of conditions under load.

    Attributes
    ----------
    question : str
    setups : mapping of str to Setup
    conditions : mapping of str to mapping of str to Condition
        By setup and by name.
    rounds : int
        How often each is measured on a cluster start.
    ramp_s, steady_s : float
    records : int
        Rows of the table.
    warm_up_s : float
        After which a warm-up that has not settled ends.
    """

    question: str
    setups: Mapping[str, Setup]
    conditions: Mapping[str, Mapping[str, Condition]]
    rounds: int = 2
    ramp_s: float = 2.0
    steady_s: float = 4.0
    records: int = 5000
    warm_up_s: float = 20.0

    def notes(self) -> dict[str, Any]:
        """Numbers of the load, and the conditions."""
        told = {}
        for setup, conditions in self.conditions.items():
            told[setup] = {name: _told(own) for name, own in conditions.items()}
        numbers = ("rounds", "ramp_s", "steady_s", "records", "warm_up_s")
        return {name: getattr(self, name) for name in numbers} | {"conditions": told}

    def rows(self, setup: str) -> int:
        """How many rows a cluster start gives."""
        return self.rounds * len(self._points(setup))

    def measure(self, setup: str, cluster: DistantCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure each condition in each round.

        Returns
        -------
        iterator of dict
            round, condition, operation, level, coordinator, threads; n_ok, errors (by kind), latency_ms (mean),
            p50_ms, p95_ms, p99_ms, p999_ms, throughput_per_s, and what a cell says of distances (see `run.distance`).
        """
        points = self._points(setup)
        with _bench(cluster, self.setups[setup].placement, self.records, rng) as bench:
            for own in self.conditions[setup].values():
                bench.prepare(own)
            rule = WarmUpPart(threads=_WARM_UP_THREADS, windows=5, cap_s=self.warm_up_s)
            bench.warm_up(next(iter(self.conditions[setup].values())), rule)
            for number in range(1, self.rounds + 1):
                for place in rng.permutation(len(points)):
                    name, operation = points[place]
                    found = bench.run(self.conditions[setup][name], operation, Bound(self.ramp_s, self.steady_s))
                    yield {"round": number, "condition": name} | found

    def _points(self, setup: str) -> list[tuple[str, str]]:
        return [(name, operation) for name, own in self.conditions[setup].items() for operation in own.asked()]


def _told(condition: Condition) -> dict[str, Any]:
    """A condition for the manifest; distances by their name."""
    told = asdict(replace(condition, distances=None))
    return told | ({"distances": condition.distances.name} if condition.distances else {})


@contextmanager
def _bench(
    cluster: DistantCluster, placement: Placement, records: int, rng: np.random.Generator
) -> Iterator[_Bench]:  # fmt: skip
    session = cluster.connect()
    nodes = Nodes(session, cluster.addresses)
    try:
        yield _Bench(cluster, placement, session, nodes, TablePart(record_count=records), rng)
    finally:
        cluster.move(placement)
        nodes.close()
        session.cluster.shutdown()


class _Bench:
    """A cluster, its tables, and one condition after the other."""

    def __init__(
        self, cluster: DistantCluster, placement: Placement, session: Session, nodes: Nodes, part: TablePart,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self._cluster, self._placement, self._session, self._nodes = cluster, placement, session, nodes
        self._part, self._rng = part, rng
        self._nearest = nodes.nearest()
        self._watch = Watch(cluster)
        self._names: dict[tuple[Any, ...], str] = {}
        self._tables: dict[tuple[str, str], Usertable] = {}

    def prepare(self, condition: Condition) -> None:
        """Have the table of a condition, loaded at ALL."""
        name = self._table_name(condition)
        if (name, condition.coordinator) in self._tables:
            return
        new = name not in {known for known, _ in self._tables}
        if new:
            create_table(
                self._session, self._part, self._cluster.replication, self._cluster.keyspace, name, condition.table
            )
        table = Usertable(
            self._session, self._part, self._cluster.addresses, condition.coordinator, self._nearest, self._rng,
            self._cluster.keyspace, name,
        )  # fmt: skip
        self._tables[name, condition.coordinator] = table
        if new:
            if failed := fill(self._nodes, table, _LOAD_THREADS, _TIMEOUT_S):
                raise LaboratoryError(f"the table could not be loaded: {failed} inserts failed")
            self._cluster.flush(self._session, table.name)

    def _table_name(self, condition: Condition) -> str:
        options = tuple(sorted(condition.table.items()))
        return self._names.setdefault(options, f"usertable{len(self._names) or ''}")

    def warm_up(self, condition: Condition, rule: WarmUpPart) -> None:
        """Half reads, half updates at QUORUM until throughput has settled."""
        loop = self._loop(condition, mix(0.5, self._rng), "QUORUM", rule.threads, [])
        loop.run(Bound(until=WarmUp(rule)), Window())

    def run(self, condition: Condition, operation: str, bound: Bound) -> Row:
        """Measure one condition, after what was written before has arrived everywhere."""
        self._cluster.barrier(self._session)
        if condition.distances or self._cluster.placement is not self._placement:
            where = self._placement
            self._cluster.move(replace(where, distances=condition.distances or where.distances))
        samples: list[tuple[float, float, int]] = []
        loop = self._loop(
            condition, itertools.repeat(_KINDS[operation]), condition.level, condition.threads, samples
        )  # fmt: skip
        window = Window()
        self._watch.begin()
        with self._pauses(condition.pauses):
            loop.run(bound, window)
        seen = self._watch.end()
        found = {
            "operation": operation, "level": condition.level, "coordinator": condition.coordinator,
            "threads": condition.threads,
        }  # fmt: skip
        return found | figures(samples, window) | seen.columns | {"marks": ";".join(seen.marks)}

    def _loop(
        self, condition: Condition, operations: Iterator[int], level: str, threads: int,
        samples: list[tuple[float, float, int]],
    ) -> ClosedLoop:  # fmt: skip
        def note(started: float, latency_s: float, operation: int, outcome: int, node: int, intended: float) -> None:
            samples.append((started, latency_s, outcome))

        table = self._tables[self._table_name(condition), condition.coordinator]
        requests = [table.requests(READ), table.requests(UPDATE)]
        prefixes = table.prefixes(level, level)
        return ClosedLoop(self._nodes, threads, operations, requests, prefixes, note, _TIMEOUT_S)

    def _pauses(self, pauses: Pauses | None) -> AbstractContextManager[None]:
        return again_and_again(self._cluster, pauses) if pauses else nullcontext()


@contextmanager
def again_and_again(cluster: DistantCluster, pauses: Pauses) -> Iterator[None]:
    """Within the block a node stands still again and again.

    Raises
    ------
    LaboratoryError
        At its end, if the node could not be made to: what was measured then is something else.
    """

    def pause(over: threading.Event) -> None:
        while not over.wait(pauses.every_s - pauses.for_s):
            with cluster.paused(pauses.node):
                time.sleep(pauses.for_s)

    with meanwhile(pause, f"node{pauses.node} could not be paused"):
        yield


def figures(samples: list[tuple[float, float, int]], window: Window) -> Row:
    """Return what is kept of the operations (started, latency_s, outcome) that began in a window."""
    within = [s for s in samples if window.steady_from <= s[0] < window.steady_to]
    outcomes = Counter(OUTCOMES[outcome] for _, _, outcome in within)
    good_ms = np.array([latency_s for _, latency_s, outcome in within if outcome == OK]) * 1000
    errors = ";".join(f"{kind}:{count}" for kind, count in sorted(outcomes.items()) if kind != OUTCOMES[OK])
    if not good_ms.size:
        raise LaboratoryError(
            f"not one request was answered within {window.steady_to - window.steady_from:.0f} s: {errors}"
        )
    quantiles = {name: round(float(np.quantile(good_ms, q)), 3) for name, q in _QUANTILES.items()}
    length_s = window.steady_to - window.steady_from
    return {
        "n_ok": int(good_ms.size), "errors": errors, "latency_ms": round(float(good_ms.mean()), 3), **quantiles,
        "throughput_per_s": round(good_ms.size / length_s, 1),
    }  # fmt: skip
