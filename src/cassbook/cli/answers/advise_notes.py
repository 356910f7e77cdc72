"""What an answer of `cassbook advise` rests on, in sentences: marks, percentiles of mixes, operations, and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from cassbook.advisor.advice import Advice, Choice
from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.consistency import Setting, dead_replicas, stops
from cassbook.core.errors import InputError
from cassbook.core.schema import explained
from cassbook.core.words import counted
from cassbook.latency import percentiles
from cassbook.latency.percentile_validation import NEIGHBOURS, PURE
from cassbook.latency.uncertainty import ONE_START

_SHOWN = 3
_THERE = "a cell there has {}"


def check_bound(bound_ms: float | None) -> None:
    """Refuse a bound that nothing can keep.

    Raises
    ------
    InputError
        For one that is not above 0.
    """
    if bound_ms is not None and not bound_ms > 0:
        raise InputError(f"--bound-ms: {bound_ms:g} is not above 0; give the longest latency to keep, in ms")


def on_marks(advice: Advice) -> list[str]:
    """Name the marks of the cells that an answer rests on, and what each means."""
    return [f"  marked {mark} ({', '.join(names)}): {explained(mark)}" for mark, names in _by_mark(advice).items()]


def _by_mark(advice: Advice) -> dict[str, list[str]]:
    found = sorted({mark for choice in advice.choices for mark in choice.marks})
    return {mark: [choice.setting.name for choice in advice.choices if mark in choice.marks] for mark in found}


def marks_as_dict(advice: Advice) -> dict[str, str]:
    """Marks of the cells that an answer rests on, with what each means."""
    return {mark: explained(mark) for mark in _by_mark(advice)}


def on_support(advice: Advice) -> list[str]:
    """Name the settings that have too few operations for the percentile, and how many more they need."""
    return [
        f"  {advice.by} of {setting.name} is not shown: it {percentiles.lacking(advice.by, least, _THERE)}; it may be "
        "faster than those above"
        for setting, least in advice.too_few.items()
    ]


def on_one_start(advice: Advice) -> list[str]:
    """Say what intervals of a percentile mean where there is one cluster start."""
    if advice.by == "mean" or all(choice.interval != ONE_START for choice in advice.choices):
        return []
    return ["  intervals are within one cluster start, by order statistics: what another start would give is not known"]


def on_accuracy(latency_map: LatencyMap) -> list[str]:
    """Say how far percentiles of mixes made from other cells were off, on this run."""
    rows = latency_map.mix_accuracy.set_index("made_from")
    said = [
        f"{what} by {mean:.0f} % on average, {worst:.0f} % at worst"
        for kind, what in ((PURE, "from pure cells"), (NEIGHBOURS, "from neighbouring mixes"))
        for mean, worst in rows.loc[rows.index == kind, ["mean_percent", "worst_percent"]].to_numpy()
    ]
    if not said:
        return []
    return [f"  {latency_map.by} of mixes made {said[0].replace(' by ', ' was off by ', 1)}, on this run"
            + "".join(f"; {other}" for other in said[1:])]  # fmt: skip


class Bound:
    """Which settings of an advice keep a bound.

    Parameters
    ----------
    advice : Advice
    bound_ms : float
    """

    def __init__(self, advice: Advice, bound_ms: float) -> None:
        self._advice, self.bound_ms = advice, bound_ms
        self.kept = [choice for choice in advice.surviving if self.keeps(choice)]
        self._others = [choice for choice in advice.choices if self.keeps(choice) and choice not in advice.surviving]

    def keeps(self, choice: Choice) -> bool:
        """Whether a setting's latency is no longer than the bound."""
        return choice.latency_us.value <= self.bound_ms * 1e3

    @property
    def nearest(self) -> Choice | None:
        """The fastest of the settings that survive enough, or as much as can be had, where none keeps the bound."""
        if self.kept or (not self._advice.surviving and self._advice.unknown):
            return None
        return self._advice.recommended or self._advice.nearest

    def lines(self) -> list[str]:
        """Say which settings keep the bound; that none does is an answer."""
        by = "mean latency" if self._advice.by == "mean" else self._advice.by
        head = f"  {by} within {self.bound_ms:g} ms: "
        if self.kept:
            return [head + ", ".join(map(self._named, self.kept))]
        survive = self._advice.survive
        who = f"none that survives {dead_replicas(survive)}" if survive else "none"
        if self._advice.unknown:
            who += f" is known to; {', '.join(setting.name for setting in self._advice.unknown)} is not known"
        if self.nearest is not None:
            who += f"; nearest is {self.nearest.setting.name} with {self.nearest.latency_us.value / 1e3:.2f} ms"
        others = [
            f"{choice.setting.name} keeps it, but {stops(*choice.survives, survive)}: --survive {choice.survives_both}"
            for choice in self._others
        ]
        return ["; ".join([head + who, *others])]

    def _named(self, choice: Choice) -> str:
        high = choice.latency_us.high
        if np.isnan(high):
            return f"{choice.setting.name} (no interval: one cluster start)"
        if high > self.bound_ms * 1e3:
            return f"{choice.setting.name} (its interval reaches {high / 1e3:.2f} ms)"
        return f"{choice.setting.name} (all of its interval)"

    def as_dict(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same for JSON; `rows` are the settings by name."""
        clear = [choice for choice in self.kept if choice.latency_us.high <= self.bound_ms * 1e3]
        return {
            "bound_ms": self.bound_ms,
            "kept_by": [choice.setting.name for choice in self.kept],
            "kept_by_whole_interval": [choice.setting.name for choice in clear],
            "kept_but_survives_less": [choice.setting.name for choice in self._others],
            "nearest": None if self.nearest is None else rows[self.nearest.setting.name],
        }


def marks_at(latency_map: LatencyMap, table: pd.DataFrame, column: str = "best") -> list[str]:
    """Marks of the winner of each point of a map, as `a;b`; empty where there are none, or no winner."""
    settings: dict[object, Setting] = {setting.name: setting for setting in latency_map.settings}
    points = zip(table[column], table["threads"], table["read_share"], strict=True)
    return [
        ";".join(sorted(latency_map.marks(settings[name], float(threads), float(share)))) if name in settings else ""
        for name, threads, share in points
    ]


def on_map_marks(table: pd.DataFrame, marks: Iterable[str]) -> list[str]:
    """Name the marks on a map, how many points have each, and some of them."""
    own = [set(one.split(";")) - {""} for one in marks]
    lines = []
    for mark in sorted(set().union(*own)):
        there = table[[mark in one for one in own]]
        points = [
            f"{counted(t, 'thread')}, {s:.0%} reads" for t, s in zip(there["threads"], there["read_share"], strict=True)
        ]
        more = [f"and {len(points) - _SHOWN} more"] if len(points) > _SHOWN else []
        at = f"at {len(points)} of {counted(len(table), 'point')} ({'; '.join([*points[:_SHOWN], *more])})"
        lines.append(f"*  marked {mark} {at}: {explained(mark)}")
    return lines


def _too_few(latency_map: LatencyMap, shares: Iterable[float]) -> Iterator[tuple[float, float, dict[Setting, float]]]:
    """Yield the points of a map at which the percentile of some setting is not known: share of reads, threads."""
    if latency_map.by == "mean":
        return
    for share in shares:
        for threads in map(float, latency_map.threads):
            if few := latency_map.too_few(threads, share):
                yield share, threads, few


def unknown_at(latency_map: LatencyMap, shares: Iterable[float]) -> pd.DataFrame:
    """Return read_share, threads and not_known (names, `a;b`) of the points where some setting is not known."""
    rows = [(share, t, ";".join(s.name for s in few)) for share, t, few in _too_few(latency_map, shares)]
    return pd.DataFrame(rows, columns=["read_share", "threads", "not_known"])


def on_map_support(latency_map: LatencyMap, shares: Iterable[float]) -> list[str]:
    """Name the settings that a map of a percentile lacks at some points, for want of operations."""
    missing: dict[str, tuple[int, float]] = {}
    for _, _, few in _too_few(latency_map, shares):
        for setting, least in few.items():
            points, fewest = missing.get(setting.name, (0, np.inf))
            missing[setting.name] = points + 1, min(fewest, least)
    return [
        f"{latency_map.by} of {name} is not known at {counted(points, 'point')}: it "
        + percentiles.lacking(latency_map.by, fewest, "the fewest there are {}")
        for name, (points, fewest) in missing.items()
    ]
