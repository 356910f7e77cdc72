"""The register of many processes: one partition in Cassandra, changed by lightweight transactions only.

The epoch stands in static columns, each member in a row, so that one condition (`IF number = ...`) covers both. A
transaction that times out may have taken effect; every method may be called again, and the adviser looks anew each
time.

Looking is a plain read at QUORUM. A change that its caller knows of has been committed at QUORUM, so that it is
seen; one still under way may be seen or not. Seen, it is decided, and will stay. Not seen, the beat that follows each
look finds the other number and is refused. A read at SERIAL would say no more, and compete with the beats.

All clients begin with the same coordinator, the first replica of the partition. A transaction that another one gets
ahead of on one replica waits for the last replica's word: for its whole time-out, if that one is dead and the
coordinators do not know it yet. A coordinator that hangs says nothing either. So what is not answered in good
time is asked again through the next coordinator, after a while that is drawn, or the two that got in each other's way
would meet again. All may make the same change; that is one change, for its condition holds once, or it says the same
twice.
"""

from __future__ import annotations

import random
import re
import time
from contextlib import suppress
from itertools import cycle, islice
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from cassandra import ConsistencyLevel, InvalidRequest, OperationTimedOut, Timeout
from cassandra.cluster import NoHostAvailable, ResponseFuture, Session
from cassandra.connection import ConnectionException

from cassbook_advisor.errors import InputError
from cassbook_advisor.regime import Regime
from cassbook_advisor.register import Epoch, Presence, View, check_same
from cassbook_advisor.window import Load

_TABLE = """
CREATE TABLE IF NOT EXISTS {table} (
    name text, member text,
    number int static, replicas int static, reads int static, writes int static, floor int static,
    wanted_reads int static, wanted_writes int static,
    entered int, beat bigint, per_s double, read_share double, in_flight double, failing_share double, alive int,
    PRIMARY KEY (name, member)) WITH speculative_retry = '20ms'
"""
#: Columns that a table of before has not.
_LATER = {"failing_share": "double", "alive": "int"}
#: A request is given up after this time, well before a lease is over.
_TIMEOUT_S = 2.0
#: It is asked again through the next coordinator after this time, or twice what the last answer took, by lot up to
#: twice as long; each time so many times later, or those that are slow would only get in each other's way; and no more
#: often than so.
_PATIENCE_S, _LATER_BY, _AT_MOST = 0.15, 2.0, 6
#: For so long a coordinator that did not answer first is not asked first.
_SHUNNED_S = 30.0
#: Errors after which another coordinator may still do it.
_GIVEN_UP = (Timeout, OperationTimedOut, NoHostAvailable, ConnectionException)
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
_EPOCH = ("number", "replicas", "reads", "writes", "floor", "wanted_reads", "wanted_writes")


class _Asked(NamedTuple):
    """A coordinator, by its place, that has answered; how long that took."""

    place: int
    took_s: float
    answer: ResponseFuture


class InCassandra:
    """A register in the cluster that the advisers advise on.

    `session`: of the driver; stays the caller's. `keyspace`: where the table is, or is made; of three replicas or more,
    or nothing survives the loss of one. `name`: of the group of clients that share data.

    Raises InputError for a keyspace or table that is no plain lower-case name, or a keyspace that is not there.
    """

    def __init__(self, session: Session, keyspace: str, name: str, table: str = "adviser_register") -> None:
        for what, value in (("keyspace", keyspace), ("table", table)):
            if not _IDENTIFIER.fullmatch(value):
                raise InputError(f"{what}: {value!r} is no plain lower-case name")
        if keyspace not in session.cluster.metadata.keyspaces:
            raise InputError(f"keyspace: there is no {keyspace!r} in this cluster")
        self._session, self._name = session, name
        full = f"{keyspace}.{table}"
        session.execute(_TABLE.format(table=full))
        columns = ", ".join(_EPOCH)
        marks = ", ".join("?" * len(_EPOCH))
        changed = ", ".join(f"{column} = ?" for column in _EPOCH)
        self._open = session.prepare(f"INSERT INTO {full} (name, {columns}) VALUES (?, {marks}) IF NOT EXISTS")
        beat = (
            f"UPDATE {full} SET entered = ?, beat = ?, per_s = ?, read_share = ?, in_flight = ?, failing_share = ?, "
            "alive = ? "
            "WHERE name = ? AND member = ? IF number = ?"
        )
        try:
            self._beat = session.prepare(beat)
        except InvalidRequest:  # a table of before
            for column, kind in _LATER.items():
                with suppress(InvalidRequest):  # this one is there
                    session.execute(f"ALTER TABLE {full} ADD {column} {kind}")
            self._beat = session.prepare(beat)
        self._look = session.prepare(f"SELECT * FROM {full} WHERE name = ?")
        self._advance = session.prepare(f"UPDATE {full} SET {changed} WHERE name = ? IF number = ?")
        self._leave = session.prepare(f"DELETE FROM {full} WHERE name = ? AND member = ? IF beat = ?")
        self._look.consistency_level = ConsistencyLevel.QUORUM
        for statement in (self._open, self._beat, self._advance, self._leave):
            statement.consistency_level = ConsistencyLevel.QUORUM
            statement.serial_consistency_level = ConsistencyLevel.SERIAL
        key = self._look.bind((name,)).routing_key
        self._coordinators = session.cluster.metadata.get_replicas(keyspace, key) or [None]
        self._silent_at: dict[int, float] = {}  # when which of these did not answer, by its place
        self._took_s = 0.0
        self._rng = random.Random()  # noqa: S311 - who waits longer

    def open(self, first: Epoch) -> None:
        self._execute(self._open, (self._name, *_values(first)))
        check_same(self.look().epoch, first)

    def look(self) -> View:
        rows = list(self._execute(self._look, (self._name,)))
        if not rows:
            raise InputError(f"register {self._name!r}: there is none; an adviser opens it first")
        members = {row.member: _presence(row) for row in rows if row.member is not None and row.beat is not None}
        return View(_epoch(rows[0]), members)

    def beat(self, member: str, presence: Presence, number: int) -> bool:
        load = presence.load
        share = None if load.read_share != load.read_share else load.read_share
        values = (
            presence.entered,
            presence.beat,
            load.per_s,
            share,
            load.in_flight,
            load.failing_share,
            presence.alive,
        )
        return self._applied(self._beat, (*values, self._name, member, number))

    def advance(self, epoch: Epoch) -> bool:
        return self._applied(self._advance, (*_values(epoch), self._name, epoch.number - 1))

    def leave(self, member: str, beat: int) -> None:
        self._applied(self._leave, (self._name, member, beat))

    def _applied(self, statement: Any, values: tuple[Any, ...]) -> bool:
        return bool(self._execute(statement, values).was_applied)

    def _execute(self, statement: Any, values: tuple[Any, ...]) -> Any:
        """Ask a coordinator, and the next ones as well while none answers in good time: the first answer counts."""
        answers: SimpleQueue[_Asked] = SimpleQueue()
        order = sorted(range(len(self._coordinators)), key=self._reluctance)
        to_ask = list(islice(cycle(order), _AT_MOST))
        silent: list[int] = []
        patience_s = max(_PATIENCE_S, 2 * self._took_s)
        until_s = time.monotonic() + _TIMEOUT_S
        while True:
            if to_ask:
                silent.append(to_ask.pop(0))
                self._send(silent[-1], statement, values, until_s - time.monotonic(), answers)
            asked = None
            with suppress(Empty):  # it may answer yet
                asked = answers.get(timeout=patience_s * self._rng.uniform(1, 2) if to_ask else None)
            if until_s - time.monotonic() < _PATIENCE_S:
                to_ask.clear()
            if asked is None:
                patience_s *= _LATER_BY
                continue
            silent.remove(asked.place)
            try:
                rows = asked.answer.result()
            except _GIVEN_UP:  # other errors are final
                self._silent_at[asked.place] = time.monotonic()
                if not (silent or to_ask):
                    raise
                continue
            self._took_s = asked.took_s
            self._silent_at |= dict.fromkeys(silent, time.monotonic())
            return rows

    def _send(
        self, place: int, statement: Any, values: tuple[Any, ...], timeout_s: float, answers: SimpleQueue[_Asked]
    ) -> None:
        began = time.monotonic()
        future = self._session.execute_async(statement, values, host=self._coordinators[place], timeout=timeout_s)
        tell = lambda _: answers.put(_Asked(place, time.monotonic() - began, future))  # noqa: E731
        future.add_callbacks(tell, tell)

    def _reluctance(self, place: int) -> tuple[bool, float]:
        """Whom to ask: the first that is up, as the driver has it, and has not been silent; else the longest ago."""
        is_down = getattr(self._coordinators[place], "is_up", None) is False
        silent_at = self._silent_at.get(place, float("-inf"))
        return is_down, silent_at if time.monotonic() - silent_at < _SHUNNED_S else float("-inf")


def _values(epoch: Epoch) -> tuple[int, ...]:
    regime = epoch.regime
    return (epoch.number, regime.replicas, regime.reads, regime.writes, regime.floor, *epoch.wanted)


def _epoch(row: Any) -> Epoch:
    regime = Regime(row.replicas, row.reads, row.writes, row.floor)
    return Epoch(row.number, regime, (row.wanted_reads, row.wanted_writes))


def _presence(row: Any) -> Presence:
    share = float("nan") if row.read_share is None else row.read_share
    return Presence(row.entered, row.beat, Load(row.per_s, share, row.in_flight, row.failing_share or 0.0), row.alive)
