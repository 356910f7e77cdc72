"""What a failure costs each setting, as it was recorded: what stands beside an answer about latency."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pandas as pd

from cassbook.core.consistency import setting, setting_waiting_for
from cassbook.core.estimate import Estimate
from cassbook.core.paths import runs_dir
from cassbook.latency.under_faults import between
from cassbook.records.faults import OPERATIONS, FaultRun

#: Records of `cassbook experiment faults-all`: of a version before 4.0, and of one since.
BEFORE_4, SINCE_4 = "faults-2.1.20", "faults-5.0.9"
_FROM = 4
_REPLICAS = 3
#: The schedule that kills one node of three.
KILL = "faults-kill"
_PERCENT = 100


def while_dead(run: FaultRun, setup: str = KILL) -> pd.DataFrame:
    """Return which share of requests each setting leaves unanswered while the node of a schedule's first fault is dead.

    From when it struck until the node answered again.

    Returns
    -------
    DataFrame of Estimate
        Index setting, columns reads and writes: means over cluster starts, of shares from 0 to 1.
    """
    shares = []
    for fault in run.faults(setup).query("number == 1").to_dict("records"):
        own = between(run.bins_of(setup, fault["start"]), fault["begins_s"], fault["ends_s"])
        sums = own.groupby(["setting", "operation"], sort=False)[["ok", "n"]].sum()
        shares.append(1 - sums["ok"] / sums["n"])
    over = pd.concat(shares).groupby(level=["setting", "operation"], sort=False)
    return over.apply(Estimate.mean_share).unstack("operation").rename(columns=OPERATIONS)  # noqa: PD010 - of objects


def by_level(run: FaultRun) -> dict[tuple[str, int], Estimate]:
    """Return `while_dead` by reads or writes and how many replicas they wait for, of the first setting that does so."""
    found: dict[tuple[str, int], Estimate] = {}
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
    return name if (runs_dir() / name / "manifest.json").is_file() else None


def said(pairs: Iterable[tuple[int, int]], replicas: int, engine: str) -> list[str]:
    """Say in a sentence what settings leave unanswered while a node is dead.

    Parameters
    ----------
    pairs : iterable of (int, int)
        Replicas that reads and writes wait for.
    replicas : int
    engine : str

    Returns
    -------
    list of str
        Empty where nothing is recorded: of another number of replicas, or of these settings.
    """
    name = record_for(engine) if replicas == _REPLICAS else None
    if name is None:
        return []
    costs = _costs(name)
    parts = [f"{setting_waiting_for(*pair)} leaves {costs[pair]}" for pair in dict.fromkeys(pairs) if pair in costs]
    return [f"while one of {replicas} nodes is dead ({name}): {'; '.join(parts)}"] if parts else []


@cache
def _costs(name: str) -> dict[tuple[int, int], str]:
    """By replicas waited for, what is left unanswered, in words."""
    costs = {}
    for pair, row in while_dead(FaultRun(name)).iterrows():
        reads, writes = (part(row[operation], operation) for operation in ("reads", "writes"))
        costs[setting(str(pair)).waits(_REPLICAS)] = f"{reads} and {writes} unanswered"
    return costs


def part(share: Estimate, operation: str) -> str:
    """Say a share of reads or of writes in words: '2.0 [0.0, 4.5] % of reads', 'no writes'."""
    return f"{share.times(_PERCENT):.1f} % of {operation}" if share.high else f"no {operation}"
