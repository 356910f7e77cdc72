"""Tables of the chapter on mixed workloads: where each setting is estimated fastest, and what the best one saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cassbook.book import needs
from cassbook.book.provenance import Source
from cassbook.core.errors import LackingError
from cassbook.latency import (
    mixing,
    regression,
)


def winning_ranges(source: Source, read_shares: Sequence[float], order: int = 4) -> pd.DataFrame:
    """Return the thread ranges in which each setting is estimated fastest, share by share (what Fig. 6 shows as
    areas).
    """
    needs.estimates(source, order)
    lowest, highest = source.level_stats["threads"].agg(["min", "max"])
    fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
    ranges = mixing.domain_map(fits, np.arange(lowest, highest + 1), read_shares).ranges()
    spans = ranges["threads_from"].map("{:.0f}".format) + "-" + ranges["threads_to"].map("{:.0f}".format)
    text = (ranges["setting"] + ": " + spans).groupby(ranges["read_share"]).agg(", ".join)
    text.index = pd.Index([f"{100 * share:.0f} %" for share in text.index], name="reads")
    return text.to_frame("fastest, by threads")


def saved_values(saved: pd.DataFrame, source: Source) -> dict[str, str]:
    """Return what the prose quotes of `speedup_summary`: at 10 % reads."""
    if source.label not in saved:
        raise LackingError(f"{source.label} has no estimates")
    return {"saved": str(saved.loc["10 %", source.label])}


def speedup_summary(estimates: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the latency the best setting saves against always 1R-3W, in percent: mean over thread counts, by mix
    and source; workloads with an estimate below zero are left out.
    """
    columns = {}
    for label, df in estimates.items():
        means = mixing.speedups(mixing.possible(df)).groupby("read_share")["speedup_percent"].mean()
        columns[label] = means.set_axis([f"{100 * share:.0f} %" for share in means.index])
    return pd.DataFrame(columns).rename_axis("reads").map("{:.1f}".format)
