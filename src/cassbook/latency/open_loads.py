"""Response time of each setting at a rate, or at a share of what the weakest setting carries.

Cells under open arrivals (kind `open`), and those at fixed rates, are a curve of each setting in each block. Between
two rates of a block a figure is interpolated on logarithmic scales; outside of them, and next to a rate that was not
carried, there is none. Over blocks it is the geometric mean with Student's t on logarithms. What a setting carries
within a bound is `capacity.capacities` of the same cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cassbook.core.consistency import Replicas, Setting, strong_settings, wider_settings
from cassbook.core.errors import InputError, LackingError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import CLIENT_MARKS, OPEN
from cassbook.latency import capacity, uncertainty
from cassbook.latency.capacity import CLIENT, EMPTY, FAILED, NOT_CARRIED, UNSENT, Capacity, Rung
from cassbook.latency.results import Replication, replicas_at

#: What a setting does at the load: keep the bound, break it, or not carry the load; or that is not known.
KEEPS, BREAKS, NOT_KNOWN, CARRIES_LESS = "keeps", "breaks", "not known", "does not carry"
#: Why a block has no figure, besides why a rung keeps no bound: it was not measured there, or too little.
OUTSIDE, TOO_FEW = "not measured", "too few operations"
#: Two rates of which one was computed from a share are the same if they differ by no more than this part.
_SAME = 1e-6
#: Without a bound `client` stands for one of the others.
_WITHOUT_FIGURE = (NOT_CARRIED, UNSENT, FAILED, EMPTY, CLIENT)
_REPLICAS = 3
_NOTHING = Estimate(np.nan, np.nan, np.nan, 0)
#: What to add to a profile for an answer by rate.
SECTION = "open: {read_shares: [0.5], load_shares: [0.2, 0.4, 0.6, 0.8]}"


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


class OpenLoads:
    """The curves of a run: response time over the rate, of each setting in each block.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`; for p99.9 with `percentiles.with_tails`.
    name : str
        Of the run, for messages.
    replicas : int or mapping of str to Replicas
        The replication factor, or the replicas of each deployment.
    by : str
        One of `percentiles.FIGURES`.
    slices : DataFrame, optional
        The run's slices: cells at fixed rates that shared one load are left out.

    Raises
    ------
    InputError
        If there are no cells at rates, naming what to add to a profile, or none has enough operations for the figure.
    """

    def __init__(
        self, cell_stats: pd.DataFrame, name: str = "run", replicas: Replication = _REPLICAS, by: str = "mean",
        slices: pd.DataFrame | None = None,
    ) -> None:  # fmt: skip
        capacity.check_figure(by)
        cells = capacity.at_rates(cell_stats)
        if cells.empty and capacity.was_stopped(cell_stats):
            raise LackingError(
                f"{name}: was stopped at its lowest rate, for too many requests failed or took too long (its log says "
                "which), so that no rate has an answer; measure it again at a lower one"
            )
        if cells.empty:
            raise LackingError(
                f"{name}: was measured in a closed loop alone, which has no answer by rate; measure open arrivals: add "
                f"{SECTION} to its profile"
            )
        self.name, self.by, self._slices = name, by, slices
        cells = capacity.usable(cells, by, name, slices)
        self._replicas = replicas_at(replicas, str(cells["deployment"].iloc[0])) or Replicas((_REPLICAS,))
        self.replicas, self.by_centre = self._replicas.total, self._replicas.by_centre
        self._cells = cells.assign(enough=capacity.supported(cells, by, name))

    @property
    def mixes(self) -> tuple[Mix, ...]:
        """What was measured: YCSB's table by share of reads, then workloads by name."""
        pairs = self._cells[["workload", "read_share"]].drop_duplicates().sort_values(["workload", "read_share"])
        return tuple(Mix(float(share), str(workload)) for workload, share in pairs.itertuples(index=False))

    def mix(self, read_share: float | None = None, workload: str | None = None, between: bool = False) -> Mix:
        """Find a mix by its share of reads, or a workload by its name.

        `between`: also a share that lies between two that were measured.

        Raises
        ------
        InputError
            If it was not measured, saying what was.
        """
        there = ", ".join(f"--workload {one.workload}" if one.workload else f"--reads {one.read_share:g}"
                          for one in self.mixes)  # fmt: skip
        if workload is None and read_share is None:
            raise InputError(f"give --reads or --workload; {self.name} was measured at rates for: {there}")
        for one in self.mixes:
            if one.workload == (workload or "") and (workload or abs(one.read_share - (read_share or 0)) < _SAME):
                return one
        shares = [one.read_share for one in self.mixes if not one.workload]
        if between and not workload and read_share is not None and min(shares, default=1) < read_share < max(shares):
            below = max(share for share in shares if share < read_share)
            return Mix(read_share, "", (below, min(share for share in shares if share > read_share)))
        asked = f"workload: {workload!r}" if workload else f"reads: {read_share:g}"
        raise LackingError(f"{asked} was not measured at rates; {self.name} has: {there}")

    def _of(self, mix: Mix) -> pd.DataFrame:
        """Cells of a mix: under open arrivals where there are some, and otherwise those of the most threads."""
        cells = self._cells
        cells = cells[(cells["workload"] == mix.workload) & (cells["read_share"] == mix.read_share)]
        is_open = cells["kind"] == OPEN
        return cells[is_open] if is_open.any() else cells[cells["threads"] == cells["threads"].max()]

    def shares(self, mix: Mix) -> tuple[float, ...]:
        """Shares of what the weakest setting carries at which a mix was measured, ascending."""
        if mix.between is not None:
            return tuple(sorted(set.intersection(*(set(self.shares(one)) for one in mix.measured))))
        return tuple(float(share) for share in np.unique(self._of(mix)["load_share"].dropna()))

    def rates_per_s(self, mix: Mix) -> tuple[float, ...]:
        """Rates at which a mix was measured in every block, ascending; empty where they are shares of capacity."""
        if mix.between is not None:
            return tuple(sorted(set.intersection(*(set(self.rates_per_s(one)) for one in mix.measured))))
        cells = self._of(mix)
        if cells["load_share"].notna().any():
            return ()
        everywhere = cells.groupby("rate_per_s")["block"].nunique() == cells["block"].nunique()
        return tuple(float(rate) for rate in everywhere.index[everywhere])

    def range_per_s(self, mix: Mix) -> tuple[float, float]:
        """Return the lowest and the highest rate that all blocks have, of whichever setting."""
        if mix.between is not None:
            return _common(map(self.range_per_s, mix.measured))
        by_block = self._of(mix).groupby("block")["rate_per_s"]
        return float(by_block.min().max()), float(by_block.max().min())

    def weakest_per_s(self, mix: Mix) -> dict[int, float]:
        """Return what the weakest setting carries in each block; NaN where that is not known."""
        known = {}
        for block, cells in self._of(mix).groupby("block"):
            at_shares = capacity.weakest_per_s(cells)
            carried = [_carried_per_s(own) for _, own in cells.groupby(["read_cl", "write_cl"])]
            known[int(str(block))] = at_shares if np.isfinite(at_shares) else float(np.min(carried))
        return known

    def advise(
        self, mix: Mix, *, of_capacity: float | None = None, rate_per_s: float | None = None,
        bound_ms: float | None = None, survive: int = 1,
    ) -> OpenAdvice:  # fmt: skip
        """Say what each setting does at a load.

        Parameters
        ----------
        mix : Mix
            One of `mixes`.
        of_capacity : float, optional
            The load as a share of what the weakest setting carries in each block.
        rate_per_s : float, optional
            The load as a rate; just one of both is given.
        bound_ms : float, optional
            The longest response time to keep.
        survive : int
            Dead replicas that the recommended setting has to survive.

        Raises
        ------
        InputError
            If both or neither are given, or the load is outside what was measured, with the range.
        """
        if (of_capacity is None) == (rate_per_s is None):
            raise InputError("give --rate or --of-capacity, and not both: a rate, or a share of what is carried")
        if bound_ms is not None and not bound_ms > 0:
            raise InputError(f"bound: {bound_ms:g} ms is not above 0")
        if mix.between is not None:
            below, above = (
                self.advise(one, of_capacity=of_capacity, rate_per_s=rate_per_s, bound_ms=bound_ms, survive=survive)
                for one in mix.measured
            )
            return _blended(mix, below, above)
        cells, weakest = self._of(mix), self.weakest_per_s(mix)
        if of_capacity is not None:
            self._check_share(mix, of_capacity)
            asked = {block: self._rate_at(cells[cells["block"] == block], of_capacity, weakest[block])
                     for block in weakest}  # fmt: skip
        else:
            asked = dict.fromkeys(weakest, self._checked_rate(mix, float(rate_per_s or 0)))
        found = self._capacities(cells, bound_ms)
        choices = []
        for (read_cl, write_cl), own in cells.groupby(["read_cl", "write_cl"]):
            setting = _setting(str(read_cl), str(write_cl), self.replicas)
            carried = found.get((str(read_cl), str(write_cl)))
            curve = own if of_capacity is None else own[own["load_share"].notna()]
            ladders = {block: _Curve(curve[curve["block"] == block], self.by) for block in asked}
            in_blocks = tuple(
                replace(one.at(asked[block]), load_share=asked[block] / weakest[block])
                for block, one in ladders.items()
            )
            choices.append(OpenChoice(
                setting=setting, survives=setting.survives(self._replicas), strong=setting.strong(self._replicas),
                blocks=in_blocks,
                measured_per_s=_common(one.range_per_s for one in ladders.values()), bound_ms=bound_ms,
                capacity=carried, ended_by=_ended_by(own) if carried is None else carried.ended_by,
            ))  # fmt: skip
        choices.sort(key=lambda one: (not one.known, one.response_us.value if one.known else one.not_carried))
        return OpenAdvice(
            name=self.name, mix=mix, of_capacity=of_capacity, rate_per_s=rate_per_s, by=self.by, bound_ms=bound_ms,
            survive=survive, replicas=self.replicas, choices=tuple(one for one in choices if one.strong),
            weak=tuple(one for one in choices if not one.strong), rates_per_s=tuple(asked.values()),
            load_shares=tuple(asked[block] / weakest[block] for block in asked), arrivals=_arrivals(cells),
        )  # fmt: skip

    def _capacities(self, cells: pd.DataFrame, bound_ms: float | None) -> dict[tuple[str, str], Capacity]:
        """Return the rate at which each setting breaks the bound: what `cassbook capacity` says of it."""
        if bound_ms is None:
            return {}
        found = capacity.capacities(cells, bound_ms, self.by, self.name, self._slices)
        return {(one.read_cl, one.write_cl): one for one in found}

    def _check_share(self, mix: Mix, share: float) -> None:
        measured = self.shares(mix)
        if not measured:
            low, high = self.range_per_s(mix)
            raise LackingError(
                f"of capacity: {self.name} was measured at rates, {low:.4g} to {high:.4g} a second, and not at shares "
                f"of capacity; use --rate, or measure {SECTION}"
            )
        if not measured[0] - _SAME <= share <= measured[-1] + _SAME:
            raise LackingError(
                f"of capacity: {share:g} is outside what {self.name} measured, {measured[0]:g} to {measured[-1]:g} of "
                "what the weakest setting carries; measure at that share"
            )

    @staticmethod
    def _rate_at(block: pd.DataFrame, share: float, weakest_per_s: float) -> float:
        """Return the rate of a share in one block: as it was sent, rounded, where it was measured."""
        there = block.loc[(block["load_share"] - share).abs() <= _SAME, "rate_per_s"]
        return float(there.iloc[0]) if len(there) else share * weakest_per_s

    def _checked_rate(self, mix: Mix, rate_per_s: float) -> float:
        low, high = self.range_per_s(mix)
        if not low * (1 - _SAME) <= rate_per_s <= high * (1 + _SAME):
            there = f"{low:.4g} to {high:.4g} a second" if low <= high else "no rate in common"
            else_ = ", or take a share with --of-capacity" if self.shares(mix) else ""
            raise LackingError(
                f"rate: {rate_per_s:g} a second is outside what every block of {self.name} measured, {there}; measure "
                f"at that rate{else_}"
            )
        return rate_per_s


def _blended(mix: Mix, below: OpenAdvice, above: OpenAdvice) -> OpenAdvice:
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
            measured_per_s=_common([one.measured_per_s, others[one.setting].measured_per_s]),
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


class _Curve:
    """One setting in one block."""

    def __init__(self, cells: pd.DataFrame, by: str) -> None:
        self._rungs = capacity.ladder(cells, np.inf, by)
        self._few = set(cells.loc[~cells["enough"], "rate_per_s"])
        self._carried_per_s = _carried_per_s(cells)

    @property
    def range_per_s(self) -> tuple[float, float]:
        """The lowest and the highest rate with a figure."""
        known = [rung.rate_per_s for rung in self._rungs if not self._lacking(rung)]
        return (known[0], known[-1]) if known else (np.nan, np.nan)

    def _lacking(self, rung: Rung) -> str:
        """Why a rung has no figure; a client that is a part of it leaves it one."""
        if rung.missed_by in _WITHOUT_FIGURE:
            return rung.missed_by
        if rung.rate_per_s in self._few:
            return TOO_FEW
        return "" if np.isfinite(rung.figure_ms) else EMPTY

    def at(self, rate_per_s: float) -> InBlock:
        """Return the figure at a rate, or why there is none."""

        def without(why: str) -> InBlock:
            return InBlock(rate_per_s, np.nan, np.nan, why, self._carried_per_s, frozenset())

        rungs = self._rungs
        same = [rung for rung in rungs if abs(rung.rate_per_s / rate_per_s - 1) <= _SAME][:1]
        below = [rung for rung in rungs if rung.rate_per_s < rate_per_s and rung not in same]
        above = [rung for rung in rungs if rung.rate_per_s > rate_per_s and rung not in same]
        sides = same or (below[-1:] + above[:1] if below and above else [])
        lacking = [self._lacking(rung) for rung in sides]
        if any(rung.missed_by == NOT_CARRIED for rung in (*below, *same)) and (any(lacking) or not sides):
            return without(NOT_CARRIED)
        if NOT_CARRIED in lacking:  # the rate above: what it does at this one a trial may say
            return without(NOT_CARRIED if rate_per_s > self._carried_per_s else OUTSIDE)
        if not sides or any(lacking):
            return without(next((why for why in lacking if why), OUTSIDE))
        figures = np.log([rung.figure_ms for rung in sides])
        rates = np.log([rung.rate_per_s for rung in sides])
        figure_ms = np.exp(np.interp(np.log(rate_per_s), rates, figures))
        marks = frozenset().union(*(rung.marks for rung in sides))
        return InBlock(rate_per_s, np.nan, float(figure_ms) * 1e3, "", self._carried_per_s, marks)


def _ended_by(cells: pd.DataFrame) -> str:
    """Say whether the client is a part of the highest rate of open arrivals in some block."""
    tops = cells.loc[cells[cells["kind"] == OPEN].groupby("block")["rate_per_s"].idxmax(), "marks"]
    return CLIENT if any(not CLIENT_MARKS.isdisjoint(str(marks).split(";")) for marks in tops) else ""


def _carried_per_s(cells: pd.DataFrame) -> float:
    """Return what a setting carries in a block; NaN where that was not looked for.

    A rate above it that was measured shows that it is only the highest that was tried before.
    """
    carried = float(cells["carried_per_s"].max()) if "carried_per_s" in cells else np.nan
    measured = cells.loc[cells["n_ok"] > 0, "rate_per_s"].max()
    return np.nan if measured > carried * (1 + _SAME) else carried


def _common(ranges: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return what all ranges have; NaN where one has nothing."""
    lows, highs = np.array(list(ranges)).T
    return float(lows.max()), float(highs.min())


def _arrivals(cells: pd.DataFrame) -> str:
    kinds: Sequence[str] = sorted(set(cells["arrivals"]) - {""}) if "arrivals" in cells else ["even"]
    return " and ".join(kinds)


def _setting(read_cl: str, write_cl: str, replicas: int) -> Setting:
    """Name a pair of levels: a strong one as the papers do, any other by its levels."""
    for known in (*strong_settings(replicas), *wider_settings(replicas)):
        if (known.read_cl, known.write_cl) == (read_cl, write_cl):
            return known
    return Setting(f"{read_cl}/{write_cl}", read_cl, write_cl)
