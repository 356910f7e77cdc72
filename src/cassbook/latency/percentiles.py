"""Percentiles of latency: which ones the operations of a cell support, and how far one of them can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from cassbook.core.estimate import binomial_bounds
from cassbook.latency import histograms

#: What a latency can be judged by: the mean, or a percentile as the share of operations that are faster.
SHARES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
FIGURES = ("mean", *SHARES)
#: Column of each in `cells.cell_statistics`; that of p99.9 is added by `with_tails`.
COLUMNS = {"mean": "latency_us", "p50": "p50_us", "p95": "p95_us", "p99": "p99_us", "p99.9": "p999_us"}
#: A percentile is shown only where at least so many operations of each cell lie beyond it. With fewer it is little more
#: than the slowest request.
BEYOND = 10


def needed(name: str) -> int:
    """Operations of a cell that a figure needs.

    >>> needed("p99"), needed("p99.9"), needed("mean")
    (1000, 10000, 1)
    """
    return 1 if name == "mean" else round(BEYOND / (1 - SHARES[name]))


def supported(name: str, operations: float) -> bool:
    """Whether so many operations support a figure: `BEYOND` of them lie beyond it."""
    return bool(operations >= needed(name))


def known_operations(cell_stats: pd.DataFrame) -> pd.Series:
    """Return the operations that the percentiles of each cell rest on: those that succeeded.

    Infinite where it is not known how many there were, as of sums of other tools, and where percentiles are those that
    a tool printed: they are shown as they are.
    """
    if "n_ok" not in cell_stats.columns:
        return pd.Series(np.inf, cell_stats.index)
    known = cell_stats["n_ok"].astype(float).fillna(np.inf)
    return known.mask(cell_stats["printed"].eq(True), np.inf) if "printed" in cell_stats.columns else known


def response_column(name: str) -> str:
    """Column of a figure of the response time, from when an operation should have started.

    >>> response_column("mean"), response_column("p99.9")
    ('response_us', 'response_p999_us')
    """
    return "response_us" if name == "mean" else f"response_{COLUMNS[name]}"


def columns(name: str) -> tuple[str, str]:
    """Columns of a percentile, of the service time and of the response time.

    >>> columns("p95")
    ('p95_us', 'response_p95_us')
    """
    return COLUMNS[name], response_column(name)


@dataclass(frozen=True, slots=True)
class TooFew:
    """Cells whose operations do not support a percentile, by its name; and the fewest operations of one of them."""

    name: str
    cells: int
    fewest: float


def lacking(name: str, fewest: float, there: str) -> str:
    """Say how many operations a figure needs, how many there are, and how many more it takes.

    >>> lacking("p99", 743, "a cell there has {}")
    'needs 1,000 operations per cell, and a cell there has 743, 257 more'
    """
    more = needed(name) - fewest
    return f"needs {needed(name):,} operations per cell, and {there.format(f'{fewest:,.0f}')}, {more:,.0f} more"


def order_bounds(share: float, operations: float) -> tuple[float, float]:
    """Shares between which a quantile lies with 95 %, by order statistics (Clopper and Pearson 1934).

    The operations are taken as independent, which those of one cell are only nearly: what the interval covers is how
    few they are, and neither their dependence nor what another cluster start would give.

    >>> low, high = order_bounds(0.99, 1000)
    >>> round(low, 4), round(high, 4)
    (0.9817, 0.9952)
    """
    low, high = binomial_bounds(share, operations)
    return float(low), float(high)


def with_tails(statistics: pd.DataFrame, recorded: Mapping[str, HdrHistogram]) -> pd.DataFrame:
    """Add p99.9 of each cell, from its histograms.

    Parameters
    ----------
    statistics : DataFrame
        From `cells.cell_statistics`.
    recorded : mapping of str to HdrHistogram
        By tag, `CELL.OPERATION` and `CELL.OPERATION.response`.

    Returns
    -------
    DataFrame
        With p999_us, p999_low_us, p999_high_us (order statistics) and the same of the response time; NaN where there is
        no histogram, or where operations and failures together are too few for the figure; what is known already stays.
    """
    names = [f"{time}p999{side}_us" for time in ("", "response_") for side in ("", "_low", "_high")]
    nothing = pd.Series(np.nan, statistics.index)
    columns = {name: statistics.get(name, nothing).to_numpy(dtype=float, copy=True) for name in names}
    tags = {"": histograms.tags_by_cell(recorded), "response_": histograms.tags_by_cell(recorded, response=True)}
    share, all_of = SHARES["p99.9"], statistics["n_ok"] + statistics["n_errors"]
    for place, (cell_id, operations) in enumerate(zip(statistics["cell_id"], all_of, strict=True)):
        if not supported("p99.9", operations):
            continue
        for time, of_cells in tags.items():
            if cell_id not in of_cells:
                continue
            counted = histograms.merged(recorded[tag] for tag in of_cells[cell_id])
            bounds = order_bounds(share, counted.get_total_count())
            for side, at in zip(("", "_low", "_high"), (share, *bounds), strict=True):
                columns[f"{time}p999{side}_us"][place] = histograms.quantile_us(counted, at)
    return statistics.assign(**columns)
