"""Where a slow beginning ends: a change-point rule for which 'there is none' is an answer.

Bins of latency that follow each other are alike, so a test that takes them for independent finds far too many
beginnings. The rule here estimates by how much they are alike, and its error is set: of series without a slow beginning
it finds one in `ALPHA` of cases, up to 4 in 100 where a short series lets phi be known only roughly
(`tests/unit/latency/test_changepoint.py` puts that to autocorrelated noise).

1. The series is the logarithm of the bin means. Its last half is taken as settled: it gives the level (median), the
   spread (median absolute deviation times 1.4826), and the autocorrelation phi from each bin to the next.
2. What lies more than `CLIP` spreads from the level, in the settled half `CLIP_SETTLED`, is brought to that distance,
   so that one stall, however long its delays, neither makes a beginning nor hides one.
3. For each place k in the first half: by how much the k bins before it exceed the mean of all after it, in standard
   errors of independent bins times sqrt((1 + phi) / (1 - phi)), which is what dependence of the first order makes of
   them (Antoch, Huskova and Praskova 1997). The place where that is greatest is the candidate.
4. The candidate stands if its statistic is among the ALPHA greatest of `REPLICATIONS` simulated series of the same
   length and phi that have no change, each treated in the same way.
5. If it stands, what lies before it is cut off and the rest is asked again (binary segmentation, kept to its left
   branch; see Truong, Oudre and Vayatis 2020): a beginning that fades slowly is cut off as long as what is left still
   begins more slowly than it goes on.
6. A series whose last half still falls, significantly at ALPHA and by more than `FALL`, and whose first quarter lies by
   more than `FALL` over its third, has not settled: its beginning has no end that the series shows. Neither has one
   that is cut off up to the middle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from cassbook.core.types import Floats

#: Share of series without a slow beginning in which one is found.
ALPHA = 0.01
#: Farthest that a bin may lie from the settled level, in its spreads: in the first half, and in the settled one.
CLIP = 6.0
CLIP_SETTLED = 2.0
#: Simulated series without a change, and the seed they are drawn from.
REPLICATIONS = 999
SEED = 2020
#: Fall of the logarithm over the last half from which on it counts: 10 per cent.
FALL = 0.1
#: A series needs so many bins, so that its last half has a level, a spread and an autocorrelation.
FEWEST = 12
#: Turns a median absolute deviation into the standard deviation of a normal distribution.
_MAD_TO_SD = 1.4826
#: Beyond this, half a series is too short to tell dependence from a trend.
_MOST_ALIKE = 0.9
#: Degrees of freedom that the last half has at least, however alike its bins are: a smooth fall is a fall.
_LEAST_DEGREES = 5.0


@dataclass(frozen=True, slots=True)
class Beginning:
    """What was found at the beginning of a series.

    Attributes
    ----------
    bins : int
        Bins that belong to the slow beginning; 0 if there is none.
    p_value : float
        Of the first candidate: how often a series without a change has as strong a one.
    settled : bool
        False where the beginning reaches to the middle of the series or it falls to its end, so that the end of the
        beginning is not known.
    """

    bins: int
    p_value: float
    settled: bool


def _autocorrelation(settled: Floats) -> Floats:
    """Correlation from each bin to the next along the last axis, corrected for its bias in short series; 0 to 0.9."""
    n = settled.shape[-1]
    centred = settled - settled.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = (centred[..., 1:] * centred[..., :-1]).sum(axis=-1) / (centred**2).sum(axis=-1)
    return np.asarray(np.clip(np.nan_to_num(raw + (1 + 3 * raw) / n), 0.0, _MOST_ALIKE))


def _clipped(series: Floats, half: int) -> Floats:
    """Distance from the settled level in spreads, along the last axis, at most `CLIP` and `CLIP_SETTLED` of them."""
    settled = series[..., half:]
    level = np.median(settled, axis=-1, keepdims=True)
    spread = _MAD_TO_SD * np.median(np.abs(settled - level), axis=-1, keepdims=True)
    distance = series - level
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = np.where(distance == 0, 0.0, distance / spread)
    bound = np.where(np.arange(series.shape[-1]) < half, CLIP, CLIP_SETTLED)
    return np.asarray(np.clip(scaled, -bound, bound))


def _candidates(clipped: Floats, half: int) -> tuple[Floats, NDArray[np.int64]]:
    """Greatest statistic of each series along the last axis, and how many bins lie before its place.

    `half` counts the bins before the settled half.
    """
    n = clipped.shape[-1]
    settled = clipped[..., half:]
    alike = _autocorrelation(settled)
    noise = settled.std(axis=-1, ddof=1) * np.sqrt((1 + alike) / (1 - alike))
    before = np.arange(1, half + 1)
    sums = clipped.cumsum(axis=-1)
    means = sums[..., :half] / before
    rest = (sums[..., -1:] - sums[..., :half]) / (n - before)
    excess = (means - rest) * np.sqrt(before * (n - before) / n)
    best = excess.argmax(axis=-1)
    greatest = np.take_along_axis(excess, best[..., None], axis=-1)[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(greatest > 0, greatest / noise, 0.0)
    return statistic, best + 1


def _without_change(n: int, half: int, alike: float) -> Floats:
    """Greatest statistics of simulated series of `n` bins without a change, `half` of them before the settled half."""
    rng = np.random.default_rng(SEED)
    noise = rng.standard_normal((REPLICATIONS, n))
    noise[:, 0] /= np.sqrt(1 - alike**2)  # the first bin has the spread of all others
    series = signal.lfilter([1.0], [1.0, -alike], noise, axis=-1)
    return _candidates(_clipped(series, half), half)[0]


def _still_falls(series: Floats, alpha: float) -> bool:
    """Whether the logarithms fall from the first quarter on, and in the last half still do, stalls brought in."""
    quarter, settled = series.size // 4, series[series.size // 2 :]
    if np.median(series[:quarter]) - np.median(settled[:quarter]) <= FALL:
        return False
    n = settled.size
    spread = _MAD_TO_SD * float(np.median(np.abs(settled - np.median(settled))))
    time = np.linspace(-0.5, 0.5, n)
    clipped = np.clip(settled - np.median(settled), -CLIP_SETTLED * spread, CLIP_SETTLED * spread)
    slope = float(clipped @ time / (time @ time))
    left = clipped - clipped.mean() - slope * time
    alike = float(_autocorrelation(left))
    inflation = (1 + alike) / (1 - alike)
    error = np.sqrt(inflation * (left @ left) / (n - 2) / (time @ time))
    degrees = max(n / inflation - 2, _LEAST_DEGREES)
    return -slope > FALL and bool(-slope > stats.t.ppf(1 - alpha, degrees) * error)


def beginning(series: Floats, alpha: float = ALPHA) -> Beginning:
    """Find the slow beginning of a series, if it has one.

    Parameters
    ----------
    series : ndarray of float, shape (n,)
        Logarithms of the bin means, in the order of time; n is at least `FEWEST`.
    alpha : float
        Share of series without a beginning in which one may be found.

    Raises
    ------
    ValueError
        For a series that is too short or holds a value that is not finite.
    """
    x = np.asarray(series, dtype=float)
    if x.size < FEWEST or not np.isfinite(x).all():
        raise ValueError(f"a change point needs {FEWEST} finite bins, got {x.size}")
    half = x.size // 2
    clipped = _clipped(x, half)
    alike = float(_autocorrelation(clipped[half:]))
    cut, p_first = 0, float("nan")
    while cut < half:
        statistic, bins = _candidates(clipped[cut:], half - cut)
        null = _without_change(x.size - cut, half - cut, alike)
        p_value = float((1 + (null >= statistic).sum()) / (1 + REPLICATIONS))
        p_first = p_value if cut == 0 else p_first
        if p_value > alpha:
            break
        cut += int(bins)
    return Beginning(cut, p_first, cut < half and not _still_falls(x, alpha))
