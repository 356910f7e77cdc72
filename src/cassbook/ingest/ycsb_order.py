"""Where the times of an operation begin again, as in a raw log that holds a run, or two clients, without a heading.

YCSB completes operations in the order of their rows. A clock that was set back makes one step; a second log behind the
first makes one of about its whole length, after which the times run on from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cassbook.ingest.ycsb_lines import UNITS_PER_S, Rows

#: A step back of less is the jitter of threads.
_LEAST_STEP_US = 100_000
#: Rows before a step and behind it by which a test is known, and of each stretch on average: in a log whose rows are
#: sorted by something else, nearly every row steps back.
_ROWS = 10
#: Share of the time covered so far up to which a second test begins.
_NEAR_BEGIN = 0.2
#: Stretches of an operation that are kept apart; with more, the log is in no order of time.
_MOST_STRETCHES = 1000


@dataclass(slots=True)
class Stretch:
    """Rows of one operation whose times do not step back.

    Attributes
    ----------
    line : int
        Of the first.
    head_us : list of int
        Times of the first rows.
    most_us : int
        Time of the last row.
    rows : int
    """

    line: int
    head_us: list[int]
    most_us: int
    rows: int


@dataclass(slots=True)
class Order:
    """The stretches of each operation, in file order."""

    stretches: dict[str, list[Stretch]] = field(default_factory=dict)

    def add(self, name: str, stretch: Stretch) -> None:
        """Take the next stretch of an operation, which may go on from the one before."""
        known = self.stretches.setdefault(name, [])
        if known and (stretch.head_us[0] > known[-1].most_us - _LEAST_STEP_US or len(known) == _MOST_STRETCHES):
            last = known[-1]
            last.head_us += stretch.head_us[: _ROWS - len(last.head_us)]
            last.most_us = max(last.most_us, stretch.most_us)
            last.rows += stretch.rows
        else:
            known.append(stretch)

    def add_all(self, other: Order, lines_before: int) -> None:
        """Take what was seen of a later part of the same file."""
        for name, stretches in other.stretches.items():
            for one in stretches:
                self.add(name, Stretch(lines_before + one.line, list(one.head_us), one.most_us, one.rows))

    def take(self, rows: Rows, lines_before: int) -> None:
        """Take the rows of a block."""
        if not rows.at.size:
            return
        at_us = _completed_us(rows)
        for code, name in enumerate(rows.names):
            places = np.flatnonzero(rows.name == code) if len(rows.names) > 1 else np.arange(at_us.size)
            times = at_us[places]
            back = np.flatnonzero(np.diff(times) <= -_LEAST_STEP_US)[:_MOST_STRETCHES] + 1
            bounds = [0, *back.tolist(), times.size]
            for begin, end in pairwise(bounds):
                if end > begin:
                    line = lines_before + rows.line_of(int(places[begin]))
                    part = times[begin:end]
                    self.add(name, Stretch(line, part[:_ROWS].tolist(), int(part.max()), end - begin))

    def second_begins(self) -> tuple[int, str, float] | None:
        """Line where a second test begins, the operation whose times begin again there, and by how many seconds."""
        return min((found for name in self.stretches for found in self._again(name)), default=None)

    def _again(self, name: str) -> Iterator[tuple[int, str, float]]:
        stretches = self.stretches[name]
        if len(stretches) == _MOST_STRETCHES or sum(one.rows for one in stretches) < _ROWS * len(stretches):
            return
        first_us, most_us, rows = stretches[0].head_us[0], stretches[0].most_us, stretches[0].rows
        for one in stretches[1:]:
            begun_us, tenth_us = one.head_us[0], one.head_us[-1]
            near = begun_us <= first_us + _NEAR_BEGIN * (most_us - first_us)
            if near and rows >= _ROWS and len(one.head_us) == _ROWS and tenth_us < most_us:
                yield one.line, name, (most_us - begun_us) / 1e6
            most_us, rows = max(most_us, one.most_us), rows + one.rows


def _completed_us(rows: Rows) -> NDArray[np.int64]:
    """When the operations were completed; go-ycsb has the start."""
    if rows.unit == "us":
        return rows.at + rows.latency_us
    per_s = UNITS_PER_S[rows.unit or "ms"]
    return rows.at * (10**6 // per_s) if per_s <= 10**6 else rows.at // (per_s // 10**6)
