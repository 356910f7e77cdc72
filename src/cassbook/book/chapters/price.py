"""What levels and settings cost, in the mean and in the tail, as the chapters that compare them show it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from cassbook.book import needs
from cassbook.book.gaps import of_each, served
from cassbook.book.provenance import Source
from cassbook.core.consistency import LEVELS, STRONG_SETTINGS, WIDER_SETTINGS
from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.latency import percentiles, prices
from cassbook.shown.tables import formatted

#: From so many threads on the machine is busy; below, the price of a level is that of a round trip more.
BUSY_THREADS = 100
LACKING = "too few operations"
#: What the prose says of a run that lacks what would be quoted.
UNMEASURED = "(not measured)"
#: Of `at_fixed_rate`: figures of response time, and their columns.
_RESPONSE = {"mean": "response_us", "p50": "response_p50_us", "p95": "response_p95_us", "p99": "response_p99_us"}
_QUOTED = ("p50", "p99")
#: Names of settings, by their pair of levels.
SETTINGS = {f"{setting.read_cl}/{setting.write_cl}": setting.name for setting in (*STRONG_SETTINGS, *WIDER_SETTINGS)}


def ratios(source: Source, figure: str = "mean", kind: str = "pure") -> pd.DataFrame:
    """Return what levels cost in a run, block by block (see `prices.block_ratios`).

    Parameters
    ----------
    source : Source
        A run.
    figure : str
        One of `percentiles.FIGURES`. p99.9 is compared by cell, not by round: a slice has too few operations.
    kind : str
        'pure' or 'mixed'.
    """
    assert source.run is not None  # noqa: S101 - only runs have cells
    cells = source.cell_stats[source.cell_stats["kind"] == kind]
    if figure == "p99.9":
        cells = percentiles.with_tails(cells, source.run.histograms)
    return prices.block_ratios(cells, source.run.slices, percentiles.COLUMNS[figure])


def table(sources: Sequence[Source], kind: str = "pure", by: Sequence[str] = ("operation",)) -> pd.DataFrame:
    """Return what levels cost in each figure, as multiples of the base level's, at `BUSY_THREADS` and more.

    Parameters
    ----------
    sources : sequence of Source
        Runs.
    kind : str
        'pure' or 'mixed'.
    by : sequence of str
        What stays apart, of `prices.KEYS`.

    Returns
    -------
    DataFrame of Estimate
        Index (run, by, ratio: 'ALL/ONE', '1R-3W/2R-2W'); columns `percentiles.FIGURES`: geometric means over thread
        counts, then over blocks, with their 95 % intervals; NaN where some cell has too few operations. A run without
        such loads has no row.

    Raises
    ------
    LackingError
        If no run has such loads.
    """
    parts = of_each(sources, lambda source: _of_run(source, kind, by))
    return pd.concat(dict(parts), names=["run"])


def _of_run(source: Source, kind: str, by: Sequence[str]) -> pd.DataFrame:
    """`table` of one run, without its name."""
    if kind == "pure":
        needs.levels(source)
    else:
        needs.mixes(source)
    found: dict[tuple[str, ...], dict[str, Estimate]] = {}
    for figure in percentiles.FIGURES:
        of_source = ratios(source, figure, kind)
        over = prices.pooled(of_source[of_source["threads"] >= BUSY_THREADS], (*by, "level", "base")).reset_index()
        for row in over.to_dict("records"):
            ratio = "/".join(SETTINGS.get(row[name], row[name]) for name in ("level", "base"))
            found.setdefault((*(row[name] for name in by), ratio), {})[figure] = row["ratio"]
    if not found:
        cells = source.cell_stats[source.cell_stats["kind"] == kind]
        what = "levels" if kind == "pure" else "settings"
        raise LackingError(
            f"{source.label} has no two {what} at one load of {BUSY_THREADS} threads or more; "
            f"it was measured with up to {cells['threads'].max()}"
        )
    index = pd.MultiIndex.from_tuples(sorted(found), names=[*by, "ratio"])
    return pd.DataFrame([found[key] for key in sorted(found)], index, list(percentiles.FIGURES))


def text(of: pd.DataFrame) -> pd.DataFrame:
    """Return `table` in words."""
    return formatted(of, ".2f", LACKING)


def values(
    of: pd.DataFrame, names: Mapping[str, str], only: Collection[tuple[str, str]] = (),
    figures: Sequence[str] = ("mean", "p99"),
) -> dict[str, str]:  # fmt: skip
    """Return what the prose quotes of `table`, with intervals: price_NAME_OPERATION_LEVEL_FIGURE.

    OPERATION is 'READ', or 'reads30' of a mix; LEVEL, or a setting's name, is what is compared with the base.

    Parameters
    ----------
    of : DataFrame
        From `table`.
    names : mapping of str to str
        By the run's label, what prose calls it: 'recorded', 'today'.
    only : collection of (str, str)
        Operations and levels that are quoted; default: all.
    figures : sequence of str
    """
    quoted: dict[str, str] = {}
    for row in of.reset_index().to_dict("records"):
        level = row["ratio"].split("/")[0]
        if row["run"] in names and (not only or (row["operation"], level) in only):
            name = f"price_{names[row['run']]}_{re.sub(r'[ %]', '', row['operation'])}_{level}"
            quoted |= {f"{name}_{figure}": f"{row[figure]:.2f}" for figure in figures}
    return quoted


def at_fixed_rate(source: Source) -> pd.DataFrame:
    """Return what levels cost where requests come at a fixed rate, whether or not earlier ones have been answered.

    Returns
    -------
    DataFrame of Estimate
        Index (rate_per_s, ratio: 'QUORUM/ONE'); columns mean, p50, p95, p99: response time as a multiple of that at ONE
        in the same block, geometric means over blocks. Empty for a run without such cells.
    """
    cells = source.cell_stats
    cells = cells[(cells["kind"] == "paced") & (cells["condition"] == "healthy") & cells["rate_per_s"].notna()]
    found: dict[tuple[float, str], dict[str, Estimate]] = {}
    for figure, column in _RESPONSE.items():
        by_level = cells.pivot_table(column, ["rate_per_s", "block"], "read_cl")
        compared = [level for level in LEVELS if level != "ONE" and {"ONE", level} <= set(by_level)]
        for level in compared:
            for rate, of_blocks in (by_level[level] / by_level["ONE"]).dropna().groupby("rate_per_s"):
                found.setdefault((float(str(rate)), f"{level}/ONE"), {})[figure] = Estimate.ratio(of_blocks)
    index = pd.MultiIndex.from_tuples(list(found), names=["rate_per_s", "ratio"])
    return pd.DataFrame(list(found.values()), index, list(_RESPONSE)).sort_index()


def rate_values(named: Mapping[str, Source]) -> dict[str, str]:
    """Return what the prose quotes of `at_fixed_rate`: rate_per_s, the lowest, and QUORUM there, rate_NAME_FIGURE.

    Parameters
    ----------
    named : mapping of str to Source
        By what prose calls it. Of a run without such cells the text is `UNMEASURED`.
    """
    quoted = {"rate_per_s": UNMEASURED}
    for name, source in named.items():
        quoted |= dict.fromkeys([f"rate_{name}_{figure}" for figure in _QUOTED], UNMEASURED)
        rows = at_fixed_rate(source).query("ratio == 'QUORUM/ONE'").reset_index()
        for row in rows.head(1).to_dict("records"):
            quoted |= {f"rate_{name}_{figure}": f"{row[figure]:.2f}" for figure in _QUOTED}
            quoted["rate_per_s"] = f"{row['rate_per_s']:,.0f}"
    return quoted


def between(source: Source, operation: str, level: str, other: str, figure: str) -> str:
    """Say a figure of one level divided by that of another, neither of which is the base, pooled as by `table`.

    `UNMEASURED` where the run does not compare them at `BUSY_THREADS` and more.
    """
    of = ratios(source, figure)
    of = of[(of["threads"] >= BUSY_THREADS) & (of["operation"] == operation)]
    logs = of.pivot_table("log_ratio", ["block", "threads"], "level")
    if not {level, other} <= set(logs):
        return UNMEASURED
    return f"{Estimate.ratio(np.exp((logs[level] - logs[other]).dropna().groupby('block').mean())):.2f}"


def by_threads(
    sources: Iterable[Source], figures: Sequence[str] = ("mean", "p99")
) -> dict[str, dict[str, pd.DataFrame]]:
    """Return `prices.prices` of pure cells, by figure and the run's label."""
    runs = list(served(sources, needs.levels))
    return {name: {of.label: prices.prices(ratios(of, name)) for of in runs} for name in figures}
