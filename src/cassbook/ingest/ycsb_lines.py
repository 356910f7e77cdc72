"""YCSB's raw measurements (`measurementtype=raw`): one line per operation, `READ,<completion ms>,<latency us>`.

YCSB 0.17 writes a block per operation type, each under a line `READ latency raw data: op, timestamp(ms), latency(us)`,
in the order in which operations completed, and a summary behind; on standard output its other messages are in between.
Failures have names of their own, `READ-FAILED`, or `READ-NOT_FOUND` and so on where YCSB keeps errors apart.
With `hdrhistogram+raw` each name begins with `Raw`, and latencies from the intended start are named `Intended-...`.
"""

from __future__ import annotations

import re
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

#: Bytes that are parsed at a time, some 170,000 rows: larger blocks spend their time on fresh pages of memory.
BLOCK_BYTES = 4 << 20

HEADER = b" latency raw data: op, timestamp(ms), latency(us)"
_OPERATION_OF = {"READ": "READ", "UPDATE": "UPDATE", "INSERT": "INSERT", "SCAN": "SCAN", "READ-MODIFY-WRITE": "RMW"}
#: What else YCSB measures, which the sample schema has no place for: counted and reported, never kept as another.
_WITHOUT_PLACE = ("DELETE", "CLEANUP")
#: YCSB's names of what came back (`site.ycsb.Status`). FAILED is all of them where it does not keep them apart.
_OUTCOME_OF = {"NOT_FOUND": "missing_row", "TIMEOUT": "client_timeout", "SERVICE_UNAVAILABLE": "unavailable"}
_OTHER_FAILURE = "server_error"

_OPS = "|".join(sorted((*_OPERATION_OF, *_WITHOUT_PLACE), key=len, reverse=True))
_NAME = re.compile(rf"(?:Raw)?(?P<intended>Intended-)?(?P<operation>{_OPS})(?:-(?P<failure>[A-Z][A-Z_]*))?")
_ROW = re.compile(rb"([A-Za-z][A-Za-z_-]*),(\d{1,16}),(\d{1,10})")
#: Pieces of a block between its texts that are parsed one by one; more are put together first.
_MANY_SPANS = 16
_MOST_MS, _MOST_US = 9_000_000_000_000_000, 2**31 - 1
#: Other lines that YCSB writes, whole or by their beginning.
_TEXT = re.compile(
    rb"\[[^\]]+\], |"
    rb"[A-Za-z_-]+ latency raw data: op, timestamp\(ms\), latency\(us\)$|"
    rb"Raw data measurement: |Command line: |YCSB Client |Loading workload|Starting test|DBWrapper: |"
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d+ \d+ sec: |"
    rb"(?:READ|UPDATE|INSERT|SCAN|DELETE) \S+ \S+ (?:\d+ )?\[ |\*{5,}|\"[\w.+-]+\"=\"|"  # BasicDB's, when it is verbose
    rb"SLF4J: |\d+ +\[[^\]]*\] +(?:TRACE|DEBUG|INFO|WARN|ERROR) |\S*java .*site\.ycsb\.Client "
)
_TABLE = {
    "read_options": csv.ReadOptions(
        use_threads=False, column_names=["name", "at_ms", "latency_us"], block_size=2**31 - 1
    ),
    "parse_options": csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
    "convert_options": csv.ConvertOptions(
        column_types={"name": pa.dictionary(pa.int32(), pa.string()), "at_ms": pa.int64(), "latency_us": pa.int32()},
        null_values=[],
        check_utf8=False,  # a name that is none is found out anyway
    ),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a name stands for: indices into OPERATIONS and OUTCOMES, both -1 where it has no place in the samples."""

    operation: int
    outcome: int


@cache
def kind(name: str) -> Kind | None:
    """Take a measurement's name apart; None if YCSB has no such name.

    Examples
    --------
    >>> kind("READ-MODIFY-WRITE"), kind("RawREAD-NOT_FOUND"), kind("CLEANUP"), kind("REED")
    (Kind(operation=4, outcome=0), Kind(operation=0, outcome=1), Kind(operation=-1, outcome=-1), None)
    """
    parts = _NAME.fullmatch(name)
    if parts is None:
        return None
    if parts["intended"] or parts["operation"] in _WITHOUT_PLACE:
        return Kind(-1, -1)
    outcome = _OUTCOME_OF.get(parts["failure"], _OTHER_FAILURE) if parts["failure"] else "ok"
    return Kind(OPERATIONS.index(_OPERATION_OF[parts["operation"]]), OUTCOMES.index(outcome))


@dataclass(slots=True)
class Rows:
    """The measurements of one block of bytes, in file order.

    Attributes
    ----------
    lines : int
        Line ends in the block, which is how later blocks know where they are.
    names : list of str
        Each name that occurs.
    name : array of int, shape (n,)
        Index into `names`.
    at_ms : array of int64, shape (n,)
        Completion, milliseconds since 1970.
    latency_us : array of int32, shape (n,)
    damaged : list of Damage
        Lines that are neither a measurement nor a text of YCSB's; counted from 1 within the block.
    texts : int
        Lines that are a text of YCSB's, or blank.
    """

    lines: int
    names: list[str]
    name: NDArray[np.int32]
    at_ms: NDArray[np.int64]
    latency_us: NDArray[np.int32]
    damaged: list[Damage] = field(default_factory=list)
    texts: int = 0

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
    spans, texts, damaged = _without_text(block)
    if len(spans) > _MANY_SPANS:
        joined = b"".join(block[start:end] for start, end in spans)
        pieces = [memoryview(joined)]
    else:
        pieces = [memoryview(block)[start:end] for start, end in spans]
    try:
        rows = _concatenated([_table(piece) for piece in pieces])
    except (pa.ArrowInvalid, UnicodeDecodeError, _Lenient):
        return _line_by_line(block)
    rows.texts, rows.damaged = texts, damaged
    # Every line that was not cut out is a row; counting line ends again would cost as much as reading them.
    rows.lines = rows.name.size + texts + len(damaged) - (not block.endswith(b"\n"))
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
    name, at_ms, latency_us = (column.chunk(0) for column in table.columns)
    names = name.dictionary.to_pylist()
    parsed = Rows(0, names, name.indices.to_numpy(), at_ms.to_numpy(), latency_us.to_numpy())
    ends = parsed.name.size - (rows[-1:].tobytes() != b"\n")
    if any(kind(n) is None for n in names) or _written_bytes(parsed) + ends != len(rows):
        raise _Lenient
    return parsed


def _written_bytes(rows: Rows) -> int:
    """Bytes that the rows take as YCSB writes them, without line ends.

    Arrow's numbers may have blanks around them, a sign or leading zeros. All of that is longer than the number itself,
    so one sum tells whether any row of a block was written in another way than YCSB's. (Hexadecimal ones, which it
    takes too, may be as long, and are looked for.)
    """
    names = sum(len(name) * count for name, count in rows.counts.items())
    return names + 2 * rows.name.size + _digits(rows.at_ms, _MOST_MS) + _digits(rows.latency_us, _MOST_US)


def _digits(numbers: NDArray[np.integer], most: int) -> int:
    """Digits of all the numbers together; -1 if one is negative or above `most`, which no row can have."""
    least, largest = int(numbers.min()), int(numbers.max())
    if least < 0 or largest > most:
        return -(10**18)
    total = numbers.size * len(str(least))
    for digits in range(len(str(least)), len(str(largest))):
        total += int(np.count_nonzero(numbers >= 10**digits))
    return total


def _concatenated(parts: list[Rows]) -> Rows:
    """Put the rows of several pieces together under one list of names."""
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.names))
    if not parts:
        return Rows(0, [], np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32))
    place = [np.array([names.index(name) for name in part.names], np.int32)[part.name] for part in parts]
    at_ms, latency_us = [part.at_ms for part in parts], [part.latency_us for part in parts]
    return Rows(0, names, np.concatenate(place), np.concatenate(at_ms), np.concatenate(latency_us))


def _without_text(block: bytes) -> tuple[list[tuple[int, int]], int, list[Damage]]:
    """Find the lines with a space in them, which no measurement has; spans of the others, texts, damaged lines."""
    spans, texts, damaged = [], 0, []
    kept_from = 0
    at = block.find(b" ")
    while at >= 0:
        start = block.rfind(b"\n", kept_from, at) + 1 or kept_from
        end = block.find(b"\n", at) + 1 or len(block)
        line = block[start:end].rstrip(b"\r\n")
        if _TEXT.match(line) or not line.strip():
            texts += 1
        else:
            damaged.append(Damage(block.count(b"\n", 0, start) + 1, line))
        if start > kept_from:
            spans.append((kept_from, start))
        kept_from = end
        at = block.find(b" ", end)
    if kept_from < len(block):
        spans.append((kept_from, len(block)))
    return spans, texts, damaged


def _line_by_line(block: bytes) -> Rows:
    good, texts, damaged = [], 0, []
    lines = block.split(b"\n")
    for number, raw in enumerate(lines, start=1):
        line = raw.removesuffix(b"\r")
        if _is_row(line):
            good.append(_plainly(line))
        elif not line.strip() or _TEXT.match(line):
            texts += 1
        else:
            damaged.append(Damage(number, line))
    rows = _concatenated([_table(memoryview(b"\n".join(good)))] if good else [])
    rows.lines, rows.texts, rows.damaged = len(lines) - 1, texts, damaged
    return rows


def is_text(line: bytes) -> bool:
    """Whether a line is one of those that YCSB writes between its measurements, such as its command line."""
    return _TEXT.match(line) is not None


def _plainly(line: bytes) -> bytes:
    """Write a row without the leading zeros that its numbers may have."""
    name, at_ms, latency_us = line.split(b",")
    return b"%s,%d,%d" % (name, int(at_ms), int(latency_us))


def _is_row(line: bytes) -> bool:
    parts = _ROW.fullmatch(line)
    if parts is None:
        return False
    known = kind(parts[1].decode()) is not None
    return known and int(parts[2]) <= _MOST_MS and int(parts[3]) <= _MOST_US
