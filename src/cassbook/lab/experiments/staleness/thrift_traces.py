"""Fetch what a cluster of 1.2 has traced, over Thrift, once it is all written."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any

import pandas as pd

from cassbook.lab.engine.thrift import StudyCluster, client, interface
from cassbook.lab.load.traces import until_written
from cassbook.staleness.message_delays import Asked, asked_of, events_of

_SETTLE_S = 2.0  # replicas write what they have traced after the coordinator has said how long it took
_CONCURRENCY = 24


def fetch(
    cluster: StudyCluster, traced: pd.DataFrame, replicas: Mapping[str, tuple[str, ...]]
) -> tuple[list[Asked], pd.DataFrame]:
    """Fetch the traces of requests, as `traces.fetch` does with the driver.

    Each trace is on one node, and the others write to it one event after another: at a distance they fall behind, and
    nothing can be read before they are `DistantCluster.together`. `replicas` is, by key, what nodes call those that
    hold the row. Raise LaboratoryError if traces do not come.
    """
    with _Asking(cluster) as ask:
        ids = traced["session_id"].tolist()
        asked = asked_of(traced, _durations(ask, ids), cluster.broadcast_addresses, replicas)
        time.sleep(_SETTLE_S)
        rows = ask.all("SELECT source, source_elapsed, activity FROM system_traces.events WHERE session_id = {}", ids)
    events = [
        (session_id, socket.inet_ntoa(source), _int(elapsed), activity.decode())
        for session_id, of_session in zip(ids, rows, strict=True)
        for source, elapsed, activity in of_session
        if elapsed
    ]
    return asked, events_of(events)


def _durations(ask: _Asking, ids: list[str]) -> list[int | None]:
    """Duration of each traced request, µs."""

    def read() -> list[int | None]:
        rows = ask.all("SELECT duration FROM system_traces.sessions WHERE session_id = {}", ids)
        return [_int(of_session[0][0]) if of_session and of_session[0][0] else None for of_session in rows]

    return until_written(read)


class _Asking:
    """Several connections, for CQL over Thrift."""

    def __init__(self, cluster: StudyCluster) -> None:
        addresses = cycle(cluster.addresses)
        self._clients = [client(next(addresses)) for _ in range(_CONCURRENCY)]

    def __enter__(self) -> _Asking:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._clients:
            connection.close()

    def all(self, select: str, ids: list[str]) -> list[list[list[bytes]]]:
        """Rows of a query for each session, with the values of its columns."""
        parts = [ids[place::_CONCURRENCY] for place in range(_CONCURRENCY)]

        def query(place: int) -> list[list[list[bytes]]]:
            return [_rows(self._clients[place], select.format(session_id)) for session_id in parts[place]]

        of_sessions: list[Any] = [None] * len(ids)
        with ThreadPoolExecutor(_CONCURRENCY) as pool:
            for place, rows in enumerate(pool.map(query, range(_CONCURRENCY))):
                of_sessions[place::_CONCURRENCY] = rows
        return of_sessions


def _rows(connection: Any, query: str) -> list[list[bytes]]:
    thrift = interface()
    result = connection.execute_cql3_query(query.encode(), thrift.Compression.NONE, thrift.ConsistencyLevel.ONE)
    return [[column.value for column in row.columns] for row in result.rows]


def _int(value: bytes) -> int:
    return int(struct.unpack(">i", value)[0])
