"""Multiple regression, with what a reader needs to judge it: residuals, variance inflation, bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.diagnostic import het_breuschpagan
from statsmodels.stats.outliers_influence import variance_inflation_factor
from statsmodels.stats.stattools import jarque_bera
from statsmodels.tools.tools import add_constant

from cassbook.core.errors import LackingError
from cassbook.core.types import Floats

CONSTANT = "constant"
RESAMPLES = 2000
_SEED = 20220503
_TAILS = (0.025, 0.975)


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
