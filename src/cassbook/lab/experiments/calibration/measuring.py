"""The cells from which a live cluster's demands are estimated, and those on which the model is then judged.

A closed loop of so many jobs that choose coordinators in turn, knowing nothing of replicas, as the paper's did; CPU
seconds of every process with it; and requests that are alone, traced. The protocol is the paper's scaled down: warm-up
until the nodes' code is compiled, then every cell, in random order, again and again. The same cell differs by a fifth
from one second to the next, so that many short repetitions tell more than a long one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from cassandra import ConsistencyLevel

from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.calibration.compilers import Compilers, warm_up
from cassbook.lab.experiments.experiment import Experiment, Row, Setup, SideBySide, in_random_order
from cassbook.lab.experiments.workbench import KINDS, Workbench, figures
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import Usertable
from cassbook.lab.run.client import mix
from cassbook.lab.run.cpu_times import CpuTimes
from cassbook.profile.profile import TableSection
from cassbook.queueing.paper import FIELD_LENGTH, Event, phases

_WARM_UP_THREADS = 32
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


@dataclass(frozen=True)
class CalibrationTrial(Experiment):
    """The experiment.

    Attributes
    ----------
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
        After which a warm-up ends, though code is still being compiled.
    """

    BY_SETUP = ("setups", "cells")

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
        """Return every number; rows name their cells."""
        numbers = super().notes()
        del numbers["cells"]
        return numbers

    def points(self) -> tuple[Cell, ...]:
        """Return the cells."""
        return tuple(itertools.chain.from_iterable(self.cells.values()))

    def rows(self) -> int:
        """Return how many rows a cluster start gives: each cell's as often as it is repeated."""
        return self.repetitions * len(self.points())

    def measure(self, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure all cells, and trace.

        Returns
        -------
        iterator of dict
            panel, nodes, the cell's own columns; n_ok, errors, latency_ms and its quantiles, throughput_per_s;
            node_cpu_us, client_cpu_us and other_cpu_us per operation, busy (part of all processors), compiling (part
            of a processor that compilers took at the end of the warm-up); and a table, phases: operation, level,
            local, parse_us, serve_us, end_us, duration_us.
        """
        (setup,), cells = self.setups, self.points()
        with Workbench(cluster, rng) as bench:
            runner = _Cells(bench, self, cells, rng)
            compiling = runner.warm_up()[-1]
            phases = runner.trace() if setup in self.traced_in else pd.DataFrame()
            orders = [in_random_order(cells, rng) for _ in range(self.repetitions)]
            for number, cell in enumerate(itertools.chain.from_iterable(orders)):
                row = runner.run(cell) | {"compiling": round(compiling, 3)}
                yield {"panel": number} | row | {"phases": phases if number == 0 else pd.DataFrame()}


_USUAL = (FIELD_LENGTH, False, 3)


def _table_of(cell: Cell) -> tuple[int, bool, int]:
    return cell.field_length, cell.ask_all, cell.replication


class _Cells:
    """The tables of a cluster's cells, and one cell after the other."""

    def __init__(
        self, bench: Workbench, trial: CalibrationTrial, cells: tuple[Cell, ...], rng: np.random.Generator
    ) -> None:
        self._bench, self._trial, self._cells, self._rng = bench, trial, cells, rng
        self._cluster = bench.cluster
        self._times = CpuTimes(bench.cluster)
        self._tables = {kind: self._table(*kind) for kind in dict.fromkeys(map(_table_of, cells))}

    def _table(self, length: int, ask_all: bool, replication: int) -> Usertable:
        before_4 = self._cluster.release.major < (4, 0)
        part = TableSection(record_count=self._trial.records, field_length=length, update_all_fields=True)
        options: dict[str, str | float] = {
            "speculative_retry": "ALWAYS" if ask_all else "NONE" if before_4 else "NEVER"
        }
        if before_4:
            options |= {"read_repair_chance": 0.0, "dclocal_read_repair_chance": 0.0}
        name = f"rows{length}{'all' if ask_all else ''}"
        keyspace = f"of{replication}"
        return self._bench.table(part, name, options=options, keyspace=keyspace, replication=replication)

    def warm_up(self) -> list[float]:
        """Run bursts of half reads, half updates, at each level in turn, until the nodes' code is compiled."""
        table, levels = next(iter(self._tables.values())), itertools.cycle(dict.fromkeys(c.level for c in self._cells))

        def burst() -> None:
            bound = Bound(steady_s=_BURST_S)
            self._bench.run(table, mix(0.5, self._rng), next(levels), _WARM_UP_THREADS, bound)

        nodes = range(1, self._cluster.spec.nodes + 1)
        pids = [self._cluster.node_process(node).pid for node in nodes]
        return warm_up(Compilers(pids), burst, self._trial.warm_up_s)

    def run(self, cell: Cell) -> Row:
        """Measure one cell, after what was written before has arrived everywhere."""
        self._cluster.barrier(self._bench.session)
        table, operations = self._tables[_table_of(cell)], itertools.repeat(KINDS[cell.operation])
        window, bound = Window(), Bound(self._trial.ramp_s, self._trial.steady_s)
        with self._times.watched():
            samples = self._bench.run(table, operations, cell.level, cell.jobs, bound, window)
        columns, cpu = figures(samples, window), self._times.between(window.steady_from, window.steady_to)
        each = {name.replace("_s", "_us"): round(cpu.pop(name) * _US / columns["n_ok"], 2) for name in list(cpu)[:3]}
        return {"nodes": self._cluster.spec.nodes, **asdict(cell), **columns, **each, "busy": round(cpu["busy"], 4)}

    def trace(self) -> pd.DataFrame:
        """Trace requests one at a time, by the driver: what happens inside the nodes is the same by any client."""
        rows = []
        name = f"of{self._cluster.spec.replication_factor}.rows{FIELD_LENGTH}"
        keys = [row.y_id for row in self._bench.session.execute(f"SELECT y_id FROM {name} LIMIT 200")]
        read = self._bench.session.prepare(f"SELECT * FROM {name} WHERE y_id = ?")
        update = self._bench.session.prepare(f"UPDATE {name} SET field0 = ? WHERE y_id = ?")
        settings = sorted({(cell.operation, cell.level) for cell in self._cells if _table_of(cell) == _USUAL})
        for operation, level in settings:
            for number in range(self._trial.traced):
                key = keys[int(self._rng.integers(len(keys)))]
                bound = read.bind((key,)) if operation == "READ" else update.bind((f"{number:0{FIELD_LENGTH}d}", key))
                bound.consistency_level = getattr(ConsistencyLevel, level)
                trace = self._bench.session.execute(bound, trace=True).get_query_trace()
                events = [
                    Event(event.source, event.source_elapsed.total_seconds() * _US, event.description)
                    for event in trace.events
                    if event.source_elapsed is not None
                ]
                if traced := phases(trace.coordinator, trace.duration.total_seconds() * _US, events):
                    serve = float(np.mean(traced.serve_us)) if traced.serve_us else float("nan")
                    rows.append(
                        (operation, level, traced.local, traced.parse_us, serve, traced.end_us, traced.duration_us)
                    )
        return pd.DataFrame(
            rows, columns=["operation", "level", "local", "parse_us", "serve_us", "end_us", "duration_us"]
        )
