"""A load of several settings, request by request in turn, whose whole history is kept for the checker.

It goes through the ordinary driver, or an adviser, as an application's does: who coordinates when a node is gone, and
what is tried again, is the driver's to decide. Each request has a moment at which it is due; its response time counts
from there, so that one that must wait for the ones before it is not flattered. In a closed load, which is for
throughput alone, it is due when the one before it is settled. Every row has one writer at a time, which writes versions
1, 2, 3, ..., each after the one before was acknowledged or given up (see `staleness.checker`).
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np
import pandas as pd
from cassandra import (
    ConsistencyLevel,
    OperationTimedOut,
    ReadFailure,
    ReadTimeout,
    Unavailable,
    WriteFailure,
    WriteTimeout,
)
from cassandra.cluster import NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import ConnectionException
from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage

from cassbook.core.consistency import Setting
from cassbook.core.errors import LaboratoryError
from cassbook.core.schema import CLIENT_TIMEOUT, OK, OUTCOMES
from cassbook.lab.experiments.faults.drivers import IDEMPOTENT
from cassbook_advisor.requests import OutcomeUnknown

#: One row per request: variant (its number), operation, outcome; when it was due, sent and settled, on the client's
#: clock; the key and the version that it wrote or read; the coordinator that answered, empty if none did.
REQUESTS = ("variant", "operation", "outcome", "due_s", "sent_s", "ended_s", "key", "version", "coordinator")
_READ, _UPDATE = "READ", "UPDATE"
#: Reads choose as often among the keys written last as among all: what was just written is what can be stale.
_RECENT, _RECENT_SHARE = 20, 0.5
_FILLER = "x" * 100
_NAP_S = 0.01
_FILL_AT_ONCE = 100
_clock = time.perf_counter

_OUTCOMES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (Unavailable, "unavailable"),
    (ReadTimeout, "read_timeout"),
    (WriteTimeout, "write_timeout"),
    (ReadFailure, "read_failure"),
    (WriteFailure, "write_failure"),
    (OperationTimedOut, "client_timeout"),
    (OverloadedErrorMessage, "overloaded"),
    (IsBootstrappingErrorMessage, "bootstrapping"),
    ((NoHostAvailable, ConnectionException, ConnectionError), "connection_lost"),
)


def outcome_of(error: BaseException) -> int:
    """Return the number of the outcome that an error of the driver stands for.

    `NoHostAvailable` tells nothing of whether an earlier try reached a replica: it counts as a lost connection, after
    which a write is unknown.
    """
    for kind, name in _OUTCOMES:
        if isinstance(error, kind):
            return OUTCOMES.index(name)
    return OUTCOMES.index("server_error")


class Sender(Protocol):
    """Whatever sends requests at levels of its own choice: an `Adviser`, or `actors.Switch`."""

    def execute_async(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """Send a request; what is returned is the driver's future, or has it as `future`."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What some requests have in common."""

    setting: Setting
    #: One of `drivers.DRIVERS`.
    driver: str
    #: Name of the table, in the load's keyspace.
    table: str


@dataclass(slots=True)
class _Rows:
    """The rows of one variant: which are free to be written, and which were written last."""

    keys: list[str]
    write: Any
    read: Any
    versions: dict[str, int] = field(default_factory=dict)
    free: deque[str] = field(default_factory=deque)
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=_RECENT))


class FaultLoad:
    """Requests of all variants, in turn at a steady rate, or each in a closed loop; within a `with` block.

    The session is one of `drivers.connected`; each variant has rows of so many keys. Requests are made for `before_s`
    before the time begins that is counted from `begun_s`. `senders` send the reads and the writes of a variant, by its
    number, in place of the driver at its setting's levels. `rate_per_s` is of all together; with `threads` in its place
    the load is closed: so many requests of each variant are always under way.
    """

    def __init__(
        self, session: Session, keyspace: str, variants: Sequence[Variant], keys: int, read_share: float,
        rng: np.random.Generator, before_s: float = 0.0, senders: Mapping[int, tuple[Sender, Sender]] | None = None,
        rate_per_s: float | None = None, threads: int | None = None,
    ) -> None:  # fmt: skip
        self._keyspace, self._before_s, self._senders = keyspace, before_s, senders or {}
        self._session, self._variants, self._rng = session, variants, rng
        self._interval_s, self._read_share = 1 / rate_per_s if rate_per_s else 0.0, read_share
        self._closed = threads is not None
        self._next: SimpleQueue[int] = SimpleQueue()  # whose turn it is in a closed load: a place for each thread
        for number in list(range(len(variants))) * (threads or 0):
            self._next.put(number)
        self._rows = [self._prepared(keyspace, number, variant, keys) for number, variant in enumerate(variants)]
        self._done: list[tuple[Any, ...]] = []
        self._numbers = itertools.count()
        self._under_way: set[int] = set()  # numbers of requests that are not settled
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._pacer = threading.Thread(target=self._pace, name="faults-pacer", daemon=True)
        self.begun_s = float("nan")  # when the schedule begins, on `time.perf_counter`
        self.held_up = 0  # writes that were due while every row of their variant was being written; they were not sent

    def _prepared(self, keyspace: str, number: int, variant: Variant, keys: int) -> _Rows:
        table = f"{keyspace}.{variant.table}"
        setting = variant.setting
        statements = []
        for query, level in (
            (f"UPDATE {table} SET version = ?, filler = ? WHERE id = ?", setting.write_cl),
            (f"SELECT version FROM {table} WHERE id = ?", setting.read_cl),
        ):
            statement = self._session.prepare(query)
            statement.consistency_level = ConsistencyLevel.name_to_value[level]
            statement.is_idempotent = variant.driver in IDEMPOTENT
            statements.append(statement)
        names = [f"v{number}-{key}" for key in range(keys)]
        return _Rows(names, statements[0], statements[1], free=deque(names))

    def fill(self) -> pd.DataFrame:
        """Write version 1 of every row at ALL; the writes, as the checker has them, times on `time.perf_counter`.

        Raise LaboratoryError if one cannot be written.
        """
        written = []
        for number, (variant, rows) in enumerate(zip(self._variants, self._rows, strict=True)):
            insert = self._session.prepare(
                f"INSERT INTO {self._keyspace}.{variant.table} (version, filler, id) VALUES (1, ?, ?)"
            )
            insert.consistency_level = ConsistencyLevel.ALL
            began_s = _clock()
            done = execute_concurrent_with_args(
                self._session, insert, [(_FILLER, key) for key in rows.keys],
                concurrency=_FILL_AT_ONCE, raise_on_first_error=False, execution_profile="next_host",
            )  # fmt: skip
            if failed := [str(result) for good, result in done if not good]:
                raise LaboratoryError(f"{len(failed)} of {len(rows.keys)} rows could not be written: {failed[0]}")
            rows.versions.update(dict.fromkeys(rows.keys, 1))
            written += [(key, 1, began_s, _clock(), 0, number) for key in rows.keys]
        return pd.DataFrame(written, columns=["key", "version", "sent_s", "acked_s", "coordinator", "variant"])

    def __enter__(self) -> FaultLoad:
        self.begun_s = _clock() + self._before_s
        self._pacer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Send no more, and wait until all that was sent has been answered or given up."""
        self._stop.set()
        self._pacer.join()
        longest_s = max(profile.request_timeout for profile in self._profiles()) + 1
        deadline = _clock() + 3 * longest_s
        while self._under_way and _clock() < deadline:
            time.sleep(_NAP_S)

    def _profiles(self) -> list[Any]:
        return [self._session.get_execution_profile(variant.driver) for variant in self._variants]

    def check(self) -> None:
        """Raise LaboratoryError if no further request could be made, or some were never settled."""
        if self._failure is not None:
            raise LaboratoryError(f"the load of the faults cannot go on: {self._failure}") from self._failure
        if self._stop.is_set() and self._under_way:
            raise LaboratoryError(f"the driver never settled {len(self._under_way)} requests")

    def all_keys(self) -> list[list[str]]:
        """Keys of each variant's rows."""
        return [rows.keys for rows in self._rows]

    def requests(self) -> pd.DataFrame:
        """Return all requests that are settled, in order of their end: columns `REQUESTS`, times since `begun_s`."""
        table = pd.DataFrame(self._done, columns=list(REQUESTS))
        times = ["due_s", "sent_s", "ended_s"]
        table[times] -= self.begun_s
        return table

    def _pace(self) -> None:
        try:
            if self._closed:
                self._send_when_settled()
            else:
                self._send_when_due()
        except BaseException as error:
            self._failure = error

    def _send_when_settled(self) -> None:
        """Send a request of a variant for each of its that has been settled."""
        while not self._stop.is_set():
            with suppress(Empty):
                number = self._next.get(timeout=_NAP_S)
                self._send(number, _READ if self._rng.random() < self._read_share else _UPDATE, _clock())

    def _send_when_due(self) -> None:
        """Send each request when it is due; whose turn it is is drawn anew for every round of all."""
        turns: list[tuple[int, str]] = []
        count = 0
        while not self._stop.is_set():
            due_s = self.begun_s - self._before_s + count * self._interval_s
            wait_s = due_s - _clock()
            if wait_s > 0:
                self._stop.wait(min(wait_s, _NAP_S))
                continue
            if not turns:
                turns = self._round()
            number, operation = turns.pop()
            self._send(number, operation, due_s)
            count += 1

    def _round(self) -> list[tuple[int, str]]:
        """One request of each variant, in random order."""
        order = self._rng.permutation(len(self._variants)).tolist()
        reads = self._rng.random(len(order)) < self._read_share
        return [(number, _READ if read else _UPDATE) for number, read in zip(order, reads, strict=True)]

    def _send(self, number: int, operation: str, due_s: float) -> None:
        rows, variant = self._rows[number], self._variants[number]
        values: tuple[Any, ...]
        if operation == _READ:
            key, version = self._key_to_read(rows), 0
            statement, values = rows.read, (key,)
        else:
            if not rows.free:
                self.held_up += 1
                return
            key = rows.free.popleft()
            version = rows.versions[key] = rows.versions.get(key, 0) + 1
            statement, values = rows.write, (version, _FILLER, key)
        request_number = next(self._numbers)
        with self._lock:
            self._under_way.add(request_number)
        started = (request_number, number, operation, due_s, _clock(), key, version)
        try:
            request = self._ask(number, operation, statement, values, variant.driver)
        except Exception as error:  # what the driver refuses at once: no node is up
            self._settled(started, outcome_of(error), "")
            return
        given = (started, request)
        _future(request).add_callbacks(self._answered, self._failed, callback_args=given, errback_args=given)

    def _ask(self, number: int, operation: str, statement: Any, values: tuple[Any, ...], driver: str) -> Any:
        """Send a request through the variant's own sender, or at the levels of its setting."""
        if number in self._senders:
            sender = self._senders[number][operation == _UPDATE]
            return sender.execute_async(statement, values, execution_profile=driver)
        return self._session.execute_async(statement.bind(values), execution_profile=driver)

    def _key_to_read(self, rows: _Rows) -> str:
        among = rows.recent if rows.recent and self._rng.random() < _RECENT_SHARE else rows.keys
        return among[int(self._rng.integers(len(among)))]  # what is written last only ever grows, to its bound

    def _answered(self, result: Any, started: tuple[Any, ...], request: Any) -> None:
        if started[2] == _READ:
            row = result[0] if result else None
            self._settled(started, OK, _coordinator(request), int(row[0]) if row and row[0] else 0)
            return
        try:
            request.result()  # an adviser may not believe an acknowledgement that came too late
        except OutcomeUnknown:
            self._settled(started, CLIENT_TIMEOUT, _coordinator(request))
        else:
            self._settled(started, OK, _coordinator(request))

    def _failed(self, error: BaseException, started: tuple[Any, ...], request: Any) -> None:
        self._settled(started, outcome_of(error), _coordinator(request))

    def _settled(self, started: tuple[Any, ...], outcome: int, coordinator: str, read: int | None = None) -> None:
        request_number, number, operation, due_s, sent_s, key, version = started
        ended_s = _clock()
        with self._lock:
            if request_number not in self._under_way:
                return  # the driver tells the answers of a speculative execution too: the first one counts
            self._under_way.remove(request_number)
        version = version if read is None else read
        self._done.append((number, operation, outcome, due_s, sent_s, ended_s, key, version, coordinator))
        if operation == _UPDATE:
            rows = self._rows[number]
            rows.recent.append(key)
            rows.free.append(key)
        if self._closed:
            self._next.put(number)


def _future(request: Any) -> Any:
    """Return the driver's own future of a request."""
    return getattr(request, "future", request)


def _coordinator(request: Any) -> str:
    """Address of the node that answered; empty if none did."""
    host = _future(request).coordinator_host
    return str(host.address) if host is not None else ""
