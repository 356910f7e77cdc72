"""What levels cost, as a run shows it: latencies as multiples of a base level's, of levels that alternated."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from cassbook.core.estimate import FEWEST, Estimate
from cassbook.core.words import counted
from cassbook.latency import prices
from cassbook.latency.labels import labelled
from cassbook.records.run import RecordedRun

_SECTION = ["engine", "deployment", "kind", "base"]
_ROW = ["workload", "condition", "operation", "threads", "rate_per_s"]


def of_run(run: object) -> pd.DataFrame:
    """Return `prices.prices` of a recorded run's means; no row for one whose levels did not alternate."""
    if not isinstance(run, RecordedRun):
        return of_tables(pd.DataFrame(), pd.DataFrame())
    return of_tables(run.statistics, run.slices)


def of_tables(statistics: pd.DataFrame, slices: pd.DataFrame) -> pd.DataFrame:
    """Return `prices.prices` of cells that alternated, in the order of operation, threads and level.

    Parameters
    ----------
    statistics : DataFrame
        From `cells.cell_statistics`.
    slices : DataFrame
        From `slices.slice_statistics`.
    """
    if slices.empty:
        return pd.DataFrame(columns=[*prices.KEYS, "level", "base", "ratio", "low", "high", "blocks"])
    alternated = statistics[statistics["cell_id"].isin(slices["cell_id"])]
    table = prices.prices(prices.block_ratios(alternated, slices))
    shares = labelled(alternated).groupby("operation")["read_share"].first()
    order = table.assign(share=-table["operation"].map(shares)).sort_values(
        ["engine", "deployment", "kind", "share", "threads", "level"],
        key=lambda column: -column.rank() if column.name in ("kind", "level") else column, kind="stable",
    )  # fmt: skip
    return order.drop(columns="share").reset_index(drop=True)


def sections(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield titles and tables in words, one row per load and one column per level.

    Parameters
    ----------
    table : DataFrame
        From `of_run` or `of_tables`.
    """
    several = len(table["deployment"].unique()) > 1
    for (_, deployment, _, base), rows in table.groupby(_SECTION, sort=False):
        blocks = int(rows["blocks"].max())
        number = counted(blocks, "block")
        resting = f"95 % intervals over {number}" if blocks >= FEWEST else number
        figures = rows[["ratio", "low", "high"]].to_numpy(dtype=float)
        texts = [f"{Estimate(ratio, low, high, blocks):.2f}" for ratio, low, high in figures]
        wide = rows.assign(text=texts).pivot_table(
            index=_ROW, columns="level", values="text", aggfunc="first", sort=False
        )
        levels = list(dict.fromkeys(rows["level"]))
        shown = wide[levels].fillna("").reset_index()
        named = [name for name in _ROW if name in ("operation", "threads") or len(shown[name].unique()) > 1]
        where = f" in {deployment}" if several else ""
        yield f"Mean latency as a multiple of that at {base}{where}, {resting}", shown[[*named, *levels]]


def as_text(statistics: pd.DataFrame, slices: pd.DataFrame) -> str:
    """Return the tables for a terminal; empty where nothing alternated."""
    parts = (f"{title}\n{shown.to_string(index=False)}" for title, shown in sections(of_tables(statistics, slices)))
    return "\n\n".join(parts)
