"""Curves of mean latency over threads: the paper's polynomials, what it names besides them, and two with a meaning.

Section IV.B of Gorbenko 2020 chooses polynomials among what one could fit ("regression splines", "support vectors",
"neural networks"). All of them are fitted here to the same points. Two models follow from how a closed loop works:

* `mva`: N threads without think time share one queue (mean service demand D) and a delay Z in which nobody waits for
  anybody. Exact mean-value analysis (Reiser and Lavenberg 1980) gives the latency.
* `usl`: the universal scalability law (Gunther 2007), throughput = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)),
  fitted to *throughput*; its latency is N / throughput, by Little's law.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import optimize, special

from cassbook.core.errors import InputError, LackingError
from cassbook.core.types import Floats
from cassbook.latency import regression
from cassbook.latency.mixing import Predictor
from cassbook.latency.regression import MODEL_NAMES, MODEL_TITLES, SPLINE_DEGREE, SPLINE_KNOTS

#: Columns of the points that a model is fitted to.
POINTS = ("threads", "latency_us", "throughput_per_s")
#: Of exp(-x) as a number of full precision.
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to fit a curve."""

    title: str  # what tables call it
    fit: Callable[[pd.DataFrame], Predictor]  # points (columns `POINTS`) to predictor
    #: Of its mean, for AICc; None where fitting is more than least squares, and there is no such number.
    parameters: int | None
    fewest: int  # distinct thread counts it needs


@dataclass(frozen=True, slots=True)
class ClosedQueue:
    """One queue and one delay, visited in turn by a fixed number of threads (exact mean-value analysis).

    Attributes
    ----------
    demand_us : float
        D: mean service demand at the queue, in us an operation. 1 / D is the highest throughput there can be.
    delay_us : float
        Z: time in us an operation spends where it waits for nobody. It is a part of the latency, not think time.
    """

    demand_us: float
    delay_us: float

    def predict(self, x: ArrayLike, /) -> Floats:
        """Latency in us at `x` threads (of less than one, that of one).

        The recursion of `latencies_us` in closed form: with a = Z / D, throughput is G(n - 1) / G(n) where G(n) is D^n
        times the sum of a^k / k! up to n, and that sum is exp(a) times the regularised incomplete gamma function at
        n + 1. Where exp(-a) is too small a number, the recursion itself is used, interpolated between whole numbers.
        """
        at = np.maximum(np.asarray(x, dtype=float), 1.0)
        ratio = self.delay_us / self.demand_us
        if ratio <= _LARGEST_EXPONENT:
            return at * self.demand_us * special.gammaincc(at + 1, ratio) / special.gammaincc(at, ratio)
        whole = latencies_us(self.demand_us, self.delay_us, int(np.ceil(at.max(initial=1.0))))
        return np.interp(at, np.arange(whole.size), whole)


def latencies_us(demand_us: float, delay_us: float, threads: int) -> Floats:
    """Latency in us with 0 to `threads` threads, by the recursion of exact mean-value analysis; shape (threads + 1,).

    With n threads an arriving request finds the queue as n - 1 leave it: R(n) = Z + D (1 + Q(n - 1)) and
    Q(n) = n D (1 + Q(n - 1)) / R(n). The first entry, with nobody there, is that of one.
    """
    latency = [delay_us + demand_us]
    waiting = 0.0
    for n in range(1, threads + 1):
        at_queue_us = demand_us * (1 + waiting)
        latency_us = delay_us + at_queue_us
        latency.append(latency_us)
        waiting = n * at_queue_us / latency_us
    return np.array(latency)


@dataclass(frozen=True, slots=True)
class Scalability:
    """The universal scalability law.

    Attributes
    ----------
    alone_per_s : float
        Lambda: throughput in operations/s of one thread.
    contention, coherency : float
        Sigma and kappa, none negative: the part that is done one after the other, and the cost of agreeing pairwise.
    """

    alone_per_s: float
    contention: float
    coherency: float

    def throughput_per_s(self, threads: ArrayLike) -> Floats:
        """Operations/s at a number of threads."""
        n = np.asarray(threads, dtype=float)
        return np.asarray(self.alone_per_s * n / (1 + self.contention * (n - 1) + self.coherency * n * (n - 1)))

    def predict(self, x: ArrayLike, /) -> Floats:
        """Latency in us at `x` threads by Little's law: threads / throughput."""
        n = np.asarray(x, dtype=float)
        per_thread_s = (1 + self.contention * (n - 1) + self.coherency * n * (n - 1)) / self.alone_per_s
        return np.asarray(per_thread_s * 1e6)


def _polynomial(order: int) -> Callable[[pd.DataFrame], Predictor]:
    def fit(points: pd.DataFrame) -> Predictor:
        with warnings.catch_warnings():
            # Curves too free for their points are what is put to the test here.
            warnings.simplefilter("ignore", regression.CassbookWarning)
            return regression.fit(points["threads"], points["latency_us"], order)

    return fit


def _learner(name: str) -> Callable[[pd.DataFrame], Predictor]:
    def fit(points: pd.DataFrame) -> Predictor:
        from cassbook.latency import learners  # noqa: PLC0415 - scikit-learn comes with the book only

        return learners.LEARNERS[name](points)

    return fit


def closed_queue(points: pd.DataFrame) -> ClosedQueue:
    """Fit the closed queue to latencies, by least squares of their logarithms (each point counts by its percentage).

    Parameters
    ----------
    points : DataFrame
        threads, latency_us.
    """
    threads, latency_us = points["threads"].to_numpy(dtype=float), points["latency_us"].to_numpy(dtype=float)
    last = threads.argmax()
    start = np.log([latency_us[last] / threads[last], latency_us.min() / 2])

    def off(logs: Floats) -> Floats:
        demand_us, delay_us = np.exp(logs)
        return np.log(ClosedQueue(demand_us, delay_us).predict(threads) / latency_us)

    demand_us, delay_us = np.exp(optimize.least_squares(off, start, bounds=(start - 12, start + 12)).x)
    return ClosedQueue(float(demand_us), float(delay_us))


def scalability(points: pd.DataFrame) -> Scalability:
    """Fit the universal scalability law to throughput.

    Threads / throughput is linear in 1 / lambda, sigma / lambda and kappa / lambda; least squares of its relative
    errors, none of the three below zero.

    Parameters
    ----------
    points : DataFrame
        threads, throughput_per_s.
    """
    n = points["threads"].to_numpy(dtype=float)
    per_thread_s = n / points["throughput_per_s"].to_numpy(dtype=float)
    terms = np.stack([np.ones(n.size), n - 1, n * (n - 1)], axis=1)
    scale = terms.max(axis=0).clip(min=1.0)
    scaled, _ = optimize.nnls(terms / scale / per_thread_s[:, None], np.ones(n.size))
    alone_s, contended_s, agreeing_s = scaled / scale
    alone_s = max(alone_s, np.finfo(float).tiny)
    return Scalability(1 / alone_s, contended_s / alone_s, agreeing_s / alone_s)


#: By short name, in the order tables show them.
MODELS: dict[str, Kind] = {
    **{
        name: Kind(MODEL_TITLES[order], _polynomial(order), order + 1, order + 1) for order, name in MODEL_NAMES.items()
    },
    "spline": Kind(
        "regression spline", _learner("spline"), SPLINE_KNOTS + SPLINE_DEGREE - 1, SPLINE_KNOTS + SPLINE_DEGREE
    ),
    "svr": Kind("support vectors", _learner("svr"), None, 4),
    "mlp": Kind("neural network", _learner("mlp"), None, 4),
    "mva": Kind("closed queue (MVA)", closed_queue, 2, 2),
    "usl": Kind("scalability law", scalability, 3, 3),
}


def fit(points: pd.DataFrame, model: str) -> Predictor:
    """Fit one model to measured points.

    Parameters
    ----------
    points : DataFrame
        Columns `POINTS`: threads, mean latency_us, throughput_per_s; one row per cell or a mean over blocks.
    model : str
        A key of `MODELS`.

    Raises
    ------
    InputError
        For an unknown model, too few thread counts, or figures that are not positive and finite.
    """
    if model not in MODELS:
        raise InputError(f"model: {model!r} is unknown; use one of {', '.join(MODELS)}")
    kind = MODELS[model]
    values = points[list(POINTS)].to_numpy(dtype=float)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise InputError(f"{kind.title}: threads, latency_us and throughput_per_s must be positive and finite")
    distinct = points["threads"].nunique()
    if distinct < kind.fewest:
        raise LackingError(f"{kind.title} needs {kind.fewest} distinct thread counts, got {distinct}")
    return kind.fit(points)
