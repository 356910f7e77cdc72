"""Formulas (2), (3) and (4) of the thesis, fitted to our records in every reading of what they leave open.

Each regression comes with what a reader needs to judge it: residuals, variance inflation, bootstrap intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.diagnostic import het_breuschpagan
from statsmodels.stats.outliers_influence import variance_inflation_factor
from statsmodels.stats.stattools import jarque_bera
from statsmodels.tools.tools import add_constant

from cassbook import published
from cassbook.core.errors import InputError, LackingError
from cassbook.core.types import Floats

CONSTANT = "constant"
RESAMPLES = 2000
_SEED = 20220503
_TAILS = (0.025, 0.975)
#: Variables of formula (2), as the thesis defines them.
WRITE_CONSISTENCY = ("write_replicas", ("read_us", "write_us", "threads", "write_share"))
#: What X1 to X3 of formulas (3) and (4) may be: each formula's dependent, and what is left to explain it.
_DEPENDENT = {"3": "read_us", "4": "write_us"}
_CANDIDATES = {
    "3": ("write_replicas", "threads", "write_share", "write_us"),
    "4": ("write_replicas", "threads", "write_share", "read_us"),
}
#: The reading we take: formula (2)'s variables in order, the two latencies replaced by the consistency measure.
READING = ("write_replicas", "threads", "write_share")
TITLES = {
    "read_us": "read latency",
    "write_us": "write latency",
    "threads": "threads",
    "write_share": "proportion of writes",
    "write_replicas": "write consistency",
    CONSTANT: CONSTANT,
}


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """A least squares plane, and how sure it is.

    Attributes
    ----------
    table : DataFrame
        Index term ('constant', then the variables); coefficient, standard_error, t, p, low, high (95 %, normal theory),
        bootstrap_low, bootstrap_high (95 %, percentiles over resampled groups), vif (NaN for the constant).
    r_squared, adjusted_r_squared, f_p : float
        f_p is the p-value of all slopes being zero.
    residuals, fitted : ndarray, shape (n,)
    breusch_pagan_p, jarque_bera_p : float
        P-values of residuals of equal variance, and of normal residuals.
    n : int
    """

    table: pd.DataFrame
    r_squared: float
    adjusted_r_squared: float
    f_p: float
    residuals: Floats
    fitted: Floats
    breusch_pagan_p: float
    jarque_bera_p: float
    n: int

    @property
    def coefficients(self) -> pd.Series:
        """Column coefficient of `table`, by term."""
        return self.table["coefficient"]


def regress(data: pd.DataFrame, y: str, x: Sequence[str], groups: Sequence[str]) -> Regression:
    """Fit y over the columns x.

    Parameters
    ----------
    data : DataFrame
    y : str
    x : sequence of str
    groups : sequence of str
        Columns whose values rows of one workload share: the bootstrap draws workloads, not rows, since the rows of one
        are not independent.

    Raises
    ------
    InputError
        For fewer rows than terms, or a variable that does not vary.
    """
    names = list(x)
    flat = [name for name in (y, *names) if data[name].nunique() < 2]  # noqa: PLR2004 - varies or not
    if flat:
        raise LackingError(f"{', '.join(flat)}: does not vary, so nothing can be regressed on it")
    design = add_constant(data[names].astype(float)).rename(columns={"const": CONSTANT})
    if len(data) <= len(names) + 1:
        raise LackingError(f"{len(data)} rows are too few for {len(names)} variables and a constant")
    fit = OLS(data[y].astype(float), design).fit()
    bounds = fit.conf_int()
    matrix = design.to_numpy()
    inflation = [np.nan, *(variance_inflation_factor(matrix, place) for place in range(1, matrix.shape[1]))]
    low, high = _bootstrap(
        matrix, data[y].to_numpy(dtype=float), data.groupby(list(groups)).ngroup().to_numpy(dtype=np.int64)
    )
    table = pd.DataFrame(
        {
            "coefficient": fit.params, "standard_error": fit.bse, "t": fit.tvalues, "p": fit.pvalues,
            "low": bounds[0], "high": bounds[1], "bootstrap_low": low, "bootstrap_high": high, "vif": inflation,
        }
    ).rename_axis("term")  # fmt: skip
    return Regression(
        table,
        float(fit.rsquared),
        float(fit.rsquared_adj),
        float(fit.f_pvalue),
        np.asarray(fit.resid, dtype=float),
        np.asarray(fit.fittedvalues, dtype=float),
        float(het_breuschpagan(fit.resid, matrix)[1]),
        float(jarque_bera(fit.resid)[1]),
        len(data),
    )


def _bootstrap(matrix: Floats, y: Floats, group: NDArray[np.integer[Any]]) -> tuple[Floats, Floats]:
    """Percentile bounds of the coefficients over resampled groups.

    The normal equations of a resample are sums of those of its groups, so all resamples are solved in one step.
    """
    count = int(group.max()) + 1
    squares = np.zeros((count, matrix.shape[1], matrix.shape[1]))
    products = np.zeros((count, matrix.shape[1]))
    np.add.at(squares, group, matrix[:, :, None] * matrix[:, None, :])
    np.add.at(products, group, matrix * y[:, None])
    drawn = np.random.default_rng(_SEED).multinomial(count, np.full(count, 1 / count), size=RESAMPLES).astype(float)
    left: Any = np.einsum("rg,gij->rij", drawn, squares)
    right = drawn @ products
    solved = (np.linalg.pinv(left, hermitian=True) @ right[..., None])[..., 0]
    low, high = np.quantile(solved, _TAILS, axis=0)
    return low, high


def _unit(values: pd.Series) -> pd.Series:
    return (values - values.min()) / (values.max() - values.min())


#: Readings of 'compressed' (section 4.4.1), how the thesis may have brought its variables to one scale, by what tables
#: call them; the first is the reading we take, for its name says most about 'the same scale'.
SCALES: dict[str, Callable[[pd.Series], pd.Series]] = {
    "0 to 1": _unit,
    "by greatest": lambda values: values / values.max(),
    "z-scores": lambda values: (values - values.mean()) / values.std(ddof=1),
    "logarithms, 0 to 1": lambda values: _unit(np.log1p(values - min(0.0, float(values.min())))),
    "as they are": lambda values: values,
}


def scaled(records: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Bring every variable of the records to one scale.

    Parameters
    ----------
    records : DataFrame
        From `records.records`.
    scale : str
        A key of `SCALES`.

    Returns
    -------
    DataFrame
        The variables, under their names, and read_share and threads_count to tell workloads apart.

    Raises
    ------
    InputError
        For an unknown scale.
    """
    if scale not in SCALES:
        raise InputError(f"scale: {scale!r} is unknown; use one of {', '.join(SCALES)}")
    names = [name for name in TITLES if name != CONSTANT]
    columns = {name: SCALES[scale](records[name].astype(float)) for name in names}
    return pd.DataFrame(columns).assign(read_share=records["read_share"], threads_count=records["threads"])


def formula(records: pd.DataFrame, equation: str, scale: str, variables: tuple[str, ...] | None = None) -> Regression:
    """Fit one of the formulas.

    Parameters
    ----------
    records : DataFrame
        From `records.records`.
    equation : str
        '2', '3' or '4'.
    scale : str
        A key of `SCALES`.
    variables : tuple of str, optional
        X1, X2, ... in order. By default those the thesis gives for (2), and `READING` for (3) and (4).

    Raises
    ------
    InputError
        For an unknown scale, or records that do not vary.
    """
    y, x = WRITE_CONSISTENCY if equation == "2" else (_DEPENDENT[equation], READING)
    return regress(scaled(records, scale), y, variables or x, ["read_share", "threads_count"])


def printed(equation: str) -> pd.Series:
    """Coefficients as printed, by term: 'constant', 'X1', ..."""
    table = published.table("thesis_equations")
    terms = table[table["equation"].astype(str) == equation]
    return terms.set_index("term")["coefficient"].astype(float)


def with_printed(records: pd.DataFrame, equation: str, scale: str) -> pd.DataFrame:
    """Return the table of a `Regression`, index term in words, with a first column of printed coefficients."""
    table = formula(records, equation, scale).table
    numbers = printed(equation).to_numpy()
    return table.assign(printed=numbers).rename(index=TITLES)[["printed", *table.columns]]


def over_scales(records: pd.DataFrame, equation: str) -> pd.DataFrame:
    """Coefficients of a formula on every scale, next to those printed, and how many signs agree.

    Returns
    -------
    DataFrame
        Index 'printed' and the scales; columns terms in words, r_squared and signs_agree (of how many slopes; both
        NaN for the printed).
    """
    numbers = printed(equation)
    rows = {}
    for scale in SCALES:
        fit = formula(records, equation, scale)
        slopes = fit.coefficients.to_numpy()[1:]
        agree = int((np.sign(slopes) == np.sign(numbers.to_numpy()[1:])).sum())
        named = fit.coefficients.rename(TITLES).to_dict()
        rows[scale] = named | {"r_squared": fit.r_squared, "signs_agree": agree}
    first = dict(zip(rows["0 to 1"], numbers, strict=False)) | {"r_squared": np.nan, "signs_agree": np.nan}
    return pd.DataFrame({"printed": first} | rows).T


def readings(records: pd.DataFrame, equation: str, scale: str) -> pd.DataFrame:
    """Formula (3) or (4) with X1 to X3 taken for any three of what they may be, in any order.

    Parameters
    ----------
    records : DataFrame
    equation : str
        '3' or '4'.
    scale : str

    Returns
    -------
    DataFrame
        Index X1, X2, X3 in words; columns constant, b1, b2, b3, r_squared, signs_agree (of the three slopes) and
        distance (Euclidean, from the printed coefficients, constant included); the nearest first.
    """
    numbers = printed(equation).to_numpy()
    rows = {}
    for variables in permutations(_CANDIDATES[equation], 3):
        fit = formula(records, equation, scale, variables)
        values = fit.coefficients.to_numpy()
        agree = int((np.sign(values[1:]) == np.sign(numbers[1:])).sum())
        distance = float(np.linalg.norm(values - numbers))
        rows[tuple(TITLES[name] for name in variables)] = (*values, fit.r_squared, agree, distance)
    columns = ["constant", "b1", "b2", "b3", "r_squared", "signs_agree", "distance"]
    index = pd.MultiIndex.from_tuples(list(rows), names=["X1", "X2", "X3"])
    return pd.DataFrame(list(rows.values()), index=index, columns=columns).sort_values("distance", kind="stable")
