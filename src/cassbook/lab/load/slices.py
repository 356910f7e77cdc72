"""Slices of time in which the variants of a load alternate, under one load that is never broken off.

The load's slots and connections stay; only what the next request asks for changes, a consistency level or a pair of
them. A request belongs to the slice in which it was sent, and counts whenever it is answered: to leave out those that
straddle a change would leave out the long ones. Those sent within a guard after a change are left out, by the time at
which they were sent alone.

Randomised multiple interleaved trials: Abedi and Brecht, Conducting repeatable experiments in highly variable cloud
computing environments, ICPE 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from cassbook.core.balanced_order import balanced_order

#: A slice and its guard last for so many of the slowest variant's 95th percentile of latency, and no less than so long:
#: within one such latency nearly all that the variant before has sent is answered, in the next the queues settle.
GUARD_LATENCIES, LEAST_GUARD_S = 1.5, 0.1
COUNTED_LATENCIES, LEAST_COUNTED_S = 4.0, 0.4
#: Each variant has at least so many slices, however long they are.
LEAST_ROUNDS = 2
#: How long each variant is tried beforehand, at least and at most.
LEAST_PILOT_S, MOST_PILOT_S = 0.15, 3.0


@dataclass(frozen=True, slots=True)
class Slices:
    """When which variant has its turn, counted from the start of the steady window."""

    guard_s: float  # each slice begins with a guard
    counted_s: float  # what is sent in the rest counts
    order: tuple[int, ...]  # variant of each slice; in each round of as many slices as there are variants, each has one

    @property
    def length_s(self) -> float:
        """Length of one slice, guard included."""
        return self.guard_s + self.counted_s

    @property
    def whole_s(self) -> float:
        """Length of all slices together."""
        return self.length_s * len(self.order)

    def measured_s(self, variant: int) -> float:
        """Seconds that count of a variant."""
        return self.counted_s * self.order.count(variant)

    def begun_s(self, first_s: float) -> list[float]:
        """Return when each begins, if the first one does at a moment."""
        return [first_s + place * self.length_s for place in range(len(self.order))]


@dataclass(frozen=True, slots=True)
class Alternation:
    """How variants are to alternate; lengths follow once it is known how long requests take."""

    variants: int
    measured_s: float  # seconds that each variant is measured at least
    seed: tuple[int, ...]  # of the order
    lengths_s: tuple[float, float] | None = None  # guard and rest of each slice, where they do not follow the latency
    whole_s: float | None = None  # seconds that all slices take together, guards included, in place of `measured_s`

    def slices(self, latency_s: float) -> Slices:
        """Return the slices for a latency: the 95th percentile of the slowest variant.

        Examples
        --------
        >>> made = Alternation(3, 3.5, (1,)).slices(0.01)
        >>> made.guard_s, made.counted_s, len(made.order)
        (0.1, 0.4375, 24)
        """
        guard_s, counted_s, rounds = self._lengths(latency_s)
        return Slices(guard_s, counted_s, balanced_order(self.variants, rounds, self.seed))

    def forecast_s(self, latency_s: float) -> float:
        """Return how long all slices take for such a latency."""
        guard_s, counted_s, rounds = self._lengths(latency_s)
        return (guard_s + counted_s) * rounds * self.variants

    def _lengths(self, latency_s: float) -> tuple[float, float, int]:
        if self.lengths_s:
            guard_s, counted_s = self.lengths_s
        else:
            guard_s = max(LEAST_GUARD_S, GUARD_LATENCIES * latency_s)
            counted_s = max(LEAST_COUNTED_S, COUNTED_LATENCIES * latency_s)
        if self.whole_s:
            round_s = self.whole_s / self.variants
            rounds = max(math.floor(round_s / (guard_s + counted_s)), LEAST_ROUNDS)
            return guard_s, max(round_s / rounds - guard_s, LEAST_COUNTED_S), rounds
        rounds = max(math.floor(self.measured_s / counted_s), LEAST_ROUNDS)
        return guard_s, max(counted_s, self.measured_s / rounds), rounds


Variant = TypeVar("Variant")


class Turns(Generic[Variant]):
    """Whose turn it is: always that of one variant, by its number; `variant` is what requests are made with.

    Slices are numbered from 0. What is sent outside them has -1 less the number of its variant, so that either
    identifies the variant.
    """

    def __init__(self, variant: Variant, number: int = 0) -> None:
        self.slice = outside(number)
        self._always = self.slice, variant

    def at(self, moment: float) -> tuple[int, Variant]:
        """Return the slice that a request of this moment belongs to, and the variant."""
        return self._always


class AlternatingTurns(Turns[Variant]):
    """Whose turn it is by the moment: each slice's variant, before them the first one's, after them the last one's.

    The first slice `begins` at a moment of the client's clock.
    """

    def __init__(self, variants: Sequence[Variant], slices: Slices, begins: float) -> None:
        first, last = slices.order[0], slices.order[-1]
        super().__init__(variants[first], first)
        self._begins, self._per_s = begins, 1 / slices.length_s
        self._turns = [(place, variants[number]) for place, number in enumerate(slices.order)]
        self._after = outside(last), variants[last]

    def at(self, moment: float) -> tuple[int, Variant]:
        """Return the slice that a request of this moment belongs to, and the variant."""
        if moment < self._begins:
            return self._always
        place = int((moment - self._begins) * self._per_s)
        return self._turns[place] if place < len(self._turns) else self._after


def outside(variant: int) -> int:
    """Return the number in place of a slice for a request, of a variant, that belongs to none.

    >>> outside(0), outside(2)
    (-1, -3)
    """
    return -1 - variant


class Pilot:
    """Latencies of one variant before slices begin, which decide how long they are; takes the place of a loop's record.

    Everything is handed on to `record`; `slice_` is the variant's number as of `Turns`.
    """

    def __init__(self, slice_: int, record: Callable[..., None]) -> None:
        self._slice, self._record = slice_, record
        self._latency_s: list[float] = []

    def __call__(self, started: float, latency_s: float, *rest: Any) -> None:
        """Note a finished request, and hand it on."""
        if rest[-1] == self._slice:
            self._latency_s.append(latency_s)
        self._record(started, latency_s, *rest)

    def enough(self, answers: int, gone_s: float) -> bool:
        """Whether the pilot may end: after so many answers and a while, or when it has taken too long."""
        return gone_s >= MOST_PILOT_S or (gone_s >= LEAST_PILOT_S and len(self._latency_s) >= answers)

    def p95_s(self, gone_s: float) -> float:
        """Return the 95th percentile of latency; where nothing was answered, how long that was waited for."""
        return float(np.quantile(self._latency_s, 0.95)) if self._latency_s else gone_s
