"""Capacity: the highest rate at which a figure of the response time stays within a bound.

A ladder of fixed rates is measured in each block, each as a cell of its own. (Earlier versions let the settings of a
rate alternate in slices of one open loop; what the slowest did not carry was then sent in the slices of the others, so
that every setting shows the capacity of the group. Such cells are refused.) Cells under open arrivals (kind `open`) are
such a ladder too; where its rates are shares of what the weakest setting carries they differ by block.

In each block the capacity lies between the last rate that keeps the bound and the first that does not, where a line
through both on logarithmic scales crosses the bound; what comes above the first rate that misses it does not count,
even where it meets it again. The figure over blocks is their geometric mean, its interval Student's t on logarithms:
it covers what differs from one cluster start to the next, and not the curvature of latency between two rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import CLIENT_MARKS, OPEN, Mark, marked, of_one_machine, without_aside
from cassbook.latency.percentiles import FIGURES, SHARES, lacking, needed, response_column
from cassbook.latency.slices import rates_in_groups
from cassbook.latency.summaries import check_one_place

#: Share of operations that may lie beyond a bound of the mean, in telling failures: half, as of a median.
_MEAN_SHARE = 0.5
_KEYS = ["workload", "read_share", "read_cl", "write_cl", "threads", "kind"]

FOUND, AT_LEAST, SOME, NONE = "found", "at least", "some", "none"
#: Why a rate keeps no bound.
LATE, FAILED, UNSENT, EMPTY, NOT_CARRIED = "late", "failed", "unsent", "empty", "not carried"
#: Why a curve of open arrivals ends, and why its lowest rate says nothing, where the client could do no more.
CLIENT = "client"
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
    #: Empty where the bound is kept. Otherwise why not: `not carried` (a trial showed it), `unsent` (the rate was not
    #: reached), `failed` (too many requests failed, which count as beyond the bound), `empty` (none was answered),
    #: `late`, or `client`: under open arrivals, where the client is a part of what missed it, or of the trial.
    missed_by: str
    marks: frozenset[str] = frozenset()


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
        The ladder; of open arrivals at shares the rates of all blocks.
    left_out_per_s : tuple of float
        Rates at which some cell has too few operations for the figure (see `percentiles.needed`); of shares the mean
        over blocks.
    marks : str
        Of the cells at rates that keep the bound.
    kind : str
        `open` under open arrivals.
    top_by_block : tuple of float
        The highest rate of each block that says something: where the client limits, the last below that.
    load_shares : tuple of float
        The ladder as shares of what the weakest setting carries, under open arrivals at shares.
    share : Estimate
        The capacity as such a share, taken within blocks; NaN where `per_s` is, or where the ladder has no shares.
    share_by_block : tuple of float
        As `by_block`.
    ended_by : str
        `client` where in some block it is the client that ends the curve; otherwise empty.
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
    kind: str = ""
    top_by_block: tuple[float, ...] = ()
    load_shares: tuple[float, ...] = ()
    share: Estimate = Estimate(np.nan, np.nan, np.nan)  # noqa: RUF009 - frozen
    share_by_block: tuple[float, ...] = ()
    ended_by: str = ""


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
    check_figure(by)
    if not bound_ms > 0:
        raise InputError(f"bound: {bound_ms:g} ms is not above 0")
    cells = usable(at_rates(cell_stats), by, name, slices)
    enough = supported(cells, by, name)
    found = []
    for _, group in cells.groupby(_KEYS):
        kept = group[enough[group.index]]
        left_out = group[~enough[group.index]].groupby("rung")["rate_per_s"].mean()
        if len(kept):
            found.append(_capacity(kept, bound_ms, by, tuple(sorted(map(float, left_out)))))
    return sorted(found, key=lambda one: (one.workload, -np.nan_to_num(one.per_s.value, nan=0.0)))


def check_figure(by: str) -> None:
    """Refuse what is no figure of the response time."""
    if by not in FIGURES:
        raise InputError(f"by: {by!r} is no figure; use {', '.join(FIGURES)}")


def at_rates(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Return the cells at fixed rates or under open arrivals, on a healthy cluster, each with its `rung`.

    A rung is the same place on the ladder in every block: a share of what the weakest setting carries or, of a setting
    that was measured alone, of what it carries itself; otherwise a rate.
    """
    if "rate_per_s" not in cell_stats.columns:
        return cell_stats.iloc[:0]
    cell_stats = of_one_machine(cell_stats)
    healthy = cell_stats["condition"].isin(["", "healthy"])
    cells = without_aside(cell_stats[cell_stats["rate_per_s"].notna() & healthy])
    cells = cells[~marked(cells, Mark.STOPPED)]  # never begun
    nothing = pd.Series(np.nan, cells.index)
    share, own = (cells.get(name, nothing) for name in ("load_share", "own_share"))
    at_shares = share.notna().groupby([cells[key] for key in ("workload", "read_share", "kind")]).transform("any")
    rung = cells["rate_per_s"].map("{:g} a second".format)
    rung = rung.mask(share.isna() & own.notna() & at_shares, own.map("own share {:g}".format))
    return cells.assign(load_share=share, rung=rung.mask(share.notna(), share.map("share {:g}".format)))


def was_stopped(cell_stats: pd.DataFrame) -> bool:
    """Whether some rate was not begun, for the one before it had ended the ladder."""
    return "marks" in cell_stats and bool(marked(cell_stats, Mark.STOPPED).any())


def usable(cells: pd.DataFrame, by: str, name: str, slices: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return those of `at_rates` that have an answer.

    Raises InputError if there are none, all were measured in groups, they are of several deployments, or the statistics
    lack the figure.
    """
    if cells.empty:
        raise InputError(
            f"{name}: no cells at fixed rates; measure a ladder, rates_per_s: {{from: 500, to: 8000, steps: 7}} under "
            "workloads, or shares of capacity, open: {read_shares: [0.5], load_shares: [0.2, 0.4, 0.6, 0.8]}"
        )
    check_one_place(cells)
    if slices is not None:
        cells = cells[~rates_in_groups(cells, slices)]
        if cells.empty:
            raise InputError(f"{name}: its fixed rates give no capacity: {IN_GROUPS}")
    if response_column(by) not in cells.columns:
        raise InputError(f"{name}: its statistics hold no {by}; use one of mean, p50, p95, p99")
    return cells


def _due(cells: pd.DataFrame) -> pd.Series:
    """Return how many requests were due; where that is not counted, how many were sent."""
    sent = cells["n_ok"] + cells["n_errors"]
    return cells["n_due"].fillna(sent) if "n_due" in cells else sent


def supported(cells: pd.DataFrame, by: str, name: str) -> pd.Series:
    """Whether all cells of a setting on a rung have enough operations, cell by cell.

    Raises InputError if none has.
    """
    operations = _due(cells)
    # A rate that was not sent keeps no bound, however few requests of it there are; nor does one that is not carried.
    enough_by_cell = (operations >= needed(by)) | marked(cells, Mark.RATE) | marked(cells, Mark.NOT_CARRIED)
    enough = enough_by_cell.groupby([cells[key] for key in (*_KEYS, "rung")]).transform("all")
    if not enough.any():
        raise InputError(
            f"{name}: {by} {lacking(by, operations.max(), 'its cells have {} at most')}; measure longer or at higher "
            "rates, or take a lower percentile"
        )
    return enough


def _capacity(cells: pd.DataFrame, bound_ms: float, by: str, left_out_per_s: tuple[float, ...]) -> Capacity:
    blocks = [block for _, block in cells.groupby("block")]
    whole = [ladder(block, bound_ms, by) for block in blocks]
    ladders = [_until_the_client(one) for one in whole]
    by_block = tuple(_crossing(one, bound_ms) for one in ladders)
    tops = tuple(one[-1].rate_per_s for one in ladders)
    rates = tuple(float(rate) for rate in np.unique(cells["rate_per_s"]))
    missed = np.isnan(by_block)
    verdict = NONE if missed.all() else SOME if missed.any() else AT_LEAST if np.isinf(by_block).any() else FOUND
    weakest = np.array([weakest_per_s(block) for block in blocks])
    missing = np.unique(cells["block"])[missed]
    nearest, nearest_ms = _nearest(cells[cells["block"].isin(missing)] if len(missing) else cells, response_column(by))
    reasons = {one[0].missed_by for one in ladders} - {""}
    within = cells[cells["rate_per_s"] <= _highest(by_block, rates)]
    marks = sorted({mark for marks in within["marks"] for mark in str(marks).split(";") if mark})
    workload, read_share, read_cl, write_cl, threads, kind = (cells[key].iloc[0] for key in _KEYS)
    limited = kind == OPEN and any(map(_by_client, whole, by_block))
    return Capacity(
        str(workload), float(read_share), str(read_cl), str(write_cl), int(threads), verdict,
        over_blocks(by_block, tops, verdict), by_block, nearest, nearest_ms, ";".join(sorted(reasons)), rates,
        left_out_per_s, ";".join(marks), str(kind), tops,
        tuple(float(share) for share in np.unique(cells["load_share"].dropna())),
        over_blocks(np.array(by_block) / weakest, np.array(tops) / weakest, verdict),
        () if np.isnan(weakest).all() else tuple(map(float, by_block / weakest)), CLIENT if limited else "",
    )  # fmt: skip


def over_blocks(by_block: ArrayLike, tops: ArrayLike, verdict: str) -> Estimate:
    """Return the geometric mean of what was found in each block, or of the top where that is known from below."""
    least = np.minimum(by_block, tops)
    if not np.isfinite(least).all():
        return Estimate(np.nan, np.nan, np.nan, least.size)
    found = Estimate.ratio(least)
    # an interval of what is only known from below would say too much
    return Estimate(found.value, np.nan, np.nan, found.n) if verdict == AT_LEAST else found


def weakest_per_s(cells: pd.DataFrame) -> float:
    """Return what the weakest setting carries, in requests a second, by cells of one block at shares of it; or NaN."""
    return float((cells["rate_per_s"] / cells["load_share"]).median())


def _by_client(rungs: list[Rung], capacity_per_s: float) -> bool:
    """Whether it is the client that ends the ladder of one block, before the bound is missed."""
    if rungs[0].missed_by == CLIENT:
        return True
    ends = rungs[-1].marks & CLIENT_MARKS or any(rung.missed_by == CLIENT for rung in rungs)
    return bool(np.isinf(capacity_per_s) and ends)


def _until_the_client(rungs: list[Rung]) -> list[Rung]:
    """Return the ladder as far as it shows the service: below the first rung that the client is a part of missing."""
    first = next((place for place, rung in enumerate(rungs) if rung.missed_by == CLIENT), len(rungs))
    return rungs[: max(first, 1)]


def _nearest(cells: pd.DataFrame, column: str) -> tuple[float, float]:
    """Return the rate whose figure is the lowest, and that figure in ms; NaN where no cell has one."""
    means = cells.groupby("rung")[["rate_per_s", column]].mean().dropna().sort_values("rate_per_s")
    if means.empty:
        return np.nan, np.nan
    lowest = means.iloc[int(means[column].to_numpy().argmin())]
    return float(lowest["rate_per_s"]), float(lowest[column]) / 1e3


def _highest(by_block: tuple[float, ...], rates: tuple[float, ...]) -> float:
    """Return the highest rate that some block keeps; the lowest of the ladder where none does."""
    return max((min(rate, rates[-1]) for rate in by_block if rate > 0), default=rates[0])


def ladder(block: pd.DataFrame, bound_ms: float, by: str) -> list[Rung]:
    """Rungs of one setting in one block, the lowest rate first; cells of one rate are repeats, and the worse counts.

    `block`: of `at_rates`. `bound_ms`: infinite where there is none.
    """
    share = SHARES.get(by, _MEAN_SHARE)
    rates, figures_ms = block["rate_per_s"].to_numpy(float), block[response_column(by)].to_numpy(float) / 1e3
    due, n_ok = _due(block).to_numpy(float), block["n_ok"].to_numpy(float)
    is_open = (block["kind"] == OPEN).to_numpy()
    own_marks = [frozenset(str(marks).split(";")) - {""} for marks in block["marks"]]
    rungs = []
    for rate in np.unique(rates):
        at = np.flatnonzero(rates == rate)
        marks = frozenset().union(*(own_marks[place] for place in at))
        figure_ms = np.inf if np.isnan(figures_ms[at]).any() else float(figures_ms[at].max())
        reasons = {
            NOT_CARRIED: Mark.NOT_CARRIED in marks,
            UNSENT: Mark.RATE in marks,
            FAILED: bool((due - n_ok > (1 - share) * due)[at].any()),
            EMPTY: figure_ms == np.inf,
            LATE: figure_ms > bound_ms,
        }
        missed_by = next((reason for reason, holds in reasons.items() if holds), "")
        if missed_by and is_open[at].any() and marks & CLIENT_MARKS:
            missed_by = CLIENT  # it only adds to a response time: what keeps a bound in spite of it keeps it
        rungs.append(Rung(float(rate), figure_ms, missed_by, marks))
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
