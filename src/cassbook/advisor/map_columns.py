"""The cells of a run as columns of a map of latencies, and the mean between them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cassbook.core.consistency import Setting
from cassbook.latency import percentiles
from cassbook.latency.summaries import mixed_cells, pure_cells

Floats = NDArray[np.float64]

_OF_CELLS = ("cell_id", "operations", "marks")


def mixed_columns(cell_stats: pd.DataFrame, replicas: int) -> pd.DataFrame:
    """Mixed workloads, each at its share of reads."""
    cells = mixed_cells(cell_stats, replicas)
    return _known_columns(cells)[["setting", "block", "read_share", "threads", "latency_us", *_OF_CELLS]]


def _known_columns(cells: pd.DataFrame) -> pd.DataFrame:
    """Add what is known of each cell but its latency; a predicted one has no marks."""
    marks = cells["marks"] if "marks" in cells.columns else ""
    return cells.assign(operations=percentiles.known_operations(cells), marks=marks)


def pure_columns(cell_stats: pd.DataFrame, settings: tuple[Setting, ...], replicas: int) -> pd.DataFrame:
    """Pure workloads as the ends of each setting's range of shares: 1 its reads, 0 its writes.

    Of a single replica every level is the same: where the one that is named was not measured, another is taken.
    """
    cells = _known_columns(pure_cells(cell_stats))
    parts = []
    for setting in settings:
        for operation, level, share in (("READ", setting.read_cl, 1.0), ("WRITE", setting.write_cl, 0.0)):
            pure = cells[cells["operation"] == operation]
            named = pure["level"] == level
            pure = pure if replicas == 1 and not named.any() else pure[named]
            parts.append(
                pure[["block", "threads", "latency_us", *_OF_CELLS]].assign(setting=setting.name, read_share=share)
            )
    return pd.concat(parts, ignore_index=True)


def interpolated(cells: pd.DataFrame, threads: Floats, shares: Floats) -> Floats:
    """Interpolate one setting in one block: shape (S, T), NaN outside."""
    wide = cells.pivot_table("latency_us", "threads", "read_share")
    at = wide.columns.to_numpy(dtype=float)
    columns = [wide[share].dropna() for share in wide.columns]
    table = np.stack([np.interp(threads, c.index, c.to_numpy(), left=np.nan, right=np.nan) for c in columns])
    grid = np.full((shares.size, threads.size), np.nan)
    for place in range(threads.size):
        known = np.isfinite(table[:, place])
        if known.any():
            grid[:, place] = np.interp(shares, at[known], table[known, place], left=np.nan, right=np.nan)
    return grid


def mean(values: Floats, axis: int) -> Floats:
    """Mean of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis))
