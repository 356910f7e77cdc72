"""What is probed on a cluster: pairs of levels, at rest and under load, some requests traced.

All pairs of levels are probed together, cycle by cycle beside each other, under one load: no pair meets a slower
machine than another. The load is a closed loop in a process of its own, so that the probe's clock does not wait for it.
"""

from __future__ import annotations

import math
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from cassbook.core.consistency import levels
from cassbook.core.threads import meanwhile
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.engine.connect import connect
from cassbook.lab.experiments.experiment import Experiment, Row, Setup, SideBySide, in_random_order
from cassbook.lab.experiments.workbench import Workbench
from cassbook.lab.load import staleness_probe, traces
from cassbook.lab.load.loop import Bound
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.client import Place
from cassbook.lab.run.processes import ClientProcesses
from cassbook.profile.open import TRACED_PAUSE_MS
from cassbook.profile.profile import LoadSection, MixedSection, Profile, TableSection
from cassbook.staleness import curves
from cassbook.staleness.checker import judge
from cassbook.staleness.message_delays import delays_of

_LOAD_LEVEL, _LOAD_READ_SHARE = "ONE", 0.5
_SETTLE_S = 3.0
_CHECKED_S = 3.0  # for pairs whose quorums meet: they are right or the probe is wrong


@dataclass(frozen=True, slots=True)
class _Point:
    """What is probed: R and W, whether their quorums meet, and versions that are written before each read."""

    r: int
    w: int
    meet: bool
    versions: int = 1


@dataclass(frozen=True)
class StalenessExperiment(Experiment):
    """Every pair of levels under each load, on setups in which every node is a replica."""

    BY_SETUP = ("setups", "t_ms")

    setups: Mapping[str, Setup | SideBySide]
    t_ms: Mapping[str, tuple[float, ...]]  # waits, by setup
    threads: tuple[int, ...] = (0, 100)  # loads next to the probe; 0 for none
    seconds: float = 20.0  # of all cycles, a panel whose quorums need not meet has as many as fill so long
    cycles_per_s: float = 300.0  # writes followed by a read that the probers of all panels try for together
    traced: int = 3  # probers whose requests are traced, of each panel whose quorums need not meet
    pause_ms: float = 20.0  # of a prober, from a read to its next write, at the least
    versions: int = 10  # written before each read, in the panels that count versions
    warm_up_s: float = 40.0  # under the heaviest load, before anything is looked at
    settings: tuple[tuple[int, int], ...] = ()  # R and W; empty for all
    records: int = 5000  # rows of the load's table

    def notes(self) -> dict[str, Any]:
        return super().notes() | {"checked_s": _CHECKED_S}

    def rows(self) -> int:
        """Return how many panels a cluster start gives: each pair of levels under each load."""
        return len(self.threads) * len(self.points())

    def measure(self, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Probe every pair of levels under each load.

        A row has panel, n, threads, r, w, versions, reads, lost, unknown (writes without an answer), read_ms, write_ms
        (means), read_p99_ms, write_p99_ms, behind_ms (mean of the reads that were behind), traced_read_ms,
        traced_write_ms, traces_left_out, load_per_s, load_ms, hints, barrier (failures of a write at ALL through each
        node); and tables: counted (`curves.COUNTED`), legs.
        """
        with Workbench(cluster, rng) as bench:
            panels = _Panels(bench, self, rng)
            try:
                panels.warm_up()
                (t_ms,) = self.t_ms.values()
                rows = (row for threads in in_random_order(self.threads, rng) for row in
                        panels.run(threads, self.points(), t_ms))  # fmt: skip
                yield from ({"panel": number} | row for number, row in enumerate(rows))
            finally:
                panels.close()

    def paced(self, t_ms: tuple[float, ...], share: float) -> tuple[int, float]:
        """Return how many probers make such a share of all cycles if requests took no time, and their pause, ms."""
        per_ms, wait_ms = share * self.cycles_per_s / 1000, float(np.mean(t_ms))
        probers = math.ceil(per_ms * (wait_ms + self.pause_ms))
        return probers, probers / per_ms - wait_ms

    def points(self) -> list[_Point]:
        """Return what is probed under each load."""
        (setup,) = self.setups.values()
        n = setup.spec.nodes
        known = levels(n)
        settings = self.settings or [(r, w) for r in known for w in known]
        return [*(_Point(r, w, r + w > n) for r, w in settings), _Point(1, 1, n == 1, self.versions)]


def _profile(experiment: StalenessExperiment) -> Profile:
    """Return the profile of the load next to the probe."""
    return Profile(
        name="beside", title="Load beside the probe", seed=1, table=TableSection(record_count=experiment.records),
        load=LoadSection(coordinator="round_robin", steady_s=1.0),
        mixed=MixedSection(threads=[max(experiment.threads)], read_shares=[0.5], settings=["ONE/ONE"]),
    )  # fmt: skip


class _Panels:
    """The probe's table on a cluster and the load's, and one panel after the other."""

    def __init__(self, bench: Workbench, experiment: StalenessExperiment, rng: np.random.Generator) -> None:
        cluster = bench.cluster
        self._bench, self._cluster, self._experiment, self._n = bench, cluster, experiment, cluster.spec.nodes
        staleness_probe.create(bench.session, cluster.keyspace, cluster.release.major, cluster.replication)
        traces.keep_everywhere(bench.session, cluster.replication)
        rows = staleness_probe.OneTable(bench.session, cluster.keyspace)
        self._probe = staleness_probe.Probe(rows, bench.nodes, rng)
        self._processes = None
        if any(experiment.threads):
            profile = _profile(experiment)
            bench.table(profile.table)
            self._processes = load_process(cluster, profile, int(rng.integers(1 << 31)))

    def close(self) -> None:
        if self._processes:
            self._processes.close()

    def warm_up(self) -> None:
        """Probe, next to the heaviest load, without recording."""
        panel = staleness_probe.Panel("QUORUM", "QUORUM", (0.0,))
        seconds = self._experiment.warm_up_s
        with background_load(self._processes, max(self._experiment.threads), seconds):
            self._probe.run([panel], seconds)

    def run(self, threads: int, points: Sequence[_Point], t_ms: tuple[float, ...]) -> list[Row]:
        """Measure all panels under one load."""
        lengths = np.array([_CHECKED_S if point.meet else self._experiment.seconds for point in points])
        seconds, shares = float(lengths.sum()), lengths / lengths.sum()
        panels = [self._panel(point, t_ms, float(share)) for point, share in zip(points, shares, strict=True)]
        with background_load(self._processes, threads, seconds) as load:
            histories = self._probe.run(panels, seconds)
        failed = self._cluster.barrier(self._bench.session)  # what is under way arrives before the next load
        after = {
            "load_per_s": load.throughput_per_s, "load_ms": load.latency_ms,
            "hints": self._cluster.hints(self._bench.session), "barrier": len(failed),
        }  # fmt: skip
        seen = zip(points, panels, histories, strict=True)
        return [{"n": self._n, "threads": threads, **self._row(*of_panel)} | after for of_panel in seen]

    def _panel(self, point: _Point, t_ms: tuple[float, ...], share: float) -> staleness_probe.Panel:
        """Return a panel with such a share of all cycles."""
        experiment, level_of = self._experiment, levels(self._n)
        waits_ms = (0.0,) if point.meet else t_ms
        traced = 0 if point.meet or point.versions > 1 else experiment.traced
        return staleness_probe.Panel(
            level_of[point.r], level_of[point.w], waits_ms, point.versions, *experiment.paced(waits_ms, share),
            traced, TRACED_PAUSE_MS / share,
        )  # fmt: skip

    def _row(self, point: _Point, panel: staleness_probe.Panel, history: staleness_probe.History) -> Row:
        traced_ms = history.traced.groupby("kind")["latency_ms"].mean()
        own_legs, left_out = self._legs(history, point.r) if panel.traced else (pd.DataFrame(), 0)
        judged = judge(history.writes, history.reads)
        return {
            "r": point.r, "w": point.w, "versions": point.versions, **latencies(history, judged),
            "traced_read_ms": traced_ms.get("READ"), "traced_write_ms": traced_ms.get("UPDATE"),
            "traces_left_out": left_out, "counted": curves.slim(curves.counted(judged)), "legs": own_legs,
        }  # fmt: skip

    def _legs(self, history: staleness_probe.History, r: int) -> tuple[pd.DataFrame, int]:
        """The message delays of the traced requests, one row per request and replica."""
        nodes = self._cluster.broadcast_addresses
        replicas = dict.fromkeys(history.traced["key"], tuple(nodes))  # as many replicas as nodes
        requests, events = traces.fetch(self._bench.session, history.traced, nodes, replicas)
        parts, left_out = [], 0
        for kind, answers in (("UPDATE", self._n), ("READ", r)):
            delays, lost = delays_of([request for request in requests if request.kind == kind], events, answers)
            parts.append(delays.table().assign(kind=kind))
            left_out += lost
        return pd.concat(parts, ignore_index=True), left_out + len(history.traced) - len(requests)


def latencies(history: staleness_probe.History, judged: pd.DataFrame) -> Row:
    """Count the reads and writes of a panel, and sum up how long they took."""
    read_ms = 1000 * (judged["returned_s"] - judged["sent_s"])
    write_ms = 1000 * (history.writes["acked_s"] - history.writes["sent_s"]).dropna()
    return {
        "reads": len(judged), "lost": history.lost, "unknown": int(history.writes["acked_s"].isna().sum()),
        "read_ms": read_ms.mean(), "write_ms": write_ms.mean(),
        "read_p99_ms": read_ms.quantile(0.99), "write_p99_ms": write_ms.quantile(0.99),
        "behind_ms": judged.loc[~judged["consistent"], "behind_ms"].mean(),
    }  # fmt: skip


@dataclass(slots=True)
class BackgroundLoad:
    """The load's operations per second and mean latency, ms; NaN until it is over."""

    throughput_per_s: float = float("nan")
    latency_ms: float = float("nan")


@contextmanager
def background_load(processes: ClientProcesses | None, threads: int, seconds: float) -> Iterator[BackgroundLoad]:
    """Within the block, for at most `seconds`, keep `threads` requests in flight: half reads, half updates, at ONE.

    Without processes or threads there is no load. The block takes `seconds` at most; the load lasts until then.
    """
    measured = BackgroundLoad()
    if processes is None or not threads:
        yield measured
        return
    cell = Cell("background", "mixed", threads, _LOAD_LEVEL, _LOAD_LEVEL, _LOAD_READ_SHARE, 1, 1, 1)

    def keep_up(_: threading.Event) -> None:
        with tempfile.TemporaryDirectory() as folder:
            outcome, samples = processes.run([cell], Bound(_SETTLE_S, seconds), Path(folder) / "samples.parquet")
        window = outcome.window
        steady = samples.filter(pc.equal(samples["phase"], "steady"))
        measured.throughput_per_s = steady.num_rows / (window.steady_to - window.steady_from)
        measured.latency_ms = pc.mean(steady["latency_us"]).as_py() / 1000

    with meanwhile(keep_up, "the load next to the probe failed"):
        time.sleep(_SETTLE_S)
        yield measured


def load_process(cluster: CassandraCluster, profile: Profile, seed: int) -> ClientProcesses:
    """Return the process that `background_load` is made by; the tables of the profile are there."""
    reach = partial(connect, cluster.addresses, cluster.release.protocol)  # can be handed to another process
    place = Place(reach, cluster.addresses, cluster.labels, cluster.keyspace)
    return ClientProcesses(1, profile, place, [seed], time.perf_counter())
