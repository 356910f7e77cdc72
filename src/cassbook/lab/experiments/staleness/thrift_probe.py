"""The probe over Thrift, for Cassandra 1.2: what `probe` does on the light path, done by one thread per row.

A row's cycle is that of `probe`: versions written, a wait, one read through another coordinator.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.errors import InputError
from cassbook.lab.engine.thrift import StudyCluster, client, interface
from cassbook.lab.load.staleness_probe import History, Panel
from cassbook.staleness.checker import READS, WRITES

COLUMN = b"version"
_clock = time.perf_counter
_SPREAD_S = 1.0  # rows do not begin all at once


class ThriftProbe:
    """Rows on a cluster of 1.2; as many panels as wanted, one after the other, each on rows of its own.

    For each node as the writer's coordinator, and each node as a row's first replica, it has one row, or more. The
    cluster is ready and has two nodes at least, the table is made by `StudyCluster.create`.
    """

    def __init__(self, cluster: StudyCluster, keyspace: str, table: str, rng: np.random.Generator) -> None:
        if cluster.spec.nodes < 2:  # noqa: PLR2004
            raise InputError("probe: a read goes through another coordinator than its write; the cluster has one node")
        self._cluster, self._table, self._rng = cluster, table, rng
        self._clients = [_Clients(address, keyspace) for address in cluster.addresses]
        self._replicas = cluster.replicas(keyspace)
        self._names = (b"row%d" % number for number in count())

    def close(self) -> None:
        for pool in self._clients:
            pool.close()

    def run(self, panel: Panel, seconds: float) -> tuple[History, dict[str, tuple[str, ...]]]:
        """Probe for so long; return the history, and the rows' replicas by key.

        `probers` of the panel is the number of rows for each pair of writer and first replica. With `traced` all of
        them are: they write at ALL, and what they see is not counted. Raise LaboratoryError if a row cannot go on.
        """
        rows = self._rows(panel.probers)
        over = threading.Event()
        seeds = self._rng.spawn(len(rows))
        with ThreadPoolExecutor(len(rows)) as pool:
            probers = [
                _Prober(self._clients, self._table, panel, key, writer, seed, over)
                for (key, writer), seed in zip(rows, seeds, strict=True)
            ]
            futures = [pool.submit(prober.run) for prober in probers]
            wait(futures, timeout=seconds, return_when=FIRST_EXCEPTION)
            over.set()
        for future in futures:
            future.result()
        seen = [prober.seen for prober in probers]
        return _history(seen), {key.decode(): self._replicas(key) for key, _ in rows}

    def _rows(self, each: int) -> list[tuple[bytes, int]]:
        """New rows: key, and index of the node through which it is written."""
        nodes = self._cluster.broadcast_addresses
        wanted = {place: [writer for writer in range(len(nodes)) for _ in range(each)] for place in nodes}
        rows = []
        for key in self._names:
            if left := wanted[self._replicas(key)[0]]:
                rows.append((key, left.pop()))
            if not any(wanted.values()):
                break
        return rows


@dataclass
class _Seen:
    """What a row has seen."""

    writes: list[tuple[Any, ...]] = field(default_factory=list)
    reads: list[tuple[Any, ...]] = field(default_factory=list)
    traced: list[tuple[Any, ...]] = field(default_factory=list)
    lost: int = 0


def _history(seen: Sequence[_Seen]) -> History:
    def table(name: str, columns: list[str]) -> pd.DataFrame:
        return pd.DataFrame([row for part in seen for row in getattr(part, name)], columns=columns)

    return History(
        table("writes", [*WRITES, "coordinator"]), table("reads", [*READS, "asked_t_ms", "writer", "reader"]),
        sum(part.lost for part in seen),
        table("traced", ["session_id", "kind", "coordinator", "key", "latency_ms"]),
    )  # fmt: skip


class _Clients:
    """Connections to one node, each lent to one thread at a time."""

    def __init__(self, address: str, keyspace: str) -> None:
        self._address, self._keyspace = address, keyspace
        self._free: deque[Any] = deque()

    @contextmanager
    def lent(self) -> Iterator[Any]:
        """A connection; one that fails is not lent again."""
        connection = self._free.pop() if self._free else self._new()
        try:
            yield connection
        except _refusals():
            self._free.append(connection)
            raise
        except BaseException:
            connection.close()
            raise
        self._free.append(connection)

    def _new(self) -> Any:
        connection = client(self._address)
        connection.set_keyspace(self._keyspace)
        return connection

    def close(self) -> None:
        while self._free:
            self._free.pop().close()


class _Prober:
    """One row."""

    def __init__(
        self, clients: Sequence[_Clients], table: str, panel: Panel, key: bytes, writer: int,
        rng: np.random.Generator, over: threading.Event,
    ) -> None:  # fmt: skip
        self._clients, self._table, self._panel, self._key, self._writer = clients, table, panel, key, writer
        self._rng, self._over, self._traced = rng, over, bool(panel.traced)
        self._version, self._stamp_us = 0, 0
        self.seen = _Seen()

    def run(self) -> None:
        """Go on until it is over."""
        self._over.wait(_SPREAD_S * self._rng.random())
        while not self._over.is_set():
            self._cycle()
            self._over.wait(self._panel.pause_ms / 1000)

    def _cycle(self) -> None:
        acked_s = float("nan")
        for _ in range(self._panel.versions):
            acked_s = self._write()
            if np.isnan(acked_s):
                return
        asked_t_ms = float(self._rng.choice(self._panel.t_ms))
        reader = (self._writer + int(self._rng.integers(1, len(self._clients)))) % len(self._clients)
        if asked_t_ms:
            time.sleep(max(0.0, asked_t_ms / 1000 - (_clock() - acked_s)))
        self._read(reader, asked_t_ms)

    def _write(self) -> float:
        """Write the next version; when it was acknowledged, NaN if it was not."""
        thrift = interface()
        self._version += 1
        self._stamp_us = max(self._stamp_us + 1, time.time_ns() // 1000)
        stamped = thrift.Column(name=COLUMN, value=b"%d" % self._version, timestamp=self._stamp_us)
        parent = thrift.ColumnParent(column_family=self._table)
        level = getattr(thrift.ConsistencyLevel, "ALL" if self._traced else self._panel.write_cl)
        sent_s, acked_s = _clock(), float("nan")
        with suppress(*_failures()), self._clients[self._writer].lent() as connection:
            session = connection.trace_next_query() if self._traced else b""
            sent_s = _clock()
            connection.insert(self._key, parent, stamped, level)
            acked_s = _clock()
            self._note(session, "UPDATE", self._writer, acked_s - sent_s)
        if not self._traced:
            self.seen.writes.append((self._key.decode(), self._version, sent_s, acked_s, self._writer))
        return acked_s

    def _read(self, reader: int, asked_t_ms: float) -> None:
        thrift = interface()
        path = thrift.ColumnPath(column_family=self._table, column=COLUMN)
        level = getattr(thrift.ConsistencyLevel, self._panel.read_cl)
        version: int | None = None
        sent_s = returned_s = _clock()
        with suppress(*_failures()), self._clients[reader].lent() as connection:
            session = connection.trace_next_query() if self._traced else b""
            sent_s = _clock()
            try:
                result = connection.get(self._key, path, level)
                version = int(result.column.value)
            except thrift.NotFoundException:
                version = 0
            returned_s = _clock()
            self._note(session, "READ", reader, returned_s - sent_s)
        if version is None:
            self.seen.lost += 1
        elif not self._traced:
            self.seen.reads.append(
                (self._key.decode(), sent_s, returned_s, version, asked_t_ms, self._writer, reader)
            )  # fmt: skip

    def _note(self, session: bytes, kind: str, coordinator: int, took_s: float) -> None:
        if session:
            row = (str(uuid.UUID(bytes=session)), kind, coordinator, self._key.decode(), took_s * 1000)
            self.seen.traced.append(row)


def _refusals() -> tuple[type[Exception], ...]:
    """What a node may answer instead."""
    thrift = interface()
    return (thrift.TimedOutException, thrift.UnavailableException)


def _failures() -> tuple[type[Exception], ...]:
    """A request that has no result; a connection that cannot be made anew is another matter."""
    from thriftpy2.transport import TTransportException  # noqa: PLC0415 - needed for this version only

    return (*_refusals(), TTransportException, OSError)
