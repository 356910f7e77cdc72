"""The conditions from which a live cluster's demands are estimated, and those on which the model is then judged.

A closed loop of so many jobs that choose coordinators in turn, knowing nothing of replicas, as the paper's did; CPU
seconds of every process with it; and requests that are alone, traced. The protocol is the paper's scaled down: warm-up
until the nodes' code is compiled, then every condition, in random order, again and again. What one condition gives
differs by a fifth from one second to the next, so many short repetitions say more than a long one.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from cassandra import ConsistencyLevel

from cassbook.core.consistency import LEVELS
from cassbook.lab.engine.cluster import CassandraCluster, Spec
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
OPERATIONS = ("READ", "UPDATE")
#: Jobs of the paper's figures reach 100; these are spaced evenly on a logarithmic scale.
JOBS, FEW_JOBS = (1, 4, 16, 64), (4, 64)
#: A second size of rows: ten fields of 400 bytes.
LONGER = 4 * FIELD_LENGTH
_PROCESSES = Path("/proc")
_COMPILER_NAME = "Compiler"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
#: A pause ends when compilers take less than this part of a processor, or after so long.
_IDLE, _LOOK_S, _LONGEST_PAUSE_S = 0.1, 0.25, 6.0
#: Nodes are warm when compilers have taken less than this part of a processor, pauses included, so often in a row.
_LITTLE, _IN_A_ROW = 0.06, 3


@dataclass(frozen=True, slots=True)
class Condition:
    """What is the same throughout one measurement."""

    operation: str  # READ or UPDATE (of all fields)
    level: str
    jobs: int
    field_length: int = FIELD_LENGTH  # bytes of each of the ten fields
    ask_all: bool = False  # reads with speculative retry ALWAYS: one replica more is asked than the level needs
    replication: int = 3  # of the row, in a keyspace of its own


@dataclass(frozen=True)
class CalibrationExperiment(Experiment):
    """Every condition again and again, and requests that are alone, traced."""

    BY_SETUP = ("setups", "conditions")

    setups: Mapping[str, Setup | SideBySide]
    conditions: Mapping[str, tuple[Condition, ...]]  # by setup
    repetitions: int = 5  # of every condition in a cluster start
    ramp_s: float = 0.3
    steady_s: float = 1.2
    records: int = 5000  # rows of each table
    traced: int = 60  # requests of each operation and level, in the setups that `traced_in` names
    traced_in: tuple[str, ...] = ()
    warm_up_s: float = 240.0  # after which a warm-up ends, though code is still being compiled

    def notes(self) -> dict[str, Any]:
        """Return every number; rows name their conditions."""
        numbers = super().notes()
        del numbers["conditions"]
        return numbers

    def points(self) -> tuple[Condition, ...]:
        return tuple(itertools.chain.from_iterable(self.conditions.values()))

    def rows(self) -> int:
        """Return how many rows a cluster start gives: each condition's as often as it is repeated."""
        return self.repetitions * len(self.points())

    def measure(self, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure all conditions, and trace.

        A row has panel, nodes, the condition's own columns; n_ok, errors, latency_ms and its quantiles,
        throughput_per_s; node_cpu_us, client_cpu_us and other_cpu_us per operation, busy (part of all processors),
        compiling (part of a processor that compilers took at the end of the warm-up); and a table, phases: operation,
        level, local, parse_us, serve_us, end_us, duration_us.
        """
        (setup,), conditions = self.setups, self.points()
        with Workbench(cluster, rng) as bench:
            runner = _Conditions(bench, self, rng)
            compiling = runner.warm_up()[-1]
            phases = runner.trace() if setup in self.traced_in else pd.DataFrame()
            orders = [in_random_order(conditions, rng) for _ in range(self.repetitions)]
            for number, condition in enumerate(itertools.chain.from_iterable(orders)):
                row = runner.run(condition) | {"compiling": round(compiling, 3)}
                yield {"panel": number} | row | {"phases": phases if number == 0 else pd.DataFrame()}


_USUAL = (FIELD_LENGTH, False, 3)


def _table_of(condition: Condition) -> tuple[int, bool, int]:
    return condition.field_length, condition.ask_all, condition.replication


class _Conditions:
    """The tables of a cluster's conditions, and one condition after the other."""

    def __init__(self, bench: Workbench, experiment: CalibrationExperiment, rng: np.random.Generator) -> None:
        self._bench, self._experiment, self._rng = bench, experiment, rng
        self._conditions = experiment.points()
        self._cluster = bench.cluster
        self._times = CpuTimes(bench.cluster)
        self._tables = {kind: self._table(*kind) for kind in dict.fromkeys(map(_table_of, self._conditions))}

    def _table(self, length: int, ask_all: bool, replication: int) -> Usertable:
        before_4 = self._cluster.release.major < (4, 0)
        part = TableSection(record_count=self._experiment.records, field_length=length, update_all_fields=True)
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
        table = next(iter(self._tables.values()))
        levels = itertools.cycle(dict.fromkeys(each.level for each in self._conditions))

        def burst() -> None:
            bound = Bound(steady_s=_BURST_S)
            self._bench.run(table, mix(0.5, self._rng), next(levels), _WARM_UP_THREADS, bound)

        nodes = range(1, self._cluster.spec.nodes + 1)
        pids = [self._cluster.node_process(node).pid for node in nodes]
        return warm_up(Compilers(pids), burst, self._experiment.warm_up_s)

    def run(self, condition: Condition) -> Row:
        """Measure one condition, after what was written before has arrived everywhere."""
        self._cluster.barrier(self._bench.session)
        table, operations = self._tables[_table_of(condition)], itertools.repeat(KINDS[condition.operation])
        window, bound = Window(), Bound(self._experiment.ramp_s, self._experiment.steady_s)
        with self._times.watched():
            samples = self._bench.run(table, operations, condition.level, condition.jobs, bound, window)
        columns, cpu = figures(samples, window), self._times.between(window.steady_from, window.steady_to)
        each = {name.replace("_s", "_us"): round(cpu.pop(name) * _US / columns["n_ok"], 2) for name in list(cpu)[:3]}
        row = {"nodes": self._cluster.spec.nodes, **asdict(condition), **columns, **each}
        return row | {"busy": round(cpu["busy"], 4)}

    def trace(self) -> pd.DataFrame:
        """Trace requests one at a time, by the driver: what happens inside the nodes is the same by any client."""
        rows = []
        name = f"of{self._cluster.spec.replication_factor}.rows{FIELD_LENGTH}"
        keys = [row.y_id for row in self._bench.session.execute(f"SELECT y_id FROM {name} LIMIT 200")]
        read = self._bench.session.prepare(f"SELECT * FROM {name} WHERE y_id = ?")
        update = self._bench.session.prepare(f"UPDATE {name} SET field0 = ? WHERE y_id = ?")
        settings = sorted({(each.operation, each.level) for each in self._conditions if _table_of(each) == _USUAL})
        for operation, level in settings:
            for number in range(self._experiment.traced):
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


class Compilers:
    """Threads that compile, of processes of Java virtual machines.

    On few processors the compilers of several nodes compete with the load for minutes, and throughput seems to have
    settled long before they are done. In a pause between bursts of load they have the processors to themselves.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._seen: dict[Path, float] = {}

    def cpu_s(self) -> float:
        """Return the CPU seconds that they have taken so far.

        Java from 17 on starts them as needed and ends them when idle: of one that has ended, what was seen last stays
        counted, as else there would be less work done after it than before.
        """
        for pid in self._pids:
            for task in (_PROCESSES / str(pid) / "task").glob("*"):
                if taken := _cpu_s(task):
                    self._seen[task] = taken
        return sum(self._seen.values())

    def catch_up(self) -> None:
        """Wait until they have little to do."""
        deadline, before = time.perf_counter() + _LONGEST_PAUSE_S, self.cpu_s()
        while time.perf_counter() < deadline:
            time.sleep(_LOOK_S)
            now = self.cpu_s()
            if now - before < _IDLE * _LOOK_S:
                return
            before = now


def _cpu_s(task: Path) -> float:
    with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        if _COMPILER_NAME in (task / "comm").read_text():
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
    return 0.0


def warm_up(compilers: Compilers, burst: Callable[[], None], cap_s: float) -> list[float]:
    """Run bursts of load, of some seconds each, until the nodes' code is compiled, or for `cap_s`.

    Return the part of a processor that compilers took in each burst and its pause.
    """
    begun, taken = time.perf_counter(), list[float]()
    while time.perf_counter() - begun < cap_s:
        since, before = time.perf_counter(), compilers.cpu_s()
        burst()
        compilers.catch_up()
        taken.append((compilers.cpu_s() - before) / (time.perf_counter() - since))
        if len(taken) >= _IN_A_ROW and max(taken[-_IN_A_ROW:]) < _LITTLE:
            break
    return taken


def _conditions(
    levels: Iterable[str], jobs: Iterable[int], field_length: int = FIELD_LENGTH, replication: int = 3
) -> list[Condition]:
    return [
        Condition(*point, field_length=field_length, replication=replication)
        for point in itertools.product(OPERATIONS, levels, jobs)
    ]


def calibration() -> CalibrationExperiment:
    """Measure four nodes with every kind of condition, six with the plain ones."""
    four = [
        *_conditions(LEVELS, JOBS),
        *_conditions(("ONE",), FEW_JOBS, replication=1),  # tells what it costs to look from what it costs to coordinate
        *_conditions(("ONE", "ALL"), FEW_JOBS, replication=2),
        *_conditions(LEVELS, FEW_JOBS, field_length=LONGER),
        *_conditions(("ONE",), FEW_JOBS, field_length=LONGER, replication=1),
        *(Condition("READ", "QUORUM", jobs, ask_all=True) for jobs in JOBS),
    ]
    return CalibrationExperiment(
        {"four": SideBySide(Spec(4, 3, 512)), "six": SideBySide(Spec(6, 3, 512))},
        {"four": tuple(four), "six": tuple(_conditions(LEVELS, JOBS))},
        traced_in=("four",),
    )
