"""Orders of levels and settings, with a sign between neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

#: Between neighbours of an order: they differ, they may not, nobody knows.
APART, ALIKE, UNKNOWN = " < ", " ~ ", " ? "


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
