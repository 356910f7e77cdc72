"""Compare two runs: every cell that both measured, as a ratio with its interval.

Blocks are what a run can vouch for: each is a cluster start. So the interval of a ratio is Welch's t (Biometrika 34,
1947) on the logarithms of the block means. A run of one block has only intervals within that start; the ratio then
says how the two *starts* differ, and whether the releases or machines do does not follow from it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy import stats

from cassbook.core.consistency import READ_LEVELS, WRITE_LEVELS, Setting
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.markdown import markdown
from cassbook.core.schema import UNKNOWN_THREADS
from cassbook.latency import summaries, uncertainty
from cassbook.latency.labels import labelled

#: What makes cells of two runs the same.
KEYS = ["kind", "workload", "condition", "operation", "level", "threads", "rate_per_s"]
FIGURES = ("latency_us", "throughput_per_s", "p50_us", "p95_us", "p99_us", "response_us", "response_p99_us")
#: Where a run does not say.
_REPLICAS = 3
_MARKDOWN_KEYS = ("kind", "operation", "level", "threads")


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


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two runs have in common.

    Attributes
    ----------
    first, second : dict of str
        run, engine, blocks of each, and label: its name, with what the names of both lack to differ.
    figures : DataFrame
        One row a (cell, figure), columns `KEYS`, figure, then of each run (first_, second_): value, low, high, blocks;
        and ratio (second by first), ratio_low, ratio_high, interval ('blocks', 'one cluster start' or ''),
        distinguishable: whether the interval leaves 1 out; None where it does not rest on blocks.
    only_first, only_second : list of str
        Cells that one run has alone.
    chosen : DataFrame or None
        Those of the figures that a report shows, the largest differences first; None for all, cell by cell.
    survives : dict
        By pair of levels ('ONE/ALL') and side ('first', 'second'): how many dead replicas its reads and its writes
        survive at the run's replication factor, 3 where the run does not say.
    """

    first: dict[str, str]
    second: dict[str, str]
    figures: pd.DataFrame
    only_first: list[str]
    only_second: list[str]
    chosen: pd.DataFrame | None = None
    survives: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)

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


def _half_log(value: float, low: float, high: float) -> float:
    """Half-width of an interval on the scale of logarithms, the wider side."""
    if not value > 0 or not high > 0:
        return float("nan")
    upper = np.log(high / value)
    return float(max(upper, np.log(value / low)) if low > 0 else np.nan)


def _log_means(cells: pd.DataFrame, figures: list[str]) -> dict[tuple[Any, ...], np.ndarray]:
    """By (*keys, figure): logarithm of each block's mean."""
    logs = {}
    means = cells.groupby([*KEYS, "block"])[figures].mean()
    for key, group in means.groupby(level=KEYS):
        for figure in figures:
            known = group[figure][group[figure] > 0].to_numpy(dtype=float)
            logs[*key, figure] = np.log(known)
    return logs


def _half(logs: np.ndarray, within: float) -> float:
    """Half-width of one run's interval on the scale of logarithms: over its blocks if there are some."""
    if logs.size == 1:
        return within
    over_blocks = Estimate.mean(logs)
    return (over_blocks.high - over_blocks.low) / 2


def _ratio(a: np.ndarray, b: np.ndarray, halves: tuple[float, float]) -> tuple[float, float, float, str]:
    """Ratio of b to a with its bounds, and what they rest on; `halves` are the intervals within one start."""
    if not min(a.size, b.size):  # as the throughput of one operation, which took no time
        return float("nan"), float("nan"), float("nan"), uncertainty.NOTHING
    centre = float(b.mean() - a.mean())
    if min(a.size, b.size) > 1:
        if np.ptp(a) == 0 and np.ptp(b) == 0:
            return float(np.exp(centre)), float(np.exp(centre)), float(np.exp(centre)), uncertainty.BLOCKS
        with warnings.catch_warnings():
            # A side may not vary at all, as throughput at a fixed rate: where there is no spread, no precision is lost.
            warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
            bounds = stats.ttest_ind(b, a, equal_var=False).confidence_interval(uncertainty.LEVEL)
        return float(np.exp(centre)), float(np.exp(bounds.low)), float(np.exp(bounds.high)), uncertainty.BLOCKS
    half = float(np.hypot(_half(a, halves[0]), _half(b, halves[1])))
    basis = uncertainty.NOTHING if np.isnan(half) else uncertainty.ONE_START
    return float(np.exp(centre)), float(np.exp(centre - half)), float(np.exp(centre + half)), basis


def _name(key: tuple[Any, ...]) -> str:
    """A cell in words: 'pure READ QUORUM, 100 threads'."""
    kind, workload, condition, operation, level, threads, rate_per_s = key
    words = [kind, operation, level] if not workload else [kind, f"workload {workload}", level]
    rate = f", {rate_per_s:g} a second" if rate_per_s else ""
    concurrency = "threads unknown" if threads == UNKNOWN_THREADS else f"{threads} threads"
    return " ".join(map(str, words)) + (f" after {condition}" if condition else "") + f", {concurrency}{rate}"


def _distinct(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    keys = table[KEYS].drop_duplicates().sort_values(KEYS, key=_order, kind="stable")
    return list(keys.itertuples(index=False, name=None))


def compare(first: Run, second: Run) -> Comparison:
    """Compare two runs, also of different engines or machines.

    Parameters
    ----------
    first, second : Run

    Raises
    ------
    InputError
        If no cell was measured in both.
    """
    cells = [labelled(run.statistics) for run in (first, second)]
    figures = [name for name in FIGURES if all(name in table.columns for table in cells)]
    sides = [summaries.estimates(table, KEYS, figures) for table in cells]
    logs = [_log_means(table, figures) for table in cells]
    names = {"value": "value", "low": "low", "high": "high", "blocks": "blocks"}
    renamed = [
        side.drop(columns="interval").rename(columns={old: f"{place}_{new}" for old, new in names.items()})
        for place, side in zip(("first", "second"), sides, strict=True)
    ]
    both = renamed[0].merge(renamed[1], on=[*KEYS, "figure"], how="inner", sort=False)
    if both.empty:
        alone = [f"{run.name}: {_some(table)}" for run, table in zip((first, second), cells, strict=True)]
        raise InputError(
            f"{first.name} and {second.name} have no cell in common: nothing can be compared ({'. '.join(alone)})"
        )
    rows = []
    for row in both.to_dict("records"):
        key = tuple(row[name] for name in [*KEYS, "figure"])
        halves = tuple(
            _half_log(*(row[f"{side}_{end}"] for end in ("value", "low", "high"))) for side in ("first", "second")
        )
        rows.append(_ratio(logs[0][key], logs[1][key], (halves[0], halves[1])))
    both[["ratio", "ratio_low", "ratio_high", "interval"]] = pd.DataFrame(rows, index=both.index)
    apart = (both["ratio_low"] > 1) | (both["ratio_high"] < 1)
    both["rate_per_s"] = both["rate_per_s"].where(both["rate_per_s"] > 0)
    if (both["threads"] == UNKNOWN_THREADS).any():
        both["threads"] = both["threads"].astype(object).where(both["threads"] != UNKNOWN_THREADS, None)
    both["distinguishable"] = apart.astype(object).where(both["interval"] == uncertainty.BLOCKS, None)
    keys = [_distinct(table) for table in cells]
    return Comparison(
        *_described(first, second),
        both.sort_values([*KEYS, "figure"], key=_order, kind="stable", ignore_index=True),
        [_name(key) for key in keys[0] if key not in set(keys[1])],
        [_name(key) for key in keys[1] if key not in set(keys[0])],
        survives=_survives(both["level"], {"first": first, "second": second}),
    )


def _survives(level: pd.Series, runs: Mapping[str, Run]) -> dict[str, dict[str, dict[str, int]]]:
    """See `Comparison.survives`."""
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


def _some(cells: pd.DataFrame, most: int = 3) -> str:
    """Name a few cells."""
    names = [_name(key) for key in _distinct(cells)]
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return "; ".join([*names[:most], *more]) or "none with an operation"


def choose(comparison: Comparison, top: int | None = None, only_different: bool = False) -> Comparison:
    """Choose what a report shows, the largest differences first.

    Parameters
    ----------
    comparison : Comparison
    top : int, optional
        So many figures at most. Distinguishable ones come first, by the bound of their ratio's interval that is nearer
        to 1, so by the difference that is certain; then all others by their ratio.
    only_different : bool
        None that is not distinguishable.
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
    known = {"level": summaries.LEVEL_ORDER, "figure": FIGURES}.get(str(column.name))
    if known is None:
        return column
    return column.map({name: place for place, name in enumerate(known)}).fillna(len(known))


def as_json(comparison: Comparison) -> str:
    """JSON: first, second, figures (a list of objects), only_first, only_second; what is not known is null."""
    figures = json.loads(comparison.shown.to_json(orient="records", double_precision=15))
    content = {"first": comparison.first, "second": comparison.second, "figures": figures}
    content["survives"] = comparison.survives
    content |= {"only_first": comparison.only_first, "only_second": comparison.only_second}
    return json.dumps(content, indent=2, ensure_ascii=False)


def as_csv(comparison: Comparison) -> str:
    """CSV of the figures, with the names of the runs in front."""
    named = comparison.shown.copy()
    named.insert(0, "first_run", comparison.first["run"])
    named.insert(1, "second_run", comparison.second["run"])
    return named.to_csv(index=False, lineterminator="\n").rstrip("\n")


def _verdict(row: Mapping[Hashable, Any]) -> str:
    if row["interval"] != uncertainty.BLOCKS:
        return "unknown"
    return "yes" if row["distinguishable"] else "no"


def _with_interval(row: Mapping[Hashable, Any], side: str) -> str:
    """A run's own value with half of its interval."""
    return f"{Estimate(row[f'{side}_value'], row[f'{side}_low'], row[f'{side}_high'], 0):±.0f}"


def _word(value: object) -> str:
    return "unknown" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _table(shown: pd.DataFrame, labels: tuple[str, str], *more: str) -> pd.DataFrame:
    """Figures in words, one per row; a run's column is headed by its label, and `more` columns come in front."""
    keys = [
        *more,
        *_MARKDOWN_KEYS,
        *(name for name in ("condition", "rate_per_s") if (shown[name].notna() & (shown[name] != "")).any()),
    ]
    rows = [
        {name: _word(row[name]) for name in keys}
        | {
            labels[0]: _with_interval(row, "first"),
            labels[1]: _with_interval(row, "second"),
            "ratio": "unknown" if np.isnan(row["ratio"]) else f"{row['ratio']:.3f}",
            "95 % interval": f"{row['ratio_low']:.3f} to {row['ratio_high']:.3f}" if row["interval"] else "none",
            "rests on": row["interval"] or "nothing",
            "distinguishable": _verdict(row),
        }
        for row in shown.to_dict("records")
    ]
    return pd.DataFrame(rows)


def summary(comparison: Comparison) -> list[str]:
    """What the comparison comes to, in sentences."""
    latency = comparison.figures[comparison.figures["figure"] == "latency_us"]
    judged = latency[latency["interval"] == uncertainty.BLOCKS]
    clear = int(judged["distinguishable"].astype(bool).sum())
    lines = [f"{len(latency)} cells in both runs; ratios are second by first, of geometric means over blocks; "
             "behind ± half of a run's own 95 % interval."]  # fmt: skip
    lines[0] += "".join(f" {sentence}." for sentence in _surviving(comparison))
    if len(judged):
        by_chance = 0.05 * len(judged)
        lines.append(f"Mean latency is distinguishable in {clear} of {len(judged)}; were there no difference, about "
                     f"{by_chance:.0f} would look so by chance.")  # fmt: skip
    if len(latency) > len(judged):
        lines.append(f"In {len(latency) - len(judged)} a run has one cluster start: the interval is within that start, "
                     "another start may differ by more, so nothing is said to be distinguishable.")  # fmt: skip
    for side, alone in ((comparison.first, comparison.only_first), (comparison.second, comparison.only_second)):
        if alone:
            lines.append(f"Only in {side['label']}: {len(alone)} ({'; '.join(alone)}).")
    return lines


def _report(comparison: Comparison, shown: Callable[[pd.DataFrame], str]) -> str:
    """What is compared, what it comes to, and one table per figure, or one of those that were chosen."""
    labels = comparison.first["label"], comparison.second["label"]
    lines = [f"# {labels[0]} and {labels[1]}", ""]
    for place, side in (("first", comparison.first), ("second", comparison.second)):
        lines.append(f"* {place}: {side['label']}, Cassandra {side['engine']}, {side['blocks']} blocks")
    lines += ["", *(f"{sentence}\n" for sentence in summary(comparison))]
    if comparison.chosen is not None:
        table = _table(comparison.chosen, labels, "figure")
        lines += [f"## The largest differences: {len(table)} of {len(comparison.figures)} figures", ""]
        return "\n".join([*lines, "None is distinguishable." if table.empty else shown(table)])
    for figure in FIGURES:
        table = _table(comparison.figures[comparison.figures["figure"] == figure], labels)
        lines += [] if table.empty else [f"## {figure}", "", shown(table), ""]
    return "\n".join(lines).rstrip("\n")


def _surviving(comparison: Comparison) -> list[str]:
    """Say what each pair of levels survives, once where both runs agree."""
    said = {}
    for side in ("first", "second"):
        counts = ((name, sides[side]) for name, sides in comparison.survives.items())
        said[side] = ", ".join(f"{name} {count['reads']}/{count['writes']}" for name, count in counts)
    if not said["first"]:
        return []
    if said["first"] == said["second"]:
        return [f"Dead replicas that reads/writes survive: {said['first']}"]
    labels = {"first": comparison.first["label"], "second": comparison.second["label"]}
    return [f"Dead replicas that reads/writes survive in {labels[side]}: {words}" for side, words in said.items()]


def as_markdown(comparison: Comparison) -> str:
    """Markdown: what is compared, what it comes to, and one table per figure."""
    return _report(comparison, markdown)


def as_text(comparison: Comparison) -> str:
    """Return the same for a terminal, in columns."""
    return _report(comparison, lambda table: table.to_string(index=False, justify="left"))


FORMATS = {"json": as_json, "csv": as_csv, "md": as_markdown, "text": as_text}
