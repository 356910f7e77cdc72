"""Raw measurements of YCSB (`measurementtype=raw`), `READ,<completion ms>,<latency us>`, and of go-ycsb.

YCSB 0.17 writes a block per operation type, each under a line `READ latency raw data: op, timestamp(ms), latency(us)`,
in the order in which operations completed, and a summary behind; on standard output its other messages are in between.
Failures have names of their own, `READ-FAILED`, or `READ-NOT_FOUND` and so on where YCSB keeps errors apart.
With `hdrhistogram+raw` each name begins with `Raw`, and latencies from the intended start are named `Intended-...`.
go-ycsb writes `READ,<start us>,<latency us>` under one heading, failures as `READ_ERROR`. The unit of a time is known
from its date, which is between 2000 and 2099 in one unit only.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from cassbook.core.schema import OPERATIONS, OUTCOMES
from cassbook.ingest.damage import Damage
from cassbook.ingest.ycsb_texts import is_text

#: Bytes that are parsed at a time, some 170,000 rows: larger blocks spend their time on fresh pages of memory.
BLOCK_BYTES = 4 << 20

HEADER = b" latency raw data: op, timestamp(ms), latency(us)"
GO_HEADER = b"operation,timestamp_us,latency_us"
_OPERATION_OF = {
    "READ": "READ", "UPDATE": "UPDATE", "INSERT": "INSERT", "SCAN": "SCAN",
    "READ-MODIFY-WRITE": "RMW", "READ_MODIFY_WRITE": "RMW",
}  # fmt: skip
#: What else they measure, which the sample schema has no place for: counted and reported, never kept as another.
_WITHOUT_PLACE = (
    "DELETE", "CLEANUP", "VERIFY", "TOTAL", "BATCH_READ", "BATCH_UPDATE", "BATCH_INSERT", "BATCH_DELETE",
)  # fmt: skip
#: YCSB's names of what came back (`site.ycsb.Status`). FAILED is all of them where it does not keep them apart.
_OUTCOME_OF = {"NOT_FOUND": "missing_row", "TIMEOUT": "client_timeout", "SERVICE_UNAVAILABLE": "unavailable"}
_OTHER_FAILURE = "server_error"

_OPS = "|".join(sorted((*_OPERATION_OF, *_WITHOUT_PLACE), key=len, reverse=True))
_NAME = re.compile(
    rf"(?:Raw)?(?P<intended>Intended-)?(?P<operation>{_OPS})(?:-(?P<failure>[A-Z][A-Z_]*)|_(?P<error>ERROR))?"
)
_ROW = re.compile(rb"([A-Za-z][A-Za-z_-]*),(\d{1,19}),(\d{1,10})")
#: Pieces of a block between its texts that are parsed one by one; more are put together first.
_MANY_SPANS = 16
#: Units that times are counted in, by how many make a second.
UNITS_PER_S = {"ms": 10**3, "us": 10**6, "ns": 10**9, "s": 1}
#: Seconds since 1970 of the years 2000 and 2100.
FIRST_S, LAST_S = 946_684_800, 4_102_444_800
_MOST_US = 2**31 - 1
#: YCSB's sums behind the operations.
_SUMMARY = re.compile(rb"\[[^\]]+\], ")
#: Lines of which each test has one, and no two alike.
_MARK = re.compile(
    rb"[A-Za-z_-]+" + re.escape(HEADER) + rb"$|" + GO_HEADER + rb"$|\[OVERALL\], RunTime\(ms\)|Run finished, takes"
)
#: Those of them that come behind a test, or in front of its rows.
SUMS = (b"[OVERALL]", b"Run finished")
_TABLE = {
    "read_options": csv.ReadOptions(use_threads=False, column_names=["name", "at", "latency_us"], block_size=2**31 - 1),
    "parse_options": csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
    "convert_options": csv.ConvertOptions(
        column_types={"name": pa.dictionary(pa.int32(), pa.string()), "at": pa.int64(), "latency_us": pa.int32()},
        null_values=[],
        check_utf8=False,  # a name that is none is found out anyway
    ),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a name stands for: indices into OPERATIONS and OUTCOMES, both -1 where it has no place in the samples."""

    operation: int
    outcome: int


def unit_of(least: int, most: int) -> str | None:
    """Return the unit in which two times, and all between, are dates from 2000 to 2099; None if in no unit.

    >>> unit_of(1_600_000_000_000, 1_600_000_009_000), unit_of(1_600_000_000_000_000, 1_600_000_000_000_000)
    ('ms', 'us')
    >>> unit_of(5, 1_600_000_000_000) is None
    True
    """
    for unit, per_s in UNITS_PER_S.items():
        if FIRST_S * per_s <= least and most < LAST_S * per_s:
            return unit
    return None


@cache
def kind(name: str) -> Kind | None:
    """Take a measurement's name apart; None if YCSB has no such name.

    >>> kind("READ-MODIFY-WRITE"), kind("RawREAD-NOT_FOUND"), kind("CLEANUP"), kind("REED")
    (Kind(operation=4, outcome=0), Kind(operation=0, outcome=1), Kind(operation=-1, outcome=-1), None)
    """
    parts = _NAME.fullmatch(name)
    if parts is None:
        return None
    if parts["intended"] or parts["operation"] in _WITHOUT_PLACE:
        return Kind(-1, -1)
    failure = parts["failure"] or parts["error"]
    outcome = _OUTCOME_OF.get(failure, _OTHER_FAILURE) if failure else "ok"
    return Kind(OPERATIONS.index(_OPERATION_OF[parts["operation"]]), OUTCOMES.index(outcome))


@dataclass(slots=True)
class Rows:
    """The measurements of one block of bytes, in file order; every array has shape (n,)."""

    lines: int  # line ends in the block, which is how later blocks know where they are
    names: list[str]  # each name that occurs
    name: NDArray[np.int32]  # index into `names`
    at: NDArray[np.int64]  # completion, or the start in go-ycsb, since 1970
    latency_us: NDArray[np.int32]
    #: lines that are neither a measurement nor a text; counted from 1 within the block
    damaged: list[Damage] = field(default_factory=list)
    unit: str = ""  # the unit of `at`; empty if there is no row
    aside: list[int] = field(default_factory=list)  # lines, from 1, that are no measurement
    texts: int = 0  # those of them that are console text
    marks: list[tuple[int, bytes]] = field(default_factory=list)  # lines, from 1, that begin a part of a test

    def line_of(self, row: int) -> int:
        """Return the line, from 1, that a row stands in."""
        return row + 1 + bisect_right(range(len(self.aside)), row + 1, key=lambda n: self.aside[n] - n)

    def first_lines(self) -> list[int]:
        """Lines of the first row, and of the first behind each of the sums of a test."""
        behind = [line - 1 - bisect_left(self.aside, line) for line, mark in self.marks if mark.startswith(SUMS)]
        return [self.line_of(row) for row in dict.fromkeys([0, *behind]) if row < self.name.size]

    @property
    def counts(self) -> Counter[str]:
        """Rows by name."""
        number = np.bincount(self.name, minlength=len(self.names)).tolist()
        return Counter({name: n for name, n in zip(self.names, number, strict=True) if n})


def blocks(stream: BinaryIO, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Cut a stream of bytes after line ends; the last block may lack one."""
    rest = b""
    while chunk := stream.read(size):
        end = chunk.rfind(b"\n") + 1
        if not end:
            rest += chunk
            continue
        yield rest + chunk[:end] if rest else (chunk if end == len(chunk) else chunk[:end])
        rest = chunk[end:]
    if rest:
        yield rest


def parse(block: bytes) -> Rows:
    """Take a block of whole lines apart.

    The lines without a space are handed to Arrow's CSV parser as they are. Where it balks, or took more than YCSB
    writes, each line of the block is looked at on its own.
    """
    if _has_hexadecimal(block):
        return _line_by_line(block)
    rows = _by_arrow(block)
    if rows is None and (heading := block.find(GO_HEADER)) >= 0:
        rows = _by_arrow(block, heading)
    return rows or _line_by_line(block)


def _by_arrow(block: bytes, heading: int = -1) -> Rows | None:
    """Have Arrow parse a block without its texts; None if it balks. `heading` is the place of go-ycsb's."""
    spans, aside = _without_text(block, heading)
    if len(spans) > _MANY_SPANS:
        joined = b"".join(block[start:end] for start, end in spans)
        pieces = [memoryview(joined)]
    else:
        pieces = [memoryview(block)[start:end] for start, end in spans]
    try:
        rows = _concatenated([_table(piece) for piece in pieces])
    except (pa.ArrowInvalid, UnicodeDecodeError, _Lenient):
        return None
    # Every line that was not cut out is a row; counting line ends again would cost as much as reading them.
    lines = rows.name.size + len(aside.lines) - (not block.endswith(b"\n"))
    return aside.added_to(rows, lines)


@dataclass(slots=True)
class _Aside:
    """The lines of a block that are no rows."""

    lines: list[int] = field(default_factory=list)
    texts: int = 0
    damaged: list[Damage] = field(default_factory=list)
    marks: list[tuple[int, bytes]] = field(default_factory=list)

    def add(self, line: bytes, number: int) -> None:
        """Take a line and its number."""
        self.lines.append(number)
        if mark := _MARK.match(line):
            self.marks.append((number, mark[0]))
            self.texts += mark[0].startswith(SUMS[1])
        elif _SUMMARY.match(line) or not line.strip():
            pass
        elif is_text(line):
            self.texts += 1
        else:
            self.damaged.append(Damage(number, line))

    def added_to(self, rows: Rows, lines: int) -> Rows:
        """Return the rows with what is known of the other lines."""
        rows.lines, rows.aside, rows.texts = lines, self.lines, self.texts
        rows.damaged, rows.marks = self.damaged, self.marks
        return rows


def _has_hexadecimal(block: bytes) -> bool:
    """Whether a number that Arrow would take for hexadecimal may be in a block; looks for the rare letter first."""
    return any(letter in block and b"0" + letter in block for letter in (b"x", b"X"))


class _Lenient(Exception):
    """Arrow took something that YCSB does not write."""


def _table(rows: memoryview) -> Rows:
    """Parse lines that should all be measurements."""
    if b"\r" in rows[-2:].tobytes():
        rows = memoryview(rows.tobytes().replace(b"\r\n", b"\n"))
    table = csv.read_csv(pa.BufferReader(pa.py_buffer(rows)), **_TABLE).combine_chunks()
    name, at, latency_us = (column.chunk(0) for column in table.columns)
    names = name.dictionary.to_pylist()
    parsed = Rows(0, names, name.indices.to_numpy(), at.to_numpy(), latency_us.to_numpy())
    ends = parsed.name.size - (rows[-1:].tobytes() != b"\n")
    if any(kind(n) is None for n in names):
        raise _Lenient
    least, most = int(parsed.at.min()), int(parsed.at.max())
    unit = unit_of(least, most)
    if unit is None or _written_bytes(parsed, least, most) + ends != len(rows):
        raise _Lenient
    parsed.unit = unit
    return parsed


def _written_bytes(rows: Rows, least: int, most: int) -> int:
    """Bytes that the rows, with times between two, take as YCSB writes them, without line ends.

    Arrow's numbers may have blanks around them, a sign or leading zeros. All of that is longer than the number itself,
    so one sum tells whether any row of a block was written in another way than YCSB's. (Hexadecimal ones, which it
    takes too, may be as long, and are looked for.)
    """
    names = sum(len(name) * count for name, count in rows.counts.items())
    latencies = rows.latency_us
    digits = _digits(rows.at, least, most) + _digits(latencies, int(latencies.min()), int(latencies.max()))
    return names + 2 * rows.name.size + digits


def _digits(numbers: NDArray[np.integer], least: int, most: int) -> int:
    """Digits of all the numbers together, which are from `least` to `most`; far below 0 if one is negative."""
    if least < 0:
        return -(10**18)
    total = numbers.size * len(str(least))
    for digits in range(len(str(least)), len(str(most))):
        total += int(np.count_nonzero(numbers >= 10**digits))
    return total


def _concatenated(parts: list[Rows]) -> Rows:
    """Put the rows of several pieces together under one list of names."""
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.names))
    if not parts:
        return Rows(0, [], np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32))
    if len({part.unit for part in parts}) > 1:
        raise _Lenient
    place = [np.array([names.index(name) for name in part.names], np.int32)[part.name] for part in parts]
    at, latency_us = [part.at for part in parts], [part.latency_us for part in parts]
    rows = Rows(0, names, np.concatenate(place), np.concatenate(at), np.concatenate(latency_us))
    rows.unit = parts[0].unit
    return rows


def _without_text(block: bytes, heading: int) -> tuple[list[tuple[int, int]], _Aside]:
    """Find the lines with a space in them, which no measurement has, and go-ycsb's headings; spans of the others."""
    spans, aside = [], _Aside()
    kept_from, number = 0, 1
    at = block.find(b" ")
    while at >= 0 or heading >= 0:
        here = min(place for place in (at, heading) if place >= 0)
        start = block.rfind(b"\n", kept_from, here) + 1 or kept_from
        end = block.find(b"\n", here) + 1 or len(block)
        number += block.count(b"\n", kept_from, start)
        aside.add(block[start:end].rstrip(b"\r\n"), number)
        number += 1
        if start > kept_from:
            spans.append((kept_from, start))
        kept_from = end
        at = block.find(b" ", end) if 0 <= at < end else at
        heading = block.find(GO_HEADER, end) if 0 <= heading < end else heading
    if kept_from < len(block):
        spans.append((kept_from, len(block)))
    return spans, aside


def _line_by_line(block: bytes) -> Rows:
    """Look at each line on its own; the first row's date says in which unit all are."""
    good: list[bytes] = []
    aside, unit = _Aside(), None
    lines = block.split(b"\n")
    for number, raw in enumerate(lines, start=1):
        line = raw.removesuffix(b"\r")
        row = _row(line)
        if row and row[1] == (unit or row[1]):
            unit = row[1]
            good.append(row[0])
        elif row:
            aside.lines.append(number)
            aside.damaged.append(Damage(number, line))
        else:
            aside.add(line, number)
    rows = _concatenated([_table(memoryview(b"\n".join(good)))] if good else [])
    return aside.added_to(rows, len(lines) - 1)


def _row(line: bytes) -> tuple[bytes, str] | None:
    """Return a measurement without the leading zeros that its numbers may have, and its unit; None if it is none."""
    parts = _ROW.fullmatch(line)
    if parts is None or kind(parts[1].decode()) is None:
        return None
    at, latency_us = int(parts[2]), int(parts[3])
    unit = unit_of(at, at)
    return None if unit is None or latency_us > _MOST_US else (b"%s,%d,%d" % (parts[1], at, latency_us), unit)
