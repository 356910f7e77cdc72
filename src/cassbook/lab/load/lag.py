"""How late the client's event loop is, and how fine its clock: what the generator adds to what it measures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

_clock = time.perf_counter


class LagProbe:
    """Ask the event loop for a sign of life now and then, and note how long it takes to give it.

    That is how long an answer that has just arrived waits to be noticed. `create_timer` is the reactor's: it takes a
    delay in seconds and a callback for the event loop's thread.
    """

    def __init__(self, create_timer: Callable[[float, Callable[[], None]], Any]) -> None:
        self._create_timer = create_timer
        self._asked: float | None = None
        self._lags_s: list[float] = []

    def ask(self) -> None:
        """Ask, unless the last sign is still to come; returns at once."""
        if self._asked is None:
            self._asked = _clock()
            self._create_timer(0.0, self._sign)

    def _sign(self) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            self._lags_s.append(_clock() - asked)

    @property
    def mean_us(self) -> float:
        """Mean lag so far, in microseconds; a sign that is still due counts with the time it has taken."""
        due = [] if self._asked is None else [_clock() - self._asked]
        lags = [*self._lags_s, *due]
        return float(np.mean(lags) * 1e6) if lags else float("nan")


def clock_resolution_ns(readings: int = 2000) -> float:
    """Smallest step that two readings of the clock in a row were apart, in nanoseconds."""
    times = np.array([_clock() for _ in range(readings)])
    steps = np.diff(times)
    return float(steps[steps > 0].min() * 1e9)
