"""What experiments set up alike on a cluster: a session, light connections to every node, and loaded tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import TracebackType

import numpy as np
from cassandra.cluster import Session

from cassbook.core.errors import LaboratoryError
from cassbook.core.schema import OK, OUTCOMES
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.experiment import Row
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, UPDATE, Usertable, create_table
from cassbook.lab.run.client import fill
from cassbook.profile.profile import TableSection

KINDS = {"READ": READ, "UPDATE": UPDATE}
TIMEOUT_S = 12.0
_LOAD_THREADS = 64
_QUANTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "p999_ms": 0.999}

#: An operation: when it started, latency, outcome; seconds.
Sample = tuple[float, float, int]


class Workbench:
    """A session and light connections to a cluster that is ready; as a context manager they are closed with the block.

    Keys and coordinators are drawn from `rng`.
    """

    def __init__(self, cluster: CassandraCluster, rng: np.random.Generator) -> None:
        self.cluster, self._rng = cluster, rng
        self._nearest: int | None = None
        self.session: Session = cluster.connect()
        try:
            self.nodes = Nodes(self.session, cluster.addresses)
        except BaseException:
            self.session.cluster.shutdown()
            raise

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.nodes.close()
        self.session.cluster.shutdown()

    def table(
        self, part: TableSection, name: str = "usertable", coordinator: str = "round_robin",
        options: Mapping[str, str | float] | None = None, keyspace: str = "",
        replication: int | Mapping[str, int] | None = None, threads: int = _LOAD_THREADS,
    ) -> Usertable:  # fmt: skip
        """Create a table, by default in the cluster's keyspace, and insert every row at ALL, so many at a time.

        The requests that the table makes go through coordinators of a policy. `options` are of the table, as CQL has
        them. Raise LaboratoryError if not every row could be inserted.
        """
        keyspace = keyspace or self.cluster.keyspace
        replicas = self.cluster.replication if replication is None else replication
        create_table(self.session, part, replicas, keyspace, name, options)
        table = self.requests(part, name, coordinator, keyspace)
        if failed := fill(self.nodes, table, threads, TIMEOUT_S):
            raise LaboratoryError(f"{keyspace}.{name}: could not be loaded, {failed.total()} inserts failed")
        return table

    def requests(self, part: TableSection, name: str, coordinator: str, keyspace: str = "") -> Usertable:
        """Return the requests of a table that exists, sent through coordinators of another policy."""
        if coordinator.startswith("nearest") and self._nearest is None:
            self._nearest = self.nodes.nearest()
        addresses, keyspace = self.cluster.addresses, keyspace or self.cluster.keyspace
        return Usertable(self.session, part, addresses, coordinator, self._nearest or 0, self._rng, keyspace, name)

    def run(
        self, table: Usertable, operations: Iterator[int], level: str, threads: int, bound: Bound,
        window: Window | None = None,
    ) -> list[Sample]:  # fmt: skip
        """Run a closed loop on a table, reads and updates at one level, and return its operations."""
        samples: list[Sample] = []

        def note(started: float, latency_s: float, operation: int, outcome: int, *_: float) -> None:
            samples.append((started, latency_s, outcome))

        requests = [table.requests(READ), table.requests(UPDATE)]
        prefixes = table.prefixes(level, level)
        loop = ClosedLoop(self.nodes, threads, operations, requests, prefixes, note, TIMEOUT_S)
        loop.run(bound, window or Window())
        return samples


def figures(samples: list[Sample], window: Window) -> Row:
    """Return what is kept of the operations that began in a window.

    It is n_ok, errors (by kind), latency_ms (mean), p50_ms, p95_ms, p99_ms, p999_ms, throughput_per_s. Raise
    LaboratoryError if none was answered.
    """
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
