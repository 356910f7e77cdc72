"""The closed loop: N requests in flight, the next sent as soon as the last is answered.

Latency is service time as the client sees it: from the moment the request's frame is written to the moment its
answer has been read from the socket. Nearly all happens in the driver's one event-loop thread; first requests and
those that are given up are sent by the thread that keeps house.
"""

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cassbook.core import schema
from cassbook.lab.load import wire
from cassbook.lab.load.arrivals import Arrivals
from cassbook.lab.load.lag import LagProbe
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.slices import AlternatingTurns, Alternation, Pilot, Turns
from cassbook.lab.load.ycsb import UPDATE, Request
from cassbook.latency.cell_checks import Due

_POLL_S = 0.02
_HOUSEKEEPING_S = 0.5
_NEVER = float("inf")
#: Answers of each thread for which a variant is tried before slices begin.
_PILOT_ANSWERS = 2
_clock = time.perf_counter

#: Takes (started, latency_s, operation, outcome, node, intended, slice) of a finished request; times on the client's
#: clock, slices as `Turns` numbers them.
Record = Callable[[float, float, int, int, int, float, int], None]
#: First parts of the frames, by kind of operation and statement.
Prefixes = list[list[bytes]]


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a cell ends: after `steady_s` of steady load, or `operations_per_thread` in each thread.

    With neither, there is no steady phase: it ends when the requests run out, or when `until`, asked every few
    milliseconds with the number of operations done, says so. With an `alternation` steady load lasts for all of its
    slices, whose lengths the loop finds out. With `arrivals` the loop is open, and ends `steady_s` after `ramp_s`; what
    was due by then is sent for `patience_s` longer, by default for as long again.
    """

    ramp_s: float = 0.0
    steady_s: float | None = None
    operations_per_thread: int | None = None
    until: Callable[[int], bool] | None = None
    alternation: Alternation | None = None
    arrivals: Arrivals | None = None
    patience_s: float | None = None

    @property
    def endless(self) -> bool:
        """Whether there is no steady phase."""
        return self.steady_s is None and self.operations_per_thread is None and self.alternation is None


def alone() -> float:
    """A loop that makes the load alone agrees with itself: the moment is now."""
    return _clock()


def _own(value: float) -> float:
    """A loop that makes the load alone agrees with itself on a figure."""
    return value


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the loop yields in addition to its samples."""

    window: Window
    client_cpu_s: float  # CPU seconds of this process over the steady window
    operations: int  # all that were finished
    #: Mean delay of the event loop over the steady window, in microseconds; NaN where there was none.
    loop_lag_us: float = float("nan")
    due: Due | None = None  # None in a closed loop


class Slot:
    """One 'thread' of the loop; it has at most one request in flight."""

    __slots__ = (
        "_connection",
        "_loop",
        "_stream",
        "done",
        "intended",
        "left",
        "node",
        "operation",
        "prefixes",
        "request",
        "slice",
        "started",
        "ticket",
    )

    request: Request

    def __init__(self, loop: ClosedLoop, left: float) -> None:
        self._loop = loop
        self._connection: Any = None
        self._stream = 0
        self.left = left  # operations still to send
        self.done = 0
        self.operation = 0
        self.node = 0  # that was asked: the request's coordinator, or another one where that is not connected
        self.started = _NEVER
        self.intended = float("nan")  # when it was meant to start, in a paced loop
        self.slice = 0  # as `Turns` numbers it
        self.prefixes: Prefixes = []
        self.ticket: list[bool] = []  # popped by whoever settles the request: answer, time-out or loss

    def send(self, at: float | None = None) -> None:
        """Send the next request, or fall idle if there is none; `at` is the time of its burst, in the event loop's
        thread only.
        """
        loop = self._loop
        if loop.stopping or self.left <= 0:
            loop.fall_idle(self)
            return
        try:
            self.operation, self.request = loop.next_request()
        except StopIteration:
            loop.fall_idle(self)
            return
        except Exception as error:
            loop.fail(error)
            return
        self.left -= 1
        self.slice, self.prefixes = loop.turns.at(_clock() if at is None else at)
        self._submit(self.operation, self.request, at)

    def _submit(self, operation: int, request: Request, at: float | None, first: bool = True) -> None:
        loop = self._loop
        body = self.prefixes[operation][request.statement] + request.tail
        self.node = request.node
        pool = loop.connections[self.node]
        connection = pool[loop.turn(len(pool))] if len(pool) > 1 else pool[0]
        if connection.gone:
            self.node, connection = loop.instead(self.node, connection)
        self._connection = connection
        ticket = self.ticket = [True]
        if first:
            self.started = _clock() if at is None else at
        try:
            if at is None:
                self._stream = connection.ask(body, self, ticket)
            else:
                self._stream = connection.ask_later(body, self, ticket)
                loop.to_flush.add(connection)
                if first:
                    loop.leaving.append(self)
        except (ConnectionError, IndexError):  # closed, or out of streams: the request never left
            self.lost(ticket)

    def answered(self, ticket: list[bool], now: float, opcode: int, body: bytes) -> None:
        """Judge the answer, record the request and send the next; called by the event loop's thread."""
        try:
            ticket.pop()
        except IndexError:  # a time-out came first
            return
        request = self.request
        outcome = wire.judge(opcode, body, request.expected, request.most_rows)
        loop = self._loop
        if request.then is not None and outcome == schema.OK:
            self.request = request.then
            self._submit(UPDATE, request.then, now, first=False)
            return
        latency_s = now - self.started
        loop.record(self.started, latency_s, self.operation, outcome, self.node, self.intended, self.slice)
        self.done += 1
        self.send(now)

    def lost(self, ticket: list[bool]) -> None:
        """Record a request whose connection was lost, and wait: a dead node would be asked in a tight circle."""
        self._give_up(ticket, schema.CONNECTION_LOST, self._loop.park)

    def give_up_if_overdue(self, before: float) -> None:
        """Settle a request begun before a moment as timed out on the client's side."""
        ticket = self.ticket
        if ticket and self.started < before:
            self._connection.forget(self._stream)
            self._give_up(ticket, schema.CLIENT_TIMEOUT, lambda slot: slot.send())

    def _give_up(self, ticket: list[bool], outcome: int, then: Callable[[Slot], None]) -> None:
        now = _clock()
        try:
            ticket.pop()
        except IndexError:  # the answer came first
            return
        latency_s = now - self.started
        self._loop.record(self.started, latency_s, self.operation, outcome, self.node, self.intended, self.slice)
        self.done += 1
        then(self)


class ClosedLoop:
    """Keep `threads` requests in flight until a bound is reached: YCSB's threads, the papers' 'concurrent requests'.

    Kinds of `operations` may be drawn by two threads; `requests` are by kind, `prefixes` first parts of the frames by
    kind and statement. A request is given up after `timeout_s` as `client_timeout`.

    Where several loops make one load, `agree` blocks until all have come as far, and returns one moment for all; it is
    called when the steady window may begin, and when all of it has been answered. `agree_on` takes a loop's own figure
    and returns the largest of all: the latency that determines slices. `variants` are the prefixes that alternate, if
    the bound asks for it; `prefixes` alone unless they are set.
    """

    def __init__(
        self,
        nodes: Nodes,
        threads: int,
        operations: Iterator[int],
        requests: Sequence[Iterator[Request]],
        prefixes: list[list[bytes]],
        record: Record,
        timeout_s: float,
    ) -> None:
        self._nodes = nodes
        self.connections = nodes.connections
        self.threads = threads
        self.operations, self.requests, self.prefixes, self.record = operations, requests, prefixes, record
        self._timeout_s = timeout_s
        self.agree: Callable[[], float] = alone
        self.agree_on: Callable[[float], float] = _own
        self.variants = [prefixes]
        self.turns: Turns[Prefixes] = Turns(prefixes)
        self.stopping = False
        self.to_flush: set[Any] = set()
        self.leaving: list[Slot] = []
        self._slots: list[Slot] = []
        self._idle: set[Slot] = set()
        self._parked: deque[Slot] = deque()
        self._failure: Exception | None = None
        self._all_idle = threading.Event()
        self._turn = 0

    def next_request(self) -> tuple[int, Request]:
        """Return what the next request is; StopIteration if there are no more."""
        operation = next(self.operations)
        return operation, next(self.requests[operation])

    def turn(self, among: int) -> int:
        """Next of several connections to a node."""
        self._turn += 1
        return self._turn % among

    def instead(self, node: int, connection: Any) -> tuple[int, Any]:
        """Return, as drivers do, the next node in turn that is connected, in place of one that is not; itself if none
        is.
        """
        others = [(other, pool[0]) for other, pool in enumerate(self.connections) if not pool[0].gone]
        return others[self.turn(len(others))] if others else (node, connection)

    def flush(self) -> None:
        """Write what a burst of answers set off; the event loop's thread calls it."""
        now = _clock()
        for slot in self.leaving:
            slot.started = now
        self.leaving.clear()
        while self.to_flush:
            self.to_flush.pop().flush()

    def fall_idle(self, slot: Slot) -> None:
        """Note that a slot has nothing more to send."""
        slot.started = _NEVER
        self._idle.add(slot)
        if len(self._idle) == self.threads:
            self._all_idle.set()

    def fail(self, error: Exception) -> None:
        """End the run: no request can be made any more."""
        self._failure = error
        self.stopping = True
        self._all_idle.set()

    def park(self, slot: Slot) -> None:
        """Keep a slot whose connection was lost until the next housekeeping."""
        self._parked.append(slot)

    def run(self, bound: Bound, window: Window) -> Outcome:
        """Run until the bound; steady time is from when every thread has had an answer (and `ramp_s` is over)
        to `steady_s` later, or to when the first thread has sent its last request, or to when all slices are over.

        After that the load is kept up until all that began in the window has ended, so that the last of the
        window are not answered by a cluster that is already at rest.
        """
        gc.collect()
        gc.disable()
        try:
            self._adopt_connections()
            outcome = self._run(bound, window)
            if self._failure:
                raise self._failure
            return outcome
        finally:
            self.stopping = True
            gc.enable()

    def _adopt_connections(self) -> None:
        for pool in self.connections:
            for connection in pool:
                connection.after_burst = self.flush

    def _run(self, bound: Bound, window: Window) -> Outcome:
        left = float(bound.operations_per_thread or "inf")
        begun = _clock()
        self._slots = [Slot(self, left) for _ in range(self.threads)]
        for slot in self._slots:
            slot.send()
        if bound.endless:
            until = bound.until or (lambda done: False)
            self._wait_until(lambda: until(self._done()))
            self.stopping = True
            self._wait_until(self._all_idle.is_set)
            return Outcome(window, 0.0, self._done())
        self._wait_until(lambda: _clock() - begun >= bound.ramp_s and all(s.done for s in self._slots))
        steady_s = self._open(bound, window)
        cpu_from = time.process_time()
        lag = LagProbe(self._nodes.create_timer)
        if steady_s is not None:
            window.steady_to = window.steady_from + steady_s
            self._wait_until(lambda: _clock() >= window.steady_to, lag)
        else:
            self._wait_until(lambda: bool(self._idle), lag)
            window.steady_to = max(_clock(), window.steady_from)
        cpu_s = time.process_time() - cpu_from
        if steady_s is not None:
            self._wait_until(lambda: self._over(window.steady_to))
            self.agree()
            self.stopping = True
        self._wait_until(self._all_idle.is_set)
        return Outcome(window, cpu_s, self._done(), lag.mean_us)

    def _open(self, bound: Bound, window: Window) -> float | None:
        """Begin the steady window; return how long it is to last, if that is known."""
        if bound.alternation is None:
            window.steady_from = self.agree()
            return bound.steady_s
        window.slices = slices = bound.alternation.slices(self.agree_on(self._slowest_s()))
        window.steady_from = self.agree()
        self.turns = AlternatingTurns(self.variants, slices, window.steady_from)
        return slices.whole_s

    def _slowest_s(self) -> float:
        """Try each variant and return the 95th percentile of latency of the slowest."""
        record, slowest_s = self.record, 0.0
        for number, variant in enumerate(self.variants):
            self.turns = Turns(variant, number)
            pilot = Pilot(self.turns.slice, record)
            self.record = pilot
            begun, enough = _clock(), _PILOT_ANSWERS * self.threads
            self._wait_until(lambda: pilot.enough(enough, _clock() - begun))  # noqa: B023 - called here
            self.record = record
            slowest_s = max(slowest_s, pilot.p95_s(_clock() - begun))
        return slowest_s

    def oldest(self) -> float:
        """When the oldest request in flight began; infinite where there is none."""
        return min((s.started for s in self._slots), default=_NEVER)

    def _over(self, moment: float) -> bool:
        """Whether nothing is in flight that began before a moment."""
        return self.oldest() >= moment

    def _done(self) -> int:
        return sum(s.done for s in self._slots)

    def _wait_until(self, reached: Callable[[], bool], lag: LagProbe | None = None) -> None:
        """Wait for a condition (or for all threads to be out of requests), keeping house meanwhile."""
        tidied = _clock()
        while not reached() and not self._all_idle.wait(_POLL_S):
            if lag:
                lag.ask()
            if _clock() - tidied > _HOUSEKEEPING_S:
                self._keep_house()
                tidied = _clock()

    def _keep_house(self) -> None:
        """Give up what is overdue, open lost connections again, and set parked threads going."""
        overdue = _clock() - self._timeout_s
        for slot in self._slots:
            slot.give_up_if_overdue(overdue)
        if any(connection.gone for pool in self.connections for connection in pool):
            self._nodes.reopen()
            self._adopt_connections()
        for _ in range(len(self._parked)):  # what is parked anew meanwhile waits for the next round
            self._parked.popleft().send()
