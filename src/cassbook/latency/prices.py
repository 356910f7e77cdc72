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
from cassbook.latency.labels import labelled

#: What makes levels comparable, but for the block.
KEYS = ["engine", "deployment", "kind", "workload", "condition", "operation", "threads", "rate_per_s"]
#: Levels that others are compared with, the first that was measured: pure operations, then pairs of levels.
BASES = ("ONE", "LOCAL_ONE", "QUORUM/QUORUM", "LOCAL_QUORUM/LOCAL_QUORUM")
#: Figures of a slice, and of a cell that was measured alone.
FIGURES = ("latency_us", "p50_us", "p95_us", "p99_us", "throughput_per_s")


def block_ratios(
    statistics: pd.DataFrame, slices: pd.DataFrame, figure: str = "latency_us", bases: Sequence[str] = BASES
) -> pd.DataFrame:
    """Ratios of levels to their base, block by block.

    Parameters
    ----------
    statistics : DataFrame
        From `cells.cell_statistics`.
    slices : DataFrame
        Columns `slices.COLUMNS`; without a row for cells that were measured alone.
    figure : str
        One of `FIGURES`.
    bases : sequence of str
        Levels by preference.

    Returns
    -------
    DataFrame
        `KEYS`, block, level, base, log_ratio (natural logarithm), rounds (how many it is the mean of; 0 for a cell that
        was measured alone), round_sd (standard deviation of the logarithm over rounds; NaN where there are none). Cells
        without a base in their block have no row.
    """
    cells = labelled(statistics)
    cells = cells[[*KEYS, "block", "cell_id", "level", figure]]
    values = _by_round(cells, slices, figure)
    rows = []
    for key, group in values.groupby([*KEYS, "block"], sort=False):
        logs = group.assign(log=np.log(group[figure])).pivot_table(
            index="round", columns="level", values="log", sort=False
        )
        base = next((name for name in bases if name in logs.columns), None)
        for level in logs.columns if base else ():
            if level != base:
                differences = (logs[level] - logs[base]).replace([np.inf, -np.inf], np.nan).dropna()
                if len(differences):
                    rows.append((*key, level, base, differences.mean(), *_over_rounds(differences)))
    return pd.DataFrame(rows, columns=[*KEYS, "block", "level", "base", "log_ratio", "rounds", "round_sd"])


def _by_round(cells: pd.DataFrame, slices: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Return a figure of each cell by round; a cell that was measured alone has one, -1."""
    alternated = cells.drop(columns=figure).merge(slices[["cell_id", "round", figure]], on="cell_id")
    alone = cells[~cells["cell_id"].isin(alternated["cell_id"])].assign(round=-1)
    parts = [part for part in (alternated, alone) if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else alone


def _over_rounds(differences: pd.Series) -> tuple[int, float]:
    alone = differences.index[0] == -1
    return (0, float("nan")) if alone else (len(differences), float(differences.std(ddof=1)))


def prices(ratios: pd.DataFrame) -> pd.DataFrame:
    """Ratios of levels to their base over blocks.

    Parameters
    ----------
    ratios : DataFrame
        From `block_ratios`.

    Returns
    -------
    DataFrame
        `KEYS`, level, base, ratio (geometric mean over blocks), low, high (Student's t on logarithms, 95 %; NaN for one
        block), half_width_percent (of the interval on the logarithmic scale), blocks.
    """
    rows = []
    for key, group in ratios.groupby([*KEYS, "level", "base"], sort=False):
        estimate = Estimate.ratio(np.exp(group["log_ratio"]))
        half_percent = 100 * (np.sqrt(estimate.high / estimate.low) - 1)
        rows.append((*key, estimate.value, estimate.low, estimate.high, half_percent, estimate.n))
    return pd.DataFrame(rows, columns=[*KEYS, "level", "base", "ratio", "low", "high", "half_width_percent", "blocks"])
