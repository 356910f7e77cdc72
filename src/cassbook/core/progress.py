"""One progress bar for every place it may be looked at, a terminal, a notebook's output, a CI log; and the time left.

The time that work of unequal parts still takes is their forecasts, corrected by how long earlier parts took.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TextIO

from tqdm import tqdm

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

    `parts`: in the order in which they are done. `clock`: seconds.
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


class _Lines:
    """A stream that turns a bar's redrawing into one line each, for logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write what is visible."""
        line = text.replace("\r", "").strip()
        if line:
            self._stream.write(line + "\n")

    def flush(self) -> None:
        self._stream.flush()


def bar(total: int, done: int, unit: str) -> tqdm:
    """Return a bar of `total` units, `done` of them from an earlier session, with the time left."""
    stream = sys.stderr
    if stream.isatty():
        return tqdm(total=total, initial=done, unit=unit, file=stream, smoothing=0.1, dynamic_ncols=True)
    layout = "{n_fmt}/{total_fmt} {unit}s done, {percentage:.0f} %, {elapsed} gone, {remaining} left"
    return tqdm(total=total, initial=done, unit=unit, file=_Lines(stream), mininterval=15, bar_format=layout)


class WeighedBar(tqdm):
    """A bar of parts that take unequal times: it is filled by time, and counts what is finished in words.

    `time_left`: of what is left. `total` and `done`: how many units there are, and how many an earlier session
    finished.
    """

    def __init__(self, time_left: TimeLeft, total: int, done: int, unit: str) -> None:
        self._time_left, self._units, self._finished, self._unit = time_left, total, done, unit
        stream = sys.stderr
        layout = "{finished}, {percentage:.0f} %, {elapsed} gone, {left} left"
        options: dict[str, Any] = {"file": _Lines(stream), "mininterval": 15}
        if stream.isatty():
            layout, options = "{finished} {percentage:3.0f}%|{bar}| {elapsed}<{left}", {"dynamic_ncols": True}
        super().__init__(total=1.0, bar_format=layout, miniters=0, **options)

    @property
    def format_dict(self) -> dict[str, Any]:
        """What the layout may name."""
        finished = f"{self._finished}/{self._units} {self._unit}s done"
        return {**super().format_dict, "finished": finished, "left": self.format_interval(self._time_left.left_s)}

    def part_done(self, units: int = 0) -> None:
        """Note that the part in hand is over, and that it made so many units finished."""
        self._time_left.done()
        self._finished += units
        gone_s, left_s = self._time_left.gone_s, self._time_left.left_s
        self.update(max(gone_s / max(gone_s + left_s, 1e-9) - self.n, 0.0))
