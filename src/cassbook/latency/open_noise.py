"""How much a ratio of response times under open arrivals differs between cluster starts, by how long is measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cassbook.core.schema import OPEN

#: Figures of a segment, as `slices.slice_statistics` has them.
FIGURES = {"mean": "response_us", "p50": "response_p50_us", "p99": "response_p99_us"}
_MIX = ["workload", "read_share", "load_share"]


def ratios(cells: pd.DataFrame, slices: pd.DataFrame, base: str = "ONE") -> pd.DataFrame:
    """Logarithms of ratios of response times of settings in turn, round by round.

    `cells`: columns `schema.CELLS`; those of kind `open` at a load share count. `slices`: from
    `slices.slice_statistics`. `base`: read and write level of what others are held against.

    Columns: workload, read_share, load_share, block, read_cl, write_cl, round, counted_s, figure (of `FIGURES`),
    log_ratio.
    """
    names = [*_MIX, "block", "read_cl", "write_cl"]
    well = cells["condition"] == "" if "condition" in cells else True
    own = cells.loc[(cells["kind"] == OPEN) & cells["load_share"].notna() & well, ["cell_id", *names]]
    table = slices.merge(own, on="cell_id")
    long = table.melt([*names, "round", "counted_s"], list(FIGURES.values()), "figure", "of_segment_us")
    long["figure"] = long["figure"].map({column: name for name, column in FIGURES.items()})
    is_base = (long["read_cl"] == base) & (long["write_cl"] == base)
    keys = [*_MIX, "block", "round", "figure"]
    both = long[~is_base].merge(long[is_base][[*keys, "of_segment_us"]], on=keys, suffixes=("", "_base"))
    both["log_ratio"] = np.log(both["of_segment_us"] / both["of_segment_us_base"])
    return both.drop(columns=["of_segment_us", "of_segment_us_base"])


def between_starts(table: pd.DataFrame, lengths_s: Sequence[float] = (20.0, 60.0, 120.0)) -> pd.DataFrame:
    """Return the standard deviation over cluster starts of the logarithm of each ratio, by the time that is measured.

    `table`: from `ratios`. `lengths_s`: seconds that count of each setting; of longer records the first rounds are
    taken.

    Columns: workload, read_share, load_share, read_cl, write_cl, figure, measured_s, starts, log_ratio (mean over
    starts), sd.
    """
    keys = [*_MIX, "read_cl", "write_cl", "figure"]
    parts = []
    for measured_s in lengths_s:
        rounds = np.round(measured_s / table["counted_s"])
        first = table[(table["round"] < rounds) & (rounds >= 1)]
        by_start = first.groupby([*keys, "block"], as_index=False)["log_ratio"].mean()
        of_length = by_start.groupby(keys)["log_ratio"].agg(starts="count", log_ratio="mean", sd="std").reset_index()
        parts.append(of_length.assign(measured_s=measured_s))
    return pd.concat(parts, ignore_index=True)
