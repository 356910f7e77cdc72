"""Counted shares in the chapter on failures: how they are headed, counted and said."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from cassbook.core.proportion import Proportion
from cassbook.core.units import MILLION, PERCENT
from cassbook.records.faults import VARIANT

#: Counts of `FaultRun.by_fault` as shares: how their column is headed, what all are in its unit, and its decimals.
SHARES: dict[str, tuple[str, float, int]] = {
    "unanswered": ("not answered, %", PERCENT, 1),
    "stale": ("stale, per million", MILLION, 0),
    "back": ("back, per million", MILLION, 0),
}
OF_READS = ("stale", "back")


def of_fault(made: pd.DataFrame, keys: Sequence[str], what: str) -> pd.Series:
    """Return a counted share by some keys, of all cluster starts: `Proportion`, None where there was nothing to count.

    Parameters
    ----------
    made : DataFrame
        From `FaultRun.by_fault`, of one fault.
    keys : sequence of str
    what : str
        unanswered (of requests), stale or back (of reads).
    """
    of = made[made["operation"] == "READ"] if what in OF_READS else made
    starts = of.drop_duplicates([*VARIANT, "start"])  # a fault that strikes several nodes at once has one row for each
    sums = starts.groupby([*keys, "start"], sort=False)[[what, "n"]].sum()
    found = {
        place: Proportion.grouped(own[what], own["n"]) for place, own in sums.groupby(list(keys), sort=False)
        if own["n"].sum()
    }  # fmt: skip
    return pd.Series(found, dtype=object).rename_axis(list(keys))


def in_text(shares: pd.Series, what: str) -> pd.Series:
    """Say shares as their column shows them."""
    _, factor, digits = SHARES[what]
    return shares.map(lambda share: share.text(factor, digits))


def answered(counts: pd.DataFrame) -> pd.Series:
    """Return the share answered (`Proportion`) by operation and setting, of one row of ok and n per cluster start."""
    of = counts.groupby(["operation", "setting"], sort=False)
    return pd.Series({place: Proportion.grouped(own["ok"], own["n"]) for place, own in of}).rename_axis(
        ["operation", "setting"]
    )
