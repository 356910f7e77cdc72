"""A figure of the response time from segments of one cluster start: what a running cluster does now.

Requests that are near each other in time share their luck, so the interval comes from how segments differ, not from
how many requests there were. Segments that follow one another may be alike too: more than `_BATCHES` are put together
in as many batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from cassbook.core.estimate import ERROR, FEWEST, Estimate
from cassbook.core.proportion import Proportion
from cassbook.core.types import Floats
from cassbook.latency import percentiles, verdicts
from cassbook.latency.histograms import counts_of, values_us

_BATCHES = 20


class Segments(ABC):
    """Response times of one setting at one rate, in ms, segment by segment; infinite where a request failed."""

    @property
    @abstractmethod
    def sizes(self) -> NDArray[np.int64]:
        """How many requests were due in each segment."""

    @property
    @abstractmethod
    def lost(self) -> NDArray[np.int64]:
        """How many requests of each segment failed."""

    @abstractmethod
    def taken(self, places: Sequence[int]) -> Segments:
        """Return the segments at some places, each as often as it is named."""

    @abstractmethod
    def at(self, quantile: float) -> float:
        """Return the value that so large a part of all requests does not exceed."""

    @abstractmethod
    def above(self, value_ms: float) -> NDArray[np.int64]:
        """How many requests of each segment took longer."""

    @abstractmethod
    def sums_ms(self) -> Floats:
        """Sum of the response times of each segment, of requests that were answered."""

    @property
    def count(self) -> int:
        """How many segments there are."""
        return len(self.sizes)

    @property
    def requests(self) -> int:
        """How many requests there are in all segments."""
        return int(self.sizes.sum())

    @property
    def failed(self) -> int:
        """How many requests of all segments failed."""
        return int(self.lost.sum())

    def first(self, count: int) -> Segments:
        """Return the first so many segments."""
        return self.taken(range(count))

    def drawn(self, count: int, together: int, rng: np.random.Generator) -> Segments:
        """Draw so many segments again, in runs of so many `together` as they came, from the start where one ends."""
        return self.taken(drawn_places(self.count, count, together, rng))

    def breaks_down(self, by: str, bound_ms: float) -> bool:
        """Whether so many requests fail, or take so much longer than the bound, that there is nothing to decide."""
        failed = self.failed >= verdicts.MOST_FAILED * self.requests
        return failed or self.figure(by) > verdicts.MOST_BOUNDS * bound_ms

    def figure(self, by: str) -> float:
        """Return a figure in ms, one of `percentiles.FIGURES`, without its interval.

        A request that failed is beyond every percentile, and in no mean. Raises ValueError without any request.
        """
        if by != "mean":
            return self.at(percentiles.SHARES[by])
        means_ms = self._means_ms()
        return float(means_ms.mean()) if len(means_ms) else float("inf")

    def _means_ms(self) -> Floats:
        answered = _batched(self.sizes - self.lost)
        kept = answered > 0
        return np.asarray(_batched(self.sums_ms())[kept] / answered[kept])

    def estimate(self, by: str, error: float = ERROR) -> Estimate:
        """Return a figure in ms; `n` is the number of segments.

        A percentile's bounds are the percentiles at the bounds of the share of requests above it (Woodruff 1952), which
        are those of grouped observations (`Proportion.grouped`). The mean is of requests that were answered, with
        Student's t over batches.

        Parameters
        ----------
        by : str
            One of `percentiles.FIGURES`.
        error : float
            The chance that the interval does not hold the truth.

        Raises
        ------
        ValueError
            Without any request.
        """
        value, sizes = self.figure(by), _batched(self.sizes)
        if by == "mean" and np.isfinite(value):
            figure = Estimate.mean(self._means_ms(), error).at_least(0.0)
            return Estimate(value, figure.low, figure.high, self.count)
        kept = sizes > 0
        share = Proportion.grouped(_batched(self.above(value))[kept], sizes[kept], error)
        if kept.sum() < FEWEST or np.isnan(share.low):
            return Estimate(value, float("nan"), float("nan"), self.count)
        low, high = (self.at(1 - bound) for bound in (share.high, share.low))
        return Estimate(value, min(low, value), max(high, value), self.count)


@dataclass(frozen=True, slots=True, eq=False)
class InSegments(Segments):
    """Every single request.

    Attributes
    ----------
    segments_ms : tuple of ndarray
        Of each segment, in order, the response time of each request that was due in it.
    """

    segments_ms: tuple[Floats, ...]

    @classmethod
    def of_samples(cls, samples: pd.DataFrame) -> InSegments:
        """Take them from a cell's samples, columns `schema.SAMPLES`; those of phase steady count."""
        response_ms = _response_ms(samples)
        of_segment = response_ms.groupby(samples["slice"].loc[response_ms.index].astype("int64"))
        return cls(tuple(group.to_numpy(dtype=float) for _, group in of_segment))

    @classmethod
    def of_tables(cls, tables: Sequence[pa.Table]) -> InSegments:
        """Take them from the samples of each segment."""
        columns = ["phase", "outcome", "latency_us", "started_s", "intended_s"]
        return cls(tuple(_response_ms(table.select(columns).to_pandas()).to_numpy(dtype=float) for table in tables))

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.array([len(segment) for segment in self.segments_ms], dtype=np.int64)

    @property
    def lost(self) -> NDArray[np.int64]:
        return np.array([np.isinf(segment).sum() for segment in self.segments_ms], dtype=np.int64)

    def taken(self, places: Sequence[int]) -> InSegments:
        return InSegments(tuple(self.segments_ms[place] for place in places))

    def at(self, quantile: float) -> float:
        ordered = np.sort(np.concatenate(self.segments_ms)) if self.segments_ms else np.empty(0)
        if not len(ordered):
            raise ValueError("no request in any segment")
        return float(ordered[_place(quantile, len(ordered))])

    def above(self, value_ms: float) -> NDArray[np.int64]:
        return np.array([(segment > value_ms).sum() for segment in self.segments_ms], dtype=np.int64)

    def sums_ms(self) -> Floats:
        return np.array([segment[np.isfinite(segment)].sum() for segment in self.segments_ms], dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class CountedSegments(Segments):
    """Histograms of each segment: a hundredth of the memory and of the time.

    Attributes
    ----------
    counts : ndarray of int, shape (segments, values)
    values_ms : ndarray, shape (values,)
        Ascending; the last is infinite.
    """

    counts: NDArray[np.int64]
    values_ms: Floats

    @classmethod
    def of_histograms(cls, counted: Sequence[HdrHistogram], failed: Sequence[int]) -> CountedSegments:
        """Take them from a histogram of each segment, in microseconds, and how many requests failed in it."""
        counts = np.array([np.append(counts_of(one), lost) for one, lost in zip(counted, failed, strict=True)])
        return cls(counts, np.append(values_us(counted[0]) / 1e3, np.inf))

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.asarray(self.counts.sum(axis=1))

    @property
    def lost(self) -> NDArray[np.int64]:
        return self.counts[:, -1]

    def taken(self, places: Sequence[int]) -> CountedSegments:
        return CountedSegments(self.counts[list(places)], self.values_ms)

    def at(self, quantile: float) -> float:
        upto = self.counts.sum(axis=0).cumsum()
        if not upto[-1]:
            raise ValueError("no request in any segment")
        return float(self.values_ms[np.searchsorted(upto, _place(quantile, int(upto[-1])) + 1)])

    def above(self, value_ms: float) -> NDArray[np.int64]:
        return np.asarray(self.counts[:, self.values_ms > value_ms].sum(axis=1))

    def sums_ms(self) -> Floats:
        return np.asarray(self.counts[:, :-1] @ self.values_ms[:-1])


def drawn_places(n: int, count: int, together: int, rng: np.random.Generator) -> list[int]:
    """Draw `count` of `n` places in runs of so many `together`, from the start again where one passes the end."""
    starts = rng.integers(n, size=-(-count // together))
    return [(int(start) + step) % n for start in starts for step in range(together)][:count]


def _response_ms(samples: pd.DataFrame) -> pd.Series:
    """Return the response time of each steady request; infinite where it failed."""
    steady = samples[samples["phase"] == "steady"]
    late_ms = (steady["started_s"] - steady["intended_s"]) * 1e3
    return (steady["latency_us"] / 1e3 + late_ms).where(steady["outcome"] == "ok", np.inf)


def _batched(of_segments: NDArray[np.int64] | Floats) -> Floats:
    """Add up what is of segments that follow one another, so that there are no more than `_BATCHES` sums."""
    parts: Iterator[Floats] = iter(np.array_split(of_segments, min(_BATCHES, len(of_segments)) or 1))
    return np.array([part.sum() for part in parts], dtype=float)


def _place(quantile: float, count: int) -> int:
    """Place, among so many in order, of the value that so large a part does not exceed."""
    return max(int(np.ceil(min(max(quantile, 0.0), 1.0) * count)) - 1, 0)
