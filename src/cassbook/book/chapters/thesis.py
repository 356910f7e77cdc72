"""Tables of the chapter on the thesis."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cassbook.book.paper_tables import signs, starred
from cassbook.book.provenance import Source
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import bounds_text
from cassbook.shown.tables import Format, titled
from cassbook.thesis import best_setting, formulas
from cassbook.thesis.records import LATENCIES, counted

#: What is zero by construction (the constant of z-scores) comes out as rounding errors, other ones elsewhere.
_ZERO = 1e-12


def findings_shown(records: pd.DataFrame) -> pd.DataFrame:
    """Return in how many workloads what section 4.3.2 finds holds here, as '3 of 12': `counted` in words.

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
    both = {"95 %": ("low", "high"), "bootstrap": ("bootstrap_low", "bootstrap_high")}
    columns: dict[str, tuple[str, Format]] = {
        "printed": ("printed", ".4f"), "coefficient": ("coefficient", ".4f"),
        "standard_error": ("standard error", ".4f"), "t": ("t", ".1f"), "p": ("p", ".3f"),
        **{title: (title, "[{0[0]:.3f}, {0[1]:.3f}]".format) for title in both}, "vif": ("VIF", ".1f"),
    }  # fmt: skip
    bounds = {
        title: pd.Series(list(zip(table[low], table[high], strict=True)), table.index)
        for title, (low, high) in both.items()
    }
    return titled(table.assign(**bounds), columns)


def fits_shown(records: pd.DataFrame, scale: str = "0 to 1") -> pd.DataFrame:
    """Return `fits` in words."""
    columns: dict[str, tuple[str, Format]] = {
        "r_squared": ("R²", ".3f"), "adjusted_r_squared": ("adjusted R²", ".3f"), "f_p": ("all slopes zero, p", ".1e"),
        "breusch_pagan_p": ("equal variance, p", ".1e"), "jarque_bera_p": ("normal, p", ".1e"), "n": ("records", ".0f"),
    }  # fmt: skip
    return titled(fits(records, scale), columns)


def fits(records: pd.DataFrame, scale: str = "0 to 1") -> pd.DataFrame:
    """Return how well each formula fits, and whether its residuals are what least squares takes them for.

    Returns
    -------
    DataFrame
        Index formula; columns r_squared, adjusted_r_squared, f_p (of all slopes being zero), breusch_pagan_p (of equal
        variance), jarque_bera_p (of normal residuals), n (records).
    """
    columns = ["r_squared", "adjusted_r_squared", "f_p", "breusch_pagan_p", "jarque_bera_p", "n"]
    rows = {}
    for equation in ("2", "3", "4"):
        fit = formulas.formula(records, equation, scale)
        rows[f"({equation})"] = {name: getattr(fit, name) for name in columns}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("formula")


def maxima(source: Source) -> dict[str, object]:
    """Return the greatest throughput by operation and level, and at how many thread counts ALL is the slowest level.

    Returns
    -------
    dict
        read_one, ..., write_all (requests a second), all_slowest ('n of m', over both operations).
    """
    stats = source.level_stats
    most = stats.groupby(["operation", "level"], as_index=False)["throughput_per_s"].max()
    columns = (most[name] for name in ("operation", "level", "throughput_per_s"))
    quoted = {f"{op}_{level}".lower(): float(round(value)) for op, level, value in zip(*columns, strict=True)}
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
    terms = [name for name in table.columns if name not in {"signs_agree", "r_squared"}]
    slopes = len(terms) - 1
    columns: dict[str, tuple[str, Format]] = {
        **{name: (name, _coefficient) for name in terms}, "r_squared": ("R²", _coefficient),
        "signs_agree": ("slopes of the printed sign", lambda agree: f"{agree:.0f} of {slopes}"),
    }  # fmt: skip
    return titled(table, columns)


def _coefficient(value: float) -> str:
    return f"{value if abs(value) > _ZERO else 0:.3g}"


def readings(records: pd.DataFrame, equation: str, scale: str = "0 to 1", most: int = 6) -> pd.DataFrame:
    """Return readings of formula (3) or (4) nearest to the printed coefficients."""
    table = formulas.readings(records, equation, scale).head(most)
    return table.round(3).rename(
        columns={"r_squared": "R²", "signs_agree": "signs", "distance": "distance from printed"}
    )


def choices(records: pd.DataFrame, scale: str = "0 to 1") -> pd.DataFrame:
    """Return how often each method names the best setting of thread counts it has not seen: `best_setting.judge` in
    words.
    """
    table = best_setting.judge(records, scale)
    columns: dict[str, tuple[str, Format]] = {
        "right": ("right", lambda share: f"{share.right} of {share.total}"),
        "interval": ("95 %", _between),
        "regret_percent": ("mean regret, %", ".1f"), "worst_percent": ("worst, %", ".0f"),
    }  # fmt: skip
    return titled(table.assign(interval=table["right"].map(lambda share: share.interval)), columns)


def _between(share: Estimate) -> str:
    if share.value in {0.0, 1.0}:
        return f"{bounds_text(share, digits=0)} %"
    return f"{share.low:.0%} to {share.high:.0%}"


def mix_table(means: pd.DataFrame, read_share: float) -> pd.DataFrame:
    """Return Tables 4.3 to 4.7: read and write latency of one mix by threads and setting.

    Parameters
    ----------
    means : DataFrame
        From `thesis.records.records`.
    read_share : float

    Returns
    -------
    DataFrame
        Index threads; columns (read_us, setting), (write_us, setting) and (marks, setting).

    Raises
    ------
    InputError
        If that mix was not measured.
    """
    mix = means[np.isclose(means["read_share"], read_share)]
    if mix.empty:
        raise InputError(f"no mix of {read_share:.0%} reads was measured")
    by_place = mix.set_index(["threads", "setting"])
    names = ["read_us", "write_us", "marks"]
    return pd.concat({name: by_place[name].unstack("setting") for name in names}, axis=1)  # noqa: PD010


def mix_table_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `mix_table` in words, in us: the lowest of each operation starred, `signs` of marks behind."""
    behind = pd.DataFrame(table["marks"]).apply(signs)
    parts = {"READ": "read_us", "WRITE": "write_us"}
    words = {operation: starred(pd.DataFrame(table[name])) for operation, name in parts.items()}
    return pd.concat({operation: text + behind for operation, text in words.items()}, axis=1)
