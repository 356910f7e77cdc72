"""What each slice of an interleaved measurement says, and ratios of cells that alternated.

A ratio is taken within each round of slices, where both levels met the same machine within a second or two, then over
the rounds of a block, then over blocks: what varies from minute to minute and from start to start falls out of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cassbook.core.schema import OPEN

#: One row per slice of a cell.
COLUMNS = (
    "cell_id",
    "slice",  # its number in the group, from 0
    "round",  # which round of the group, from 0; each cell that still takes turns has one slice in it
    "after",  # the cell whose slice came before; empty for the group's first
    "from_s",  # seconds since the run began; the guard is behind it
    "guard_s",
    "counted_s",
    "n_ok",
    "n_errors",
    "latency_us",
    "p50_us",
    "p95_us",
    "p99_us",
    "throughput_per_s",
    "response_us",  # mean from when requests were due, where they arrive by themselves
    "response_p50_us",
    "response_p99_us",
)
_QUANTILES = {"p50_us": 0.50, "p95_us": 0.95, "p99_us": 0.99}


def rates_in_groups(cells: pd.DataFrame, slices: pd.DataFrame) -> pd.Series:
    """Return where cells at a fixed rate alternated, as in runs of earlier versions: a group then has one backlog.

    Cells of kind `open` are in turn with nothing in flight between them, and none of these. `cells`: cell_id, and kind
    and rate_per_s where any has a rate. `slices`: from `slice_statistics`.
    """
    paced = cells.get("rate_per_s", pd.Series(np.nan, cells.index)).notna()
    if "kind" in cells:
        paced &= cells["kind"] != OPEN
    return paced & cells["cell_id"].isin(slices["cell_id"])


def slice_statistics(
    samples: pd.DataFrame,
    cells: Sequence[str],
    order: Sequence[int],
    guard_s: float,
    counted_s: ArrayLike,
    begun_s: Sequence[float],
) -> pd.DataFrame:
    """Statistics of every slice of a group of cells that alternated, or were measured in turn.

    `samples`: of the group, columns `schema.SAMPLES`; those of phase steady count. `cells`: identifiers, by variant.
    `order`: variant of each slice. `guard_s` and `counted_s`: of each slice, the latter also one by one. `begun_s`:
    when each began, in seconds since the run began.

    Columns `COLUMNS`, in the order of the slices. Latencies are of successful operations, NaN where there is
    none.
    """
    steady = samples[samples["phase"] == "steady"]
    ok = steady[steady["outcome"] == "ok"]
    numbers = np.arange(len(order))
    of_slice = ok["slice"].astype("int64")
    by_slice = ok.groupby(of_slice)["latency_us"]
    response = (ok["latency_us"] + (ok["started_s"] - ok["intended_s"]) * 1e6).groupby(of_slice)
    n_ok = by_slice.size().reindex(numbers, fill_value=0).to_numpy()
    n_all = steady["slice"].astype("int64").value_counts().reindex(numbers, fill_value=0).to_numpy()
    names = [cells[variant] for variant in order]
    counted = np.broadcast_to(np.asarray(counted_s, float), len(order))
    columns = {
        "cell_id": names,
        "slice": numbers,
        "round": pd.Series(list(order)).groupby(list(order)).cumcount().to_numpy(),
        "after": ["", *names[:-1]],
        "from_s": np.round(begun_s, 6),
        "guard_s": round(guard_s, 6),
        "counted_s": np.round(counted, 6),
        "n_ok": n_ok,
        "n_errors": n_all - n_ok,
        "latency_us": by_slice.mean().reindex(numbers).round(1).to_numpy(),
        **{name: by_slice.quantile(share).reindex(numbers).to_numpy() for name, share in _QUANTILES.items()},
        "throughput_per_s": np.round(n_ok / np.where(counted > 0, counted, np.nan), 1),
        "response_us": response.mean().reindex(numbers).round(1).to_numpy(),
        "response_p50_us": response.quantile(0.5).reindex(numbers).round(1).to_numpy(),
        "response_p99_us": response.quantile(0.99).reindex(numbers).round(1).to_numpy(),
    }
    return pd.DataFrame(columns)[list(COLUMNS)]
