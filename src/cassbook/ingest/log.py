"""What one log held, as far as the samples, its report and the check of its clock need it.

A raw log may hold a run, or two clients, without a heading: then the times of an operation begin again. YCSB completes
operations in the order of their rows. A clock that was set back makes one step; a second log behind the first makes one
of about its whole length, after which the times run on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cassbook.ingest.damage import Tally
from cassbook.ingest.samples import Operations, Spool
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
_NEVER = 2**62


@dataclass(slots=True)
class Stretch:
    """Rows of one operation whose times do not step back."""

    line: int  # of the first
    head_us: list[int]  # times of the first rows
    most_us: int  # time of the last row
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


@dataclass(slots=True)
class Log:
    """One log of single operations that was read to its end."""

    tally: Tally  # its path and damaged lines
    format: str  # in words
    #: its operations, until they are written; None where they stay with the workers of a Dask cluster
    spool: Spool | None
    #: operations by the name that the log has for them, those left out too
    counts: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)  # operations by name that the samples have no place for
    rows: int = 0  # operations that become samples
    first_us: int = _NEVER  # when the first was sent, microseconds since 1970 on the client's clock
    last_us: int = -_NEVER  # when the last came back, on the same clock
    back_ms: int = 0  # how far the client's clock was set back while it measured, at most; 0 if it was not
    lines: int = 0  # line ends in it, for a text
    #: lines of which each test has one, and where its rows begin
    begins: list[tuple[int, bytes]] = field(default_factory=list)
    order: Order = field(default_factory=Order)  # where times begin again
    #: units that its times are counted in, with the line before which the first such time does not come
    units: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # what a reader of the samples must know about them

    def add(self, operations: Operations) -> None:
        """Put some operations into the spool and widen the log's window to hold them."""
        if len(operations.operation):
            self.widen(operations)
            if self.spool:
                self.spool.add(operations)

    def widen(self, operations: Operations) -> None:
        """Count operations and let the window hold them."""
        self.rows += len(operations.operation)
        self.first_us = min(self.first_us, int(operations.started_us.min()))
        self.last_us = max(self.last_us, int(np.max(operations.started_us + operations.latency_us)))

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.tally.path.name

    def content(self) -> dict[str, object]:
        """Return what was read, for a program."""
        window = {"begun_unix_s": self.first_us / 1e6, "length_s": (self.last_us - self.first_us) / 1e6}
        return {
            "file": self.name, "format": self.format, "rows": self.rows, **(window if self.rows else {}),
            "counts": dict(self.counts.most_common()), "left_out": dict(self.left_out.most_common()),
            "clock_set_back_s": self.back_ms / 1000, "notes": self.notes, **self.tally.content(),
        }  # fmt: skip

    def report(self) -> list[str]:
        """Lines that say what was read."""
        window = ""
        if self.rows:
            begun = str(np.datetime64(self.first_us // 10**6, "s")).replace("T", " ")  # pandas ends in 2262
            window = f", {(self.last_us - self.first_us) / 1e6:.3f} s from {begun} UTC on"
        kinds = ", ".join(f"{name} {n:,}" for name, n in self.counts.most_common())
        lines = [f"{self.name}: {self.format}; {self.rows:,} operations{window}", f"  {kinds}"]
        if self.left_out:
            names = ", ".join(f"{name} {n:,}" for name, n in self.left_out.most_common())
            lines.append(f"  left out, for the samples have no such operation: {names}")
        if self.back_ms:
            lines.append(f"  its clock was set back while it measured, by {self.back_ms / 1000:g} s at most")
        return lines + [f"  {line}" for line in (*self.notes, *self.tally.lines())]
