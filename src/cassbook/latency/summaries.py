"""From samples to statistics: cells, levels and settings (Gorbenko 2020, section IV.A, Tables I and II)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cassbook.consistency import replicas_waited_for
from cassbook.errors import CassbookWarning, InputError
from cassbook.estimate import Estimate
from cassbook.schema import CELLS, LEVEL_STATS, MIXED_STATS, UNKNOWN_OUTCOMES

#: Columns of the cells that stay beside their statistics.
CELL_COLUMNS = [
    "cell_id",
    "kind",
    "engine",
    "deployment",
    "threads",
    "read_cl",
    "write_cl",
    "read_share",
    "block",
    "repeat",
    "marks",
]
#: Operations that write; Cassandra treats inserts and updates alike, as upserts (section II.B).
WRITES = ("UPDATE", "INSERT")
QUANTILES = {"p50_us": 0.50, "p95_us": 0.95, "p99_us": 0.99}
#: From weak to strong, as the tables are ordered.
LEVEL_ORDER = ("ANY", "LOCAL_ONE", "ONE", "TWO", "LOCAL_QUORUM", "QUORUM", "EACH_QUORUM", "THREE", "ALL")

_Mask = NDArray[np.bool_]


def _is(column: pd.Series, *labels: str) -> _Mask:
    """Where a column of labels holds one of them; fast for categories, of which there are few."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        wanted = np.append(column.cat.categories.isin(labels), False)  # code -1, a missing label, takes the last
        return np.asarray(wanted[column.cat.codes.to_numpy()])
    return column.isin(labels).to_numpy()


def _places(samples: pd.DataFrame, cells: pd.DataFrame) -> NDArray[np.int64]:
    """Row of `cells` each sample belongs to, -1 for a cell that is not there."""
    ids = samples["cell_id"].astype("category")
    place = np.append(pd.Index(cells["cell_id"]).get_indexer(ids.cat.categories), -1)
    return np.asarray(place[ids.cat.codes.to_numpy()])


def _checked_cells(samples: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Cells to be summarised, without the warm-ups, or an InputError on what is missing or doubled."""
    needed = {
        "samples": (samples, ["cell_id", "started_s", "operation", "latency_us", "outcome", "phase"]),
        "cells": (cells, list(CELLS)),
    }
    for name, (frame, columns) in needed.items():
        missing = [column for column in columns if column not in frame.columns]
        if missing:
            raise InputError(f"{name}: no column {', '.join(missing)}")
    if cells["cell_id"].duplicated().any():
        raise InputError(f"cells: {cells.loc[cells['cell_id'].duplicated(), 'cell_id'].iloc[0]} stands there twice")
    return cells[cells["kind"] != "warmup"].reset_index(drop=True)


def _moments(latency_us: pd.Series, place: NDArray[np.int64], n_cells: int) -> pd.DataFrame:
    """Per cell, over the successful steady operations: n_ok, mean, sd, cv and quantiles of latency in us."""
    groups = latency_us.groupby(place)
    table = groups.agg(["count", "mean", "std"]).set_axis(["n_ok", "latency_us", "sd_us"], axis=1)
    for name, quantile in QUANTILES.items():
        table[name] = groups.quantile(quantile)
    table = table.reindex(range(n_cells))
    cv_percent = table["sd_us"] / table["latency_us"] * 100
    return table.assign(n_ok=table["n_ok"].fillna(0).astype("int64"), cv_percent=cv_percent)


def cell_statistics(samples: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Statistics of every cell over its steady window.

    Parameters
    ----------
    samples : DataFrame
        Columns `schema.SAMPLES`, one row an operation, any number of cells. Samples of a cell that is not in
        `cells` are ignored: its row is the mark that a cell was completed.
    cells : DataFrame
        Columns `schema.CELLS`. Warm-up cells are left out.

    Returns
    -------
    DataFrame
        One row a cell, in the order of `cells`: `CELL_COLUMNS`; n_ok and n_errors, operations of the steady
        phase by outcome; n_unknown, those writes among the errors that may have taken effect all the same;
        latency_us, read_latency_us, update_latency_us (means), sd_us, cv_percent, p50_us, p95_us and p99_us,
        all of successful steady operations, NaN where there is none; throughput_per_s,
        successful steady operations started in [steady_from_s, steady_to_s) by the length of that window;
        little_ratio, the same throughput but with every outcome, times the mean latency of every outcome, by
        the threads: 1 where the client loses no time between requests (failures hold a thread as well).

    Raises
    ------
    InputError
        For a missing column or a cell given twice.
    """
    cells = _checked_cells(samples, cells)
    n_cells = len(cells)
    place = _places(samples, cells)
    steady = _is(samples["phase"], "steady") & (place >= 0)
    ok = steady & _is(samples["outcome"], "ok")
    latency_us, started_s = samples["latency_us"], samples["started_s"].to_numpy(dtype=float)

    def count(mask: _Mask) -> NDArray[np.int64]:
        return np.bincount(place[mask], minlength=n_cells)

    def mean_us(mask: _Mask) -> pd.Series:
        return latency_us[mask].groupby(place[mask]).mean().reindex(range(n_cells))

    from_s, to_s = (cells[c].to_numpy(dtype=float) for c in ("steady_from_s", "steady_to_s"))
    within = steady.copy()
    at = place[steady]
    within[steady] = (started_s[steady] >= from_s[at]) & (started_s[steady] < to_s[at])
    window_s = np.where(to_s > from_s, to_s - from_s, np.nan)
    all_outcomes_per_s = count(within) / window_s
    return (
        cells[CELL_COLUMNS]
        .join(_moments(latency_us[ok], place[ok], n_cells))
        .assign(
            n_errors=count(steady & ~ok),
            n_unknown=count(steady & _is(samples["outcome"], *UNKNOWN_OUTCOMES) & _is(samples["operation"], *WRITES)),
            read_latency_us=mean_us(ok & _is(samples["operation"], "READ")),
            update_latency_us=mean_us(ok & _is(samples["operation"], *WRITES)),
            throughput_per_s=count(within & ok) / window_s,
            little_ratio=all_outcomes_per_s * mean_us(steady) * 1e-6 / cells["threads"],
        )
    )


def _usable(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Cells that have a latency, all of one engine and deployment; says which are left out."""
    for column in ("engine", "deployment"):
        found = sorted(set(cell_stats[column])) if column in cell_stats.columns else []
        if len(found) > 1:
            raise InputError(f"cells of {', '.join(map(str, found))} cannot be averaged: pick one {column}")
    empty = cell_stats["latency_us"].isna()
    if empty.any():
        ids = ", ".join(cell_stats.loc[empty, "cell_id"].astype(str))
        warnings.warn(f"left out, without a successful steady operation: {ids}", CassbookWarning, stacklevel=3)
    return cell_stats[~empty]


def _over_blocks(cells: pd.DataFrame, keys: list[str], averaged: Iterable[str] = ()) -> pd.DataFrame:
    """Mean latency by `keys` with its interval over blocks; repeats in a block are averaged first."""
    values = ["latency_us", *averaged]
    blocks = cells.groupby([*keys, "block"], as_index=False)[values].mean()
    rows = []
    for key, group in blocks.groupby(keys):
        latency = Estimate.mean(group["latency_us"])
        row = dict(zip(keys, np.atleast_1d(np.asarray(key, dtype=object)), strict=True))
        row |= {"latency_us": latency.value, "latency_low_us": latency.low, "latency_high_us": latency.high}
        rows.append(row | {"blocks": latency.n} | {name: group[name].mean() for name in averaged})
    return pd.DataFrame(rows, columns=[*keys, "latency_us", "latency_low_us", "latency_high_us", "blocks", *averaged])


def _by_level(column: pd.Series) -> pd.Series:
    """Sort key: levels from weak to strong, everything else as it is."""
    if column.name != "level":
        return column
    return column.map({level: place for place, level in enumerate(LEVEL_ORDER)}).fillna(len(LEVEL_ORDER))


def level_stats(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Tables I and II of a run: pure workloads by operation, level and threads.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment. Pure cells of read share 1 count as READ at
        their read level, of read share 0 as WRITE at their write level.

    Returns
    -------
    DataFrame
        Columns `schema.LEVEL_STATS`. The latency is the mean over blocks with Student's t interval (NaN with
        one block); variation and throughput are means over blocks.

    Raises
    ------
    InputError
        For more than one engine or deployment.

    Warns
    -----
    CassbookWarning
        Naming the cells without a successful operation, which are left out.
    """
    pure = cell_stats[(cell_stats["kind"] == "pure") & cell_stats["read_share"].isin([0.0, 1.0])]
    pure = _usable(pure)
    reads = pure["read_share"] == 1.0
    labelled = pure.assign(
        operation=np.where(reads, "READ", "WRITE"), level=pure["read_cl"].where(reads, pure["write_cl"])
    )
    stats = _over_blocks(labelled, ["operation", "level", "threads"], ["cv_percent", "throughput_per_s"])
    return stats.sort_values(["operation", "level", "threads"], key=_by_level, ignore_index=True)[list(LEVEL_STATS)]


def setting_name(read_cl: str, write_cl: str, replication_factor: int = 3) -> str:
    """Name a pair of levels by the replicas they wait for, as section V does.

    Examples
    --------
    >>> setting_name("ONE", "ALL"), setting_name("QUORUM", "ONE")
    ('1R-3W', '2R-1W')
    """
    waits = [replicas_waited_for(level, replication_factor) for level in (read_cl, write_cl)]
    return f"{waits[0]}R-{waits[1]}W"


def mixed_stats(cell_stats: pd.DataFrame, replication_factor: int = 3) -> pd.DataFrame:
    """Measured latency of mixed workloads, what Table V compares Table IV with.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment; its mixed cells are used.
    replication_factor : int
        Names QUORUM and ALL in `setting`.

    Returns
    -------
    DataFrame
        Columns `schema.MIXED_STATS`, one row a (setting, read_share, threads). Every pair of levels is kept,
        also one that is not strong, under the name `setting_name` gives it.

    Raises
    ------
    InputError
        For more than one engine or deployment.

    Warns
    -----
    CassbookWarning
        Naming the cells without a successful operation, which are left out.
    """
    mixed = _usable(cell_stats[cell_stats["kind"] == "mixed"])
    pairs = zip(mixed["read_cl"], mixed["write_cl"], strict=True)
    named = mixed.assign(setting=[setting_name(r, w, replication_factor) for r, w in pairs])
    return _over_blocks(named, ["setting", "read_share", "threads"])[list(MIXED_STATS)]


def slowdowns(level_stats: pd.DataFrame) -> pd.DataFrame:
    """Add what a stronger level costs, in percent of ONE.

    latency_slowdown_percent is (x - ONE) / ONE * 100, throughput_slowdown_percent (ONE - x) / ONE * 100:
    both are positive where the level is worse, 0 for ONE and NaN where ONE was not measured. The paper
    prints 'slowdown, % of ONE' without a formula; its latency columns follow this one, its throughput
    columns mostly (ONE - x) / x.

    Parameters
    ----------
    level_stats : DataFrame
        Columns `schema.LEVEL_STATS`.

    Returns
    -------
    DataFrame
        The same rows and columns, and the two.
    """
    one = level_stats[level_stats["level"] == "ONE"].set_index(["operation", "threads"])
    at = pd.MultiIndex.from_frame(level_stats[["operation", "threads"]])

    def of_one(column: str) -> NDArray[np.float64]:
        return one[column].reindex(at).to_numpy(dtype=float)

    latency_us, throughput_per_s = of_one("latency_us"), of_one("throughput_per_s")
    return level_stats.assign(
        latency_slowdown_percent=(level_stats["latency_us"] - latency_us) / latency_us * 100,
        throughput_slowdown_percent=(throughput_per_s - level_stats["throughput_per_s"]) / throughput_per_s * 100,
    )


def _told_apart(ordered: pd.DataFrame) -> bool | None:
    """Whether no two neighbours of one ranking overlap; None where that cannot be known."""
    low, high = (ordered[c].to_numpy(dtype=float) for c in ("latency_low_us", "latency_high_us"))
    if low.size == 1 or np.isnan(low).any() or np.isnan(high).any():
        return None
    return bool((high[:-1] < low[1:]).all())


def ranking(level_stats: pd.DataFrame) -> pd.DataFrame:
    """Order of the levels by latency, and whether it can be told from noise.

    Parameters
    ----------
    level_stats : DataFrame
        Columns `schema.LEVEL_STATS`.

    Returns
    -------
    DataFrame
        operation, threads, ranking ('ONE < QUORUM < ALL'), distinguishable: True where the 95 % intervals of
        no two neighbours overlap (a cautious test), False where some do, None where an interval is unknown,
        as with one block or a printed table.
    """
    rows = []
    for (operation, threads), group in level_stats.groupby(["operation", "threads"]):
        ordered = group.sort_values("latency_us", kind="stable")
        rows.append((operation, threads, " < ".join(ordered["level"]), _told_apart(ordered)))
    table = pd.DataFrame(rows, columns=["operation", "threads", "ranking", "distinguishable"])
    told = pd.Series([row[-1] for row in rows], dtype=object)
    return table.assign(distinguishable=told)
