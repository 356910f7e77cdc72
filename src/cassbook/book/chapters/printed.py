"""The printed tables held against each other: can the paper's own numbers give the paper's own numbers?

Verdicts on every claim are another matter; this is what Tables III, IV and V say of themselves.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook import published
from cassbook.book.chapters.tables import by_workload
from cassbook.latency import mixing, regression, validation

_SHARES = (0.1, 0.3, 0.5, 0.9)
_KEYS = ["setting", "read_share", "threads"]


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
    """Table IV three ways: printed, by equations (2) to (7) as printed, by a fit whose coefficients are not rounded.

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
    mix = table["read_share"].map(lambda s: f"{100 * s:.0f}/{100 - 100 * s:.0f}")
    return table.drop(columns="read_share").assign(**{"read/write": mix})


def coefficient(operation: str, level: str, power: int, printed: bool = False) -> str:
    """Write one coefficient of equations (2) to (7), printed or of the unrounded fit, with two digits."""
    fits = regression.printed_fits() if printed else regression.predictors(regression.fit_all(published.level_stats()))
    return f"{fits[operation, level].coefficients[power]:.1E}"


def average_slowdown(operation: str, level: str) -> int:
    """Mean latency slowdown in percent of ONE that the last row of Table I (reads) or II (writes) prints."""
    table = published.table("g20_table1_averages" if operation == "READ" else "g20_table2_averages")
    return int(table.loc[table["level"] == level, "latency_slowdown_percent"].iloc[0])


def table5_printed() -> pd.DataFrame:
    """Table V as printed, the underlined cells (least measured delay) marked by an asterisk."""
    table = published.table("g20_table5")
    text = table["deviation_percent"].map("{:+.1f}".format)
    marked = text.where(~table["underlined"], text + " *")
    return by_workload(table.assign(deviation=marked), "deviation", "{}", least=False)


def table5_origin() -> pd.DataFrame:
    """Compare Table V with what remains of Tables I and II after the fits: no mixed workload enters.

    The 'measured' delay is the mix of the pure means (equations 8 to 10 on Tables I and II), the estimate is
    Table IV's, the deviation (measured - estimated) / measured.

    Returns
    -------
    DataFrame
        'reads, %', threads, setting, printed, residual, difference (percentage points), agrees (the residual rounds
        to the printed digit).
    """
    mixed = validation.mixed_from_pure(published.level_stats(), list(_SHARES))
    pairs = published.mixed_estimates().merge(mixed, on=_KEYS, suffixes=("", "_pure"))
    pairs = pairs.merge(published.table("g20_table5"), on=_KEYS)
    residual = (pairs["latency_us_pure"] - pairs["latency_us"]) / pairs["latency_us_pure"] * 100
    difference = residual - pairs["deviation_percent"]
    return pd.DataFrame(
        {
            "reads, %": (100 * pairs["read_share"]).round().astype(int),
            "threads": pairs["threads"],
            "setting": pairs["setting"],
            "printed": pairs["deviation_percent"],
            "residual": residual,
            "difference": difference,
            "agrees": (residual.round(1) - pairs["deviation_percent"]).abs() < 0.05,  # noqa: PLR2004 - half a digit
        }
    )
