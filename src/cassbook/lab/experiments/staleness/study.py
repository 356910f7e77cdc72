"""The ccm study's own experiment (its section 2): eight nodes, three replicas, 10,000 writes and then 10,000 reads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cassbook.core import schema
from cassbook.core.consistency import level_waiting_for
from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.experiment import Experiment, Row, Setup, SideBySide, in_random_order
from cassbook.lab.experiments.workbench import Workbench
from cassbook.lab.load import stress
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.ycsb import READ, UPDATE
from cassbook.profile.profile import TableSection
from cassbook.staleness.ccm_study import SETTINGS

#: The shape of cassandra-stress's own rows: five columns of 34 bytes.
_TABLE = TableSection(record_count=10_000, field_count=5, field_length=34, update_all_fields=True)
_WARM_UP = 5_000  # operations of each kind and tool that do not count: nodes are just started


@dataclass(frozen=True)
class StudyExperiment(Experiment):
    """10,000 writes, then 10,000 reads in each setting; its setups have eight nodes each."""

    setups: Mapping[str, Setup | SideBySide]
    operations: int = 10_000  # of each kind
    threads: int = 50  # cassandra-stress's default

    def notes(self) -> dict[str, Any]:
        return super().notes() | {"warm_up": _WARM_UP}

    def points(self) -> Sequence[tuple[int, int]]:
        return SETTINGS

    def measure(self, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Write, then read, in each setting, in random order: by cassandra-stress, and by our generator.

        A row has r, w, stress_first, and for write and read: stress_write_ms, stress_write_p50_ms, stress_write_p95_ms,
        ours_write_ms and so on.
        """
        with Workbench(cluster, rng) as bench:
            tools = _Tools(bench, self)
            tools.warm_up()
            for setting in in_random_order(SETTINGS, rng):
                yield tools.run(*setting, bool(rng.integers(2)))


class _Tools:
    """cassandra-stress and our generator, each with its table."""

    def __init__(self, bench: Workbench, experiment: StudyExperiment) -> None:
        self._bench, self._cluster, self._experiment = bench, bench.cluster, experiment
        self._n = bench.cluster.spec.replication_factor
        self._table = bench.table(_TABLE, threads=experiment.threads)

    def warm_up(self) -> None:
        """Let both tools run, without recording; cassandra-stress makes its table."""
        for operation in ("write", "read"):
            stress.standard(self._cluster, operation, _WARM_UP, "ALL", self._experiment.threads)
            self._ours(operation, "ALL", _WARM_UP)

    def run(self, r: int, w: int, stress_first: bool) -> Row:
        """One setting by both tools."""
        ways = {"stress": self._stress, "ours": self._ours}
        order = list(ways) if stress_first else list(reversed(ways))
        row: Row = {"r": r, "w": w, "stress_first": stress_first}
        for way in order:
            for operation, replicas in (("write", w), ("read", r)):
                latency_ms = ways[way](operation, level_waiting_for(replicas, self._n), self._experiment.operations)
                row |= {f"{way}_{operation}{name}_ms": round(ms, 3) for name, ms in latency_ms.items()}
            self._cluster.barrier(self._bench.session)
        return row

    def _stress(self, operation: str, level: str, count: int) -> dict[str, float]:
        summary = stress.standard(self._cluster, operation, count, level, self._experiment.threads)
        return {"": summary["mean"], "_p50": summary["median"], "_p95": summary["95th percentile"]}

    def _ours(self, operation: str, level: str, count: int) -> dict[str, float]:
        kinds, threads = itertools.repeat(UPDATE if operation == "write" else READ), self._experiment.threads
        bound = Bound(operations_per_thread=count // threads)
        samples = self._bench.run(self._table, kinds, level, threads, bound)
        if failed := sum(outcome != schema.OK for *_, outcome in samples):
            raise LaboratoryError(f"{failed} of {count} {operation}s at {level} failed")
        took_ms = [latency_s * 1000 for _, latency_s, _ in samples]
        return {
            "": float(np.mean(took_ms)), "_p50": float(np.median(took_ms)),
            "_p95": float(np.quantile(took_ms, 0.95)),
        }  # fmt: skip
