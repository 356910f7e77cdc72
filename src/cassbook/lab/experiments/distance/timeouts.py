"""Time-outs fixed and set at run time, while a coordinator stalls and while distances grow."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from cassandra import ConsistencyLevel
from cassandra.cluster import Session

from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.experiments.distance.retries import MOST_S, ExpiredError, Fixed, Observed, Request, Timeout, attempt
from cassbook.lab.experiments.experiment import Experiment, Row, Setup, in_random_order
from cassbook.lab.load.ycsb import create_table
from cassbook.profile.profile import TableSection

_KEYS = 100
_LEVEL = "ONE"
#: Time-out of the driver: longer than ours.
_PATIENCE_S = 2 * MOST_S


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of time under one condition."""

    #: 'calm', 'stalled' (the nearest coordinator stalls) or 'farther' (all distances are `factor` times as long)
    name: str
    seconds: float
    factor: float = 1.0


SCHEDULE = (
    Phase("calm", 6.0), Phase("stalled", 5.0), Phase("calm again", 5.0), Phase("farther", 6.0, 3.0), Phase("back", 5.0),
)  # fmt: skip
#: Time-outs by name: a new one for each coordinator.
TIMEOUTS: Mapping[str, Callable[[], Timeout]] = {
    "0.1 s": lambda: Fixed(0.1),
    "0.5 s": lambda: Fixed(0.5),
    "2 s": lambda: Fixed(2.0),
    "12 s": lambda: Fixed(MOST_S),
    "run time": Observed,
}


@dataclass(frozen=True)
class TimeoutExperiment(Experiment):
    """Each time-out runs the schedule, in random order."""

    setups: Mapping[str, Setup]
    threads: int = 20  # synchronous clients, each with one request at a time
    schedule: tuple[Phase, ...] = SCHEDULE
    timeouts: Mapping[str, Callable[[], Timeout]] = field(default_factory=lambda: TIMEOUTS)  # as `TIMEOUTS`

    def notes(self) -> dict[str, Any]:
        """Return threads, schedule and time-outs."""
        return {
            "threads": self.threads,
            "schedule": [asdict(p) for p in self.schedule],
            "timeouts": list(self.timeouts),
        }

    def points(self) -> list[str]:
        """Return the names of the time-outs."""
        return list(self.timeouts)

    def rows(self) -> int:
        """Return how many rows a cluster start gives: one per time-out and phase."""
        return len(self.timeouts) * len(self.schedule)

    def measure(self, cluster: DistantCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Run the schedule with each time-out.

        A row has timeout, phase, place (of the phase, from 1), seconds; requests (that began in the phase), unanswered,
        expired (attempts given up), latency_ms (mean over all, those without an answer at what they waited), p50_ms,
        p99_ms, longest_ms.
        """
        session = cluster.connect()
        try:
            create_table(session, TableSection(record_count=_KEYS), cluster.replication, cluster.keyspace)
            ask = _asking(session, cluster)
            for key in range(_KEYS):  # a connection's first requests are not of the experiment
                ask(key, key % len(cluster.addresses), _PATIENCE_S, lambda _: None)
            for name in in_random_order(self.points(), rng):
                yield from self._measure_timeout(name, cluster, ask)
        finally:
            session.cluster.shutdown()

    def _measure_timeout(self, name: str, cluster: DistantCluster, ask: Callable[..., None]) -> Iterator[Row]:
        timeouts = [self.timeouts[name]() for _ in cluster.addresses]
        over = threading.Event()
        keys = itertools.cycle(range(_KEYS))
        lock = threading.Lock()

        def client() -> list[Request]:
            done = []
            while not over.is_set():
                with lock:
                    key = next(keys)
                done.append(attempt(partial(ask, key), timeouts))
            return done

        bounds = [time.monotonic()]
        with ThreadPoolExecutor(self.threads) as pool:
            running = [pool.submit(client) for _ in range(self.threads)]
            try:
                for phase in self.schedule:
                    with _in_force(phase, cluster):
                        time.sleep(phase.seconds)
                    bounds.append(time.monotonic())
            finally:
                over.set()
        requests = [request for future in running for request in future.result()]
        for place, phase in enumerate(self.schedule, start=1):
            of_phase = [r for r in requests if bounds[place - 1] <= r.began_s < bounds[place]]
            yield {"timeout": name, "phase": phase.name, "place": place, "seconds": phase.seconds} | figures(of_phase)


def _asking(session: Session, cluster: DistantCluster) -> Callable[[int, int, float, Callable[[float], None]], None]:
    """Return what reads a row, by its number, through a coordinator: as `retries.Ask` behind that."""
    read = session.prepare(f"SELECT * FROM {cluster.keyspace}.usertable WHERE y_id = ?")
    read.consistency_level = ConsistencyLevel.name_to_value[_LEVEL]
    by_address = {host.address: host for host in session.hosts}
    hosts = [by_address[address] for address in cluster.addresses]

    def ask(key: int, coordinator: int, wait_s: float, heard: Callable[[float], None]) -> None:
        over, failed, asked_s = threading.Event(), threading.Event(), time.monotonic()

        def answered(_: object) -> None:
            heard(time.monotonic() - asked_s)
            over.set()

        def refused(_: Exception) -> None:
            failed.set()
            over.set()

        future = session.execute_async(read, (f"user{key}",), timeout=_PATIENCE_S, host=hosts[coordinator])
        future.add_callbacks(answered, refused)
        if not over.wait(wait_s) or failed.is_set():
            raise ExpiredError

    return ask


def _in_force(phase: Phase, cluster: DistantCluster) -> AbstractContextManager[None]:
    if phase.name == "stalled":
        return cluster.paused(1)
    return _farther(phase.factor, cluster) if phase.factor != 1 else nullcontext()


@contextmanager
def _farther(factor: float, cluster: DistantCluster) -> Iterator[None]:
    before = cluster.placement
    cluster.move(replace(before, distances=before.distances.scaled(factor)))
    try:
        yield
    finally:
        cluster.move(before)


def figures(requests: Sequence[Request]) -> Row:
    """Return what is kept of the requests of a phase."""
    took_ms = np.array([r.took_s for r in requests]) * 1000
    known_ms = took_ms if took_ms.size else np.array([np.nan])
    return {
        "requests": len(requests), "unanswered": sum(not r.answered for r in requests),
        "expired": sum(len(r.expired) for r in requests), "latency_ms": round(float(known_ms.mean()), 3),
        "p50_ms": round(float(np.quantile(known_ms, 0.5)), 3), "p99_ms": round(float(np.quantile(known_ms, 0.99)), 3),
        "longest_ms": round(float(known_ms.max()), 3),
    }  # fmt: skip
