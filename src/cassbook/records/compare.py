"""Compare two runs: every cell that both measured, as a ratio with its interval.

Blocks are what a run can vouch for: each is a cluster start. So the interval of a ratio is Welch's t (Biometrika 34,
1947) on the logarithms of the block means. A run of one block has only intervals within that start; the ratio then
says how the two *starts* differ, and whether the releases or machines do does not follow from it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy import stats

from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.markdown import markdown
from cassbook.latency import summaries, uncertainty

#: What makes cells of two runs the same.
KEYS = ["kind", "workload", "condition", "operation", "level", "threads", "rate_per_s"]
FIGURES = ("latency_us", "throughput_per_s", "p50_us", "p95_us", "p99_us", "response_us", "response_p99_us")
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
        run, engine, blocks of each.
    figures : DataFrame
        One row a (cell, figure), columns `KEYS`, figure, then of each run (first_, second_): value, low, high, blocks;
        and ratio (second by first), ratio_low, ratio_high, interval ('blocks', 'one cluster start' or ''),
        distinguishable: whether the interval leaves 1 out; None where it does not rest on blocks.
    only_first, only_second : list of str
        Cells that one run has alone.
    """

    first: dict[str, str]
    second: dict[str, str]
    figures: pd.DataFrame
    only_first: list[str]
    only_second: list[str]


def _described(run: Run) -> dict[str, str]:
    statistics = run.statistics
    engines = ", ".join(sorted(statistics["engine"].astype(str).unique()))
    return {"run": run.name, "engine": engines, "blocks": str(statistics["block"].nunique())}


def _labelled(statistics: pd.DataFrame) -> pd.DataFrame:
    """Cells that have a latency, with operation and level as a reader names them."""
    cells = statistics[statistics["latency_us"].notna()].copy()
    reads, writes = cells["read_share"] == 1, cells["read_share"] == 0
    mixed = (100 * cells["read_share"]).map("reads {:.0f} %".format)
    mixed = mixed.where(cells["workload"] == "", "workload " + cells["workload"].astype(str))
    cells["operation"] = np.select([reads & (cells["workload"] == ""), writes & (cells["workload"] == "")],
                                   ["READ", "WRITE"], default=mixed)  # fmt: skip
    both = cells["read_cl"].astype(str) + "/" + cells["write_cl"].astype(str)
    level = both.mask(cells["operation"] == "READ", cells["read_cl"])
    cells["level"] = level.mask(cells["operation"] == "WRITE", cells["write_cl"])
    cells["rate_per_s"] = cells["rate_per_s"].fillna(0.0)  # a closed loop; NaN would equal nothing
    return cells


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
    return " ".join(map(str, words)) + (f" after {condition}" if condition else "") + f", {threads} threads{rate}"


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
    cells = [_labelled(run.statistics) for run in (first, second)]
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
        raise InputError(f"{first.name} and {second.name} have no cell in common: nothing can be compared")
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
    both["distinguishable"] = apart.astype(object).where(both["interval"] == uncertainty.BLOCKS, None)
    keys = [_distinct(table) for table in cells]
    return Comparison(
        _described(first),
        _described(second),
        both.sort_values([*KEYS, "figure"], key=_order, kind="stable", ignore_index=True),
        [_name(key) for key in keys[0] if key not in set(keys[1])],
        [_name(key) for key in keys[1] if key not in set(keys[0])],
    )


def _order(column: pd.Series) -> pd.Series:
    """Sort key: levels from weak to strong, figures as they are listed."""
    known = {"level": summaries.LEVEL_ORDER, "figure": FIGURES}.get(str(column.name))
    if known is None:
        return column
    return column.map({name: place for place, name in enumerate(known)}).fillna(len(known))


def as_json(comparison: Comparison) -> str:
    """JSON: first, second, figures (a list of objects), only_first, only_second; what is not known is null."""
    figures = json.loads(comparison.figures.to_json(orient="records", double_precision=15))
    content = {"first": comparison.first, "second": comparison.second, "figures": figures}
    content |= {"only_first": comparison.only_first, "only_second": comparison.only_second}
    return json.dumps(content, indent=2, ensure_ascii=False)


def as_csv(comparison: Comparison) -> str:
    """CSV of the figures, with the names of the runs in front."""
    named = comparison.figures.copy()
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


def _table(figures: pd.DataFrame, figure: str) -> pd.DataFrame:
    """One figure's table in words, one row per cell that has it."""
    of_figure = figures[figures["figure"] == figure]
    keys = [
        *_MARKDOWN_KEYS,
        *(name for name in ("condition", "rate_per_s") if (of_figure[name].notna() & (of_figure[name] != "")).any()),
    ]
    rows = [
        {name: f"{row[name]:g}" if isinstance(row[name], float) else str(row[name]) for name in keys}
        | {
            "first": _with_interval(row, "first"),
            "second": _with_interval(row, "second"),
            "ratio": f"{row['ratio']:.3f}",
            "95 % interval": f"{row['ratio_low']:.3f} to {row['ratio_high']:.3f}" if row["interval"] else "none",
            "rests on": row["interval"] or "nothing",
            "distinguishable": _verdict(row),
        }
        for row in of_figure.to_dict("records")
    ]
    return pd.DataFrame(rows)


def summary(comparison: Comparison) -> list[str]:
    """What the comparison comes to, in sentences."""
    latency = comparison.figures[comparison.figures["figure"] == "latency_us"]
    judged = latency[latency["interval"] == uncertainty.BLOCKS]
    clear = int(judged["distinguishable"].astype(bool).sum())
    lines = [f"{len(latency)} cells in both runs; ratios are second by first, of geometric means over blocks; "
             "behind ± half of a run's own 95 % interval."]  # fmt: skip
    if len(judged):
        by_chance = 0.05 * len(judged)
        lines.append(f"Mean latency is distinguishable in {clear} of {len(judged)}; were there no difference, about "
                     f"{by_chance:.0f} would look so by chance.")  # fmt: skip
    if len(latency) > len(judged):
        lines.append(f"In {len(latency) - len(judged)} a run has one cluster start: the interval is within that start, "
                     "another start may differ by more, so nothing is said to be distinguishable.")  # fmt: skip
    for side, alone in ((comparison.first, comparison.only_first), (comparison.second, comparison.only_second)):
        if alone:
            lines.append(f"Only in {side['run']}: {len(alone)} ({'; '.join(alone)}).")
    return lines


def _report(comparison: Comparison, shown: Callable[[pd.DataFrame], str]) -> str:
    """What is compared, what it comes to, and one table per figure."""
    lines = [f"# {comparison.first['run']} and {comparison.second['run']}", ""]
    for place, side in (("first", comparison.first), ("second", comparison.second)):
        lines.append(f"* {place}: {side['run']}, Cassandra {side['engine']}, {side['blocks']} blocks")
    lines += ["", *(f"{sentence}\n" for sentence in summary(comparison))]
    for figure in FIGURES:
        table = _table(comparison.figures, figure)
        lines += [] if table.empty else [f"## {figure}", "", shown(table), ""]
    return "\n".join(lines).rstrip("\n")


def as_markdown(comparison: Comparison) -> str:
    """Markdown: what is compared, what it comes to, and one table per figure."""
    return _report(comparison, markdown)


def as_text(comparison: Comparison) -> str:
    """Return the same for a terminal, in columns."""
    return _report(comparison, lambda table: table.to_string(index=False, justify="left"))


FORMATS = {"json": as_json, "csv": as_csv, "md": as_markdown, "text": as_text}
