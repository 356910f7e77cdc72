"""Predictions held against measurements of mixed workloads (Gorbenko 2020, section VI.B, Table V).

Signs. `deviations` gives (measured - estimated) / measured: positive where a mix is slower than predicted. Table V is
printed without a definition; its numbers and its underlined minima agree with this sign: see `printed_measured`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cassbook import published
from cassbook.core.consistency import STRONG_SETTINGS
from cassbook.core.errors import CassbookWarning, InputError, LackingError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import without_open
from cassbook.latency.mixing import WORKLOAD, best_setting, mixed, surface
from cassbook.latency.summaries import all_marks, mixed_cells

_KEYS = ["setting", *WORKLOAD]


@dataclass(frozen=True, slots=True)
class Share:
    """How often something came true.

    Attributes
    ----------
    right, total : int
        Counts.
    interval : Estimate
        right / total with its binomial bounds. The workloads of one run are not independent of each
        other (neighbours share a curve), so the truth is rather wider.
    """

    right: int
    total: int
    interval: Estimate

    @property
    def share(self) -> float:
        """Part that was right, 0 to 1."""
        return self.interval.value

    @classmethod
    def of(cls, right: int, total: int) -> Share:
        """Make the share of two counts.

        Raises
        ------
        InputError
            If there is nothing to count, or more right than there are.
        """
        if not 0 <= right <= total or total == 0:
            raise InputError(f"{right} right of {total} is no share")
        return cls(right, total, Estimate.share(right, total))


def _pairs(estimated: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Rows in both tables: setting, read_share, threads, estimated_us, measured_us, and marks if measured has them."""
    frames, marks = [], ["marks"] if "marks" in measured else []
    for name, df in (("estimated_us", estimated), ("measured_us", measured)):
        rounded = df.assign(read_share=df["read_share"].astype(float).round(6))
        if rounded.duplicated(_KEYS).any():
            raise InputError(f"{name}: a (setting, read_share, threads) stands twice in the table")
        own = marks if name == "measured_us" else []
        frames.append(rounded[[*_KEYS, "latency_us", *own]].rename(columns={"latency_us": name}))
    pairs = frames[1].merge(frames[0], on=_KEYS, how="inner")
    if pairs.empty:
        raise LackingError("no (setting, read_share, threads) is both estimated and measured")
    lost = len(frames[1]) - len(pairs)
    if lost:
        warnings.warn(f"{lost} measured workloads have no estimate and are left out", CassbookWarning, stacklevel=3)
    return pairs[[*_KEYS, "estimated_us", "measured_us", *marks]]


def deviations(estimated: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """How far the prediction of each mixed workload is from its measurement.

    Parameters
    ----------
    estimated, measured : DataFrame
        Columns setting, read_share, threads, latency_us (others are ignored): `mixing.estimates` or
        `published.mixed_estimates`, and `summaries.mixed_stats` or `printed_measured`.

    Returns
    -------
    DataFrame
        setting, read_share, threads, estimated_us, measured_us, marks (if measured has them) and deviation_percent =
        (measured - estimated) / measured * 100, as in Table V: positive where the workload is slower than predicted.

    Raises
    ------
    InputError
        If no row is in both tables, or one stands twice.

    Warns
    -----
    CassbookWarning
        With the number of measured rows that have no estimate.
    """
    pairs = _pairs(estimated, measured)
    error_us = pairs["measured_us"] - pairs["estimated_us"]
    return pairs.assign(deviation_percent=error_us / pairs["measured_us"] * 100)


def deviations_over_blocks(estimated: pd.DataFrame, cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Give the deviations of estimates from measured mixes with intervals, over blocks.

    Parameters
    ----------
    estimated : DataFrame
        As for `deviations`.
    cell_stats : DataFrame
        From `summaries.cell_statistics`; mixed cells of the strong settings are used.

    Returns
    -------
    DataFrame
        setting, read_share, threads, deviation (`Estimate` of (measured - estimated) / measured in percent),
        distinguishable (whether its interval leaves out 0; None with one block), marks (of the measured cells).
    """
    cells = mixed_cells(cell_stats)
    both = cells.merge(estimated, on=_KEYS, suffixes=("", "_estimated"))
    both["percent"] = (1 - both["latency_us_estimated"] / both["latency_us"]) * 100
    rows = []
    for key, group in both.groupby(_KEYS):
        deviation = Estimate.mean(group.groupby("block")["percent"].mean())
        distinguishable = None if np.isnan(deviation.low) else bool(deviation.low > 0 or deviation.high < 0)
        rows.append((*key, deviation, distinguishable, all_marks(group["marks"])))
    return pd.DataFrame(rows, columns=[*_KEYS, "deviation", "distinguishable", "marks"]).astype(
        {"distinguishable": object}
    )


def block_spread_percent(cell_stats: pd.DataFrame) -> float:
    """Return the typical spread of a cell from block to block: median standard deviation in percent of the mean, all
    cells but those under open arrivals, whose rates differ from block to block.
    """
    cells = without_open(cell_stats)
    groups = cells.groupby(cells["cell_id"].str.partition("-")[2])["latency_us"]
    return float((groups.std(ddof=1) / groups.mean()).median() * 100)


def regret(estimated: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Compute what following the prediction costs against the setting that measured best.

    Parameters
    ----------
    estimated, measured : DataFrame
        As for `deviations`; at each workload only settings in both tables compete.

    Returns
    -------
    DataFrame
        One row per (read_share, threads): chosen (least estimate), measured_best, right (whether they are the
        same) and regret_percent, by how much the chosen setting measured slower than the best, in percent of
        the best.

    Raises
    ------
    InputError
        As `deviations`; also where a workload lacks a setting that another has.
    """
    pairs = _pairs(estimated, measured)
    chosen = best_setting(pairs.rename(columns={"estimated_us": "latency_us"}))
    best = best_setting(pairs.rename(columns={"measured_us": "latency_us"}))
    wide = surface(pairs, "measured_us")
    column = wide.columns.get_indexer(pd.Index(chosen["best"]))
    chosen_us = wide.to_numpy(dtype=float)[np.arange(len(wide)), column]
    best_us = best["best_latency_us"]
    return chosen[WORKLOAD].assign(
        chosen=chosen["best"],
        measured_best=best["best"],
        right=chosen["best"] == best["best"],
        regret_percent=(chosen_us - best_us) / best_us * 100,
    )


def published_choices() -> pd.DataFrame:
    """Least estimate of Table IV next to the underlined cell of Table V, workload by workload.

    The underlines of Table IV are lost in our copy, so its minima are taken from its numbers. The underlined
    header 1R-3W of Table V marks no workload and is not in the CSV.

    Returns
    -------
    DataFrame
        48 rows: read_share, threads, chosen, measured_best, right.

    Raises
    ------
    InputError
        If a workload of Table V has not exactly one underlined cell.
    """
    table5 = published.table("g20_table5")
    marked = table5[table5["underlined"]]
    workloads = len(table5[WORKLOAD].drop_duplicates())
    if marked.duplicated(WORKLOAD).any() or len(marked) != workloads:
        raise InputError("g20_table5: each (read_share, threads) must have one underlined cell")
    chosen = best_setting(published.mixed_estimates())[[*WORKLOAD, "best"]].rename(columns={"best": "chosen"})
    measured = marked[[*WORKLOAD, "setting"]].rename(columns={"setting": "measured_best"})
    choices = chosen.merge(measured, on=WORKLOAD)
    return choices.assign(right=choices["chosen"] == choices["measured_best"])


def published_share_of_right_choices() -> Share:
    """Recompute the paper's 92 %: minima of Table IV against underlined cells of Table V, 48 workloads."""
    right = published_choices()["right"]
    return Share.of(int(right.sum()), int(right.size))


def printed_measured() -> pd.DataFrame:
    """Recover the 'experimentally measured' latencies that Table V implies and the paper does not print.

    Solved from (measured - estimated) / measured = deviation with the estimates of Table IV. That reading of
    Table V is inferred: of the two signs and two denominators, only with these do all 48 minima fall on the
    underlined cells. The rounding of the deviation to 0.1 % leaves each latency uncertain by 0.05 %.

    Returns
    -------
    DataFrame
        setting, read_share, threads, latency_us: 144 rows.
    """
    both = published.mixed_estimates().merge(published.table("g20_table5"), on=_KEYS)
    latency_us = both["latency_us"] / (1 - both["deviation_percent"] / 100)
    return both[_KEYS].assign(latency_us=latency_us)


def mixed_from_pure(level_stats: pd.DataFrame, read_shares: list[float]) -> pd.DataFrame:
    """Mix the measured latencies of pure workloads (eq. 8-10 without a regression).

    For Tables I and II this meets `printed_measured` within its rounding: Table V then holds the residuals
    of the regressions, not a comparison with separate runs of mixed workloads.

    Parameters
    ----------
    level_stats : DataFrame
        Columns `schema.LEVEL_STATS`, with ONE, QUORUM and ALL.
    read_shares : list of float
        Shares of reads, 0 to 1.

    Returns
    -------
    DataFrame
        setting, read_share, threads, latency_us, for the threads at which both halves of a setting were
        measured.

    Raises
    ------
    InputError
        For a share outside 0 to 1, or if no setting has both its halves.
    """
    measured = level_stats.set_index(["operation", "level"])[["threads", "latency_us"]]
    parts = []
    for setting in STRONG_SETTINGS:
        halves = [("READ", setting.read_cl), ("WRITE", setting.write_cl)]
        if not all(half in measured.index for half in halves):
            continue
        reads, writes = (measured.loc[[half]] for half in halves)
        both = reads.merge(writes, on="threads", suffixes=("_read", "_write"))
        for share in read_shares:
            latency_us = mixed(both["latency_us_read"], both["latency_us_write"], share)
            columns = {"setting": setting.name, "read_share": share, "threads": both["threads"]}
            parts.append(pd.DataFrame(columns | {"latency_us": latency_us}))
    if not parts:
        raise LackingError("no strong setting has both its reads and its writes measured")
    return pd.concat(parts, ignore_index=True)
