"""What the 2020 paper prints, as intervals, and its regressions with the rounding carried through them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

import numpy as np

from cassbook import published
from cassbook.claims.interval import Interval, as_printed, exactly, interval, middle, percent_above, percent_below
from cassbook.claims.level_means import Study
from cassbook.core.consistency import LEVELS, STRONG_SETTINGS
from cassbook.core.types import Floats

#: (operation, level).
Column: TypeAlias = tuple[str, str]

#: (threads, read_share as printed, setting).
MixKey: TypeAlias = tuple[int, str, str]

OPERATIONS = ("READ", "WRITE")
COLUMNS: tuple[Column, ...] = tuple((operation, level) for operation in OPERATIONS for level in LEVELS)
SETTINGS = tuple(setting.name for setting in STRONG_SETTINGS)
#: Shares of reads in Tables IV and V.
SHARES = ("0.1", "0.3", "0.5", "0.9")
#: The table that holds an operation.
TABLE_OF = {"READ": "g20_table1", "WRITE": "g20_table2"}
ROMAN = {"READ": "Table I", "WRITE": "Table II"}
#: Printed latencies are whole microseconds.
HALF_US = 0.5


@cache
def benchmarks() -> Study:
    """Tables I and II as printed."""
    return Study.printed()


@cache
def table(name: str, key: tuple[str, ...], value: str) -> dict[tuple[str, ...], str]:
    """One column of a printed table by its keys, every cell as text."""
    rows = published.as_text(name)
    return dict(zip(rows[list(key)].itertuples(index=False, name=None), rows[value], strict=True))


def _design(threads: Floats, order: int, scale: float) -> Floats:
    return np.vander(threads / scale, order + 1, increasing=True)


@cache
def _latencies(column: Column) -> tuple[Floats, Floats]:
    """Threads and printed latencies (centres) of one column."""
    texts = table(TABLE_OF[column[0]], ("level", "threads"), "latency_us")
    rows = sorted((int(threads), float(text)) for (level, threads), text in texts.items() if level == column[1])
    threads, latency_us = zip(*rows, strict=True)
    return np.array(threads, dtype=float), np.array(latency_us)


def _linear_form(weights: Floats, latency_us: Floats) -> Interval:
    """Range of a weighted sum of printed latencies, each of which may be half a microsecond off."""
    centre, spread = float(weights @ latency_us), HALF_US * float(np.abs(weights).sum())
    return interval(centre - spread, centre + spread)


@cache
def fitted(column: Column, threads: float, order: int = 4, without: int | None = None) -> Interval:
    """Least squares polynomial of a printed column at a number of threads: a weighted sum of the printed cells.

    Orders are 1 to 4; `without` is a thread count that is left out of the fit.
    """
    x, y = _latencies(column)
    kept = x != without
    scale = float(x.max())
    at = _design(np.array([float(threads)]), order, scale)
    weights = (at @ np.linalg.pinv(_design(x[kept], order, scale)))[0]
    return _linear_form(weights, y[kept])


@cache
def influence(column: Column, of_threads: int, at_threads: int) -> float:
    """By how much the fit of order 4 at one thread count moves for each microsecond of the cell at another."""
    x, _ = _latencies(column)
    scale = float(x.max())
    at = _design(np.array([float(at_threads)]), 4, scale)
    return float((at @ np.linalg.pinv(_design(x, 4, scale)))[0, int(np.flatnonzero(x == of_threads)[0])])


@cache
def coefficient(column: Column, power: int, order: int = 4) -> Interval:
    """Coefficient of threads^power of the fit, in us / threads^power."""
    x, y = _latencies(column)
    scale = float(x.max())
    weights = np.linalg.pinv(_design(x, order, scale))[power] / scale**power
    return _linear_form(weights, y)


@cache
def r_squared(column: Column, order: int) -> Interval:
    """Goodness of fit with the rounding of twelve latencies carried through.

    Both sums of squares are squared lengths of projections of the latencies, and a projection cannot lengthen the
    rounding, whose own length is at most half a microsecond times the root of twelve.
    """
    x, y = _latencies(column)
    design = _design(x, order, float(x.max()))
    residual = float(np.linalg.norm(y - design @ (np.linalg.pinv(design) @ y)))
    total = float(np.linalg.norm(y - y.mean()))
    slack = HALF_US * np.sqrt(y.size)
    ratio = interval(max(residual - slack, 0), residual + slack) / interval(total - slack, total + slack)
    return 1 - ratio * ratio


def mix(reads: Interval, writes: Interval, read_share: str) -> Interval:
    """Mix of reads and writes by equations (8) to (10)."""
    share = exactly(read_share)
    return share * reads + (1 - share) * writes


def levels_of(setting: str) -> tuple[Column, Column]:
    """Columns of reads and of writes that a strong setting mixes."""
    chosen = next(s for s in STRONG_SETTINGS if s.name == setting)
    return ("READ", chosen.read_cl), ("WRITE", chosen.write_cl)


@cache
def estimate(key: MixKey, order: int = 4, without: int | None = None) -> Interval:
    """Latency of a mix by unrounded regressions of Tables I and II."""
    threads, share, setting = key
    reads, writes = levels_of(setting)
    return mix(fitted(reads, threads, order, without), fitted(writes, threads, order, without), share)


@cache
def mixed_from_pure(key: MixKey) -> Interval:
    """Latency of a mix as the weighted mean of the cells of Tables I and II, without any regression."""
    threads, share, setting = key
    reads, writes = levels_of(setting)
    pure = benchmarks().latency_us
    return mix(pure[reads][threads], pure[writes][threads], share)


@cache
def table4() -> dict[MixKey, Interval]:
    """Table IV as printed."""
    texts = table("g20_table4", ("threads", "read_share", "setting"), "latency_us")
    return {(int(threads), share, setting): as_printed(text) for (threads, share, setting), text in texts.items()}


@cache
def underlined() -> dict[tuple[int, str], str]:
    """(threads, read_share) to the setting whose cell of Table V is underlined: the one that measured fastest."""
    rows = published.as_text("g20_table5")
    rows = rows[rows["underlined"] == "true"]
    keys = zip(rows["threads"].astype(int), rows["read_share"], strict=True)
    return dict(zip(keys, rows["setting"], strict=True))


def slowdowns(study: Study, operation: str, level: str, quantity: str) -> list[Interval]:
    """Slowdown of a level against ONE at each thread count, in percent of ONE."""
    if quantity == "latency":
        weak, strong = study.latency_us[operation, "ONE"], study.latency_us[operation, level]
        return [percent_above(strong[n], weak[n]) for n in study.threads()]
    weak, strong = study.throughput_per_s[operation, "ONE"], study.throughput_per_s[operation, level]
    return [percent_below(strong[n], weak[n]) for n in study.threads()]


def winners(read_share: str) -> dict[int, str]:
    """Thread count to the setting of least estimate in Table IV."""
    threads = sorted({n for n, _, _ in table4()})
    return {n: min(SETTINGS, key=lambda s: middle(table4()[n, read_share, s])) for n in threads}


def spelled(values: Iterable[Interval]) -> str:
    """Spell percentages for a note."""
    return ", ".join(f"{middle(v):.1f} %" for v in values)
