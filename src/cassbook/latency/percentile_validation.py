"""Percentiles of mixes made from other cells, held against those that were measured."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from cassbook.core.types import Floats
from cassbook.latency import percentile_mixing, percentiles
from cassbook.latency.summaries import mixed_cells, pure_cells

#: What a mix is made from: reads and writes alone, or the measured shares of reads on either side.
PURE, NEIGHBOURS = "pure cells", "neighbouring mixes"
_NAMES = tuple(percentiles.SHARES)
_SHARES = tuple(percentiles.SHARES.values())
_POINT = ["read_cl", "write_cl", "read_share", "threads"]
_TABLE = ["percentile", "made_from", "points", "mean_percent", "worst_percent", "bias_percent"]


def mixed_errors(cell_stats: pd.DataFrame, recorded: Mapping[str, HdrHistogram]) -> pd.DataFrame:
    """Hold predicted percentiles of each mix against the measured cell, in the same block.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment.
    recorded : mapping of str to HdrHistogram
        By tag, `CELL.OPERATION`.

    Returns
    -------
    DataFrame
        One row per mix, percentile and way: read_cl, write_cl, read_share, threads, percentile, made_from ('pure
        cells': the distributions of reads and of writes alone at as many threads, mixed in proportion to operations;
        'neighbouring mixes': those of the next shares of reads measured below and above, the pure ones among them),
        blocks, error_percent (of the geometric mean over blocks, predicted by measured, less 100 %). Left out are
        percentiles that some cell of the three does not support.
    """
    cells = _columns(cell_stats)
    curves = percentile_mixing.cell_curves(recorded, cells["cell_id"])
    rows = []
    for pair, mixes in cells[cells["kind"] == "mixed"].groupby(["read_cl", "write_cl"]):
        read_cl, write_cl = map(str, cast("tuple[str, str]", pair))
        pure = cells[(cells["kind"] == "pure")]
        reads = pure[(pure["read_share"] == 1) & (pure["read_cl"] == read_cl)]
        writes = pure[(pure["read_share"] == 0) & (pure["write_cl"] == write_cl)]
        known = pd.concat([mixes, reads, writes]).assign(read_cl=read_cl, write_cl=write_cl)
        for _, here in known.groupby(["threads", "block"]):
            rows += _at_one_load(here.sort_values("read_share"), curves)
    errors = pd.DataFrame(rows, columns=[*_POINT, "block", "percentile", "made_from", "log_ratio"])
    grouped = errors.groupby([*_POINT, "percentile", "made_from"], sort=False)["log_ratio"]
    table = grouped.agg(["mean", "size"]).reset_index()
    table["error_percent"] = 100 * np.expm1(table["mean"])
    return table.rename(columns={"size": "blocks"})[[*_POINT, "percentile", "made_from", "blocks", "error_percent"]]


def mixed_accuracy(cell_stats: pd.DataFrame, recorded: Mapping[str, HdrHistogram]) -> pd.DataFrame:
    """Sum up how far predicted percentiles of mixes are off, over all mixes of a run.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment.
    recorded : mapping of str to HdrHistogram

    Returns
    -------
    DataFrame
        percentile, made_from ('pure cells', 'neighbouring mixes'), points (mixes of a setting at a thread count),
        mean_percent and worst_percent (of the errors' absolute values), bias_percent (their mean: above 0 where
        predictions are too slow). Empty for a run that lacks pure or mixed cells.
    """
    rows = []
    for (name, made_from), group in mixed_errors(cell_stats, recorded).groupby(["percentile", "made_from"]):
        off = group["error_percent"]
        rows.append((name, made_from, len(off), off.abs().mean(), off.abs().max(), off.mean()))
    table = pd.DataFrame(rows, columns=_TABLE)
    order = {name: place for place, name in enumerate(_NAMES)}
    return table.sort_values(
        ["made_from", "percentile"], key=lambda column: column.map(order).fillna(0) if column.name == "percentile" else
        column != PURE, kind="stable", ignore_index=True,
    )  # fmt: skip


def nothing() -> pd.DataFrame:
    """Return `mixed_accuracy` of a run of which nothing can be said."""
    return pd.DataFrame(columns=_TABLE)


def _columns(cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Pure and mixed cells that have a latency, with their operations."""
    both = pd.concat([pure_cells(cell_stats), mixed_cells(cell_stats)], ignore_index=True)
    return both.assign(operations=percentiles.known_operations(both))[
        ["cell_id", "kind", *_POINT, "block", "operations"]
    ]


def _at_one_load(here: pd.DataFrame, curves: Mapping[str, Floats]) -> list[tuple[Any, ...]]:
    """Errors of the mixes of one setting at one thread count in one block."""
    here = here[here["cell_id"].isin(curves.keys())].drop_duplicates("read_share")
    cells = list(here.itertuples(index=False))
    rows: list[tuple[Any, ...]] = []
    ends = {cell.read_share: cell for cell in cells if cell.kind == "pure"}
    if set(ends) == {0.0, 1.0}:
        rows += [row for cell in cells for row in _held(cell, ends[0.0], ends[1.0], curves, PURE)]
    for (below, _), (cell, above) in pairwise(pairwise(cells)):
        rows += _held(cell, below, above, curves, NEIGHBOURS)
    return rows


def _held(cell: Any, below: Any, above: Any, curves: Mapping[str, Floats], made_from: str) -> list[tuple[Any, ...]]:
    """Log of predicted by measured, percentile by percentile, of a mix between two others."""
    if cell.kind != "mixed":
        return []
    part = (cell.read_share - below.read_share) / (above.read_share - below.read_share)
    pair = np.stack([curves[below.cell_id], curves[above.cell_id]])
    predicted = percentile_mixing.mixed_quantiles(pair, [1 - part, part], _SHARES)
    measured = percentile_mixing.quantiles(curves[cell.cell_id], _SHARES)
    least = min(one.operations for one in (cell, below, above))
    at = tuple(getattr(cell, name) for name in _POINT)
    return [
        (*at, cell.block, name, made_from, ratio)
        for name, ratio in zip(_NAMES, predicted - measured, strict=True)
        if percentiles.supported(name, least)
    ]
