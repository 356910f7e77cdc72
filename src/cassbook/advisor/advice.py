"""What a map of latencies says: the settings, how fast each is, what each survives, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cassbook.core.consistency import Setting
from cassbook.core.estimate import Estimate
from cassbook.latency import percentile_validation, uncertainty

if TYPE_CHECKING:
    from cassbook.records.fault_costs import Unanswered

#: Dead replicas that a setting has to survive unless somebody says otherwise.
SURVIVE = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """One setting at one load.

    Attributes
    ----------
    setting : Setting
    latency_us : Estimate
        Latency in us over reads and writes, over blocks: the mean, or the percentile that the advice goes by.
    interval : str
        What its interval rests on: 'blocks', 'one cluster start' (order statistics within it), or '' without one.
    survives : tuple of int
        How many dead replicas its (reads, writes) survive.
    by_block_us : tuple of float
        Latency in each block; NaN where it was not measured.
    marks : frozenset of str
        Of the cells that it rests on.
    """

    setting: Setting
    latency_us: Estimate
    interval: str
    survives: tuple[int, int]
    by_block_us: tuple[float, ...]
    marks: frozenset[str] = frozenset()

    @property
    def survives_both(self) -> int:
        """Dead replicas that reads and writes survive both."""
        return min(self.survives)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The run that an answer rests on, and what it was asked for."""

    name: str
    workloads: tuple[str, ...] = ()  #: empty for reads and updates of YCSB's table
    other_workloads: tuple[str, ...] = ()
    replicas: int = 3
    survive: int = SURVIVE  #: dead replicas that a recommended setting has to survive
    by: str = "mean"  #: or the percentile that settings are judged by
    cluster_starts: int = 1
    #: How far percentiles of mixes made from other cells were off on the run; empty for the mean.
    mix_accuracy: pd.DataFrame = field(default_factory=percentile_validation.nothing, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bound:
    """Which settings keep a bound on latency."""

    bound_ms: float
    kept: tuple[Choice, ...]  #: those that survive enough, by latency
    survive_less: tuple[Choice, ...]  #: those that keep it and survive too little
    nearest: Choice | None  #: to it, where none keeps it and that is known

    def keeps(self, latency_us: float) -> bool:
        """Whether a latency is no longer than the bound."""
        return latency_us <= self.bound_ms * 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice(Basis):
    """What a run says of one load.

    Attributes
    ----------
    threads, read_share : float
        The load: requests in flight, and the part of them that reads, 0 to 1.
    choices : tuple of Choice
        By latency, the fastest first.
    mixed : bool
        Whether mixed cells stand behind it; if not, it is made of pure workloads: their weighted mean, or, for
        a percentile, the mixture of their distributions.
    too_few : dict of Setting to float
        Settings that are left out, for a cell of theirs has too few operations for the percentile: how many.
    failing : Unanswered, optional
        What settings left unanswered while a node was dead, if that is recorded.
    """

    threads: float
    read_share: float
    choices: tuple[Choice, ...]
    mixed: bool
    too_few: Mapping[Setting, float] = field(default_factory=dict)
    failing: Unanswered | None = None

    @property
    def fastest(self) -> Choice:
        """The setting of least latency, whatever it survives."""
        return self.choices[0]

    @property
    def runner_up(self) -> Choice | None:
        """The next by latency; None where there is one setting only."""
        return self.choices[1] if len(self.choices) > 1 else None

    @property
    def surviving(self) -> tuple[Choice, ...]:
        """The settings that survive as many dead replicas as asked for, by latency."""
        return tuple(choice for choice in self.choices if choice.survives_both >= self.survive)

    @property
    def recommended(self) -> Choice | None:
        """The fastest of those that survive as many dead replicas as asked for; None where none does."""
        return next(iter(self.surviving), None)

    @property
    def nearest(self) -> Choice:
        """The setting that survives the most, and of several the fastest: what is left where none survives enough."""
        return max(self.choices, key=lambda choice: choice.survives_both)

    @property
    def unknown(self) -> tuple[Setting, ...]:
        """Settings that survive enough, and of which too few operations were measured for the percentile."""
        return tuple(s for s in self.too_few if min(s.survives(self.replicas)) >= self.survive)

    @property
    def p_value(self) -> float:
        """That the fastest and the runner-up are equally fast (see `alike`); NaN where there is no runner-up."""
        second = self.runner_up
        return float("nan") if second is None else alike(self.fastest, second)

    @property
    def distinguishable(self) -> bool | None:
        """Whether the fastest and the runner-up differ significantly (5 %); None with one block."""
        return differ(self.p_value)

    @property
    def marks(self) -> dict[str, list[str]]:
        """Settings whose cells carry a mark, by mark."""
        found = sorted({mark for choice in self.choices for mark in choice.marks})
        return {mark: [choice.setting.name for choice in self.choices if mark in choice.marks] for mark in found}

    def within(self, bound_ms: float) -> Bound:
        """Return which settings keep a bound: those whose latency is no longer."""
        keeping = [choice for choice in self.choices if choice.latency_us.value <= bound_ms * 1e3]
        kept = tuple(choice for choice in keeping if choice in self.surviving)
        less = tuple(choice for choice in keeping if choice not in self.surviving)
        lacking = kept or (not self.surviving and self.unknown)
        return Bound(bound_ms, kept, less, None if lacking else self.recommended or self.nearest)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceMap(Basis):
    """What a run says of all loads that it measured."""

    threads: tuple[float, ...]
    read_shares: tuple[float, ...]
    survives: Mapping[str, tuple[int, int]]  #: dead replicas that reads and writes survive, by measured setting
    #: As `LatencyMap.domain`, of all settings and of those that survive enough; marks of the cells behind it as 'a;b'.
    fastest: pd.DataFrame = field(compare=False)
    recommended: pd.DataFrame = field(compare=False)
    #: read_share, threads, setting, operations: where a setting has too few operations for the percentile.
    unknown: pd.DataFrame = field(compare=False)


def times_as_slow(first: Choice, second: Choice) -> Estimate:
    """Return the latency of the second setting over that of the first, taken within blocks, then over them.

    Geometric mean over blocks, Student's t on logarithms; without an interval for fewer than three blocks.
    """
    ratios = np.array(second.by_block_us) / np.array(first.by_block_us)
    return Estimate.ratio(ratios[np.isfinite(ratios)])


def alike(first: Choice, second: Choice) -> float:
    """Return the p-value of two settings being equally fast.

    Student's t of the paired differences of log latency over blocks; NaN with one block.
    """
    logs = [np.log(np.array(choice.by_block_us)) for choice in (first, second)]
    differences = logs[1] - logs[0]
    return uncertainty.paired_p(differences[np.isfinite(differences)])


def differ(p_value: float) -> bool | None:
    """Whether a p-value is below 5 %; None for NaN, which one block gives."""
    return None if np.isnan(p_value) else p_value < 1 - uncertainty.LEVEL
