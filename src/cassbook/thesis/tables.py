"""Tables of the chapter on the thesis."""

from __future__ import annotations

import pandas as pd

from cassbook.thesis import choosing, formulas

_DIGITS = {
    "printed": "{:.4f}", "coefficient": "{:.4f}", "standard_error": "{:.4f}", "t": "{:.1f}", "p": "{:.3f}",
    "vif": "{:.1f}",
}  # fmt: skip


def regression(records: pd.DataFrame, equation: str, scale: str = "0 to 1") -> pd.DataFrame:
    """Full regression table of a formula, printed coefficients in front.

    Returns
    -------
    DataFrame of str
        Index term; columns printed, coefficient, standard error, t, p, '95 %' (normal theory), 'bootstrap' (95 %), VIF.
    """
    table = formulas.beside(records, equation, scale)
    shown = {name: table[name].map(spec.format).replace("nan", "") for name, spec in _DIGITS.items()}
    for title, prefix in (("95 %", ""), ("bootstrap", "bootstrap_")):
        bounds = zip(table[f"{prefix}low"], table[f"{prefix}high"], strict=True)
        shown[title] = pd.Series([f"[{low:.3f}, {high:.3f}]" for low, high in bounds], table.index)
    found = pd.DataFrame(shown).rename(columns={"standard_error": "standard error", "vif": "VIF"})
    return found[["printed", "coefficient", "standard error", "t", "p", "95 %", "bootstrap", "VIF"]]


def fits(records: pd.DataFrame, scale: str = "0 to 1") -> pd.DataFrame:
    """How well each formula fits, and whether its residuals are what least squares takes them for.

    Returns
    -------
    DataFrame of str
        Index formula; columns R², adjusted R², 'all slopes zero, p', 'equal variance, p' (Breusch-Pagan), 'normal, p'
        (Jarque-Bera), records.
    """
    rows = {}
    for equation in ("2", "3", "4"):
        found = formulas.formula(records, equation, scale)
        rows[f"({equation})"] = {
            "R²": f"{found.r_squared:.3f}",
            "adjusted R²": f"{found.adjusted_r_squared:.3f}",
            "all slopes zero, p": f"{found.f_p:.1e}",
            "equal variance, p": f"{found.breusch_pagan_p:.1e}",
            "normal, p": f"{found.jarque_bera_p:.1e}",
            "records": str(found.n),
        }
    return pd.DataFrame(rows).T.rename_axis("formula")


def scales(records: pd.DataFrame, equation: str) -> pd.DataFrame:
    """A formula on every scale that 'compressed' may mean, beside the printed one."""
    table = formulas.over_scales(records, equation)
    numbers = [name for name in table.columns if name != "signs_agree"]
    shown = table[numbers].map(lambda value: "" if pd.isna(value) else f"{value:.3g}")
    return shown.assign(**{"slopes of the printed sign": table["signs_agree"]}).rename(columns={"r_squared": "R²"})


def readings(records: pd.DataFrame, equation: str, scale: str = "0 to 1", most: int = 6) -> pd.DataFrame:
    """Readings of formula (3) or (4) nearest to the printed coefficients."""
    table = formulas.readings(records, equation, scale).head(most)
    return table.round(3).rename(
        columns={"r_squared": "R²", "signs_agree": "signs", "distance": "distance from printed"}
    )


def choices(records: pd.DataFrame, scale: str = "0 to 1") -> pd.DataFrame:
    """How often each method names the best setting of thread counts it has not seen.

    Returns
    -------
    DataFrame of str
        Index method; columns right, '95 %' (Wilson), 'mean regret, %', 'worst, %'.
    """
    table = choosing.judge(records, scale)
    shares = table["right"]
    return pd.DataFrame(
        {
            "right": [f"{share.right} of {share.total}" for share in shares],
            "95 %": [f"{share.interval.low:.0%} to {share.interval.high:.0%}" for share in shares],
            "mean regret, %": table["regret_percent"].map("{:.1f}".format),
            "worst, %": table["worst_percent"].map("{:.0f}".format),
        },
        index=table.index,
    )
