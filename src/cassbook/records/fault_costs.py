"""What a failure costs each setting, as it was recorded: what stands beside an answer about latency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import pandas as pd

from cassbook.core.consistency import setting
from cassbook.core.proportion import Proportion
from cassbook.latency.under_faults import between
from cassbook.records import manifest
from cassbook.records.faults import OPERATIONS, FaultRun

#: Records of `cassbook experiment faults-all`: of a version before 4.0, and of one since.
BEFORE_4, SINCE_4 = "faults-2.1.20", "faults-5.0.9"
_FROM = 4
_REPLICAS = 3
#: The schedule that kills one node of three.
KILL = "faults-kill"


def while_dead(run: FaultRun, setup: str = KILL) -> pd.DataFrame:
    """Return which share of requests each setting leaves unanswered while the node of a schedule's first fault is dead.

    From when it struck until the node answered again.

    Index setting, columns reads and writes: counts of all cluster starts, each of which is a group.
    """
    counts = []
    for fault in run.faults(setup).query("number == 1").to_dict("records"):
        own = between(run.bins_of(setup, fault["start"]), fault["begins_s"], fault["ends_s"])
        counts.append(own.groupby(["setting", "operation"], sort=False)[["ok", "n"]].sum())
    over = pd.concat(counts).groupby(level=["setting", "operation"], sort=False)
    shares = pd.Series({pair: Proportion.grouped(own["n"] - own["ok"], own["n"]) for pair, own in over})
    return shares.unstack().rename(columns=OPERATIONS)[list(OPERATIONS.values())]  # noqa: PD010 - of objects


def by_level(run: FaultRun) -> dict[tuple[str, int], Proportion]:
    """Return `while_dead` by reads or writes and how many replicas they wait for, of the first setting that does so."""
    found: dict[tuple[str, int], Proportion] = {}
    for name, row in while_dead(run).iterrows():
        for operation, waits in zip(("reads", "writes"), setting(str(name)).waits(_REPLICAS), strict=True):
            found.setdefault((operation, waits), row[operation])
    return found


def record_for(engine: str) -> str | None:
    """Name the record for a version of Cassandra; None for what is none, or where no record is there."""
    major = engine.partition(".")[0]
    if not major.isdigit():
        return None
    name = BEFORE_4 if int(major) < _FROM else SINCE_4
    return name if manifest.find(name) else None


@dataclass(frozen=True, slots=True)
class Unanswered:
    """What settings left unanswered while a node was dead."""

    record: str
    replicas: int
    kills: int
    #: By the replicas that reads and writes wait for: of 'reads' and of 'writes'.
    shares: Mapping[tuple[int, int], Mapping[str, Proportion]]


def of_settings(pairs: Iterable[tuple[int, int]], replicas: int, engine: str) -> Unanswered | None:
    """Return what settings left unanswered while a node was dead.

    `pairs`: replicas that reads and writes wait for.

    None where nothing is recorded: of another number of replicas, or of these settings.
    """
    name = record_for(engine) if replicas == _REPLICAS else None
    costs = {} if name is None else _costs(name)
    known = {pair: costs[pair] for pair in dict.fromkeys(pairs) if pair in costs}
    if name is None or not known:
        return None
    kills = max(share.groups for shares in known.values() for share in shares.values())
    return Unanswered(name, replicas, kills, known)


@cache
def _costs(name: str) -> dict[tuple[int, int], dict[str, Proportion]]:
    """By replicas waited for, what is left unanswered of reads and of writes."""
    table = while_dead(FaultRun(name))
    return {setting(str(pair)).waits(_REPLICAS): dict(row) for pair, row in table.iterrows()}
