"""What failures do to data: flaws that the checker found, and the history of one, as the chapter on data shows them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook.book.chapters.failures import short
from cassbook.records.faults import OPERATIONS, FaultRun

_MOST_LISTED = 3


def flaws(run: FaultRun) -> pd.DataFrame:
    """Return what the checker found in all schedules together: index setting.

    Columns reads, stale, back, writes (asked), lost, and where: schedules in which there was any of the three, by name
    where they are few.
    """
    rows = run.results.rows.assign(schedule=run.results.rows["setup"].map(short))
    by_operation = {name: rows[rows["operation"] == name].groupby("setting", sort=False) for name in OPERATIONS}
    reads, writes = by_operation["READ"][["n", "stale", "back"]].sum(), by_operation["UPDATE"][["n", "lost"]].sum()
    flawed = rows[rows[["stale", "back", "lost"]].sum(axis=1) > 0]
    where = flawed.groupby("setting")["schedule"].agg(_listed, of=len(run.setups))
    table = reads.rename(columns={"n": "reads"}).join(writes.rename(columns={"n": "writes"}))
    return table.assign(where=where.reindex(table.index).fillna(""))


def _listed(titles: pd.Series, of: int) -> str:
    names = list(dict.fromkeys(titles))
    return "; ".join(names) if len(names) <= _MOST_LISTED else f"{len(names)} of {of} schedules"


def example(run: FaultRun, kind: str, setup: str, name: str) -> pd.DataFrame:
    """Return the first history of a kind (see `FaultRun.stories`) of a schedule and a setting; empty if none."""
    found = [
        history
        for history in run.stories(kind)
        if (history["setup"].iloc[0], history["setting"].iloc[0]) == (setup, name)
    ]
    return story(found[0]) if found else pd.DataFrame()


def story(history: pd.DataFrame) -> pd.DataFrame:
    """Return a history as a table to read: seconds since its first operation, who did what, with what result."""
    since_s = history["sent_s"] - history["sent_s"].min()
    took = (history["ended_s"] - history["sent_s"]) * 1000
    nobody, wrote = history["coordinator"] == 0, history["operation"] != "read"
    by = history["coordinator"].map(lambda node: f"through node{node:.0f}")
    by = by.mask(nobody, "").mask(nobody & ~wrote, "at the end, at ALL")
    by = by.mask(nobody & wrote & took.notna(), "before the load, at ALL")
    result = took.map(lambda ms: "unknown whether it took effect" if np.isnan(ms) else f"answered after {ms:.0f} ms")
    result = result.mask(nobody & took.notna(), "")
    what = history["operation"].where(~wrote, "write") + " of version " + history["version"].astype(str)
    return pd.DataFrame({"s": since_s.round(3), "what": what, "by": by, "result": result}).reset_index(drop=True)
