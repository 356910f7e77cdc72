"""Whole distributions of latency by level: every quantile over blocks, from the cells' histograms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.latency import histograms, percentiles
from cassbook.latency.labels import labelled

#: Quantiles evenly spaced on the scale of 1/(1 - q), from the fastest operations to one of ten thousand.
SHARES = tuple(float(share) for share in 1 - np.logspace(0, -4, 81))


def curves(
    statistics: pd.DataFrame, recorded: Mapping[str, HdrHistogram], operation: str, threads: int,
    shares: tuple[float, ...] = SHARES,
) -> pd.DataFrame:  # fmt: skip
    """Quantiles of latency by level, over blocks.

    `statistics`: from `cells.cell_statistics`; its pure cells and mixes are looked at. `recorded`: by tag,
    `CELL.OPERATION`; of a mix, reads and writes are counted together. `operation`: as `labels.labelled` names it:
    'READ', 'WRITE', 'reads 50 %'.

    Columns: level, share, latency_us, low, high (geometric mean over blocks, Student's t on logarithms), blocks. A
    quantile is left out where fewer than ten operations of some block's cell are beyond it.

    Raises InputError if nothing of the kind was measured.
    """
    cells = labelled(statistics)
    cells = cells[cells["kind"].isin(["pure", "mixed"]) & (cells["threads"] == threads)]
    cells = cells[cells["operation"] == operation]
    if cells.empty:
        raise LackingError(f"operation, threads: no cell of {operation} at {threads} threads was measured")
    tags = histograms.tags_by_cell(recorded)
    cells = cells[[cell_id in tags for cell_id in cells["cell_id"]]]
    if cells.empty:
        raise LackingError(f"of {operation} at {threads} threads there are neither single operations nor histograms")
    rows = []
    for level, group in cells.groupby("level", sort=False):
        counted = [histograms.merged(recorded[tag] for tag in tags[cell_id]) for cell_id in group["cell_id"]]
        fewest = min(one.get_total_count() for one in counted)
        known = [share for share in shares if fewest * (1 - share) >= percentiles.BEYOND]
        by_block = np.array([histograms.quantiles_us(one, known) for one in counted])
        for share, values in zip(known, by_block.T, strict=True):
            over = Estimate.positive(values)
            rows.append((level, share, over.value, over.low, over.high, over.n))
    return pd.DataFrame(rows, columns=["level", "share", "latency_us", "low", "high", "blocks"])
