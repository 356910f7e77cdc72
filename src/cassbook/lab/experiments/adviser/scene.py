"""A switch of setting, watched: writers and readers that record everything, on a cluster with one late replica.

Each key has one writer; a write carries the next version, a read records the one it got. `checker.judge` then says
which reads missed an acknowledged earlier write. Writing and reading are two clients, each with an object that sets
levels: `Adviser`, or `actors.Switch`.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from cassandra import DriverException
from cassandra.cluster import NoHostAvailable, Session

from cassbook.deployment.link import Link
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.connect import define
from cassbook.lab.experiments.adviser.actors import Switch
from cassbook.lab.load.ycsb import create_keyspace
from cassbook.lab.wan.relay import Relay, Route
from cassbook.staleness.checker import READS, WRITES, judge
from cassbook_advisor.adviser import OutcomeUnknown

KEYSPACE, TABLE = "switching", "register_rows"
_INTERNODE_PORT = 7000
LATE_NODE = 3
_clock = time.monotonic
_scenes = itertools.count()


class Levels(Protocol):
    """An object that sends requests at levels of its own choice."""

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """Send a request and wait for it."""


def late_replica(
    engine: str, late_s: float, log: Callable[[str], None] = print
) -> AbstractContextManager[CassandraCluster]:
    """Return three nodes, not yet started, of which the third gets everything the others send it late, by `late_s`.

    The third tells the others an address at which a relay listens; clients, and its own answers, bypass it. Raise
    InputError for an unknown version.
    """
    broadcast, listening = f"127.0.1.{LATE_NODE}", f"127.0.0.{LATE_NODE}"
    route = Route((broadcast, _INTERNODE_PORT), (listening, _INTERNODE_PORT), "late", caller="others")
    late = {("others", "late"): Link(late_s * 1000)}
    spec = Spec(node_options={LATE_NODE: {"broadcast_address": broadcast}})
    return _behind(Relay([route], late), CassandraCluster(engine, spec, name="late", log=log))


@contextmanager
def _behind(relay: Relay, cluster: CassandraCluster) -> Iterator[CassandraCluster]:
    with relay, cluster:
        yield cluster


def create(session: Session, keyspace: str = KEYSPACE) -> None:
    """Create the keyspace and its table, and empty it."""
    create_keyspace(session, keyspace, 3)
    define(session, f"CREATE TABLE IF NOT EXISTS {keyspace}.{TABLE} (key int PRIMARY KEY, sequence bigint)")
    session.execute(f"TRUNCATE {keyspace}.{TABLE}", timeout=60)


@dataclass(frozen=True, slots=True)
class Plan:
    """The course of a scene."""

    keys: int = 30
    writers: int = 3  # threads; each has its own keys
    readers: int = 24  # threads
    before_s: float = 3.0  # how long the load runs before the switch is requested, and after
    after_s: float = 6.0
    #: By how much the reading client learns of a naive switch later than the writing one (or earlier, if negative).
    late_s: float = 0.1
    pause_s: float = 0.0  # of each thread after each request


class Load:
    """Writers and readers on the table, until stopped; `writing` and `reading` are the two clients.

    The session prepares the statements.
    """

    def __init__(
        self, session: Session, writing: Levels, reading: Levels, plan: Plan, keyspace: str = KEYSPACE
    ) -> None:
        self._write = session.prepare(f"UPDATE {keyspace}.{TABLE} SET sequence = ? WHERE key = ?")
        self._read = session.prepare(f"SELECT sequence FROM {keyspace}.{TABLE} WHERE key = ?")
        self._clients, self._plan = (writing, reading), plan
        self._stop = threading.Event()
        self.writes: list[tuple[int, int, float, float]] = []
        self.reads: list[tuple[int, float, float, int]] = []
        self.errors = 0
        # Keys that no scene of this process had before: what arrives late of an earlier one is of other rows.
        first = next(_scenes) * plan.keys
        self._keys = range(first, first + plan.keys)
        self._threads = [
            threading.Thread(target=self._writer, args=(self._keys[k :: plan.writers],), daemon=True)
            for k in range(plan.writers)
        ]
        self._threads += [threading.Thread(target=self._reader, args=(k,), daemon=True) for k in range(plan.readers)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _writer(self, keys: range) -> None:
        version = 0
        while not self._stop.is_set():
            version += 1
            for key in keys:
                sent_s = _clock()
                try:
                    self._clients[0].execute(self._write, (version, key))
                    acked_s = _clock()
                except (DriverException, NoHostAvailable, OutcomeUnknown):
                    acked_s, self.errors = float("nan"), self.errors + 1
                self.writes.append((key, version, sent_s, acked_s))
                self._pause()

    def _reader(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        while not self._stop.is_set():
            key, sent_s = self._keys[int(rng.integers(len(self._keys)))], _clock()
            try:
                row = self._clients[1].execute(self._read, (key,)).one()
            except (DriverException, NoHostAvailable):
                self.errors += 1
                continue
            self.reads.append((key, sent_s, _clock(), row.sequence if row and row.sequence else 0))
            self._pause()

    def _pause(self) -> None:
        if self._plan.pause_s:
            self._stop.wait(self._plan.pause_s)

    def judged(self) -> pd.DataFrame:
        """Return every read, judged (see `checker.judge`)."""
        return judge(pd.DataFrame(self.writes, columns=list(WRITES)), pd.DataFrame(self.reads, columns=list(READS)))

    @property
    def acknowledged(self) -> int:
        """Number of acknowledged writes."""
        return int(np.isfinite([acked_s for *_, acked_s in self.writes]).sum())


@dataclass(frozen=True, slots=True)
class Watched:
    """The outcome of a scene."""

    reads: pd.DataFrame  # from `checker.judge`, sent_s counted from the switch
    writes: int  # acknowledged
    errors: int  # requests that failed, or whose outcome is unknown
    switched_s: float  # from the request of the switch to its completion; 0 for a naive one

    @property
    def violations(self) -> int:
        """Reads that missed an acknowledged earlier write."""
        return int((~self.reads["consistent"]).sum())


def naive(session: Session, now: str, then: str, plan: Plan) -> Watched:
    """Watch the paper's switch: each client changes both levels at once, the reading one `late_s` later."""
    create(session)
    writing, reading = Switch(session, now), Switch(session, now)
    with Load(session, writing, reading, plan) as load:
        time.sleep(plan.before_s)
        at = _clock()
        first, second = (writing, reading) if plan.late_s >= 0 else (reading, writing)
        first.request_setting(then)
        time.sleep(abs(plan.late_s))
        second.request_setting(then)
        time.sleep(plan.after_s)
    return _watched(load, at, 0.0)


def safe(session: Session, advisers: tuple[Any, Any], then: str, plan: Plan, timeout_s: float = 120.0) -> Watched:
    """Watch the advisers' switch: both share a register, and another setting is requested of both.

    They are the writing and the reading client, on an empty table. The transition may take `timeout_s`.
    """
    with Load(session, *advisers, plan) as load:
        time.sleep(plan.before_s)
        at = _clock()
        for adviser in advisers:
            adviser.request_setting(then)
        arrived = None
        while arrived is None and _clock() - at < timeout_s:
            time.sleep(0.05)
            # An adviser that could not reach its register yet has no history.
            arrived = next((step.at for step in advisers[1].history if step.at > at and step.epoch.arrived), None)
        time.sleep(plan.after_s)
    return _watched(load, at, float("nan") if arrived is None else arrived - at)


def _watched(load: Load, at: float, switched_s: float) -> Watched:
    reads = load.judged()
    return Watched(reads.assign(sent_s=reads["sent_s"] - at), load.acknowledged, load.errors, switched_s)
