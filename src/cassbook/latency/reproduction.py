"""Tables III to V of Gorbenko 2020 again, from its Tables I and II as this package fits and mixes them.

Here a number agrees if it rounds to the printed one. Whether the rounding of what is printed leaves room for it, the
claims on that paper say, with intervals.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook import published
from cassbook.latency import mixing, regression, validation

_KEYS = ["setting", *mixing.WORKLOAD]
_COLUMN = ["operation", "level", "model"]
#: Half of the last digit that Table V prints, percent.
_HALF_DIGIT = 0.05


def table3() -> pd.DataFrame:
    """Compare Table III with R² of the same fits to Tables I and II.

    Returns
    -------
    DataFrame
        Index operation, level, model; printed, recomputed, agrees (the recomputed value rounds to the printed four
        digits).
    """
    printed = published.table("g20_table3").set_index(_COLUMN)["r_squared"]
    fits = regression.fit_all(published.level_stats()).set_index(_COLUMN)["r_squared"]
    table = pd.DataFrame({"printed": printed, "recomputed": fits.reindex(printed.index)})
    return table.assign(agrees=np.isclose(table["recomputed"].round(4), table["printed"], rtol=0, atol=1e-9))


def table4() -> pd.DataFrame:
    """Compare Table IV with equations (2) to (7) as printed, and with a fit whose coefficients are not rounded.

    Returns
    -------
    DataFrame
        threads, read_share, setting, latency_us (Table IV), equations_percent and refit_percent (what each way is off
        by).
    """
    table = published.mixed_estimates()
    threads, shares = (sorted(table[name].unique()) for name in ("threads", "read_share"))
    refit = regression.predictors(regression.fit_all(published.level_stats()))
    for name, predictors in {"equations": regression.printed_fits(), "refit": refit}.items():
        estimates = mixing.estimates(predictors, threads, shares).rename(columns={"latency_us": name})
        table = table.merge(estimates, on=_KEYS)
        off = (table[name] - table["latency_us"]) / table["latency_us"] * 100
        table = table.drop(columns=name).assign(**{f"{name}_percent": off})
    return table


def table5() -> pd.DataFrame:
    """Compare Table V with what remains of Tables I and II after the fits: no mixed workload enters.

    The 'measured' delay is the mix of the pure means (equations 8 to 10 on Tables I and II), the estimate is
    Table IV's, the deviation (measured - estimated) / measured.

    Returns
    -------
    DataFrame
        setting, read_share, threads, printed, residual, difference (percentage points), agrees (the residual rounds
        to the printed digit).
    """
    estimates, printed = published.mixed_estimates(), published.table("g20_table5")
    pure = validation.mixed_from_pure(published.level_stats(), sorted(printed["read_share"].unique()))
    both = validation.deviations(estimates, pure).merge(printed, on=_KEYS, suffixes=("_found", ""))
    residual = both["deviation_percent_found"]
    return both[_KEYS].assign(
        printed=both["deviation_percent"],
        residual=residual,
        difference=residual - both["deviation_percent"],
        agrees=(residual.round(1) - both["deviation_percent"]).abs() < _HALF_DIGIT,
    )
