"""What a design buys: ratios of levels measured one after the other and in slices, in equal time on one cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

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

    `rows`: start, panel, design, operation, threads. `slices`: start, panel, level, round, latency_ms; of a level that
    was measured alone one row.

    The same columns as `prices.block_ratios`; the design stands in `condition`.
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

    `ratios`: from `block_ratios`.

    Columns: operation, threads, level, base; ratio_D, half_D (half-width in logarithms, over blocks) and sd_D
    (standard deviation over blocks) of each design D; gain.
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


def attempts(rows: pd.DataFrame, slices: pd.DataFrame) -> pd.DataFrame:
    """Other ways to take a ratio from the same slices: how many times narrower than that of cells measured alone.

    `rows` and `slices`: as `block_ratios`; slices in the order of time within a panel, with n.

    Index operation; columns `ATTEMPTS`: `gain` over thread counts and levels.
    """
    usual = block_ratios(rows, slices)
    alone = usual[usual["condition"] == SEQUENTIAL]
    table = slices.merge(rows[rows["design"] == INTERLEAVED], on=["start", "panel"], suffixes=("", "_of_row"))
    columns = {}
    for name, estimator in ATTEMPTS.items():
        parts = [_by_estimator(group, estimator) for _, group in table.groupby(["start", "panel"], sort=False)]
        keys = ["operation", "threads", "block", "level", "base"]
        own = usual[usual["condition"] == INTERLEAVED].drop(columns="log_ratio")
        own = own.merge(pd.concat(parts, ignore_index=True), on=keys)
        found = compared(pd.concat([alone, own], ignore_index=True))
        columns[name] = pd.Series({operation: gain(group) for operation, group in found.groupby("operation")})
    return pd.DataFrame(columns).rename_axis("operation")


def _by_estimator(group: pd.DataFrame, estimator: Callable[[pd.DataFrame, str], pd.Series]) -> pd.DataFrame:
    """Return log ratios of the levels of one group to their base."""
    base = next(name for name in BASES if name in set(group["level"]))
    logs = estimator(group, base)
    first = group.iloc[0]
    return pd.DataFrame(
        {
            "operation": first["operation"], "threads": first["threads"], "block": first["start"], "level": logs.index,
            "base": base, "log_ratio": logs.to_numpy(),
        }
    )  # fmt: skip


def _rounds(group: pd.DataFrame, base: str) -> pd.DataFrame:
    """Log ratios by round: columns levels but the base."""
    logs = group.assign(log=np.log(group["latency_ms"])).pivot_table("log", "round", "level")
    return logs.drop(columns=base).sub(logs[base], axis=0)


def _whole(group: pd.DataFrame, base: str) -> pd.Series:
    """By the mean latency of all that was counted, as of cells."""
    sums = group.assign(total=group["latency_ms"] * group["n"]).groupby("level")[["total", "n"]].sum()
    logs = pd.Series(np.log(sums["total"] / sums["n"]))
    return (logs - logs[base]).drop(base)


def _autoregressive(group: pd.DataFrame, base: str) -> pd.Series:
    """By least squares on all slices, whose noise remembers the slice before (statsmodels' GLSAR)."""
    from statsmodels.regression.linear_model import GLSAR  # noqa: PLC0415 - takes a second, for this alone

    levels = [level for level in dict.fromkeys(group["level"]) if level != base]
    design = np.column_stack([np.ones(len(group)), *(group["level"] == level for level in levels)]).astype(float)
    fitted = GLSAR(np.log(group["latency_ms"].to_numpy()), design, rho=1).iterative_fit(maxiter=5)
    return pd.Series(fitted.params[1:], index=levels)


#: Ways to take the logarithm of a ratio from the slices of one group.
ATTEMPTS: dict[str, Callable[[pd.DataFrame, str], pd.Series]] = {
    "mean of rounds": lambda group, base: _rounds(group, base).mean(),
    "median of rounds": lambda group, base: _rounds(group, base).median(),
    "all that was counted": _whole,
    "autoregressive noise": _autoregressive,
}


def blocks_needed(sds: Iterable[float], half_percent: float = 10.0) -> int:
    """Return how many blocks bring the median half-width of ratios down to a bound.

    `sds`: standard deviations over blocks of the logarithms of ratios, as of a pilot. `half_percent`: the bound, on the
    logarithmic scale: 10 means a factor of 1.1 to either side.

    It lies between `FEWEST_BLOCKS` and `MOST_BLOCKS`, the latter also where they do not suffice.

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
