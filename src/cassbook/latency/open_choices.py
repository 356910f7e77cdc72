"""What is said of each setting at a load: in each block, over blocks, next to a bound, and of mixes between two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cassbook.core.consistency import Setting
from cassbook.core.estimate import Estimate
from cassbook.core.schema import CLIENT_MARKS
from cassbook.latency import capacity, uncertainty
from cassbook.latency.capacity import CLIENT, EMPTY, FAILED, NOT_CARRIED, UNSENT, Capacity

#: What a setting does at the load: keep the bound, break it, or not carry the load; or that is not known.
KEEPS, BREAKS, NOT_KNOWN, CARRIES_LESS = "keeps", "breaks", "not known", "does not carry"
#: Why a block has no figure, besides why a rung keeps no bound: it was not measured there, or too little.
OUTSIDE, TOO_FEW = "not measured", "too few operations"
_NOTHING = Estimate(np.nan, np.nan, np.nan, 0)


@dataclass(frozen=True, slots=True)
class Mix:
    """What is read and written: YCSB's table at a share of reads, or a workload at its own."""

    read_share: float
    workload: str = ""  #: empty for reads and updates of YCSB's table
    between: tuple[float, float] | None = None  #: shares of reads that were measured on either side, where it was not

    @property
    def measured(self) -> tuple[Mix, ...]:
        """What was measured of it: itself, or the mixes on either side."""
        return (self,) if self.between is None else tuple(map(Mix, self.between))

    @property
    def name(self) -> str:
        """The workload, or the share of reads."""
        if self.between:
            return f"{self.read_share:.0%} reads (between {self.between[0]:.0%} and {self.between[1]:.0%})"
        return f"workload {self.workload}" if self.workload else f"{self.read_share:.0%} reads"


@dataclass(frozen=True, slots=True)
class InBlock:
    """One setting at the load, in one block.

    Attributes
    ----------
    rate_per_s : float
        The load there.
    load_share : float
        That rate as a share of what the weakest setting carries there; NaN where that is not known.
    response_us : float
        The figure of the response time; NaN where it is not known.
    lacking : str
        Why it is not known: `not measured`, `not carried`, `too few operations`, or as in `capacity.Rung`.
    carried_per_s : float
        What the setting carries there; NaN where that was not looked for.
    marks : frozenset of str
        Of the cells that the figure rests on.
    """

    rate_per_s: float
    load_share: float
    response_us: float
    lacking: str
    carried_per_s: float
    marks: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChoice:
    """One setting at one load.

    Attributes
    ----------
    setting : Setting
    survives : tuple of int
        How many dead replicas its (reads, writes) survive.
    strong : bool
        Whether each read sees the latest write; without that it may return stale data.
    blocks : tuple of InBlock
        In order of the run's blocks.
    measured_per_s : tuple of float
        The lowest and the highest rate at which it has a figure in all blocks; NaN where there is none.
    bound_ms : float, optional
        The longest response time to keep.
    capacity : Capacity, optional
        The rate at which it breaks the bound; None without a bound, or where no cell has enough operations.
    ended_by : str
        `client` where the curve ends because the client could do no more; with a bound, before it is broken.
    """

    setting: Setting
    survives: tuple[int, int]
    strong: bool
    blocks: tuple[InBlock, ...]
    measured_per_s: tuple[float, float]
    bound_ms: float | None = None
    capacity: Capacity | None = None
    ended_by: str = ""

    @property
    def by_block_us(self) -> tuple[float, ...]:
        """The figure in each block; NaN where it is not known."""
        return tuple(block.response_us for block in self.blocks)

    @property
    def response_us(self) -> Estimate:
        """The figure over blocks; NaN where some block lacks it. Without an interval for fewer than three blocks."""
        return Estimate.positive(self.by_block_us) if self.known else _NOTHING

    @property
    def known(self) -> bool:
        """Whether every block has the figure."""
        return bool(np.isfinite(self.by_block_us).all())

    @property
    def lacking(self) -> tuple[str, ...]:
        """Why blocks have no figure, each reason once."""
        return tuple(sorted({block.lacking for block in self.blocks} - {""}))

    @property
    def not_carried(self) -> int:
        """In how many blocks it does not carry the load."""
        return sum(block.lacking == NOT_CARRIED for block in self.blocks)

    @property
    def carried_per_s(self) -> Estimate:
        """What it carries, over the blocks that looked for it."""
        known = [block.carried_per_s for block in self.blocks if np.isfinite(block.carried_per_s)]
        return Estimate.positive(known) if known else _NOTHING

    @property
    def own_shares(self) -> tuple[float, ...]:
        """The load as a share of what the setting itself carries, in each block; NaN where that is not known."""
        return tuple(block.rate_per_s / block.carried_per_s for block in self.blocks)

    @property
    def own_share(self) -> Estimate:
        """The load as a share of what the setting itself carries, over the blocks that know it."""
        known = [share for share in self.own_shares if np.isfinite(share)]
        return Estimate.positive(known) if known else _NOTHING

    @property
    def headroom(self) -> Estimate:
        """The rate at which it breaks the bound over that of the load, taken within blocks; NaN where it is not known.

        Without an interval where the rate is only known from below (`capacity.verdict`).
        """
        if self.capacity is None or len(self.capacity.by_block) != len(self.blocks):
            return _NOTHING
        asked = np.array([block.rate_per_s for block in self.blocks])
        by_block, tops = np.array(self.capacity.by_block), np.array(self.capacity.top_by_block)
        return capacity.over_blocks(by_block / asked, tops / asked, self.capacity.verdict)

    @property
    def over_bound(self) -> int:
        """In how many blocks the figure is above the bound."""
        return 0 if self.bound_ms is None else sum(figure > self.bound_ms * 1e3 for figure in self.by_block_us)

    @property
    def marks(self) -> frozenset[str]:
        """Marks of the cells that the figure rests on."""
        return frozenset().union(*(block.marks for block in self.blocks))

    @property
    def survives_both(self) -> int:
        """Dead replicas that reads and writes survive both."""
        return min(self.survives)

    @property
    def within(self) -> bool:
        """Whether the figure itself is within the bound, wherever its interval reaches; without a bound it is."""
        return self.known and (self.bound_ms is None or self.response_us.value <= self.bound_ms * 1e3)

    @property
    def verdict(self) -> str:
        """What it does at the load; with a bound `keeps`, `breaks` or `not known`.

        By the whole interval at 95 %; without an interval, as of fewer than three blocks, by the figure alone.
        """
        if self.not_carried:
            return CARRIES_LESS if self.not_carried == len(self.blocks) else NOT_KNOWN
        if any(block.lacking in {UNSENT, FAILED, EMPTY} for block in self.blocks):
            return BREAKS if all(block.lacking in {UNSENT, FAILED, EMPTY} for block in self.blocks) else NOT_KNOWN
        if not self.known:
            return NOT_KNOWN
        if self.bound_ms is None:
            return ""
        figure, bound_us = self.response_us, self.bound_ms * 1e3
        low, high = (figure.value, figure.value) if np.isnan(figure.low) else (figure.low, figure.high)
        if high > bound_us:
            slowed = self.ended_by == CLIENT and bool(self.marks & CLIENT_MARKS)
            return BREAKS if low > bound_us and not slowed else NOT_KNOWN
        return NOT_KNOWN if self.headroom.value < 1 else KEEPS  # where a lower rate breaks it


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAdvice:
    """What a run says of one load under open arrivals.

    Attributes
    ----------
    name : str
        Of the run.
    mix : Mix
    of_capacity, rate_per_s : float, optional
        What was asked for: a share of what the weakest setting carries in each block, or a rate.
    by : str
        The figure of the response time: the mean or a percentile.
    bound_ms : float, optional
    survive : int
        Dead replicas that a recommended setting has to survive.
    replicas : int
    choices : tuple of OpenChoice
        Strong settings, the fastest first, those without a figure last.
    weak : tuple of OpenChoice
        Settings that may return stale data, in the same order.
    load_shares : tuple of float
        The load as a share of what the weakest setting carries, in each block; NaN where that is not known.
    rates_per_s : tuple of float
        The load as a rate, in each block.
    arrivals : str
        poisson, even, or both.
    """

    name: str
    mix: Mix
    of_capacity: float | None
    rate_per_s: float | None
    by: str
    bound_ms: float | None
    survive: int
    replicas: int
    choices: tuple[OpenChoice, ...]
    weak: tuple[OpenChoice, ...]
    load_shares: tuple[float, ...]
    rates_per_s: tuple[float, ...]
    arrivals: str

    @property
    def cluster_starts(self) -> int:
        """How many blocks the answer rests on."""
        return len(self.rates_per_s)

    @property
    def surviving(self) -> tuple[OpenChoice, ...]:
        """Strong settings that survive as many dead replicas as asked for, the fastest first."""
        return tuple(choice for choice in self.choices if choice.survives_both >= self.survive)

    @property
    def recommended(self) -> OpenChoice | None:
        """The fastest strong setting that survives enough and keeps the bound with its whole interval.

        Where it has no interval, for there are fewer than three blocks, the figure decides. None where none does.
        """
        wanted = KEEPS if self.bound_ms is not None else ""
        return next((choice for choice in self.surviving if choice.known and choice.verdict == wanted), None)

    @property
    def perhaps(self) -> OpenChoice | None:
        """Where none is recommended: the fastest that survives enough and is within the bound by its figure alone."""
        return None if self.recommended else next((choice for choice in self.surviving if choice.within), None)

    @property
    def fastest(self) -> OpenChoice | None:
        """The strong setting of the shortest response time, whatever it survives."""
        return next((choice for choice in self.choices if choice.known), None)

    @property
    def marks(self) -> dict[str, list[str]]:
        """Settings whose cells carry a mark, by mark."""
        shown = (*self.choices, *self.weak)
        found = sorted({mark for choice in shown for mark in choice.marks})
        return {mark: [choice.setting.name for choice in shown if mark in choice.marks] for mark in found}


def alike(first: OpenChoice, second: OpenChoice) -> float:
    """Return the p-value of two settings being equally fast: Student's t of log ratios paired by block; or NaN."""
    return uncertainty.paired_p(np.diff(np.log([first.by_block_us, second.by_block_us]), axis=0)[0])


def times_as_slow(first: OpenChoice, second: OpenChoice) -> Estimate:
    """Return the figure of the second setting over that of the first, taken within blocks, then over them."""
    return Estimate.ratio(np.array(second.by_block_us) / np.array(first.by_block_us))


def blended(mix: Mix, below: OpenAdvice, above: OpenAdvice) -> OpenAdvice:
    """Return the advice for a mix between two: figures and rates on a line between their logarithms, block by block.

    Settings that both have are kept; what each carries within a bound is not known between them.
    """
    assert mix.between is not None  # noqa: S101 - it is why there are two
    part = (mix.read_share - mix.between[0]) / (mix.between[1] - mix.between[0])

    def line(one: float, other: float) -> float:
        return float(np.exp((1 - part) * np.log(one) + part * np.log(other)))

    def block(one: InBlock, other: InBlock) -> InBlock:
        return InBlock(
            line(one.rate_per_s, other.rate_per_s), line(one.load_share, other.load_share),
            line(one.response_us, other.response_us), one.lacking or other.lacking,
            line(one.carried_per_s, other.carried_per_s), one.marks | other.marks,
        )  # fmt: skip

    others = {one.setting: one for one in (*above.choices, *above.weak)}
    choices = [
        replace(
            one, blocks=tuple(map(block, one.blocks, others[one.setting].blocks)), capacity=None,
            measured_per_s=common([one.measured_per_s, others[one.setting].measured_per_s]),
            ended_by=one.ended_by or others[one.setting].ended_by,
        )
        for one in (*below.choices, *below.weak) if one.setting in others
    ]  # fmt: skip
    choices.sort(key=lambda one: (not one.known, one.response_us.value if one.known else one.not_carried))
    return replace(
        below, mix=mix, choices=tuple(one for one in choices if one.strong),
        weak=tuple(one for one in choices if not one.strong),
        load_shares=tuple(map(line, below.load_shares, above.load_shares)),
        rates_per_s=tuple(map(line, below.rates_per_s, above.rates_per_s)),
    )  # fmt: skip


def common(ranges: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return what all ranges have; NaN where one has nothing."""
    lows, highs = np.array(list(ranges)).T
    return float(lows.max()), float(highs.min())
