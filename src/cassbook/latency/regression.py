"""Latency as a polynomial in the number of threads (Gorbenko 2020, section IV.B, eq. 2-7, Table III)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from statsmodels.regression.linear_model import OLS

from cassbook import published
from cassbook.core.errors import CassbookWarning, InputError, LackingError
from cassbook.core.types import Floats

#: What Table III calls the polynomials.
MODEL_NAMES = {1: "linear", 2: "order2", 3: "order3", 4: "order4"}
#: What tables and figures of ours call them.
MODEL_TITLES = {1: "linear", 2: "order 2", 3: "order 3", 4: "order 4"}
#: Of the regression spline.
SPLINE_KNOTS, SPLINE_DEGREE = 4, 2

#: A fit on fewer distinct thread counts than its order plus this is reported to its reader.
SPARE_POINTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A polynomial for the mean latency, fitted to measurements or taken from a printed equation.

    Attributes
    ----------
    coefficients : ndarray, shape (order + 1,)
        Constant first, in us / threads^power; read-only.
    threads_range : tuple of float
        Smallest and largest thread count the polynomial was fitted on. Outside it `predict` extrapolates.
    r_squared, adjusted_r_squared : float
        NaN for a printed equation, where latency does not vary, and (adjusted) where no degree of freedom is
        left.
    """

    coefficients: Floats
    threads_range: tuple[float, float]
    r_squared: float = float("nan")
    adjusted_r_squared: float = float("nan")

    @property
    def order(self) -> int:
        """Degree of the polynomial, 1 to 4."""
        return len(self.coefficients) - 1

    @overload
    def predict(self, x: float) -> float: ...
    @overload
    def predict(self, x: Sequence[float] | NDArray[np.generic] | pd.Series) -> Floats: ...
    def predict(self, x: ArrayLike | pd.Series) -> float | Floats:
        """Mean latency in us at `x` threads; a float for a number, else an array of the shape of `x`."""
        at = np.asarray(x, dtype=float)
        latency_us = np.polynomial.polynomial.polyval(at, self.coefficients)
        return float(latency_us) if at.ndim == 0 else np.asarray(latency_us)


def _checked(threads: ArrayLike, latency_us: ArrayLike, order: int) -> tuple[Floats, Floats]:
    """Return both as float arrays, or say in an InputError what is wrong with them (see `fit`)."""
    x, y = np.asarray(threads, dtype=float), np.asarray(latency_us, dtype=float)
    if order not in MODEL_NAMES:
        raise InputError(f"order: {order!r} is not one of 1, 2, 3, 4")
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(f"threads {x.shape} and latency_us {y.shape} must be one row of equal length")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("threads and latency_us must be finite; drop the cells without a latency first")
    if (x < 0).any():
        raise InputError(f"threads: {x.min():g} is negative")
    distinct = np.unique(x).size
    if distinct <= order:
        raise LackingError(f"order {order} needs more than {order} distinct thread counts, got {distinct}")
    if distinct < order + SPARE_POINTS:
        warnings.warn(
            f"order {order} fitted on {distinct} thread counts: a curve this free follows the noise; "
            f"measure at {order + SPARE_POINTS} or more, or lower the order",
            CassbookWarning,
            stacklevel=3,
        )
    return x, y


def fit(threads: ArrayLike, latency_us: ArrayLike, order: int) -> Fit:
    """Least squares polynomial of mean latency over threads (Gorbenko 2020, section IV.B).

    Threads are divided by their maximum for the fit, which keeps the powers comparable, and the coefficients
    are transformed back.

    Parameters
    ----------
    threads : array_like, shape (n,)
        Numbers of threads, not negative; more distinct ones than `order`.
    latency_us : array_like, shape (n,)
        Mean latency at each, in us.
    order : int
        1 (linear) to 4 (the paper's choice).

    Raises
    ------
    InputError
        For unequal shapes, numbers that are not finite, negative threads, too few of them, or another order.

    Warns
    -----
    CassbookWarning
        With fewer than `order` + 4 distinct thread counts.

    Examples
    --------
    >>> line = fit([0, 1, 2, 3, 4], [5, 7, 9, 11, 13], order=1)
    >>> [round(c, 9) for c in line.coefficients.tolist()], round(line.r_squared, 9)
    ([5.0, 2.0], 1.0)
    """
    x, y = _checked(threads, latency_us, order)
    scale = float(x.max())
    result = OLS(y, np.vander(x / scale, order + 1, increasing=True)).fit()
    coefficients = np.asarray(result.params / scale ** np.arange(order + 1))
    coefficients.setflags(write=False)
    spare = y.size - order - 1
    varies = result.centered_tss > 0
    r_squared = float(result.rsquared) if varies else float("nan")
    adjusted = 1 - (1 - r_squared) * (y.size - 1) / spare if spare else float("nan")
    return Fit(coefficients, (float(x.min()), scale), r_squared, adjusted)


def from_coefficients(coefficients: Iterable[float], threads_range: tuple[float, float]) -> Fit:
    """Make a predictor of a printed equation, so that printed and fitted curves pass the same functions.

    Parameters
    ----------
    coefficients : iterable of float
        Constant first, two to five of them, in us / threads^power.
    threads_range : tuple of float
        Thread counts the equation was fitted on, smallest and largest.

    Raises
    ------
    InputError
        For another number of coefficients, or one that is not finite.
    """
    values = np.array(list(coefficients), dtype=float)
    if values.size - 1 not in MODEL_NAMES or not np.isfinite(values).all():
        raise InputError(f"coefficients: needs two to five finite numbers, constant first, got {values.tolist()}")
    values.setflags(write=False)
    return Fit(values, threads_range)


def printed_fits() -> dict[tuple[str, str], Fit]:
    """Equations (2)-(7) as printed: (operation, level) to predictor, over the threads of Tables I and II.

    The coefficients of x^3 and x^4 are printed with one digit, and the sign of one is wrong: at 1000 threads
    these curves miss Table IV by up to 142 %, where an unrounded refit of Tables I and II meets it.
    """
    threads = published.level_stats()["threads"]
    span = (float(threads.min()), float(threads.max()))
    return {key: from_coefficients(values, span) for key, values in published.equations().items()}


def fit_all(level_stats: pd.DataFrame, orders: Sequence[int] = (1, 2, 3, 4)) -> pd.DataFrame:
    """Fit every (operation, level) with every order: Table III, and the curves behind it.

    Parameters
    ----------
    level_stats : DataFrame
        Columns `schema.LEVEL_STATS` (operation, level, threads and latency_us are used).
    orders : sequence of int
        Orders from 1 to 4.

    Returns
    -------
    DataFrame
        One row per (operation, level, order), in the order of the input: operation, level, order, model
        ('linear', 'order2' ...), r_squared, adjusted_r_squared, fit (the `Fit`).

    Raises
    ------
    InputError
        As `fit`; the message names the operation and the level.
    """
    rows = []
    for (operation, level), group in level_stats.groupby(["operation", "level"], sort=False):
        for order in orders:
            try:
                fitted = fit(group["threads"], group["latency_us"], order)
            except InputError as error:
                raise type(error)(f"{operation} {level}: {error}") from error
            scores = (fitted.r_squared, fitted.adjusted_r_squared)
            rows.append((operation, level, order, MODEL_NAMES[order], *scores, fitted))
    columns = ["operation", "level", "order", "model", "r_squared", "adjusted_r_squared", "fit"]
    return pd.DataFrame(rows, columns=columns)


def predictors(fits: pd.DataFrame, order: int = 4) -> dict[tuple[str, str], Fit]:
    """Pick the fits of one order out of `fit_all`, keyed (operation, level), as `latency.mixing` takes them.

    Raises
    ------
    InputError
        If `fits` holds none of that order.
    """
    chosen = fits[fits["order"] == order]
    if chosen.empty:
        raise LackingError(f"no fit of order {order} among orders {sorted(set(fits['order']))}")
    keys = zip(chosen["operation"], chosen["level"], strict=True)
    return dict(zip(keys, chosen["fit"], strict=True))


def worst_miss(level_stats: pd.DataFrame, order: int = 4) -> tuple[float, int]:
    """Return the largest miss of regressions at the very points that they are fitted to: percent of the measured mean,
    and the threads.
    """
    fits = predictors(fit_all(level_stats, orders=(order,)), order)
    keys = zip(level_stats["operation"], level_stats["level"], level_stats["threads"], strict=True)
    fitted = np.array([fits[operation, level].predict(float(threads)) for operation, level, threads in keys])
    off_percent = np.abs(fitted / level_stats["latency_us"].to_numpy() - 1) * 100
    return float(off_percent.max()), int(level_stats["threads"].iloc[int(off_percent.argmax())])
