"""Tables of the chapter on latency: slowdowns, saturation, growth, and 2.1.20 compared with 5.0.9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cassbook import published
from cassbook.book import needs
from cassbook.book.gaps import served
from cassbook.book.provenance import Source
from cassbook.core.consistency import LEVELS
from cassbook.core.errors import LackingError
from cassbook.latency import distributions, saturation, summaries, uncertainty
from cassbook.latency.comparison import compare
from cassbook.shown import rankings
from cassbook.shown.tables import Format, formatted

_COLUMNS = ["operation", "level", "threads", "ratio", "low", "high", "distinguishable"]


def distributions_of(source: Source, threads: Sequence[int]) -> dict[str, pd.DataFrame]:
    """Return `distributions.curves` of reads and of writes by what a panel is called.

    Parameters
    ----------
    source : Source
        A run.
    threads : sequence of int
        Of each operation, the thread counts that are nearest to these.
    """
    assert source.run is not None  # noqa: S101 - only runs have cells
    needs.pure(source)
    stats = source.level_stats
    curves = {}
    for operation in ("READ", "WRITE"):
        counts = stats.loc[stats["operation"] == operation, "threads"].unique()
        for count in dict.fromkeys(nearest(counts, wanted) for wanted in threads if len(counts)):
            panel = f"{operation.lower()}s, {count} threads"
            curves[panel] = distributions.curves(source.cell_stats, source.run.histograms, operation, count)
    return curves


def nearest(counts: ArrayLike, wanted: int) -> int:
    """Return the thread count that is nearest to the one wanted, the lower of two."""
    known = np.sort(np.asarray(counts))
    return int(known[np.abs(known - wanted).argmin()])


def average_slowdowns(sources: Sequence[Source]) -> pd.DataFrame:
    """Return the bottom rows of Tables I and II: mean slowdown over all thread counts, in percent of ONE."""
    parts = {}
    for source in served(sources, needs.levels):
        stats = summaries.slowdowns(source.level_stats)
        means = stats[stats["level"] != "ONE"].groupby(["operation", "level"], sort=False)
        parts[source.label, "latency"] = means["latency_slowdown_percent"].mean()
        parts[source.label, "throughput"] = means["throughput_slowdown_percent"].mean()
    return pd.DataFrame(parts).round(1)


def saturation_points(sources: Sequence[Source]) -> pd.DataFrame:
    """Return the threads from which more of them bring under 5 % more throughput, and the maximum, by source.

    Returns
    -------
    DataFrame
        Index (operation, level); columns (source, saturated_from_threads: infinite where saturation was not reached),
        (source, max_throughput_per_s). NaN where a source has no such series.
    """
    parts = {}
    for source in served(sources, needs.pure):
        table = saturation.saturation_table(source.level_stats).set_index(["operation", "level"])
        parts[source.label, "saturated_from_threads"] = table["saturated_from_threads"].where(table["reached"], np.inf)
        parts[source.label, "max_throughput_per_s"] = table["max_throughput_per_s"]
    return pd.DataFrame(parts)


def saturation_points_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `saturation_points` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "saturated_from_threads": ("saturated from", lambda n: f"{n:.0f}" if np.isfinite(n) else "not reached"),
        "max_throughput_per_s": ("most, 1/s", ".0f"),
    }
    return _by_source(table, columns)


def _by_source(table: pd.DataFrame, columns: Mapping[str, tuple[str, Format]]) -> pd.DataFrame:
    """Words of a table whose columns are (source, name), by the title and the format of each name."""
    words = formatted(table, {column: columns[column[1]][1] for column in table.columns})
    return words.rename(columns={name: title for name, (title, _) in columns.items()}, level=1)


def growth(sources: Sequence[Source], beyond_saturation: bool) -> pd.DataFrame:
    """Return the verdict on 'exponential' against linear growth of latency, with the AICc difference, by source.

    Returns
    -------
    DataFrame
        Index (operation, level); columns (source, verdict), (source, aicc_difference: exponential less linear, NaN of
        too few points).
    """
    parts = {}
    for source in served(sources, needs.pure):
        table = saturation.growth_table(source.level_stats, beyond_saturation=beyond_saturation)
        table = table.set_index(["operation", "level"])
        parts[source.label, "verdict"] = table["verdict"]
        parts[source.label, "aicc_difference"] = table["exponential_aicc"] - table["linear_aicc"]
    return pd.DataFrame(parts)


def growth_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `growth` in words."""
    return _by_source(table, {"verdict": ("verdict", ""), "aicc_difference": ("AICc exp. - lin.", "+.1f")})


def printed_slowdown(operation: str, level: str) -> int:
    """Return the mean latency slowdown in percent of ONE that the last row of Table I (reads) or II (writes) prints."""
    table = published.table("g20_table1_averages" if operation == "READ" else "g20_table2_averages")
    return int(table.loc[table["level"] == level, "latency_slowdown_percent"].iloc[0])


def version_ratios(first: Source, second: Source, figure: str = "latency_us") -> pd.DataFrame:
    """Return the ratio of the second run to the first of every pure cell that both measured.

    Parameters
    ----------
    first, second : Source
        Runs.
    figure : str
        One of `cassbook.latency.comparison.FIGURES`.

    Returns
    -------
    DataFrame
        operation, level, threads, ratio of the geometric means over blocks, low and high (95 % interval, NaN where a
        run has fewer than three blocks), distinguishable: whether that leaves out 1; None where it is unknown.

    Raises
    ------
    InputError
        If the runs have no cell in common.
    """
    assert first.run is not None  # noqa: S101 - only runs have cells
    assert second.run is not None  # noqa: S101
    ratios = compare(first.run, second.run).figures
    chosen = ratios[(ratios["kind"] == "pure") & (ratios["figure"] == figure)]
    if chosen.empty:
        raise LackingError(f"{first.label} and {second.label} have no reads or writes at one load and level in common")
    known = chosen["interval"] == uncertainty.BLOCKS
    chosen = chosen.assign(low=chosen["ratio_low"].where(known), high=chosen["ratio_high"].where(known))
    return chosen[_COLUMNS].reset_index(drop=True)


def ratios_by_level(ratios: pd.DataFrame) -> pd.DataFrame:
    """Return the geometric mean of the ratios over all thread counts, and in how many cells the two are
    distinguishable.

    Parameters
    ----------
    ratios : DataFrame
        From `version_ratios`.

    Returns
    -------
    DataFrame
        Index (operation, level); columns ratio, faster, slower, cells: of the second run, in distinguishable
        cells.
    """
    clear = ratios["distinguishable"].fillna(False).astype(bool)
    signed = ratios.assign(
        log_ratio=np.log(ratios["ratio"]), faster=clear & (ratios["ratio"] < 1), slower=clear & (ratios["ratio"] > 1)
    )
    groups = signed.groupby(["operation", "level"], sort=False)
    columns = {"ratio": np.exp(groups["log_ratio"].mean()), "faster": groups["faster"].sum()}
    return pd.DataFrame(columns | {"slower": groups["slower"].sum(), "cells": groups.size()})


def slowdown_values(table: pd.DataFrame, named: Mapping[str, Source]) -> dict[str, float]:
    """Return what the prose quotes of `average_slowdowns` (latency at ALL, in percent of ONE), by what it calls the
    sources.
    """
    return {
        f"slow_{name}_{operation}": float(table[source.label, "latency"].get((operation, "ALL"), np.nan))
        for name, source in named.items() if (source.label, "latency") in table
        for operation in ("READ", "WRITE")
    }  # fmt: skip


def order_values(table: pd.DataFrame, source: Source) -> dict[str, str]:
    """Return what the prose quotes of `paper_tables.overall_orders`."""
    if (source.label, "ranking") not in table:
        raise LackingError(f"{source.label} has no order of levels")
    known = pd.DataFrame(table[source.label]).dropna(subset="ranking")
    return {f"order_{str(key).lower()}": order for key, order in rankings.orders(known).items()}


def rank_values(ranks: pd.DataFrame) -> dict[str, int]:
    """Return what the prose quotes of a run's rankings.

    Parameters
    ----------
    ranks : DataFrame
        From `paper_tables.rankings`.

    Returns
    -------
    dict
        How many rankings are as expected, of how many, how many are distinguishable, and how often ONE is first.
    """
    ranked = ranks["ranking"].tolist()
    return {
        "rank_expected": ranked.count(LEVELS), "rank_total": len(ranked),
        "rank_distinguishable": int(ranks["distinguishable"].eq(True).sum()),
        "rank_one": sum(names[0] == LEVELS[0] for names in ranked),
    }  # fmt: skip
