"""Does a level's latency depend on the level that had its turn before, and for how long after the change?

Writes at ONE leave work undone on other replicas that the next slice pays for; requests of a slow level are still under
way when a fast one begins. Orders are balanced by predecessor, so that each level bears every other one's about equally
often, and guards leave out what follows a change. What is left is computed here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.core.schema import without_open
from cassbook.latency import designs
from cassbook.latency.labels import labelled

_CELL = ["start", "panel", "level"]


def by_predecessor(
    statistics: pd.DataFrame, slices: pd.DataFrame, by: Sequence[str] = ("operation",), figure: str = "latency_us"
) -> pd.DataFrame:
    """How much longer a level takes behind one predecessor than behind the average of those it has had.

    `statistics` are from `cells.cell_statistics`, `slices` have `slices.COLUMNS`, `by` distinguishes more than level
    and predecessor ('operation', 'threads'), and `figure` is one of `prices.FIGURES`. Index `by`, level, after; effect
    (`Estimate` over blocks, in percent of the average), cells. Slices behind one of their own level are left out, as
    are cells that have had one predecessor alone.
    """
    cells = labelled(without_open(statistics))[["cell_id", "block", "level", "operation", "threads"]]
    table = slices[["cell_id", "after", figure]].merge(cells, on="cell_id")
    table = table.assign(after=table["after"].map(cells.set_index("cell_id")["level"]), log=np.log(table[figure]))
    table = table[table["after"].notna() & (table["after"] != table["level"])]
    keys = [*by, "level", "after"]
    apart = ["block", "cell_id", "operation", "threads", "level", "after"]
    behind = table.groupby(apart)["log"].mean().reset_index()
    of_cell = behind.groupby("cell_id")["log"]
    behind["log"] -= of_cell.transform("mean")
    behind = behind[of_cell.transform("size") > 1]
    rows = {}
    for key, group in behind.groupby(keys, sort=False):
        over = Estimate.ratio(np.exp(group.groupby("block")["log"].mean()))
        rows[key] = _percent(over), len(group)
    index = pd.MultiIndex.from_tuples(list(rows), names=keys)
    return pd.DataFrame(list(rows.values()), index, columns=["effect", "cells"])


def since_change(bins: pd.DataFrame, settled_from_ms: float) -> pd.DataFrame:
    """Latency by the time since the change, as a multiple of what the same level settles at.

    `bins`: start, panel, operation, threads, level, after, bin_ms, n, latency_ms: mean latency of what was sent in each
    bin of a level's slices behind another level. `settled_from_ms`: what is sent later counts as settled.

    Columns: operation, threads, level, after, bin_ms; ratio, low, high (geometric mean over cluster starts, Student's
    t on logarithms) and n (operations). Slices behind one of their own level are left out.
    """
    table = _of_settled(bins, settled_from_ms)
    table["ratio"] = table["latency_ms"] / table["settled_ms"]
    keys = ["operation", "threads", "level", "after", "bin_ms"]
    rows = []
    for key, group in table.groupby(keys, sort=True):
        over = Estimate.ratio(group["ratio"])
        rows.append((*key, over.value, over.low, over.high, int(group["n"].sum())))
    return pd.DataFrame(rows, columns=[*keys, "ratio", "low", "high", "n"])


def by_window(bins: pd.DataFrame, edges_ms: Sequence[float], settled_from_ms: float) -> pd.DataFrame:
    """How far from settled a level is in windows since the change, over all loads and predecessors.

    `bins`: as `since_change`. `edges_ms`: of the windows, ascending.

    Index operation; columns pairs of edges: percent, over cluster starts.
    """
    table = _of_settled(bins, settled_from_ms)
    columns = {}
    for window in itertools.pairwise(edges_ms):
        by_start = _logs(table[table["bin_ms"].between(*window, inclusive="left")], ["operation"])
        columns[window] = pd.Series({key: _over_starts(logs) for key, logs in by_start.groupby("operation")})
    return pd.DataFrame(columns).rename_axis("operation")


def left_by_rule(bins: pd.DataFrame, rules: pd.DataFrame, settled_from_ms: float) -> pd.DataFrame:
    """How far what the rule of guards and slices counts is from what a level settles at.

    `bins`: as `since_change`. `rules`: start, panel, guard_ms, counted_ms: what the rule gives for the latency of that
    group.

    Index operation, threads, level; off (`Estimate` over cluster starts, in percent: the slices that the
    rule would have counted, the average of those behind each other level, against the settled part).
    """
    keys = ["operation", "threads", "level"]
    by_start = _logs(_counted(bins, rules, settled_from_ms), keys)
    off = {key: _over_starts(logs) for key, logs in by_start.groupby(keys)}
    return pd.DataFrame({"off": pd.Series(off, dtype=object)}).rename_axis(keys)


def ratios_off(
    bins: pd.DataFrame, rules: pd.DataFrame, settled_from_ms: float, bases: Sequence[str] = designs.BASES
) -> pd.DataFrame:
    """How far a ratio of levels is off, if taken from what the rule counts and not from what they settle at.

    `bins`, `rules` and `settled_from_ms`: as `left_by_rule`. `bases`: levels that others are compared with, by
    preference.

    Index operation, level, base; off (`Estimate` over cluster starts, in percent, the mean over threads).
    """
    logs = _logs(_counted(bins, rules, settled_from_ms), ["operation", "level"]).unstack("level")  # noqa: PD010
    off = {}
    for operation, of_operation in logs.groupby("operation"):
        known = of_operation.dropna(axis=1)
        base = next(name for name in bases if name in known)
        for level in known.columns.drop(base):
            off[operation, level, base] = _over_starts(known[level] - known[base])
    return pd.DataFrame({"off": pd.Series(off, dtype=object)}).rename_axis(["operation", "level", "base"])


def _counted(bins: pd.DataFrame, rules: pd.DataFrame, settled_from_ms: float) -> pd.DataFrame:
    """Return the bins that the rule would count."""
    table = _of_settled(bins, settled_from_ms).merge(rules[["start", "panel", "guard_ms", "counted_ms"]])
    return table[table["bin_ms"].between(table["guard_ms"], table["guard_ms"] + table["counted_ms"], inclusive="left")]


def _logs(table: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    """Return how far from settled bins are, in logarithms: the mean over predecessors and loads; index keys, start."""
    cells = table.groupby(["operation", "threads", "level", "after", "start", "settled_ms"])[["total", "n"]].sum()
    cells = cells.reset_index()
    cells["log"] = np.log(cells["total"] / cells["n"] / cells["settled_ms"])
    return cells.groupby([*keys, "start"])["log"].mean()


def _over_starts(logs: pd.Series) -> Estimate:
    return _percent(Estimate.ratio(np.exp(logs)))


def _of_settled(bins: pd.DataFrame, settled_from_ms: float) -> pd.DataFrame:
    """Add total (of latencies) and settled_ms (mean latency of the level's late part), without a level's own behind."""
    table = bins.assign(total=bins["n"] * bins["latency_ms"])
    late = table[table["bin_ms"] >= settled_from_ms].groupby(_CELL)[["total", "n"]].sum()
    settled = (late["total"] / late["n"]).rename("settled_ms")
    return table[table["after"] != table["level"]].merge(settled, on=_CELL)


def _percent(ratio: Estimate) -> Estimate:
    value, low, high = ((x - 1) * 100 for x in (ratio.value, ratio.low, ratio.high))
    return Estimate(value, low, high, ratio.n)
