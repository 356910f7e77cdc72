"""Tables of the chapter on the adviser while nodes fail."""

from __future__ import annotations

import pandas as pd

from cassbook.records.faults import AdvisedRun

#: What the tables of `cassbook experiment adviser-failing` are switched by.
SWITCHED_BY = {"safe": "the adviser", "naive": "the paper's switching", "fixed": "nobody: always 2R-2W"}
_PERCENT = 100


def kept(run: AdvisedRun) -> pd.DataFrame:
    """Return what became of requests, by schedule and by who switches settings, over all cluster starts.

    Returns
    -------
    DataFrame
        Index (schedule's title, switched by); columns reads, writes, not answered (percent), stale, back, lost (how
        many).
    """
    parts = {}
    for setup in run.setups:
        table = run.kept(setup)
        table.insert(2, "not answered, %", (_PERCENT * table.pop("failed")).round(2))
        parts[run.title(setup)] = table.rename(index=SWITCHED_BY)
    return pd.concat(parts, names=["schedule", "switched by"])


def escapes(run: AdvisedRun) -> pd.DataFrame:
    """Return each fault at which the adviser had to leave a setting, or could not: seconds in tenths."""
    found = pd.concat([run.escapes(setup).assign(schedule=run.title(setup)) for setup in run.setups], ignore_index=True)
    found["to"] = found["reason"].str.extract(r"^to ([^:]+):", expand=False).fillna("no safe way")
    shown = {
        "told_s": "known after, s", "failed_s": "first failed reply after, s", "left_s": "left after that reply, s",
    }  # fmt: skip
    table = found[["schedule", "start", "fault", "setting", "to", *shown]].rename(columns=shown)
    return table.round(dict.fromkeys(shown.values(), 1)).set_index(["schedule", "start"])


def escape_values(run: AdvisedRun) -> dict[str, float | int]:
    """Return what the prose quotes of `escapes`: how many, and their median and longest time, s."""
    table = escapes(run)
    left_s = table["left after that reply, s"][table["to"] != "no safe way"].dropna()
    return {
        "escapes": len(left_s), "stuck": int((table["to"] == "no safe way").sum()),
        "escape_median_s": float(left_s.median()), "escape_longest_s": float(left_s.max()),
        "advised_min": sum(run.length_s(setup) for setup in run.setups) * int(run.results.manifest["starts"]) / 60,
    }  # fmt: skip
