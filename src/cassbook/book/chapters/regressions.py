"""The chapter on regressions: curves, coefficients, and Tables III and IV against what Tables I and II give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cassbook import published
from cassbook.book import needs, palette
from cassbook.book.figure_style import OPERATIONS, done, panels
from cassbook.book.gaps import of_each
from cassbook.book.provenance import PUBLISHED, Source, check_served
from cassbook.core.consistency import LEVELS
from cassbook.core.units import US_PER_MS
from cassbook.latency import regression, reproduction
from cassbook.latency.mixing import mix_label
from cassbook.shown.tables import formatted


def curves(source: Source, order: int = 4) -> dict[tuple[str, str], regression.Fit]:
    """Return the polynomial through each series of a source, by operation and level."""
    needs.thread_counts(source, order + 1, "a curve of fourth order" if order == 4 else f"order {order}")  # noqa: PLR2004
    return regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)


def miss_values(source: Source) -> dict[str, float | int]:
    """Return the largest miss of a source's curves at their own points, in percent, and the threads."""
    curves(source)
    miss_percent, threads = regression.worst_miss(source.level_stats)
    return {"fit_miss": miss_percent, "fit_threads": threads}


def coefficients(sources: Sequence[Source], order: int = 4) -> pd.DataFrame:
    """Return the coefficients of equations (2) to (7) as each source's own measurements give them.

    The paper's measurements have two rows: the coefficients as it prints them, and those of the unrounded fit.
    """
    rows: dict[tuple[str, str, str], pd.Series] = {}
    for label, fitted_curves in of_each(sources, lambda source: curves(source, order)).items():
        ways = {label: fitted_curves}
        if label == PUBLISHED:
            ways = {"printed": regression.printed_fits(), "fitted to Tables I, II": fitted_curves}
        for way, fits in ways.items():
            for (operation, level), fitted in fits.items():
                powers = [f"x^{power}" for power in range(order, -1, -1)]
                rows[operation, level, way] = pd.Series(fitted.coefficients[::-1], powers)
    table = pd.DataFrame(rows).T.rename_axis(["operation", "level", "coefficients"])
    order_of = {level: place for place, level in enumerate(LEVELS)}
    return table.sort_index(
        level=["operation", "level"], key=lambda k: k.map(lambda v: order_of.get(v, v)), sort_remaining=False
    )


def coefficients_shown(sources: Sequence[Source], order: int = 4) -> pd.DataFrame:
    """Return `coefficients` with four digits."""
    return formatted(coefficients(sources, order), ".4g")


def table3_check(table: pd.DataFrame) -> pd.DataFrame:
    """Return `reproduction.table3` for readers: R² of the recomputed fits with six decimals."""
    return table.round(6).assign(agrees=table["agrees"].map({True: "yes", False: "no"}))


def printed_equations_check() -> pd.DataFrame:
    """Return `reproduction.table4` for readers: threads, read/write, setting, 'Table IV, us', and what each way is off
    by in percent.
    """
    table = reproduction.table4().round({"equations_percent": 3, "refit_percent": 3})
    mix = table["read_share"].map(mix_label)
    titles = {"latency_us": "Table IV, us", "equations_percent": "equations, %", "refit_percent": "refit, %"}
    return table.drop(columns="read_share").rename(columns=titles).assign(**{"read/write": mix})


def equations_at(table: pd.DataFrame, threads: Sequence[int]) -> pd.DataFrame:
    """Return the rows of `printed_equations_check` for 50/50 at some thread counts: index threads, setting.

    Raises
    ------
    InputError
        For a thread count that Table IV does not have, with those that it has.
    """
    even = table[table["read/write"] == mix_label(0.5)].drop(columns="read/write")
    for count in threads:
        check_served("threads", count, sorted({int(known) for known in even["threads"]}))
    return even[even["threads"].isin(threads)].set_index(["threads", "setting"])


def coefficient(operation: str, level: str, power: int, printed: bool = False) -> str:
    """Write one coefficient of equations (2) to (7), printed or of the unrounded fit, with two digits."""
    fits = regression.printed_fits() if printed else regression.predictors(regression.fit_all(published.level_stats()))
    return f"{fits[operation, level].coefficients[power]:.1E}"


def regression_curves(sources: Sequence[Source], order: int = 4) -> Figure:
    """Draw measured means and the polynomial through them, reads and writes, one column per source."""
    fitted = of_each(sources, lambda source: curves(source, order))
    shown = [source for source in sources if source.label in fitted]
    figure, axes = panels(2, len(shown), sharex=True, sharey="col")
    for column, source in enumerate(shown):
        fits = fitted[source.label]
        for row, (operation, word) in enumerate(OPERATIONS.items()):
            panel = axes[row, column]
            for level in (level for level in LEVELS if (operation, level) in fits):
                stats = source.level_stats
                group = stats[(stats["operation"] == operation) & (stats["level"] == level)]
                grid = np.linspace(group["threads"].min(), group["threads"].max(), 200)
                colour = palette.LEVELS[level]
                means_ms = group["latency_us"] / US_PER_MS
                panel.plot(group["threads"], means_ms, "o", markersize=4, color=colour, label=level)
                panel.plot(grid, fits[operation, level].predict(grid) / US_PER_MS, "-", linewidth=1.2, color=colour)
            panel.set_title(f"{source.label}: {word}")
            panel.set_ylim(bottom=0)
            panel.set_ylabel("mean latency, ms" if column == 0 else "")
            panel.set_xlabel("threads" if row == 1 else "")
    axes[0, 0].legend(title="level")
    return done(figure)
