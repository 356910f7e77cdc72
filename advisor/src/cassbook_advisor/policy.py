"""Whether a switch pays: the map's forecast against what the way there costs, among the settings that may be chosen.

A setting may be chosen if it survives as many dead replicas as `Terms.survive` says, and meets what clients outside
the register need. With three replicas QUORUM/QUORUM alone survives one, so there is nothing to switch unless the terms
say `survive=0`. Where the map has limits that a service keeps, a setting may be chosen only at rates at
which it is known to keep them all, and one that does not is left for one that does. For speed a switch is made only
to a setting whose latency differs significantly from the present one's at that load, paired over the map's blocks;
and only while all nodes are up and requests do not fail.

Latency counts in *seconds of waiting per second*: requests per second times mean latency, the number in flight.
A switch saves some of that for as long as the load stays as it is, and costs some on its way, above all while a sweep
is under way. Where the terms go by a percentile, that stands for the mean everywhere: a switch pays if the percentile,
averaged over the time that the load stays, gets lower. A sweep is taken to slow it down by as much as the mean.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cassbook_advisor.errors import InputError
from cassbook_advisor.latencies import Limit, Measured
from cassbook_advisor.levels import Pair, setting_waiting_for
from cassbook_advisor.regime import Regime, Step, transition
from cassbook_advisor.student import differ, paired_p
from cassbook_advisor.window import Load
from cassbook_advisor.words import counted, dead_replicas, stops

if TYPE_CHECKING:
    from cassbook_advisor.sweep import Swept  # which needs the driver; forecasts do not

#: Dead replicas that a setting has to survive unless somebody says otherwise.
SURVIVE = 1
#: What latency may be judged by.
FIGURES = ("mean", "p50", "p95", "p99", "p99.9")


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
    survive : int
        Dead replicas that reads and writes have to survive in every setting that is chosen. 0 goes by speed alone.
    most_failing : float
        With a larger part of requests failing than this, no switch for speed is started: 0.01 for 1 %.
    by : str
        What latency is judged by: 'mean', 'p50', 'p95', 'p99' or 'p99.9'. Default: what the map goes by.
    """

    margin: float = 0.1
    dwell_s: float = 20.0
    horizon_s: float = 300.0
    fewest_per_s: float = 10.0
    survive: int = SURVIVE
    most_failing: float = 0.01
    by: str = ""

    def __post_init__(self) -> None:
        for name in ("margin", "dwell_s", "horizon_s", "fewest_per_s", "survive", "most_failing"):
            value = getattr(self, name)
            if not value >= 0:
                raise InputError(f"{name}: {value!r} must be 0 or more")
        if self.by and self.by not in FIGURES:
            raise InputError(f"by: {self.by!r} is none of {', '.join(FIGURES)}")


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a switch is expected to bring, in seconds of waiting."""

    setting: Pair  # where to
    #: Latency in the present setting and in that one, by the figure that the terms go by.
    now_us: float
    then_us: float
    saved_s: float  # over the horizon
    cost_s: float  # of the way there: the sweep, if it needs one
    sweeps: bool  # whether it does

    @property
    def pays(self) -> bool:
        """Whether it saves more than it costs."""
        return self.saved_s > self.cost_s


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do at a load, and why.

    Attributes
    ----------
    wanted : tuple of int or None
        (reads, writes) of the setting to go to; None to stay.
    kind : str
        The reason in a word, for programs: 'idle', 'unknown load', 'best', 'not significant', 'small gain', 'dear way',
        'nodes missing', 'requests failing', 'nothing to switch', 'survives more', 'limits', 'faster', or the adviser's
        own 'requested', 'returned' and 'dwelling'.
    reason : str
        The same in a sentence.
    forecast : Forecast or None
        What a switch for speed is expected to bring.
    """

    wanted: tuple[int, int] | None
    kind: str
    reason: str
    forecast: Forecast | None = None


@dataclass(frozen=True, slots=True)
class SweepCost:
    """What a sweep costs, as last measured (or as believed, before the first).

    Attributes
    ----------
    seconds : float
        How long it takes.
    slowdown : float
        Mean latency of other requests until it is over, as a multiple of what it was before the switch began. The
        wider setting on the way is in it.
    """

    seconds: float
    slowdown: float = 1.5


class SweepMeter:
    """Measures sweeps while they happen.

    Parameters
    ----------
    believed : SweepCost
        Holds until a sweep has been measured.

    Attributes
    ----------
    measured : list of SweepCost
        One of each sweep so far.
    """

    def __init__(self, believed: SweepCost) -> None:
        self._believed = believed
        self.measured: list[SweepCost] = []
        self._before_s = float("nan")
        self._during: list[float] = []

    @property
    def cost(self) -> SweepCost:
        """What the next sweep is taken to cost."""
        return self.measured[-1] if self.measured else self._believed

    def look(self, load: Load, settled: bool, sweeping: bool) -> None:
        """Note, at regular intervals, the load over a window that ends now; `settled` is no switch under way."""
        if load.per_s > 0 and settled:
            self._before_s = load.in_flight / load.per_s
        elif load.per_s > 0 and sweeping:
            self._during.append(load.in_flight / load.per_s)

    def swept(self, swept: Swept) -> None:
        """Note that a sweep of a switch is over.

        Without requests before or during it, it slowed nothing down that could be measured: the last value stays.
        """
        slowdown = self.cost.slowdown
        if self._during and self._before_s > 0:
            slowdown = max(1.0, sum(self._during) / len(self._during) / self._before_s)
        self.measured.append(SweepCost(swept.seconds, slowdown))
        self._during.clear()


class Policy:
    """Chooses among the strong settings of a map.

    Parameters
    ----------
    latency_map : Latencies, or a map of cassbook's
    replicas : int
        The replication factor, or the replicas of the data centre that the adviser is in.
    terms : Terms
    least : tuple of int
        Least (reads, writes) that clients outside the register leave (see `regime.bound_by_others`); also an attribute.

    Raises
    ------
    InputError
        For a map of another replication factor, one without a setting that clients outside the register allow, or one
        that does not support the percentile that the terms go by.
    """

    def __init__(
        self, latency_map: Measured, replicas: int, terms: Terms | None = None, least: tuple[int, int] = (1, 1)
    ) -> None:
        self.terms = terms or Terms()
        if latency_map.replicas != replicas:
            raise InputError(
                f"{latency_map.name} was measured with replication {latency_map.replicas}, the keyspace has "
                f"{replicas}, where the same levels wait for other numbers of replicas"
            )
        self._limits: Mapping[str, Limit] = getattr(latency_map, "limits", {})
        self._map, self._replicas = latency_map.judged_by(self.terms.by or latency_map.by), replicas
        self._by = "" if self._map.by == "mean" else f" by {self._map.by}"
        self._waits = {s: s.waits(replicas) for s in latency_map.settings}
        self.least = least
        strong = [s for s, waits in self._waits.items() if sum(waits) > replicas]
        enough = [s for s in strong if self.enough(*self._waits[s])]
        self._allowed = [s for s in enough if self._survives(*self._waits[s])]
        if not enough:
            raise InputError(
                f"{latency_map.name}: no measured setting reads at least {least[0]} and writes at least {least[1]} "
                "replicas, which clients outside the register need"
            )

    def enough(self, reads: int, writes: int) -> bool:
        """Whether these levels meet clients outside the register, both ways."""
        return reads >= self.least[0] and writes >= self.least[1]

    def check(self, reads: int, writes: int) -> None:
        """Refuse levels that do not meet clients outside the register.

        Raises
        ------
        InputError
            Saying what they need.
        """
        if not self.enough(reads, writes):
            raise InputError(
                f"{reads}R-{writes}W: clients outside the register need reads of at least {self.least[0]} and writes "
                f"of at least {counted(self.least[1], 'replica')}"
            )

    def _survives(self, reads: int, writes: int) -> bool:
        return self._replicas - max(reads, writes) >= self.terms.survive

    def may_choose(self, reads: int, writes: int, per_s: float = 0.0) -> bool:
        """Whether a setting that waits for so many replicas may be chosen, at a rate."""
        return (reads, writes) in [self._waits[setting] for setting in self._within(per_s)]

    def _within(self, per_s: float) -> list[Pair]:
        """Settings that may be chosen at a rate: those that are known to keep the limits, where there are some."""
        if not self._limits:
            return self._allowed
        return [s for s in self._allowed if s.name in self._limits and self._limits[s.name].allows(per_s)]

    @property
    def choice(self) -> tuple[Pair, ...]:
        """Settings that may be chosen."""
        return tuple(self._allowed)

    def nothing_to_switch(self) -> str:
        """Say that fewer than two settings may be chosen, and why; '' where there is a choice."""
        if len(self._allowed) > 1:
            return ""
        dead = dead_replicas(self.terms.survive)
        names = ", ".join(f"{s.name} ({s.read_cl}/{s.write_cl})" for s in self._allowed)
        left = f"of the settings measured only {names} survives" if names else "no setting measured survives"
        if not self.terms.survive:
            left, dead = f"only {names} meets what clients outside the register need", ""
        hint = ": Terms(survive=0) would go by speed alone" if self.terms.survive else ""
        replicas = counted(self._replicas, "replica")
        return f"there is nothing to switch: {' '.join(filter(None, [left, dead]))} of {replicas}{hint}"

    def best(self, load: Load, regime: Regime, sweep: SweepCost) -> Forecast | None:
        """Return the forecast of the setting worth switching to for its speed, or None to stay."""
        return self.consider(load, regime, sweep).forecast

    def consider(  # noqa: PLR0911 - a reason each
        self, load: Load, regime: Regime, sweep: SweepCost, missing: Collection[str] = ()
    ) -> Decision:
        """Decide whether to leave the present setting.

        Outside what the map has measured there is nothing to go by: it stays.

        Parameters
        ----------
        load : Load
        regime : Regime
            The present one.
        sweep : SweepCost
        missing : collection of str
            Nodes that are not up.
        """
        now = (regime.reads, regime.writes)
        if self._allowed and not self._survives(*now):
            return self._safer(load, now)
        if all(self._waits[s] == now for s in self._allowed):
            return Decision(None, "nothing to switch", self.nothing_to_switch() or "no other setting may be chosen")
        if self._limits and (beyond := self._by_limits(load, now)):
            return beyond
        if load.per_s < self.terms.fewest_per_s:
            return Decision(
                None, "idle", f"{load.per_s:.3g} requests per second, fewer than {self.terms.fewest_per_s:g}"
            )
        if missing:
            return Decision(
                None, "nodes missing", f"not up: {', '.join(sorted(missing))}; nothing is switched for speed"
            )
        if load.failing_share > self.terms.most_failing:
            failing = f"{load.failing_share:.1%} of requests fail"
            return Decision(None, "requests failing", f"{failing}; nothing is switched for speed")
        return self._faster(load, regime, sweep)

    def _by_limits(self, load: Load, now: tuple[int, int]) -> Decision | None:
        """Leave a setting that is not known to keep the limits at this rate for one that is; None where it is."""
        within = self._within(load.per_s)
        if now in [self._waits[s] for s in within]:
            return None
        present = next((s for s, waits in self._waits.items() if waits == now), None)
        limit = self._limits.get(present.name) if present else None
        why = f" ({limit.why})" if limit is not None and limit.why else ""
        at = f"{setting_waiting_for(*now)} is not known to keep the limits at {load.per_s:.3g} requests per second{why}"
        if not within:
            return Decision(None, "limits", f"{at}, and no other setting is")
        means = self._means_us(load)[0]
        target = min(within, key=lambda s: (_last(means[s.name]), max(self._waits[s])))
        return Decision(self._waits[target], "limits", f"{at}; {target.name} does")

    def _safer(self, load: Load, now: tuple[int, int]) -> Decision:
        """Leave a setting that survives too little for the fastest that may be chosen, significant or not."""
        means = self._means_us(load)[0]
        target = min(
            self._within(load.per_s) or self._allowed, key=lambda s: (_last(means[s.name]), max(self._waits[s]))
        )
        name = setting_waiting_for(*now)
        stopped = stops(self._replicas - now[0], self._replicas - now[1], self.terms.survive)
        return Decision(self._waits[target], "survives more", f"{name} {stopped}; {target.name} does not")

    def _means_us(self, load: Load) -> tuple[dict[str, float], Mapping[str, Sequence[float]]]:
        """Latency by setting at a load, over blocks and block by block."""
        by_block = self._map.at(load)
        return {name: _geometric(own) for name, own in by_block.items()}, by_block

    def _faster(self, load: Load, regime: Regime, sweep: SweepCost) -> Decision:
        """Leave the present setting for one that is faster, if that is significant and pays."""
        means, by_block = self._means_us(load)
        now = next((s for s, waits in self._waits.items() if waits == (regime.reads, regime.writes)), None)
        if now is None or not math.isfinite(means[now.name]):
            where = f"{load.in_flight:.3g} in flight, {load.read_share:.0%} reads"
            return Decision(
                None, "unknown load", f"{self._map.name} has not measured {regime.name}{self._by} at {where}"
            )
        within = self._within(load.per_s)
        faster = [s for s in within if means[s.name] < means[now.name] * (1 - self.terms.margin)]
        if not faster:
            least = min((s for s in within if math.isfinite(means[s.name])), key=lambda s: means[s.name], default=now)
            if least == now or means[least.name] >= means[now.name]:
                return Decision(None, "best", f"{now.name} is the fastest here{self._by}")
            little = f"{least.name} is faster than {now.name}{self._by} by less than {self.terms.margin:.0%}"
            return Decision(None, "small gain", little)
        apart = [s for s in faster if differ(paired_p(_differences(by_block[now.name], by_block[s.name])))]
        if not apart:
            return Decision(None, "not significant", self._not_apart(faster, now))
        forecast = self.weigh(load, regime, sweep, means, apart)
        if forecast is None:
            return Decision(None, "dear way", f"what it saves is less than the way from {now.name} costs")
        return Decision(self._waits[forecast.setting], "faster", _promise(now, forecast, self._by), forecast)

    def _not_apart(self, faster: list[Pair], now: Pair) -> str:
        if len(self._map.blocks) == 1:
            return f"{self._map.name} has one cluster start, which cannot show that settings differ"
        names = ", ".join(s.name for s in faster)
        return f"{names} does not differ significantly from {now.name}{self._by} at this load"

    def weigh(
        self,
        load: Load,
        regime: Regime,
        sweep: SweepCost,
        means_us: Mapping[str, float],
        among: Collection[Pair] | None = None,
    ) -> Forecast | None:
        """Weigh what the fastest setting saves against the way there, significant or not; None if it does not pay.

        Parameters
        ----------
        load : Load
        regime : Regime
        sweep : SweepCost
        means_us : mapping of str to float
            By setting's name: latency at this load, by the figure that the terms go by; NaN where it is not known.
        among : collection of settings, optional
            Settings to look at. Default: all that may be chosen.
        """
        now_us = next(
            (means_us[s.name] for s, waits in self._waits.items() if waits == (regime.reads, regime.writes)), None
        )
        known = [s for s in (self._allowed if among is None else among) if math.isfinite(means_us[s.name])]
        if now_us is None or not math.isfinite(now_us) or not known:
            return None
        target = min(known, key=lambda s: means_us[s.name])
        then_us = means_us[target.name]
        if then_us >= now_us * (1 - self.terms.margin):
            return None
        saved_s = load.per_s * (now_us - then_us) / 1e6 * self.terms.horizon_s
        sweeps = any(step is Step.SETTLE for step, _ in transition(regime, *self._waits[target]))
        # Until a sweep is over, requests wait as long as they did during the last one, not as long as in `target`.
        longer_us = max(0.0, now_us * sweep.slowdown - then_us) if sweeps else 0.0
        cost_s = load.per_s * sweep.seconds * longer_us / 1e6
        forecast = Forecast(target, now_us, then_us, saved_s, cost_s, sweeps)
        return forecast if forecast.pays else None

    def waits(self, setting: Pair) -> tuple[int, int]:
        """(reads, writes) of a setting, as numbers of replicas."""
        return self._waits[setting]


def _last(figure: float) -> float:
    """Sort key: what is not known comes last."""
    return math.inf if math.isnan(figure) else figure


def _geometric(figures: Sequence[float]) -> float:
    """Geometric mean of what is known; NaN where nothing is."""
    logs = [math.log(figure) for figure in figures if math.isfinite(figure) and figure > 0]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def _differences(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Differences of logarithms, in the blocks that have both."""
    pairs = zip(first, second, strict=True)
    return [math.log(a) - math.log(b) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]


def _promise(now: Pair, forecast: Forecast, by: str) -> str:
    sweep = ", after a sweep" if forecast.sweeps else ""
    return (
        f"{forecast.setting.name} takes {forecast.then_us / 1000:.3g} ms instead of {forecast.now_us / 1000:.3g} ms at "
        f"{now.name}{by}{sweep}"
    )
