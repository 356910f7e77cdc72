"""The open loop: requests start when they arrive, whether or not earlier ones have been answered.

A closed loop asks less of a system that stalls, and so does not see most of the stall (coordinated omission). Here
every request has a moment at which it is due; response time counts from that, service time, as ever, from when the
request left. What is due leaves in one burst from the driver's event loop, which an alarm wakes for the next arrival.
"""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from cassbook.lab.load.alarm import Alarm, Lags, alarm
from cassbook.lab.load.arrivals import Arrivals
from cassbook.lab.load.loop import Bound, ClosedLoop, Outcome, Slot
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import Request
from cassbook.latency.cell_checks import Due

_clock = time.perf_counter
_NEVER = float("inf")
#: Shortest time after the window for which requests that were due in it are still sent.
_LEAST_PATIENCE_S = 1.0

#: What a request is, before its levels are known: kind of operation and request, in the order of arrival.
Drawn = list[tuple[int, Request]]


class OpenSlot(Slot):
    """A slot that starts what has arrived."""

    __slots__ = ("found_free",)

    _loop: OpenLoop

    def __init__(self, loop: OpenLoop) -> None:
        super().__init__(loop, _NEVER)
        self.found_free = False

    def begin(self, due: float, free: bool, now: float) -> None:
        """Send the next request, which was due at a moment, when a slot was `free` or not; in the event loop's thread
        only.
        """
        self.intended, self.found_free = due, free
        super().send(now)

    def send(self, at: float | None = None) -> None:
        """Take what has waited longest for a slot, or be free."""
        loop = self._loop
        if at is not None and loop.waiting and not loop.stopping:
            self.begin(loop.waiting.popleft(), False, at)
        else:
            loop.release(self, elsewhere=at is None)


class OpenLoop(ClosedLoop):
    """Start requests as they arrive, as long as fewer than `threads` are in flight.

    Where all `threads` are taken, what is due waits for the first that comes free; its intended start stays what it
    was, the steady window takes it by that, and the outcome counts it (`Due.n_waited`). Parameters are those of
    `ClosedLoop`, the `arrivals`, and, where several loops in turn are to send the same, what is `drawn` so far of their
    requests; more is added to it.

    At a rate that is more than can be sent or answered, requests of the window are still due when it is over. They are
    sent for as long again as the window was, or for the bound's patience, and then no more: a rate that is far too high
    must not take for ever.
    Until all of the window is answered the load goes on, so that the last of it are not answered by a cluster at rest.
    """

    def __init__(self, *as_closed: Any, arrivals: Arrivals, drawn: Drawn | None = None) -> None:
        super().__init__(*as_closed)
        self._arrivals, self._drawn, self._place = arrivals, drawn, 0
        self.free: list[OpenSlot] = []
        self.waiting: deque[float] = deque()  # when what has found no slot was due
        self._due_s: Iterator[float] = iter(())
        self._begun = 0.0
        self._next_due = _NEVER
        self._counts = (_NEVER, _NEVER)
        self._n_due = 0
        self._waited_s, self._dropped_s = array("d"), array("d")  # when those were due that found no slot, or got none
        self._left_late = array("d"), array("d")  # when requests were due, and how much later they left
        self._alarm: Alarm

    def next_request(self) -> tuple[int, Request]:
        """Return what the next arrival asks for: what was asked in its place the last time, if anything was."""
        if self._drawn is None:
            return super().next_request()
        if self._place == len(self._drawn):
            self._drawn.append(super().next_request())
        self._place += 1
        return self._drawn[self._place - 1]

    def release(self, slot: OpenSlot, elsewhere: bool) -> None:
        """Take back a slot; from `elsewhere` than the event loop's thread that thread is asked to use it."""
        slot.started = slot.intended = _NEVER
        self.free.append(slot)
        if elsewhere and self.waiting:
            self._nodes.create_timer(0.0, self._tick)

    def fall_idle(self, slot: Slot) -> None:
        """Take back a slot of a loop that is stopping, or out of requests: what it was to send is never sent."""
        assert isinstance(slot, OpenSlot)  # noqa: S101 - it makes no others
        if self._counts[0] <= slot.intended < self._counts[1]:
            self._dropped_s.append(slot.intended)
        self.release(slot, elsewhere=False)

    def flush(self) -> None:
        """Write what a burst set off, and note how late that is."""
        due, late_s = self._left_late
        now = _clock()
        for slot in self.leaving:
            slot.started = now
            if slot.found_free:  # type: ignore[attr-defined]
                due.append(slot.intended)
                late_s.append(now - slot.intended)
        self.leaving.clear()
        while self.to_flush:
            self.to_flush.pop().flush()

    def _run(self, bound: Bound, window: Window) -> Outcome:
        if bound.steady_s is None:
            raise ValueError("an open loop is bounded by time")
        self._begun = self.agree()
        window.steady_from = self._begun + bound.ramp_s
        window.steady_to = window.steady_from + bound.steady_s
        self._counts = window.steady_from, window.steady_to
        self._due_s = self._arrivals.due_s()
        self._next_due = self._begun + next(self._due_s)
        self._alarm = alarm(self._nodes.create_timer, self._tick)
        try:
            self._nodes.create_timer(0.0, self._tick)
            patience_s = bound.steady_s if bound.patience_s is None else bound.patience_s
            cpu_s, lag_us = self._through(window, max(patience_s, _LEAST_PATIENCE_S))
        finally:
            self.stopping = True
            self._alarm.close()
        self._wait_until(self._at_rest)
        return Outcome(window, cpu_s, self._done(), lag_us, self._due(window.steady_to))

    def _through(self, window: Window, patience_s: float) -> tuple[float, float]:
        """Wait for the end of the window and of what was due in it; return the CPU time that the window took, and how
        late the event loop woke up in it, in microseconds.
        """
        self._wait_until(lambda: _clock() >= window.steady_from)
        cpu_from, self._alarm.lags = time.process_time(), Lags()
        self._wait_until(lambda: _clock() >= window.steady_to)
        cpu_s, lag_us = time.process_time() - cpu_from, self._alarm.lags.mean_us
        until = window.steady_to + patience_s
        self._wait_until(lambda: _clock() > until or self._over(window.steady_to))
        self.agree()
        return cpu_s, lag_us

    def _tick(self) -> None:
        """Send what is due, in one burst, and set the alarm to the next; called by the event loop's thread."""
        if self.stopping:
            return
        try:
            now = _clock()
            while self._next_due <= now:
                due, self._next_due = self._next_due, self._begun + next(self._due_s)
                self._n_due += self._counts[0] <= due < self._counts[1]
                if (slot := self._slot_for(due)) is not None:
                    slot.begin(due, True, now)
            while self.waiting and self.free:
                self.free.pop().begin(self.waiting.popleft(), False, now)
            self.flush()
            self._alarm.at(self._next_due)
        except Exception as error:
            self.fail(error)

    def _slot_for(self, due: float) -> OpenSlot | None:
        """Return a free slot; where there is none, let what is due wait."""
        if self.free and not self.waiting:
            return self.free.pop()
        if len(self._slots) < self.threads:
            slot = OpenSlot(self)
            self._slots.append(slot)
            return slot
        self.waiting.append(due)
        if self._counts[0] <= due < self._counts[1]:
            self._waited_s.append(due)
        return None

    def _over(self, moment: float) -> bool:
        """Whether all that was due before a moment has been answered."""
        return self._next_due >= moment and not self._unsent(moment) and self._in_flight(moment) == 0

    def _unsent(self, moment: float) -> list[float]:
        """When what waits for a slot was due, of what was before a moment."""
        return [due for due in list(self.waiting) if self._counts[0] <= due < moment]

    def _in_flight(self, moment: float) -> int:
        """Count what was due before a moment and is not answered."""
        return sum(slot.intended < moment for slot in list(self._slots))

    def _at_rest(self) -> bool:
        """Whether nothing is in flight any more."""
        return len(self.free) == len(self._slots)

    def _due(self, moment: float) -> Due:
        """Return what became of what was due, but for what was answered."""
        due, late_s = map(np.array, self._left_late)
        begin = self._counts[0]
        counted = (due >= begin) & (due < moment)
        # An event loop that was kept from it has not come so far: that was due all the same.
        unseen: list[float] = []
        while self._next_due < moment:
            if self._next_due >= begin:
                unseen.append(self._next_due)
            self._next_due = self._begun + next(self._due_s)
        unsent, waited = np.array([*self._unsent(moment), *self._dropped_s, *unseen]), np.array(self._waited_s)
        return Due(
            self._n_due + len(unseen),
            self._in_flight(moment),
            unsent[unsent < moment] - begin,
            waited[waited < moment] - begin,
            due[counted] - begin,
            late_s[counted].astype(np.float32),
        )
