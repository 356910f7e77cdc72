"""Read the figures of cassandra-stress's console log: intervals by their headings, results by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from cassbook.core.errors import InputError
from cassbook.core.units import US_PER_MS
from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.stress_numbers import TOKEN, Notation
from cassbook.ingest.summary import Figures

FORMAT = "cassandra-stress console log"
_UNIT = r"(?: ?([A-Za-z/]+))?"
_RESULT_LINE = re.compile(rf"({TOKEN}){_UNIT}\s*(?:\[(.*)\])?\s*", re.ASCII)
#: `READ:1302, WRITE:474` in 2.1, `READ: 5,981 op/s, WRITE: 2,019 op/s` later: a blank follows only the comma between.
_OF_OPERATION = re.compile(rf"([^\s,:\[\]]+):\s*({TOKEN}){_UNIT}(?:, |$)", re.ASCII)
_CLOCK = re.compile(r"(\d{1,9}):(\d\d):(\d\d)", re.ASCII)
HEADINGS = {
    "total ops": ("operations", "operations"), "op/s": ("throughput", "1/s"), "adj row/s": ("adjusted row rate", "1/s"),
    "pk/s": ("partition rate", "1/s"), "row/s": ("row rate", "1/s"), "mean": ("mean", "us"), "med": ("p50", "us"),
    ".95": ("p95", "us"), ".99": ("p99", "us"), ".999": ("p99.9", "us"), "max": ("max", "us"),
    "stderr": ("standard error of the row rate", ""), "errors": ("errors", "operations"),
    "gc: #": ("gc", "collections"),
    "max ms": ("gc max", "ms"), "sum ms": ("gc sum", "ms"), "sdv ms": ("gc sd", "ms"), "mb": ("gc memory", "MB"),
}  # fmt: skip
TIME = "time"
_DECIMALS = {"mean": 1, "med": 1, ".95": 1, ".99": 1, ".999": 1, "max": 1, TIME: 1, "stderr": 5}


class _Kind(NamedTuple):
    """A figure of the results: its name, unit (empty where printed), decimals, and units that a log may print."""

    statistic: str
    unit: str
    decimals: int
    printed: tuple[str, ...]


_RATE, _LATENCY, _GC_S, _GC_MS = ("op/s", "pk/s", "row/s"), ("ms",), ("seconds",), ("ms",)
RESULTS = {
    "op rate": _Kind("throughput", "1/s", 0, _RATE), "partition rate": _Kind("partition rate", "1/s", 0, _RATE),
    "row rate": _Kind("row rate", "1/s", 0, _RATE), "latency mean": _Kind("mean", "us", 1, _LATENCY),
    "latency median": _Kind("p50", "us", 1, _LATENCY), "latency 95th percentile": _Kind("p95", "us", 1, _LATENCY),
    "latency 99th percentile": _Kind("p99", "us", 1, _LATENCY),
    "latency 99.9th percentile": _Kind("p99.9", "us", 1, _LATENCY), "latency max": _Kind("max", "us", 1, _LATENCY),
    "total partitions": _Kind("partitions", "partitions", 0, ()), "total errors": _Kind("errors", "operations", 0, ()),
    "total operation time": _Kind("run time", "s", 0, ()), "total gc count": _Kind("gc", "collections", 0, ()),
    "total gc mb": _Kind("gc memory", "MB", 0, ()),
    "total gc memory": _Kind("gc memory", "", 3, ("B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB")),
    "total gc time (s)": _Kind("gc sum", "s", 0, ()), "total gc time": _Kind("gc sum", "s", 1, _GC_S),
    "avg gc time(ms)": _Kind("gc mean", "ms", 0, ()), "avg gc time": _Kind("gc mean", "ms", 1, _GC_MS),
    "stdev gc time(ms)": _Kind("gc sd", "ms", 0, ()), "stddev gc time": _Kind("gc sd", "ms", 1, _GC_MS),
}  # fmt: skip
_QUOTED = 120


class Line(NamedTuple):
    """A line that has figures, or should: what it is in, and where. Without headings it is one of the results."""

    number: int
    raw: bytes
    text: str
    headings: tuple[str, ...] | None
    threads: int | None
    damaged: bool = False


def second_test(tally: Tally, number: int, text: str) -> InputError:
    """Return the refusal of a log with a second test, which begins at a line."""
    return InputError(
        f"{tally.path}, line {number}: a second test begins here ({text[:_QUOTED]!r}), and figures of two tests must "
        f"not be mixed; give each a log of its own (lines 1 to {number - 1}, and those from {number} on)"
    )


def figures_of(lines: Iterable[Line], tally: Tally) -> tuple[Figures, Notation]:
    """Take the figures of all lines, in the notation that they show together."""
    lines, figures, notation = list(lines), Figures(tally, FORMAT), Notation()
    for line in lines:
        _see(line, notation)
    notation.settle(tally.path)
    ends: dict[tuple[str, int | None], float] = {}
    for line in lines:
        if line.damaged or not (_interval if line.headings else _result)(line, notation, figures):
            tally.add(Damage(line.number, line.raw))
        elif line.headings and figures.rows:
            row = figures.rows[-1]
            end_s = row.at_s or 0.0
            before_s = ends.get((row.tag, row.threads), 0.0)
            if end_s < before_s:
                raise second_test(tally, line.number, f"time goes back from {before_s:g} to {end_s:g} s")
            ends[row.tag, row.threads] = end_s
    return figures, notation


def _see(line: Line, notation: Notation) -> None:
    """Take what a line shows of how numbers are printed."""
    if line.damaged:
        return
    if line.headings:
        notation.see_row(line.number, _texts(line), _decimals(line.headings))
        return
    kind, parts = _kind(line), _RESULT_LINE.fullmatch(_content(line))
    if parts is not None:
        tokens = [parts[1], *(token for token, _ in (_by_operation(parts[3] or "") or {}).values())]
        for token in tokens:
            notation.see(line.number, token, kind.decimals)


def _texts(line: Line) -> list[str]:
    return [part.strip() for part in line.text.split(",")[1:]]


def _decimals(headings: tuple[str, ...]) -> list[int]:
    return [_DECIMALS.get(heading, 0) for heading in headings]


def _content(line: Line) -> str:
    return line.text.partition(":")[2].strip()


def _kind(line: Line) -> _Kind:
    return RESULTS[line.text.partition(":")[0].strip().lower()]


def _interval(line: Line, notation: Notation, figures: Figures) -> bool:
    """Take the figures of an interval's line; False if it has not one under each heading."""
    headings = line.headings or ()
    numbers = notation.row(_texts(line), _decimals(headings))
    if numbers is None:
        return False
    values = dict(zip(headings, numbers, strict=True))
    at_s = values.pop(TIME)
    idle = values.get("total ops") == 0
    for heading, value in values.items():
        statistic, unit = HEADINGS.get(heading, (heading, ""))
        if not (idle and unit == "us"):
            _add(figures, line, line.text.partition(",")[0].strip(), statistic, value, unit, at_s)
    return True


def _result(line: Line, notation: Notation, figures: Figures) -> bool:
    """Take a line of the results: the total, and in brackets each operation; False if it cannot be read."""
    kind, content = _kind(line), _content(line)
    if clock := _CLOCK.fullmatch(content):
        hours, minutes, seconds = map(int, clock.groups())
        _add(figures, line, "total", kind.statistic, hours * 3600 + minutes * 60 + seconds, kind.unit)
        return True
    parts = _RESULT_LINE.fullmatch(content)
    by_operation = _by_operation(parts[3] or "") if parts else None
    if parts is None or by_operation is None:
        return False
    printed = {"total": (parts[1], parts[2] or ""), **by_operation}
    values = {tag: notation.value(token, kind.decimals) for tag, (token, _) in printed.items()}
    if None in values.values() or any(unit and unit not in kind.printed for _, unit in printed.values()):
        return False
    for tag, value in values.items():
        _add(figures, line, tag, kind.statistic, value or 0.0, kind.unit or parts[2] or "")
    return True


def _add(
    figures: Figures, line: Line, tag: str, statistic: str, value: float, unit: str, at_s: float | None = None
) -> None:
    scaled = value * US_PER_MS if unit == "us" else value
    figures.add(tag, statistic, scaled, unit, at_s, line.threads, line.number)


def _by_operation(text: str) -> dict[str, tuple[str, str]] | None:
    """Numbers and units of the operations in brackets; None if any of the text is something else."""
    values: dict[str, tuple[str, str]] = {}
    at = 0
    while at < len(text):
        part = _OF_OPERATION.match(text, at)
        if part is None:
            return None
        values[part[1]] = part[2], part[3] or ""
        at = part.end()
    return values
