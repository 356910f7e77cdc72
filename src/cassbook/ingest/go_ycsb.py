"""go-ycsb's summary: `READ   - Takes(s): 10.0, Count: 9000, OPS: 900.0, Avg(us): 812, ...`, a row per operation.

While it runs, go-ycsb prints the same rows every ten seconds, over all the time so far. Only the last of each operation
is of the whole test; the earlier ones are passed over. `outputstyle=json` is read too.
"""

from __future__ import annotations

import json
import math
import re
from typing import BinaryIO, NamedTuple

from cassbook.core.units import MS_PER_S
from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.summary import Figures, number_of, numbered
from cassbook.ingest.ycsb_raw import second_test
from cassbook.ingest.ycsb_summary import without_idle
from cassbook.ingest.ycsb_texts import is_text

FORMAT = "go-ycsb summary"
EXPECTED = "`OPERATION - Takes(s): number, Count: number, ...`, or a text of go-ycsb's or of a console"
_ROW = re.compile(r"([A-Z_]+) *- (Takes\(s\): .*)")
_FINISHED = b"Run finished, takes "
_STATISTICS = {
    "Takes(s)": ("run time", "s"), "Count": ("operations", "operations"), "OPS": ("throughput", "1/s"),
    "Avg(us)": ("mean", "us"), "Min(us)": ("min", "us"), "Max(us)": ("max", "us"),
}  # fmt: skip
_PERCENTILE = re.compile(r"(\d+(?:\.\d+)?)th\(us\)")
#: All operations that succeeded; the name under which other tools' figures over all operations are kept.
_ALL, _TOTAL = "TOTAL", "total"
_UNIT_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "\u00b5s": 1e-6, "ns": 1e-9}
_PART = re.compile("(\\d+(?:\\.\\d+)?)(h|ms|m|s|\u00b5s|ns)")
_DURATION = re.compile(f"(?:{_PART.pattern})+")
#: Rows that cover so much more time than the run that finished are of another.
_LONGER = 1.5

Row = dict[str, float]


class _Printed(NamedTuple):
    """A row as it stands in the log: its line, its operation and its numbers."""

    line: int
    tag: str
    row: Row


class _Test:
    """The rows of one test, in file order; refuses those of a second.

    A test prints its rows, sorted by operation, now and then, then `Run finished`, and then once more the last of each
    operation. So behind `Run finished` each operation has one row, and none is missing there.
    """

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._rows: list[_Printed] = []
        self.last: dict[str, tuple[int, Row]] = {}
        #: Line of `Run finished`, how long the run took, and how many rows came before.
        self.finished, self._takes_s, self._before = 0, math.inf, 0

    def add(self, line: int, tag: str, row: Row) -> None:
        """Take a row."""
        before = self.last.get(tag)
        self._rows.append(_Printed(line, tag, row))
        if before and (row["Takes(s)"] < before[1]["Takes(s)"] or row["Count"] < before[1]["Count"]):
            self._refuse(self._begin(before[0]), f"{tag!r} is in line {before[0]} already, with more")
        if self.finished:
            why = f"{_FINISHED.decode().strip()!r} is in line {self.finished} already"
            if row["Takes(s)"] > _LONGER * self._takes_s + 1:
                self._refuse(line, f"{why}, and {tag!r} takes longer")
            if before and before[0] > self.finished:
                self._refuse(self._begin(before[0]), f"{why}, and {tag!r} is in line {before[0]}")
        self._tally.texts += before is not None
        self.last[tag] = line, row

    def finish(self, line: int, takes: str) -> None:
        """Take a line `Run finished`."""
        if self.finished:
            self._refuse(
                self._begin_of_finished(line), f"{_FINISHED.decode().strip()!r} is in line {self.finished} already"
            )
        self.finished, self._takes_s, self._before = line, _seconds(takes), len(self._rows)

    def end(self) -> None:
        """Check the rows behind `Run finished` at the end of the log."""
        if self._other_operations() and not self._tally.count:
            why = f"{_FINISHED.decode().strip()!r} is in line {self.finished} already, and other operations follow"
            self._refuse(self._behind()[0].line, why)

    def _behind(self) -> list[_Printed]:
        """Rows behind `Run finished`."""
        return self._rows[self._before :]

    def _new(self) -> list[_Printed]:
        """Rows behind `Run finished` of operations that have none before it, though others have."""
        before = {row.tag for row in self._rows[: self._before]}
        return [row for row in self._behind() if before and row.tag not in before]

    def _other_operations(self) -> bool:
        """Whether the rows behind `Run finished` are not of the test that finished."""
        missing = {row.tag for row in self._rows[: self._before]} - {row.tag for row in self._behind()}
        return bool(self.finished and missing and self._new())

    def _begin(self, before: int) -> int:
        """Line of the first of the sorted rows that the newest one belongs to, none of them up to a line `before`."""
        if self._other_operations():
            return self._behind()[0].line
        first = len(self._rows) - 1
        while first and self._follows(first) and self._rows[first - 1].line > max(before, self.finished):
            first -= 1
        return self._rows[first].line

    def _follows(self, place: int) -> bool:
        """Whether a row is printed together with the one before."""
        row, before = self._rows[place], self._rows[place - 1]
        return before.tag < row.tag and row.line - before.line <= 1

    def _begin_of_finished(self, line: int) -> int:
        """Line where the test begins whose `Run finished` is in a line."""
        behind, new = self._behind(), self._new()
        if self._other_operations():
            return behind[0].line
        places = range(self._before + 1, len(self._rows))
        apart = next((self._rows[place].line for place in places if not self._follows(place)), line)
        return min(apart, new[0].line) if new else apart

    def _refuse(self, line: int, why: str) -> None:
        raise second_test(self._tally.path, line, why)


def read(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a summary.

    Raise InputError at a damaged line, unless they are skipped; at the line where a second test begins.
    """
    test = _Test(tally)
    for number, line in numbered(stream):
        rows = _rows(line.decode("utf-8", "replace"))
        for tag, row in rows or ():
            test.add(number, tag, row)
        if line.startswith(_FINISHED):
            test.finish(number, line.removeprefix(_FINISHED).decode("utf-8", "replace"))
        if rows is None and is_text(line):
            tally.texts += 1
        elif rows is None and line.strip():
            tally.add(Damage(number, line))
    test.end()
    return _figures(test.last, tally, test.finished)


def _seconds(takes: str) -> float:
    """Return a duration as Go prints it, in seconds; infinite if it is none.

    >>> _seconds("1m30.5s"), _seconds("812.5ms"), _seconds("soon")
    (90.5, 0.8125, inf)
    """
    parts = _DURATION.fullmatch(takes.strip())
    if parts is None:
        return math.inf
    return sum(float(text) * _UNIT_S[unit] for text, unit in _PART.findall(parts[0]))


def _rows(line: str) -> list[tuple[str, Row]] | None:
    """Rows of a line, one or, in JSON, several; None if it has none."""
    if parts := _ROW.fullmatch(line.rstrip()):
        fields = [field.partition(": ")[::2] for field in parts[2].split(", ")]
        row = _numbers(dict(fields)) if len({name for name, _ in fields}) == len(fields) else None
        return None if row is None else [(parts[1], row)]
    if not line.startswith("[{"):
        return None
    try:
        objects = json.loads(line)
        rows = [(one.pop("Operation"), _numbers(one)) for one in objects]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not all(isinstance(tag, str) and row is not None for tag, row in rows):
        return None
    return [(tag, row) for tag, row in rows if row is not None]


def _numbers(fields: dict[str, str]) -> Row | None:
    """Numbers by heading; None if one is none, or one that each row has is missing."""
    numbers = {name: number_of(text) for name, text in fields.items()}
    row = {name: value for name, value in numbers.items() if value is not None}
    known = all(name in _STATISTICS or _PERCENTILE.fullmatch(name) for name in row)
    return row if known and len(row) == len(fields) and {"Takes(s)", "Count"} <= row.keys() else None


def _figures(last: dict[str, tuple[int, Row]], tally: Tally, finished: int) -> Figures:
    figures = Figures(tally, FORMAT)
    for tag, (line, row) in last.items():
        for name, value in row.items():
            percentile = _PERCENTILE.fullmatch(name)
            statistic, unit = (f"p{percentile[1]}", "us") if percentile else _STATISTICS[name]
            if statistic != "run time" or tag == _ALL:
                figures.add(_TOTAL if tag == _ALL else tag, statistic, value, unit, line=line)
    if last and _ALL not in last:
        line, row = max(last.values(), key=lambda place: place[1]["Takes(s)"])
        figures.add("OVERALL", "run time", row["Takes(s)"] * MS_PER_S, "ms", line=line)
        figures.notes.append(f"no row TOTAL in it: the run time is the longest Takes(s), of line {line}")
    if last and not finished:
        figures.notes.append("no `Run finished` in it: the test was stopped or still running, or the log was cut short")
    without_idle(figures)
    return figures
