"""Latencies as HdrHistograms: any quantile of a cell long after its samples are gone.

A histogram keeps every operation's latency to three significant digits, from 1 us to 1 hour, in some kilobytes; a run's
log keeps two, in a third of that. The logs are those of HdrHistogram's own tools: version 2 payloads, one tagged line a
histogram.
"""

from __future__ import annotations

import binascii
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter
from numpy.typing import ArrayLike, NDArray

from cassbook.core.errors import InputError
from cassbook.core.files import whole
from cassbook.core.types import Floats

#: Bounds of what is distinguished: 1 us and 1 hour.
LOWEST_US = 1
HIGHEST_US = 3_600_000_000
DIGITS = 3
#: Digits of what a run keeps: its intervals over blocks are wider than a hundredth.
KEPT_DIGITS = 2

#: A histogram with the time it covers, in seconds since the run began: (histogram, start_s, end_s).
Interval = tuple[HdrHistogram, float, float]

_LINE = re.compile(r"(?:Tag=(?P<tag>[^,]*),)?(?P<start>[\d.]+),(?P<length>[\d.]+),(?P<most>[\d.]+),(?P<payload>\S+)")
_DAMAGE = (binascii.Error, zlib.error, HdrCookieException, HdrLengthException, ValueError, TypeError)


def empty(digits: int = DIGITS) -> HdrHistogram:
    """Return a histogram of the bounds that all of ours share.

    A quantile from it is off by at most 10**-digits of itself, or by half a microsecond where that is more.
    """
    return HdrHistogram(LOWEST_US, HIGHEST_US, digits)


def _places(whole_us: NDArray[np.int64], of: HdrHistogram) -> NDArray[np.int64]:
    """Index of the counter of each value; the arithmetic of `HdrHistogram.record_value`, for an array."""
    bits = np.frexp((whole_us | of.sub_bucket_mask).astype(float))[1]  # exact: the values are far below 2**53
    bucket = bits - of.unit_magnitude - (of.sub_bucket_half_count_magnitude + 1)
    sub_bucket = whole_us >> (bucket + of.unit_magnitude)
    return np.asarray(((bucket + 1) << of.sub_bucket_half_count_magnitude) + sub_bucket - of.sub_bucket_half_count)


class Counter:
    """Counts latencies of one operation, part by part; memory is that of one histogram.

    `digits`: significant digits to which latencies are kept apart.

    >>> counter = Counter()
    >>> counter.add([100.0, 200.0])
    >>> counter.add([300.0])
    >>> quantile_us(counter.histogram(), 0.5)
    200.0
    """

    def __init__(self, digits: int = DIGITS) -> None:
        self._form = empty(digits)
        self._counts = np.zeros(self._form.counts_len, dtype=np.int64)
        self.count = 0

    def add(self, latency_us: ArrayLike) -> None:
        """Count latencies, all at once.

        `latency_us`: shape (n,); microseconds, from 0 to 1 hour; rounded to whole ones. May be empty.

        Raises InputError for a latency that is not a number, negative, or over an hour.
        """
        latency = np.asarray(latency_us, dtype=float).ravel()
        if not latency.size:
            return
        if not (latency.min() >= 0 and latency.max() <= HIGHEST_US):  # also where one is NaN
            wrong = ~((latency >= 0) & (latency <= HIGHEST_US))
            raise InputError(
                f"latency_us: {latency[wrong][0]!r} is not between 0 and {HIGHEST_US} microseconds (1 hour)"
            )
        places = _places(np.rint(latency).astype(np.int64), self._form)
        self._counts += np.bincount(places, minlength=self._counts.size)
        self.count += latency.size

    def histogram(self) -> HdrHistogram:
        """Return what was counted so far."""
        counted = empty(self._form.significant_figures)
        if self.count:
            _counts(counted)[:] = self._counts
            filled = np.flatnonzero(self._counts)
            counted.set_internal_tacking_values(int(filled[0]), int(filled[-1]), self.count)
        return counted


def histogram(latency_us: ArrayLike, digits: int = DIGITS) -> HdrHistogram:
    """Count latencies, all at once.

    Parameters
    ----------
    latency_us : array_like of float, shape (n,)
        Microseconds, from 0 to 1 hour; rounded to whole ones. May be empty.
    digits : int
        Significant digits to which they are kept apart.

    Raises
    ------
    InputError
        For a latency that is not a number, negative, or over an hour.

    Examples
    --------
    >>> quantile_us(histogram([100.0, 200.0, 300.0]), 0.5)
    200.0
    """
    counter = Counter(digits)
    counter.add(latency_us)
    return counter.histogram()


def counts_of(of: HdrHistogram) -> NDArray[np.int64]:
    """Return how many latencies each counter has."""
    return _counts(of).copy()


def values_us(of: HdrHistogram) -> Floats:
    """Return the highest latency in microseconds that each counter stands for."""
    return _highest_us(np.arange(of.counts_len), of)


def _highest_us(places: NDArray[np.int64], of: HdrHistogram) -> Floats:
    half, magnitude = of.sub_bucket_half_count, of.sub_bucket_half_count_magnitude
    bucket = (places >> magnitude) - 1
    sub_bucket = (places & (half - 1)) + np.where(bucket < 0, 0, half)
    shift = np.maximum(bucket, 0) + of.unit_magnitude
    return np.asarray(((sub_bucket + 1) << shift) - 1, dtype=float)


def _counts(of: HdrHistogram) -> NDArray[np.int64]:
    """The counters themselves, as an array that can be written to."""
    return np.ctypeslib.as_array(of.counts).view(np.int64)


def tags_by_cell(tags: Iterable[str], response: bool = False) -> dict[str, list[str]]:
    """Group the tags of a run's histograms, `CELL.OPERATION`, by cell; with `response` those of response times.

    >>> tags_by_cell(["a.READ", "a.UPDATE", "b.READ", "b.READ.response"])
    {'a': ['a.READ', 'a.UPDATE'], 'b': ['b.READ']}
    """
    grouped: dict[str, list[str]] = {}
    for tag in tags:
        if tag.endswith(".response") == response:
            grouped.setdefault(tag.removesuffix(".response").rsplit(".", 1)[0], []).append(tag)
    return grouped


def merged(histograms: Iterable[HdrHistogram]) -> HdrHistogram:
    """Add histograms, as of the cells of several blocks; the sum has the digits of the coarsest."""
    parts = list(histograms)
    total = empty(min((one.significant_figures for one in parts), default=DIGITS))
    for one in parts:
        total.add(one)
    return total


def quantile_us(of: HdrHistogram, q: float) -> float:
    """Quantile in microseconds: what `HdrHistogram.get_value_at_percentile` says, without walking all counters.

    Parameters
    ----------
    of : HdrHistogram
    q : float
        From 0 to 1.

    Returns
    -------
    float
        The highest value that the histogram cannot tell from the quantile; NaN where it is empty.

    Raises
    ------
    InputError
        For a q outside 0 to 1.
    """
    if not 0 <= q <= 1:
        raise InputError(f"q: {q!r} is no quantile; it lies from 0 to 1")
    if of.get_total_count() == 0:
        return float("nan")
    place = int(np.searchsorted(_counts(of).cumsum(), of.get_target_count_at_percentile(100 * q)))
    return float(of.get_highest_equivalent_value(of.get_value_from_index(place)))


def quantiles_us(of: HdrHistogram, shares: ArrayLike) -> Floats:
    """Quantiles in microseconds, as `quantile_us` gives each, in one step.

    `shares`: from 0 to 1.

    It has the shape of `shares`; NaN where the histogram is empty.
    """
    wanted = np.asarray(shares, dtype=float)
    total = of.get_total_count()
    if total == 0:
        return np.full(wanted.shape, np.nan)
    targets = np.maximum(np.floor(100 * wanted * total / 100 + 0.5), 1)
    return _highest_us(np.searchsorted(_counts(of).cumsum(), targets.astype(np.int64)), of)


def write_log(path: Path, histograms: Mapping[str, Interval]) -> None:
    """Write a tagged log, readable by HdrHistogram's tools; the file appears whole or not at all.

    Parameters
    ----------
    path : Path
    histograms : mapping of str to (HdrHistogram, float, float)
        By tag: the histogram, and when its interval began and ended, in seconds since the run began. The log's
        'interval max' is in microseconds like everything else.

    Raises
    ------
    InputError
        For a tag that a line of the log cannot hold.
    """
    for tag in histograms:
        if not tag or set(tag) & set(", \r\n"):
            raise InputError(f"tag: {tag!r} cannot be written; a tag has no comma and no blank, and is not empty")
    with whole(path) as draft, draft.open("w", encoding="utf-8") as file:
        writer = HistogramLogWriter(file)
        writer.output_comment("[Latencies in microseconds; times in seconds since the run began]")
        writer.output_log_format_version()
        writer.output_legend()
        for tag, (counted, start_s, end_s) in histograms.items():
            file.write(f"Tag={tag},")
            writer.output_interval_histogram(counted, start_s, end_s, max_value_unit_ratio=1.0)


def read_log(path: Path) -> dict[str, HdrHistogram]:
    """Read a log that `write_log` wrote; lines of the same tag are added.

    Returns
    -------
    dict of str to HdrHistogram
        By tag, in the order of the file; '' for lines without one.

    Raises
    ------
    InputError
        Naming file and line, for a line that is damaged, or if the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a histogram log ({error})") from None
    histograms: dict[str, HdrHistogram] = {}
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith(("#", '"StartTimestamp"')):
            continue
        match = _LINE.fullmatch(line)
        try:
            if match is None:
                raise ValueError("no line of a histogram log")
            counted = HdrHistogram.decode(match["payload"])
        except _DAMAGE as error:
            raise InputError(f"{path}, line {number}: is damaged ({error or type(error).__name__})") from None
        tag = match["tag"] or ""
        histograms[tag] = merged([histograms[tag], counted]) if tag in histograms else counted
    return histograms
