"""Orders of levels and settings, with a sign between neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.latency.uncertainty import LEVEL

#: Between neighbours of an order: they differ, they may not, nobody knows.
APART, ALIKE, UNKNOWN = " < ", " ~ ", " ? "
#: A smaller p-value is not shown.
_LEAST_P = 0.001


def ranking(names: Sequence[str]) -> str:
    """Return names in their order, whether or not they differ: 'ONE < QUORUM < ALL'."""
    return APART.join(names)


def orders(table: pd.DataFrame) -> pd.Series:
    """Return rows of `latency.ranking` in words: 'ONE < QUORUM ~ ALL'."""
    pairs = zip(table["ranking"], table["differ"], strict=True)
    return pd.Series([order(names, differ) for names, differ in pairs], table.index, dtype=str)


def order(names: Sequence[str], differ: Sequence[bool] | None) -> str:
    """Return names in their order, with signs that say which neighbours differ.

    >>> order(("ONE", "QUORUM", "ALL"), (True, False)), order(("ONE", "ALL"), None)
    ('ONE < QUORUM ~ ALL', 'ONE ? ALL')
    """
    signs = [UNKNOWN] * (len(names) - 1) if differ is None else [APART if apart else ALIKE for apart in differ]
    return names[0] + "".join(sign + name for sign, name in zip(signs, names[1:], strict=True))


def significance(p_value: float) -> str:
    """Say whether two settings differ, by the p-value of their being alike; one cluster start gives none.

    >>> significance(0.0301), significance(0.2), significance(1e-6)
    ('significant, p = 0.030', 'not significant, p = 0.200', 'significant, p < 0.001')
    """
    if np.isnan(p_value):
        return "one cluster start cannot show whether they differ"
    shown = f"p = {p_value:.3f}" if p_value >= _LEAST_P else f"p < {_LEAST_P}"
    return f"{'significant' if p_value < 1 - LEVEL else 'not significant'}, {shown}"


def percent_apart(ratio: Estimate, times: float) -> Estimate:
    """Return by how many percent a ratio is above 1, or below it where `times` is negative."""
    low, high = sorted(times * (bound - 1) for bound in (ratio.low, ratio.high))
    return Estimate(times * (ratio.value - 1), low, high, ratio.n)
