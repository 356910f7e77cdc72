"""Decode the histograms of HdrHistogram logs: encodings 0, 1 and 2, with the package hdrhistogram for the last."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

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


class NotRead(Exception):
    """A payload is whole, but of a kind that is not read."""


def decode(payload: bytes) -> HdrHistogram:
    """Histogram of a payload in encoding 0, 1 or 2.

    Raises
    ------
    NotRead
        For histograms of doubles, or any of another encoding.
    ValueError, TypeError, ArithmeticError, LookupError, MemoryError, struct.error, zlib.error,
    HdrCookieException, HdrLengthException
        If it is damaged.
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
