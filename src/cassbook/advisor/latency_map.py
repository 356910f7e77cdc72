"""Latency of each strong setting over threads and the share of reads, as a run measured it.

Nothing is fitted. A point between measured ones is interpolated linearly, first over threads, then over the share of
reads, where pure workloads stand at shares 0 and 1; without mixed cells that is the weighted mean of equations (8) to
(10) of Gorbenko 2020. A point outside what was measured has no latency. Each block gives a map of its own, so intervals
and comparisons rest on cluster starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cassbook.advisor import workload_cells
from cassbook.advisor.advice import SURVIVE, Advice, Choice, differ
from cassbook.core.consistency import Setting, strong_settings, wider_settings
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.latency import uncertainty
from cassbook.latency.summaries import mixed_cells, pure_cells

Floats = NDArray[np.float64]

_REPLICAS = 3
_DOMAIN = ("read_share", "threads", "best", "latency_us", "runner_up", "margin_percent", "p_value", "told")


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
        of one holds at its share of reads (see `workload_cells.SAME_MIX`), one of several from the least share to the
        most.

    Attributes
    ----------
    other_workloads : tuple of str
        Workloads of the run that the map does not show.
    settings : tuple of Setting
        What can be advised: the settings that are just strong, and those that wait for more where they were measured.

    Raises
    ------
    InputError
        If no strong setting has both reads and writes.
    """

    def __init__(
        self, cell_stats: pd.DataFrame, name: str = "run", replicas: int = 3, workloads: Sequence[str] = ()
    ) -> None:
        self.name, self.replicas, self.workloads = name, replicas, tuple(workloads)
        self.other_workloads = tuple(w for w in workload_cells.shares(cell_stats) if w not in self.workloads)
        if self.workloads:
            cell_stats = workload_cells.as_mixed(cell_stats, self.workloads, name)
        strong = strong_settings(replicas)
        settings = (*strong, *wider_settings(replicas))
        parts = [_mixed_columns(cell_stats, replicas), _pure_columns(cell_stats, settings)]
        columns = pd.concat(parts, ignore_index=True)
        alone = len(self.workloads) == 1
        both = columns.groupby("setting")["read_share"].agg(lambda shares: alone or shares.min() < shares.max())
        wanted = set(parts[0]["setting"]) | {setting.name for setting in strong}
        self.settings = tuple(s for s in settings if s.name in wanted and both.get(s.name, False))
        if not self.settings:
            raise InputError(self._without_settings(cell_stats))
        usable = columns[columns["setting"].isin([s.name for s in self.settings])]
        self._columns = usable.groupby(["setting", "block", "read_share", "threads"], as_index=False)[
            "latency_us"
        ].mean()
        self._mixed_threads = parts[0]["threads"]
        self.blocks = tuple(sorted(self._columns["block"].unique()))

    @classmethod
    def of_run(
        cls, name_or_path: str | Path, replicas: int | None = None, workload: str | Sequence[str] | None = None
    ) -> LatencyMap:
        """Take the map of a run: its name in data/runs, its folder, or a folder of logs.

        Parameters
        ----------
        name_or_path : str or Path
        replicas : int, optional
            The replication factor, for logs, which do not say. Default: what the run's manifest says, or 3.
        workload : str or sequence of str, optional
            Workloads to make the map of, several only on the same tables. Default: pure and mixed cells.

        Raises
        ------
        InputError
            If it cannot be read, has no strong setting or no such workload, or was measured at another replication
            factor.
        """
        from cassbook.ingest.folder import open_run  # noqa: PLC0415 - an adviser in a service reads no logs

        run = open_run(name_or_path)
        profile = run.manifest.get("profile", {})
        known = profile.get("cluster", {}).get("replication_factor")
        if replicas is not None and known not in {None, replicas}:
            raise InputError(f"replication: {run.name} was measured with replication {known}, not {replicas}")
        wanted = workload_cells.names(workload)
        workload_cells.check_same_tables(profile, wanted)
        return cls(run.statistics, run.name, replicas or known or _REPLICAS, wanted)

    def _without_settings(self, cell_stats: pd.DataFrame) -> str:
        """Say that there is nothing to advise, and what there is."""
        if self.workloads:
            pairs = sorted({f"{r}/{w}" for r, w in zip(cell_stats["read_cl"], cell_stats["write_cl"], strict=True)})
            return (
                f"{self.name}: workload {', '.join(self.workloads)} was measured at {', '.join(pairs)}, and no strong "
                "setting is among them at every share of reads; measure some, such as QUORUM/QUORUM"
            )
        text = f"{self.name}: no strong setting has both its reads and its writes measured"
        if not self.other_workloads:
            return text
        return f"{text}; it holds workloads {', '.join(self.other_workloads)}: choose one with --workload"

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
        counts, shares = np.asarray(threads, dtype=float), np.asarray(read_shares, dtype=float)
        if self.workload_share is not None:
            shares = np.where(
                np.abs(shares - self.workload_share) <= workload_cells.SAME_MIX, self.workload_share, shares
            )
        latency_us = np.full((len(self.settings), len(self.blocks), shares.size, counts.size), np.nan)
        cells = self._columns
        for k, setting in enumerate(self.settings):
            for b, block in enumerate(self.blocks):
                measured = cells[(cells["setting"] == setting.name) & (cells["block"] == block)]
                if len(measured):
                    latency_us[k, b] = _interpolated(measured, counts, shares)
        return latency_us

    def means_us(self, threads: ArrayLike, read_shares: ArrayLike) -> Floats:
        """`latencies_us`, mean over the blocks that know them: shape (settings, S, T)."""
        return _mean(self.latencies_us(threads, read_shares), axis=1)

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
            raise InputError(
                f"threads: {threads:g} is outside what {self.name} measured, {low:g} to {high:g}; curves say nothing "
                "there (see the chapter on models): measure at that load"
            )
        own = self.workload_share
        if own is not None and abs(read_share - own) > workload_cells.SAME_MIX:
            raise InputError(
                f"reads: {read_share:g}; workload {self.workloads[0]} was measured at its own mix, {own:.0%} reads"
            )
        least, most = (0.0, 1.0) if own is not None else self.read_shares[[0, -1]]
        if not least <= read_share <= most:
            raise InputError(f"reads: {read_share:g} is outside what {self.name} measured, {least:g} to {most:g}")

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
                Choice(s, Estimate.mean(row[np.isfinite(row)]), s.survives(self.replicas), tuple(map(float, row)))
                for s, row in zip(self.settings, by_block, strict=True)
                if np.isfinite(row).any()
            ),
            key=lambda choice: choice.latency_us.value,
        )
        if not choices:
            raise InputError(
                f"{self.name}: nothing was measured around {threads:g} threads and {read_share:.0%} reads, though it "
                "lies between what was"
            )
        mixed = self._rests_on_mixes(threads)
        return Advice(threads, read_share, tuple(choices), mixed, self.replicas, survive)

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
            read_share, threads, best, latency_us, runner_up, margin_percent, p_value, told (True, False, or None with
            one block); points outside what was measured are left out, all of them where no setting survives enough.
        """
        counts = self.threads if threads is None else np.asarray(threads, dtype=float)
        shares = self.read_shares if read_shares is None else np.asarray(read_shares, dtype=float)
        settings = self.surviving(survive)
        keep = [place for place, setting in enumerate(self.settings) if setting in settings]
        by_block = self.latencies_us(counts, shares)[keep]
        if not keep:
            return pd.DataFrame(columns=list(_DOMAIN))
        means = _mean(by_block, axis=1)
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
        table["told"] = pd.Series([differ(p) for p in table["p_value"]], dtype=object)
        return table[table["latency_us"].notna()].reset_index(drop=True)


def _mean(values: Floats, axis: int) -> Floats:
    """Mean of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis))


def _mixed_columns(cell_stats: pd.DataFrame, replicas: int) -> pd.DataFrame:
    cells = mixed_cells(cell_stats, replicas)
    return cells[["setting", "block", "read_share", "threads", "latency_us"]]


def _pure_columns(cell_stats: pd.DataFrame, settings: tuple[Setting, ...]) -> pd.DataFrame:
    """Pure workloads as the ends of each setting's range of shares: 1 its reads, 0 its writes."""
    cells = pure_cells(cell_stats)
    parts = []
    for setting in settings:
        for operation, level, share in (("READ", setting.read_cl, 1.0), ("WRITE", setting.write_cl, 0.0)):
            pure = cells[(cells["operation"] == operation) & (cells["level"] == level)]
            parts.append(pure[["block", "threads", "latency_us"]].assign(setting=setting.name, read_share=share))
    return pd.concat(parts, ignore_index=True)


def _interpolated(cells: pd.DataFrame, threads: Floats, shares: Floats) -> Floats:
    """Interpolate one setting in one block: shape (S, T), NaN outside."""
    wide = cells.pivot_table("latency_us", "threads", "read_share")
    at = wide.columns.to_numpy(dtype=float)
    columns = [wide[share].dropna() for share in wide.columns]
    table = np.stack([np.interp(threads, c.index, c.to_numpy(), left=np.nan, right=np.nan) for c in columns])
    grid = np.full((shares.size, threads.size), np.nan)
    for place in range(threads.size):
        known = np.isfinite(table[:, place])
        if known.any():
            grid[:, place] = np.interp(shares, at[known], table[known, place], left=np.nan, right=np.nan)
    return grid
