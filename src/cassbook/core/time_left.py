"""Time that work of unequal parts still takes: forecasts, corrected by how long earlier parts took."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

#: So many seconds of a forecast weigh against what has been observed: one short part must not decide.
_PRIOR_S = 1.0


class Part(NamedTuple):
    """A part of the work: what is alike in it with others, and its forecast."""

    kind: str
    seconds: float


class TimeLeft:
    """Forecasts of parts that are done one after the other, corrected kind by kind by those that are over.

    A kind of which no part is over is corrected as the others were together, but for `start`, which says nothing of
    what follows it.

    Parameters
    ----------
    parts : iterable of Part
        In the order in which they are done.
    clock : callable
        Seconds.
    """

    def __init__(self, parts: Iterable[Part], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = deque(parts)
        self._observed: defaultdict[str, float] = defaultdict(float)
        self._forecast: defaultdict[str, float] = defaultdict(float)
        self._begun = self._part_begun = clock()

    def done(self) -> None:
        """Note that the part in hand is over, and the next one begins."""
        now = self._clock()
        part = self._left.popleft()
        self._observed[part.kind] += now - self._part_begun
        self._forecast[part.kind] += part.seconds
        self._part_begun = now

    @property
    def gone_s(self) -> float:
        """Seconds since the work began."""
        return self._clock() - self._begun

    @property
    def slowness(self) -> float:
        """How many times as long as forecast the starts took: they are work, where other parts last as long as they are
        meant to.
        """
        return self._correction(START)

    @property
    def left_s(self) -> float:
        """Seconds that it takes from now on."""
        if not self._left:
            return 0.0
        expected = [part.seconds * self._correction(part.kind) for part in self._left]
        in_hand = max(expected[0] - (self._clock() - self._part_begun), 0.0)
        return in_hand + sum(expected[1:])

    def _correction(self, kind: str) -> float:
        others = set() if kind == START else set(self._forecast) - {START}
        kinds = {kind} if kind in self._forecast else others
        forecast, observed = (sum(of_kind[k] for k in kinds) for of_kind in (self._forecast, self._observed))
        return (observed + _PRIOR_S) / (forecast + _PRIOR_S)


#: Kind of the parts before the first cell of a block: a cluster start, its table, its warm-up.
START = "start"
