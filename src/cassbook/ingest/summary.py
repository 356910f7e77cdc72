"""The table of logs without single operations: one row per figure that a tool summed up; never made into samples."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from cassbook.core.files import whole
from cassbook.core.schema import SCHEMA_VERSION
from cassbook.ingest.damage import Tally
from cassbook.ingest.samples import is_csv

#: One row per figure. Latencies are microseconds, whatever the log has them in.
SUMMARIES = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("tag", pa.string()),  # the operation, as the tool names it; OVERALL or total over all of them
        pa.field("threads", pa.int64()),  # where the log says
        pa.field("at_s", pa.float64()),  # end of the interval since the test began; null for the whole test
        pa.field("statistic", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("unit", pa.string()),
    ],
    metadata={b"cassbook_table": b"summaries", b"cassbook_schema_version": str(SCHEMA_VERSION).encode()},
)

#: A number as programs in Java print it. Python's own `float` also takes underscores and the digits of other scripts.
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?|NaN|Infinity)", re.ASCII)


class Figure(NamedTuple):
    """One figure of a log: columns of `SUMMARIES` and the line that it stands in (0 where a format has no lines)."""

    tag: str
    threads: int | None
    at_s: float | None
    statistic: str
    value: float
    unit: str
    line: int = 0


_QUANTILE = re.compile(r"p\d+(?:\.\d+)?")
#: Figures are rounded, and buckets of histograms have a width.
_SLACK, _SLACK_US = 0.01, 1.0
#: Contradictions that a report names; the rest are counted.
_NAMED = 5


@dataclass(slots=True)
class Figures:
    """The figures of one log."""

    tally: Tally  # its path and damaged lines
    format: str  # in words
    rows: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what a reader of the figures must know about them

    def add(
        self, tag: str, statistic: str, value: float, unit: str,
        at_s: float | None = None, threads: int | None = None, line: int = 0,
    ) -> None:  # fmt: skip
        """Take a figure."""
        self.rows.append(Figure(tag, threads, at_s, statistic, value, unit, line))

    def threads(self) -> tuple[int, ...]:
        """Numbers of threads of the tests in it; empty where the log does not say."""
        return tuple(sorted({row.threads for row in self.rows if row.threads is not None}))

    def implausible(self) -> list[str]:
        """Name figures that contradict each other, with lines: a median above p95, a mean outside of its range."""
        groups: dict[tuple[Any, ...], dict[str, Figure]] = {}
        for row in self.rows:
            if row.unit == "us" and math.isfinite(row.value):
                groups.setdefault((row.tag, row.threads, row.at_s), {})[row.statistic] = row
        found = [said for group in groups.values() for said in _contradictions(group)]
        more = [f"and {len(found) - _NAMED} more such figures"] if len(found) > _NAMED else []
        return [*found[:_NAMED], *more]

    def remarks(self) -> list[str]:
        """What a reader of the figures must know, and what was left out."""
        return [*self.notes, *self.tally.lines()]

    def table(self) -> pa.Table:
        """Columns `SUMMARIES`."""
        columns = [[getattr(row, name) for row in self.rows] for name in SUMMARIES.names[1:]]
        return pa.table([[self.tally.path.name] * len(self.rows), *columns], schema=SUMMARIES)

    def content(self) -> dict[str, object]:
        """Return what was read, for a program."""
        counts = dict(Counter(row[0] for row in self.rows).most_common())
        named = {"file": self.tally.path.name, "format": self.format, "rows": len(self.rows), "counts": counts}
        return named | {"notes": self.notes, **self.tally.content()}

    def report(self) -> list[str]:
        """Lines that say what was read."""
        tags = ", ".join(dict.fromkeys(row[0] for row in self.rows))
        first = f"{self.tally.path.name}: {self.format}; {len(self.rows):,} figures of {tags}"
        return [first, *(f"  {line}" for line in self.remarks())]


def _contradictions(group: dict[str, Figure]) -> Iterator[str]:
    """Say where figures of one operation are not in their order."""
    quantiles = [row for name, row in group.items() if _QUANTILE.fullmatch(name)]
    ranked = sorted(quantiles, key=lambda row: float(row.statistic[1:]))
    # Not the least and a percentile: YCSB's histograms round percentiles down to whole milliseconds.
    for names in ((*(row.statistic for row in ranked), "max"), ("min", "mean", "max")):
        for low, high in itertools.pairwise(group[name] for name in names if name in group):
            if low.value > high.value * (1 + _SLACK) + _SLACK_US:
                where = f"line {high.line}: " if high.line else ""
                yield (
                    f"{where}{high.tag}: {high.statistic} {high.value:g} us is below {low.statistic} {low.value:g} us, "
                    "which cannot be"
                )


def numbered(stream: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines without their ends, numbered from 1."""
    for number, line in enumerate(stream, start=1):
        yield number, line.rstrip(b"\r\n")


def number_of(text: str) -> float | None:
    """Return the number that a text is, or None if it is none.

    >>> number_of("1.5E-3"), number_of("1_000"), number_of("12ms")
    (0.0015, None, None)
    """
    return float(text) if _NUMBER.fullmatch(text) else None


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as Parquet, or as CSV where the name ends in .csv, by rename."""
    with whole(path) as draft:
        if is_csv(path):
            csv.write_csv(table, draft)
        else:
            pq.write_table(table, draft, compression="zstd")
