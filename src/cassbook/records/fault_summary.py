"""What each setting made of each fault of any schedule: requests due and unanswered, who noticed when, and p99."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.proportion import Proportion
from cassbook.latency.under_faults import ENDS, WIDTH_S, between
from cassbook.profile.fault_schedule import Fault
from cassbook.profile.faults import FaultEvent, FaultGroup
from cassbook.records.faults import OPERATIONS, VARIANT, FaultRun

#: How requests can end without an answer.
UNANSWERED = tuple(end for end in ENDS if end != "ok")
#: Times of a schedule for which p99 is given: before its first fault; from when a fault struck until it was noticed;
#: until it was over; and then until the next one, or the end of the load.
PHASES = ("before", "unnoticed", "noticed", "after")
#: Who marks a node down.
OBSERVERS = ("driver", "nodes")
#: Columns of `summary` that say which fault a row is about.
FAULT = ("schedule", "fault", "times", "starts")
#: Half seconds shortly before the first fault strikes may hold requests that it hits.
_CLEAR_S = 1.0


@dataclass(frozen=True, slots=True)
class ScheduledFault:
    """What a row of `summary` is about: a fault that a schedule orders, or all that it draws of one kind."""

    kind: str
    #: The first time that it is ordered; None for faults drawn at random.
    first: Fault | None = None
    #: How often the schedule orders it.
    times: int = 1


@dataclass(frozen=True, slots=True)
class _Struck:
    """One time that a fault struck, on one cluster start, in seconds since the schedule began."""

    start: int
    begins_s: float
    noticed_s: float
    ends_s: float
    until_s: float
    #: How long after it began the driver, and the last of the other nodes that did, had marked a node down.
    down_s: Mapping[str, float]

    def phases(self, first_s: float) -> dict[str, tuple[float, float]]:
        """Return from when to when each of `PHASES` lasted; `first_s` is when the first fault of all struck."""
        return {
            "before": (0.0, first_s - _CLEAR_S), "unnoticed": (self.begins_s, self.noticed_s),
            "noticed": (self.noticed_s, self.ends_s), "after": (self.ends_s, self.until_s),
        }  # fmt: skip


def summary(run: FaultRun, setups: Sequence[str] = ()) -> pd.DataFrame:
    """Return what each setting made of each fault of schedules, of all by default, all cluster starts together.

    A fault's requests are those that were due from when it struck until the next one did, or the load ended. One that
    the schedule repeats is one row, and so are random faults of one kind.

    One row per fault, `VARIANT` and operation: `FAULT` (name of the schedule, `ScheduledFault`, how many
    times it struck, on how many cluster starts), setting, driver, table, operation (reads or writes), due, unanswered,
    each of `UNANSWERED`, share with low and high (`Proportion`), driver_down_s and nodes_down_s (medians, NaN where it
    was not noticed), driver_noticed and nodes_noticed (how many times it was), and p99_before_ms and so on for each of
    `PHASES`: medians over half seconds of the p99 of answered requests, NaN where there is none.
    """
    parts = [
        _of_fault(run, setup, fault, struck) for setup in setups or run.setups for fault, struck in _struck(run, setup)
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(FAULT))


def p99_by_phase(run: FaultRun, setup: str) -> pd.DataFrame:
    """Return p99 in each phase of each time that a schedule's faults struck.

    One row per time and `VARIANT`: fault (its kind), start, `VARIANT`, and each of `PHASES`, medians over half seconds,
    in ms; NaN where no request was answered.
    """
    first_s = run.faults(setup).groupby("start")["begins_s"].min()
    parts = []
    for fault, one in ((fault, one) for fault, struck in _struck(run, setup) for one in struck):
        bins, phases = run.bins_of(setup, one.start), one.phases(first_s[one.start])
        medians = {
            phase: between(bins, *span).groupby(list(VARIANT), sort=False)["p99_ms"].median()
            for phase, span in phases.items()
        }
        parts.append(pd.DataFrame(medians).reset_index().assign(fault=fault.kind, start=one.start))
    return pd.concat(parts, ignore_index=True)


def not_struck(run: FaultRun) -> list[tuple[str, ScheduledFault]]:
    """Return faults that a schedule orders and that were not carried out before its load ended, by schedule."""
    missing = []
    for setup in run.setups:
        known = [fault for fault, _ in _struck(run, setup)]
        missing += [(setup, fault) for fault in _ordered(run.profile(setup)).values() if fault not in known]
    return list(dict.fromkeys(missing))


def _ordered(profile: Mapping[str, Any]) -> dict[int, ScheduledFault]:
    """Return the fault of each number in a profile's schedule; none for one that is drawn at random."""
    found: list[ScheduledFault] = []
    for event in profile.get("faults", {}).get("events") or ():
        if "do" in event:
            faults = FaultEvent.model_validate(event).schedule().faults
            found += [ScheduledFault(faults[0].kind, faults[0], len(faults))] * len(faults)
        else:  # a group, of which each fault is a row by itself
            faults = FaultGroup.model_validate(event).schedule(None).faults
            found += [ScheduledFault(fault.kind, fault) for fault in faults if not fault.drawn]
    return dict(enumerate(found, 1))


def _struck(run: FaultRun, setup: str) -> list[tuple[ScheduledFault, list[_Struck]]]:
    """Return each fault of a schedule, and each time that it struck."""
    ordered, found = _ordered(run.profile(setup)), dict[ScheduledFault, list[_Struck]]()
    noticed = run.noticed(setup)
    noticed = noticed[noticed["observer"] != noticed["node"].astype(str)].dropna(subset=["down_s"])
    for _, nodes in run.faults(setup).groupby(["start", "number"]):
        start, number = (int(nodes[name].iloc[0]) for name in ("start", "number"))
        begins_s, until_s = nodes["begins_s"].min(), nodes["until_s"].max()
        ends_s = nodes["ends_s"].fillna(until_s).clip(upper=until_s).max()
        of_this = noticed[(noticed["start"] == start) & (noticed["number"] == number)]
        by_driver = of_this["observer"] == "driver"
        down_s = {"driver": of_this[by_driver]["down_s"].max(), "nodes": of_this[~by_driver]["down_s"].max()}
        known_s = [begins_s + after for after in down_s.values() if begins_s + after < ends_s]  # not NaN
        noticed_s = max([begins_s + WIDTH_S, *known_s]) if known_s else ends_s
        fault = ordered.get(number, ScheduledFault(str(nodes["fault"].iloc[0])))
        found.setdefault(fault, []).append(_Struck(start, begins_s, min(noticed_s, ends_s), ends_s, until_s, down_s))
    return list(found.items())


def _of_fault(run: FaultRun, setup: str, fault: ScheduledFault, struck: list[_Struck]) -> pd.DataFrame:
    keys = [*VARIANT]
    first_s = run.faults(setup).groupby("start")["begins_s"].min()
    during: list[pd.DataFrame] = []
    parts: dict[str, list[pd.DataFrame]] = {phase: [] for phase in PHASES}
    for one in struck:
        bins = run.bins_of(setup, one.start)
        during.append(between(bins, one.begins_s, one.until_s).assign(start=one.start))
        for phase, (from_s, to_s) in one.phases(first_s[one.start]).items():
            parts[phase].append(between(bins, from_s, to_s))
    counts = pd.concat(during).groupby([*keys, "start"], sort=False)[["n", "ok", *UNANSWERED]].sum()
    rows = []
    for variant, own in counts.groupby(level=keys, sort=False):
        share = Proportion.grouped(own["n"] - own["ok"], own["n"])
        rows.append(
            dict(zip(keys, variant, strict=True)) | {"due": int(own["n"].sum())}
            | {"unanswered": int((own["n"] - own["ok"]).sum())} | own[list(UNANSWERED)].sum().to_dict()
            | {"share": share.value, "low": share.low, "high": share.high}
        )  # fmt: skip
    table = pd.DataFrame(rows).set_index(keys)
    for who in OBSERVERS:
        down_s = pd.Series([one.down_s[who] for one in struck], dtype=float)
        table[f"{who}_down_s"], table[f"{who}_noticed"] = down_s.median(), int(down_s.notna().sum())
    for phase in PHASES:
        table[f"p99_{phase}_ms"] = pd.concat(parts[phase]).groupby(keys)["p99_ms"].median()
    table = table.reset_index().assign(operation=lambda of: of["operation"].map(OPERATIONS))
    starts = len({one.start for one in struck})
    which = table.assign(
        schedule=setup,
        fault=pd.Series([fault] * len(table), table.index, dtype=object),
        times=len(struck),
        starts=starts,
    )
    return _sorted(which[[*FAULT, *table.columns]])


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    """Put reads before writes of each setting, in the order of the record."""
    place = {name: number for number, name in enumerate(table["setting"].drop_duplicates())}
    rank = np.array([place[name] for name in table["setting"]])
    return table.assign(rank=rank).sort_values(["rank", "driver", "table", "operation"]).drop(columns="rank")
