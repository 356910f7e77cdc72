"""Whether a switch pays: the map's forecast against what the way there costs.

Latency counts in *seconds of waiting per second*: requests per second times mean latency, the number in flight.
A switch saves some of that for as long as the load stays as it is, and costs some on its way, above all while a sweep
is under way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.regime import Regime, Step, transition
from cassbook.advisor.sweep_cost import SweepCost
from cassbook.advisor.window import Load
from cassbook.core.consistency import Setting
from cassbook.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Terms:
    """When to switch.

    Attributes
    ----------
    margin : float
        Hysteresis: the other setting has to be faster by this part of the present latency, 0.1 for 10 %.
    dwell_s : float
        Shortest time in a setting, from its arrival on.
    horizon_s : float
        How long the load is taken to stay as it is.
    fewest_per_s : float
        Below so many requests per second nothing is decided.
    """

    margin: float = 0.1
    dwell_s: float = 20.0
    horizon_s: float = 300.0
    fewest_per_s: float = 10.0

    def __post_init__(self) -> None:
        for name in ("margin", "dwell_s", "horizon_s", "fewest_per_s"):
            value = getattr(self, name)
            if not value >= 0:
                raise InputError(f"{name}: {value!r} must be 0 or more")


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a switch is expected to bring, in seconds of waiting.

    Attributes
    ----------
    setting : Setting
        Where to.
    now_us, then_us : float
        Mean latency in the present setting and in that one.
    saved_s : float
        Over the horizon.
    cost_s : float
        Of the way there: the sweep, if it needs one.
    sweeps : bool
        Whether it does.
    """

    setting: Setting
    now_us: float
    then_us: float
    saved_s: float
    cost_s: float
    sweeps: bool

    @property
    def pays(self) -> bool:
        """Whether it saves more than it costs."""
        return self.saved_s > self.cost_s


class Policy:
    """Chooses among the strong settings of a map.

    Parameters
    ----------
    latency_map : LatencyMap
    replicas : int
        The replication factor.
    terms : Terms
    least : tuple of int
        Least (reads, writes) that clients outside the register leave (see `regime.bound_by_others`).
    """

    def __init__(
        self, latency_map: LatencyMap, replicas: int, terms: Terms | None = None, least: tuple[int, int] = (1, 1)
    ) -> None:
        self.terms = terms or Terms()
        self._map, self._replicas = latency_map, replicas
        self._waits = {s: s.waits(replicas) for s in latency_map.settings}
        self._least = least
        self._allowed = [s for s, waits in self._waits.items() if self.enough(*waits)]
        if not self._allowed:
            raise InputError(
                f"{latency_map.name}: no measured setting reads at least {least[0]} and writes at least {least[1]} "
                "replicas, which clients outside the register need"
            )

    def enough(self, reads: int, writes: int) -> bool:
        """Whether these levels meet clients outside the register, both ways."""
        return reads >= self._least[0] and writes >= self._least[1]

    def check(self, reads: int, writes: int) -> None:
        """Refuse levels that do not meet clients outside the register.

        Raises
        ------
        InputError
            Saying what they need.
        """
        if not self.enough(reads, writes):
            raise InputError(
                f"{reads}R-{writes}W: clients outside the register need reads of at least {self._least[0]} and writes "
                f"of at least {self._least[1]} replicas"
            )

    def best(self, load: Load, regime: Regime, sweep: SweepCost) -> Forecast | None:
        """Return the forecast of the setting worth switching to, or None to stay.

        Outside what the map has measured there is nothing to go by: it stays.
        """
        if load.per_s < self.terms.fewest_per_s:
            return None
        at = self._map.means_us([load.in_flight], [load.read_share])[:, 0, 0]
        return self.weigh(load, regime, sweep, dict(zip(self._map.settings, map(float, at), strict=True)))

    def weigh(self, load: Load, regime: Regime, sweep: SweepCost, means_us: Mapping[Setting, float]) -> Forecast | None:
        """As `best`, by mean latencies of the settings at this load (NaN where they are not known)."""
        now_us = next((means_us[s] for s, waits in self._waits.items() if waits == (regime.reads, regime.writes)), None)
        known = [s for s in self._allowed if np.isfinite(means_us[s])]
        if now_us is None or not np.isfinite(now_us) or not known:
            return None
        target = min(known, key=lambda s: means_us[s])
        then_us = means_us[target]
        if then_us >= now_us * (1 - self.terms.margin):
            return None
        saved_s = load.per_s * (now_us - then_us) / 1e6 * self.terms.horizon_s
        sweeps = any(step is Step.SETTLE for step, _ in transition(regime, *self._waits[target]))
        # Until a sweep is over, requests wait as long as they did during the last one, not as long as in `target`.
        longer_us = max(0.0, now_us * sweep.slowdown - then_us) if sweeps else 0.0
        cost_s = load.per_s * sweep.seconds * longer_us / 1e6
        forecast = Forecast(target, now_us, then_us, saved_s, cost_s, sweeps)
        return forecast if forecast.pays else None

    def waits(self, setting: Setting) -> tuple[int, int]:
        """(reads, writes) of a setting, as numbers of replicas."""
        return self._waits[setting]
