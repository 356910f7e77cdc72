"""Where the time of a request goes, from Cassandra's own request tracing: the message delays of WARS on a live cluster.

Each event of a trace says how long after the start of the request, or at another node after the message came, it
happened (`source_elapsed`, microseconds). A message's way is what is left of the time between its sending and the
answer's coming when the time inside the replica is taken off; it is split in halves, since no clock is shared.

What cannot be distinguished:

* *When a write is applied*: between "Adding to ... memtable" and the next event of that thread. Half way is taken;
  `uncertain_ms` is the half width.
* *When the coordinator's own replica is done*: it sends no answer. It is taken to be as quick as others (`settled`).
* *The two ways of a message*, where they differ: the sum is measured, its halves are assumed. In another data centre
  one replica hands a write on to the others; they answer by ways that are taken to be as long as its own.
* *What tracing itself costs*: each event is work of the request's own thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cassbook.core.errors import InputError
from cassbook.core.types import Floats
from cassbook.core.units import US_PER_MS

#: Columns of a trace's events: as in system_traces.events, with the event's place in its order of recording.
EVENTS = ("session_id", "source", "source_elapsed", "activity")

_ADDRESS = r"/?(?P<peer>\d+(?:\.\d+){3})"
# Cassandra 1.2 does not say what a message is for: there, between two nodes, the first one in each direction counts.
SENT = re.compile(rf"Sending (?:(?P<verb>\w+) )?message to {_ADDRESS}")
CAME = re.compile(rf"(?:(?P<verb>\w+) m|^M)essage received from {_ADDRESS}")
_ANSWERED = re.compile(rf"Processing response from {_ADDRESS}")
_APPLYING = re.compile(r"Adding to \S+ memtable")
_LOOKED = re.compile(r"Merging memtable|Merging data from memtables|Merged data from memtables")
_LOOKING = re.compile(r"Executing single-partition query")
_ASKS = frozenset({"MUTATION", "MUTATION_REQ", "READ", "READ_REQ"})


@dataclass(frozen=True, slots=True)
class MessageDelays:
    """Traced requests of one kind; times in ms since each began at its coordinator.

    Attributes
    ----------
    coordinator : ndarray of int, shape (m,)
        Index of the node that coordinated.
    there_ms : ndarray, shape (m, n)
        When the write was applied at each replica, or the read looked there; infinite where a replica was not asked.
    back_ms : ndarray, shape (m, n)
        When the coordinator took its answer; infinite likewise.
    uncertain_ms : ndarray, shape (m, n)
        Half of what lies between the events around the moment of `there_ms`.
    duration_ms : ndarray, shape (m,)
        How long the coordinator had the request.
    latency_ms : ndarray, shape (m,)
        How long the client waited for it.
    """

    coordinator: NDArray[np.int64]
    there_ms: Floats
    back_ms: Floats
    uncertain_ms: Floats
    duration_ms: Floats
    latency_ms: Floats

    @property
    def outside_ms(self) -> Floats:
        """Time that the client waited beyond the coordinator's own: the way there and back; shape (m,)."""
        return np.maximum(self.latency_ms - self.duration_ms, 0.0)

    @property
    def after_ms(self) -> Floats:
        """Time that the coordinator took after the last answer: waking up, and replying; shape (m,)."""
        last = np.where(np.isfinite(self.back_ms), self.back_ms, 0.0).max(axis=1)
        return np.maximum(self.duration_ms - last, 0.0)

    def __len__(self) -> int:
        return self.coordinator.size

    def table(self) -> pd.DataFrame:
        """One row per request and replica, in few bytes: columns request, replica, and those of this class."""
        m, n = self.there_ms.shape
        once = {name: np.repeat(getattr(self, name), n) for name in ("coordinator", "duration_ms", "latency_ms")}
        each = {name: getattr(self, name).ravel() for name in ("there_ms", "back_ms", "uncertain_ms")}
        return pd.DataFrame({
            "request": np.repeat(np.arange(m, dtype="int32"), n), "replica": np.tile(np.arange(n, dtype="int8"), m),
            "coordinator": once.pop("coordinator").astype("int8"),
            **{name: ms.round(3).astype("float32") for name, ms in (each | once).items()},
        })  # fmt: skip

    @classmethod
    def of_table(cls, table: pd.DataFrame) -> MessageDelays:
        """Read back what `table` made."""
        n = int(table["replica"].max()) + 1
        each = {name: table[name].to_numpy(float).reshape(-1, n) for name in ("there_ms", "back_ms", "uncertain_ms")}
        once = {name: table[name].to_numpy()[::n] for name in ("coordinator", "duration_ms", "latency_ms")}
        return cls(coordinator=once.pop("coordinator").astype(np.int64), **each, **once)


@dataclass(frozen=True, slots=True)
class Asked:
    """A traced request as its client knows it.

    Attributes
    ----------
    session_id : str
    kind : str
        READ or UPDATE.
    coordinator : str
        Address, as traces have it.
    replicas : tuple of str
        Addresses, in an order that is the same for all requests that are to be compared.
    latency_ms : float
        As the client saw it.
    duration_ms : float
        As the coordinator says (system_traces.sessions).
    """

    session_id: str
    kind: str
    coordinator: str
    replicas: tuple[str, ...]
    latency_ms: float
    duration_ms: float


def asked_of(
    traced: pd.DataFrame, durations_us: Iterable[int | None], nodes: Sequence[str],
    replicas: Mapping[str, tuple[str, ...]],
) -> list[Asked]:  # fmt: skip
    """Return traced requests without those of which no duration came.

    `traced` has one row per request: session_id, kind, coordinator (its index in `nodes`), key, latency_ms.
    `durations_us` are what the coordinator says; `nodes`, and by key `replicas`, are what nodes call each other.
    """
    return [
        Asked(str(row["session_id"]), str(row["kind"]), nodes[int(row["coordinator"])], replicas[str(row["key"])],
              float(row["latency_ms"]), duration_us / US_PER_MS)
        for row, duration_us in zip(traced.to_dict("records"), durations_us, strict=True)
        if duration_us is not None
    ]  # fmt: skip


def delays_of(asked: Sequence[Asked], events: pd.DataFrame, answers: int = 1) -> tuple[MessageDelays, int]:
    """Read message delays out of traces.

    Parameters
    ----------
    asked : sequence of Asked
        Of one kind.
    events : DataFrame
        Columns `EVENTS`, those of a session in order.
    answers : int
        How many replicas answered each, at least.

    Returns
    -------
    MessageDelays
    int
        Traces left out, for an event that they need is not there.

    Raises
    ------
    InputError
        If no trace is whole.
    """
    by_session = dict(iter(events.groupby("session_id", sort=False)))
    rows, left_out = [], 0
    for request in asked:
        traced = by_session.get(request.session_id)
        row = None if traced is None else _row(request, traced)
        if row is None or np.isfinite(row[1]).sum() < answers:
            left_out += 1
        else:
            rows.append(row)
    if not rows:
        raise InputError(f"traces: none of {len(asked)} is whole; were they written before they were read?")
    there, back, uncertain = (np.array([row[k] for row in rows]) for k in range(3))
    coordinator, duration, latency = (np.array([row[k] for row in rows]) for k in (3, 4, 5))
    return settled(MessageDelays(coordinator, there, back, uncertain, duration, latency)), left_out


def _row(
    request: Asked, events: pd.DataFrame
) -> tuple[list[float], list[float], list[float], int, float, float] | None:
    """Times of one request, or None where the trace has holes."""
    trace = _TraceEvents(events)
    moment = trace.applied if request.kind == "UPDATE" else trace.looked
    there: list[float] = []
    back: list[float] = []
    uncertain: list[float] = []

    def add(there_ms: float, back_ms: float, uncertain_ms: float) -> None:
        for column, ms in ((there, there_ms), (back, back_ms), (uncertain, uncertain_ms)):
            column.append(ms)

    for replica in request.replicas:
        if replica == request.coordinator:
            looked = moment(replica)
            if looked is None:
                if request.kind == "UPDATE":
                    return None
                looked, answered = (np.inf, 0.0), np.inf
            else:
                answered = looked[0] + looked[1]
            add(looked[0], answered, looked[1])
            continue
        if not trace.asked(request.coordinator, replica):
            if request.kind == "UPDATE":
                return None
            add(np.inf, np.inf, 0.0)
            continue
        arrival, looked = trace.arrival(request.coordinator, replica), moment(replica)
        came, answered_at = trace.came(replica), trace.answered(request.coordinator, replica)
        if arrival is None or looked is None or came is None or answered_at is None:
            return None
        add(arrival.at_ms + looked[0] - came, answered_at, looked[1])
    place = request.replicas.index(request.coordinator) if request.coordinator in request.replicas else -1
    return there, back, uncertain, place, request.duration_ms, request.latency_ms


def settled(delays: MessageDelays) -> MessageDelays:
    """Take it that the coordinator's own replica applies, or looks, within as short a time as the others usually do.

    It sends no answer, so that the next event of its trace may be of another thread, and a whole round trip later.
    """
    n = delays.there_ms.shape[1]
    at_coordinator = delays.coordinator[:, None] == np.arange(n)
    others = delays.uncertain_ms[~at_coordinator & np.isfinite(delays.back_ms)]
    if not others.size:
        return delays
    half_ms = np.where(at_coordinator, np.minimum(delays.uncertain_ms, np.median(others)), delays.uncertain_ms)
    begun_ms = delays.there_ms - delays.uncertain_ms
    there_ms = np.where(at_coordinator, begun_ms + half_ms, delays.there_ms)
    back_ms = np.where(at_coordinator, begun_ms + 2 * half_ms, delays.back_ms)
    return replace(delays, there_ms=there_ms, back_ms=back_ms, uncertain_ms=half_ms)


class _Arrival(NamedTuple):
    """When a message came to a replica, and how long one way between it and the coordinator is."""

    at_ms: float
    way_ms: float


class _TraceEvents:
    """Events of one trace, ms after the request (or its message) came to where each happened."""

    def __init__(self, events: pd.DataFrame) -> None:
        self._rows = [
            (str(source), elapsed / US_PER_MS, activity)
            for source, elapsed, activity in zip(
                events["source"], events["source_elapsed"], events["activity"], strict=True
            )
        ]

    def _first(
        self, source: str, pattern: re.Pattern[str], peer: str | None = None, asks: bool | None = None
    ) -> float | None:
        for host, at, activity in self._rows:
            if host == source and (match := pattern.search(activity)):
                if peer is not None and match["peer"] != peer:
                    continue
                if asks is not None and match["verb"] and (match["verb"] in _ASKS) != asks:
                    continue
                return at
        return None

    def sent(self, source: str, peer: str) -> float | None:
        """When `source` put its message to `peer` on the wire."""
        return self._first(source, SENT, peer)

    def came(self, source: str) -> float | None:
        """When the request's message came to a replica."""
        return self._first(source, CAME, asks=True)

    def forwarder(self, coordinator: str, replica: str) -> str | None:
        """Return who handed the message on: in another data centre, the replica that the coordinator had sent it."""
        for source, _, activity in self._rows:
            if source == replica and (match := CAME.search(activity)):
                return match["peer"] if match["peer"] != coordinator else None
        return None

    def asked(self, coordinator: str, replica: str) -> bool:
        """Whether a message was sent to a replica."""
        return self.sent(coordinator, replica) is not None or self.forwarder(coordinator, replica) is not None

    def arrival(self, coordinator: str, replica: str) -> _Arrival | None:
        """When the request came to a replica by the coordinator's clock; None where events are missing.

        One way is half of what is left of the round trip. The answer to a message that another handed on comes back by
        a way of its own, taken to be as long as that other's, for both are in one data centre.
        """
        came, left = self.came(replica), self.sent(replica, coordinator)
        returned = self.returned(coordinator, replica)
        if came is None or left is None or returned is None:
            return None
        inside = left - came
        if (sent := self.sent(coordinator, replica)) is not None:
            way = max(0.0, returned - sent - inside) / 2
            return _Arrival(sent + way, way)
        by = self.forwarder(coordinator, replica)
        if by is None or self.sent(coordinator, by) is None or (first := self.arrival(coordinator, by)) is None:
            return None
        return _Arrival(max(first.at_ms, returned - inside - first.way_ms), first.way_ms)

    def returned(self, source: str, peer: str) -> float | None:
        """When a replica's answer came to the coordinator."""
        return self._first(source, CAME, peer, asks=False)

    def answered(self, source: str, peer: str) -> float | None:
        """When the coordinator counted it."""
        return self._first(source, _ANSWERED, peer)

    def applied(self, source: str) -> tuple[float, float] | None:
        """When a write was applied: the middle between two events, and half of what lies between them."""
        return self._between(source, _APPLYING)

    def looked(self, source: str) -> tuple[float, float] | None:
        """When a read looked into the memtable, likewise."""
        return self._between(source, _LOOKED) or self._between(source, _LOOKING)

    def _between(self, source: str, pattern: re.Pattern[str]) -> tuple[float, float] | None:
        here = [(at, activity) for where, at, activity in self._rows if where == source]
        for place, (at, activity) in enumerate(here):
            if pattern.search(activity):
                later = [when for when, _ in here[place + 1 :] if when >= at]
                half = (min(later) - at) / 2 if later else 0.0
                return at + half, half
        return None


def events_of(rows: Iterable[tuple[object, object, int, str]]) -> pd.DataFrame:
    """Make a table of `EVENTS` out of rows as the driver gives them."""
    table = pd.DataFrame(list(rows), columns=list(EVENTS))
    return table.assign(session_id=table["session_id"].astype(str), source=table["source"].astype(str))
