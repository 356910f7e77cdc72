"""Where throughput stops growing, and how latency grows there (Gorbenko 2020, section IV.A, Fig. 4 and 5).

The paper says that the system 'is saturated with around 800 threads' and that 'delays increase in
exponential progression' at the maximum throughput. Both are put to a stated rule here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from statsmodels.tools.eval_measures import aicc

from cassbook.core.errors import InputError
from cassbook.core.types import Floats

#: Both models of growth have three parameters: two coefficients and the variance.
_PARAMETERS = 3

#: The small-sample correction of AICc divides by n - parameters - 1, so fewer points cannot be judged.
MIN_POINTS = _PARAMETERS + 2

#: Models whose AICc differ by less are not distinguished (Burnham and Anderson 2002, section 2.6).
AICC_MARGIN = 2.0

#: Verdict of `growth_table` where `growth_test` would refuse.
TOO_FEW = "too few points"


def _series(threads: ArrayLike, values: ArrayLike, name: str) -> tuple[Floats, Floats]:
    """Both as float arrays in ascending order of threads, or an InputError."""
    x, y = np.asarray(threads, dtype=float), np.asarray(values, dtype=float)
    if x.ndim != 1 or x.shape != y.shape or not x.size:
        raise InputError(f"threads {x.shape} and {name} {y.shape} must be one row of equal length, not empty")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError(f"threads and {name} must be finite")
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def saturation_point(threads: ArrayLike, throughput_per_s: ArrayLike, gain: float = 0.05) -> float:
    """Smallest number of threads whose throughput is within `gain` of the maximum measured.

    Parameters
    ----------
    threads, throughput_per_s : array_like, shape (n,)
        Throughput in operations/s at each number of threads.
    gain : float
        What more threads may still bring, as a part of the maximum; 0.05 is 5 %.

    Returns
    -------
    float
        A number of threads. If it is the largest measured, saturation was not seen in the range.

    Raises
    ------
    InputError
        For unequal shapes, nothing or NaN given, or a gain outside 0 to 1.

    Examples
    --------
    >>> saturation_point([10, 100, 500, 1000], [1000, 6000, 9800, 10000])
    500.0
    """
    if not 0 <= gain < 1:
        raise InputError(f"gain: {gain!r} is not in [0, 1); 0.05 means within 5 % of the maximum")
    x, y = _series(threads, throughput_per_s, "throughput_per_s")
    return float(x[y >= (1 - gain) * y.max()][0])


@dataclass(frozen=True, slots=True)
class Growth:
    """Linear against exponential growth of latency over threads.

    Attributes
    ----------
    n : int
        Points compared.
    linear_r_squared, exponential_r_squared : float
        Both on the scale of latency itself, the exponential curve transformed back; NaN for constant latency.
    linear_aicc, exponential_aicc : float
        Both on the scale of latency itself, less is better; -inf for a curve that meets every point.
    verdict : str
        'linear', 'exponential', or 'undecided' where the two differ by less than 2.
    """

    n: int
    linear_r_squared: float
    exponential_r_squared: float
    linear_aicc: float
    exponential_aicc: float
    verdict: str


def _line(x: Floats, y: Floats) -> Floats:
    """Values of the least squares line of `y` over `x`."""
    slope, intercept = np.polyfit(x / x.max(), y, 1)
    return intercept + slope * x / x.max()


def _aicc(y: Floats, fitted: Floats, log_jacobian: float = 0.0) -> float:
    """AICc of a normal model with two coefficients; -inf where only rounding is left of the residuals."""
    rss = float(((y - fitted) ** 2).sum())
    if rss <= (1e-12 * np.abs(y).max()) ** 2 * y.size:
        return float("-inf")
    log_likelihood = -y.size / 2 * (np.log(2 * np.pi * rss / y.size) + 1) - log_jacobian
    return float(aicc(log_likelihood, y.size, _PARAMETERS))


def _r_squared(y: Floats, fitted: Floats) -> float:
    """Coefficient of determination on the scale of `y`; NaN if `y` is constant."""
    total = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - fitted) ** 2).sum()) / total if total > 0 else float("nan")


def growth_test(threads: ArrayLike, latency_us: ArrayLike, from_threads: float | None = None) -> Growth:
    """Test 'delays increase in exponential progression' (section IV.A) against a straight line.

    Two models by ordinary least squares: latency = a + b x, and log(latency) = a + b x. The second has
    another response, so its likelihood is brought to the scale of latency by the Jacobian of the logarithm:
    its AICc takes 2 * sum(log(latency)) more. Only then are the two comparable. R squared is given on the
    scale of latency for both. The two have equally many parameters, so neither is favoured.

    Parameters
    ----------
    threads, latency_us : array_like, shape (n,)
        Mean latency in us at each number of threads.
    from_threads : float, optional
        Look only at this many threads and more, e.g. beyond `saturation_point`.

    Raises
    ------
    InputError
        With fewer than five points or all at one number of threads, unequal shapes, NaN, or a latency that is
        not positive.
    """
    x, y = _series(threads, latency_us, "latency_us")
    if from_threads is not None:
        x, y = x[x >= from_threads], y[x >= from_threads]
    if x.size < MIN_POINTS or x[0] == x[-1]:
        raise InputError(f"telling growth apart needs {MIN_POINTS} points or more, got {x.size}")
    if (y <= 0).any():
        raise InputError("latency_us must be positive")
    straight, log_curve = _line(x, y), _line(x, np.log(y))
    linear = _aicc(y, straight)
    exponential = _aicc(np.log(y), log_curve, log_jacobian=float(np.log(y).sum()))
    if linear == exponential or abs(linear - exponential) < AICC_MARGIN:
        verdict = "undecided"
    else:
        verdict = "linear" if linear < exponential else "exponential"
    scores = (_r_squared(y, straight), _r_squared(y, np.exp(log_curve)))
    return Growth(int(x.size), *scores, linear, exponential, verdict)


def saturation_table(level_stats: pd.DataFrame, gain: float = 0.05) -> pd.DataFrame:
    """Saturation point of every (operation, level).

    Parameters
    ----------
    level_stats : DataFrame
        Columns `schema.LEVEL_STATS` (operation, level, threads and throughput_per_s are used).
    gain : float
        As for `saturation_point`.

    Returns
    -------
    DataFrame
        operation, level, saturated_from_threads, max_throughput_per_s, max_at_threads, reached (False where
        the point is the last one measured, so that saturation was not seen).
    """
    rows = []
    for (operation, level), group in level_stats.groupby(["operation", "level"], sort=False):
        point = saturation_point(group["threads"], group["throughput_per_s"], gain)
        top = group.nlargest(1, "throughput_per_s").iloc[0]
        reached = bool(point < group["threads"].max())
        rows.append((operation, level, point, float(top["throughput_per_s"]), float(top["threads"]), reached))
    columns = [
        "operation",
        "level",
        "saturated_from_threads",
        "max_throughput_per_s",
        "max_at_threads",
        "reached",
    ]
    return pd.DataFrame(rows, columns=columns)


def growth_table(
    level_stats: pd.DataFrame, from_threads: float | None = None, beyond_saturation: bool = False
) -> pd.DataFrame:
    """Growth of latency for every (operation, level), over all threads or from a number on.

    Parameters
    ----------
    level_stats : DataFrame
        Columns `schema.LEVEL_STATS`.
    from_threads : float, optional
        Look only at this many threads and more.
    beyond_saturation : bool
        Look only beyond each level's own saturation point (if that is later than `from_threads`).

    Returns
    -------
    DataFrame
        operation, level, from_threads, then the attributes of `Growth`. Where too few points are left the
        verdict is 'too few points' and the figures are NaN.
    """
    rows = []
    for (operation, level), group in level_stats.groupby(["operation", "level"], sort=False):
        start = float(group["threads"].min() if from_threads is None else from_threads)
        if beyond_saturation:
            start = max(start, saturation_point(group["threads"], group["throughput_per_s"]))
        left = int((group["threads"] >= start).sum())
        nan = float("nan")
        growth = Growth(left, nan, nan, nan, nan, TOO_FEW)
        if left >= MIN_POINTS:
            growth = growth_test(group["threads"], group["latency_us"], start)
        fields = {name: getattr(growth, name) for name in Growth.__slots__}
        rows.append({"operation": operation, "level": level, "from_threads": start} | fields)
    return pd.DataFrame(rows)


def cpu_budget(level_stats: pd.DataFrame, cells: pd.DataFrame, cores: float) -> pd.DataFrame:
    """Return the processor time of an operation at saturation: of the whole machine, of the client, and the rest, of
    the nodes.

    Cores divided by throughput, at the thread count with the most of it.

    Parameters
    ----------
    level_stats : DataFrame
        Columns `schema.LEVEL_STATS`.
    cells : DataFrame
        Of a run, of which the pure ones are used: kind, read_share, read_cl, threads, client_cpu_us_per_op; means over
        blocks.
    cores : float
        Of the machine that runs client and nodes; NaN where it is unknown.

    Returns
    -------
    DataFrame
        Index (operation, level); threads, throughput_per_s, machine_us, client_us, nodes_us (each for one operation),
        times_one (the nodes' share against ONE).
    """
    table = level_stats.loc[level_stats.groupby(["operation", "level"], sort=False)["throughput_per_s"].idxmax()]
    table = table.set_index(["operation", "level"])[["threads", "throughput_per_s"]]
    pure = cells[cells["kind"] == "pure"]
    operation = np.where(pure["read_share"] == 1.0, "READ", "WRITE")
    of_client = pure.groupby([operation, pure["read_cl"], pure["threads"]])["client_cpu_us_per_op"].mean()
    client_us = of_client.reindex(table.set_index("threads", append=True).index).to_numpy()
    machine_us = cores * 1e6 / table["throughput_per_s"]
    nodes_us = machine_us - client_us
    operations = table.index.get_level_values("operation")
    one_us = nodes_us.reindex(pd.MultiIndex.from_product([operations, ["ONE"]])).to_numpy()
    columns = {"machine_us": machine_us, "client_us": client_us, "nodes_us": nodes_us, "times_one": nodes_us / one_us}
    return table.assign(**columns)
