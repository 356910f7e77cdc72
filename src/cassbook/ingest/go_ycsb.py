"""go-ycsb's summary: `READ   - Takes(s): 10.0, Count: 9000, OPS: 900.0, Avg(us): 812, ...`, a row per operation.

While it runs, go-ycsb prints the same rows every ten seconds, over all the time so far. Only the last of each operation
is of the whole test; the earlier ones are passed over. `outputstyle=json` is read too.
"""

from __future__ import annotations

import json
import re
from typing import BinaryIO

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
_MS_S = 1000.0

Row = dict[str, float]


def read(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a summary.

    Raises
    ------
    InputError
        At a damaged line, unless they are skipped; at the line where a second test begins.
    """
    last: dict[str, tuple[int, Row]] = {}
    finished = 0
    for number, line in numbered(stream):
        rows = _rows(line.decode("utf-8", "replace"))
        for tag, row in rows or ():
            before = last.get(tag)
            if before and (row["Takes(s)"] < before[1]["Takes(s)"] or row["Count"] < before[1]["Count"]):
                raise second_test(tally.path, number, tag, before[0])
            tally.texts += before is not None
            last[tag] = number, row
        if line.startswith(_FINISHED):
            if finished:
                raise second_test(tally.path, number, _FINISHED.decode().strip(), finished)
            finished = number
        if rows is None and is_text(line):
            tally.texts += 1
        elif rows is None and line.strip():
            tally.add(Damage(number, line))
    return _figures(last, tally, finished)


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
        figures.add("OVERALL", "run time", row["Takes(s)"] * _MS_S, "ms", line=line)
        figures.notes.append(f"no row TOTAL in it: the run time is the longest Takes(s), of line {line}")
    if last and not finished:
        figures.notes.append("no `Run finished` in it: the test was stopped or still running, or the log was cut short")
    without_idle(figures)
    return figures
