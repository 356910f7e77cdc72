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
from cassbook.shown.rankings import orders
from cassbook.shown.rankings import ranking as ranking_words
from cassbook.shown.tables import Format, estimates, formatted, marked, titled

#: Behind a figure that the client is a part of: it took a third of the machine, or lagged (see `schema.CLIENT_MARKS`);
#: and behind one of cells with any other mark.
CLIENT_SIGN, MARK_SIGN = "†", "‡"
_BELOW_ZERO = "below 0"
_LEAST_P = 0.001
#: Figures of Tables I and II.
_PERFORMANCE: dict[str, Format] = {
    "latency_us": "±%.0f", "cv_percent": ".0f", "throughput_per_s": ".0f",
    **dict.fromkeys(("latency_slowdown_percent", "throughput_slowdown_percent"), " ({:+.0f} %)".format),
}  # fmt: skip
_MODELS = {name: regression.MODEL_TITLES[order] for order, name in regression.MODEL_NAMES.items()}


def performance(stats: pd.DataFrame, operation: str) -> pd.DataFrame:
    """Return Tables I and II: latency, variation and throughput by threads, and slowdowns in percent of ONE.

    `stats`: columns `schema.LEVEL_STATS`. `operation`: READ or WRITE.

    Index threads; columns (figure, level): latency_us (`Estimate`, with bounds where there are blocks to compute them
    from), cv_percent, throughput_per_s, latency_slowdown_percent, throughput_slowdown_percent, marks.
    """
    rows = summaries.slowdowns(stats[stats["operation"] == operation])
    rows = rows.assign(latency_us=estimates(rows, "latency_us", "latency_low_us", "latency_high_us"))
    by_level = {level: group.set_index("threads") for level, group in rows.groupby("level")}
    levels = [level for level in LEVELS if level in by_level]
    return pd.DataFrame({(name, level): by_level[level][name] for name in (*_PERFORMANCE, "marks") for level in levels})


def performance_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `performance` in words: slowdowns stand behind in brackets, `signs` of marks behind latencies."""
    quantities = ("latency, us", "variation, %", "throughput, 1/s")
    levels = list(table.columns.unique(1)) if table.size else []
    shown: dict[tuple[str, str], pd.Series] = {}
    for level in levels:
        words = formatted(pd.DataFrame({name: table[name, level] for name in _PERFORMANCE}), _PERFORMANCE)
        latency, throughput = words["latency_us"] + signs(table["marks", level]), words["throughput_per_s"]
        if level != "ONE":
            latency += words["latency_slowdown_percent"]
            throughput += words["throughput_slowdown_percent"]
        shown |= {
            (name, level): column
            for name, column in zip(quantities, (latency, words["cv_percent"], throughput), strict=True)
        }
    return pd.DataFrame({(name, level): shown[name, level] for name in quantities for level in levels})


def p_text(p: float) -> str:
    """Return a p-value as tables show it, never as zero; empty where there is none.

    >>> p_text(0.0412), p_text(2e-6), p_text(float("nan"))
    ('0.041', '< 0.001', '')
    """
    if pd.isna(p):
        return ""
    return f"{p:.3f}" if p >= _LEAST_P else f"< {_LEAST_P}"


def signs(marks: pd.Series) -> pd.Series:
    """Return what stands behind figures whose cells are marked; empty behind others."""
    return marks.fillna("").map(_sign).astype(str)


def _sign(marks: str) -> str:
    own = set(marks.split(";")) - {""}
    found = (CLIENT_SIGN if own & CLIENT_MARKS else "") + (MARK_SIGN if own - CLIENT_MARKS else "")
    return f" {found}" if found else ""


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


def starred(values: pd.DataFrame, spec: str = ".0f") -> pd.DataFrame:
    """Return the values as text, an asterisk behind the least of each row."""
    text = formatted(values, spec)
    return text.where(~values.eq(values.min(axis=1), axis=0), text + " *")


def latencies_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return Table IV in words: latency of mixes, one row per thread count, one column per (read share, setting).

    The least of each workload has an asterisk (the paper underlines it), but not where a curve is below zero, which no
    latency is; such values are not shown.

    `table`: columns setting, read_share, threads and latency_us; marks, if cells have them.
    """
    latency_us = table["latency_us"]
    least = latency_us == table.groupby(["read_share", "threads"])["latency_us"].transform("min")
    words = marked(formatted(table, {"latency_us": ".0f"})["latency_us"], least)
    return _by_workload(table, words.mask(latency_us <= 0, _BELOW_ZERO))


def deviations_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return Table V in words, in the shape of `latencies_shown`; an asterisk where the paper has underlined.

    `table`: columns setting, read_share, threads and deviation_percent; underlined, if printed; marks, if measured.
    """
    words = formatted(table, {"deviation_percent": "+.1f"})["deviation_percent"]
    return _by_workload(table, marked(words, table["underlined"]) if "underlined" in table else words)


def _by_workload(table: pd.DataFrame, words: pd.Series) -> pd.DataFrame:
    if "marks" in table:
        words = words + signs(table["marks"])
    wide = table.assign(mix=table["read_share"].map(mix_label), text=words)
    shaped = wide.set_index(["threads", "mix", "setting"])["text"].unstack(["mix", "setting"])  # noqa: PD010
    return shaped.sort_index(axis=1, level="mix", sort_remaining=True)


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
        table,
        {"ranking": ("ranking", ranking_words), "distinguishable": ("distinguishable", ""), "p_value": ("p", p_text)},
    )
    return shown.assign(distinguishable=[words[value] for value in table["distinguishable"]])


def rankings(source: Source) -> pd.DataFrame:
    """Return the order of the levels by mean latency, and whether it is distinguishable from noise (see
    `ranking.levels`).

    Returns
    -------
    DataFrame
        Index operation, threads; columns ranking, differ, distinguishable (None where unknown) and p_value, the largest
        adjusted one of two neighbours.
    """
    needs.levels(source)
    cells = None if source.run is None else source.cell_stats
    return ranking.levels(source.level_stats, cells).set_index(["operation", "threads"])


def setting_rankings(source: Source) -> pd.DataFrame:
    """Return the order of the settings of mixed workloads by measured mean latency; index read_share, threads; as
    `rankings`.
    """
    needs.mixes(source)
    cells = None if source.run is None else source.cell_stats
    return ranking.settings(source.mixed_stats, cells).set_index(["read_share", "threads"])


def overall_orders(sources: Sequence[Source], of: str) -> pd.DataFrame:
    """Return the order of levels or settings over all thread counts together, by run (see `ranking.overall`).

    `sources`: runs. `of`: 'level' or 'setting'.

    Index operation, or read_share; columns (source, ranking), (source, differ) and (source, p_value).
    """
    found = of_each(sources, lambda source: _overall(source, of))
    parts = {(label, name): own[name] for label, own in found.items() for name in ("ranking", "differ", "p_value")}
    return pd.DataFrame(parts).rename_axis("operation" if of == "level" else "read_share")


def overall_orders_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `overall_orders` in words: the order with signs between neighbours, and p."""
    parts = {}
    for label in dict.fromkeys(table.columns.get_level_values(0)):
        known = table[label].dropna(subset="ranking")
        parts[label, "order"] = orders(known)
        parts[label, "p"] = known["p_value"].map(p_text).astype(str)
    shown = pd.DataFrame(parts, index=table.index)
    return shown.rename(index=mix_label).rename_axis("mix") if table.index.name == "read_share" else shown


def _overall(source: Source, of: str) -> pd.DataFrame:
    """Order of a run's levels or settings, by operation or mix."""
    if of == "setting":
        needs.mixes(source)
    else:
        needs.levels(source)
    found = ranking.overall(source.cell_stats, of)
    if found.empty:
        raise LackingError(f"{source.label} has no thread count at which one block measured every {of}")
    return found.set_index(found.columns[0])
