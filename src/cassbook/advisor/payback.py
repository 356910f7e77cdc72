"""For which loads, and on which clusters, adapting pays: a schedule of loads gone through on the map alone.

The loop is closed, so a phase of N requests in flight and latency L answers N/L per second. A switch that needs a sweep
lasts as long as the sweep, at the latency of the setting it comes from times the sweep's slowdown; other switches take
no time. How long the adviser takes to notice that the load has changed is left out,
and the map is taken at its word: whether two settings differ significantly is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.consistency import setting
from cassbook_advisor.policy import Policy, SweepCost, Terms
from cassbook_advisor.regime import Regime
from cassbook_advisor.window import Load

_REPLICAS = 3
ADAPTIVE, FREE = "adaptive", "free switch"


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of constant load."""

    seconds: float
    threads: int  # requests in flight
    read_share: float  # part that reads, 0 to 1


@dataclass(slots=True)
class _Total:
    """Waiting and answers, added up."""

    waited_s: float = 0.0
    answered: float = 0.0

    def add(self, threads: int, seconds: float, latency_us: float) -> None:
        self.waited_s += threads * seconds
        self.answered += threads * seconds / (latency_us / 1e6)

    @property
    def mean_us(self) -> float:
        return self.waited_s / self.answered * 1e6


def forecast(
    latency_map: LatencyMap,
    schedule: Sequence[Phase],
    sweep: SweepCost,
    start: str = "2R-2W",
    terms: Terms | None = None,
    rounds: int = 1,
) -> pd.Series:
    """Mean latency over a schedule, of each fixed setting, of the adviser and of a switch that costs nothing.

    Parameters
    ----------
    latency_map : LatencyMap
    schedule : sequence of Phase
    sweep : SweepCost
    start : str
        Setting that the adviser begins in.
    terms : Terms, optional
        The adviser's. Default: those that go by speed alone, with `survive=0`.
    rounds : int
        How often the schedule is gone through; only the last one counts.

    Returns
    -------
    Series of float
        By actor (`ADAPTIVE`, `FREE` and the settings' names): mean latency of a request, in us.

    Raises
    ------
    InputError
        For a phase outside what the map has measured.
    """
    return _forecast(
        _latencies(latency_map, schedule),
        schedule,
        sweep,
        start,
        Policy(latency_map, _REPLICAS, terms or Terms(survive=0)),
        rounds,
    )


_Latencies = dict[str, float]


def _latencies(latency_map: LatencyMap, schedule: Sequence[Phase]) -> list[_Latencies]:
    """Mean latency in each phase, by setting's name."""
    by_phase = []
    for phase in schedule:
        latency_map.check(phase.threads, phase.read_share)
        means = latency_map.means_us([phase.threads], [phase.read_share])[:, 0, 0]
        names = [each.name for each in latency_map.settings]
        by_phase.append(dict(zip(names, map(float, means), strict=True)))
    return by_phase


def fastest(latency_map: LatencyMap, schedule: Sequence[Phase]) -> list[str]:
    """The setting of least latency in each phase, as the map has it."""
    return [min(latency, key=latency.__getitem__) for latency in _latencies(latency_map, schedule)]


def _forecast(
    latencies: list[_Latencies], schedule: Sequence[Phase], sweep: SweepCost, start: str, policy: Policy, rounds: int
) -> pd.Series:
    totals = {name: _Total() for name in (*latencies[0], FREE)}
    for phase, latency in zip(schedule, latencies, strict=True):
        for name, latency_us in latency.items():
            totals[name].add(phase.threads, phase.seconds, latency_us)
        totals[FREE].add(phase.threads, phase.seconds, min(latency.values()))
    way = _Way(policy, sweep, setting(start).name)
    for _ in range(rounds):
        totals[ADAPTIVE] = _Total()
        for phase, latency in zip(schedule, latencies, strict=True):
            way.through(phase, latency, totals[ADAPTIVE])
    return pd.Series({name: total.mean_us for name, total in totals.items()}).rename_axis("actor")


class _Way:
    """The adviser's way through the phases."""

    def __init__(self, policy: Policy, sweep: SweepCost, start: str) -> None:
        self._policy, self._sweep = policy, sweep
        self._now = self._then = start
        self._left_s = 0.0  # of the sweep on the way from one to the other

    def through(self, phase: Phase, latency: _Latencies, total: _Total) -> None:
        left_s = phase.seconds
        if self._left_s <= 0:
            self._decide(phase, latency)
        while self._left_s > 0 and left_s > 0:  # on the way, whatever the load has become
            spent_s = min(self._left_s, left_s)
            total.add(phase.threads, spent_s, latency[self._now] * self._sweep.slowdown)
            self._left_s -= spent_s
            left_s -= spent_s
            if self._left_s <= 0:
                self._now = self._then
                self._decide(phase, latency)
        total.add(phase.threads, left_s, latency[self._now])

    def _decide(self, phase: Phase, latency: _Latencies) -> None:
        load = Load(phase.threads / (latency[self._now] / 1e6), phase.read_share, phase.threads)
        regime = Regime.settled(_REPLICAS, *setting(self._now).waits(_REPLICAS))
        proposal = self._policy.weigh(load, regime, self._sweep, latency)
        if proposal is None:
            return
        self._then = proposal.setting.name
        if proposal.sweeps:
            self._left_s = self._sweep.seconds
        else:
            self._now = self._then


def over_stays(
    latency_map: LatencyMap, schedule: Sequence[Phase], slowdown: float, stays: ArrayLike, margin: float = 0.1
) -> pd.DataFrame:
    """Adapting next to the best fixed setting, over how many sweeps long a load stays as it is.

    The schedule is gone through again and again; its phases all last the same, and the adviser knows how long.

    Parameters
    ----------
    latency_map : LatencyMap
    schedule : sequence of Phase
    slowdown : float
        See `SweepCost`.
    stays : array_like
        Lengths of a phase, in sweeps.
    margin : float
        See `Terms`.

    Returns
    -------
    DataFrame
        Index stay; columns `ADAPTIVE` and `FREE`: their mean latency by that of the best fixed setting; less than 1
        where adapting pays.
    """
    latencies, rows = _latencies(latency_map, schedule), {}
    for stay in np.asarray(stays, dtype=float).tolist():
        phases = [replace(phase, seconds=stay) for phase in schedule]
        policy = Policy(latency_map, _REPLICAS, Terms(margin=margin, horizon_s=stay, survive=0))
        means = _forecast(latencies, phases, SweepCost(1.0, slowdown), latency_map.settings[0].name, policy, rounds=2)
        fixed = means.drop([ADAPTIVE, FREE]).min()
        rows[stay] = means[[ADAPTIVE, FREE]] / fixed
    return pd.DataFrame(rows).T.rename_axis("stay")


def pays_from(ratios: pd.DataFrame) -> float:
    """Return the least stay of `over_stays` from which on adapting is always faster than the best fixed setting; NaN
    if there is none among them.
    """
    late = ratios.index[ratios[ADAPTIVE] >= 1]
    after = ratios.index[ratios.index > late.max()] if len(late) else ratios.index
    return float(after[0]) if len(after) else float("nan")


def shortest_stay(gain: ArrayLike, slowdown: float) -> np.ndarray:
    """How many sweeps long a load has to stay for a switch that needs one to save what it costs.

    While the sweep goes on requests take `slowdown` times as long as before; after it, 1 - `gain` times. Counted in
    waiting, it is even after (slowdown - (1 - gain)) / gain sweeps, whatever the rate.

    Parameters
    ----------
    gain : array_like
        Part of the latency that the new setting saves, more than 0 and less than 1.
    slowdown : float
        See `SweepCost`.
    """
    saved = np.asarray(gain, dtype=float)
    return (slowdown - (1 - saved)) / saved
