"""What a level costs: the ratio of its latency to a base level's, within slice rounds, then blocks, then over blocks.

Levels that alternated (`design: interleaved`) meet the same machine within a second or two of each other; in each round
of slices the logarithm of their ratio is taken, and its mean over rounds is the block's. Levels that were measured one
after the other, minutes apart, have one ratio per block. Either way a block is one independent observation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.core.schema import without_open
from cassbook.latency.labels import labelled

#: What makes levels comparable, but for the block.
KEYS = ["engine", "deployment", "kind", "workload", "condition", "operation", "threads", "rate_per_s"]
#: Levels that others are compared with, the first that was measured: pure operations, then pairs of levels.
BASES = ("ONE", "LOCAL_ONE", "QUORUM/QUORUM", "LOCAL_QUORUM/LOCAL_QUORUM")
#: The round of a level that was measured alone.
ALONE = -1
#: Figures of a slice, and of a cell that was measured alone.
FIGURES = ("latency_us", "p50_us", "p95_us", "p99_us", "throughput_per_s")


def block_ratios(
    statistics: pd.DataFrame, slices: pd.DataFrame, figure: str = "latency_us", bases: Sequence[str] = BASES
) -> pd.DataFrame:
    """Ratios of levels to their base, block by block.

    `statistics`: from `cells.cell_statistics`. `slices`: columns `slices.COLUMNS`; without a row for cells that were
    measured alone. `figure`: one of `FIGURES`, or another of the cells, which is compared by cell and not by round.
    `bases`: levels by preference.

    Columns: `KEYS`, block, level, base, log_ratio (natural logarithm), rounds (how many it is the mean of; 0 for a
    cell that was measured alone), round_sd (standard deviation of the logarithm over rounds; NaN where there are none).
    Cells without a base in their block have no row, nor have those under open arrivals (see `open_results`).
    """
    cells = labelled(without_open(statistics))
    cells = cells[[*KEYS, "block", "cell_id", "level", figure]]
    return ratios_of_rounds(_by_round(cells, slices, figure), figure, bases)


def ratios_of_rounds(values: pd.DataFrame, figure: str = "latency_us", bases: Sequence[str] = BASES) -> pd.DataFrame:
    """Ratios of levels to their base, block by block, from figures by round.

    `values`: `KEYS`, block, level, round (`ALONE` for a level that was measured alone), and the figure. `bases`: levels
    by preference.

    The same columns as `block_ratios`.
    """
    block = [*KEYS, "block"]
    logs = values.assign(log=np.log(values[figure])).groupby([*block, "round", "level"], sort=False)["log"].mean()
    cells = logs.reset_index()
    rank = cells["level"].map({name: place for place, name in enumerate(bases)})
    cells["base"] = (
        rank.groupby([cells[name] for name in block], sort=False).transform("min").map(dict(enumerate(bases)))
    )
    is_base = cells["level"] == cells["base"]
    base = cells.loc[is_base, [*block, "round", "log"]]
    pairs = cells[~is_base].merge(base, on=[*block, "round"], suffixes=("", "_base"))
    pairs["log_ratio"] = (pairs["log"] - pairs["log_base"]).replace([np.inf, -np.inf], np.nan)
    by_block = pairs.dropna(subset="log_ratio").groupby([*block, "level", "base"], sort=False)
    ratios = by_block.agg(
        log_ratio=("log_ratio", "mean"), rounds=("round", "size"), round_sd=("log_ratio", "std"), first=("round", "min")
    ).reset_index()
    ratios["rounds"] = ratios["rounds"].mask(ratios["first"] == ALONE, 0)
    return ratios.drop(columns="first")


def _by_round(cells: pd.DataFrame, slices: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Return a figure of each cell by round; a cell that was measured alone has one, `ALONE`."""
    if figure not in slices.columns:
        return cells.assign(round=ALONE)
    alternated = cells.drop(columns=figure).merge(slices[["cell_id", "round", figure]], on="cell_id")
    alone = cells[~cells["cell_id"].isin(alternated["cell_id"])].assign(round=ALONE)
    parts = [part for part in (alternated, alone) if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else alone


def prices(ratios: pd.DataFrame) -> pd.DataFrame:
    """Ratios of levels to their base over blocks.

    `ratios`: from `block_ratios`.

    Columns: `KEYS`, level, base, ratio (geometric mean over blocks), low, high (Student's t on logarithms, 95 %; NaN
    for fewer than three blocks), half_width_percent (of the interval on the logarithmic scale), blocks.
    """
    rows = []
    for key, group in ratios.groupby([*KEYS, "level", "base"], sort=False):
        estimate = Estimate.ratio(np.exp(group["log_ratio"]))
        rows.append((*key, estimate.value, estimate.low, estimate.high, estimate.half_width_percent, estimate.n))
    return pd.DataFrame(rows, columns=[*KEYS, "level", "base", "ratio", "low", "high", "half_width_percent", "blocks"])


def table(statistics: pd.DataFrame, slices: pd.DataFrame) -> pd.DataFrame:
    """`prices` of cells that alternated, in the order of operation, threads and level; no row where none did.

    `statistics`: from `cells.cell_statistics`. `slices`: from `slices.slice_statistics`.
    """
    if slices.empty:
        return pd.DataFrame(columns=[*KEYS, "level", "base", "ratio", "low", "high", "blocks"])
    alternated = without_open(statistics[statistics["cell_id"].isin(slices["cell_id"])])
    ratios = prices(block_ratios(alternated, slices))
    shares = labelled(alternated).groupby("operation")["read_share"].first()
    order = ratios.assign(share=-ratios["operation"].map(shares)).sort_values(
        ["engine", "deployment", "kind", "share", "threads", "level"],
        key=lambda column: -column.rank() if column.name in ("kind", "level") else column, kind="stable",
    )  # fmt: skip
    return order.drop(columns="share").reset_index(drop=True)


def pooled(ratios: pd.DataFrame, by: Sequence[str] = ("operation", "level", "base")) -> pd.DataFrame:
    """Ratios of levels to their base over all loads: logarithms are averaged within a block, then over blocks.

    `ratios`: from `block_ratios`, of the loads that are meant. `by`: what stays apart.

    Index `by`; ratio (`Estimate` over blocks), loads (of which each block has at most so many).
    """
    keys = list(by)
    within = ratios.groupby([*keys, "block"], sort=False)["log_ratio"].agg(["mean", "size"])
    rows = {
        key: (Estimate.ratio(np.exp(group["mean"])), int(group["size"].max()))
        for key, group in within.groupby(keys, sort=False)
    }
    index = pd.MultiIndex.from_tuples(list(rows), names=keys)
    return pd.DataFrame(list(rows.values()), index, columns=["ratio", "loads"])
