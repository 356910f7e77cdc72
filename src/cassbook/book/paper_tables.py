"""The 2020 paper's tables in its shape, from any source; several chapters and `cassbook export` share them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from cassbook.book import needs
from cassbook.book.gaps import of_each
from cassbook.book.provenance import Source
from cassbook.core.consistency import LEVELS
from cassbook.core.errors import LackingError
from cassbook.core.schema import CLIENT_MARKS
from cassbook.latency import (
    mixing,
    ranking,
    regression,
    summaries,
    validation,
)
from cassbook.latency.mixing import mix_label
from cassbook.shown.tables import Format, formatted, intervals, titled

#: Behind a figure that the client is a part of: it took a third of the machine, or lagged (see `schema.CLIENT_MARKS`);
#: and behind one of cells with any other mark.
CLIENT_SIGN, MARK_SIGN = "†", "‡"
_BELOW_ZERO = "below 0"
_LEAST_P = 0.001
#: Columns of `summaries.slowdowns` in Tables I and II, but for latencies.
_PERFORMANCE: dict[str, Format] = {
    "throughput_per_s": ".0f", "cv_percent": ".0f",
    **dict.fromkeys(("latency_slowdown_percent", "throughput_slowdown_percent"), " ({:+.0f} %)".format),
}  # fmt: skip
_MODELS = {name: regression.MODEL_TITLES[order] for order, name in regression.MODEL_NAMES.items()}


def performance(stats: pd.DataFrame, operation: str) -> pd.DataFrame:
    """Return Tables I and II: latency, variation and throughput by threads, slowdowns in percent of ONE behind.

    `stats`: columns `schema.LEVEL_STATS`. `operation`: READ or WRITE.

    Index threads; columns (quantity, level). Latencies carry how far their 95 % interval reaches where
    there are blocks to compute it from; `signs` of marks stand behind them.
    """
    rows = summaries.slowdowns(stats[stats["operation"] == operation])
    table = {}
    measured = [level for level in LEVELS if level in set(rows["level"])]
    for level in measured:
        group = rows[rows["level"] == level].set_index("threads")
        behind, words = level != "ONE", formatted(group, _PERFORMANCE)
        latency = intervals(group, "±%.0f", "latency_us", "latency_low_us", "latency_high_us")
        throughput = words["throughput_per_s"]
        latency += signs(group)
        if behind:
            latency += words["latency_slowdown_percent"]
            throughput += words["throughput_slowdown_percent"]
        table["latency, us", level] = latency
        table["variation, %", level] = words["cv_percent"]
        table["throughput, 1/s", level] = throughput
    quantities = ("latency, us", "variation, %", "throughput, 1/s")
    return pd.DataFrame(table)[[(q, level) for q in quantities for level in measured]] if table else pd.DataFrame()


def p_text(p: float) -> str:
    """Return a p-value as tables show it, never as zero; empty where there is none.

    >>> p_text(0.0412), p_text(2e-6), p_text(float("nan"))
    ('0.041', '< 0.001', '')
    """
    if pd.isna(p):
        return ""
    return f"{p:.3f}" if p >= _LEAST_P else f"< {_LEAST_P}"


def signs(stats: pd.DataFrame) -> pd.Series:
    """Return what stands behind figures whose cells are marked, by column marks; empty behind others."""
    behind = []
    for marks in stats["marks"]:
        own = set(marks.split(";")) - {""}
        found = (CLIENT_SIGN if own & CLIENT_MARKS else "") + (MARK_SIGN if own - CLIENT_MARKS else "")
        behind.append(f" {found}" if found else "")
    return pd.Series(behind, stats.index, dtype=str)


def goodness_of_fit(sources: Sequence[Source]) -> pd.DataFrame:
    """Return Table III for every source: R² of each model, four decimals as printed."""
    parts = {}
    for label, fits in of_each(sources, _all_fits).items():
        for model, group in fits.groupby("model", sort=False):
            parts[label, _MODELS[str(model)]] = group.set_index(["operation", "level"])["r_squared"]
    return pd.DataFrame(parts).round(4)


def _all_fits(source: Source) -> pd.DataFrame:
    needs.thread_counts(source, max(regression.MODEL_NAMES) + 1, "a curve of fourth order")
    return regression.fit_all(source.level_stats)


def estimated(source: Source, read_shares: Sequence[float], order: int = 4) -> pd.DataFrame:
    """Return the latencies that equations (8) to (10) estimate from a source's regressions, at its own thread
    counts.
    """
    needs.estimates(source, order)
    fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
    return mixing.estimates(fits, sorted(source.level_stats["threads"].unique()), read_shares)


def starred(values: pd.DataFrame, spec: str = "{:.0f}") -> pd.DataFrame:
    """Return the values as text, an asterisk behind the least of each row."""
    text = values.map(spec.format)
    return text.where(~values.eq(values.min(axis=1), axis=0), text + " *")


def by_workload(df: pd.DataFrame, value: str = "latency_us", spec: str = "{:.0f}", least: bool = True) -> pd.DataFrame:
    """Return Tables IV and V: one row per thread count, one column per (read share, setting).

    `df`: columns setting, read_share, threads and `value`; marks, if cells have them. `spec`: format of a value.
    `least`: whether values are latencies: the least of each workload has an asterisk (the paper underlines it), but not
    where a curve is below zero, which no latency is; such values are not shown.
    """
    shares = df["read_share"].map(mix_label)
    text = df[value].map(spec.format)
    if least:
        lowest = df.groupby(["read_share", "threads"])[value].transform("min")
        text = text.where((lowest != df[value]) | (lowest <= 0), text + " *")
        text = text.mask(df[value] <= 0, _BELOW_ZERO)
    if "marks" in df:
        text += signs(df)
    wide = df.assign(mix=shares, text=text)
    table = wide.set_index(["threads", "mix", "setting"])["text"].unstack(["mix", "setting"])  # noqa: PD010
    return table.sort_index(axis=1, level="mix", sort_remaining=True)


def measured_deviations(source: Source, order: int = 4) -> pd.DataFrame:
    """Return Table V from a run: estimates from its pure cells against its mixed cells (see
    `validation.deviations`).
    """
    needs.mixes(source)
    shares = sorted(source.mixed_stats["read_share"].unique())
    return validation.deviations(estimated(source, shares, order), source.mixed_stats)


def rankings_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `rankings` or `setting_rankings` in words: distinguishable is 'yes', 'no' or 'unknown'."""
    words = {True: "yes", False: "no", None: "unknown"}
    shown = titled(
        table, {"ranking": ("ranking", ""), "distinguishable": ("distinguishable", ""), "p_value": ("p", p_text)}
    )
    return shown.assign(distinguishable=[words[value] for value in table["distinguishable"]])


def rankings(source: Source) -> pd.DataFrame:
    """Return the order of the levels by mean latency, and whether it is distinguishable from noise (see
    `ranking.levels`).

    Returns
    -------
    DataFrame
        Index operation, threads; columns ranking, distinguishable (None where unknown) and p_value, the largest
        adjusted one of two neighbours.
    """
    needs.levels(source)
    cells = None if source.run is None else source.cell_stats
    return ranking.levels(source.level_stats, cells).set_index(["operation", "threads"]).drop(columns="order")


def setting_rankings(source: Source) -> pd.DataFrame:
    """Return the order of the settings of mixed workloads by measured mean latency; index read_share, threads; as
    `rankings`.
    """
    needs.mixes(source)
    cells = None if source.run is None else source.cell_stats
    return ranking.settings(source.mixed_stats, cells).set_index(["read_share", "threads"]).drop(columns="order")


def overall_orders(sources: Sequence[Source], of: str) -> pd.DataFrame:
    """Return the order of levels or settings over all thread counts together, by run (see `ranking.overall`).

    `sources`: runs. `of`: 'level' or 'setting'.

    Index operation, or mix; columns (source, order) with the signs of `setting_orders`, and (source, p).
    """
    parts = {}
    for label, orders in of_each(sources, lambda source: _overall(source, of)).items():
        parts[label, "order"] = orders["order"]
        parts[label, "p"] = orders["p_value"].map(p_text).astype(str)
    return pd.DataFrame(parts).rename_axis("operation" if of == "level" else "mix")


def _overall(source: Source, of: str) -> pd.DataFrame:
    """Order of a run's levels or settings, by operation or mix."""
    if of == "setting":
        needs.mixes(source)
    else:
        needs.levels(source)
    orders = ranking.overall(source.cell_stats, of)
    if orders.empty:
        raise LackingError(f"{source.label} has no thread count at which one block measured every {of}")
    if of == "setting":
        orders["read_share"] = orders["read_share"].map(mix_label)
    return orders.set_index(orders.columns[0])
