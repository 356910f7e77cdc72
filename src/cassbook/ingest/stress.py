"""The console log of cassandra-stress: a line an interval and operation, then the results, for each number of threads.

Read from 2.1, 3.11 and 4.0 on, which differ in the header's commas, in units behind the results, and in whether a line
of the total or of each operation comes first. Latencies are printed in milliseconds. A test that fails still prints
results, of zeros if it did nothing, and `FAILURE` behind them: such a log is refused, or read with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from cassbook.core.errors import InputError
from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.summary import Figures, number_of, numbered

FORMAT = "cassandra-stress console log"
EXPECTED = "an interval's line with a number under each heading, or a text of cassandra-stress"
_HEADING = re.compile(r"\s*(id, )?type[, ]+total ops,")
_RUNNING = re.compile(r"Running (?:with (\d{1,9}) threadCount|.*?with (\d{1,9}) threads)", re.ASCII)
#: How an interval's line begins: `total`, or an operation and a count. With so many commas a line can be nothing else.
_ROW_BEGINS = re.compile(r"\s*(?:total,|[A-Za-z_][\w-]*,\s*\d)")
_MANY_COMMAS = 10
_NUMBER = r"[^\s,\[\]]+(?:,\d{3})*"
_UNIT = r"(?: ([A-Za-z/]+))?"
_RESULT = re.compile(rf"({_NUMBER}){_UNIT}\s*(?:\[(.*)\])?\s*", re.ASCII)
#: `READ:1302, WRITE:474` in 2.1, `READ: 5,981 op/s, WRITE: 2,019 op/s` later: a blank follows only the comma between.
_OF_OPERATION = re.compile(rf"([^\s,:\[\]]+):\s*({_NUMBER}){_UNIT}(?:, |$)", re.ASCII)
_CLOCK = re.compile(r"(\d{1,9}):(\d\d):(\d\d)", re.ASCII)
_MS_US = 1000.0
_HEADINGS = {
    "total ops": ("operations", "operations"), "op/s": ("throughput", "1/s"), "adj row/s": ("adjusted row rate", "1/s"),
    "pk/s": ("partition rate", "1/s"), "row/s": ("row rate", "1/s"), "mean": ("mean", "us"), "med": ("p50", "us"),
    ".95": ("p95", "us"), ".99": ("p99", "us"), ".999": ("p99.9", "us"), "max": ("max", "us"),
    "stderr": ("standard error of the row rate", ""), "errors": ("errors", "operations"),
    "gc: #": ("gc", "collections"),
    "max ms": ("gc max", "ms"), "sum ms": ("gc sum", "ms"), "sdv ms": ("gc sd", "ms"), "mb": ("gc memory", "MB"),
}  # fmt: skip
_TIME = "time"
#: A figure of the results, and its unit; empty where the log prints it behind the number.
_RESULTS = {
    "op rate": ("throughput", "1/s"), "partition rate": ("partition rate", "1/s"), "row rate": ("row rate", "1/s"),
    "latency mean": ("mean", "us"), "latency median": ("p50", "us"), "latency 95th percentile": ("p95", "us"),
    "latency 99th percentile": ("p99", "us"), "latency 99.9th percentile": ("p99.9", "us"),
    "latency max": ("max", "us"), "total partitions": ("partitions", "partitions"),
    "total errors": ("errors", "operations"), "total operation time": ("run time", "s"),
    "total gc count": ("gc", "collections"), "total gc mb": ("gc memory", "MB"), "total gc memory": ("gc memory", ""),
    "total gc time (s)": ("gc sum", "s"), "total gc time": ("gc sum", "s"), "avg gc time(ms)": ("gc mean", "ms"),
    "avg gc time": ("gc mean", "ms"), "stdev gc time(ms)": ("gc sd", "ms"), "stdev gc time": ("gc sd", "ms"),
}  # fmt: skip
#: What cassandra-stress prints when its test has failed, and what it may print before.
_FAILURE = re.compile(r'FAILURE\b|Exception in thread "main"|.*\bFailed to execute (?:stress action|warmup)')
_EXCEPTION = re.compile(
    r"(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)\b|Operation x?\d+ on key\(s\) \[|Error executing: "
)
_QUOTED = 120


def read(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a console log.

    Raises
    ------
    InputError
        At an interval's line without a number under each heading, or for a test that failed, unless damaged lines are
        skipped.
    """
    return _Reader(tally).read(numbered(stream))


class _Reader:
    """Where in a console log its reader is, and what was read."""

    def __init__(self, tally: Tally) -> None:
        self._tally, self._figures = tally, Figures(tally, FORMAT)
        self._headings: list[str] = []
        self._no_headings = False  # they were damaged, so the lines below them cannot be read
        self._threads: int | None = None
        self._in_results = self._ended = False
        self._failure: tuple[int, str] | None = None
        self._exception: tuple[int, str] | None = None

    def read(self, lines: Iterator[tuple[int, bytes]]) -> Figures:
        """Read all lines."""
        for number, raw in lines:
            line = raw.decode("utf-8", "replace")
            if not self._heads(number, raw, line) and not self._row(line):
                self._tally.add(Damage(number, raw))
        self._judge()
        return self._figures

    def _heads(self, number: int, raw: bytes, line: str) -> bool:
        """Whether a line begins or ends a part of the log."""
        running, heading = _RUNNING.match(line), _HEADING.match(line)
        if running:
            self._threads, self._in_results, self._ended = int(running[1] or running[2]), False, False
        elif heading:
            # The table behind a series of thread counts repeats the results of each.
            self._headings, self._in_results = [] if heading[1] else _headings(line), False
            self._no_headings = not heading[1] and (
                _TIME not in self._headings or len(set(self._headings)) < len(self._headings)
            )
            if self._no_headings:
                self._tally.add(Damage(number, raw))
        elif line.startswith("Results:"):
            self._in_results, self._headings, self._no_headings = True, [], False
        elif line.strip() == "END":
            self._ended = True
        elif self._failure is None and _FAILURE.match(line):
            self._failure = number, line
        elif self._exception is None and _EXCEPTION.match(line):
            self._exception = number, line
        else:
            return False
        return True

    def _row(self, line: str) -> bool:
        """Take a line's figures; False if it should have some and they cannot be read."""
        if self._in_results:
            return self._result(line)
        if not (self._headings or self._no_headings) or not _like_row(line):
            return True
        return not self._no_headings and self._interval(line)

    def _interval(self, line: str) -> bool:
        """Take the figures of an interval's line; False if it has not one under each heading."""
        tag, *texts = (part.strip() for part in line.split(","))
        numbers = [number_of(text) for text in texts]
        if len(numbers) != len(self._headings) or None in numbers:
            return False
        values = {heading: value for heading, value in zip(self._headings, numbers, strict=True) if value is not None}
        at_s = values.pop(_TIME)
        idle = values.get("total ops") == 0
        for heading, value in values.items():
            statistic, unit = _HEADINGS.get(heading, (heading, ""))
            if not (idle and unit == "us"):
                self._add(tag, statistic, value, unit, at_s)
        return True

    def _result(self, line: str) -> bool:
        """Take a line of the results: the total, and in brackets each operation; False if it has no number."""
        name, _, content = line.partition(":")
        known = _RESULTS.get(name.strip().lower())
        if known is None:
            return True
        statistic, unit = known
        content = content.strip()
        if clock := _CLOCK.fullmatch(content):
            hours, minutes, seconds = map(int, clock.groups())
            self._add("total", statistic, hours * 3600 + minutes * 60 + seconds, unit)
            return True
        parts = _RESULT.fullmatch(content)
        by_operation = _by_operation(parts[3] or "") if parts else None
        total = number_of(parts[1].replace(",", "")) if parts else None
        if parts is None or by_operation is None or total is None:
            return False
        for tag, value in {"total": total, **by_operation}.items():
            self._add(tag, statistic, value, unit or parts[2] or "")
        return True

    def _add(self, tag: str, statistic: str, value: float, unit: str, at_s: float | None = None) -> None:
        self._figures.add(tag, statistic, value * _MS_US if unit == "us" else value, unit, at_s, self._threads)

    def _judge(self) -> None:
        """Say whether the test failed or was cut short, and leave out latencies of no operation.

        Raises
        ------
        InputError
            If it failed, unless damaged lines are skipped.
        """
        rows = self._figures.rows
        whole = [row for row in rows if row.at_s is None and row.statistic == "partitions"]
        counted = {(row.tag, row.threads): row.value for row in whole}
        idle = {key for key, n in counted.items() if n == 0}
        self._figures.rows = [
            row for row in rows if row.at_s is not None or row.unit != "us" or (row.tag, row.threads) not in idle
        ]
        failed = self._failure is not None or (self._exception is not None and not self._ended)
        quoted = self._exception or self._failure
        if quoted and failed:
            self._failed(f"the test failed (line {quoted[0]}: {quoted[1].strip()[:_QUOTED]!r})")
        elif idle and all(tag != "total" or (tag, threads) in idle for tag, threads in counted):
            self._failed("its results count no operation")
        elif not self._ended and rows:
            self._figures.notes.append("no END in it: the test was stopped or still running, or the log was cut short")
        if idle:
            tags = ", ".join(sorted({tag for tag, _ in idle}))
            self._figures.notes.append(f"latencies of no operation, printed as 0, are left out: {tags}")

    def _failed(self, what: str) -> None:
        if not self._tally.skip:
            raise InputError(
                f"{self._tally.path}: {what}, so its figures are not those of a whole test; "
                "`cassbook read --skip-damaged` reads what was printed all the same"
            )
        self._figures.notes.append(f"{what}: these figures are not those of a whole test")


def _headings(line: str) -> list[str]:
    """Headings of the numbers; in 4.0 no comma follows the first, `type`."""
    return [heading.strip() for heading in line[line.index("total ops") :].split(",")]


def _like_row(line: str) -> bool:
    """Whether a line is meant to be an interval's, whole or not."""
    return _ROW_BEGINS.match(line) is not None or line.count(",") >= _MANY_COMMAS


def _by_operation(text: str) -> dict[str, float] | None:
    """Numbers of the operations in brackets; None if any of the text is something else."""
    values: dict[str, float] = {}
    at = 0
    while at < len(text):
        part = _OF_OPERATION.match(text, at)
        value = number_of(part[2].replace(",", "")) if part else None
        if part is None or value is None:
            return None
        values[part[1]] = value
        at = part.end()
    return values
