"""Compare two runs: every cell that both measured, as a ratio with its interval.

Blocks are what a run can vouch for: each is a cluster start. So the interval of a ratio is Welch's t (Biometrika 34,
1947) on the logarithms of the block means. A run of one block has only intervals within that start; the ratio then
says how the two *starts* differ, and whether the releases or machines do does not follow from it.

Runs that were measured in turn, block by block, are paired: the interval is Student's t on the differences of
logarithms, block by block, so that what the machine did from one hour to the next falls out of it.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from scipy import stats

from cassbook.core.consistency import READ_LEVELS, WRITE_LEVELS, Setting
from cassbook.core.errors import InputError, LackingError
from cassbook.core.estimate import FEWEST, Estimate
from cassbook.core.schema import OPEN, UNKNOWN_THREADS, without_open
from cassbook.core.words import counted
from cassbook.latency import percentiles, results, summaries, uncertainty
from cassbook.latency.labels import labelled
from cassbook.latency.percentiles import TooFew, lacking

#: What makes cells of two runs the same; the deployment only where a run has several.
KEYS = [key for key in results.KEYS if key != "engine"]
FIGURES = ("latency_us", "throughput_per_s", "p50_us", "p95_us", "p99_us", "response_us", "response_p99_us")
#: Those that another figure than the mean is compared by, in the order of a report.
_TAILS = tuple(column for name in percentiles.SHARES for column in percentiles.columns(name))
ORDER = (*FIGURES, *(column for column in _TAILS if column not in FIGURES))
#: Where a run does not say.
_REPLICAS = 3


class Ratio(NamedTuple):
    """A ratio, its bounds, and what they rest on."""

    value: float
    low: float
    high: float
    basis: str


def half_log(value: float, low: float, high: float) -> float:
    """Half-width of an interval on the scale of logarithms, the wider side."""
    if not value > 0 or not high > 0:
        return float("nan")
    upper = np.log(high / value)
    return float(max(upper, np.log(value / low)) if low > 0 else np.nan)


def _half(logs: np.ndarray, within: float) -> float:
    """Half-width of one run's interval on the scale of logarithms: over its blocks if there are some."""
    if logs.size == 1:
        return within
    over_blocks = Estimate.mean(logs)
    return (over_blocks.high - over_blocks.low) / 2


def welch_bounds(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Bounds of each difference of means, second less first, NaN where one has too few; shape (pairs, 2).

    Pairs of the same sizes are computed in one step. Without any spread the difference is exact.
    """
    bounds, by_size = np.full((len(pairs), 2), np.nan), defaultdict(list)
    for place, (a, b) in enumerate(pairs):
        if min(a.size, b.size) < FEWEST:
            continue
        if np.ptp(a) == 0 and np.ptp(b) == 0:
            bounds[place] = b.mean() - a.mean()
        else:
            by_size[a.size, b.size].append(place)
    for places in by_size.values():
        a, b = (np.stack([pairs[place][side] for place in places]) for side in (0, 1))
        with warnings.catch_warnings():
            # A side may not vary at all, as throughput at a fixed rate: where there is no spread, no precision is lost.
            warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
            found = stats.ttest_ind(b, a, axis=1, equal_var=False).confidence_interval(uncertainty.LEVEL)
        bounds[places] = np.column_stack([found.low, found.high])
    return bounds


def ratio_of(a: np.ndarray, b: np.ndarray, halves: tuple[float, float], welch: np.ndarray) -> Ratio:
    """Ratio of b to a with its bounds, and what they rest on; `halves` are the intervals within one start."""
    if not min(a.size, b.size):  # as the throughput of one operation, which took no time
        return Ratio(float("nan"), float("nan"), float("nan"), uncertainty.NOTHING)
    centre = float(b.mean() - a.mean())
    if min(a.size, b.size) >= FEWEST:
        low, high = np.exp(welch)
        return Ratio(float(np.exp(centre)), float(low), float(high), uncertainty.BLOCKS)
    half = float(np.hypot(_half(a, halves[0]), _half(b, halves[1])))
    basis = uncertainty.NOTHING if np.isnan(half) else uncertainty.ONE_START
    return Ratio(float(np.exp(centre)), float(np.exp(centre - half)), float(np.exp(centre + half)), basis)


class Run(Protocol):
    """What is asked of a run: a recorded one, or a folder of logs."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What is known of how it was made."""

    @property
    def statistics(self) -> pd.DataFrame:
        """Columns as `summaries.cell_statistics` gives them."""

    @property
    def parts(self) -> pd.DataFrame | None:
        """The same of each operation within mixed cells, where a log holds them apart."""

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the logs that it was made of; nothing of a recorded run."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two runs have in common."""

    #: run, engine, blocks of each, and label: its name, with what the names of both lack to differ.
    first: dict[str, str]
    second: dict[str, str]
    #: One row a (cell, figure), columns `KEYS` (deployment only where a run has several), figure, then of each run
    #: (first_, second_): value, low, high, blocks; and ratio (second by first), ratio_low, ratio_high, interval
    #: ('blocks', 'one cluster start' or ''), distinguishable: whether the interval leaves 1 out; None where it does not
    #: rest on blocks.
    figures: pd.DataFrame
    #: Cells that one run has alone.
    only_first: list[str]
    only_second: list[str]
    #: Those of the figures that a report shows, the largest differences first; None for all, cell by cell.
    chosen: pd.DataFrame | None = None
    #: By pair of levels ('ONE/ALL') and side ('first', 'second'): how many dead replicas its reads and its writes
    #: survive at the run's replication factor, 3 where the run does not say.
    survives: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    #: What the runs are compared by, one of `percentiles.FIGURES`; with 'mean' figures hold all of `FIGURES`.
    by: str = "mean"
    not_shown: list[TooFew] = field(default_factory=list)  # percentiles that some cells have too few operations for
    #: Whether the runs were measured block by block in turn, and their blocks are compared in pairs.
    paired: bool = False
    notes: list[str] = field(default_factory=list)  # what a reader must know of logs that are compared
    operations: int = 0  # Figures' cells that are single operations within a mix of both logs

    @property
    def shown(self) -> pd.DataFrame:
        """The figures that a report shows."""
        return self.figures if self.chosen is None else self.chosen


def _described(first: Run, second: Run) -> tuple[dict[str, str], dict[str, str]]:
    sides = []
    for run in (first, second):
        statistics = run.statistics
        engines = ", ".join(sorted(statistics["engine"].astype(str).unique()))
        sides.append({"run": run.name, "engine": engines, "blocks": str(statistics["block"].nunique())})
    labels = _labels([first, second], [side["engine"] for side in sides])
    return sides[0] | {"label": labels[0]}, sides[1] | {"label": labels[1]}


def _labels(runs: list[Run], engines: list[str]) -> list[str]:
    """Return names that differ: those of the runs, with their engines or folders where they are alike."""
    names = [run.name for run in runs]
    if names[0] != names[1]:
        return names
    if engines[0] != engines[1]:
        return [f"{name} ({engine})" for name, engine in zip(names, engines, strict=True)]
    parts = [Path(getattr(run, "folder", run.name)).resolve().parts for run in runs]
    for depth in range(2, max(map(len, parts)) + 1):
        tails = ["/".join(own[-depth:]) for own in parts]
        if tails[0] != tails[1]:
            return tails
    return [f"{name} ({place})" for name, place in zip(names, ("first", "second"), strict=True)]


def in_turn(first: Run, second: Run) -> bool:
    """Whether two runs were measured block by block in turn, as their manifests have it."""
    return all(b.name in a.manifest.get("in_turn_with", ()) for a, b in ((first, second), (second, first)))


def _log_means(cells: pd.DataFrame, figures: list[str]) -> dict[tuple[Any, ...], dict[int, float]]:
    """By (*keys, figure): logarithm of each block's mean, by block."""
    means = cells.groupby([*KEYS, "block"])[figures].mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(means.to_numpy(dtype=float))
    logs: dict[tuple[Any, ...], dict[int, float]] = {}
    for (*key, block), row in zip(means.index, values, strict=True):
        for figure, value in zip(figures, row, strict=True):
            own = logs.setdefault((*key, figure), {})
            if np.isfinite(value):
                own[block] = float(value)
    return logs


def _name(key: tuple[Any, ...]) -> str:
    """A cell in words: 'pure READ QUORUM, 100 threads'."""
    deployment, kind, workload, condition, operation, level, threads, rate_per_s = key
    words = [kind, operation, level] if not workload else [kind, f"workload {workload}", level]
    rate = f", {rate_per_s:g} a second" if rate_per_s else ""
    concurrency = "threads unknown" if threads == UNKNOWN_THREADS else counted(threads, "thread")
    where = f", {deployment}" if deployment else ""
    return " ".join(map(str, words)) + (f" after {condition}" if condition else "") + f", {concurrency}{rate}{where}"


def _distinct(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    keys = table[KEYS].drop_duplicates().sort_values(KEYS, key=_order, kind="stable")
    return list(keys.itertuples(index=False, name=None))


def compare(first: Run, second: Run, by: str = "mean") -> Comparison:
    """Compare two runs, also of different engines or machines.

    `by`: one of `percentiles.FIGURES`. With a percentile only that is compared, of the service time and, at a fixed
    rate, of the response time.

    Raises InputError if no cell was measured in both, or none has enough operations for the percentile.
    """
    runs = (first, second)
    cells = _by_deployment([labelled(table) for table in _with_parts(runs, by)])
    cells, not_shown = _supported(cells, by)
    wanted = FIGURES if by == "mean" else percentiles.columns(by)
    figures = [name for name in wanted if all(name in table.columns for table in cells)]
    sides = [summaries.estimates(table, KEYS, figures) for table in cells]
    names = {"value": "value", "low": "low", "high": "high", "blocks": "blocks"}
    renamed = [
        side.drop(columns="interval").rename(columns={old: f"{place}_{new}" for old, new in names.items()})
        for place, side in zip(("first", "second"), sides, strict=True)
    ]
    both = renamed[0].merge(renamed[1], on=[*KEYS, "figure"], how="inner", sort=False)
    if both.empty:
        raise LackingError(_nothing_in_common(runs, cells, by, not_shown))
    paired = in_turn(first, second)
    both = _with_ratios(both, [_log_means(table, figures) for table in cells], paired)
    if not both["deployment"].any():
        both = both.drop(columns="deployment")
    keys = [_distinct(table) for table in cells]
    return Comparison(
        *_described(first, second),
        both.sort_values(
            [*(key for key in KEYS if key in both.columns), "figure"], key=_order, kind="stable", ignore_index=True
        ),
        [_name(key) for key in keys[0] if key not in set(keys[1])],
        [_name(key) for key in keys[1] if key not in set(keys[0])],
        survives=_survives(both["level"], {"first": first, "second": second}),
        by=by,
        not_shown=not_shown,
        paired=paired,
        notes=[*(note for run in runs for note in run.notes), *_on_open_cells(runs)],
        operations=len(_operations(cells[0]) & _operations(cells[1])),
    )


def _on_open_cells(runs: tuple[Run, Run]) -> list[str]:
    """Say that cells under open arrivals are not compared, where a run has some."""
    having = [run.name for run in runs if (run.statistics["kind"] == OPEN).any()]
    if not having:
        return []
    return [
        f"Cells under open arrivals ({' and '.join(having)}) are not compared: their rates are shares of what each run "
        "carried. `cassbook show` has them."
    ]


def _with_parts(runs: tuple[Run, Run], by: str) -> list[pd.DataFrame]:
    """Statistics of two runs, with those of each operation in their mixes where both hold them apart."""
    tables, parts = [_with_tails(run, by) for run in runs], [run.parts for run in runs]
    if any(part is None for part in parts):
        return tables
    return [pd.concat(both, ignore_index=True) for both in zip(tables, parts, strict=True)]


def _with_tails(run: Run, by: str) -> pd.DataFrame:
    """Statistics of a run, with p99.9 where that is asked for."""
    if by not in percentiles.FIGURES:
        raise InputError(f"by: {by!r} is none of {', '.join(percentiles.FIGURES)}")
    statistics = without_open(run.statistics)
    if by != "p99.9":
        return statistics
    if not getattr(run, "has_histograms", False):
        raise InputError(f"by: p99.9 comes from histograms, which {run.name} has not here; use p99 or lower")
    return percentiles.with_tails(statistics, run.histograms)  # type: ignore[attr-defined]  # has_histograms


def _by_deployment(tables: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Tell deployments apart where a run has several; runs of one each are compared whatever those are."""
    if all("deployment" not in table.columns or table["deployment"].nunique() < 2 for table in tables):  # noqa: PLR2004
        return [table.assign(deployment="") for table in tables]
    return [table.assign(deployment=table["deployment"].astype(str)) for table in tables]


def _supported(tables: list[pd.DataFrame], by: str) -> tuple[list[pd.DataFrame], list[TooFew]]:
    """Leave out percentiles that the operations of a cell do not support, and say which; always the one asked for."""
    tables, not_shown = [table.copy() for table in tables], []
    least = [_least(table) for table in tables]
    for name in percentiles.SHARES:
        few = [operations < percentiles.needed(name) for operations in least]
        known = [
            [
                column
                for column in percentiles.columns(name)
                if column in table.columns and (name == by or table[column].notna().any())
            ]
            for table in tables
        ]
        for table, columns, wanting in zip(tables, known, few, strict=True):
            table.loc[wanting, columns] = np.nan
        lost = set().union(
            *(
                table.loc[wanting, KEYS].itertuples(index=False, name=None)
                for table, columns, wanting in zip(tables, known, few, strict=True)
                if columns
            )
        )
        if lost:
            fewest = min(float(n[wanting].min()) for n, wanting in zip(least, few, strict=True) if wanting.any())
            not_shown.append(TooFew(name, len(lost), fewest))
    return tables, not_shown


def _least(table: pd.DataFrame) -> pd.Series:
    """Operations of the cell that has the fewest of those that differ only in block and repeat, row by row."""
    return percentiles.known_operations(table).groupby([table[key] for key in KEYS]).transform("min")


def _nothing_in_common(runs: tuple[Run, Run], cells: list[pd.DataFrame], by: str, not_shown: list[TooFew]) -> str:
    """Say why nothing can be compared."""
    first, second = runs
    shared = set(_distinct(cells[0])) & set(_distinct(cells[1]))
    if shared:
        few = [f"{one.name} of {counted(one.cells, 'cell')} {lacking(one.name, one.fewest, 'the fewest are {}')}."
               for one in not_shown if one.name == by]  # fmt: skip
        why = "".join(few) or f"their logs or tables do not hold {by} of the same cells."
        return f"{first.name} and {second.name} cannot be compared by {by}: {why}"
    alone = [f"{run.name}: {_some(table)}" for run, table in zip(runs, cells, strict=True)]
    return f"{first.name} and {second.name} have no cell in common: nothing can be compared ({'. '.join(alone)})"


def _with_ratios(both: pd.DataFrame, logs: list[dict[tuple[Any, ...], dict[int, float]]], paired: bool) -> pd.DataFrame:
    """Add the ratio of each figure with its interval, and whether that leaves 1 out."""
    keys = list(both[[*KEYS, "figure"]].itertuples(index=False, name=None))
    sides = [(logs[0][key], logs[1][key]) for key in keys]
    pairs = [(np.array(list(a.values())), np.array(list(b.values()))) for a, b in sides]
    welch, rows = welch_bounds(pairs), []
    for row, (first, second), (a, b), bounds in zip(both.to_dict("records"), sides, pairs, welch, strict=True):
        differences = [second[block] - first[block] for block in first if block in second]
        if paired and len(differences) > 1:
            over = Estimate.ratio(np.exp(differences))
            basis = uncertainty.NOTHING if np.isnan(over.low) else uncertainty.BLOCKS
            rows.append(Ratio(over.value, over.low, over.high, basis))
            continue
        halves = [half_log(*(row[f"{side}_{end}"] for end in ("value", "low", "high"))) for side in ("first", "second")]
        rows.append(ratio_of(a, b, (halves[0], halves[1]), bounds))
    both[["ratio", "ratio_low", "ratio_high", "interval"]] = pd.DataFrame(rows, index=both.index)
    apart = (both["ratio_low"] > 1) | (both["ratio_high"] < 1)
    both["rate_per_s"] = both["rate_per_s"].where(both["rate_per_s"] > 0)
    if (both["threads"] == UNKNOWN_THREADS).any():
        both["threads"] = both["threads"].astype(object).where(both["threads"] != UNKNOWN_THREADS, None)
    both["distinguishable"] = apart.astype(object).where(both["interval"] == uncertainty.BLOCKS, None)
    return both


def _survives(level: pd.Series, runs: Mapping[str, Run]) -> dict[str, dict[str, dict[str, int]]]:
    pairs = level[level.str.contains("/", regex=False)].drop_duplicates().sort_values()
    replicas = {side: _replicas(run) for side, run in runs.items()}
    survived: dict[str, dict[str, dict[str, int]]] = {}
    for name in pairs:
        read_cl, _, write_cl = name.partition("/")
        if read_cl in READ_LEVELS and write_cl in WRITE_LEVELS:
            counts = {side: Setting(name, read_cl, write_cl).survives(n) for side, n in replicas.items()}
            survived[name] = {side: {"reads": pair[0], "writes": pair[1]} for side, pair in counts.items()}
    return survived


def _replicas(run: Run) -> int:
    return int(run.manifest.get("profile", {}).get("cluster", {}).get("replication_factor") or _REPLICAS)


def _operations(cells: pd.DataFrame) -> set[tuple[Any, ...]]:
    """Keys of rows that are single operations within a mix."""
    if "named" not in cells.columns:
        return set()
    named = cells[(cells["named"].fillna("") != "") & (cells["kind"] == "mixed") & (cells["workload"] == "")]
    return set(named[KEYS].itertuples(index=False, name=None))


def _some(cells: pd.DataFrame, most: int = 3) -> str:
    """Name a few cells."""
    whole = cells[cells["named"].fillna("") == ""] if "named" in cells.columns else cells
    names = [_name(key) for key in _distinct(whole if len(whole) else cells)]
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return "; ".join([*names[:most], *more]) or "none with an operation"


def choose(comparison: Comparison, top: int | None = None, only_different: bool = False) -> Comparison:
    """Choose what a report shows, the largest differences first.

    `top`: so many figures at most. Distinguishable ones come first, by the bound of their ratio's interval that is
    nearer to 1, so by the difference that is certain; then all others by their ratio. `only_different`: none that is
    not distinguishable.
    """
    if top is None and not only_different:
        return comparison
    figures = comparison.figures
    clear = figures["distinguishable"].eq(True).to_numpy(dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.abs(np.log(figures[["ratio", "ratio_low", "ratio_high"]].to_numpy(dtype=float)))
    certain = np.where(clear, logs[:, 1:].min(axis=1), logs[:, 0])
    # Last key first; what is not known comes last.
    order = np.lexsort((np.where(np.isnan(certain), np.inf, -certain), ~clear))
    kept = order[clear[order]] if only_different else order
    return replace(comparison, chosen=figures.iloc[kept[:top]].reset_index(drop=True))


def _order(column: pd.Series) -> pd.Series:
    """Sort key: levels from weak to strong, figures as they are listed."""
    known = {"level": summaries.LEVEL_ORDER, "figure": ORDER}.get(str(column.name))
    if known is None:
        return column
    return column.map({name: place for place, name in enumerate(known)}).fillna(len(known))
