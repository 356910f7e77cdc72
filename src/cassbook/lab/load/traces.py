"""Fetch what the cluster has traced, once it is all written."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from cassandra import ConsistencyLevel
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import PreparedStatement

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine.connect import define
from cassbook.lab.load.ycsb import replication_map
from cassbook.staleness.message_delays import Asked, asked_of, events_of

_PATIENCE_S = 20.0
_POLL_S = 0.5
_CONCURRENCY = 50


def keep_everywhere(session: Session, replication: int | Mapping[str, int]) -> None:
    """Let every node hold the traces: as many replicas as there are nodes, or as there are in each data centre.

    A node writes the events of its traces one after the other, each when the one before is at one replica at least. At
    a distance from both of the two that there are by default it falls behind by more than a probe can wait.
    """
    define(session, f"ALTER KEYSPACE system_traces WITH replication = {replication_map(replication)}")


def fetch(
    session: Session, traced: pd.DataFrame, nodes: Sequence[str], replicas: Mapping[str, tuple[str, ...]],
    patience_s: float = _PATIENCE_S,
) -> tuple[list[Asked], pd.DataFrame]:  # fmt: skip
    """Fetch the traces of requests: what was asked, and `message_delays.EVENTS`.

    `traced` is `staleness_probe.History.traced`; `nodes` is what nodes call each other, by index of coordinator, and
    `replicas`, by key, what they call those that hold the row. Traces that are not written after `patience_s` are left
    out. A LaboratoryError says that none come.
    """
    ids = [uuid.UUID(text) for text in traced["session_id"]]
    durations = _durations(session, ids, patience_s)
    asked = asked_of(traced, durations, nodes, replicas)
    return asked, events_of([tuple(row) for row in _events(session, ids)])


def events(session: Session, ids: list[uuid.UUID]) -> list[Any]:
    """Return the events of traced requests, once all are written, named as `message_delays.EVENTS`.

    All replicas are asked: one that is behind lacks what the coordinator wrote. Raise LaboratoryError if they do not
    come.
    """
    _durations(session, ids)
    return _events(session, ids, ConsistencyLevel.ALL)


def _events(session: Session, ids: list[uuid.UUID], level: int = ConsistencyLevel.ONE) -> list[Any]:
    query = "SELECT session_id, source, source_elapsed, activity FROM system_traces.events WHERE session_id = ?"
    select = _prepared(session, query, level)
    results = execute_concurrent_with_args(session, select, [(i,) for i in ids], concurrency=_CONCURRENCY)
    return [row for _, result in results for row in result if row.source_elapsed is not None]


def _prepared(session: Session, select: str, level: int = ConsistencyLevel.ONE) -> PreparedStatement:
    """Prepare a query that any replica may answer; by default one of the coordinator's own data centre must."""
    prepared = session.prepare(select)
    prepared.consistency_level = level
    return prepared


def _durations(session: Session, ids: list[uuid.UUID], patience_s: float = _PATIENCE_S) -> list[int | None]:
    """Duration of each traced request, µs."""
    select = _prepared(session, "SELECT duration FROM system_traces.sessions WHERE session_id = ?")

    def read() -> list[int | None]:
        results = execute_concurrent_with_args(session, select, [(i,) for i in ids], concurrency=_CONCURRENCY)
        return [next((row.duration for row in result), None) for _, result in results]

    return until_written(read, patience_s)


def until_written(read: Callable[[], list[int | None]], patience_s: float = _PATIENCE_S) -> list[int | None]:
    """Read durations of traced requests until all exist or patience ends: they are written after the answer.

    Raise LaboratoryError if none came.
    """
    deadline = time.monotonic() + patience_s
    while not all(durations := read()) and time.monotonic() <= deadline:
        time.sleep(_POLL_S)
    if not any(durations):
        raise LaboratoryError("no trace came; are the nodes too busy to write them?")
    return durations
