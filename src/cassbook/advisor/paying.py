"""For which loads, and on which clusters, adapting pays: a schedule of loads gone through on the map alone.

The loop is closed, so a phase of N requests in flight and latency L answers N/L a second. A switch that needs a sweep
lasts as long as the sweep, at the latency of the setting it comes from times the sweep's slowdown; other switches take
no time. How long the adviser takes to notice that the load has changed is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.load import Load
from cassbook.advisor.policy import Policy, Terms
from cassbook.advisor.regime import Regime, Step, transition
from cassbook.advisor.sweep_cost import SweepCost
from cassbook.consistency import setting

Floats = NDArray[np.float64]

_REPLICAS = 3
ADAPTIVE, FREE = "adaptive", "free switch"


class Phase(Protocol):
    """See `shifting.Phase`."""

    @property
    def seconds(self) -> float:
        """How long."""

    @property
    def threads(self) -> int:
        """Requests in flight."""

    @property
    def read_share(self) -> float:
        """Part that reads."""


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
        The adviser's.
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
    asked = latency_map if isinstance(latency_map, _Asked) else _Asked(latency_map, schedule)
    latencies = [asked.means[phase.threads, phase.read_share] for phase in schedule]
    names = [s.name for s in latency_map.settings]
    totals = {name: _Total() for name in names} | {FREE: _Total()}
    for phase, latency in zip(schedule, latencies, strict=True):
        for name in names:
            totals[name].add(phase.threads, phase.seconds, latency[name])
        totals[FREE].add(phase.threads, phase.seconds, min(latency.values()))
    way = _Way(Policy(asked, _REPLICAS, terms), sweep, start)
    for _ in range(rounds):
        totals[ADAPTIVE] = _Total()
        for phase, latency in zip(schedule, latencies, strict=True):
            way.through(phase, latency, totals[ADAPTIVE])
    return pd.Series({name: total.mean_us for name, total in totals.items()}).rename_axis("actor")


class _Asked(LatencyMap):
    """A map that has been asked for the phases of a schedule, for they come again and again."""

    def __init__(self, latency_map: LatencyMap, schedule: Sequence[Phase]) -> None:
        self.name, self.settings = latency_map.name, latency_map.settings
        self.means: dict[tuple[float, float], dict[str, float]] = {}
        for phase in schedule:
            latency_map.check(phase.threads, phase.read_share)
            values = latency_map.means_us([phase.threads], [phase.read_share])[:, 0, 0]
            self.means[phase.threads, phase.read_share] = {
                s.name: float(value) for s, value in zip(self.settings, values, strict=True)
            }

    def means_us(self, threads: ArrayLike, read_shares: ArrayLike) -> Floats:
        """As the map's, for one of the phases."""
        (count,), (share,) = np.asarray(threads).tolist(), np.asarray(read_shares).tolist()
        return np.array([self.means[count, share][s.name] for s in self.settings])[:, None, None]


class _Way:
    """The adviser's way through the phases."""

    def __init__(self, policy: Policy, sweep: SweepCost, start: str) -> None:
        self._policy, self._sweep, self._now = policy, sweep, start
        self._then, self._left_s = start, 0.0

    def through(self, phase: Phase, latency: dict[str, float], total: _Total) -> None:
        left_s = phase.seconds
        while left_s > 0:
            if self._left_s > 0:  # on the way, whatever the load has become
                spent_s = min(self._left_s, left_s)
                total.add(phase.threads, spent_s, latency[self._now] * self._sweep.slowdown)
                self._left_s -= spent_s
                left_s -= spent_s
                if self._left_s <= 0:
                    self._now = self._then
            elif not self._leaves(phase, latency[self._now]):
                total.add(phase.threads, left_s, latency[self._now])
                return

    def _leaves(self, phase: Phase, now_us: float) -> bool:
        load = Load(phase.threads / (now_us / 1e6), phase.read_share, phase.threads)
        regime = Regime.settled(_REPLICAS, *setting(self._now).waits(_REPLICAS))
        found = self._policy.best(load, regime, self._sweep)
        if found is None:
            return False
        self._then = found.setting.name
        self._left_s = self._sweep.seconds if _sweeps(regime, self._then) else 0.0
        if self._left_s <= 0:
            self._now = self._then
        return True


def _sweeps(regime: Regime, name: str) -> bool:
    return any(step is Step.SETTLE for step, _ in transition(regime, *setting(name).waits(_REPLICAS)))


def over_stays(
    latency_map: LatencyMap, schedule: Sequence[Phase], slowdown: float, stays: ArrayLike, margin: float = 0.1
) -> pd.DataFrame:
    """Adapting beside the best fixed setting, over how many sweeps long a load stays as it is.

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
    asked, rows = _Asked(latency_map, schedule), {}
    for stay in np.asarray(stays, dtype=float):
        phases = [_Long(float(stay), phase.threads, phase.read_share) for phase in schedule]
        terms = Terms(margin=margin, horizon_s=float(stay))
        means = forecast(asked, phases, SweepCost(1.0, slowdown), terms=terms, rounds=2)
        fixed = means.drop([ADAPTIVE, FREE]).min()
        rows[float(stay)] = means[[ADAPTIVE, FREE]] / fixed
    return pd.DataFrame(rows).T.rename_axis("stay")


@dataclass(frozen=True, slots=True)
class _Long:
    seconds: float
    threads: int
    read_share: float


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
