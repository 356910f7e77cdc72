"""How good a curve of latency over threads is: on its own points, between them, and beyond them.

A curve that is drawn through points is judged here by points it has not seen. *Between*: each thread count but the
first and the last is left out in turn, with all its repeats, and predicted from the rest. *Beyond*: the curve is fitted
to the lowest thread counts only and asked for all higher ones, for every number of them from `FEWEST_BELOW` on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.eval_measures import aicc

from cassbook.core.errors import InputError
from cassbook.core.types import Floats
from cassbook.latency.models import MODELS, POINTS, fit
from cassbook.latency.regression import MODEL_NAMES
from cassbook.latency.summaries import pure_cells

SERIES = ["operation", "level"]
#: How many thread counts a curve gets before it is asked for what lies beyond them.
FEWEST_BELOW = 6
_POLYNOMIALS = {name: order for order, name in MODEL_NAMES.items()}


def points_of(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Mean latency and throughput of pure workloads, one row per block: what curves are fitted to.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment.

    Returns
    -------
    DataFrame
        operation, level, threads, block, latency_us, throughput_per_s; repeats within a block are averaged.
    """
    cells = pure_cells(cell_stats)
    keys = [*SERIES, "threads", "block"]
    return cells.groupby(keys, as_index=False)[["latency_us", "throughput_per_s"]].mean()


def design(threads: ArrayLike, order: int, scale: float = 1.0) -> Floats:
    """Powers of threads / scale from 0 to `order`, shape (n, order + 1): what a polynomial is fitted on."""
    return np.vander(np.asarray(threads, dtype=float) / scale, order + 1, increasing=True)


def prediction_interval(points: pd.DataFrame, order: int, threads: ArrayLike, level: float = 0.95) -> pd.DataFrame:
    """Where one more measurement would lie, by a polynomial and the usual assumptions (equal, independent errors).

    Parameters
    ----------
    points : DataFrame
        Columns threads and latency_us.
    order : int
    threads : array_like, shape (m,)
    level : float
        Probability that the interval is to have.

    Returns
    -------
    DataFrame
        threads, latency_us, low_us, high_us: m rows. Without a spare point the bounds are NaN.
    """
    scale = float(points["threads"].max())
    regression = OLS(points["latency_us"].to_numpy(dtype=float), design(points["threads"], order, scale)).fit()
    predicted = regression.get_prediction(design(threads, order, scale))
    low, high = predicted.conf_int(obs=True, alpha=1 - level).T
    if regression.df_resid <= 0:
        low = high = np.full(low.shape, np.nan)
    columns = {"latency_us": predicted.predicted_mean, "low_us": low, "high_us": high}
    return pd.DataFrame({"threads": np.asarray(threads, dtype=float)} | columns)


def left_out(points: pd.DataFrame, model: str) -> pd.DataFrame:
    """Predict thread counts that a model has not seen.

    Parameters
    ----------
    points : DataFrame
        One series: columns `models.POINTS`.
    model : str

    Returns
    -------
    DataFrame
        where ('between' or 'beyond'), fitted_to (the highest thread count it had), threads, measured_us (mean over
        repeats), predicted_us, error_percent = (predicted - measured) / measured * 100.
    """
    measured = points.groupby("threads")["latency_us"].mean()
    threads, kind = points["threads"].to_numpy(dtype=float), MODELS[model]
    rows = []
    for where, seen, unseen in _splits(measured.index.to_numpy(dtype=float)):
        if len(seen) < kind.fewest:
            continue
        predicted = np.asarray(kind.fit(points[np.isin(threads, seen)]).predict(unseen), dtype=float)
        actual = measured.reindex(unseen).to_numpy(dtype=float)
        error = (predicted - actual) / actual * 100
        rows += [(where, seen.max(), *row) for row in zip(unseen, actual, predicted, error, strict=True)]
    return pd.DataFrame(rows, columns=["where", "fitted_to", "threads", "measured_us", "predicted_us", "error_percent"])


def _splits(threads: Floats) -> Iterator[tuple[str, Floats, Floats]]:
    """Which thread counts a model sees, and which it is asked for."""
    for place in range(1, threads.size - 1):
        yield "between", np.delete(threads, place), threads[[place]]
    for seen in range(FEWEST_BELOW, threads.size):
        yield "beyond", threads[:seen], threads[seen:]


def lack_of_fit(points: pd.DataFrame, predicted_us: ArrayLike, parameters: int) -> float:
    """P-value of the F test of a curve against the means of its replicates.

    The curve's distance from the mean at each thread count is held against the spread of the repeats about it. A small
    p-value says that repeats cannot explain the distance. Equal variance at all thread counts is assumed, as least
    squares does; repeats of one block share a cluster start.

    Parameters
    ----------
    points : DataFrame
        threads and latency_us of one series.
    predicted_us : array_like
        The curve at each of them.
    parameters : int
        Of the curve.

    Returns
    -------
    float
        NaN without repeats, or where the curve has as many parameters as there are thread counts.
    """
    residuals = points["latency_us"].to_numpy(dtype=float) - np.asarray(predicted_us, dtype=float)
    groups = points.groupby("threads")["latency_us"]
    pure = float(((points["latency_us"] - groups.transform("mean")) ** 2).sum())
    counts = groups.ngroups
    spare, repeats = counts - parameters, len(points) - counts
    if spare <= 0 or repeats <= 0 or pure == 0:
        return float("nan")
    lack = float((residuals**2).sum()) - pure
    return float(stats.f.sf(max(lack, 0.0) / spare / (pure / repeats), spare, repeats))


def judge(points: pd.DataFrame, model: str) -> dict[str, float]:
    """Everything that is said of one model on one series.

    Parameters
    ----------
    points : DataFrame
        Columns `models.POINTS`, of one series.
    model : str
        A key of `MODELS`.

    Returns
    -------
    dict of float
        r_squared, adjusted_r_squared, aicc (normal errors of equal variance on latency itself, the variance counted),
        lack_of_fit_p, condition_raw and condition_scaled (of the polynomial's design in threads, and in threads by
        their maximum), between_percent and beyond_percent (mean absolute error of what was left out),
        between_worst_percent, beyond_worst_percent, coverage (part of the left-out points, between, inside a
        polynomial's 95 % prediction interval), not_positive (predictions of 0 or less). NaN where it does not apply.

    Raises
    ------
    InputError
        As `models.fit`.
    """
    y = points["latency_us"].to_numpy(dtype=float)
    predicted = np.asarray(fit(points, model).predict(points["threads"].to_numpy(dtype=float)), dtype=float)
    n, parameters = y.size, MODELS[model].parameters
    rss, total = float(((y - predicted) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    r_squared = 1 - rss / total if total > 0 else float("nan")
    figures = {"r_squared": r_squared, "adjusted_r_squared": np.nan, "aicc": np.nan, "lack_of_fit_p": np.nan}
    if parameters is not None and n > parameters + 2 and rss > 0:
        figures["adjusted_r_squared"] = 1 - (1 - r_squared) * (n - 1) / (n - parameters)
        log_likelihood = -n / 2 * (np.log(2 * np.pi * rss / n) + 1)
        figures["aicc"] = float(aicc(log_likelihood, n, parameters + 1))
        figures["lack_of_fit_p"] = lack_of_fit(points, predicted, parameters)
    figures |= _conditions(points, model)
    unseen = left_out(points, model)
    size = unseen["error_percent"].abs()
    for where in ("between", "beyond"):
        sizes = size[unseen["where"] == where]
        figures[f"{where}_percent"] = float(sizes.mean())
        figures[f"{where}_worst_percent"] = float(sizes.max())
    figures["coverage"] = _coverage(points, _POLYNOMIALS[model]) if model in _POLYNOMIALS else np.nan
    figures["not_positive"] = float((unseen["predicted_us"] <= 0).sum())
    return figures


def _conditions(points: pd.DataFrame, model: str) -> dict[str, float]:
    if model not in _POLYNOMIALS:
        return {"condition_raw": np.nan, "condition_scaled": np.nan}
    order, most = _POLYNOMIALS[model], float(points["threads"].max())
    raw, scaled = (np.linalg.cond(design(points["threads"], order, by)) for by in (1.0, most))
    return {"condition_raw": float(raw), "condition_scaled": float(scaled)}


def _coverage(points: pd.DataFrame, order: int) -> float:
    """Part of the points of left-out thread counts that lie inside the prediction interval of the rest."""
    inside, total = 0, 0
    for where, seen, out in _splits(np.unique(points["threads"].to_numpy(dtype=float))):
        if where != "between" or len(seen) <= order + 1:
            continue
        left = points[points["threads"].isin(out)]
        bounds = prediction_interval(points[points["threads"].isin(seen)], order, left["threads"])
        low, high = bounds["low_us"].to_numpy(), bounds["high_us"].to_numpy()
        inside += int(((left["latency_us"].to_numpy() >= low) & (left["latency_us"].to_numpy() <= high)).sum())
        total += len(left)
    return inside / total if total else float("nan")


def judge_all(points: pd.DataFrame) -> pd.DataFrame:
    """Judge every model on every series.

    Parameters
    ----------
    points : DataFrame
        operation, level and `models.POINTS`: from `points_of`, or `schema.LEVEL_STATS` of a printed table.

    Returns
    -------
    DataFrame
        operation, level, model and the columns of `judge`.

    Raises
    ------
    InputError
        If a column is missing, or there are too few thread counts; the message names the series.
    """
    missing = sorted({*SERIES, *POINTS} - set(points.columns))
    if missing:
        raise InputError(f"points: columns {', '.join(missing)} are missing")
    rows = []
    for key, group in points.groupby(SERIES, sort=False):
        for model in MODELS:
            try:
                rows.append(dict(zip(SERIES, key, strict=True)) | {"model": model} | judge(group, model))
            except InputError as error:
                raise type(error)(f"{' '.join(map(str, key))}: {error}") from error
    return pd.DataFrame(rows)


def standing(judged: pd.DataFrame) -> pd.DataFrame:
    """Models over all series: how far off they are between and beyond, and how often the best.

    Parameters
    ----------
    judged : DataFrame
        From `judge_all`.

    Returns
    -------
    DataFrame
        Index model, in the order of `MODELS`; columns between_percent, beyond_percent (medians over series),
        between_worst_percent, beyond_worst_percent (worst of all), best_between, best_beyond (in how many series).
    """
    groups = judged.groupby("model", sort=False)
    table = groups[["between_percent", "beyond_percent"]].median()
    table = table.join(groups[["between_worst_percent", "beyond_worst_percent"]].max())
    for where in ("between", "beyond"):
        known = judged.dropna(subset=f"{where}_percent")
        least = known.loc[known.groupby(SERIES)[f"{where}_percent"].idxmin(), "model"].value_counts()
        table[f"best_{where}"] = least.reindex(table.index).fillna(0).astype(int)
    return table
