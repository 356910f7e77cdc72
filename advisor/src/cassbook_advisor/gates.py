"""What cannot be served while replicas are dead: it fails at once, but for one request a second, which shows recovery.

A request that waits for more replicas than are alive waits for its time-out, and so does the thread that sent it. Where
no safe way leads to a setting that the live replicas serve, the adviser knows that before the request is sent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from cassandra import Unavailable

from cassbook_advisor.member import Clock

#: Of what cannot be served one request goes through in so many seconds, of each adviser.
PROBE_S = 1.0
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Unserved:
    """Reads or writes that cannot be served: what somebody has to be called for."""

    operation: str  # 'reads' or 'writes'
    since: datetime  # when this adviser learned of it, in UTC
    why: str  # in a sentence without its end

    def __str__(self) -> str:
        return f"{self.operation} cannot be served since {self.since:%H:%M:%S} UTC: {self.why}"


class CannotServe(Unavailable):  # type: ignore[misc] # the driver has no types
    """A request was not sent, for it cannot be served: too few replicas are alive, and there is no safe way out.

    Being an `Unavailable`, it is handled where a service handles that of a coordinator. Nothing was written, so a write
    may be sent again.

    `operation`: 'reads' or 'writes'. `since`: when the adviser learned of it, in UTC. `why`: in a sentence without its
    end. `required_replicas` and `alive_replicas`: as of `Unavailable`.
    """

    def __init__(self, unserved: Unserved, required: int, alive: int, consistency: int | None = None) -> None:
        super().__init__(str(unserved), consistency, required, alive)
        self.operation, self.since, self.why = unserved.operation, unserved.since, unserved.why


@dataclass(frozen=True, slots=True)
class Lack:
    """Replicas that requests lack: how many they wait for, how many of the worst row are alive, and a sentence."""

    needs: int
    alive: int
    why: str


class Gate:
    """Reads, or writes: whether they can be served, and which of them are sent if they cannot.

    What the adviser knows of dead nodes can be out of date, and coordinators can differ. So a request that is answered
    although it should lack replicas opens the gate; it is shut again when a later one has failed, and for a second none
    has been answered. Any thread may call any method. `lack` is None where nothing is lacking, as nearly always.
    """

    def __init__(self, operation: str, clock: Clock) -> None:
        self.operation, self._clock = operation, clock
        self._lock = threading.Lock()
        self._next_probe_s = _NEVER
        self._forget()

    def _forget(self) -> None:
        self.lack: Lack | None = None
        self._unserved: Unserved | None = None
        self._lacking_since_s, self._answered_s, self._failed_again = _NEVER, _NEVER, False

    def look(self, lack: Lack | None) -> None:
        """Take what the adviser knows now; None where requests can be served, or will be in a moment."""
        with self._lock:
            if lack is None:
                self._forget()
                return
            if self.lack is None:
                self._lacking_since_s = self._clock()
            self.lack = lack
            self._judge(lack)

    def _judge(self, lack: Lack) -> Unserved | None:
        """Return what cannot be served, or None while answers say otherwise; the lock is held."""
        answering = self._answered_s > _NEVER and (not self._failed_again or self._clock() - self._answered_s < PROBE_S)
        if answering:
            self._unserved = None
        elif self._unserved is None:
            self._unserved = Unserved(self.operation, datetime.now(UTC), lack.why)
        elif self._unserved.why != lack.why:
            self._unserved = replace(self._unserved, why=lack.why)
        return self._unserved

    @property
    def unserved(self) -> Unserved | None:
        """What cannot be served; None where requests are."""
        with self._lock:
            return None if self.lack is None else self._judge(self.lack)

    def admits(self) -> tuple[bool, CannotServe | None]:
        """Return whether a request that lacks replicas is sent, and what it fails with otherwise.

        One a second is sent although it is expected to fail: what it fails with comes along.
        """
        with self._lock:
            lack = self.lack
            if lack is None or (unserved := self._judge(lack)) is None:
                return True, None
            now = self._clock()
            if probe := now >= self._next_probe_s:
                self._next_probe_s = now + PROBE_S
        return probe, CannotServe(unserved, lack.needs, lack.alive)

    def watch(self, future: Any, began_s: float) -> None:
        """Learn from what becomes of a request that was sent although it lacks replicas."""
        future.add_callbacks(lambda *_: self._answered(began_s), lambda *_: self._failed(began_s))

    def _answered(self, began_s: float) -> None:
        with self._lock:
            if self.lack is not None and began_s >= self._lacking_since_s:
                self._answered_s, self._failed_again = self._clock(), False

    def _failed(self, began_s: float) -> None:
        """Take a failure; one of a request that was sent before the last answer came is no news."""
        with self._lock:
            if began_s > self._answered_s:
                self._failed_again = True


class Gates:
    """The two gates of an adviser, and what has been said of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.reads, self.writes = Gate("reads", clock), Gate("writes", clock)
        self._said_s: dict[str, float] = {}  # since when it has been said that they cannot be served

    def look(self, reads: Lack | None, writes: Lack | None) -> list[tuple[bool, str]]:
        """Take what reads and writes lack; what has changed since: whether for the worse, and in a sentence."""
        changes = []
        for gate, lack in ((self.reads, reads), (self.writes, writes)):
            gate.look(lack)
            unserved, since_s = gate.unserved, self._said_s.get(gate.operation)
            if unserved is not None and since_s is None:
                self._said_s[gate.operation] = self._clock()
                changes.append((True, f"{gate.operation} cannot be served: {unserved.why}"))
            elif unserved is None and since_s is not None:
                lasted_s = self._clock() - self._said_s.pop(gate.operation)
                changes.append((False, f"{gate.operation} are served again, after {lasted_s:.1f} s"))
        return changes

    @property
    def unserved(self) -> tuple[Unserved, ...]:
        """What cannot be served: reads, writes, both or nothing."""
        return tuple(unserved for gate in (self.reads, self.writes) if (unserved := gate.unserved) is not None)


class Patience:
    """Waits a second for the answer of a request that shows recovery, so that it holds its thread no longer."""

    __slots__ = ("_ended", "_error")

    def __init__(self, future: Any, error: BaseException) -> None:
        self._ended, self._error = threading.Event(), error
        future.add_callbacks(self._end, self._end)

    def _end(self, *_: Any) -> None:
        self._ended.set()

    def wait(self) -> None:
        """Return when the request has been answered, or has failed."""
        if not self._ended.wait(PROBE_S):
            raise self._error


class Failed:
    """The future of a request that was not sent: as the driver's, done, with an error."""

    #: None answered.
    coordinator_host = None
    has_more_pages = False

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def result(self) -> Any:
        raise self._error

    def add_callback(self, fn: Callable[..., None], *args: Any, **kwargs: Any) -> Failed:
        """Never call: there is no answer."""
        return self

    def add_errback(self, fn: Callable[..., None], *args: Any, **kwargs: Any) -> Failed:
        """Call at once, as the driver does for a request that has failed."""
        fn(self._error, *args, **kwargs)
        return self

    def add_callbacks(
        self, callback: Callable[..., None], errback: Callable[..., None], callback_args: Any = (),
        callback_kwargs: Any = None, errback_args: Any = (), errback_kwargs: Any = None,
    ) -> None:  # fmt: skip
        """Call what is for errors, at once."""
        errback(self._error, *errback_args, **(errback_kwargs or {}))
