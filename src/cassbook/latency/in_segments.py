"""A figure of the response time from segments of one cluster start: what a running cluster does now.

Requests that are near each other in time share their luck, so the interval comes from how segments differ, not from
how many requests there were. Segments that follow one another may be alike too: more than `_BATCHES` are put together
in as many batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from hdrh.histogram import HdrHistogram

from cassbook.core.estimate import ERROR, FEWEST, Estimate
from cassbook.core.proportion import Proportion
from cassbook.core.types import Floats
from cassbook.latency import percentiles, verdicts
from cassbook.latency.histograms import quantiles_us

_BATCHES = 20


@dataclass(frozen=True, slots=True, eq=False)
class InSegments:
    """Response times of one setting at one rate.

    Attributes
    ----------
    segments_ms : tuple of ndarray
        Of each segment, in order, the response time of each request that was due in it; infinite where it failed.
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

    @classmethod
    def of_histograms(cls, counted: Sequence[HdrHistogram], failed: Sequence[int]) -> InSegments:
        """Take them from a histogram of each segment, in microseconds, and how many requests failed in it."""
        answered = [(one, one.get_total_count()) for one in counted]
        return cls(tuple(
            np.append(quantiles_us(one, (np.arange(n) + 0.5) / max(n, 1)) / 1e3, np.full(lost, np.inf))
            for (one, n), lost in zip(answered, failed, strict=True)
        ))  # fmt: skip

    def drawn(self, count: int, together: int, rng: np.random.Generator) -> InSegments:
        """Draw so many segments again, in runs of so many `together` as they came, from the start where one ends."""
        n = len(self.segments_ms)
        starts = rng.integers(n, size=-(-count // together))
        places = [(start + step) % n for start in starts for step in range(together)]
        return InSegments(tuple(self.segments_ms[place] for place in places[:count]))

    def first(self, count: int) -> InSegments:
        """Return the first so many segments."""
        return InSegments(self.segments_ms[:count])

    @property
    def requests(self) -> int:
        """How many there are in all segments."""
        return sum(map(len, self.segments_ms))

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return sum(int(np.isinf(segment).sum()) for segment in self.segments_ms)

    def breaks_down(self, by: str, bound_ms: float) -> bool:
        """Whether so many requests fail, or take so much longer than the bound, that there is nothing to decide."""
        failed = self.failed >= verdicts.MOST_FAILED * self.requests
        return failed or self.estimate(by).value > verdicts.MOST_BOUNDS * bound_ms

    def estimate(self, by: str, error: float = ERROR) -> Estimate:
        """Return a figure in ms; `n` is the number of segments.

        A percentile's bounds are the percentiles at the bounds of the share of requests above it (Woodruff 1952), which
        are those of grouped observations (`Proportion.grouped`). The mean has Student's t over batches.

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
        batches = [batch for batch in _batches(self.segments_ms) if len(batch)]
        if by == "mean":
            figure = Estimate.mean([float(batch.mean()) for batch in batches], error).at_least(0.0)
            return Estimate(figure.value, figure.low, figure.high, len(self.segments_ms))
        ordered = np.sort(np.concatenate(batches))
        value = _at(ordered, percentiles.SHARES[by])
        share = Proportion.grouped([int((batch > value).sum()) for batch in batches], map(len, batches), error)
        if len(batches) < FEWEST or np.isnan(share.low):
            return Estimate(value, float("nan"), float("nan"), len(self.segments_ms))
        low, high = (_at(ordered, 1 - bound) for bound in (share.high, share.low))
        return Estimate(value, min(low, value), max(high, value), len(self.segments_ms))


def _response_ms(samples: pd.DataFrame) -> pd.Series:
    """Return the response time of each steady request; infinite where it failed."""
    steady = samples[samples["phase"] == "steady"]
    late_ms = (steady["started_s"] - steady["intended_s"]) * 1e3
    return (steady["latency_us"] / 1e3 + late_ms).where(steady["outcome"] == "ok", np.inf)


def _batches(segments: Sequence[Floats]) -> Iterable[Floats]:
    """Put segments that follow one another together, so that there are no more than `_BATCHES`."""
    for places in np.array_split(np.arange(len(segments)), min(_BATCHES, len(segments)) or 1):
        yield np.concatenate([segments[place] for place in places]) if len(places) else np.empty(0)


def _at(ordered: Floats, quantile: float) -> float:
    """Return the value that so large a part of the ordered ones does not exceed."""
    place = int(np.ceil(min(max(quantile, 0.0), 1.0) * len(ordered))) - 1
    return float(ordered[max(place, 0)])
