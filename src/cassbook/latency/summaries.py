"""From cells to levels and settings (Gorbenko 2020, section IV.A, Tables I and II)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import pandas as pd

from cassbook.core.consistency import replicas_waited_for, setting_waiting_for
from cassbook.core.errors import CassbookWarning, InputError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import CLIENT_MARKS, LEVEL_STATS, MIXED_STATS, marked, of_one_machine
from cassbook.core.types import Floats
from cassbook.latency import uncertainty
from cassbook.latency.cells import CELL_COLUMNS, QUANTILES, WRITES, cell_statistics

__all__ = [
    "CELL_COLUMNS",
    "QUANTILES",
    "WRITES",
    "cell_statistics",
    "estimates",
    "level_quantiles",
    "level_stats",
    "mixed_cells",
    "mixed_stats",
    "pure_cells",
    "setting_name",
    "slowdowns",
]

#: From weak to strong, as the tables are ordered.
LEVEL_ORDER = ("ANY", "LOCAL_ONE", "ONE", "TWO", "LOCAL_QUORUM", "QUORUM", "EACH_QUORUM", "THREE", "ALL")


#: What works where cells are of several.
_ONE = {
    "engine": "pick one engine",
    "deployment": "pick one deployment. `cassbook show` has each apart; `cassbook deploy DEPLOYMENT` predicts one; a "
    "run whose profile has one deployment can be averaged; in Python, choose rows of `statistics`",
}


def check_one_place(cell_stats: pd.DataFrame) -> None:
    """Raise InputError where cells are of several engines or deployments, saying what would work."""
    for column, instead in _ONE.items():
        kinds = sorted(set(cell_stats[column])) if column in cell_stats.columns else []
        if len(kinds) > 1:
            raise InputError(f"cells of {', '.join(map(str, kinds))} cannot be averaged: {instead}")


def _usable(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Cells that have a latency, all of one engine and deployment; says which are left out."""
    check_one_place(cell_stats)
    empty = cell_stats["latency_us"].isna()
    if empty.any():
        ids = ", ".join(cell_stats.loc[empty, "cell_id"].astype(str))
        warnings.warn(f"left out, without a successful steady operation: {ids}", CassbookWarning, stacklevel=3)
    return cell_stats[~empty]


def _over_blocks(cells: pd.DataFrame, keys: list[str], averaged: Iterable[str] = ()) -> pd.DataFrame:
    """Mean latency by `keys` with its interval over blocks; repeats in a block are averaged first."""
    values = ["latency_us", *averaged]
    blocks = of_one_machine(cells, keys).groupby([*keys, "block"], as_index=False)[values].mean()
    rows = []
    for key, group in blocks.groupby(keys):
        latency = Estimate.positive(group["latency_us"])
        row = dict(zip(keys, np.atleast_1d(np.asarray(key, dtype=object)), strict=True))
        row |= {"latency_us": latency.value, "latency_low_us": latency.low, "latency_high_us": latency.high}
        rows.append(row | {"blocks": latency.n} | {name: group[name].mean() for name in averaged})
    columns = [*keys, "latency_us", "latency_low_us", "latency_high_us", "blocks", *averaged]
    table = pd.DataFrame(rows, columns=columns)
    marks = cells.groupby(keys)["marks"].agg(all_marks).rename("marks").reset_index()
    return table.merge(marks, on=keys, how="left") if rows else table.assign(marks=pd.Series(dtype=str))


def all_marks(marks: pd.Series) -> str:
    """Marks of several cells as those of one."""
    return ";".join(sorted({mark for cell in marks for mark in cell.split(";") if mark}))


def client_marked(stats: pd.DataFrame) -> pd.Series:
    """Rows of `level_stats` or `mixed_stats` that the client is a part of (see `schema.CLIENT_MARKS`)."""
    return marked(stats, *CLIENT_MARKS)


def _by_level(column: pd.Series) -> pd.Series:
    """Sort key: levels from weak to strong, everything else as it is."""
    if column.name != "level":
        return column
    return column.map({level: place for place, level in enumerate(LEVEL_ORDER)}).fillna(len(LEVEL_ORDER))


def pure_cells(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Pure cells that have a latency, with what they are cells of: operation (READ or WRITE) and level."""
    pure = _usable(cell_stats[(cell_stats["kind"] == "pure") & cell_stats["read_share"].isin([0.0, 1.0])])
    reads = pure["read_share"] == 1.0
    return pure.assign(operation=np.where(reads, "READ", "WRITE"), level=pure["read_cl"].where(reads, pure["write_cl"]))


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
    stats = _over_blocks(pure_cells(cell_stats), ["operation", "level", "threads"], ["cv_percent", "throughput_per_s"])
    return stats.sort_values(["operation", "level", "threads"], key=_by_level, ignore_index=True)[list(LEVEL_STATS)]


def estimates(cells: pd.DataFrame, keys: list[str], columns: Iterable[str]) -> pd.DataFrame:
    """Figures of cells by `keys`, each with its interval and what that rests on.

    Parameters
    ----------
    cells : DataFrame
        From `cell_statistics`, with the columns `keys`.
    keys : list of str
        What makes cells repeats of each other, but for block and repeat.
    columns : iterable of str
        Figures wanted, of which `cell_statistics` gives bounds within the cell: latency_us, p99_us,
        throughput_per_s and so on.

    Returns
    -------
    DataFrame
        One row per (keys, column): keys, figure (the column's name), value, low, high, blocks, interval. Repeats in a
        block are averaged, then blocks by their geometric mean. interval is 'blocks' where low and high are Student's t
        over blocks, on logarithms; 'one cluster start' where there is one block with one cell, and they are that cell's
        own: they say nothing of what another start would give; empty where there is no interval.
    """
    columns, cells = list(columns), of_one_machine(cells, keys)
    means = cells.groupby([*keys, "block"], sort=False)[columns].mean()
    by_key = {key: group for key, group in means.groupby(level=keys, sort=False)}
    rows = []
    for key, group in cells.groupby(keys, sort=False):
        for column in columns:
            by_block = by_key[key][column].to_numpy(dtype=float)
            by_block = by_block[~np.isnan(by_block)]
            if by_block.size == 0:
                continue
            sides = [bound(column, side) for side in ("low", "high")]
            alone = len(group) == 1 and set(sides) <= set(group.columns)  # sums of other tools have no bounds
            bounds = tuple(group[side].iloc[0] for side in sides) if alone else (np.nan, np.nan)
            estimate, basis = uncertainty.over_blocks(by_block, *bounds)
            rows.append((*key, column, estimate.value, estimate.low, estimate.high, estimate.n, basis))
    return pd.DataFrame(rows, columns=[*keys, "figure", "value", "low", "high", "blocks", "interval"])


def bound(column: str, side: str) -> str:
    """Name of a figure's bound: p99_low_us for p99_us, throughput_low_per_s for throughput_per_s."""
    name, unit = (column.removesuffix("_per_s"), "per_s") if column.endswith("_per_s") else (column[:-3], "us")
    return f"{name}_{side}_{unit}"


def level_quantiles(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Mean and quantiles of latency by operation, level and threads, pure workloads.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment.

    Returns
    -------
    DataFrame
        operation, level, threads, figure ('mean', 'p50', 'p95', 'p99'), latency_us (mean over blocks of each block's
        figure), latency_low_us, latency_high_us, blocks, interval (see `estimates`).

    Raises
    ------
    InputError
        For more than one engine or deployment.
    """
    keys = ["operation", "level", "threads"]
    table = estimates(pure_cells(cell_stats), keys, ["latency_us", *(f"{name}_us" for name in QUANTILES)])
    table = table.assign(figure=table["figure"].str.removesuffix("_us").replace("latency", "mean"))
    table = table.rename(columns={"value": "latency_us", "low": "latency_low_us", "high": "latency_high_us"})
    return table.sort_values([*keys, "figure"], key=_by_level, ignore_index=True)


def setting_name(read_cl: str, write_cl: str, replication_factor: int = 3) -> str:
    """Name a pair of levels by the replicas they wait for, as section V does.

    Examples
    --------
    >>> setting_name("ONE", "ALL"), setting_name("QUORUM", "ONE")
    ('1R-3W', '2R-1W')
    """
    return setting_waiting_for(*(replicas_waited_for(level, replication_factor) for level in (read_cl, write_cl)))


def mixed_cells(cell_stats: pd.DataFrame, replication_factor: int = 3) -> pd.DataFrame:
    """Mixed cells that have a latency, with the name of their setting."""
    mixed = _usable(cell_stats[cell_stats["kind"] == "mixed"])
    pairs = zip(mixed["read_cl"], mixed["write_cl"], strict=True)
    return mixed.assign(setting=[setting_name(r, w, replication_factor) for r, w in pairs])


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
        Columns `schema.MIXED_STATS`, one row per (setting, read_share, threads). Every pair of levels is kept,
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
    return _over_blocks(mixed_cells(cell_stats, replication_factor), ["setting", "read_share", "threads"])[
        list(MIXED_STATS)
    ]


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

    def of_one(column: str) -> Floats:
        return one[column].reindex(at).to_numpy(dtype=float)

    latency_us, throughput_per_s = of_one("latency_us"), of_one("throughput_per_s")
    return level_stats.assign(
        latency_slowdown_percent=(level_stats["latency_us"] - latency_us) / latency_us * 100,
        throughput_slowdown_percent=(throughput_per_s - level_stats["throughput_per_s"]) / throughput_per_s * 100,
    )
