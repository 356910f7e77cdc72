"""Response time of each setting at a rate, or at a share of what the weakest setting carries.

Cells under open arrivals (kind `open`), and those at fixed rates, are a curve of each setting in each block. Between
two rates of a block a figure is interpolated on logarithmic scales; outside of them, and next to a rate that was not
carried, there is none. Over blocks it is the geometric mean with Student's t on logarithms. What a setting carries
within a bound is `capacity.capacities` of the same cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from cassbook.core.consistency import Replicas, Setting, strong_settings, wider_settings
from cassbook.core.errors import InputError, LackingError
from cassbook.core.schema import CLIENT_MARKS, OPEN
from cassbook.latency import capacity
from cassbook.latency.capacity import CLIENT, EMPTY, FAILED, NOT_CARRIED, UNSENT, Capacity, Rung
from cassbook.latency.open_choices import OUTSIDE, TOO_FEW, InBlock, Mix, OpenAdvice, OpenChoice, blended, common
from cassbook.latency.results import Replication, replicas_at

#: Two rates of which one was computed from a share are the same if they differ by no more than this part.
_SAME = 1e-6
#: Without a bound `client` stands for one of the others.
_WITHOUT_FIGURE = (NOT_CARRIED, UNSENT, FAILED, EMPTY, CLIENT)
_REPLICAS = 3
#: What to add to a profile for an answer by rate.
SECTION = "open: {read_shares: [0.5], load_shares: [0.2, 0.4, 0.6, 0.8]}"


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
            return common(map(self.range_per_s, mix.measured))
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
            return blended(mix, below, above)
        cells, weakest = self._of(mix), self.weakest_per_s(mix)
        if of_capacity is not None:
            self._check_share(mix, of_capacity)
            asked = {block: self._rate_at(cells[cells["block"] == block], of_capacity, weakest[block])
                     for block in weakest}  # fmt: skip
        else:
            asked = dict.fromkeys(weakest, self._checked_rate(mix, float(rate_per_s or 0)))
        found = self._capacities(cells, bound_ms)
        choices = [
            self._choice(own, asked, weakest, of_capacity is not None, bound_ms, found)
            for _, own in cells.groupby(["read_cl", "write_cl"])
        ]
        choices.sort(key=lambda one: (not one.known, one.response_us.value if one.known else one.not_carried))
        return OpenAdvice(
            name=self.name, mix=mix, of_capacity=of_capacity, rate_per_s=rate_per_s, by=self.by, bound_ms=bound_ms,
            survive=survive, replicas=self.replicas, choices=tuple(one for one in choices if one.strong),
            weak=tuple(one for one in choices if not one.strong), rates_per_s=tuple(asked.values()),
            load_shares=tuple(asked[block] / weakest[block] for block in asked), arrivals=_arrivals(cells),
        )  # fmt: skip

    def _choice(
        self, own: pd.DataFrame, asked: dict[int, float], weakest: dict[int, float], at_share: bool,
        bound_ms: float | None, found: Mapping[tuple[str, str], Capacity],
    ) -> OpenChoice:  # fmt: skip
        """Say what one setting does at the rates that are asked for, block by block."""
        read_cl, write_cl = str(own["read_cl"].iloc[0]), str(own["write_cl"].iloc[0])
        setting, carried = _setting(read_cl, write_cl, self.replicas), found.get((read_cl, write_cl))
        curve = own[own["load_share"].notna()] if at_share else own
        ladders = {block: _Curve(curve[curve["block"] == block], self.by) for block in asked}
        in_blocks = tuple(
            replace(one.at(asked[block]), load_share=asked[block] / weakest[block]) for block, one in ladders.items()
        )
        return OpenChoice(
            setting=setting, survives=setting.survives(self._replicas), strong=setting.strong(self._replicas),
            blocks=in_blocks, measured_per_s=common(one.range_per_s for one in ladders.values()), bound_ms=bound_ms,
            capacity=carried, ended_by=_ended_by(own) if carried is None else carried.ended_by,
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


def _arrivals(cells: pd.DataFrame) -> str:
    kinds: Sequence[str] = sorted(set(cells["arrivals"]) - {""}) if "arrivals" in cells else ["even"]
    return " and ".join(kinds)


def _setting(read_cl: str, write_cl: str, replicas: int) -> Setting:
    """Name a pair of levels: a strong one as the papers do, any other by its levels."""
    for known in (*strong_settings(replicas), *wider_settings(replicas)):
        if (known.read_cl, known.write_cl) == (read_cl, write_cl):
            return known
    return Setting(f"{read_cl}/{write_cl}", read_cl, write_cl)
