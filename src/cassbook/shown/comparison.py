"""What a comparison of two runs looks like: Markdown, text, JSON or CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.words import markdown
from cassbook.latency import percentiles, uncertainty
from cassbook.latency.comparison import ORDER, Comparison
from cassbook.shown.results import too_few
from cassbook.shown.tables import formatted, intervals

_MARKDOWN_KEYS = ("kind", "operation", "level", "threads")
#: Shown where they say something.
_MORE_KEYS = ("deployment", "condition", "rate_per_s")


def as_json(comparison: Comparison) -> str:
    """JSON: first, second, figures (a list of objects), only_first, only_second; what is not known is null."""
    figures = json.loads(comparison.shown.to_json(orient="records", double_precision=15))
    content = {"first": comparison.first, "second": comparison.second, "figures": figures}
    content["survives"] = comparison.survives
    content["paired"] = comparison.paired
    if comparison.by != "mean":
        content["by"] = comparison.by
    if comparison.not_shown:
        content["not_shown"] = list(map(too_few, comparison.not_shown))
    if comparison.notes:
        content["notes"] = comparison.notes
    content |= {"only_first": comparison.only_first, "only_second": comparison.only_second}
    return json.dumps(content, indent=2, ensure_ascii=False)


def as_csv(comparison: Comparison) -> str:
    """CSV of the figures, with the names of the runs in front."""
    named = comparison.shown.copy()
    named.insert(0, "first_run", comparison.first["run"])
    named.insert(1, "second_run", comparison.second["run"])
    return named.to_csv(index=False, lineterminator="\n").rstrip("\n")


def verdict(row: Mapping[Hashable, Any]) -> str:
    """Say whether a figure is distinguishable; unknown where its interval does not rest on blocks."""
    if row["interval"] != uncertainty.BLOCKS:
        return "unknown"
    return "yes" if row["distinguishable"] else "no"


def _word(value: object) -> str:
    """A key in words; one that a cell does not have is left empty."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:g}"
    return "unknown" if value is None else str(value)


def _table(shown: pd.DataFrame, labels: tuple[str, str], *more: str) -> pd.DataFrame:
    """Figures in words, one per row; a run's column is headed by its label, and `more` columns come in front."""
    keys = [
        *more,
        *_MARKDOWN_KEYS,
        *(name for name in _MORE_KEYS if name in shown.columns and (shown[name].notna() & (shown[name] != "")).any()),
    ]
    if shown.empty:
        return pd.DataFrame()
    table = shown[keys].map(_word)
    for label, side in zip(labels, ("first", "second"), strict=True):
        table[label] = intervals(shown, "±%.0f", *(f"{side}_{name}" for name in ("value", "low", "high")))
    table["ratio"] = formatted(shown, {"ratio": ".3f"}, missing="unknown")["ratio"]
    rows = shown.to_dict("records")
    table["95 % interval"] = [
        f"{row['ratio_low']:.3f} to {row['ratio_high']:.3f}" if row["interval"] else "none" for row in rows
    ]
    table["rests on"] = shown["interval"].where(shown["interval"] != "", "nothing")
    return table.assign(distinguishable=[verdict(row) for row in rows])


def summary(comparison: Comparison) -> list[str]:
    """What the comparison comes to, in sentences."""
    by = comparison.by
    latency = comparison.figures[comparison.figures["figure"] == percentiles.COLUMNS[by]]
    judged = latency[latency["interval"] == uncertainty.BLOCKS]
    clear = int(judged["distinguishable"].astype(bool).sum())
    n = len(latency) - comparison.operations
    mixes = f" and {comparison.operations} operations of mixes" if comparison.operations else ""
    lines = [
        f"{n} cell{'s' * (n != 1)}{mixes} in both runs; ratios are second by first, of geometric means "
        "over blocks; behind ± the farther side of a run's own 95 % interval, in percent."
    ]
    if comparison.paired:
        lines[0] += " The runs were measured block by block in turn, and their blocks are compared in pairs."
    lines[0] += "".join(f" {sentence}." for sentence in _surviving(comparison))
    if len(judged):
        by_chance = 0.05 * len(judged)
        what = "Mean latency" if by == "mean" else by
        lines.append(f"{what} is distinguishable in {clear} of {len(judged)}; were there no difference, about "
                     f"{by_chance:.0f} would look so by chance.")  # fmt: skip
    if len(latency) > len(judged):
        lines.append(
            f"In {len(latency) - len(judged)} of them a run has one cluster start: the interval is within that start, "
            "another start may differ by more, so nothing is said to be distinguishable."
        )
    lines += [*map(too_few, comparison.not_shown), *comparison.notes]
    for side, alone in ((comparison.first, comparison.only_first), (comparison.second, comparison.only_second)):
        if alone:
            lines.append(f"Only in {side['label']}: {len(alone)} ({'; '.join(alone)}).")
    return lines


def _report(comparison: Comparison, shown: Callable[[pd.DataFrame], str]) -> str:
    """What is compared, what it comes to, and one table per figure, or one of those that were chosen."""
    labels = comparison.first["label"], comparison.second["label"]
    lines = [f"# {labels[0]} and {labels[1]}", ""]
    for place, side in (("first", comparison.first), ("second", comparison.second)):
        several = "" if side["blocks"] == "1" else "s"
        lines.append(f"* {place}: {side['label']}, Cassandra {side['engine']}, {side['blocks']} block{several}")
    lines += ["", *(f"{sentence}\n" for sentence in summary(comparison))]
    if comparison.chosen is not None:
        table = _table(comparison.chosen, labels, "figure")
        lines += [f"## The largest differences: {len(table)} of {len(comparison.figures)} figures", ""]
        return "\n".join([*lines, "None is distinguishable." if table.empty else shown(table)])
    for figure in ORDER:
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
