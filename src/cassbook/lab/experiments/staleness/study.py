"""The ccm study's own experiment (its section 2): eight nodes, three replicas, 10,000 writes and then 10,000 reads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cassbook.core import schema
from cassbook.core.consistency import level_waiting_for
from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.experiment import Row, Setup, SideBySide
from cassbook.lab.load import stress
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, UPDATE, Usertable, create_table
from cassbook.lab.run.client import fill
from cassbook.profile.profile import TablePart
from cassbook.staleness.ccm_study import SETTINGS

#: The shape of cassandra-stress's own rows: five columns of 34 bytes.
_TABLE = TablePart(record_count=10_000, field_count=5, field_length=34, update_all_fields=True)
_TIMEOUT_S = 12.0
_WARM_UP = 5_000  # operations of each kind and tool that do not count: nodes are just started


@dataclass(frozen=True, slots=True)
class StudyTrial:
    """The experiment.

    Attributes
    ----------
    question : str
    setups : mapping of str to Setup or SideBySide
        Eight nodes each.
    operations : int
        Of each kind.
    threads : int
        cassandra-stress's default.
    """

    question: str
    setups: Mapping[str, Setup | SideBySide]
    operations: int = 10_000
    threads: int = 50

    def notes(self) -> dict[str, Any]:
        """Every number."""
        return {"operations": self.operations, "threads": self.threads, "warm_up": _WARM_UP}

    def rows(self, setup: str) -> int:
        """How many settings a cluster start is asked for."""
        return len(SETTINGS)

    def measure(self, setup: str, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Write, then read, in each setting, in random order: by cassandra-stress, and by our generator.

        Returns
        -------
        iterator of dict
            r, w, stress_first, and for write and read: stress_write_ms, stress_write_p50_ms, stress_write_p95_ms,
            ours_write_ms and so on.
        """
        bench = _Bench(cluster, self, rng)
        try:
            bench.warm_up()
            for place in rng.permutation(len(SETTINGS)):
                yield bench.run(*SETTINGS[place], bool(rng.integers(2)))
        finally:
            bench.close()


class _Bench:
    """A cluster with both tables."""

    def __init__(self, cluster: CassandraCluster, trial: StudyTrial, rng: np.random.Generator) -> None:
        self._cluster, self._trial = cluster, trial
        self._n = cluster.spec.replication_factor
        self._session = cluster.connect()
        self._nodes = Nodes(self._session, cluster.addresses)
        create_table(self._session, _TABLE, cluster.replication, cluster.keyspace)
        self._table = Usertable(
            self._session, _TABLE, cluster.addresses, "round_robin", 0, rng, cluster.keyspace
        )  # fmt: skip
        if failed := fill(self._nodes, self._table, trial.threads, _TIMEOUT_S):
            raise LaboratoryError(f"the table could not be loaded: {failed} inserts failed")

    def close(self) -> None:
        """Close all connections."""
        self._nodes.close()
        self._session.cluster.shutdown()

    def warm_up(self) -> None:
        """Let both tools run, without looking; cassandra-stress makes its table."""
        for operation in ("write", "read"):
            stress.standard(self._cluster, operation, _WARM_UP, "ALL", self._trial.threads)
            self._ours(operation, "ALL", _WARM_UP)

    def run(self, r: int, w: int, stress_first: bool) -> Row:
        """One setting by both tools."""
        ways = {"stress": self._stress, "ours": self._ours}
        order = list(ways) if stress_first else list(reversed(ways))
        row: Row = {"r": r, "w": w, "stress_first": stress_first}
        for way in order:
            for operation, replicas in (("write", w), ("read", r)):
                found = ways[way](operation, level_waiting_for(replicas, self._n), self._trial.operations)
                row |= {f"{way}_{operation}{name}_ms": round(ms, 3) for name, ms in found.items()}
            self._cluster.barrier(self._session)
        return row

    def _stress(self, operation: str, level: str, count: int) -> dict[str, float]:
        told = stress.standard(self._cluster, operation, count, level, self._trial.threads)
        return {"": told["mean"], "_p50": told["median"], "_p95": told["95th percentile"]}

    def _ours(self, operation: str, level: str, count: int) -> dict[str, float]:
        taken_ms: list[float] = []
        failed: list[int] = []

        def note(started: float, latency_s: float, operation: int, outcome: int, *_: float) -> None:
            taken_ms.append(latency_s * 1000)
            if outcome != schema.OK:
                failed.append(outcome)

        kind = UPDATE if operation == "write" else READ
        requests = [self._table.requests(READ), self._table.requests(UPDATE)]
        threads = self._trial.threads
        loop = ClosedLoop(
            self._nodes, threads, itertools.repeat(kind), requests, self._table.prefixes(level, level), note, _TIMEOUT_S
        )
        loop.run(Bound(operations_per_thread=count // threads), Window())
        if failed:
            raise LaboratoryError(f"{len(failed)} of {count} {operation}s at {level} failed")
        return {
            "": float(np.mean(taken_ms)), "_p50": float(np.median(taken_ms)),
            "_p95": float(np.quantile(taken_ms, 0.95)),
        }  # fmt: skip
