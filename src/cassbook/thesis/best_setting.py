"""Does 'the dependent variable is the write consistency' predict a best setting? (section 4.4.1, formula 2)

The thesis regresses the write consistency on latencies, threads and the share of writes, over *all* records, and
proposes the result as the optimal one. A record's write consistency is what was set, whether that was good or bad; so a
fit over all records answers 'at which setting was this measured?'. Read kindly, it would be fitted to the records of
the best setting of each workload only. Both are put to workloads they have not seen, one thread count left out at a
time.

To predict, one needs the latencies, and those depend on the setting one is looking for. Each method is asked with the
latencies of 2R-2W, as of a system that runs at QUORUM and asks whether to change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.tools import add_constant

from cassbook.core.errors import LackingError
from cassbook.core.types import Floats
from cassbook.latency.validation import Share
from cassbook.thesis.formulas import WRITE_CONSISTENCY, scaled

_ASKED_AT = 2
_WORKLOAD = ["read_share", "threads"]
_MEASURES = np.array([1, 2, 3])
_CONTEXT = ("threads", "write_share")


def best_records(records: pd.DataFrame) -> pd.DataFrame:
    """Record of the setting of least latency, for each workload."""
    return records.loc[records.groupby(_WORKLOAD)["latency_us"].idxmin()]


def judge(records: pd.DataFrame, scale: str = "0 to 1") -> pd.DataFrame:
    """How often each method names the best setting of workloads it has not seen, and what it costs.

    Parameters
    ----------
    records : DataFrame
        From `records.records`, with three or more thread counts.
    scale : str
        A key of `formulas.SCALES`.

    Returns
    -------
    DataFrame
        Index method; right (`validation.Share`), regret_percent (mean, of the chosen setting against the best),
        worst_percent.

    Raises
    ------
    InputError
        With too few thread counts to leave one out.
    """
    threads = np.sort(records["threads"].unique())
    if threads.size < 3:  # noqa: PLR2004 - a line through what is left needs two
        raise LackingError(f"leaving a thread count out needs three or more, got {threads.size}")
    values = scaled(records, scale)
    chosen: dict[str, list[pd.Series]] = {name: [] for name in _METHODS}
    for left in threads:
        seen = records["threads"] != left
        unseen = records.index[~seen & (records["write_replicas"] == _ASKED_AT)]
        workloads = pd.MultiIndex.from_frame(records.loc[unseen, _WORKLOAD])
        for name, method in _METHODS.items():
            guess = method(records[seen], values[seen], values.loc[unseen])
            chosen[name].append(pd.Series(guess, index=workloads))
    latency = records.pivot_table("latency_us", _WORKLOAD, "write_replicas")
    return pd.DataFrame({name: _figures(pd.concat(parts), latency) for name, parts in chosen.items()}).T.rename_axis(
        "method"
    )


def _figures(chosen: pd.Series, latency: pd.DataFrame) -> dict[str, object]:
    table = latency.reindex(chosen.index)
    taken = table.to_numpy()[np.arange(len(table)), table.columns.get_indexer(pd.Index(chosen.to_numpy()))]
    least = table.min(axis=1).to_numpy()
    right = int((table.idxmin(axis=1) == chosen).sum())
    cost = (taken / least - 1) * 100
    return {
        "right": Share.of(right, len(chosen)), "regret_percent": float(cost.mean()), "worst_percent": float(cost.max())
    }  # fmt: skip


def _plane(x: pd.DataFrame, y: pd.Series, at: pd.DataFrame) -> Floats:
    fit = OLS(y.astype(float), add_constant(x, has_constant="add")).fit()
    return np.asarray(fit.predict(add_constant(at, has_constant="add")), dtype=float)


def _nearest(values: Floats, seen: pd.DataFrame, scaled_seen: pd.DataFrame) -> NDArray[np.int64]:
    """Measure (1, 2 or 3) whose scaled value is nearest to each prediction."""
    y, _ = WRITE_CONSISTENCY
    stands = [scaled_seen.loc[seen["write_replicas"] == measure, y].iloc[0] for measure in _MEASURES]
    return _MEASURES[np.abs(values[:, None] - np.array(stands)).argmin(axis=1)]


def _formula_all(seen: pd.DataFrame, values: pd.DataFrame, unseen: pd.DataFrame) -> NDArray[np.int64]:
    y, x = WRITE_CONSISTENCY
    return _nearest(_plane(values[list(x)], values[y], unseen[list(x)]), seen, values)


def _formula_best(seen: pd.DataFrame, values: pd.DataFrame, unseen: pd.DataFrame) -> NDArray[np.int64]:
    y, x = WRITE_CONSISTENCY
    best = values.loc[best_records(seen).index]
    return _nearest(_plane(best[list(x)], best[y], unseen[list(x)]), seen, values)


def _context(seen: pd.DataFrame, values: pd.DataFrame, unseen: pd.DataFrame) -> NDArray[np.int64]:
    y, _ = WRITE_CONSISTENCY
    best = values.loc[best_records(seen).index]
    return _nearest(_plane(best[list(_CONTEXT)], best[y], unseen[list(_CONTEXT)]), seen, values)


def _most_frequent(seen: pd.DataFrame, values: pd.DataFrame, unseen: pd.DataFrame) -> NDArray[np.int64]:
    return np.full(len(unseen), best_records(seen)["write_replicas"].mode().iloc[0])


def _latencies(seen: pd.DataFrame, values: pd.DataFrame, unseen: pd.DataFrame) -> NDArray[np.int64]:
    """Regress the latency of each setting on threads and share, and take the least: the paper's way, with a plane."""
    guesses = []
    for measure in _MEASURES:
        group = values[seen["write_replicas"] == measure]
        y = seen.loc[group.index, "latency_us"]
        guesses.append(_plane(group[list(_CONTEXT)], y, unseen[list(_CONTEXT)]))
    return _MEASURES[np.argmin(guesses, axis=0)]


_METHODS: dict[str, Callable[[pd.DataFrame, pd.DataFrame, pd.DataFrame], NDArray[np.int64]]] = {
    "formula (2), all records": _formula_all,
    "formula (2), best records only": _formula_best,
    "threads and share of writes only, best records": _context,
    "latency of each setting, then the least": _latencies,
    "always the most frequent best": _most_frequent,
}
