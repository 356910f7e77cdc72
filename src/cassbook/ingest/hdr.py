"""HdrHistogram logs: comments, a heading, and a line an interval that ends in the encoded histogram.

A line may be tagged (`Tag=READ,...`), and one log may hold many tags. The format has no place for the unit of the
values. Some tools are known by their comments (`_TOOLS`), and a comment may name the unit, as in our runs; for other
logs microseconds are assumed unless `unit` says otherwise, and `remarks` says so.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import InputError
from cassbook.core.schema import SCHEMA_VERSION
from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.summary import number_of, numbered

_COMPRESSED_0, _PLAIN_0 = 0x1C849309, 0x1C849308
_COMPRESSED_1, _COMPRESSED_2, _PLAIN_1 = 0x1C849302, 0x1C849304, 0x1C849301
_DOUBLES = (0x0C72124E, 0x0C72124F)
_HEADER_0, _HEADER_1 = struct.Struct(">iiqqq"), struct.Struct(">iiiiqqd")
_COOKIE = struct.Struct(">ii")
#: What a payload that is not one raises, here and in the hdrhistogram package.
DAMAGE = (
    ValueError, TypeError, ArithmeticError, LookupError, MemoryError, struct.error, zlib.error,
    HdrCookieException, HdrLengthException,
)  # fmt: skip
_WORDS = {2: ">i2", 4: ">i4", 8: ">i8"}
#: Bounds of what a histogram may be: significant digits, its highest value, and how many values it holds.
_DIGITS, _HIGHEST, _MOST = (1, 5), 2**62, 2.0**53
FORMAT = "HdrHistogram log"
EXPECTED = "`[Tag=NAME,]start,length,max,HIST...` with a payload that can be decoded, a heading or a comment"
UNITS_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3}
QUANTILES = {"p50_us": 50.0, "p90_us": 90.0, "p95_us": 95.0, "p99_us": 99.0, "p999_us": 99.9}

#: One row a tagged interval; `histogram` is its payload in encoding 2, in the log's own unit: nothing is lost.
HISTOGRAMS = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("tag", pa.string()),  # empty where the log has none
        pa.field("started_s", pa.float64()),  # seconds since 1970, or since the log began where it does not say
        pa.field("length_s", pa.float64()),
        pa.field("operations", pa.int64()),
        pa.field("min_us", pa.float64()),
        pa.field("mean_us", pa.float64()),
        *(pa.field(name, pa.float64()) for name in QUANTILES),
        pa.field("max_us", pa.float64()),
        pa.field("unit", pa.string()),
        pa.field("histogram", pa.string()),
    ],
    metadata={b"cassbook_table": b"histograms", b"cassbook_schema_version": str(SCHEMA_VERSION).encode()},
)

_LINE = re.compile(rb"(?:Tag=([^,\s]*),)?([\d.]+),([\d.]+),([\d.]+),(D?HIST[A-Za-z0-9+/=]+)")
#: The same in a locale with decimal commas: every number has three decimals.
_COMMAS = re.compile(rb"((?:Tag=[^,\s]*,)?)(\d+),(\d{3}),(\d+),(\d{3}),(\d+),(\d{3}),(D?HIST[A-Za-z0-9+/=]+)")
_TIME = re.compile(rb"#\[(StartTime|BaseTime): *([^\s\]]+)")
_YCSB = re.compile(rb"#\[Logging for: (\S+)\]")
_VERSION, _HEADING = b"#[Histogram log format version", b'"StartTimestamp"'
_NAMED_UNIT = re.compile(rb"(?:\bin |[Uu]nits?: ?)(nano|micro|milli)seconds")
_UNITS_OF_WORDS = {b"nano": "ns", b"micro": "us", b"milli": "ms"}
_WORDS_OF_UNIT = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds"}
#: A start that lies so far before the log's own start time is counted from it.
_YEAR_S = 365 * 24 * 3600
#: Times of a log that are dates lie between these: the years 2000 and 2100.
_DATES_S = (946_684_800.0, 4_102_444_800.0)


class NotRead(Exception):
    """A payload is whole, but of a kind that is not read."""


def decode(payload: bytes) -> HdrHistogram:
    """Return the histogram of a payload in encoding 0, 1 or 2.

    Raise NotRead for histograms of doubles, or any of another encoding. If it is damaged raise ValueError, TypeError,
    ArithmeticError, LookupError, MemoryError, struct.error, zlib.error, HdrCookieException or HdrLengthException.
    """
    packed = base64.b64decode(payload, validate=True)
    cookie, length = _COOKIE.unpack_from(packed)
    if cookie in _DOUBLES:
        raise NotRead("is a histogram of doubles, which is not read; log one of whole numbers (Recorder, Histogram)")
    kind = cookie & ~0xF0
    if kind not in (_COMPRESSED_0, _COMPRESSED_1, _COMPRESSED_2):
        raise ValueError(f"unknown encoding {cookie:#x}")
    if kind == _COMPRESSED_2 and len(packed) != _COOKIE.size + length:
        raise ValueError("cut short")
    content = zlib.decompress(packed[_COOKIE.size : _COOKIE.size + length])
    if kind == _COMPRESSED_0:
        inner, digits, lowest, highest, _ = _HEADER_0.unpack_from(content)
        if inner & ~0xF0 != _PLAIN_0:
            raise ValueError(f"unknown encoding {inner:#x}")
        return _counted(inner, content[_HEADER_0.size :], digits, lowest, highest)
    inner, counted, shift, digits, lowest, highest, ratio = _HEADER_1.unpack_from(content)
    counts = content[_HEADER_1.size :]
    if not any(counts[: max(counted, 0)]) and 0 <= counted <= len(counts):
        return HdrHistogram(1, 2, _DIGITS[0])  # of no value; Java writes it with 0 digits where nothing was recorded
    if kind == _COMPRESSED_2:
        # The package takes a payload with a wrong checksum for an empty one, and one with a wrong header kills Python.
        _check_header(counted, shift, digits, lowest, highest, ratio, held=len(counts))
        return _sound(HdrHistogram.decode(payload))
    if inner & ~0xF0 != _PLAIN_1:
        raise ValueError(f"unknown encoding {inner:#x}")
    _check_header(counted, shift, digits, lowest, highest, 1.0, held=len(counts))
    return _counted(inner, counts[:counted], digits, lowest, highest)


def _counted(cookie: int, counts: bytes, digits: int, lowest: int, highest: int) -> HdrHistogram:
    """Return a histogram of counts of one width, as encodings 0 and 1 have them."""
    _check_header(len(counts), 0, digits, lowest, highest, 1.0, held=len(counts))
    words = np.frombuffer(counts, _WORDS[(cookie & 0xF0) >> 4 & 0xE])
    if words.size and words.min() < 0:
        raise ValueError("holds less than nothing")
    histogram = HdrHistogram(lowest, highest, digits)
    for place in np.flatnonzero(words):
        histogram.record_value(histogram.get_value_from_index(int(place)), int(words[place]))
    if histogram.total_count != words.sum():
        raise ValueError("holds values beyond its own bounds")
    return _sound(histogram)


def _check_header(counted: int, shift: int, digits: int, lowest: int, highest: int, ratio: float, *, held: int) -> None:
    """Raise ValueError for a header with which no histogram was written; `held` is the bytes behind it."""
    if shift or not ratio > 0 or not 0 <= counted <= held:
        raise ValueError(f"{counted} of {held} bytes, shifted by {shift}, times {ratio}")
    if not _DIGITS[0] <= digits <= _DIGITS[1] or not 1 <= lowest <= highest // 2 or highest > _HIGHEST:
        raise ValueError(f"{digits} digits of {lowest} to {highest}")


def _sound(histogram: HdrHistogram) -> HdrHistogram:
    """Return a histogram whose counts are some; raises ValueError for another."""
    counts = np.ctypeslib.as_array(histogram.counts).astype(np.int64)
    if counts.min() < 0 or counts.sum() != histogram.total_count or counts.astype(float).sum() > _MOST:
        raise ValueError("holds counts that cannot be")
    return histogram


class _Tool(NamedTuple):
    """A tool that is known by a comment of its logs: what it records in, and what a reader must know."""

    name: str
    begins: bytes
    unit: str
    note: str = ""


_STRESS = b"#Logging op latencies for Cassandra Stress"
_TOOLS = (
    _Tool("cassandra-stress", _STRESS, "ns"),
    _Tool("YCSB", b"#[Logging for: ", "us"),
    _Tool(
        "jHiccup", b"#[Logged with jHiccup", "ns",
        "logged by jHiccup: the values are pauses of a machine and its JVM, not latencies of requests",
    ),
    _Tool(
        "NoSQLBench", b"#logging histograms for session", "ns",
        "logged by NoSQLBench: its timers count nanoseconds; what else its pattern matched, such as tries or sizes, is "
        "no time",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Interval:
    """One line of a log: whose, when (`started_s`, since 1970 if the log says so), how long, the values in its unit."""

    tag: str
    started_s: float
    length_s: float
    histogram: HdrHistogram


@dataclass(slots=True)
class Histograms:
    """The intervals of one log."""

    tally: Tally  # its path and damaged lines
    unit: str  # of the values: ns, us or ms
    assumed: bool  # whether nothing says that it is this unit
    intervals: list[Interval] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what a reader of the histograms must know about them

    def remarks(self) -> list[str]:
        """What a reader of the histograms must know, and what was left out."""
        words = _WORDS_OF_UNIT[self.unit]
        assumed = [f"taken as {words}, for the log does not say; --unit changes it"] if self.assumed else []
        return [*assumed, *self.notes, *self.tally.lines()]

    def table(self) -> pa.Table:
        """Columns `HISTOGRAMS`."""
        rows = [self._row(interval) for interval in self.intervals]
        return pa.Table.from_pylist(rows, schema=HISTOGRAMS)

    def _row(self, interval: Interval) -> dict[str, object]:
        h, scale = interval.histogram, UNITS_US[self.unit]
        empty = h.total_count == 0
        figures = {"min_us": h.get_min_value(), "mean_us": h.get_mean_value(), "max_us": h.get_max_value()}
        figures |= {name: h.get_value_at_percentile(q) for name, q in QUANTILES.items()}
        row: dict[str, object] = {name: None if empty else value * scale for name, value in figures.items()}
        row |= {"file": self.tally.path.name, "tag": interval.tag, "started_s": interval.started_s}
        row |= {"length_s": interval.length_s, "operations": h.total_count, "unit": self.unit}
        return row | {"histogram": h.encode().decode()}

    def content(self) -> dict[str, object]:
        """Return what was read, for a program."""
        counts: Counter[str] = Counter()
        for interval in self.intervals:
            counts[interval.tag] += interval.histogram.total_count
        named = {"file": self.tally.path.name, "format": FORMAT, "rows": len(self.intervals), "unit": self.unit}
        named |= {"unit_assumed": self.assumed, "counts": dict(counts.most_common()), "notes": self.notes}
        return named | self.tally.content()

    def report(self) -> list[str]:
        """Lines that say what was read."""
        tags = ", ".join(dict.fromkeys(interval.tag or "(no tag)" for interval in self.intervals))
        counted = sum(interval.histogram.total_count for interval in self.intervals)
        counts = "" if self.assumed else f" ({_WORDS_OF_UNIT[self.unit]})"
        first = f"{self.tally.path.name}: {FORMAT}; {len(self.intervals):,} intervals, {counted:,} values of {tags}"
        return [f"{first}{counts}", *(f"  {line}" for line in self.remarks())]


def read(stream: BinaryIO, tally: Tally, unit: str | None = None) -> Histograms:
    """Read a log; `unit` (ns, us or ms) is that of the values, by default as the log's tool is known to record them,
    else us.

    Raise InputError at a damaged line, unless they are skipped; always at the beginning of a second log that is of
    another run.
    """
    reader = _Reader(tally, unit)
    for number, line in numbered(stream):
        reader.take(number, line)
    return reader.finish()


@dataclass(slots=True)
class _Log:
    """One log of those that a file holds: where it begins, its clock, default tag, first interval and time covered."""

    line: int
    tag: str = ""
    base_s: float = 0.0
    start_s: float = 0.0
    first: bytes = b""
    first_s: float = float("inf")
    last_s: float = float("-inf")

    def begun_s(self, at_s: float) -> float:
        """When an interval began: a base time is added; without one, times long before the start time count from it."""
        return at_s + (self.base_s or (self.start_s if at_s < self.start_s - _YEAR_S else 0.0))

    def overlaps(self, other: _Log) -> bool:
        """Whether both are known to have measured at the same time, and are not the same."""
        dated = min(self.first_s, other.first_s) >= _DATES_S[0]
        same = (self.tag, self.first, self.first_s) == (other.tag, other.first, other.first_s)
        return dated and not same and self.first_s < other.last_s and other.first_s < self.last_s


class _Reader:
    """What was read of a file, and the log that its lines are in."""

    def __init__(self, tally: Tally, unit: str | None) -> None:
        self._tally, self._unit = tally, unit
        self._histograms = Histograms(tally, unit or "us", assumed=unit is None)
        self._logs = [_Log(1)]
        self._version_first = self._scylla = self._commas = False
        self._known: dict[str, str] = {}  # units, and by what they are known

    def take(self, number: int, line: bytes) -> None:
        """Take a line."""
        if line.startswith((b"#", _HEADING)):
            if line.startswith((_HEADING, _VERSION, *(tool.begins for tool in _TOOLS))) or _TIME.match(line):
                self._begin(number)
            if line.startswith(b"#"):
                self._comment(number, line)
        elif line.strip():
            self._interval(number, line)

    def _begin(self, number: int) -> None:
        """Begin another log if the one before has intervals."""
        if self._logs[-1].first_s < float("inf"):
            self._logs.append(_Log(number))
            self._version_first = False

    def _comment(self, number: int, line: bytes) -> None:
        log = self._logs[-1]
        if (time := _TIME.match(line)) is not None:
            at_s = number_of(re.sub(rb"^(\d+),(\d{3})$", rb"\1.\2", time[2]).decode("utf-8", "replace"))
            if at_s is None:
                self._tally.add(Damage(number, line))
            elif time[1] == b"BaseTime":
                log.base_s = at_s
            else:
                log.start_s = at_s
            if at_s is not None and not _DATES_S[0] <= at_s <= _DATES_S[1]:
                self._note(f"line {number}: {time[1].decode()} {at_s:.3f} s is no date between the years 2000 and 2100")
            return
        if (ycsb := _YCSB.match(line)) is not None:
            log.tag = ycsb[1].decode("utf-8", "replace")
        self._version_first |= line.startswith(_VERSION)
        for tool in _TOOLS:
            if line.startswith(tool.begins):
                # scylla-bench has this comment too, behind the version, and an option for the unit.
                self._scylla |= tool.begins == _STRESS and self._version_first
                self._known.setdefault(tool.unit, "scylla-bench" if self._scylla else tool.name)
                self._note(tool.note)
        if (word := _NAMED_UNIT.search(line)) is not None:
            unit = _UNITS_OF_WORDS[word[1]]
            self._known.setdefault(unit, f"line {number}, {line.decode('utf-8', 'replace')!r}")

    def _note(self, note: str) -> None:
        if note and note not in self._histograms.notes:
            self._histograms.notes.append(note)

    def _interval(self, number: int, line: bytes) -> None:
        commas = _COMMAS.fullmatch(line)
        self._commas |= commas is not None
        try:
            points = line if commas is None else b"%b%b.%b,%b.%b,%b.%b,%b" % commas.groups()
            interval = _interval(points, self._logs[-1])
        except NotRead as error:
            if not self._tally.skip:
                raise InputError(
                    f"{self._tally.path}, line {number}: {error}; --skip-damaged leaves such lines out"
                ) from None
            interval = None
        if interval is None:
            self._tally.add(Damage(number, line))
            return
        self._histograms.intervals.append(interval)
        log = self._logs[-1]
        log.first = log.first or line
        log.first_s = min(log.first_s, interval.started_s)
        log.last_s = max(log.last_s, interval.started_s + interval.length_s)

    def finish(self) -> Histograms:
        """Settle the unit, and refuse a second log of another run, also where damaged lines are skipped.

        Raise InputError if there is one, or its comments name several units.
        """
        logs = [log for log in self._logs if log.last_s >= log.first_s]
        for log in logs[1:]:
            if not any(log.overlaps(before) for before in logs[: logs.index(log)]):
                raise InputError(
                    f"{self._tally.path}, line {log.line}: a second log begins here, and nothing says that it is "
                    f"another of the same run; give each a file of its own (lines 1 to {log.line - 1}, "
                    f"and those from {log.line} on)"
                )
        histograms = self._histograms
        if self._unit is None and len(self._known) > 1:
            said = " and ".join(f"{_WORDS_OF_UNIT[unit]} ({by})" for unit, by in self._known.items())
            raise InputError(f"{self._tally.path}: its comments say that it counts {said}; --unit says which it is")
        for unit, by in self._known.items():
            if self._unit is None:
                histograms.unit, histograms.assumed = unit, self._scylla
            elif unit != self._unit and not self._scylla:
                words, asked = _WORDS_OF_UNIT[unit], _WORDS_OF_UNIT[self._unit]
                self._note(f"read in {asked} as --unit asks, but its comments ({by}) say that it counts {words}")
        if self._scylla:
            self._note(
                "logged by scylla-bench, which counts nanoseconds unless its option -hdr-latency-units says other"
            )
        if self._commas:
            self._note("its numbers have decimal commas, three decimals each")
        return histograms


def _interval(line: bytes, log: _Log) -> Interval | None:
    """Take a line apart; None if it is damaged."""
    parts = _LINE.fullmatch(line)
    if parts is None:
        return None
    try:
        began_s, length_s = float(parts[2]), float(parts[3])
        histogram = decode(parts[5])
    except DAMAGE:
        return None
    tag = parts[1].decode("utf-8", "replace") if parts[1] else log.tag
    return Interval(tag, log.begun_s(began_s), length_s, histogram)
