"""Tables of the chapter on the adviser while nodes fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.proportion import Proportion
from cassbook.core.units import PERCENT
from cassbook.records.faults import AdvisedRun

#: What the tables of `cassbook experiment adviser-failing` are switched by.
SWITCHED_BY = {"safe": "the adviser", "naive": "the paper's switching", "fixed": "nobody: always 2R-2W"}
#: Schedules in fewer words than their titles, which would make the table wider than the page.
_SHORT = {
    "faults-advised": "one node at a time", "faults-register": "two nodes", "faults-advised-no-hints": "one, no hints",
}  # fmt: skip
#: Where writes go on that have a way out, as the adviser puts it, while reads have none.
_LOWERED = r"writes go on in (\S+)$"
#: By when the adviser has promised to have left, if no member of its register has died and no sweep is due.
PROMPT_S = 3.0


def kept(run: AdvisedRun) -> pd.DataFrame:
    """Return what became of requests, by schedule and by who switches settings, over all cluster starts.

    Returns
    -------
    DataFrame
        Index (schedule, switched by); columns reads, writes, not answered (percent), stale, back, lost (how
        many).
    """
    parts = {}
    for setup in run.setups:
        table = run.kept(setup)
        table = table.drop(columns="failed")
        table.insert(
            2, "not answered, %", _shares(run.counts(setup), "unanswered", "n").map(lambda of: of.text(digits=2))
        )
        parts[_SHORT.get(setup, setup)] = table.rename(index=SWITCHED_BY)
    return pd.concat(parts, names=["schedule", "switched by"])


def _shares(counts: pd.DataFrame, what: str, of: str) -> pd.Series:
    """Return a share by table (`Proportion`): each cluster start of a schedule is a group."""
    return pd.Series({
        table: Proportion.grouped(own[what], own[of]) for table, own in counts.groupby(level="table", sort=False)
    })  # fmt: skip


def escapes(run: AdvisedRun) -> pd.DataFrame:
    """Return each fault at which the adviser had to leave a setting, or could not: seconds in tenths."""
    parts = [run.escapes(setup).assign(schedule=_SHORT.get(setup, setup)) for setup in run.setups]
    found = pd.concat(parts, ignore_index=True)
    lowered = found["reason"].str.extract(_LOWERED, expand=False) + ", writes only"
    found["to"] = found["reason"].str.extract(r"^to ([^:]+):", expand=False).fillna(lowered).fillna("no safe way")
    shown = {
        "known_s": "known after, s", "failed_s": "first failed reply after, s", "left_s": "left after that reply, s",
    }  # fmt: skip
    found["members"] = np.where(found["lived"], "all live", "one has died")
    found["sweep"] = np.where(found["swept"], "yes", "")
    table = found[["schedule", "start", "fault", "setting", "to", "sweep", "members", *shown]].rename(columns=shown)
    return table.round(dict.fromkeys(shown.values(), 1)).set_index(["schedule", "start"])


def escape_values(run: AdvisedRun) -> dict[str, float | int]:
    """Return what the prose quotes of escapes.

    Returns
    -------
    dict
        escapes (that arrived), stuck (had no safe way, or one for writes alone: writing of them); of those that arrived
        while no member of the register had died and no sweep was due: direct, prompt (within `PROMPT_S`),
        direct_longest_s; swept_longest_s of those out of reads at ALL with a sweep, and died_longest_s of those without
        one, with a way out, while a member had died; advised_min (of schedule).
    """
    found = pd.concat([run.escapes(setup) for setup in run.setups], ignore_index=True)
    left = found[found["left_s"].notna()]
    rest, by_all = left[~left["swept"]], left[left["swept"] & left["setting"].str.startswith("3R")]
    direct = rest[rest["lived"]]["left_s"]
    died = rest[~rest["lived"] & rest["reason"].str.startswith("to ")]
    return {
        "escapes": len(left), "stuck": int((~found["reason"].str.startswith("to ")).sum()),
        "writing": int(found["reason"].str.extract(_LOWERED, expand=False).notna().sum()), "direct": len(direct),
        "prompt": int((direct < PROMPT_S).sum()), "direct_longest_s": float(direct.max()),
        "swept_longest_s": float(by_all["left_s"].max()), "died_longest_s": float(died["left_s"].max()),
        "advised_min": sum(run.length_s(setup) for setup in run.setups) * int(run.results.manifest["starts"]) / 60,
    }  # fmt: skip


def kept_values(run: AdvisedRun, setups: Sequence[str] = ()) -> dict[str, str]:
    """Return what the prose quotes of schedules together, all by default, by who switches: safe, naive, fixed.

    Each with _stale, _back and _lost, as '4 of 600'; _stale_most, the upper bound of stale reads in percent; and
    _failed, the percent that was not answered, with its bounds.
    """
    chosen = setups or run.setups
    total = pd.concat([run.kept(setup) for setup in chosen]).groupby(level="table").sum()
    counts = pd.concat([run.counts(setup) for setup in chosen])
    failed, stale = _shares(counts, "unanswered", "n"), _shares(counts, "stale", "reads")
    found = {f"{table}_failed": share.text() for table, share in failed.items()}
    found |= {f"{table}_stale_most": f"{PERCENT * share.high:.2g}" for table, share in stale.items()}
    for row in total.reset_index().to_dict("records"):
        for what, of in (("stale", "reads"), ("back", "reads"), ("lost", "writes")):
            found[f"{row['table']}_{what}"] = f"{row[what]:,} of {row[of]:,}"
    return found


def quoted(
    pair: Mapping[str, AdvisedRun], values: Callable[[AdvisedRun], Mapping[str, Any]], names: Sequence[str]
) -> dict[str, Any]:
    """Return what `kept_values` or `escape_values` say of each run under these names, the run's own behind them."""
    by_suffix = {suffix: values(run) for suffix, run in pair.items()}
    return {f"{name}_{suffix}": of_run[name] for suffix, of_run in by_suffix.items() for name in names}
