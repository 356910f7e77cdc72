"""Little's law in a closed loop: requests in flight, and how a run is longer than its requests.

Threads that send the next request as soon as the last is answered have one request each in flight, so that throughput
times mean latency is the number of threads. A table in which it is less has runs that took longer than their requests:
by a time (a start, the last thread to end), or by a factor (clients that wait, or means over another window).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from statsmodels.tools.eval_measures import aicc

from cassbook.core.errors import InputError
from cassbook.core.types import Floats
from cassbook.latency.saturation import AICC_MARGIN

#: Of both papers: 'The operation count within each thread was set to 1000'.
REQUESTS_PER_THREAD = 1000

#: Both models have one constant and the variance.
_PARAMETERS = 2
#: The small-sample correction of AICc divides by n - parameters - 1.
MIN_RUNS = _PARAMETERS + 2


def in_flight(throughput_per_s: Any, latency_s: Any) -> Any:
    """Mean number of requests in flight; numbers, arrays and intervals alike.

    >>> in_flight(500, 0.25)
    125.0
    """
    return throughput_per_s * latency_s


def run_times(threads: ArrayLike, throughput_per_s: ArrayLike, latency_s: ArrayLike) -> tuple[Floats, Floats]:
    """Seconds that a run took by its throughput, and seconds that one thread's requests took, each of shape (n,).

    `threads` may be one number for all runs.
    """
    requests = REQUESTS_PER_THREAD * np.asarray(threads, dtype=float)
    whole_s = requests / np.asarray(throughput_per_s, dtype=float)
    return whole_s, REQUESTS_PER_THREAD * np.asarray(latency_s, dtype=float)


@dataclass(frozen=True, slots=True)
class Deficit:
    """How runs are longer than the requests of a thread, by two models with one constant each."""

    verdict: Literal["additive", "one factor", "undecided"]  # undecided: AICc differ by less than `AICC_MARGIN`
    seconds: float  # c of whole = busy + c
    factor: float  # f of whole = f * busy
    additive_spread: float  # standard deviation of the logarithm of whole around the model; 0.07 is about 7 %
    factor_spread: float
    margin: float  # AICc of the factor less that of the added time; above 0 the added time explains more


def _added_seconds(whole: Floats, busy: Floats) -> float:
    """Least squares c of log(whole) = log(busy + c): it lies between the least and the largest difference."""
    difference = whole - busy
    ends = (max(difference.min(), -busy.min()), difference.max())
    return float(minimize_scalar(lambda c: (np.log(whole / (busy + c)) ** 2).sum(), bounds=ends, method="bounded").x)


def _spread(residuals: Floats) -> float:
    """Root mean square; of an exact fit what rounding may have left, for its logarithm is wanted."""
    return float(max(np.sqrt((residuals**2).mean()), np.finfo(float).eps))


def _aicc(residuals: Floats) -> float:
    likelihood = norm.logpdf(residuals, scale=_spread(residuals)).sum()
    return float(aicc(likelihood, residuals.size, _PARAMETERS))


def deficit(whole_s: ArrayLike, busy_s: ArrayLike) -> Deficit:
    """Decide between an added time and a factor: whole = busy + c, or whole = f * busy; shapes (n,).

    Both are fitted by least squares of the logarithm of `whole_s`, so that long runs count no more than short ones and
    the two AICc are on one scale. Seconds are as from `run_times`; one unit of time is as good as another. An
    InputError refuses unequal shapes, fewer than four runs, and times that are not positive and finite.
    """
    whole, busy = np.asarray(whole_s, dtype=float), np.asarray(busy_s, dtype=float)
    if whole.ndim != 1 or whole.shape != busy.shape or whole.size < MIN_RUNS:
        raise InputError(f"whole_s {whole.shape} and busy_s {busy.shape} must be equally many, {MIN_RUNS} or more")
    if not all(np.isfinite(times).all() and (times > 0).all() for times in (whole, busy)):
        raise InputError("whole_s and busy_s must be positive and finite")
    seconds = _added_seconds(whole, busy)
    around_additive = np.log(whole / (busy + seconds))
    ratios = np.log(whole / busy)
    around_factor = ratios - ratios.mean()
    margin = _aicc(around_factor) - _aicc(around_additive)
    verdict: Literal["additive", "one factor", "undecided"] = "undecided"
    if abs(margin) >= AICC_MARGIN:
        verdict = "additive" if margin > 0 else "one factor"
    factor = float(np.exp(ratios.mean()))
    return Deficit(verdict, seconds, factor, _spread(around_additive), _spread(around_factor), margin)
