"""Read the console log of cassandra-stress: one line per interval and operation, then the results, per thread count.

Read from 2.1 on, of Apache Cassandra and ScyllaDB. Releases differ in the header's commas, in units behind the results,
in the thousands separators of these, and in whether a line of the total or of each operation comes first. Latencies are
printed in milliseconds, numbers in the locale of the machine (see `stress_numbers`). A test that fails still prints
results, of zeros if it did nothing, and `FAILURE` behind them: such a log is refused, or read with a warning.

One process prints one test, or a series of growing thread counts (`-rate auto`, `threads>=4`). Whatever else a log has
is of a second test, and refused: figures of two tests must not be mixed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from cassbook.core.errors import InputError
from cassbook.ingest.damage import Tally
from cassbook.ingest.stress_figures import RESULTS, TIME, Line, figures_of, second_test
from cassbook.ingest.stress_numbers import TOKEN
from cassbook.ingest.summary import Figures, numbered

_HEADING = re.compile(r"\s*(id, )?type[, ]+total ops,")
_BEFORE_2_1 = re.compile(r"total,interval_op_rate,interval_key_rate,|\s*(?:id, )?ops\s*,\s*op/s,\s*key/s,")
_SERIES = re.compile(r"Running with (\d{1,9}) threadCount", re.ASCII)
_RUNNING = re.compile(r"Running .*?with (\d{1,9}) threads", re.ASCII)
#: What a process prints before it measures, never afterwards; and what it prints before or while it connects.
_PREAMBLE = re.compile(r"\*{20} Stress Settings|Sleeping 2s\.\.\.|Warming up \S|Thread count was not specified")
_CONNECTING = re.compile(r"Connected to cluster: |Created (?:keyspaces|schema)\b")
_OF_SERIES = re.compile(r"\s*\d+ threadCount, ")
#: How an interval's line begins: `total`, or an operation and a count. With so many commas a line can be nothing else,
#: unless it is from a log.
_ROW_BEGINS = re.compile(r"\s*(?:total,|[A-Za-z_][\w.-]*,\s*\d)")
_TOTAL_BEGINS = re.compile(r"\s*total,\s*\d")
_MANY_COMMAS = 10
_LOGGED = re.compile(
    r"\s*\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|SEVERE)\b|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\d\d:\d\d:\d\d[.,]\d{3} "
    r"|\s+at [\w$./]+\(|Caused by: "
)
#: The results, padded by cassandra-stress so that their colons stand in one column.
_LIKE_RESULT = re.compile(rf"[A-Za-z][^:]{{25}}: +(?:{TOKEN})", re.ASCII)
#: What cassandra-stress prints when its test has failed, and what it may print before.
_FAILURE = re.compile(r'FAILURE\b|Exception in thread "main"|.*\bFailed to execute (?:stress action|warmup)')
_EXCEPTION = re.compile(
    r"(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)\b|Operation x?\d+ on key\(s\) \[|Error executing: "
)
#: One operation that failed for good, after its last try.
_FAILED_OPERATION = re.compile(r"(?:[\w.$]+: )?Operation x?\d+ on key\(s\) ")
EXPECTED = (
    "an interval's line with a number under each heading, results with numbers in the notation of the whole log, or a "
    "text of cassandra-stress"
)
_QUOTED = 120


class Layout:
    """What part of a log each line is in: says where one test ends, and passes over and counts console text."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._headings: tuple[str, ...] = ()
        self._no_headings = False  # they were damaged, so the lines below them cannot be read
        self._threads: int | None = None
        self._in_series = self._announced = False  # a series announces each thread count before its own line
        self._measured = self._over = self.ended = False
        self._in_results = self._had_results = self._in_table = False
        self.failure: tuple[int, str] | None = None
        self.exception: tuple[int, str] | None = None
        self.failed_operations = 0

    def lines(self, numbered_lines: Iterable[tuple[int, bytes]]) -> Iterator[Line]:
        """Yield the lines that have figures or should."""
        for number, raw in numbered_lines:
            text = raw.decode("utf-8", "replace")
            if not text.strip():
                continue
            if _BEFORE_2_1.match(text):
                raise InputError(
                    f"{self._tally.path}, line {number}: {text.strip()[:_QUOTED]!r} is of cassandra-stress before 2.1, "
                    "which prints neither mean latency nor the operation, so it is not read; that of 2.1 and later is"
                )
            if self._begins(number, text):
                continue
            if (heading := _HEADING.match(text)) is not None:
                yield from self._heading(number, raw, text, whole=bool(heading[1]))
            elif (line := self._line(number, raw, text)) is not None:
                yield line

    def _begins(self, number: int, text: str) -> bool:
        """Whether a line begins or ends a part of the log, but for headings."""
        if (series := _SERIES.match(text)) is not None:
            threads = int(series[1])
            grows = self._in_series and threads > (self._threads or 0)
            self._check(number, text, self._measured and not grows)
            self._run(threads)
            self._in_series = self._announced = True
        elif (running := _RUNNING.match(text)) is not None:
            self._check(number, text, self._measured and not self._announced)
            self._run(int(running[1]))
        elif text.startswith("Results:"):
            self._check(number, text, self._had_results)
            self._in_results = self._had_results = self._measured = True
            self._headings, self._no_headings, self._in_table = (), False, False
        elif text.strip() in ("END", "FAILURE"):
            self._over = True
            self.ended |= text.strip() == "END"
            self.failure = self.failure or ((number, text) if text.strip() == "FAILURE" else None)
            self._in_results, self._headings, self._no_headings, self._in_table = False, (), False, False
        else:
            return False
        return True

    def _run(self, threads: int) -> None:
        self._threads, self._announced, self._measured = threads, False, False
        self._in_results = self._had_results = self._in_table = False
        self._headings, self._no_headings = (), False

    def _check(self, number: int, text: str, second: bool) -> None:
        """Refuse a second test with InputError, also where damaged lines are skipped."""
        if second or self._over:
            raise second_test(self._tally, number, text.strip())

    def _heading(self, number: int, raw: bytes, text: str, *, whole: bool) -> Iterator[Line]:
        """Take headings; those of the table behind a series are over what the results of each count have said."""
        self._check(number, text, self._measured and not whole)
        self._in_results, self._in_table = False, whole
        self._headings = () if whole else _headings(text)
        self._no_headings = not whole and (TIME not in self._headings or len(set(self._headings)) < len(self._headings))
        if self._no_headings:
            yield Line(number, raw, text, None, self._threads, damaged=True)

    def _line(self, number: int, raw: bytes, text: str) -> Line | None:
        """A line that has figures or should; None for console text, which is counted."""
        line = Line(number, raw, text, None, self._threads)
        if not self._is_text(number, text):
            name = text.partition(":")[0].strip().lower()
            if name in RESULTS or (self._in_results and _LIKE_RESULT.match(text)):
                self._measured |= self._in_results
                return line._replace(damaged=name not in RESULTS or not self._in_results)
            if (self._headings or self._no_headings) and _like_row(text):
                self._measured = True
                return line._replace(headings=self._headings, damaged=self._no_headings)
            if _TOTAL_BEGINS.match(text) and text.count(",") >= _MANY_COMMAS:
                return line._replace(damaged=True)
        if not (self._in_table and _OF_SERIES.match(text)):
            self._tally.texts += 1
        return None

    def _is_text(self, number: int, text: str) -> bool:
        """Whether a line is known to be console text, whatever it looks like."""
        if _PREAMBLE.match(text):
            self._check(number, text, self._measured)
        elif _CONNECTING.match(text):
            self._check(number, text, second=False)
        elif _FAILURE.match(text):
            self.failure = self.failure or (number, text)
        elif _EXCEPTION.match(text):
            self.exception = self.exception or (number, text)
            self.failed_operations += _FAILED_OPERATION.match(text) is not None
        else:
            return _LOGGED.match(text) is not None
        return True


def _headings(line: str) -> tuple[str, ...]:
    """Headings of the numbers; in 4.0 no comma follows the first, `type`."""
    return tuple(heading.strip() for heading in line[line.index("total ops") :].split(","))


def _like_row(line: str) -> bool:
    """Whether a line is meant to be an interval's, whole or not."""
    return _ROW_BEGINS.match(line) is not None or line.count(",") >= _MANY_COMMAS


def read(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a console log.

    Raise InputError at an interval's line without a number under each heading, or for a test that failed, unless
    damaged lines are skipped; always for a second test in the same log, and where nothing shows how its numbers are to
    be read.
    """
    layout = Layout(tally)
    lines = list(layout.lines(numbered(stream)))
    figures, notation = figures_of(lines, tally)
    if notation.decimal == ",":
        figures.notes.append(
            f"its numbers have a decimal comma (line {notation.first[',']}), as in the locale of its machine"
        )
    _judge(layout, figures)
    return figures


def _judge(layout: Layout, figures: Figures) -> None:
    """Say whether the test failed or was cut short, count errors, and leave out latencies of no operation.

    Raise InputError if it failed, unless damaged lines are skipped.
    """
    rows, notes = figures.rows, figures.notes
    whole = [row for row in rows if row.at_s is None and row.statistic == "partitions"]
    counted = {(row.tag, row.threads): row.value for row in whole}
    idle = {key for key, n in counted.items() if n == 0}
    figures.rows = [
        row for row in rows if row.at_s is not None or row.unit != "us" or (row.tag, row.threads) not in idle
    ]
    failed = layout.failure is not None or (layout.exception is not None and not layout.ended)
    quoted = layout.exception or layout.failure
    if quoted and failed:
        _failed(figures, f"the test failed (line {quoted[0]}: {quoted[1].strip()[:_QUOTED]!r})")
    elif idle and all(tag != "total" or (tag, threads) in idle for tag, threads in counted):
        _failed(figures, "its results count no operation")
    elif not layout.ended and rows:
        notes.append("no END in it: the test was stopped or still running, or the log was cut short")
    if idle:
        tags = ", ".join(sorted({tag for tag, _ in idle}))
        notes.append(f"latencies of no operation, printed as 0, are left out: {tags}")
    _count_errors(figures, layout.failed_operations)


def _failed(figures: Figures, what: str) -> None:
    if not figures.tally.skip:
        raise InputError(
            f"{figures.tally.path}: {what}, so its figures are not those of a whole test; "
            "`cassbook read --skip-damaged` reads what was printed all the same"
        )
    figures.notes.append(f"{what}: these figures are not those of a whole test")


def _count_errors(figures: Figures, failed_operations: int) -> None:
    """Add the errors of results that do not count them, from their intervals or else from what is said of each."""
    whole = {(row.threads, row.statistic): row.value for row in figures.rows if row.at_s is None and row.tag == "total"}
    last = max((row.line for row in figures.rows), default=0)
    counts: dict[int | None, float] = {}
    for row in figures.rows:
        if row.at_s is not None and row.tag == "total" and row.statistic == "errors":
            counts[row.threads] = counts.get(row.threads, 0.0) + row.value
    for threads in dict.fromkeys(threads for threads, _ in whole):
        if (threads, "errors") not in whole:
            n = counts.get(threads, float(failed_operations) if len({t for t, _ in whole}) == 1 else math.nan)
            if not math.isnan(n):
                figures.add("total", "errors", n, "operations", threads=threads, line=last)
                whole[threads, "errors"] = n
    said = sum(value for (_, statistic), value in whole.items() if statistic == "errors")
    if failed_operations > said:
        figures.notes.append(
            f"{failed_operations:,} lines tell of an operation that failed, its results count {said:,.0f} errors "
            "(those of a warm-up are not among them)"
        )
