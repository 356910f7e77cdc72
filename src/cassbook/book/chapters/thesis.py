"""Tables of the chapter on the thesis."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook.book.paper_tables import signs, starred
from cassbook.book.provenance import Source
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import bounds_text
from cassbook.thesis import best_setting, formulas
from cassbook.thesis.records import LATENCIES, counted

_DIGITS = {
    "printed": "{:.4f}", "coefficient": "{:.4f}", "standard_error": "{:.4f}", "t": "{:.1f}", "p": "{:.3f}",
    "vif": "{:.1f}",
}  # fmt: skip


_ZERO = 1e-12


def findings(records: pd.DataFrame) -> pd.DataFrame:
    """Return in how many workloads what section 4.3.2 finds holds here: text as '3 of 12', one row per finding.

    It does not say whether it counts all requests, or its reads or writes; so each is counted, in a column of its own.
    """
    table = counted(records)
    table["of"] = table["right"].astype(str) + " of " + table["total"].astype(str)
    by = table.pivot_table("of", "words", "latency", aggfunc="first", sort=False)
    return by.rename(columns=LATENCIES)[list(LATENCIES.values())].rename_axis("finding").rename_axis(columns=None)


def regression(records: pd.DataFrame, equation: str, scale: str = "0 to 1") -> pd.DataFrame:
    """Return the full regression table of a formula, printed coefficients in front.

    Returns
    -------
    DataFrame of str
        Index term; columns printed, coefficient, standard error, t, p, '95 %' (normal theory), 'bootstrap' (95 %), VIF.
    """
    table = formulas.with_printed(records, equation, scale)
    shown = {name: table[name].map(spec.format).replace("nan", "") for name, spec in _DIGITS.items()}
    for title, prefix in (("95 %", ""), ("bootstrap", "bootstrap_")):
        bounds = zip(table[f"{prefix}low"], table[f"{prefix}high"], strict=True)
        shown[title] = pd.Series([f"[{low:.3f}, {high:.3f}]" for low, high in bounds], table.index)
    formatted = pd.DataFrame(shown).rename(columns={"standard_error": "standard error", "vif": "VIF"})
    return formatted[["printed", "coefficient", "standard error", "t", "p", "95 %", "bootstrap", "VIF"]]


def fits(records: pd.DataFrame, scale: str = "0 to 1") -> pd.DataFrame:
    """Return how well each formula fits, and whether its residuals are what least squares takes them for.

    Returns
    -------
    DataFrame of str
        Index formula; columns R², adjusted R², 'all slopes zero, p', 'equal variance, p' (Breusch-Pagan), 'normal, p'
        (Jarque-Bera), records.
    """
    rows = {}
    for equation in ("2", "3", "4"):
        fit = formulas.formula(records, equation, scale)
        rows[f"({equation})"] = {
            "R²": f"{fit.r_squared:.3f}",
            "adjusted R²": f"{fit.adjusted_r_squared:.3f}",
            "all slopes zero, p": f"{fit.f_p:.1e}",
            "equal variance, p": f"{fit.breusch_pagan_p:.1e}",
            "normal, p": f"{fit.jarque_bera_p:.1e}",
            "records": str(fit.n),
        }
    return pd.DataFrame(rows).T.rename_axis("formula")


def maxima(source: Source) -> dict[str, str]:
    """Return the greatest throughput by operation and level, and at how many thread counts ALL is the slowest level.

    Returns
    -------
    dict of str
        read_one, ..., write_all (requests a second), all_slowest ('n of m', over both operations).
    """
    stats = source.level_stats
    most = stats.groupby(["operation", "level"], as_index=False)["throughput_per_s"].max()
    columns = (most[name] for name in ("operation", "level", "throughput_per_s"))
    quoted = {f"{op}_{level}".lower(): f"{value:,.0f}" for op, level, value in zip(*columns, strict=True)}
    slowest = stats.pivot_table("latency_us", ["operation", "threads"], "level").idxmax(axis=1)
    return quoted | {"all_slowest": f"{(slowest == 'ALL').sum()} of {len(slowest)}"}


def reading_words(records: pd.DataFrame) -> dict[str, str]:
    """Return the reading of formulas (3) and (4) nearest to the print, and how far it is: nearest_3, distance_3, ..."""
    quoted = {}
    for equation in ("3", "4"):
        table = formulas.readings(records, equation, "0 to 1")
        quoted[f"nearest_{equation}"] = ", ".join(table.index[0])
        quoted[f"distance_{equation}"] = f"{table['distance'].iloc[0]:.2f}"
    return quoted


#: Methods of `best_setting.judge` that prose quotes.
_QUOTED = {
    "formula": "formula (2), all records",
    "best": "formula (2), best records only",
    "context": "threads and share of writes only, best records",
    "latencies": "latency of each setting, then the least",
    "trivial": "always the most frequent best",
}


def choice_words(records: pd.DataFrame) -> dict[str, str]:
    """Return what prose quotes of `choices`: formula_right, formula_regret, ..."""
    table = choices(records)
    columns = {"right": "right", "regret": "mean regret, %"}
    return {
        f"{name}_{word}": str(table.loc[method, column])
        for name, method in _QUOTED.items()
        for word, column in columns.items()
    }


def scales(records: pd.DataFrame, equation: str) -> pd.DataFrame:
    """Return a formula on every scale that 'compressed' may mean, next to the printed one."""
    table = formulas.over_scales(records, equation)
    numbers = [name for name in table.columns if name != "signs_agree"]
    # What is zero by construction (the constant of z-scores) comes out as rounding errors, other ones elsewhere.
    shown = table[numbers].map(lambda value: "" if pd.isna(value) else f"{value if abs(value) > _ZERO else 0:.3g}")
    return shown.assign(**{"slopes of the printed sign": table["signs_agree"]}).rename(columns={"r_squared": "R²"})


def readings(records: pd.DataFrame, equation: str, scale: str = "0 to 1", most: int = 6) -> pd.DataFrame:
    """Return readings of formula (3) or (4) nearest to the printed coefficients."""
    table = formulas.readings(records, equation, scale).head(most)
    return table.round(3).rename(
        columns={"r_squared": "R²", "signs_agree": "signs", "distance": "distance from printed"}
    )


def choices(records: pd.DataFrame, scale: str = "0 to 1") -> pd.DataFrame:
    """Return how often each method names the best setting of thread counts it has not seen.

    Returns
    -------
    DataFrame of str
        Index method; columns right, '95 %' (binomial), 'mean regret, %', 'worst, %'.
    """
    table = best_setting.judge(records, scale)
    shares = table["right"]
    return pd.DataFrame(
        {
            "right": [f"{share.right} of {share.total}" for share in shares],
            "95 %": [_between(share.interval) for share in shares],
            "mean regret, %": table["regret_percent"].map("{:.1f}".format),
            "worst, %": table["worst_percent"].map("{:.0f}".format),
        },
        index=table.index,
    )


def _between(share: Estimate) -> str:
    if share.value in {0.0, 1.0}:
        return f"{bounds_text(share, digits=0)} %"
    return f"{share.low:.0%} to {share.high:.0%}"


def mix_table(means: pd.DataFrame, read_share: float) -> pd.DataFrame:
    """Return Tables 4.3 to 4.7: read and write latency of one mix in us, by threads and setting; the lowest of each
    starred.

    Parameters
    ----------
    found : DataFrame
        From `records`.
    read_share : float

    Returns
    -------
    DataFrame of str
        Index threads; columns (READ or WRITE, setting).

    Raises
    ------
    InputError
        If that mix was not measured.
    """
    mix = means[np.isclose(means["read_share"], read_share)]
    if mix.empty:
        raise InputError(f"no mix of {read_share:.0%} reads was measured")
    parts = {}
    for operation, column in (("READ", "read_us"), ("WRITE", "write_us")):
        parts[operation] = starred(mix.pivot_table(column, "threads", "setting"))
    behind = mix.assign(signs=signs(mix)).pivot_table("signs", "threads", "setting", aggfunc="first")
    return pd.concat({operation: text + behind for operation, text in parts.items()}, axis=1)
