"""A probe of staleness on a live cluster: write versions of a row, wait, and read it through another coordinator.

A *prober* has one row, of which it is the only writer, and one request in flight at a time: it writes one version or
more, each when the one before was acknowledged, waits for t after the last acknowledgement, and reads once. So every
read is of a version that nobody has read before: what a read at a higher level repairs cannot flatter the next.
Timestamps are the client's, rising with the versions. Everything happens in the driver's event loop thread, on the
light path.
"""

from __future__ import annotations

import itertools
import re
import struct
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from cassandra.cluster import Session

from cassbook.core import schema
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.lab.engine.connect import define
from cassbook.lab.load import wire
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.ycsb import create_keyspace
from cassbook.profile.open import TRACED_PAUSE_MS
from cassbook.staleness.checker import READS, WRITES

TABLE = "staleness"
_VERSION = re.compile(rb"version=(\d{12})")
_encoded_bigint = struct.Struct(">iq").pack
_POLL_S = 0.05
_clock = time.perf_counter
_NEVER = float("inf")
_DRAWS = 1 << 14  # about so many of waits and coordinators before they come again in the same order


@dataclass(frozen=True, slots=True)
class Panel:
    """The levels, waits and rows of one probe.

    Attributes
    ----------
    read_cl, write_cl : str
    t_ms : tuple of float
        Waits: every one as often, with every other coordinator as often.
    versions : int
        Written before each read.
    probers : int
        Rows, each with one request in flight at a time.
    pause_ms : float
        From a read's answer to the next write: what keeps a probe from being a load.
    traced : int
        Probers more whose requests are traced by the cluster. They write at ALL, for a trace ends with the last answer
        that is waited for. What they see is not counted: it is another level, and tracing takes time.
    traced_pause_ms : float
        Their pause.
    same : bool
        Whether half of the reads go through the coordinator of their write; otherwise none does.
    """

    read_cl: str
    write_cl: str
    t_ms: tuple[float, ...]
    versions: int = 1
    probers: int = 20
    pause_ms: float = 0.0
    traced: int = 0
    traced_pause_ms: float = TRACED_PAUSE_MS
    same: bool = False

    def ways(self, nodes: int) -> list[tuple[float, int]]:
        """Waits in ms, and by how many nodes farther on the reader's coordinator is: each as often as the others."""
        hops = list(range(1, nodes))
        return [(t, hop) for t in self.t_ms for hop in (*hops, *([0] * max(1, len(hops)) if self.same else []))]

    def __post_init__(self) -> None:
        if not self.t_ms or not all(t >= 0 for t in self.t_ms):
            raise InputError(f"t_ms: {self.t_ms!r} are no waits; give some, none of them negative")
        if self.versions < 1 or self.probers < 1:
            raise InputError("versions and probers: one at least")


@dataclass(frozen=True, eq=False)
class History:
    """The writes and reads of a probe.

    Attributes
    ----------
    writes : DataFrame
        `checker.WRITES`, and coordinator.
    reads : DataFrame
        `checker.READS`, and asked_t_ms, writer, reader (coordinators of the last write and of the read).
    lost : int
        Reads without an answer.
    traced : DataFrame
        Requests of the traced probers: session_id, kind (READ or UPDATE), coordinator, key, latency_ms.
    """

    writes: pd.DataFrame
    reads: pd.DataFrame
    lost: int
    traced: pd.DataFrame


def create(session: Session, keyspace: str, major: tuple[int, int], replication: int | Mapping[str, int]) -> None:
    """Create the probe's table, on which nothing but writes brings rows to replicas.

    No read repair by chance, no speculative retry; what a blocking read repair heals nobody reads again.
    """
    create_keyspace(session, keyspace, replication)
    if major >= (4, 0):
        options = "read_repair = 'NONE' AND speculative_retry = 'NEVER'"
    else:
        options = "read_repair_chance = 0.0 AND dclocal_read_repair_chance = 0.0 AND speculative_retry = 'NONE'"
    define(session, f"CREATE TABLE IF NOT EXISTS {keyspace}.{TABLE} (id text PRIMARY KEY, value text) WITH {options}")


class Row(Protocol):
    """The row of one prober: how its versions are written and read."""

    name: str
    read: bytes  # the whole body of the request

    def write(self, version: int, stamp_us: int) -> bytes:
        """Return the body that writes a version at a time stamp."""

    def seen(self, body: bytes) -> int:
        """Return the version in the answer to a read; 0 where there is no row."""


class Rows(Protocol):
    """Makes rows for probers."""

    def row(self, number: int, read_cl: str, write_cl: str) -> Row:
        """Return row `number` of all that are ever probed."""


class OneTable:
    """Rows of the probe's own table, which `create` has made."""

    def __init__(self, session: Session, keyspace: str) -> None:
        table = f"{keyspace}.{TABLE}"
        self._write = session.prepare(f"UPDATE {table} USING TIMESTAMP ? SET value = ? WHERE id = ?").query_id
        self._read = session.prepare(f"SELECT value FROM {table} WHERE id = ?").query_id

    def row(self, number: int, read_cl: str, write_cl: str) -> Row:
        """Return row `number`."""
        prefixes = wire.execute_prefix(self._write, write_cl, 3), wire.execute_prefix(self._read, read_cl, 1)
        return _OneRow(f"prober{number}", *prefixes)


class _OneRow:
    def __init__(self, name: str, write_prefix: bytes, read_prefix: bytes) -> None:
        self.name, self._prefix, self._key = name, write_prefix, wire.value(name.encode())
        self.read = read_prefix + self._key

    def write(self, version: int, stamp_us: int) -> bytes:
        return self._prefix + _encoded_bigint(8, stamp_us) + wire.value(b"version=%012d" % version) + self._key

    def seen(self, body: bytes) -> int:
        match = _VERSION.search(body)
        return int(match[1]) if match else 0


class Probe:
    """Probers on a cluster; as many panels as wanted, together or one after the other.

    Parameters
    ----------
    rows : Rows
        Whose versions are written and read.
    nodes : Nodes
        Two at least, where a read goes through another coordinator than its write.
    rng : numpy.random.Generator
    timeout_s : float
    """

    def __init__(self, rows: Rows, nodes: Nodes, rng: np.random.Generator, timeout_s: float = 12.0) -> None:
        self._rows, self._nodes, self._rng, self.timeout_s = rows, nodes, rng, timeout_s
        self._used = 0  # rows of earlier panels

    def run(self, panels: Sequence[Panel], seconds: float) -> list[History]:
        """Probe panels for so long, all at once: whatever the machine does meanwhile, it does to each of them.

        Returns
        -------
        list of History
            Of each panel.

        Raises
        ------
        InputError
            On one node, for a panel whose reads go through another.
        LaboratoryError
            If a prober cannot go on.
        """
        if not all(panel.ways(len(self._nodes.addresses)) for panel in panels):
            raise InputError("probe: a read goes through another coordinator than its write; the cluster has one node")
        runs = [_Run(panel, self._nodes, self._rng) for panel in panels]
        probers = [prober for run in runs for prober in self._probers(run)]
        until = _clock() + seconds
        for place, prober in enumerate(probers):  # not all in one moment
            prober.start(1000 * min(seconds / 4, 0.2) * place / len(probers))
        while _clock() < until:
            self._keep_house(runs, probers)
        for run in runs:
            run.stopping = True
        deadline = _clock() + 2 * self.timeout_s
        while not all(prober.idle for prober in probers) and _clock() < deadline:
            self._keep_house(runs, probers)
        return [run.history() for run in runs]

    def _keep_house(self, runs: Sequence[_Run], probers: Sequence[_Prober]) -> None:
        for run in runs:
            if run.failure:
                raise LaboratoryError(f"the probe cannot go on: {run.failure}") from run.failure
        time.sleep(_POLL_S)
        before = _clock() - self.timeout_s
        for prober in probers:
            if prober.sent_s < before:
                prober.give_up()
        if any(connection.gone for pool in self._nodes.connections for connection in pool):
            self._nodes.reopen()

    def _probers(self, run: _Run) -> list[_Prober]:
        panel, count, first = run.panel, len(self._nodes.addresses), self._used
        total = panel.probers + panel.traced
        self._used += total
        probers = []
        for number in range(total):
            traced = number >= panel.probers
            row = self._rows.row(first + number, panel.read_cl, "ALL" if traced else panel.write_cl)
            probers.append(_Prober(run, row, number % count, traced))
        return probers


class _Run:
    """One panel while it is probed."""

    def __init__(self, panel: Panel, nodes: Nodes, rng: np.random.Generator) -> None:
        self.panel, self.nodes = panel, nodes
        self.stopping = False
        self.failure: Exception | None = None
        self.writes: list[tuple[Any, ...]] = []
        self.reads: list[tuple[Any, ...]] = []
        self.traced: list[tuple[Any, ...]] = []
        self.lost = 0
        kinds = panel.ways(len(nodes.addresses))
        rounds = max(1, _DRAWS // len(kinds))
        order = np.concatenate([rng.permutation(len(kinds)) for _ in range(rounds)])
        self._draws = itertools.cycle([kinds[place] for place in order])

    def draw(self) -> tuple[float, int]:
        """A wait in ms, and by how many nodes farther on the reader's coordinator is."""
        return next(self._draws)

    def after(self, delay_ms: float, what: Callable[[], None]) -> None:
        """Have something done by the event loop's thread."""
        self.nodes.create_timer(max(0.0, delay_ms) / 1000, what)

    def history(self) -> History:
        """Return what was seen."""
        writes = pd.DataFrame(self.writes, columns=[*WRITES, "coordinator"])
        reads = pd.DataFrame(self.reads, columns=[*READS, "asked_t_ms", "writer", "reader"])
        traced = pd.DataFrame(self.traced, columns=["session_id", "kind", "coordinator", "key", "latency_ms"])
        return History(writes, reads, self.lost, traced)


class _Prober:
    """One row, and the request of it that is in flight."""

    def __init__(self, run: _Run, row: Row, writer: int, traced: bool = False) -> None:
        self._run, self._row, self._name, self._writer = run, row, row.name, writer
        self._traced, self._pause_ms = traced, run.panel.traced_pause_ms if traced else run.panel.pause_ms
        self._trace = b""
        self._version = 0
        self._stamp_us = 0
        self._left = 0
        self._reading = False
        self._reader, self._asked_t_ms = 0, 0.0
        self._connection: Any = None
        self._stream = 0
        self._ticket: list[bool] = []
        self.sent_s = _NEVER  # infinite while nothing is in flight
        self.idle = False

    def start(self, delay_ms: float) -> None:
        """Begin with the first cycle after so long."""
        self._run.after(delay_ms, self.cycle)

    def cycle(self) -> None:
        """Write the next versions, and read."""
        if self._run.stopping:
            self.idle = True
            return
        self._left = self._run.panel.versions
        self._write_next()

    def _write_next(self) -> None:
        self._left -= 1
        self._version += 1
        self._stamp_us = max(self._stamp_us + 1, time.time_ns() // 1000)
        self._ask(self._writer, self._row.write(self._version, self._stamp_us), reading=False)

    def _read(self) -> None:
        if self._run.stopping:  # the load that it is beside ends as well
            self.idle = True
            return
        self._ask(self._reader, self._row.read, reading=True)

    def _ask(self, node: int, body: bytes, reading: bool) -> None:
        self._connection, self._reading = self._run.nodes.connections[node][0], reading
        ticket = self._ticket = [True]
        self.sent_s = _clock()
        try:
            self._stream = self._connection.ask_later(body, self, ticket, self._traced)
            self._connection.flush()
        except (ConnectionError, IndexError):
            self.lost(ticket)
        except Exception as error:
            self._run.failure = error

    def traced(self, session_id: bytes) -> None:
        """Learn which trace the answer that comes next has."""
        self._trace = session_id

    def answered(self, ticket: list[bool], now: float, opcode: int, body: bytes) -> None:
        """Take an answer; called by the event loop's thread."""
        try:
            ticket.pop()
        except IndexError:  # given up before
            return
        if self._reading:
            self._has_read(now, wire.judge(opcode, body, b"", 0) == schema.OK, body)
        else:
            self._has_written(now, wire.judge(opcode, body, None) == schema.OK)

    def _has_written(self, now: float, done: bool) -> None:
        run = self._run
        acked_s = now if done else float("nan")
        if self._traced:
            self._note_trace("UPDATE", self._writer, now, done)
        else:
            run.writes.append((self._name, self._version, self.sent_s, acked_s, self._writer))
        self.sent_s = _NEVER
        if not done:
            run.after(self._pause_ms, self.cycle)
        elif self._left:
            self._write_next()
        else:
            self._asked_t_ms, hop = run.draw()
            self._reader = (self._writer + hop) % len(run.nodes.addresses)
            if self._asked_t_ms > 0:
                run.after(self._asked_t_ms - 1000 * (_clock() - now), self._read)
            else:
                self._read()

    def _has_read(self, now: float, done: bool, body: bytes) -> None:
        run = self._run
        if self._traced:
            self._note_trace("READ", self._reader, now, done)
        elif done:
            version = self._row.seen(body)
            run.reads.append(
                (self._name, self.sent_s, now, version, self._asked_t_ms, self._writer, self._reader)
            )  # fmt: skip
        else:
            run.lost += 1
        self.sent_s = _NEVER
        run.after(self._pause_ms, self.cycle)

    def _note_trace(self, kind: str, coordinator: int, now: float, done: bool) -> None:
        if done and self._trace:
            session_id = str(uuid.UUID(bytes=self._trace))
            self._run.traced.append((session_id, kind, coordinator, self._name, (now - self.sent_s) * 1000))
        self._trace = b""

    def lost(self, ticket: list[bool]) -> None:
        """Take it that no answer will come; called by any thread."""
        try:
            ticket.pop()
        except IndexError:
            return
        # What follows belongs to the event loop's thread; a connection that is gone is not asked in a tight circle.
        if self._reading:
            self._run.after(_POLL_S * 1000, lambda: self._has_read(_clock(), False, b""))
        else:
            self._run.after(_POLL_S * 1000, lambda: self._has_written(_clock(), False))

    def give_up(self) -> None:
        """Wait no longer for what is in flight."""
        self._connection.forget(self._stream)
        self.lost(self._ticket)
