"""What levels cost: latencies as multiples of a base level's, one row per load and one column per level."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from cassbook.core.estimate import FEWEST
from cassbook.core.words import counted
from cassbook.shown.tables import intervals

_SECTION = ["engine", "deployment", "kind", "base"]
_ROW = ["workload", "condition", "operation", "threads", "rate_per_s"]


def sections(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield titles and tables in words.

    Parameters
    ----------
    table : DataFrame
        From `latency.prices.table`.
    """
    several = len(table["deployment"].unique()) > 1
    for (_, deployment, _, base), rows in table.groupby(_SECTION, sort=False):
        blocks = int(rows["blocks"].max())
        number = counted(blocks, "block")
        resting = f"95 % intervals over {number}" if blocks >= FEWEST else number
        wide = rows.assign(text=intervals(rows, ".2f", "ratio")).pivot_table(
            index=_ROW, columns="level", values="text", aggfunc="first", sort=False
        )
        levels = list(dict.fromkeys(rows["level"]))
        shown = wide[levels].fillna("").reset_index()
        named = [name for name in _ROW if name in ("operation", "threads") or len(shown[name].unique()) > 1]
        where = f" in {deployment}" if several else ""
        yield f"Mean latency as a multiple of that at {base}{where}, {resting}", shown[[*named, *levels]]


def as_text(table: pd.DataFrame) -> str:
    """Return the tables for a terminal; empty where nothing alternated."""
    return "\n\n".join(f"{title}\n{shown.to_string(index=False)}" for title, shown in sections(table))
