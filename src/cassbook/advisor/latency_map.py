"""Latency of each strong setting over threads and the share of reads, as a run measured it.

Nothing is fitted. A point between measured ones is interpolated linearly, first over threads, then over the share of
reads, where pure workloads stand at shares 0 and 1; without mixed cells that is the weighted mean of equations (8) to
(10) of Gorbenko 2020. A point outside what was measured has no latency. Each block gives a map of its own, so intervals
and comparisons rest on cluster starts.

A map can be of a percentile instead of the mean. Over threads the logarithm of the quantile is then interpolated, on
that of threads; over the share of reads distributions are mixed in proportion to operations, those of neighbouring
measured mixes where there are some (see `latency.percentile_mixing`). Over blocks it is the geometric mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram
from numpy.typing import ArrayLike, NDArray

from cassbook.advisor import map_cells
from cassbook.advisor.advice import SURVIVE, Advice, AdviceMap, Choice, differ
from cassbook.core.consistency import Setting, strong_settings, wider_settings
from cassbook.core.errors import InputError, LackingError
from cassbook.core.estimate import Estimate
from cassbook.core.schema import of_one_machine
from cassbook.core.types import Floats
from cassbook.latency import percentile_validation, percentiles, uncertainty

if TYPE_CHECKING:
    from cassbook.records.fault_costs import Unanswered
    from cassbook_advisor.window import Load

_REPLICAS = 3
_DOMAIN = ("read_share", "threads", "best", "latency_us", "runner_up", "margin_percent", "p_value", "distinguishable")


class LatencyMap:
    """Measured latency of settings over threads and share of reads.

    Parameters
    ----------
    cell_stats : DataFrame
        From `cell_statistics`, of one engine and deployment: pure and mixed cells are used.
    name : str
        Of the run, for messages.
    replicas : int
        The replication factor at which it was measured.
    workloads : sequence of str
        Use the cells of these workloads instead, as measured in a closed loop. The mix is a part of a workload: a map
        of one holds at its share of reads (see `map_cells.SAME_MIX`), one of several from the least share to the
        most.
    by : str
        What settings are judged by: 'mean', or one of `percentiles.SHARES`.
    recorded : callable, optional
        Gives the run's histograms by tag, of which percentiles are made.
    measured : str
        When the run began, in ISO 8601; empty where that is not known, as of logs.

    Attributes
    ----------
    other_workloads : tuple of str
        Workloads of the run that the map does not show.
    settings : tuple of Setting
        What can be advised: the settings that are just strong, and those that wait for more where they were measured.

    Raises
    ------
    InputError
        If no strong setting has both reads and writes; for a percentile also if the run has no histograms, or too few
        operations.
    """

    def __init__(
        self,
        cell_stats: pd.DataFrame,
        name: str = "run",
        replicas: int = 3,
        workloads: Sequence[str] = (),
        by: str = "mean",
        recorded: Callable[[], Mapping[str, HdrHistogram]] | None = None,
        measured: str = "",
    ) -> None:
        self.name, self.replicas, self.workloads, self.measured = name, replicas, tuple(workloads), measured
        self.by, self._recorded, self._cell_stats = _checked(by), recorded, cell_stats
        self.other_workloads = tuple(w for w in map_cells.shares(cell_stats) if w not in self.workloads)
        cell_stats = of_one_machine(cell_stats)
        if self.workloads:
            cell_stats = map_cells.as_mixed(cell_stats, self.workloads, name)
        strong = strong_settings(replicas)
        settings = (*strong, *wider_settings(replicas))
        parts = [
            map_cells.mixed_columns(cell_stats, replicas),
            map_cells.pure_columns(cell_stats, settings, replicas),
        ]
        columns = pd.concat(parts, ignore_index=True)
        alone = len(self.workloads) == 1
        both = columns.groupby("setting")["read_share"].agg(lambda shares: alone or shares.min() < shares.max())
        wanted = set(parts[0]["setting"]) | {setting.name for setting in strong}
        self.settings = tuple(s for s in settings if s.name in wanted and both.get(s.name, False))
        if not self.settings:
            raise LackingError(map_cells.without_settings(cell_stats, name, self.workloads, self.other_workloads))
        usable = columns[columns["setting"].isin([s.name for s in self.settings])]
        self._columns = usable.groupby(["setting", "block", "read_share", "threads"], as_index=False)[
            "latency_us"
        ].mean()
        self._mixed_threads = parts[0]["threads"]
        self.blocks = tuple(sorted(self._columns["block"].unique()))
        self._usable = usable
        self._tails = None if by == "mean" else self._made_tails()

    @property
    def engine(self) -> str:
        """Cassandra's version; empty where the cells do not say."""
        return str(self._cell_stats["engine"].iloc[0]) if "engine" in self._cell_stats else ""

    @classmethod
    def of_run(
        cls,
        name_or_path: str | Path,
        replicas: int | None = None,
        workload: str | Sequence[str] | None = None,
        by: str = "mean",
    ) -> LatencyMap:
        """Take the map of a run: its name in data/records, its folder, or a folder of logs.

        Parameters
        ----------
        name_or_path : str or Path
        replicas : int, optional
            The replication factor, for logs, which do not say. Default: what the run's manifest says, or 3.
        workload : str or sequence of str, optional
            Workloads to make the map of, several only on the same tables. Default: pure and mixed cells.
        by : str
            'mean', 'p50', 'p95', 'p99' or 'p99.9': what settings are judged by.

        Raises
        ------
        InputError
            If it cannot be read, has no strong setting or no such workload, was measured at another replication factor,
            or does not support the percentile.
        """
        from cassbook.ingest.folder import open_run  # noqa: PLC0415 - an adviser in a service reads no logs
        from cassbook.shown.replications import answering  # noqa: PLC0415 - nor records of others

        run = open_run(name_or_path)
        profile = run.manifest.get("profile", {})
        known = profile.get("cluster", {}).get("replication_factor")
        if replicas is not None and known not in {None, replicas}:
            raise InputError(
                f"replication: {run.name} was measured with replication {known}, not {replicas}. "
                f"With {replicas}: {'; '.join(answering(replicas))}"
            )
        wanted = map_cells.names(workload)
        map_cells.check_same_tables(profile, wanted)

        recorded = partial(getattr, run, "histograms")  # unlike a lambda it may be sent to another process
        begun = str(run.manifest.get("begun", ""))
        return cls(run.statistics, run.name, replicas or known or _REPLICAS, wanted, by, recorded, begun)

    def judged_by(self, by: str) -> LatencyMap:
        """Return the map of the same cells by another figure.

        Parameters
        ----------
        by : str
            'mean', 'p50', 'p95', 'p99' or 'p99.9'.

        Raises
        ------
        InputError
            If the run does not support it.
        """
        if by == self.by:
            return self
        return LatencyMap(self._cell_stats, self.name, self.replicas, self.workloads, by, self._recorded, self.measured)

    def _made_tails(self) -> map_cells.Tails:
        if self._recorded is None:
            raise InputError(f"by: {self.by} is made of the histograms of cells, and {self.name} has none; take mean")
        return map_cells.Tails(self.cells, self.by, self._recorded(), self.name)

    @cached_property
    def cells(self) -> map_cells.Cells:
        """The cells that the map is made of."""
        return map_cells.Cells(self._usable)

    @cached_property
    def mix_accuracy(self) -> pd.DataFrame:
        """How far percentiles of mixes made from other cells are off on this run (see `percentile_validation`).

        Empty for a map of the mean, of workloads, or of a run that has no mixes.
        """
        stats = self._cell_stats
        if self._tails is None or self._recorded is None or self.workloads or not (stats["kind"] == "mixed").any():
            return percentile_validation.nothing()
        table = percentile_validation.mixed_accuracy(stats, self._recorded())
        return table[table["percentile"] == self.by].reset_index(drop=True)

    @property
    def workload_share(self) -> float | None:
        """Share of reads of the one workload that the map is of; None for any other map."""
        return float(self.read_shares[0]) if len(self.workloads) == 1 else None

    @cached_property
    def threads(self) -> Floats:
        """Thread counts that were measured, ascending."""
        return np.sort(self._columns["threads"].unique()).astype(float)

    @cached_property
    def read_shares(self) -> Floats:
        """Shares of reads that were measured, ascending."""
        return np.sort(self._columns["read_share"].unique())

    def latencies_us(self, threads: ArrayLike, read_shares: ArrayLike) -> Floats:
        """Latency of each setting in each block on a grid.

        Parameters
        ----------
        threads : array_like, shape (T,)
        read_shares : array_like, shape (S,)

        Returns
        -------
        ndarray, shape (settings, blocks, S, T)
            In us; NaN outside what was measured.
        """
        counts, shares = np.asarray(threads, dtype=float), self._measured_mix(read_shares)
        latency_us = np.full((len(self.settings), len(self.blocks), shares.size, counts.size), np.nan)
        cells = self._columns
        for k, setting in enumerate(self.settings):
            for b, block in enumerate(self.blocks):
                if self._tails is not None:
                    by_point = [self._tails.at(setting.name, block, t, s) for s in shares for t in counts]
                    latency_us[k, b] = np.reshape(by_point, (shares.size, counts.size))
                    continue
                measured = cells[(cells["setting"] == setting.name) & (cells["block"] == block)]
                if len(measured):
                    latency_us[k, b] = map_cells.interpolated(measured, counts, shares)
        return latency_us

    def _measured_mix(self, read_shares: ArrayLike) -> Floats:
        """Shares of reads; on the map of one workload those near its own are that."""
        shares = np.asarray(read_shares, dtype=float)
        own = self.workload_share
        return shares if own is None else np.where(np.abs(shares - own) <= map_cells.SAME_MIX, own, shares)

    def at(self, load: Load) -> dict[str, list[float]]:
        """Latency in us by setting's name, block by block, at a load; NaN outside what was measured.

        This is `cassbook_advisor.Measured`.
        """
        by_block = self.latencies_us([load.in_flight], [load.read_share])[:, :, 0, 0]
        return {setting.name: row.tolist() for setting, row in zip(self.settings, by_block, strict=True)}

    def means_us(self, threads: ArrayLike, read_shares: ArrayLike) -> Floats:
        """`latencies_us` over the blocks that know them: shape (settings, S, T)."""
        return self.over_blocks(self.latencies_us(threads, read_shares), axis=1)

    def over_blocks(self, by_block: Floats, axis: int) -> Floats:
        """Geometric mean over the blocks that know a figure; NaN where none does."""
        return np.asarray(np.exp(map_cells.mean(np.log(by_block), axis)))

    def marks(self, setting: Setting, threads: float, read_share: float) -> frozenset[str]:
        """Marks of the cells that a point rests on, in any block."""
        share = float(self._measured_mix([read_share])[0])
        return frozenset().union(*(p.marks for p in self.cells.around(setting.name, self.blocks, threads, share)))

    def too_few(self, threads: float, read_share: float) -> dict[Setting, float]:
        """Operations of the smallest cell that does not support the percentile there, by setting that lacks it."""
        if self._tails is None:
            return {}
        share = float(self._measured_mix([read_share])[0])
        fewest = {s: self._tails.fewest(self.cells.around(s.name, self.blocks, threads, share)) for s in self.settings}
        return {s: least for s, least in fewest.items() if np.isfinite(least)}

    def _undecided(self, settings: Sequence[Setting], threads: Floats, shares: Floats) -> NDArray[np.bool_]:
        """Where a setting has too few operations for the percentile, so that nobody knows which is the fastest."""
        lacking = [not set(settings).isdisjoint(self.too_few(t, s)) for s in shares.tolist() for t in threads.tolist()]
        return np.reshape(np.array(lacking, dtype=bool), (shares.size, threads.size))

    def _estimate(self, setting: Setting, by_block: Floats, threads: float, read_share: float) -> tuple[Estimate, str]:
        """Figure of a setting over blocks, with its interval and what that rests on."""
        known = np.isfinite(by_block)
        bounds = (np.nan, np.nan)
        if self._tails is not None and known.sum() == 1:
            block = self.blocks[int(np.flatnonzero(known)[0])]
            share = float(self._measured_mix([read_share])[0])
            bounds = self._tails.bounds_us(setting.name, block, threads, share)
        return uncertainty.over_blocks(by_block, *bounds)

    def check(self, threads: float, read_share: float) -> None:
        """Refuse a point outside what was measured.

        Raises
        ------
        InputError
            Saying what was measured.
        """
        if not 0 <= read_share <= 1:
            raise InputError(f"reads: {read_share:g} is not between 0 and 1 (0.9 for 90 % reads)")
        low, high = self.threads[[0, -1]]
        if not low <= threads <= high:
            raise LackingError(
                f"threads: {threads:g} is outside what {self.name} measured, {low:g} to {high:g}; curves say nothing "
                "there (see the chapter on models): measure at that load"
            )
        own = self.workload_share
        if own is not None and abs(read_share - own) > map_cells.SAME_MIX:
            raise InputError(
                f"reads: {read_share:g}; workload {self.workloads[0]} was measured at its own mix, {own:.0%} reads"
            )
        least, most = (0.0, 1.0) if own is not None else self.read_shares[[0, -1]]
        if not least <= read_share <= most:
            raise LackingError(f"reads: {read_share:g} is outside what {self.name} measured, {least:g} to {most:g}")

    def advise(self, threads: float, read_share: float, survive: int = SURVIVE) -> Advice:
        """Name the best settings at a point, and what is known of them.

        Parameters
        ----------
        threads : float
            Requests in flight.
        read_share : float
            Part of them that reads, 0 to 1.
        survive : int
            Dead replicas that the recommended setting has to survive.

        Raises
        ------
        InputError
            Outside what was measured.
        """
        self.check(threads, read_share)
        by_block = self.latencies_us([threads], [read_share])[:, :, 0, 0]
        choices = sorted(
            (
                Choice(
                    s,
                    *self._estimate(s, row, threads, read_share),
                    s.survives(self.replicas),
                    tuple(map(float, row)),
                    self.marks(s, threads, read_share),
                )
                for s, row in zip(self.settings, by_block, strict=True)
                if np.isfinite(row).any()
            ),
            key=lambda choice: choice.latency_us.value,
        )
        too_few = self.too_few(threads, read_share)
        if not choices:
            raise LackingError(map_cells.without_choices(self.name, self.by, threads, read_share, too_few))
        advice = Advice(
            **self._basis(survive), threads=threads, read_share=read_share, choices=tuple(choices),
            mixed=self._rests_on_mixes(threads), too_few=too_few,
        )  # fmt: skip
        return replace(advice, failing=self._failing(advice))

    def _basis(self, survive: int) -> dict[str, Any]:
        return {
            "name": self.name, "workloads": self.workloads, "other_workloads": self.other_workloads,
            "replicas": self.replicas, "survive": survive, "by": self.by, "cluster_starts": len(self.blocks),
            "mix_accuracy": self.mix_accuracy,
        }  # fmt: skip

    def _failing(self, advice: Advice) -> Unanswered | None:
        """What the setting recommended and the fastest leave unanswered while a node is dead."""
        from cassbook.records import fault_costs  # noqa: PLC0415 - an adviser in a service reads no records

        named = [choice.setting for choice in (advice.recommended, advice.fastest) if choice is not None]
        return fault_costs.of_settings([s.waits(self.replicas) for s in named], self.replicas, self.engine)

    def advise_all(self, survive: int = SURVIVE) -> AdviceMap:
        """Name the best settings at every measured thread count, and at reads from 0 to 100 % in steps of 10.

        Of workloads the shares are those that were measured, and the tenths between.

        Parameters
        ----------
        survive : int
            Dead replicas that a recommended setting has to survive.
        """
        shares, counts = self.grid_shares, tuple(map(float, self.threads))
        tables = (self.domain(read_shares=shares, survive=count) for count in (0, survive))
        fastest, recommended = (table.assign(marks=self._marks_at(table)) for table in tables)
        few = [
            (share, t, setting.name, fewest)
            for share in shares for t in counts for setting, fewest in self.too_few(t, share).items()
        ]  # fmt: skip
        return AdviceMap(
            **self._basis(survive), threads=counts, read_shares=tuple(shares), fastest=fastest, recommended=recommended,
            survives={s.name: s.survives(self.replicas) for s in self.settings},
            unknown=pd.DataFrame(few, columns=["read_share", "threads", "setting", "operations"]),
        )  # fmt: skip

    @property
    def grid_shares(self) -> list[float]:
        """Shares of reads at which advice for all loads is given: tenths; of workloads those measured and between."""
        tenths = [k / 10 for k in range(11)]
        if not self.workloads:
            return tenths
        measured = [float(share) for share in self.read_shares]
        between = {share for share in tenths if min(measured) < share < max(measured)}
        return sorted(between - {round(share, 6) for share in measured} | set(measured))

    def _marks_at(self, table: pd.DataFrame) -> pd.Series:
        """Marks behind the best setting of each point, as 'a;b'."""
        settings = {setting.name: setting for setting in self.settings}
        points = zip(table["best"], table["threads"], table["read_share"], strict=True)
        marks = [";".join(sorted(self.marks(settings[best], threads, share))) for best, threads, share in points]
        return pd.Series(marks, table.index, dtype=object)

    def surviving(self, survive: int) -> tuple[Setting, ...]:
        """Return the measured settings whose reads and writes survive so many dead replicas."""
        return tuple(s for s in self.settings if min(s.survives(self.replicas)) >= survive)

    def _rests_on_mixes(self, threads: float) -> bool:
        return bool(len(self._mixed_threads) and self._mixed_threads.min() <= threads <= self._mixed_threads.max())

    def domain(
        self, threads: ArrayLike | None = None, read_shares: ArrayLike | None = None, survive: int = 0
    ) -> pd.DataFrame:
        """Best setting at every point of a grid (Fig. 6), and whether it differs significantly from the next.

        Parameters
        ----------
        threads, read_shares : array_like, optional
            The measured ones by default.
        survive : int
            Dead replicas that a setting has to survive to be looked at; with 0 speed alone decides.

        Returns
        -------
        DataFrame
            read_share, threads, best, latency_us, runner_up, margin_percent, p_value, distinguishable (True, False,
            or None with one block); points outside what was measured are left out, as are those where a percentile of
            some setting that is looked at is not known for want of operations, and all of them where no setting
            survives enough.
        """
        counts = self.threads if threads is None else np.asarray(threads, dtype=float)
        shares = self.read_shares if read_shares is None else np.asarray(read_shares, dtype=float)
        settings = self.surviving(survive)
        keep = [place for place, setting in enumerate(self.settings) if setting in settings]
        by_block = self.latencies_us(counts, shares)[keep]
        if not keep:
            return pd.DataFrame(columns=list(_DOMAIN))
        by_block[:, :, self._undecided(settings, counts, shares)] = np.nan
        means = self.over_blocks(by_block, axis=1)
        ranked = np.argsort(means, axis=0)  # NaN come last
        second = ranked[min(1, len(settings) - 1)]
        lowest, next_us = (np.take_along_axis(means, order[None], 0)[0] for order in (ranked[0], second))
        logs = [np.log(np.take_along_axis(by_block, order[None, None], 0)[0]) for order in (second, ranked[0])]
        p_value = uncertainty.paired_p_values(logs[0] - logs[1])
        names = np.array([setting.name for setting in settings])
        alone = np.isnan(next_us) | (len(settings) == 1)
        table = pd.DataFrame(
            {
                "read_share": np.repeat(shares, counts.size),
                "threads": np.tile(counts, shares.size),
                "best": names[ranked[0]].ravel(),
                "latency_us": lowest.ravel(),
                "runner_up": np.where(alone, "", names[second]).ravel(),
                "margin_percent": np.where(alone, np.nan, (next_us / lowest - 1) * 100).ravel(),
                "p_value": np.where(alone, np.nan, p_value).ravel(),
            }
        )
        table["distinguishable"] = pd.Series([differ(p) for p in table["p_value"]], dtype=object)
        return table[table["latency_us"].notna()].reset_index(drop=True)


def _checked(by: str) -> str:
    if by not in percentiles.FIGURES:
        raise InputError(f"by: {by!r} is none of {', '.join(percentiles.FIGURES)}")
    return by
