"""What a design buys: ratios of levels measured one after the other and in slices, in equal time on one cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import special

from cassbook.core.estimate import Estimate
from cassbook.latency import prices

#: As records of the experiment name them.
SEQUENTIAL, INTERLEAVED = "sequential", "interleaved"
#: Levels that others are compared with; strong settings of mixes have names of their own.
BASES = (*prices.BASES, "2R-2W")
#: A run has so many blocks at least and at most.
FEWEST_BLOCKS, MOST_BLOCKS = 6, 12


def block_ratios(rows: pd.DataFrame, slices: pd.DataFrame) -> pd.DataFrame:
    """Ratios of levels by cluster start, in either design.

    Parameters
    ----------
    rows : DataFrame
        start, panel, design, operation, threads.
    slices : DataFrame
        start, panel, level, round, latency_ms; of a level that was measured alone one row.

    Returns
    -------
    DataFrame
        As `prices.block_ratios`; the design stands in `condition`.
    """
    table = slices.merge(rows[["start", "panel", "design", "operation", "threads"]], on=["start", "panel"])
    alone = table["design"] == SEQUENTIAL
    values = pd.DataFrame(
        {
            "engine": "", "deployment": "", "kind": "design", "workload": "", "condition": table["design"],
            "operation": table["operation"], "threads": table["threads"], "rate_per_s": 0.0, "block": table["start"],
            "level": table["level"], "round": table["round"].mask(alone, prices.ALONE),
            "latency_us": table["latency_ms"] * 1000,
        }
    )  # fmt: skip
    return prices.ratios_of_rounds(values, bases=BASES)


def compared(ratios: pd.DataFrame) -> pd.DataFrame:
    """Half-widths of ratios in either design, and how many times narrower one is than the other.

    Parameters
    ----------
    ratios : DataFrame
        From `block_ratios`.

    Returns
    -------
    DataFrame
        operation, threads, level, base; ratio_D, half_D (half-width in logarithms, over blocks) and sd_D (standard
        deviation over blocks) of each design D; gain.
    """
    keys = ["operation", "threads", "level", "base"]
    table = prices.prices(ratios).assign(half=lambda t: np.log(t["high"] / t["low"]) / 2)
    sd = ratios.groupby(["condition", *keys], sort=False)["log_ratio"].std(ddof=1).rename("sd").reset_index()
    table = table.merge(sd, on=["condition", *keys])
    wide = table.pivot_table(index=keys, columns="condition", values=["ratio", "half", "sd"], sort=False)
    wide.columns = pd.Index(wide.columns.map("_".join))
    return wide.assign(gain=wide[f"half_{SEQUENTIAL}"] / wide[f"half_{INTERLEAVED}"]).reset_index()


def gain(table: pd.DataFrame) -> Estimate:
    """Return how many times narrower intervals are in slices: the geometric mean over what `compared` compares."""
    return Estimate.ratio(table["gain"])


def blocks_needed(sds: Iterable[float], half_percent: float = 10.0) -> int:
    """Return how many blocks bring the median half-width of ratios down to a bound.

    Parameters
    ----------
    sds : iterable of float
        Standard deviations over blocks of the logarithms of ratios, as of a pilot.
    half_percent : float
        The bound, on the logarithmic scale: 10 means a factor of 1.1 to either side.

    Returns
    -------
    int
        From `FEWEST_BLOCKS` to `MOST_BLOCKS`, the latter also where they do not suffice.

    Examples
    --------
    >>> blocks_needed([0.05, 0.06, 0.3]), blocks_needed([0.1]), blocks_needed([0.5])
    (6, 7, 12)
    """
    sd, wanted = float(np.median(list(sds))), math.log1p(half_percent / 100)
    for blocks in range(FEWEST_BLOCKS, MOST_BLOCKS):
        if sd * special.stdtrit(blocks - 1, 0.975) / math.sqrt(blocks) <= wanted:
            return blocks
    return MOST_BLOCKS
