"""The console log of cassandra-stress: a line an interval and operation, then the results, for each number of threads.

Read from 2.1, 3.11 and 4.0 on, which differ in the header's commas, in units behind the results, and in whether a line
of the total or of each operation comes first. Latencies are printed in milliseconds.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.summary import Figures, numbered

FORMAT = "cassandra-stress console log"
EXPECTED = "an interval's line with a number under each heading, or a text of cassandra-stress"
_HEADING = re.compile(r"\s*(id, )?type[, ]+total ops,")
_RUNNING = re.compile(r"Running (?:with (\d+) threadCount|.*?with (\d+) threads)")
#: How an interval's line begins: `total`, or an operation and a count. With so many commas a line can be nothing else.
_ROW_BEGINS = re.compile(r"\s*(?:total,|[A-Za-z_][\w-]*,\s*\d)")
_MANY_COMMAS = 10
_RESULT = re.compile(r"([A-Za-z][\w .()%]*?)\s*:\s+(\S+)(?: ([A-Za-z/]+))?\s*(?:\[(.*)\])?\s*")
_OF_OPERATION = re.compile(r"([\w-]+):\s*([\d.,NaE-]+)(?: [A-Za-z/]+)?")
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d)")
_MS_US = 1000.0
_HEADINGS = {
    "total ops": ("operations", "operations"), "op/s": ("throughput", "1/s"), "adj row/s": ("adjusted row rate", "1/s"),
    "pk/s": ("partition rate", "1/s"), "row/s": ("row rate", "1/s"), "mean": ("mean", "us"), "med": ("p50", "us"),
    ".95": ("p95", "us"), ".99": ("p99", "us"), ".999": ("p99.9", "us"), "max": ("max", "us"),
    "stderr": ("standard error of the row rate", ""), "errors": ("errors", "operations"),
    "gc: #": ("gc", "collections"),
    "max ms": ("gc max", "ms"), "sum ms": ("gc sum", "ms"), "sdv ms": ("gc sd", "ms"), "mb": ("gc memory", "MB"),
}  # fmt: skip
_RESULTS = {
    "op rate": ("throughput", "1/s"), "partition rate": ("partition rate", "1/s"), "row rate": ("row rate", "1/s"),
    "latency mean": ("mean", "us"), "latency median": ("p50", "us"), "latency 95th percentile": ("p95", "us"),
    "latency 99th percentile": ("p99", "us"), "latency 99.9th percentile": ("p99.9", "us"),
    "latency max": ("max", "us"), "total partitions": ("partitions", "partitions"),
    "total errors": ("errors", "operations"), "total operation time": ("run time", "s"),
}  # fmt: skip


def read(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a console log.

    Raises
    ------
    InputError
        At an interval's line without a number under each heading, unless damaged lines are skipped.
    """
    figures = Figures(tally, FORMAT)
    headings: list[str] = []
    threads: int | None = None
    in_results = False
    for number, raw in numbered(stream):
        line = raw.decode("utf-8", "replace")
        running = _RUNNING.match(line)
        if running:
            threads, in_results = int(running[1] or running[2]), False
        elif heading := _HEADING.match(line):
            # The table behind a series of thread counts repeats the results of each.
            headings, in_results = [] if heading[1] else _headings(line), False
        elif line.startswith("Results:"):
            in_results, headings = True, []
        elif in_results:
            if not _result(figures, line, threads):
                tally.add(Damage(number, raw))
        elif headings and _like_row(line) and not _interval(figures, line, headings, threads):
            tally.add(Damage(number, raw))
    return figures


def _headings(line: str) -> list[str]:
    """Headings of the numbers; in 4.0 no comma follows the first, `type`."""
    return [heading.strip() for heading in line[line.index("total ops") :].split(",")]


def _like_row(line: str) -> bool:
    """Whether a line is meant to be an interval's, whole or not."""
    return _ROW_BEGINS.match(line) is not None or line.count(",") >= _MANY_COMMAS


def _interval(figures: Figures, line: str, headings: list[str], threads: int | None) -> bool:
    """Take the figures of an interval's line; False if it has not one under each heading."""
    tag, *texts = (part.strip() for part in line.split(","))
    try:
        values = dict(zip(headings, map(float, texts), strict=True))
    except ValueError:
        return False
    at_s = values.pop("time")
    for heading, value in values.items():
        statistic, unit = _HEADINGS.get(heading, (heading, ""))
        figures.add(tag, statistic, value * _MS_US if unit == "us" else value, unit, at_s, threads)
    return True


def _result(figures: Figures, line: str, threads: int | None) -> bool:
    """Take a line of the results: the total, and in brackets each operation; False if it has no number."""
    parts = _RESULT.fullmatch(line)
    name = line.partition(":")[0].strip().lower()
    if name not in _RESULTS:
        return True
    if parts is None:
        return False
    statistic, unit = _RESULTS[name]
    clock = _CLOCK.fullmatch(parts[2])
    if clock:
        hours, minutes, seconds = map(int, clock.groups())
        figures.add("total", statistic, hours * 3600 + minutes * 60 + seconds, unit, threads=threads)
        return True
    try:
        numbers = {"total": _number(parts[2])} | {tag: _number(n) for tag, n in _OF_OPERATION.findall(parts[4] or "")}
    except ValueError:
        return False
    for tag, value in numbers.items():
        figures.add(tag, statistic, value * _MS_US if unit == "us" else value, unit, threads=threads)
    return True


def _number(text: str) -> float:
    """A number as the results have it, with commas between thousands and perhaps one behind."""
    return float(text.replace(",", ""))
