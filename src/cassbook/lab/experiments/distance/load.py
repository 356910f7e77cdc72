"""Experiments with a closed loop: one cluster, several conditions in random order, each for reads and for writes."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from cassbook.core.consistency import READ_LEVELS
from cassbook.core.threads import meanwhile
from cassbook.deployment.distances import Distances, Placement
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.experiments.experiment import Experiment, Row, Setup, in_random_order
from cassbook.lab.experiments.workbench import KINDS, Workbench, figures
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import Usertable
from cassbook.lab.run.client import mix
from cassbook.lab.run.distance import Watch
from cassbook.lab.run.warmup import WarmUp
from cassbook.profile.profile import TableSection, WarmUpSection

_LOAD_THREADS = 200
_WARM_UP_THREADS = 100


@dataclass(frozen=True, slots=True)
class Pauses:
    """A node that stalls again and again, as in a long garbage collection."""

    node: int
    every_s: float
    for_s: float


@dataclass(frozen=True, slots=True)
class Condition:
    """The conditions of one measurement.

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

    def allowed(self) -> list[str]:
        """Return the operations that the level allows."""
        return [name for name in self.operations if name == "UPDATE" or self.level in READ_LEVELS]


@dataclass(frozen=True)
class LoadExperiment(Experiment):
    """An experiment of conditions under load.

    Attributes
    ----------
    setups : mapping of str to Setup
    conditions : mapping of str to mapping of str to Condition
        By setup and by name.
    rounds : int
        How often each is measured per cluster start.
    ramp_s, steady_s : float
    records : int
        Rows of the table.
    warm_up_s : float
        After which a warm-up that has not settled ends.
    """

    BY_SETUP = ("setups", "conditions")

    setups: Mapping[str, Setup]
    conditions: Mapping[str, Mapping[str, Condition]]
    rounds: int = 2
    ramp_s: float = 2.0
    steady_s: float = 4.0
    records: int = 5000
    warm_up_s: float = 20.0

    def notes(self) -> dict[str, Any]:
        """Return the numbers of the load, and the conditions."""
        conditions = {
            setup: {name: _notes(one) for name, one in by_name.items()} for setup, by_name in self.conditions.items()
        }
        return super().notes() | {"conditions": conditions}

    def points(self) -> list[tuple[str, str]]:
        """Return names of conditions, and operations."""
        return [
            (name, operation)
            for by_name in self.conditions.values()
            for name, condition in by_name.items()
            for operation in condition.allowed()
        ]

    def rows(self) -> int:
        """Return how many rows a cluster start gives: each point's in each round."""
        return self.rounds * len(self.points())

    def measure(self, cluster: DistantCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure each condition in each round.

        Returns
        -------
        iterator of dict
            round, condition, operation, level, coordinator, threads; `workbench.figures`; and what a cell says of
            distances (see `run.distance`).
        """
        (by_name,), (setup,) = self.conditions.values(), self.setups.values()
        with Workbench(cluster, rng) as bench:
            try:
                conditions = _Conditions(bench, cluster, setup.placement, self.records)
                for condition in by_name.values():
                    conditions.prepare(condition)
                rule = WarmUpSection(threads=_WARM_UP_THREADS, windows=5, cap_s=self.warm_up_s)
                conditions.warm_up(next(iter(by_name.values())), rule, rng)
                for number in range(1, self.rounds + 1):
                    for name, operation in in_random_order(self.points(), rng):
                        row = conditions.run(by_name[name], operation, Bound(self.ramp_s, self.steady_s))
                        yield {"round": number, "condition": name} | row
            finally:
                cluster.move(setup.placement)


def _notes(condition: Condition) -> dict[str, Any]:
    """A condition for the manifest; distances by their name."""
    numbers = asdict(replace(condition, distances=None))
    return numbers | ({"distances": condition.distances.name} if condition.distances else {})


class _Conditions:
    """The tables of conditions on a cluster, and one condition after the other."""

    def __init__(self, bench: Workbench, cluster: DistantCluster, placement: Placement, records: int) -> None:
        self._bench, self._cluster, self._placement = bench, cluster, placement
        self._part = TableSection(record_count=records)
        self._watch = Watch(cluster)
        self._names: dict[tuple[Any, ...], str] = {}
        self._tables: dict[tuple[str, str], Usertable] = {}

    def prepare(self, condition: Condition) -> None:
        """Have the table of a condition, loaded at ALL."""
        name, policy = self._table_name(condition), condition.coordinator
        if (name, policy) in self._tables:
            return
        if name in {known for known, _ in self._tables}:
            self._tables[name, policy] = self._bench.requests(self._part, name, policy)
            return
        table = self._bench.table(self._part, name, policy, condition.table, threads=_LOAD_THREADS)
        self._tables[name, policy] = table
        self._cluster.flush(self._bench.session, table.name)

    def _table_name(self, condition: Condition) -> str:
        options = tuple(sorted(condition.table.items()))
        return self._names.setdefault(options, f"usertable{len(self._names) or ''}")

    def _table(self, condition: Condition) -> Usertable:
        return self._tables[self._table_name(condition), condition.coordinator]

    def warm_up(self, condition: Condition, rule: WarmUpSection, rng: np.random.Generator) -> None:
        """Run half reads, half updates at QUORUM until throughput has settled."""
        table, bound = self._table(condition), Bound(until=WarmUp(rule))
        self._bench.run(table, mix(0.5, rng), "QUORUM", rule.threads, bound)

    def run(self, condition: Condition, operation: str, bound: Bound) -> Row:
        """Measure one condition, after what was written before has arrived everywhere."""
        self._cluster.barrier(self._bench.session)
        if condition.distances or self._cluster.placement is not self._placement:
            where = self._placement
            self._cluster.move(replace(where, distances=condition.distances or where.distances))
        window, operations = Window(), itertools.repeat(KINDS[operation])
        self._watch.begin()
        with again_and_again(self._cluster, condition.pauses) if condition.pauses else nullcontext():
            samples = self._bench.run(
                self._table(condition), operations, condition.level, condition.threads, bound, window
            )
        seen = self._watch.end()
        row = {
            "operation": operation, "level": condition.level, "coordinator": condition.coordinator,
            "threads": condition.threads,
        }  # fmt: skip
        return row | figures(samples, window) | seen.columns | {"marks": ";".join(seen.marks)}


@contextmanager
def again_and_again(cluster: DistantCluster, pauses: Pauses) -> Iterator[None]:
    """Stall a node again and again within the block.

    Raises
    ------
    LaboratoryError
        At its end, if the node could not be paused: what was measured then is something else.
    """

    def pause(over: threading.Event) -> None:
        while not over.wait(pauses.every_s - pauses.for_s):
            with cluster.paused(pauses.node):
                time.sleep(pauses.for_s)

    with meanwhile(pause, f"node{pauses.node} could not be paused"):
        yield
