"""Latency of a mixed workload, and the strong setting that minimises it (Gorbenko 2020, section V)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cassbook.core.consistency import STRONG_SETTINGS, Setting
from cassbook.core.errors import InputError, LackingError
from cassbook.core.types import Floats

#: What identifies a point of a mixed workload apart from its setting.
WORKLOAD = ["read_share", "threads"]

#: The setting that the paper compares the others with (Fig. 7).
BASELINE = "1R-3W"

#: What wins where a curve goes below zero: no latency does, so nothing can be said there.
NO_ESTIMATE = "no estimate"

#: Shares are keys of tables: they are compared after rounding to so many decimals.
_SHARE_DECIMALS = 6


def mix_label(read_share: float) -> str:
    """Name a mix as the papers do: reads/writes in percent.

    >>> mix_label(0.9)
    '90/10'
    """
    return f"{100 * read_share:.0f}/{100 - 100 * read_share:.0f}"


class Predictor(Protocol):
    """Anything that gives a mean latency in us for a number of threads, e.g. `regression.Fit`."""

    def predict(self, x: Floats, /) -> ArrayLike:
        """Mean latency in us at `x` threads, of the shape of `x`."""


#: (operation, level) -> predictor; operation READ or WRITE.
Predictors = Mapping[tuple[str, str], Predictor]


@overload
def mixed(read_us: float, write_us: float, read_share: float) -> float: ...
@overload
def mixed(read_us: ArrayLike, write_us: ArrayLike, read_share: ArrayLike) -> float | Floats: ...
def mixed(read_us: ArrayLike, write_us: ArrayLike, read_share: ArrayLike) -> float | Floats:
    """Mean latency of a mix: P_read * read + (1 - P_read) * write (eq. 8-10).

    Parameters
    ----------
    read_us, write_us : array_like
        Mean latencies of reads and of writes in us, each measured in a pure workload of as many threads.
    read_share : array_like
        Part of the operations that are reads, 0 to 1. The three broadcast against each other.

    Returns
    -------
    float or ndarray
        Latency in us, a float if all three are numbers.

    Raises
    ------
    InputError
        For a share outside 0 to 1 (or NaN).

    Examples
    --------
    >>> mixed(1000.0, 2000.0, read_share=0.25)
    1750.0
    """
    share = np.asarray(read_share, dtype=float)
    if not ((share >= 0) & (share <= 1)).all():
        raise InputError(f"read_share: {read_share!r} is not between 0 and 1 (0.9 for 90 % reads)")
    latency_us = share * np.asarray(read_us, dtype=float) + (1 - share) * np.asarray(write_us, dtype=float)
    return float(latency_us) if latency_us.ndim == 0 else latency_us


def _predict(predictors: Predictors, operation: str, level: str, threads: Floats) -> Floats:
    """Latency in us of one pure workload, or an InputError that lists the predictors there are."""
    if (operation, level) not in predictors:
        known = ", ".join(f"{o} {c}" for o, c in predictors) or "none"
        raise LackingError(f"no predictor for {operation} {level}; there are: {known}")
    return np.asarray(predictors[operation, level].predict(threads), dtype=float)


def estimates(
    predictors: Predictors,
    threads: Iterable[float],
    read_shares: Iterable[float],
    settings: Sequence[Setting] = STRONG_SETTINGS,
) -> pd.DataFrame:
    """Predict the latency of mixed workloads, as Table IV does.

    Parameters
    ----------
    predictors : mapping
        (operation, level) to predictor, e.g. `regression.predictors(regression.fit_all(stats))`.
    threads, read_shares : iterable of float
        The workloads: every share with every number of threads.
    settings : sequence of Setting
        Those to compare.

    Returns
    -------
    DataFrame
        One row per (setting, read_share, threads), latency_us.

    Raises
    ------
    InputError
        For a share outside 0 to 1, or a level without a predictor.
    """
    thread_counts, shares = np.asarray(list(threads)), list(read_shares)
    parts = []
    for setting in settings:
        read_us = _predict(predictors, "READ", setting.read_cl, thread_counts.astype(float))
        write_us = _predict(predictors, "WRITE", setting.write_cl, thread_counts.astype(float))
        for share in shares:
            latency_us = mixed(read_us, write_us, share)
            columns = {"setting": setting.name, "read_share": share, "threads": thread_counts}
            parts.append(pd.DataFrame(columns | {"latency_us": latency_us}))
    if not parts:
        return pd.DataFrame(columns=["setting", "read_share", "threads", "latency_us"])
    return pd.concat(parts, ignore_index=True)


def surface(df: pd.DataFrame, value: str = "latency_us") -> pd.DataFrame:
    """Turn (setting, read_share, threads) rows into one row per workload and one column per setting.

    Settings stand in the paper's order (then by name), so that the first of two equal minima is the one named
    first in the paper.

    Raises
    ------
    InputError
        If a row is there twice, or a value is missing.
    """
    keyed = df.assign(read_share=df["read_share"].astype(float).round(_SHARE_DECIMALS))
    if keyed.duplicated(["setting", *WORKLOAD]).any():
        raise InputError("a (setting, read_share, threads) stands twice in the table; average it first")
    # pivot_table would average over duplicates and drop what is missing
    wide = keyed.pivot(index=WORKLOAD, columns="setting", values=value)  # noqa: PD010
    if wide.isna().to_numpy().any():
        raise LackingError(f"{value} is missing for some setting at {wide[wide.isna().any(axis=1)].index.tolist()}")
    paper = {setting.name: place for place, setting in enumerate(STRONG_SETTINGS)}
    return wide[sorted(wide.columns, key=lambda name: (paper.get(str(name), len(paper)), str(name)))]


def best_setting(df: pd.DataFrame) -> pd.DataFrame:
    """Name the setting of least latency, and the next, for every workload.

    Parameters
    ----------
    df : DataFrame
        Columns setting, read_share, threads, latency_us, with two settings or more, estimated or measured.

    Returns
    -------
    DataFrame
        One row per (read_share, threads): best, best_latency_us, runner_up, runner_up_latency_us and
        margin_percent, by how much the runner-up is slower, in percent of the best. Equal latencies give
        margin 0 and the order of the paper.

    Raises
    ------
    InputError
        With fewer than two settings, a row given twice or a latency missing.
    """
    wide = surface(df)
    if wide.shape[1] < 2:  # noqa: PLR2004 - a best and a runner-up
        raise LackingError("a best setting and a runner-up need at least two settings")
    latency_us, names = wide.to_numpy(dtype=float), wide.columns.to_numpy()
    order = np.argsort(latency_us, axis=1, kind="stable")
    first, second = (np.take_along_axis(latency_us, order[:, [k]], axis=1)[:, 0] for k in (0, 1))
    result = wide.index.to_frame(index=False)
    return result.assign(
        best=names[order[:, 0]],
        best_latency_us=first,
        runner_up=names[order[:, 1]],
        runner_up_latency_us=second,
        margin_percent=(second - first) / first * 100,
    )


def possible(df: pd.DataFrame) -> pd.DataFrame:
    """Keep the workloads for which every setting's latency is positive: a curve below zero compares with nothing.

    Parameters
    ----------
    df : DataFrame
        Columns setting, read_share, threads, latency_us, estimated.
    """
    return df[df.groupby(WORKLOAD)["latency_us"].transform("min") > 0]


def speedups(df: pd.DataFrame) -> pd.DataFrame:
    """Latency saved by the best setting against always 1R-3W (Fig. 7).

    Parameters
    ----------
    df : DataFrame
        Columns setting, read_share, threads, latency_us; 1R-3W is among the settings.

    Returns
    -------
    DataFrame
        One row per (read_share, threads): best, speedup_percent = (1R-3W - best) / 1R-3W * 100, never negative.

    Raises
    ------
    InputError
        As `best_setting`, or without 1R-3W.
    """
    wide = surface(df)
    if BASELINE not in wide.columns:
        raise LackingError(f"no row of {BASELINE}, which the others are compared with")
    baseline_us = wide[BASELINE].to_numpy(dtype=float)
    best = best_setting(df)
    speedup = (baseline_us - best["best_latency_us"].to_numpy(dtype=float)) / baseline_us * 100
    return best[[*WORKLOAD, "best"]].assign(speedup_percent=speedup)


@dataclass(frozen=True, slots=True, eq=False)
class DomainMap:
    """Which setting is best where, on a grid (Fig. 6).

    Attributes
    ----------
    threads : ndarray, shape (T,)
    read_shares : ndarray, shape (S,)
    settings : tuple of str, length K
        Names, in the order of the first axis of `latency_us`.
    latency_us : ndarray, shape (K, S, T)
        The latency surface of each setting.
    best : ndarray of int, shape (S, T)
        Index into `settings` of the least latency; -1 where some latency is not positive.
    """

    threads: Floats
    read_shares: Floats
    settings: tuple[str, ...]
    latency_us: Floats
    best: NDArray[np.intp]

    def ranges(self) -> pd.DataFrame:
        """Thread ranges in which each setting wins, share by share.

        Returns
        -------
        DataFrame
            read_share, setting (or `NO_ESTIMATE`), threads_from, threads_to: grid points, both inclusive, in ascending
            order.
        """
        rows = []
        for share, line in zip(self.read_shares, self.best, strict=True):
            cuts = np.flatnonzero(np.diff(line)) + 1
            for run in np.split(np.arange(line.size), cuts):
                name = self.settings[line[run[0]]] if line[run[0]] >= 0 else NO_ESTIMATE
                rows.append((float(share), name, float(self.threads[run[0]]), float(self.threads[run[-1]])))
        return pd.DataFrame(rows, columns=["read_share", "setting", "threads_from", "threads_to"])


def domain_map(
    predictors: Predictors,
    threads_grid: ArrayLike,
    shares_grid: ArrayLike,
    settings: Sequence[Setting] = STRONG_SETTINGS,
) -> DomainMap:
    """Compute the surfaces and domains of Fig. 6.

    Parameters
    ----------
    predictors : mapping
        As for `estimates`.
    threads_grid : array_like, shape (T,)
        Thread counts, ascending.
    shares_grid : array_like, shape (S,)
        Shares of reads, 0 to 1.
    settings : sequence of Setting
        Those to compare.

    Raises
    ------
    InputError
        For an empty grid, a share outside 0 to 1, or a level without a predictor.
    """
    threads, shares = np.asarray(threads_grid, dtype=float), np.asarray(shares_grid, dtype=float)
    if threads.ndim != 1 or shares.ndim != 1 or not (threads.size and shares.size and settings):
        raise InputError("threads_grid, shares_grid and settings must be one-dimensional and not empty")
    surfaces = np.stack(
        [
            np.asarray(
                mixed(
                    _predict(predictors, "READ", setting.read_cl, threads),
                    _predict(predictors, "WRITE", setting.write_cl, threads),
                    shares[:, np.newaxis],
                )
            )
            for setting in settings
        ]
    )
    names = tuple(setting.name for setting in settings)
    best = np.where(surfaces.min(axis=0) > 0, surfaces.argmin(axis=0), -1)
    return DomainMap(threads, shares, names, surfaces, best)
