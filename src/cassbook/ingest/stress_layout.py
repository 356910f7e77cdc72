"""The layout of cassandra-stress's console log: what each line is in, where a test ends, and what is console text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cassbook.core.errors import InputError
from cassbook.ingest.damage import Tally
from cassbook.ingest.stress_figures import RESULTS, TIME, Line, second_test
from cassbook.ingest.stress_numbers import TOKEN

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
        """Refuse a second test.

        Raises
        ------
        InputError
            If there is one, also where damaged lines are skipped.
        """
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
