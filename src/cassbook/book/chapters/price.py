"""What levels and settings cost, in the mean and in the tail, as the chapters that compare them show it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import pandas as pd

from cassbook.book import needs
from cassbook.book.lacking import of_each, served
from cassbook.book.source import Source
from cassbook.core.consistency import STRONG_SETTINGS, WIDER_SETTINGS
from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.latency import percentiles, prices

#: From so many threads on the machine is busy; below, the price of a level is that of a round trip more.
BUSY_THREADS = 100
LACKING = "too few operations"
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
    return of.map(lambda estimate: f"{estimate:.2f}" if isinstance(estimate, Estimate) else LACKING)


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


def by_threads(
    sources: Iterable[Source], figures: Sequence[str] = ("mean", "p99")
) -> dict[str, dict[str, pd.DataFrame]]:
    """Return `prices.prices` of pure cells, by figure and the run's label."""
    runs = list(served(sources, needs.levels))
    return {name: {of.label: prices.prices(ratios(of, name)) for of in runs} for name in figures}
