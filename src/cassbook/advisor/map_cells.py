"""Cells of a map of latencies: which of them a point rests on, what marks they carry, and percentiles made of them.

Workloads, own ones above all, come as cells of mixes. The mix is a part of a workload: it is measured at its own read
share and at no other. Several workloads on the same tables, at different read shares, span a map over shares; a point
between two of them is a mixture of their operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from cassbook.core.consistency import Setting
from cassbook.core.errors import InputError
from cassbook.core.schema import OPEN
from cassbook.core.types import Floats
from cassbook.latency import percentile_mixing, percentiles
from cassbook.latency.summaries import mixed_cells, pure_cells

_OF_CELLS = ("cell_id", "operations", "marks")
COLUMNS = ["setting", "block", "read_share", "threads", "cell_id", "operations", "marks"]
#: YCSB's presets that use the one table of a block; D and E, which insert, have a copy each.
_ON_THE_TABLE = frozenset("ABCF")
#: A load whose share of reads differs by no more than this from a workload's is taken for that workload: the part of
#: reads is a little another one by requests than by operations, where an operation reads and then writes.
SAME_MIX = 0.1


@dataclass(frozen=True, slots=True)
class Place:
    """Cells of one setting, block, share of reads and thread count: one, or repeats; operations of the smallest."""

    setting: str
    block: int
    read_share: float
    threads: float
    cell_ids: tuple[str, ...]
    operations: float
    marks: frozenset[str]


#: One share of reads of a point: its weight, and the places on either side of its threads with their parts.
_Part = tuple[float, list[tuple[float, Place]]]


class Cells:
    """The cells of a map, from a table of `COLUMNS`: unknown operations are infinite, unknown marks empty."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._ladders: dict[tuple[str, int], dict[float, list[Place]]] = {}
        table = table.assign(marks=table["marks"].fillna("").astype(str))
        keys = ["setting", "block", "read_share", "threads"]
        for key, group in table.groupby(keys):
            setting, block, share, threads = cast("tuple[str, int, float, float]", key)
            marks = frozenset(mark for own in group["marks"] for mark in own.split(";") if mark)
            ids = tuple(map(str, group["cell_id"]))
            place = Place(
                str(setting), block, float(share), float(threads), ids, float(group["operations"].min()), marks
            )
            self._ladders.setdefault((place.setting, place.block), {}).setdefault(place.read_share, []).append(place)

    def __iter__(self) -> Iterator[Place]:
        return (place for ladders in self._ladders.values() for ladder in ladders.values() for place in ladder)

    def parts(self, setting: str, block: int, threads: float, read_share: float) -> list[_Part]:
        """Return what a point is interpolated from in one block; nothing outside what was measured.

        Between thread counts the parts go by the logarithm of threads, between shares of reads by operations.
        """
        covering = [
            (share, sides)
            for share, ladder in sorted(self._ladders.get((setting, block), {}).items())
            if (sides := _sides(ladder, threads))
        ]
        for share, sides in covering:
            if share == read_share:
                return [(1.0, sides)]
        for (below, first), (above, second) in pairwise(covering):
            if below < read_share < above:
                weight = (read_share - below) / (above - below)
                return [(1 - weight, first), (weight, second)]
        return []

    def around(self, setting: str, blocks: Iterable[int], threads: float, read_share: float) -> list[Place]:
        """Return the places that a point rests on, in all blocks."""
        return [
            place
            for block in blocks
            for _, sides in self.parts(setting, block, threads, read_share)
            for _, place in sides
        ]


def _sides(ladder: list[Place], threads: float) -> list[tuple[float, Place]]:
    """Places on either side of a thread count, with their parts on a logarithmic scale; one where it was measured."""
    for place in ladder:
        if place.threads == threads:
            return [(1.0, place)]
    for below, above in pairwise(ladder):
        if 0 < below.threads < threads < above.threads:  # 0 stands for a number that a log does not say
            part = float(np.log(threads / below.threads) / np.log(above.threads / below.threads))
            return [(1 - part, below), (part, above)]
    return []


class Tails:
    """Percentiles of latency at any point of a map (see `percentile_mixing`), of a run's histograms by tag.

    Raises InputError if the run has no histograms, or too few operations in every cell.
    """

    def __init__(self, cells: Cells, by: str, recorded: Mapping[str, HdrHistogram], name: str) -> None:
        self._cells, self.by = cells, by
        self._curves = percentile_mixing.cell_curves(recorded, {i for place in cells for i in place.cell_ids})
        if not self._curves:
            raise InputError(
                f"by: {by} is made of the distributions of cells, and {name} has sums only; take mean, or logs that "
                "hold single operations or histograms"
            )
        least: dict[tuple[str, float, float], float] = {}
        for place in cells:
            key = (place.setting, place.read_share, place.threads)
            least[key] = min(place.operations, least.get(key, np.inf))
        #: Operations of the cell of all blocks that has the fewest, where they do not support the percentile.
        self._few = {key: n for key, n in least.items() if not percentiles.supported(by, n)}
        if len(self._few) == len(least):
            most = max(least.values())
            raise InputError(
                f"{name}: {by} {percentiles.lacking(by, most, 'its cells have {} at most')}; measure longer, or take a "
                "lower percentile"
            )

    def at(self, setting: str, block: int, threads: float, read_share: float, share: float | None = None) -> float:
        """Percentile of a setting in one block, in us, or another quantile, `share`; NaN where it is not known."""
        parts = self._cells.parts(setting, block, threads, read_share)
        if not parts:
            return float("nan")
        curves = np.stack([sum(part * self._curve(place) for part, place in sides) for _, sides in parts])
        shares = percentiles.SHARES[self.by] if share is None else share
        if len(parts) == 1:
            return float(np.exp(percentile_mixing.quantiles(curves[0], shares)))
        return float(np.exp(percentile_mixing.mixed_quantiles(curves, [weight for weight, _ in parts], shares)))

    def bounds_us(self, setting: str, block: int, threads: float, read_share: float) -> tuple[float, float]:
        """Return the 95 % interval within one block, by order statistics of the cell of fewest operations.

        The mixture is known at least as well as if all of it rested on that cell: of independent cells the variance of
        the share below a latency is no more than that of the mixture's own share in so many operations.
        """
        parts = self._cells.parts(setting, block, threads, read_share)
        least = min((place.operations for _, sides in parts for _, place in sides), default=np.nan)
        if not np.isfinite(least):
            return float("nan"), float("nan")
        low, high = percentiles.order_bounds(percentiles.SHARES[self.by], least)
        return self.at(setting, block, threads, read_share, low), self.at(setting, block, threads, read_share, high)

    def fewest(self, places: Iterable[Place]) -> float:
        """Return the operations of the smallest cell that does not support the percentile; NaN where all do."""
        keys = [(place.setting, place.read_share, place.threads) for place in places]
        return min((self._few[key] for key in keys if key in self._few), default=float("nan"))

    def _curve(self, place: Place) -> Floats:
        """Curve of a place, over its repeats; NaN where it has none, or where its operations are too few."""
        known = [self._curves[cell_id] for cell_id in place.cell_ids if cell_id in self._curves]
        if not known or (place.setting, place.read_share, place.threads) in self._few:
            return np.full(percentile_mixing.GRID.shape, np.nan)
        return np.asarray(np.mean(known, axis=0))


def without_choices(name: str, by: str, threads: float, read_share: float, too_few: Mapping[Setting, float]) -> str:
    """Say why a map has no answer at a point between those that were measured."""
    at = f"{threads:g} threads and {read_share:.0%} reads"
    if not too_few:
        return f"{name}: nothing was measured around {at}, though it lies between what was"
    lacking = percentiles.lacking(by, min(too_few.values()), "a cell there has {}")
    return f"{name}: {by} at {at} {lacking}; measure longer, or take a lower percentile"


def mixed_columns(cell_stats: pd.DataFrame, replicas: int) -> pd.DataFrame:
    """Mixed workloads, each at its share of reads."""
    cells = mixed_cells(cell_stats, replicas)
    return _known_columns(cells)[["setting", "block", "read_share", "threads", "latency_us", *_OF_CELLS]]


def _known_columns(cells: pd.DataFrame) -> pd.DataFrame:
    """Add what is known of each cell but its latency; a predicted one has no marks."""
    marks = cells["marks"] if "marks" in cells.columns else ""
    return cells.assign(operations=percentiles.known_operations(cells), marks=marks)


def pure_columns(cell_stats: pd.DataFrame, settings: tuple[Setting, ...], replicas: int) -> pd.DataFrame:
    """Pure workloads as the ends of each setting's range of shares: 1 its reads, 0 its writes.

    Of a single replica every level is the same: where the one that is named was not measured, another is taken.
    """
    cells = _known_columns(pure_cells(cell_stats))
    parts = []
    for setting in settings:
        for operation, level, share in (("READ", setting.read_cl, 1.0), ("WRITE", setting.write_cl, 0.0)):
            pure = cells[cells["operation"] == operation]
            named = pure["level"] == level
            pure = pure if replicas == 1 and not named.any() else pure[named]
            parts.append(
                pure[["block", "threads", "latency_us", *_OF_CELLS]].assign(setting=setting.name, read_share=share)
            )
    return pd.concat(parts, ignore_index=True)


def interpolated(cells: pd.DataFrame, threads: Floats, shares: Floats) -> Floats:
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


def mean(values: Floats, axis: int) -> Floats:
    """Mean of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis))


def names(workload: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return one name, several, or none as a tuple."""
    return () if workload is None else (workload,) if isinstance(workload, str) else tuple(workload)


def shares(cell_stats: pd.DataFrame) -> dict[str, float]:
    """Share of reads of each workload that was measured in a closed loop, in order of name."""
    cells = _closed(cell_stats)
    return {str(name): float(share) for name, share in cells.groupby("workload")["read_share"].first().items()}


def _closed(cell_stats: pd.DataFrame) -> pd.DataFrame:
    if "workload" not in cell_stats.columns:
        return cell_stats.iloc[:0].assign(workload="")
    chosen = (cell_stats["kind"] == "workload") & (cell_stats["workload"] != "")
    if "rate_per_s" in cell_stats.columns:
        chosen &= cell_stats["rate_per_s"].isna()
    return cell_stats[chosen]


def as_mixed(cell_stats: pd.DataFrame, wanted: Sequence[str], name: str) -> pd.DataFrame:
    """Return the closed-loop cells of some workloads as mixed cells at their read shares.

    Raises InputError for a workload that was not measured, and for two of one read share.
    """
    measured = shares(cell_stats)
    for workload in wanted:
        if workload not in measured:
            known = ", ".join(measured) or "none"
            raise InputError(f"workload: {name} has no cells of {workload!r}; measured workloads: {known}")
    of_all = [measured[workload] for workload in wanted]
    if len(np.unique(np.round(of_all, 6))) < len(of_all):
        listed = ", ".join(f"{workload} {measured[workload]:.0%}" for workload in wanted)
        raise InputError(f"workload: {listed}; workloads make one map by their shares of reads, which must differ")
    cells = _closed(cell_stats)
    return cells[cells["workload"].isin(wanted)].assign(kind="mixed")


def check_same_tables(profile: Mapping[str, Any], wanted: Sequence[str]) -> None:
    """Refuse workloads that do not use the same tables, loaded in the same way, as far as a run's profile says.

    Raises InputError if their latencies do not belong on one map.
    """
    if len(wanted) < 2 or _ON_THE_TABLE.issuperset(wanted):  # noqa: PLR2004 - one is always alike
        return
    part = profile.get("workloads") or {}
    own = {section["name"]: (section.get("create"), section.get("load")) for section in part.get("own", ())}
    first = own.get(wanted[0])
    if first is None or any(own.get(workload) != first for workload in wanted[1:]):
        raise InputError(
            f"workload: {', '.join(wanted)} do not use the same tables; one map takes A, B, C and F, or own workloads "
            "whose `create` and `load` are the same"
        )


def without_settings(cell_stats: pd.DataFrame, name: str, wanted: Sequence[str], others: Sequence[str]) -> str:
    """Say that nothing can be advised for the `wanted` workloads, and what could be."""
    if wanted:
        pairs = sorted({f"{r}/{w}" for r, w in zip(cell_stats["read_cl"], cell_stats["write_cl"], strict=True)})
        return (
            f"{name}: workload {', '.join(wanted)} was measured at {', '.join(pairs)}, and no strong setting is among "
            "them at every share of reads; measure some, such as QUORUM/QUORUM"
        )
    text = f"{name}: no strong setting has both its reads and its writes measured"
    if (cell_stats["kind"] == OPEN).any():
        text += " in a closed loop; it was measured under open arrivals: give --of-capacity or --rate, or --map --open"
    if not others:
        return text
    return f"{text}; it holds workloads {', '.join(others)}: choose one with --workload"
