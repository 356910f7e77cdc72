"""Settings that wait for more replicas than strong consistency needs, against the paper's three that they contain."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from cassbook.core.consistency import STRONG_SETTINGS, WIDER_SETTINGS
from cassbook.core.estimate import Estimate
from cassbook.latency import uncertainty
from cassbook.latency.mixing import WORKLOAD
from cassbook.latency.summaries import mixed_cells

_REPLICAS = 3


def against_contained(cell_stats: pd.DataFrame, figure: str = "latency_us") -> pd.DataFrame:
    """Compare each wider setting with those it contains: more replicas on one side, no fewer on the other.

    Parameters
    ----------
    cell_stats : DataFrame
        From `summaries.cell_statistics`; mixed cells are used.
    figure : str
        What is compared: the mean, or a percentile (see `percentiles.COLUMNS`).

    Returns
    -------
    DataFrame
        Index (wider, instead of); ratio (`Estimate`: figure of the wider by that of the other, geometric mean over
        workloads, over blocks), faster (in how many workloads it is lower on average), distinguishably_faster
        (in how many of those that holds at 5 %, paired within blocks), workloads.
    """
    table = mixed_cells(cell_stats).pivot_table(figure, ["block", *WORKLOAD], "setting")
    waits = {s.name: s.waits(_REPLICAS) for s in (*STRONG_SETTINGS, *WIDER_SETTINGS)}
    rows = {}
    for more, less in product(WIDER_SETTINGS, STRONG_SETTINGS):
        more_waits, less_waits = waits[more.name], waits[less.name]
        if not all(a >= b for a, b in zip(more_waits, less_waits, strict=True)) or more.name not in table:
            continue
        logs = pd.Series(np.log(table[more.name] / table[less.name])).dropna()
        ratio = Estimate.ratio(np.exp(logs.groupby("block").mean()))
        by_workload = logs.groupby(WORKLOAD)
        faster = by_workload.mean() < 0
        distinguishable = by_workload.agg(lambda d: uncertainty.paired_p(d.to_numpy())) < 1 - uncertainty.LEVEL
        rows[more.name, less.name] = (ratio, int(faster.sum()), int((faster & distinguishable).sum()), len(faster))
    index = pd.MultiIndex.from_tuples(list(rows), names=["wider", "instead of"])
    return pd.DataFrame(
        list(rows.values()), index=index, columns=["ratio", "faster", "distinguishably_faster", "workloads"]
    )


def times_best(cell_stats: pd.DataFrame, figure: str = "latency_us") -> tuple[int, int]:
    """Count the workloads in which a wider setting is, on average, the fastest of all six, and all workloads."""
    means = mixed_cells(cell_stats).pivot_table(figure, WORKLOAD, "setting").dropna()
    names = {setting.name for setting in WIDER_SETTINGS}
    return int(means.idxmin(axis=1).isin(names).sum()), len(means)
