"""Order of levels and settings by latency, and which neighbours in it differ significantly."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from cassbook.latency import uncertainty
from cassbook.latency.summaries import mixed_cells, pure_cells

_Names = tuple[str, ...]
#: Whether each differs from the next; None where unknown.
_Differ = tuple[bool, ...] | None
_COLUMNS = ["ranking", "differ", "distinguishable", "p_value"]


def levels(level_stats: pd.DataFrame, cell_stats: pd.DataFrame | None = None) -> pd.DataFrame:
    """Order of the levels of pure workloads by latency, and whether it is distinguishable from noise.

    Parameters
    ----------
    level_stats : DataFrame
        Columns `schema.LEVEL_STATS`.
    cell_stats : DataFrame, optional
        From `cell_statistics`: the cells behind them.

    Returns
    -------
    DataFrame
        operation, threads, ranking (tuple of levels, the fastest first), differ (tuple: whether each differs from the
        next; None where unknown), distinguishable, p_value.

        With cells, neighbours in the order are compared within blocks, where what a cluster start does to all
        levels cancels out: Student's t of the paired differences of log latency over blocks, two-sided, p-values
        adjusted for the number of neighbours (Holm 1979). distinguishable is True where all neighbours differ
        at 5 %, False where some do not, None with fewer than two blocks in common; p_value is the largest adjusted.

        Without cells, distinguishable is True where the 95 % intervals of no two neighbours overlap (a cautious
        test), False where some do, None where an interval is unknown, as in a printed table; p_value is NaN.
    """
    cells = None if cell_stats is None else pure_cells(cell_stats)
    return _ranked(level_stats, cells, ["operation", "threads"], "level")


def settings(mixed_stats: pd.DataFrame, cell_stats: pd.DataFrame | None = None) -> pd.DataFrame:
    """Order of the settings of mixed workloads by latency, and whether it is distinguishable from noise.

    Parameters
    ----------
    mixed_stats : DataFrame
        Columns `schema.MIXED_STATS`.
    cell_stats : DataFrame, optional
        From `cell_statistics`: the cells behind them.

    Returns
    -------
    DataFrame
        read_share, threads, ranking (of settings), differ, distinguishable, p_value; as `levels`.
    """
    cells = None if cell_stats is None else mixed_cells(cell_stats)
    return _ranked(mixed_stats, cells, ["read_share", "threads"], "setting")


def overall(cell_stats: pd.DataFrame, of: str) -> pd.DataFrame:
    """Order of levels or settings over all thread counts together.

    One figure per block: the mean over thread counts of the logarithm of latency, where all were measured. Neighbours
    are compared within blocks, as in `levels`. Many thread counts even out what a single cell owes to chance.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`.
    of : str
        'level' (pure workloads, by operation) or 'setting' (mixed ones, by read_share).

    Returns
    -------
    DataFrame
        operation or read_share, thread_counts (how many), ranking, differ, distinguishable, p_value; as `levels`.
    """
    cells, key = (pure_cells(cell_stats), "operation") if of == "level" else (mixed_cells(cell_stats), "read_share")
    means = cells.groupby([key, "threads", "block", of])["latency_us"].mean()
    table = np.log(means).unstack(of).dropna()  # noqa: PD010 - one index level becomes the columns
    rows = [(value, group.index.unique("threads").size, *_order(group)) for value, group in table.groupby(level=key)]
    orders = pd.DataFrame(rows, columns=[key, "thread_counts", *_COLUMNS])
    return orders.assign(distinguishable=pd.Series([row[-2] for row in rows], dtype=object))


def _order(logs: pd.DataFrame) -> tuple[_Names, _Differ, bool | None, float]:
    """Return what `_COLUMNS` names, of logarithms of latency with the blocks in their index and a column per label."""
    by_block = logs.groupby(level="block").mean()
    names = by_block.mean().sort_values(kind="stable").index.tolist()
    differ, p_value = _paired(names, by_block)
    return tuple(names), differ, all(differ) if differ else None, p_value


def of_cells(cells: pd.DataFrame, keys: list[str], loads: list[str]) -> pd.DataFrame:
    """Order of the levels, or pairs of levels, of any cells by mean latency.

    `cells`: from `labels.labelled`. `keys`: what makes cells comparable. `loads`: what is averaged over, as in
    `overall`, where all levels of `keys` were measured.

    Columns: keys, loads (how many), ranking, differ, distinguishable, p_value; as `levels`. One row for each group of
    two levels or more.
    """
    rows = []
    for key, group in cells.groupby(keys, sort=False):
        logs = np.log(group.groupby([*loads, "block", "level"])["latency_us"].mean())
        table = logs.unstack("level").dropna()  # noqa: PD010 - one index level becomes the columns
        if len(table) and len(table.columns) > 1:
            n_loads = len(table.reset_index()[loads].drop_duplicates()) if loads else 1
            rows.append((*key, n_loads, *_order(table)))
    orders = pd.DataFrame(rows, columns=[*keys, "loads", *_COLUMNS])
    return orders.assign(distinguishable=pd.Series([row[-2] for row in rows], dtype=object))


def _ranked(stats: pd.DataFrame, cells: pd.DataFrame | None, keys: list[str], label: str) -> pd.DataFrame:
    """Rank the labels by mean latency, each group of `keys` for itself."""
    logs: dict[object, pd.DataFrame] = {}
    if cells is not None:
        means = cells.groupby([*keys, "block", label])["latency_us"].mean()
        table = np.log(means).unstack(label)  # noqa: PD010 - one index level becomes the columns
        logs = {key: group for key, group in table.groupby(keys)}
    rows = []
    for key, group in stats.groupby(keys):
        ordered = group.sort_values("latency_us", kind="stable")
        names = ordered[label].tolist()
        differ, p_value = _overlap(ordered) if cells is None else _paired(names, logs[key])
        rows.append((*key, tuple(names), differ, all(differ) if differ else None, p_value))
    ranked = pd.DataFrame(rows, columns=[*keys, *_COLUMNS])
    return ranked.assign(distinguishable=pd.Series([row[-2] for row in rows], dtype=object))


def _overlap(ordered: pd.DataFrame) -> tuple[_Differ, float]:
    """Which neighbours of one ranking do not overlap; None where that cannot be known."""
    low, high = ordered.reindex(columns=["latency_low_us", "latency_high_us"]).to_numpy(dtype=float).T
    if low.size == 1 or np.isnan(low).any() or np.isnan(high).any():
        return None, np.nan
    return tuple(bool(apart) for apart in high[:-1] < low[1:]), np.nan


def _paired(order: list[str], logs: pd.DataFrame) -> tuple[_Differ, float]:
    """Which neighbours differ within blocks, and the largest adjusted p-value.

    `logs` has one row per block, one column per label: logarithms of latency.
    """
    pairs = itertools.pairwise(order)
    p_values = [uncertainty.paired_p((logs[b] - logs[a]).dropna().to_numpy(dtype=float)) for a, b in pairs]
    if not p_values or np.isnan(p_values).any():
        return None, np.nan
    adjusted = uncertainty.holm(p_values)
    return tuple(bool(apart) for apart in adjusted < 1 - uncertainty.LEVEL), float(adjusted.max())
