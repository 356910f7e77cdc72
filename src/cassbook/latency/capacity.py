"""Capacity: the highest rate at which a figure of the response time stays within a bound.

A ladder of fixed rates is measured in each block, each as a cell of its own. (Earlier versions let the settings of a
rate alternate in slices of one open loop; what the slowest did not carry was then sent in the slices of the others, so
that every setting shows the capacity of the group. Such cells are refused.) In each block the capacity lies between
the last rate that keeps the bound and the first that does not, where a line through both on logarithmic scales crosses
the bound; what comes above the first rate that misses it does not count, even where it meets it again. The figure over
blocks is their geometric mean, its interval Student's t on logarithms: it covers what differs from one cluster start to
the next, and not the curvature of latency between two rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import Mark, without_aside
from cassbook.latency.percentiles import FIGURES, SHARES, lacking, needed, response_column
from cassbook.latency.slices import rates_in_groups

#: Share of operations that may lie beyond a bound of the mean, in telling failures: half, as of a median.
_MEAN_SHARE = 0.5
_KEYS = ["workload", "read_share", "read_cl", "write_cl", "threads"]

FOUND, AT_LEAST, SOME, NONE = "found", "at least", "some", "none"
#: Why a rate keeps no bound.
LATE, FAILED, UNSENT, EMPTY = "late", "failed", "unsent", "empty"
#: Why rates that were measured in groups have no answer, and what would.
IN_GROUPS = (
    "an earlier cassbook measured the settings of each rate together, in slices of one load, so that each shows what "
    "the group carries; measure again: each is measured by itself now (an earlier cassbook needs design: sequential)"
)


@dataclass(frozen=True, slots=True)
class Rung:
    """One cell of a ladder."""

    rate_per_s: float  # that was asked for
    figure_ms: float  # of the response time, from the intended start on
    #: Empty where the bound is kept. Otherwise why not: `unsent` (the rate was not reached), `failed` (too many
    #: requests failed, which count as beyond the bound), `empty` (none was answered) or `late`.
    missed_by: str


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a ladder says of one setting.

    Attributes
    ----------
    workload : str
        Empty for reads and updates of YCSB's table.
    read_share : float
    read_cl, write_cl : str
    threads : int
        Requests that may be in flight.
    verdict : str
        `found`: the bound lies within the ladder in every block. `at least`: in some block every rate keeps it, so that
        the capacity is higher, and in none the lowest rate misses it. `some`: the lowest rate misses it in some blocks
        and not in others. `none`: the lowest rate misses it in every block, so that the capacity is lower, if there is
        one.
    per_s : Estimate
        Requests a second, over blocks; NaN where the verdict is `some` or `none`.
    by_block : tuple of float
        Capacity in each block: NaN where no rate keeps the bound, infinite where all do.
    nearest_per_s, nearest_ms : float
        The rate whose figure is the lowest, and that figure: means over the blocks in which no rate keeps the bound, or
        over all blocks where there are none such.
    missed_by : str
        Why the lowest rate misses the bound where it does (see `Rung`), several joined by ';'.
    rates_per_s : tuple of float
        The ladder.
    left_out_per_s : tuple of float
        Rates at which some cell has too few operations for the figure (see `percentiles.needed`).
    marks : str
        Of the cells at rates that keep the bound.
    """

    workload: str
    read_share: float
    read_cl: str
    write_cl: str
    threads: int
    verdict: str
    per_s: Estimate
    by_block: tuple[float, ...]
    nearest_per_s: float
    nearest_ms: float
    missed_by: str
    rates_per_s: tuple[float, ...]
    left_out_per_s: tuple[float, ...]
    marks: str


def capacities(
    cell_stats: pd.DataFrame,
    bound_ms: float,
    by: str = "p99",
    name: str = "run",
    slices: pd.DataFrame | None = None,
) -> list[Capacity]:
    """Estimate at which rate a figure of the response time crosses a bound, for each setting of a run.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`; its cells at fixed rates on a healthy cluster are used. For p99.9 with
        `percentiles.with_tails`.
    bound_ms : float
    by : str
        One of `percentiles.FIGURES`.
    name : str
        Of the run, for messages.
    slices : DataFrame, optional
        The run's slices: cells at fixed rates that have some were measured in groups and are left out.

    Returns
    -------
    list of Capacity
        In order of workload, then of capacity, the highest first.

    Raises
    ------
    InputError
        If there are no such cells, all were measured in groups, or there are too few operations for the figure.
    """
    if by not in FIGURES:
        raise InputError(f"by: {by!r} is no figure; use {', '.join(FIGURES)}")
    if not bound_ms > 0:
        raise InputError(f"bound: {bound_ms:g} ms is not above 0")
    cells = _paced(cell_stats)
    if cells.empty:
        raise InputError(
            f"{name}: no cells at fixed rates; measure a ladder, rates_per_s: {{from: 500, to: 8000, steps: 7}} under "
            "workloads"
        )
    if slices is not None:
        cells = cells[~rates_in_groups(cells, slices)]
        if cells.empty:
            raise InputError(f"{name}: its fixed rates give no capacity: {IN_GROUPS}")
    if response_column(by) not in cells.columns:
        raise InputError(f"{name}: its statistics hold no {by}; use one of mean, p50, p95, p99")
    enough = _supported(cells, by, name)
    found = []
    for _, group in cells.groupby(_KEYS):
        kept = group[enough[group.index]]
        left_out = tuple(map(float, np.unique(group.loc[~enough[group.index], "rate_per_s"])))
        if len(kept):
            found.append(_capacity(kept, bound_ms, by, left_out))
    return sorted(found, key=lambda one: (one.workload, -np.nan_to_num(one.per_s.value, nan=0.0)))


def _paced(cell_stats: pd.DataFrame) -> pd.DataFrame:
    if "rate_per_s" not in cell_stats.columns:
        return cell_stats.iloc[:0]
    healthy = cell_stats["condition"].isin(["", "healthy"])
    return without_aside(cell_stats[cell_stats["rate_per_s"].notna() & healthy])


def _supported(cells: pd.DataFrame, by: str, name: str) -> pd.Series:
    """Whether all cells of a setting at a rate have enough operations, cell by cell."""
    operations = cells["n_ok"] + cells["n_errors"]
    # A rate that was not sent keeps no bound, however few requests of it there are.
    usable = (operations >= needed(by)) | _not_sent(cells)
    enough = usable.groupby([cells[key] for key in (*_KEYS, "rate_per_s")]).transform("all")
    if not enough.any():
        raise InputError(
            f"{name}: {by} {lacking(by, operations.max(), 'its cells have {} at most')}; measure longer or at higher "
            "rates, or take a lower percentile"
        )
    return enough


def _capacity(cells: pd.DataFrame, bound_ms: float, by: str, left_out_per_s: tuple[float, ...]) -> Capacity:
    ladders = [_ladder(block, bound_ms, by) for _, block in cells.groupby("block")]
    by_block = tuple(_crossing(ladder, bound_ms) for ladder in ladders)
    rates = tuple(float(rate) for rate in np.unique(cells["rate_per_s"]))
    missed = np.isnan(by_block)
    verdict = NONE if missed.all() else SOME if missed.any() else AT_LEAST if np.isinf(by_block).any() else FOUND
    per_s = Estimate(np.nan, np.nan, np.nan, len(by_block))
    if not missed.any():
        per_s = Estimate.ratio(np.minimum(by_block, [ladder[-1].rate_per_s for ladder in ladders]))
    if verdict == AT_LEAST:  # an interval of what is only known from below would say too much
        per_s = Estimate(per_s.value, np.nan, np.nan, per_s.n)
    missing = np.unique(cells["block"])[missed]
    nearest, nearest_ms = _nearest(cells[cells["block"].isin(missing)] if len(missing) else cells, response_column(by))
    reasons = {ladder[0].missed_by for ladder in ladders} - {""}
    within = cells[cells["rate_per_s"] <= _highest(by_block, rates)]
    marks = sorted({mark for marks in within["marks"] for mark in str(marks).split(";") if mark})
    workload, read_share, read_cl, write_cl, threads = (cells[key].iloc[0] for key in _KEYS)
    return Capacity(
        str(workload), float(read_share), str(read_cl), str(write_cl), int(threads), verdict, per_s, by_block,
        nearest, nearest_ms, ";".join(sorted(reasons)), rates, left_out_per_s, ";".join(marks),
    )  # fmt: skip


def _nearest(cells: pd.DataFrame, column: str) -> tuple[float, float]:
    """Return the rate whose figure is the lowest, and that figure in ms; NaN where no cell has one."""
    means_ms = cells.groupby("rate_per_s")[column].mean().dropna() / 1e3
    place = int(means_ms.to_numpy().argmin()) if len(means_ms) else None
    return (np.nan, np.nan) if place is None else (float(means_ms.index[place]), float(means_ms.iloc[place]))


def _highest(by_block: tuple[float, ...], rates: tuple[float, ...]) -> float:
    """Return the highest rate that some block keeps; the lowest of the ladder where none does."""
    return max((min(rate, rates[-1]) for rate in by_block if rate > 0), default=rates[0])


def _not_sent(cells: pd.DataFrame) -> pd.Series:
    """Cells in which the rate was not reached."""
    return cells["marks"].map(lambda marks: Mark.RATE in str(marks).split(";")).astype(bool)


def _ladder(block: pd.DataFrame, bound_ms: float, by: str) -> list[Rung]:
    """Rungs of one block, the lowest rate first; cells of the same rate are repeats, and the worse one counts."""
    column, share = response_column(by), SHARES.get(by, _MEAN_SHARE)
    rungs = []
    for rate in np.unique(block["rate_per_s"]):
        cells = block[block["rate_per_s"] == rate]
        figure_ms = float(cells[column].max()) / 1e3 if cells[column].notna().all() else np.inf
        operations = cells["n_ok"] + cells["n_errors"]
        reasons = {
            UNSENT: bool(_not_sent(cells).any()),
            FAILED: bool((cells["n_errors"] > (1 - share) * operations).any()),
            EMPTY: figure_ms == np.inf,
            LATE: figure_ms > bound_ms,
        }
        rungs.append(Rung(float(rate), figure_ms, next((reason for reason, holds in reasons.items() if holds), "")))
    return rungs


def _crossing(ladder: list[Rung], bound_ms: float) -> float:
    """Return the capacity of one block: NaN where the lowest rate misses the bound, infinite where all keep it."""
    if ladder[0].missed_by:
        return float("nan")
    for last, first in pairwise(ladder):
        if not first.missed_by:
            continue
        if not bound_ms < first.figure_ms < np.inf:  # it was not sent, or failed: no figure to draw a line to
            return last.rate_per_s
        rise = np.log(first.figure_ms / last.figure_ms)
        part = np.log(bound_ms / last.figure_ms) / rise
        return float(last.rate_per_s * (first.rate_per_s / last.rate_per_s) ** part)
    return float("inf")
