"""A load whose mix and intensity shift over ten minutes, under the adviser, fixed settings and the paper's switching.

Every actor goes through the same schedule, one after the other on each cluster start. The load is the light path's
closed loop on usertable, so that the client stays small; next to it a few ordinary driver threads write and read a
table of their own and record everything, for `checker.judge`. Both take their levels from the same actor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.payback import Phase
from cassbook.core import schema
from cassbook.core.consistency import STRONG_SETTINGS, level_waiting_for
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.adviser import scene
from cassbook.lab.experiments.adviser.actors import REPLICAS, Actor, Advising, Fixed, Naive
from cassbook.lab.experiments.experiment import Experiment, Row, in_random_order
from cassbook.lab.experiments.workbench import Workbench
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.recorder import Chunk
from cassbook.lab.load.recorder import Window as Steady
from cassbook.lab.load.ycsb import KEYSPACE, READ, UPDATE, Usertable
from cassbook.lab.run.client import mix
from cassbook.profile.profile import TableSection
from cassbook_advisor.adviser import Adviser, Pace
from cassbook_advisor.policy import Policy, Terms
from cassbook_advisor.sweep import TableSweep
from cassbook_advisor.window import Window

_POLL_S = 0.05
#: Ten minutes: reads by day, writes by night, and what lies between.
SCHEDULE = (
    Phase(120, 100, 0.9),
    Phase(120, 400, 0.1),
    Phase(120, 400, 0.5),
    Phase(120, 600, 0.95),
    Phase(120, 200, 0.05),
)
ADAPTIVE, NAIVE = "adaptive", "naive"
ACTORS = (ADAPTIVE, NAIVE, *(setting.name for setting in STRONG_SETTINGS))
#: Setting that all begin in; the table is loaded at ALL, so any would do.
_START = "2R-2W"
_WINDOW_S, _INTERVAL_S = 5.0, 0.5
#: Whoever runs this load knows how long it stays the same; a longer horizon would be unfair to both that switch. All
#: three settings are gone to, whatever they survive: nodes stay up here.
_TERMS = Terms(horizon_s=SCHEDULE[0].seconds, survive=0)
_WARM_UP = (Phase(20, 100, 0.5),)
#: Watchers next to the load: few and slow, so that they are not a load themselves.
_WATCH = scene.Plan(keys=40, writers=2, readers=2, pause_s=0.01)
_QUANTILES = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99}
_NOTHING = pd.DataFrame()


def shift(map: LatencyMap) -> ShiftExperiment:
    """Send every actor through ten minutes of shifting load; the policy goes by a run of this machine and engine."""
    return ShiftExperiment(map)


@dataclass(frozen=True)
class ShiftExperiment(Experiment):
    """Every actor goes through the schedule."""

    latency_map: LatencyMap  # of a run on this machine with the same engine; what the policy goes by
    terms: Terms = _TERMS
    records: int = 100_000  # rows of usertable
    schedule: tuple[Phase, ...] = SCHEDULE
    actors: tuple[str, ...] = ACTORS
    warm_up: tuple[Phase, ...] = _WARM_UP

    def notes(self) -> dict[str, Any]:
        """Return the map's name, and every number."""
        return {
            "map": self.latency_map.name, "records": self.records, "start": _START, "terms": asdict(self.terms),
            "schedule": [asdict(phase) for phase in self.schedule], "actors": list(self.actors),
            "window_s": _WINDOW_S, "interval_s": _INTERVAL_S,
        }  # fmt: skip

    def points(self) -> Sequence[str]:
        return self.actors

    def rows(self) -> int:
        """Return how many rows a cluster start gives: one per actor and phase, and one per actor for the whole."""
        return len(self.actors) * (1 + len(self.schedule))

    def measure(self, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Send every actor through the schedule, in random order.

        A row has panel, actor, phase (from 1; 0 is the whole), n, errors, mean_us, p50_us, p95_us, p99_us,
        read_mean_us, write_mean_us, seconds. Rows of phase 0 have what the watchers saw, watch_reads, watch_writes,
        watch_errors and watch_violations, and tables: by_second (second, mean_us, n), levels (at_s, reads, writes: when
        which came into force), missed (behind_ms, versions_behind of each violation) and sweeps (loaded, seconds,
        slowdown).
        """
        with Workbench(cluster, rng) as bench:
            scene.create(bench.session, KEYSPACE)
            table = bench.table(TableSection(record_count=self.records), coordinator="token_aware", keyspace=KEYSPACE)
            cluster.flush(bench.session, table.name)
            warm = Fixed(bench.session, _START, Window(_WINDOW_S))
            ScheduleRun(bench.nodes, table, warm, rng).run(self.warm_up)
            panel = 0
            for actor in in_random_order(self.actors, rng):
                for row in self._of_actor(actor, bench, table, rng):
                    yield {"panel": panel, "actor": actor} | row
                    panel += 1

    def _of_actor(self, name: str, bench: Workbench, table: Usertable, rng: np.random.Generator) -> list[Row]:
        session = bench.session
        if name == ADAPTIVE:
            return self._adaptive(bench, table, rng)
        if name == NAIVE:
            policy = Policy(self.latency_map, 3, self.terms)
            return self._run(Naive(session, _START, Window(_WINDOW_S), policy, _INTERVAL_S), bench, table, rng)
        return self._run(Fixed(session, name, Window(_WINDOW_S)), bench, table, rng)

    def _adaptive(self, bench: Workbench, table: Usertable, rng: np.random.Generator) -> list[Row]:
        tables = [table.name.partition(".")[2], scene.TABLE]
        # Other actors wrote to the same rows at lower levels. An operator would know too what this sweep takes.
        at_rest = TableSweep(bench.session, KEYSPACE, tables).now()
        options: dict[str, Any] = {"sweep_s": at_rest.seconds, "pace": Pace(_WINDOW_S, _INTERVAL_S)}
        with Adviser(bench.session, KEYSPACE, tables, self.latency_map, _START, terms=self.terms, **options) as adviser:
            rows = self._run(Advising(adviser), bench, table, rng)
        sweeps = [(False, at_rest.seconds, np.nan)]
        sweeps += [(True, cost.seconds, cost.slowdown) for cost in adviser.sweeps.measured]
        rows[0]["sweeps"] = pd.DataFrame(sweeps, columns=["loaded", "seconds", "slowdown"])
        return rows

    def _run(self, actor: Actor, bench: Workbench, table: Usertable, rng: np.random.Generator) -> list[Row]:
        scene.create(bench.session, KEYSPACE)  # every actor's watchers begin with an empty table
        run = ScheduleRun(bench.nodes, table, actor, rng)
        with scene.Load(bench.session, actor, actor, _WATCH, keyspace=KEYSPACE) as watch:
            run.run(self.schedule)
        return summary(run, watch, self.schedule)


def summary(run: ScheduleRun, watch: scene.Load, schedule: Sequence[Phase]) -> list[Row]:
    """Return what is kept of an actor's run: the rows that `ShiftExperiment.measure` describes, of the whole first."""
    samples = run.samples()
    good = samples[samples["ok"]]
    by_second = good.groupby(good["started_s"].astype(int).rename("second"))["latency_us"].agg(["mean", "size"])
    judged = watch.judged()
    missed = judged[~judged["consistent"]]
    levels = [(round(at - run.began, 3), reads, writes) for at, reads, writes in run.levels]
    whole = {
        "watch_reads": len(judged), "watch_writes": len(watch.writes), "watch_errors": watch.errors,
        "watch_violations": len(missed),
        "by_second": by_second.round(1).rename(columns={"mean": "mean_us", "size": "n"}).reset_index(),
        "levels": pd.DataFrame(levels, columns=["at_s", "reads", "writes"]),
        "missed": missed[["behind_ms", "versions_behind"]].round(1), "sweeps": _NOTHING,
    }  # fmt: skip
    none = {name: _NOTHING if isinstance(value, pd.DataFrame) else None for name, value in whole.items()}
    rows = [_figures(samples, 0) | whole]
    return rows + [_figures(samples[samples["phase"] == k], k) | none for k in range(1, len(schedule) + 1)]


def _figures(samples: pd.DataFrame, phase: int) -> Row:
    good = samples[samples["ok"]]
    latency = good["latency_us"]
    quantiles = {name: round(float(latency.quantile(q)), 1) for name, q in _QUANTILES.items()}
    of = {flag: float(latency[good["read"] == flag].mean()) for flag in (True, False)}
    return {
        "phase": phase, "n": len(good), "errors": int((~samples["ok"]).sum()),
        "mean_us": round(float(latency.mean()), 1),
        **quantiles, "read_mean_us": round(of[True], 1), "write_mean_us": round(of[False], 1),
        "seconds": round(float(samples["started_s"].max() - samples["started_s"].min()), 2),
    }  # fmt: skip


class ScheduleRun:
    """A run of the loop through a schedule, and what it saw; a request has `timeout_s`."""

    def __init__(
        self, nodes: Nodes, table: Usertable, actor: Actor, rng: np.random.Generator, timeout_s: float = 12.0
    ) -> None:
        self._nodes, self._table, self._actor, self._rng, self._timeout_s = nodes, table, actor, rng, timeout_s
        self._rows = Chunk()
        self._bounds: list[tuple[float, float]] = []
        self.levels: list[tuple[float, int, int]] = []

    def run(self, schedule: tuple[Phase, ...]) -> None:
        """Run the phases, one after the other."""
        for phase in schedule:
            began = time.perf_counter()
            self._phase(phase)
            self._bounds.append((began, time.perf_counter()))

    def _phase(self, phase: Phase) -> None:
        rows, window = self._rows, self._actor.window

        def note(started: float, latency_s: float, operation: int, outcome: int, *_: float) -> None:
            rows.started.append(started)
            rows.latency_s.append(latency_s)
            rows.operation.append(operation)
            rows.outcome.append(outcome)
            window.add(operation == READ, latency_s)
            if outcome != schema.OK:
                window.fail()

        operations = mix(phase.read_share, self._rng)
        requests = [self._table.requests(READ), self._table.requests(UPDATE)]
        loop = ClosedLoop(self._nodes, phase.threads, operations, requests, [[], []], note, self._timeout_s)
        follower = _Follower(loop, self._table, self._actor, self.levels)
        follower.follow()
        ends = time.perf_counter() + phase.seconds
        with follower:
            loop.run(Bound(until=lambda done: time.perf_counter() >= ends), Steady())

    def samples(self) -> pd.DataFrame:
        """Return every request: started_s (from the run's first), latency_us, read, ok, phase (from 1)."""
        rows = self._rows
        started = np.frombuffer(rows.started)
        phase = np.searchsorted([began for began, _ in self._bounds], started, side="right")
        table = pd.DataFrame(
            {
                "started_s": started - self.began,
                "latency_us": np.frombuffer(rows.latency_s) * 1e6,
                "read": np.frombuffer(rows.operation, dtype=np.int8) == READ,
                "ok": np.frombuffer(rows.outcome, dtype=np.int8) == schema.OK,
                "phase": phase,
            }
        )
        return table.sort_values("started_s", kind="stable", ignore_index=True)

    @property
    def began(self) -> float:
        """Moment of the first phase, on `time.perf_counter`."""
        return self._bounds[0][0]


class _Follower:
    """A thread that gives a loop the actor's levels, again and again."""

    def __init__(self, loop: ClosedLoop, table: Usertable, actor: Actor, kept: list[tuple[float, int, int]]) -> None:
        self._loop, self._table, self._actor, self._kept = loop, table, actor, kept
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow_on, name="cassbook-follower", daemon=True)
        self._last: tuple[int, int] | None = None

    def __enter__(self) -> _Follower:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._actor.drained(float("inf"))  # the loop has ended: nothing of it is under way

    def follow(self) -> None:
        """Have the loop send at the actor's levels."""
        levels = self._actor.levels()
        if levels == self._last:
            return
        read_cl, write_cl = (level_waiting_for(waits, REPLICAS) for waits in levels)
        self._loop.prefixes[:] = self._table.prefixes(read_cl, write_cl)
        self._last = levels
        if not self._kept or self._kept[-1][1:] != levels:
            self._kept.append((time.perf_counter(), *levels))

    def _follow_on(self) -> None:
        while not self._stop.wait(_POLL_S):
            self.follow()
            self._actor.drained(self._loop.oldest())
