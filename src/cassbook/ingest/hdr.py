"""HdrHistogram logs: comments, a heading, and a line an interval that ends in the encoded histogram.

Both encodings in use are read: version 2 (`HISTF...`) with the hdrhistogram package; version 1, which YCSB 0.17 and
everything else before 2016 writes (`HISTg...`), here. A line may be tagged (`Tag=READ,...`), and one log may hold many.
The format has no place for the unit of the values. cassandra-stress, known by its first comment, records nanoseconds,
YCSB, known by its own, microseconds, and a comment may name the unit, as in our runs; of other logs microseconds are
assumed unless `unit` says otherwise, and the report says so.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

from cassbook.core.schema import SCHEMA_VERSION
from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.summary import number_of, numbered

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

_LINE = re.compile(rb"(?:Tag=([^,\s]*),)?([\d.]+),([\d.]+),([\d.]+),(HIST[A-Za-z0-9+/=]+)")
_TIME = re.compile(rb"#\[(StartTime|BaseTime): *([^\s\]]+)")
_STRESS, _YCSB = b"#Logging op latencies for Cassandra Stress", re.compile(rb"#\[Logging for: (\S+)\]")
_NAMED_UNIT = re.compile(rb"in (nano|micro|milli)seconds")
_WORDS_OF_UNITS = {b"nano": "ns", b"micro": "us", b"milli": "ms"}
_WORDS_OF_UNIT = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds"}
_HEADING = b'"StartTimestamp"'
_COMPRESSED_1, _COMPRESSED_2, _PLAIN_1 = 0x1C849302, 0x1C849304, 0x1C849301
#: A start that lies so far before the log's own start time is counted from it.
_YEAR_S = 365 * 24 * 3600
_HEADER_1 = struct.Struct(">iiiiqqd")
_COOKIE = struct.Struct(">ii")
#: What a payload that is not one raises, here and in the hdrhistogram package.
_DAMAGE = (
    ValueError, TypeError, ArithmeticError, LookupError, MemoryError, struct.error, zlib.error,
    HdrCookieException, HdrLengthException,
)  # fmt: skip
_WORDS = {2: ">i2", 4: ">i4", 8: ">i8"}
#: Bounds of what a histogram may be: significant digits, its highest value, and how many values it holds.
_DIGITS, _HIGHEST, _MOST = (1, 5), 2**62, 2.0**53


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

    tally: Tally
    unit: str
    assumed: bool
    intervals: list[Interval] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

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
        return named | {"unit_assumed": self.assumed, "counts": dict(counts.most_common()), **self.tally.content()}

    def report(self) -> list[str]:
        """Lines that say what was read."""
        tags = ", ".join(dict.fromkeys(interval.tag or "(no tag)" for interval in self.intervals))
        counted = sum(interval.histogram.total_count for interval in self.intervals)
        counts = "" if self.assumed else f" ({_WORDS_OF_UNIT[self.unit]})"
        first = f"{self.tally.path.name}: {FORMAT}; {len(self.intervals):,} intervals, {counted:,} values of {tags}"
        return [f"{first}{counts}", *(f"  {line}" for line in self.remarks())]


def read(stream: BinaryIO, tally: Tally, unit: str | None = None) -> Histograms:
    """Read a log.

    Parameters
    ----------
    stream : binary file
    tally : Tally
    unit : str, optional
        ns, us or ms: what the values are. Default: as the log's tool is known to record them, else us.

    Raises
    ------
    InputError
        At a damaged line, unless they are skipped.
    """
    histograms = Histograms(tally, unit or "us", assumed=unit is None)
    default_tag, times = "", {b"StartTime": 0.0, b"BaseTime": 0.0}
    for number, line in numbered(stream):
        if line.startswith(b"#"):
            if (named := _TIME.match(line)) is not None:
                at_s = number_of(named[2].decode("utf-8", "replace"))
                if at_s is None:
                    tally.add(Damage(number, line))
                else:
                    times[named[1]] = at_s
            elif (ycsb := _YCSB.match(line)) is not None:
                default_tag, histograms.assumed = ycsb[1].decode("utf-8", "replace"), False
            elif line.startswith(_STRESS) and unit is None:
                histograms.unit, histograms.assumed = "ns", False
            elif (word := _NAMED_UNIT.search(line)) is not None and unit is None:
                histograms.unit, histograms.assumed = _WORDS_OF_UNITS[word[1]], False
        elif line.strip() and not line.startswith(_HEADING):
            interval = _interval(line, default_tag, times)
            if interval is None:
                tally.add(Damage(number, line))
            else:
                histograms.intervals.append(interval)
    return histograms


def _interval(line: bytes, default_tag: str, times: dict[bytes, float]) -> Interval | None:
    """Take a line apart; None if it is damaged."""
    parts = _LINE.fullmatch(line)
    if parts is None:
        return None
    try:
        began_s, length_s = float(parts[2]), float(parts[3])
        histogram = decode(parts[5])
    except _DAMAGE:
        return None
    # As the Java reader has it: a base time is added; without one, times long before the start time count from it.
    base_s = times[b"BaseTime"] or (times[b"StartTime"] if began_s < times[b"StartTime"] - _YEAR_S else 0.0)
    tag = parts[1].decode("utf-8", "replace") if parts[1] else default_tag
    return Interval(tag, base_s + began_s, length_s, histogram)


def decode(payload: bytes) -> HdrHistogram:
    """Histogram of a payload in encoding 1 or 2.

    Raises
    ------
    ValueError, TypeError, ArithmeticError, LookupError, MemoryError, struct.error, zlib.error,
    HdrCookieException, HdrLengthException
        If it is damaged, or of another encoding.
    """
    packed = base64.b64decode(payload, validate=True)
    cookie, length = _COOKIE.unpack_from(packed)
    if cookie & ~0xF0 == _COMPRESSED_2:
        if len(packed) != _COOKIE.size + length:
            raise ValueError("cut short")
        # The package takes a payload with a wrong checksum for an empty one, and one with a wrong header kills Python.
        content = zlib.decompress(packed[_COOKIE.size :])
        _check_header(*_HEADER_1.unpack_from(content), held=len(content) - _HEADER_1.size)
        return _sound(HdrHistogram.decode(payload))
    if cookie & ~0xF0 != _COMPRESSED_1:
        raise ValueError(f"unknown encoding {cookie:#x}")
    content = zlib.decompress(packed[_COOKIE.size : _COOKIE.size + length])
    inner, counted, shift, digits, lowest, highest, _ = _HEADER_1.unpack_from(content)
    if inner & ~0xF0 != _PLAIN_1 or shift:
        raise ValueError(f"unknown encoding {inner:#x}, shifted by {shift}")
    _check_header(inner, counted, shift, digits, lowest, highest, 1.0, held=len(content) - _HEADER_1.size)
    words = np.frombuffer(content[_HEADER_1.size : _HEADER_1.size + counted], _WORDS[(inner & 0xF0) >> 4 & 0xE])
    if words.size and words.min() < 0:
        raise ValueError("holds less than nothing")
    histogram = HdrHistogram(lowest, highest, digits)
    for place in np.flatnonzero(words):
        histogram.record_value(histogram.get_value_from_index(int(place)), int(words[place]))
    if histogram.total_count != words.sum():
        raise ValueError("holds values beyond its own bounds")
    return _sound(histogram)


def _check_header(
    cookie: int, counted: int, shift: int, digits: int, lowest: int, highest: int, ratio: float, *, held: int
) -> None:
    """Raise ValueError for a header with which no histogram was written; `held` is the bytes behind it."""
    if shift or not ratio > 0 or not 0 <= counted <= held:
        raise ValueError(f"{cookie:#x}: {counted} of {held} bytes, shifted by {shift}, times {ratio}")
    if not _DIGITS[0] <= digits <= _DIGITS[1] or not 1 <= lowest <= highest // 2 or highest > _HIGHEST:
        raise ValueError(f"{digits} digits of {lowest} to {highest}")


def _sound(histogram: HdrHistogram) -> HdrHistogram:
    """Return a histogram whose counts are some; raises ValueError for another."""
    counts = np.ctypeslib.as_array(histogram.counts).astype(np.int64)
    if counts.min() < 0 or counts.sum() != histogram.total_count or counts.astype(float).sum() > _MOST:
        raise ValueError("holds counts that cannot be")
    return histogram
