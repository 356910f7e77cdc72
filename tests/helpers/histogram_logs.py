"""HdrHistogram logs of known values, in the encodings that Java wrote over the years."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable

import numpy as np
from hdrh.histogram import HdrHistogram

#: What Java writes for an interval in which nothing was recorded: 0 digits, no counts.
EMPTY = "HISTFAAAABl42pNpmSzMwMDAyIAKYHwm+w9QFgA8ewJ6"
_LOWEST, _HIGHEST, _DIGITS = 1, 10_000_000_000, 3
HEADING = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
COMMENTS = {
    "cassandra-stress": ("#Logging op latencies for Cassandra Stress", "ns"), "YCSB": ("#[Logging for: READ]", "us"),
    "jHiccup": ("#[Logged with jHiccup version 2.0.10]", "ns"),
    "NoSQLBench": ("#logging histograms for session scenario_1", "ns"),
    "a comment": ("#[Latencies in milliseconds]", "ms"), "another": ("#Units: microseconds", "us"),
}  # fmt: skip


def payload(values: Iterable[int], encoding: int) -> str:
    """Return values as a log has them."""
    histogram = HdrHistogram(_LOWEST, _HIGHEST, _DIGITS)
    for value in values:
        histogram.record_value(value)
    if encoding == 2:
        return histogram.encode().decode()
    counts = np.ctypeslib.as_array(histogram.counts).astype(">i8")
    used = counts[: int(np.flatnonzero(counts).max(initial=-1)) + 1].tobytes()
    if encoding == 1:
        inner = struct.pack(">iiiiqqd", 0x1C849381, len(used), 0, _DIGITS, _LOWEST, _HIGHEST, 1.0)
    else:
        inner = struct.pack(">iiqqq", 0x1C849388, _DIGITS, _LOWEST, _HIGHEST, histogram.total_count)
    packed = zlib.compress(inner + used)
    return base64.b64encode(
        struct.pack(">ii", 0x1C849382 if encoding == 1 else 0x1C849389, len(packed)) + packed
    ).decode()


def line(start_s: float, length_s: float, content: str, tag: str = "", *, comma: bool = False) -> str:
    """Return the line of an interval."""
    numbers = f"{start_s:.3f},{length_s:.3f},0.000"
    return f"{f'Tag={tag},' if tag else ''}{numbers.replace('.', ',') if comma else numbers},{content}"


def header(start_s: float, comment: str = "") -> list[str]:
    """Return what stands in front of the intervals."""
    first = [comment] if comment else []
    started = f"#[StartTime: {start_s:.3f} (seconds since epoch), Tue Nov 14 22:13:20 UTC 2023]"
    return [*first, "#[Histogram log format version 1.3]", started, HEADING]
