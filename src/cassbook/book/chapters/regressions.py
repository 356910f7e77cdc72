"""Tables of the chapter on regressions: coefficients, misses, and Tables III and IV recomputed from Tables I and II."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cassbook import published
from cassbook.book.source import PUBLISHED, Source, check_served
from cassbook.core.consistency import LEVELS
from cassbook.latency import (
    mixing,
    regression,
)
from cassbook.latency.mixing import mix_label

_SHARES = (0.1, 0.3, 0.5, 0.9)
_KEYS = ["setting", "read_share", "threads"]


def coefficients(sources: Sequence[Source], order: int = 4) -> pd.DataFrame:
    """Return the coefficients of equations (2) to (7) as each source's own measurements give them, four digits.

    The paper's measurements have two rows: the coefficients as it prints them, and those of the unrounded fit.
    """
    rows: dict[tuple[str, str, str], pd.Series] = {}
    for source in sources:
        ways = {source.label: regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)}
        if source.label == PUBLISHED:
            ways = {"printed": regression.printed_fits(), "fitted to Tables I, II": ways[source.label]}
        for way, fits in ways.items():
            for (operation, level), fitted in fits.items():
                texts = [f"{c:.4g}" for c in fitted.coefficients[::-1]]
                rows[operation, level, way] = pd.Series(texts, [f"x^{power}" for power in range(order, -1, -1)])
    table = pd.DataFrame(rows).T.rename_axis(["operation", "level", "coefficients"])
    order_of = {level: place for place, level in enumerate(LEVELS)}
    return table.sort_index(
        level=["operation", "level"], key=lambda k: k.map(lambda v: order_of.get(v, v)), sort_remaining=False
    )


def worst_fit(source: Source, order: int = 4) -> tuple[float, int]:
    """Return the largest miss of a source's own regressions at its own points: percent of the measured mean, and the
    threads.
    """
    fits = regression.predictors(regression.fit_all(source.level_stats, orders=(order,)), order)
    stats = source.level_stats
    keys = zip(stats["operation"], stats["level"], stats["threads"], strict=True)
    fitted = np.array([fits[operation, level].predict(float(threads)) for operation, level, threads in keys])
    off_percent = np.abs(fitted / stats["latency_us"].to_numpy() - 1) * 100
    return float(off_percent.max()), int(stats["threads"].iloc[int(off_percent.argmax())])


def table3_check() -> pd.DataFrame:
    """Compare Table III as printed with R² of the same fits to Tables I and II.

    Returns
    -------
    DataFrame
        Index operation, level, model; printed, recomputed (six decimals), agrees ('yes' where the recomputed value
        rounds to the printed four digits).
    """
    printed = published.table("g20_table3").set_index(["operation", "level", "model"])["r_squared"]
    fits = regression.fit_all(published.level_stats()).set_index(["operation", "level", "model"])["r_squared"]
    table = pd.DataFrame({"printed": printed, "recomputed": fits.reindex(printed.index)})
    agrees = (table["recomputed"].round(4) - table["printed"]).abs() < 1e-9  # noqa: PLR2004 - both have four digits
    return table.round(6).assign(agrees=np.where(agrees, "yes", "no"))


def printed_equations_check() -> pd.DataFrame:
    """Return Table IV three ways: printed, by equations (2) to (7) as printed, by a fit whose coefficients are not
    rounded.

    Returns
    -------
    DataFrame
        threads, read/write, setting, Table IV (us), then what each way is off by in percent.
    """
    stats = published.level_stats()
    threads = sorted(stats["threads"].unique())
    ways = {
        "equations": mixing.estimates(regression.printed_fits(), threads, _SHARES),
        "refit": mixing.estimates(regression.predictors(regression.fit_all(stats)), threads, _SHARES),
    }
    table = published.mixed_estimates().rename(columns={"latency_us": "Table IV, us"})
    for name, estimates in ways.items():
        table = table.merge(estimates.rename(columns={"latency_us": name}), on=_KEYS)
        off = (table[name] - table["Table IV, us"]) / table["Table IV, us"] * 100
        table = table.drop(columns=name).assign(**{f"{name}, %": off.round(3)})
    mix = table["read_share"].map(mix_label)
    return table.drop(columns="read_share").assign(**{"read/write": mix})


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
