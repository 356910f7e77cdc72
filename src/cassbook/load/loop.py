"""The closed loop: N requests in flight, the next sent from the callback of the last.

Latency is service time as the client sees it, from just before a frame is handed to the driver's connection to
the callback for its response. Nearly all callbacks run in the driver's one event-loop thread; a request that is
given up is settled by the thread that keeps house, and those of a lost connection by one that the driver starts.
"""

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cassbook.load import wire
from cassbook.load.nodes import Nodes
from cassbook.load.recorder import Window
from cassbook.load.ycsb import Request

_POLL_S = 0.02
_HOUSEKEEPING_S = 0.5
_clock = time.perf_counter

Record = Callable[[float, float, int, int, int], None]


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a cell ends: after `steady_s` of steady load, or `operations_per_thread` in each thread.

    With neither, there is no steady phase: it ends when the requests run out, or when `until`, asked every few
    milliseconds with the number of operations done, says so.
    """

    ramp_s: float = 0.0
    steady_s: float | None = None
    operations_per_thread: int | None = None
    until: Callable[[int], bool] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the loop tells beside its samples: CPU seconds of this process over the steady window."""

    window: Window
    client_cpu_s: float
    operations: int


class _Slot:
    """One 'thread' of the closed loop; it has at most one request in flight."""

    __slots__ = ("_loop", "done", "expected", "left", "node", "operation", "pending", "started")

    def __init__(self, loop: ClosedLoop, left: float) -> None:
        self._loop = loop
        self.left = left  # operations still to send
        self.done = 0
        self.started = float("inf")
        self.pending: list[bool] = []  # popped by whoever settles the request: response, time-out or loss

    def send(self) -> None:
        """Send the next request, or fall idle if there is none to send."""
        loop = self._loop
        if loop.stopping or self.left <= 0:
            loop.fall_idle(self)
            return
        try:
            operation = next(loop.operations)
            request = next(loop.requests[operation])
        except StopIteration:
            loop.fall_idle(self)
            return
        except Exception as error:
            loop.fail(error)
            return
        self.left -= 1
        self.operation, self.node, self.expected = operation, request.node, request.expected
        body = loop.prefixes[operation][request.statement] + request.tail
        pool = loop.connections[request.node]
        connection = pool[loop.turn(len(pool))] if len(pool) > 1 else pool[0]
        self.pending = [True]
        # A slot that a time-out gave up may still get its late answer: that belongs to the old list.
        settle = partial(self._settle, self.pending)
        self.started = _clock()
        try:
            with connection.lock:
                stream = connection.get_request_id()
            connection.send_msg(body, stream, settle, encoder=wire.encode, decoder=self._judge)
        except Exception:  # closed, defunct or out of streams: the request never left
            settle(None)

    def _judge(self, version: int, types: Any, stream: int, flags: int, opcode: int, body: bytes, *_: Any) -> int:
        return wire.judge(opcode, body, self.expected)

    def _settle(self, pending: list[bool], answer: Any) -> None:
        """Record one finished request and send the next; whoever comes second finds nothing pending."""
        now = _clock()
        try:
            pending.pop()
        except IndexError:
            return
        outcome = answer if type(answer) is int else wire.CONNECTION_LOST
        loop = self._loop
        loop.record(self.started, now - self.started, self.operation, outcome, self.node)
        self.done += 1
        if outcome == wire.CONNECTION_LOST:
            loop.park(self)  # not straight away: a dead node would be asked in a tight circle
        else:
            self.send()

    def give_up_if_overdue(self, before: float) -> None:
        """Settle a request begun before a moment as timed out on the client's side.

        What is pending is looked at first: should its answer come meanwhile, there is nothing left to give up.
        """
        pending = self.pending
        if pending and self.started < before:
            self._settle(pending, wire.CLIENT_TIMEOUT)


class ClosedLoop:
    """Keep `threads` requests in flight until a bound is reached.

    Parameters
    ----------
    nodes : Nodes
    threads : int
        Requests in flight; YCSB's threads, the papers' 'concurrent requests'.
    operations : iterator of int
        Kind of each next request (`ycsb.READ`, ...); safe to draw from two threads.
    requests : sequence of iterators of Request
        By kind.
    prefixes : list of list of bytes
        First parts of the frames, by kind and statement.
    record : callable
        Takes (started, latency_s, operation, outcome, node) of each finished request.
    timeout_s : float
        After which a request is given up as `client_timeout`.
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
        self.stopping = False
        self._slots: list[_Slot] = []
        self._idle: set[_Slot] = set()
        self._parked: deque[_Slot] = deque()
        self._failure: Exception | None = None
        self._all_idle = threading.Event()
        self._turn = 0

    def turn(self, among: int) -> int:
        """Next of several connections to a node."""
        self._turn += 1
        return self._turn % among

    def fall_idle(self, slot: _Slot) -> None:
        """Note that a slot has nothing more to send."""
        slot.started = float("inf")
        self._idle.add(slot)
        if len(self._idle) == self.threads:
            self._all_idle.set()

    def fail(self, error: Exception) -> None:
        """End the run: no request can be made any more."""
        self._failure = error
        self.stopping = True
        self._all_idle.set()

    def park(self, slot: _Slot) -> None:
        """Keep a slot whose connection was lost until the next housekeeping."""
        self._parked.append(slot)

    def run(self, bound: Bound, window: Window) -> Outcome:
        """Run until the bound; steady time is from when every thread has had an answer (and `ramp_s` is over)
        to `steady_s` later, or to when the first thread has sent its last request.

        After that the load is kept up until all that began in the window has ended, so that the last of the
        window are not answered by a cluster that is already at rest.
        """
        gc.collect()
        gc.disable()
        try:
            outcome = self._run(bound, window)
            if self._failure:
                raise self._failure
            return outcome
        finally:
            self.stopping = True
            gc.enable()

    def _run(self, bound: Bound, window: Window) -> Outcome:
        left = float(bound.operations_per_thread or "inf")
        begun = _clock()
        self._slots = [_Slot(self, left) for _ in range(self.threads)]
        for slot in self._slots:
            slot.send()
        if bound.steady_s is None and bound.operations_per_thread is None:
            until = bound.until or (lambda done: False)
            self._wait_until(lambda: until(self._done()))
            self.stopping = True
            self._wait_until(self._all_idle.is_set)
            return Outcome(window, 0.0, self._done())
        self._wait_until(lambda: _clock() - begun >= bound.ramp_s and all(s.done for s in self._slots))
        window.steady_from = _clock()
        cpu_from = time.process_time()
        if bound.steady_s is not None:
            window.steady_to = window.steady_from + bound.steady_s
            self._wait_until(lambda: _clock() >= window.steady_to)
        else:
            self._wait_until(lambda: bool(self._idle))
            window.steady_to = max(_clock(), window.steady_from)
        cpu_s = time.process_time() - cpu_from
        if bound.steady_s is not None:
            self._wait_until(lambda: all(s.started >= window.steady_to for s in self._slots))
            self.stopping = True
        self._wait_until(self._all_idle.is_set)
        return Outcome(window, cpu_s, self._done())

    def _done(self) -> int:
        return sum(s.done for s in self._slots)

    def _wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait for a condition (or for all threads to be out of requests), keeping house meanwhile."""
        tidied = _clock()
        while not reached() and not self._all_idle.wait(_POLL_S):
            if _clock() - tidied > _HOUSEKEEPING_S:
                self._keep_house()
                tidied = _clock()

    def _keep_house(self) -> None:
        """Give up what is overdue, reopen lost connections, and set parked threads going again."""
        overdue = _clock() - self._timeout_s
        for slot in self._slots:
            slot.give_up_if_overdue(overdue)
        if self._parked:
            self._nodes.reopen()
            for _ in range(len(self._parked)):  # what is parked anew meanwhile waits for the next round
                self._parked.popleft().send()
