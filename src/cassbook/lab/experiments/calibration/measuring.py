"""The cells from which a live cluster's demands are estimated, and those on which the model is then judged.

A closed loop of so many jobs that choose coordinators in turn, knowing nothing of replicas, as the paper's did; CPU
seconds of every process beside; and requests that are alone, traced. The protocol is the paper's scaled down: warm-up
until the nodes' code is compiled, then every cell, in random order, again and again. The same cell differs by a fifth
from one second to the next, so that many short repetitions tell more than a long one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from cassandra import ConsistencyLevel
from cassandra.cluster import Session

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.calibration.compilers import Compilers, warm_up
from cassbook.lab.experiments.calibration.cpu_times import CpuTimes
from cassbook.lab.experiments.distance.loaded import figures
from cassbook.lab.experiments.experiment import Row, Setup, SideBySide
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, UPDATE, Usertable, create_table
from cassbook.lab.run.client import fill, mix
from cassbook.profile.profile import TablePart
from cassbook.queueing.paper import FIELD_LENGTH
from cassbook.queueing.phases import Event, phases

_KINDS = {"READ": READ, "UPDATE": UPDATE}
_TIMEOUT_S = 12.0
_LOAD_THREADS, _WARM_UP_THREADS = 64, 32
_BURST_S = 3.0
_US = 1e6


@dataclass(frozen=True, slots=True)
class Cell:
    """What is the same throughout one measurement.

    Attributes
    ----------
    operation : str
        READ or UPDATE (of all fields).
    level : str
    jobs : int
    field_length : int
        Bytes of each of the ten fields.
    ask_all : bool
        Reads with speculative retry ALWAYS: one replica more is asked than the level needs.
    replication : int
        Of the row, in a keyspace of its own.
    """

    operation: str
    level: str
    jobs: int
    field_length: int = FIELD_LENGTH
    ask_all: bool = False
    replication: int = 3


@dataclass(frozen=True, slots=True)
class CalibrationTrial:
    """The experiment.

    Attributes
    ----------
    question : str
    setups : mapping of str to SideBySide
    cells : mapping of str to tuple of Cell
        By setup.
    repetitions : int
        Of every cell in a cluster start.
    ramp_s, steady_s : float
    records : int
        Rows of each table.
    traced : int
        Requests of each operation and level that are traced, in the setups that `traced_in` names.
    traced_in : tuple of str
    warm_up_s : float
        After which a warm-up ends, though there is still code to compile.
    """

    question: str
    setups: Mapping[str, Setup | SideBySide]
    cells: Mapping[str, tuple[Cell, ...]]
    repetitions: int = 5
    ramp_s: float = 0.3
    steady_s: float = 1.2
    records: int = 5000
    traced: int = 60
    traced_in: tuple[str, ...] = ()
    warm_up_s: float = 240.0

    def notes(self) -> dict[str, Any]:
        """Every number."""
        own = {each.name for each in fields(self)} - {"question", "setups", "cells"}
        return {name: getattr(self, name) for name in sorted(own)}

    def rows(self, setup: str) -> int:
        """How many cells a cluster start has."""
        return self.repetitions * len(self.cells[setup])

    def measure(self, setup: str, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure all cells, and trace.

        Returns
        -------
        iterator of dict
            panel, nodes, the cell's own columns; n_ok, errors, latency_ms and its quantiles, throughput_per_s;
            node_cpu_us, client_cpu_us and other_cpu_us per operation, busy (part of all processors), compiling (part
            of a processor that compilers took at the end of the warm-up); and a table, phases: operation, level,
            local, parse_us, serve_us, end_us, duration_us.
        """
        bench = _Bench(cluster, self, self.cells[setup], rng)
        try:
            compiling = bench.warm_up()[-1]
            phases = bench.trace() if setup in self.traced_in else pd.DataFrame()
            orders = [rng.permutation(len(self.cells[setup])) for _ in range(self.repetitions)]
            for number, place in enumerate(np.concatenate(orders)):
                row = bench.run(self.cells[setup][place]) | {"compiling": round(compiling, 3)}
                yield {"panel": number} | row | {"phases": phases if number == 0 else pd.DataFrame()}
        finally:
            bench.close()


_USUAL = (FIELD_LENGTH, False, 3)


def _table_of(cell: Cell) -> tuple[int, bool, int]:
    return cell.field_length, cell.ask_all, cell.replication


class _Bench:
    """A cluster, its tables, and one cell after the other."""

    def __init__(
        self, cluster: CassandraCluster, trial: CalibrationTrial, cells: tuple[Cell, ...], rng: np.random.Generator
    ) -> None:
        self._cluster, self._trial, self._cells, self._rng = cluster, trial, cells, rng
        self._session: Session = cluster.connect()
        self._nodes = Nodes(self._session, cluster.addresses)
        self._times = CpuTimes(cluster)
        self._tables = {kind: self._table(*kind) for kind in dict.fromkeys(map(_table_of, cells))}

    def _table(self, length: int, ask_all: bool, replication: int) -> Usertable:
        cluster, keyspace = self._cluster, f"of{replication}"
        part = TablePart(record_count=self._trial.records, field_length=length, update_all_fields=True)
        name = f"rows{length}{'all' if ask_all else ''}"
        none = "NEVER" if cluster.release.major >= (4, 0) else "NONE"
        options: dict[str, str | float] = {"speculative_retry": "ALWAYS" if ask_all else none}
        if cluster.release.major < (4, 0):
            options |= {"read_repair_chance": 0.0, "dclocal_read_repair_chance": 0.0}
        create_table(self._session, part, replication, keyspace, name, options)
        table = Usertable(self._session, part, cluster.addresses, "round_robin", 0, self._rng, keyspace, name)
        if failed := fill(self._nodes, table, _LOAD_THREADS, _TIMEOUT_S):
            raise LaboratoryError(f"the table could not be loaded: {failed} inserts failed")
        return table

    def close(self) -> None:
        """Close all connections."""
        self._nodes.close()
        self._session.cluster.shutdown()

    def warm_up(self) -> list[float]:
        """Bursts of half reads, half updates, at each level in turn, until the nodes' code is compiled."""
        table, levels = next(iter(self._tables.values())), itertools.cycle(dict.fromkeys(c.level for c in self._cells))

        def burst() -> None:
            loop = self._loop(table, mix(0.5, self._rng), next(levels), _WARM_UP_THREADS, [])
            loop.run(Bound(steady_s=_BURST_S), Window())

        nodes = range(1, self._cluster.spec.nodes + 1)
        pids = [self._cluster.node_process(node).pid for node in nodes]
        return warm_up(Compilers(pids), burst, self._trial.warm_up_s)

    def run(self, cell: Cell) -> Row:
        """One cell, after what was written before has arrived everywhere."""
        self._cluster.barrier(self._session)
        samples: list[tuple[float, float, int]] = []
        table = self._tables[_table_of(cell)]
        loop = self._loop(table, itertools.repeat(_KINDS[cell.operation]), cell.level, cell.jobs, samples)
        window = Window()
        with self._times.watched():
            loop.run(Bound(self._trial.ramp_s, self._trial.steady_s), window)
        found, cpu = figures(samples, window), self._times.between(window)
        each = {name.replace("_s", "_us"): round(cpu.pop(name) * _US / found["n_ok"], 2) for name in list(cpu)[:3]}
        return {"nodes": self._cluster.spec.nodes, **asdict(cell), **found, **each, "busy": round(cpu["busy"], 4)}

    def _loop(
        self, table: Usertable, operations: Iterator[int], level: str, jobs: int,
        samples: list[tuple[float, float, int]],
    ) -> ClosedLoop:  # fmt: skip
        def note(started: float, latency_s: float, operation: int, outcome: int, *_: float) -> None:
            samples.append((started, latency_s, outcome))

        requests = [table.requests(READ), table.requests(UPDATE)]
        prefixes = table.prefixes(level, level)
        return ClosedLoop(self._nodes, jobs, operations, requests, prefixes, note, _TIMEOUT_S)

    def trace(self) -> pd.DataFrame:
        """Trace requests one at a time, by the driver: what happens inside the nodes is the same by any client."""
        rows = []
        name = f"of{self._cluster.spec.replication_factor}.rows{FIELD_LENGTH}"
        keys = [row.y_id for row in self._session.execute(f"SELECT y_id FROM {name} LIMIT 200")]
        read = self._session.prepare(f"SELECT * FROM {name} WHERE y_id = ?")
        update = self._session.prepare(f"UPDATE {name} SET field0 = ? WHERE y_id = ?")
        settings = sorted({(own.operation, own.level) for own in self._cells if _table_of(own) == _USUAL})
        for operation, level in settings:
            for number in range(self._trial.traced):
                key = keys[int(self._rng.integers(len(keys)))]
                bound = read.bind((key,)) if operation == "READ" else update.bind((f"{number:0{FIELD_LENGTH}d}", key))
                bound.consistency_level = getattr(ConsistencyLevel, level)
                trace = self._session.execute(bound, trace=True).get_query_trace()
                events = [
                    Event(event.source, event.source_elapsed.total_seconds() * _US, event.description)
                    for event in trace.events
                    if event.source_elapsed is not None
                ]
                if found := phases(trace.coordinator, trace.duration.total_seconds() * _US, events):
                    serve = float(np.mean(found.serve_us)) if found.serve_us else float("nan")
                    rows.append((operation, level, found.local, found.parse_us, serve, found.end_us, found.duration_us))
        return pd.DataFrame(
            rows, columns=["operation", "level", "local", "parse_us", "serve_us", "end_us", "duration_us"]
        )
