"""How far another machine's monotonic clock is from ours, and how sure that is: measured by round trips."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

#: A cell whose clocks are known no better than this part of its steady window is marked `clock`.
WINDOW_SHARE = 0.01
_ROUND_TRIPS = 40


@dataclass(frozen=True, slots=True)
class Offset:
    """What another clock shows more than ours.

    Attributes
    ----------
    offset_s : float
    bound_s : float
        The true offset is within `offset_s` +- `bound_s`, whatever the two ways of a round trip took.
    """

    offset_s: float = 0.0
    bound_s: float = 0.0

    def until(self, later: Offset) -> Offset:
        """Return the same offset with a bound that also holds what was measured later: clocks drift."""
        drift_s = abs(later.offset_s - self.offset_s)
        return Offset(self.offset_s, max(self.bound_s, drift_s + later.bound_s))


def measure_offset(
    read: Callable[[], float], rounds: int = _ROUND_TRIPS, clock: Callable[[], float] = time.perf_counter
) -> Offset:
    """Read another clock some times, and judge it by the quickest round trip.

    Parameters
    ----------
    read : callable
        Reads the other clock, at some moment between its call and its return.
    rounds : int
    clock : callable
        Ours.

    Returns
    -------
    Offset
        Its bound is half the least round trip.
    """
    best = Offset(0.0, float("inf"))
    for _ in range(rounds):
        asked = clock()
        there = read()
        answered = clock()
        bound_s = (answered - asked) / 2
        if bound_s < best.bound_s:
            best = Offset(there - (asked + answered) / 2, bound_s)
    return best


def too_wide(bound_s: float, window_s: float) -> bool:
    """Return whether clocks are known too badly for a steady window of that length."""
    return not bound_s <= WINDOW_SHARE * window_s
