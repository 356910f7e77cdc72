"""How often reads whose quorums overlap the writes' missed an acknowledged write among failing nodes."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from cassbook.core.consistency import STRONG_SETTINGS
from cassbook.records.faults import FaultRun

_CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class StrongReads:
    """What the checker found of reads at settings with R + W > N, in all schedules of a record."""

    #: How many were checked, and how many missed a write that was acknowledged before they began.
    reads: int
    stale: int
    stale_by_clock: int  # those of them in schedules that set a node's clock wrong
    stale_by_schedule: pd.Series  # those of them by schedule, most first; schedules without any are left out


def among_failures(run: FaultRun) -> StrongReads:
    """Count the stale reads of strong settings over all schedules of a record of faults."""
    rows = run.results.rows
    rows = rows[rows["setting"].isin([pair.name for pair in STRONG_SETTINGS]) & (rows["operation"] == "READ")]
    stale = rows.groupby("setup", sort=False)["stale"].sum().sort_values(ascending=False).astype(int)
    stale = stale[stale > 0]
    wrong_clocks = set(run.struck.loc[run.struck["fault"] == _CLOCK, "setup"])
    by_clock = int(stale[stale.index.isin(wrong_clocks)].sum())
    return StrongReads(int(rows["n"].sum()), int(stale.sum()), by_clock, stale)
