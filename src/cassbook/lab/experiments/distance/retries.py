"""A client that asks the next coordinator when the time-out of one expires; and how long the time-out is.

Requests here may be repeated: reads, and writes whose timestamp the client sets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

#: As in the drivers: no request waits longer.
MOST_S = 12.0
#: Smoothing of RFC 6298, section 2: alpha 1/8, beta 1/4, K = 4.
_ALPHA, _BETA, _K = 0.125, 0.25, 4


class Timeout(Protocol):
    """How long to wait for a coordinator; many threads report its answers, also those that come too late."""

    def seconds(self) -> float:
        """Return the time-out of a request that leaves now."""

    def answered(self, took_s: float) -> None:
        """Report an answer that came, in time or not."""


class Fixed:
    """A constant time-out."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def seconds(self) -> float:
        return self._timeout_s

    def answered(self, took_s: float) -> None:
        """Learn nothing."""


class Observed:
    """A time-out set at run time, as TCP sets its own (RFC 6298): mean of the answers plus four mean deviations.

    TCP doubles it when it expires, for it cannot tell which request a late answer is for. Here late answers count too:
    where distances grow it follows them, and where a coordinator stalls it stays as short as it was.

    Parameters
    ----------
    first_s : float
        Before anything was observed (section 2.1 of the RFC: one second).
    least_s : float
    """

    def __init__(self, first_s: float = 1.0, least_s: float = 0.01) -> None:
        self._lock = threading.Lock()
        self._first_s, self._least_s = first_s, least_s
        self._mean_s: float | None = None
        self._deviation_s = 0.0

    def seconds(self) -> float:
        """Return the time-out by what was observed so far."""
        with self._lock:
            plain_s = self._first_s if self._mean_s is None else self._mean_s + _K * self._deviation_s
            return min(MOST_S, max(self._least_s, plain_s))

    def answered(self, took_s: float) -> None:
        """Take an observation."""
        with self._lock:
            if self._mean_s is None:
                self._mean_s, self._deviation_s = took_s, took_s / 2
                return
            self._deviation_s += _BETA * (abs(took_s - self._mean_s) - self._deviation_s)
            self._mean_s += _ALPHA * (took_s - self._mean_s)


@dataclass(frozen=True, slots=True)
class Request:
    """A request from its first attempt to its end.

    Attributes
    ----------
    began_s, took_s : float
    expired : tuple of (int, float)
        Coordinators given up, with how long each had been waited for.
    answered : bool
        Whether any coordinator answered.
    """

    began_s: float
    took_s: float
    expired: tuple[tuple[int, float], ...]
    answered: bool


class ExpiredError(Exception):
    """A coordinator did not answer in time."""


#: Asks a coordinator, by its index, and waits so many seconds at most, else `ExpiredError`. Whenever its answer comes,
#: the third is called with how long it took.
Ask = Callable[[int, float, Callable[[float], None]], None]


def attempt(ask: Ask, timeouts: Sequence[Timeout], clock: Callable[[], float] = time.monotonic) -> Request:
    """Send a request to one coordinator after the other, the nearest first, again and again.

    Parameters
    ----------
    ask : callable
    timeouts : sequence of Timeout
        One per coordinator.
    clock : callable
        Seconds.

    Returns
    -------
    Request
        Not answered if `MOST_S` are over.
    """
    began_s = clock()
    expired: list[tuple[int, float]] = []
    while (left_s := MOST_S - (clock() - began_s)) > 0:
        coordinator = len(expired) % len(timeouts)
        timeout_s = min(timeouts[coordinator].seconds(), left_s)
        asked_s = clock()
        try:
            ask(coordinator, timeout_s, timeouts[coordinator].answered)
        except ExpiredError:
            expired.append((coordinator, clock() - asked_s))
            continue
        return Request(began_s, clock() - began_s, tuple(expired), answered=True)
    return Request(began_s, clock() - began_s, tuple(expired), answered=False)
