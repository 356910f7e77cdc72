"""The paced loop: requests start at a fixed rate, whether or not earlier ones have been answered.

A closed loop asks less of a system that stalls, and so does not see most of the stall (coordinated omission). Here
every request has a moment at which it was meant to start; response time counts from that, service time, as ever,
from when the request left.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from cassbook.lab.load.loop import Bound, ClosedLoop, Outcome, Slot
from cassbook.lab.load.recorder import Window

_clock = time.perf_counter
#: Longest sleep of the pacer: how soon it notices that the loop has stopped.
_NAP_S = 0.01
#: Shortest time after the window for which requests that were due in it are still sent.
_LEAST_PATIENCE_S = 1.0


class PacedSlot(Slot):
    """A slot that starts only what is due."""

    __slots__ = ()

    _loop: PacedLoop

    def send(self, at: float | None = None) -> None:
        """Send the next request if it is due, else be set aside until one is."""
        intended = self._loop.next_turn(self)
        if intended is not None:
            self.intended = intended
            super().send(at)

    def _begins(self, at: float | None) -> float:
        """When it was meant to be sent: one that waits keeps the variant that it was meant for."""
        return self.intended


class PacedLoop(ClosedLoop):
    """Start `rate_per_s` requests per second, evenly spaced, as long as fewer than `threads` are in flight.

    Where all `threads` are taken, what is due waits for the first that comes free, as in YCSB with a target rate; its
    intended start stays what it was, and the steady window takes it by that. Parameters are those of `ClosedLoop`, and
    `rate_per_s`.

    At a rate that is more than can be sent or answered, requests of the window are still due when it is over. They are
    sent for as long again as the window was, and then no more: a rate that is far too high must not take for ever.
    """

    slot = PacedSlot

    def __init__(self, *as_closed: Any, rate_per_s: float) -> None:
        super().__init__(*as_closed)
        self._interval_s = 1.0 / rate_per_s
        self._begun = 0.0
        self._taken = 0  # requests whose turn has come
        self._free: deque[Slot] = deque()
        self._turns = threading.Lock()
        self._patience_s = _LEAST_PATIENCE_S

    def run(self, bound: Bound, window: Window) -> Outcome:
        """Run until the bound, as `ClosedLoop.run`."""
        part = bound.alternation
        self._patience_s = max(bound.steady_s or (part.measured_s if part else 0.0), _LEAST_PATIENCE_S)
        return super().run(bound, window)

    def _start(self) -> None:
        self._free.extend(self._slots)
        self._begun = _clock()
        threading.Thread(target=self._pace, name="pacer", daemon=True).start()

    @property
    def _next_due(self) -> float:
        return self._begun + self._taken * self._interval_s

    def next_turn(self, slot: Slot) -> float | None:
        """Moment at which the next request was meant to start; None if none is due, and the slot is set aside."""
        with self._turns:
            due = self._next_due
            if due > _clock() and not self.stopping:
                slot.started = slot.intended = float("inf")
                self._free.append(slot)
                return None
            self._taken += 1
            return due

    def _pace(self) -> None:
        """Send each request when it is due, as long as there is a slot for it; at the end let all slots fall idle."""
        while not self._all_idle.is_set():
            wait_s = 0.0 if self.stopping else self._next_due - _clock()
            if wait_s > 0 or not self._free:
                time.sleep(min(max(wait_s, self._interval_s / 4), _NAP_S))
            else:
                self._free.popleft().send()

    def _over(self, moment: float) -> bool:
        """Whether all that was meant to start before a moment has been answered, or cannot be sent in time."""
        if _clock() > moment + self._patience_s:
            return True
        return self._next_due >= moment and all(slot.intended >= moment for slot in self._slots)
