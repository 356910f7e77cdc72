"""Readings of 'compressed': how the thesis may have brought its variables to one scale (section 4.4.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

Scale = Callable[[pd.Series], pd.Series]


def unit(values: pd.Series) -> pd.Series:
    """From 0 at the least to 1 at the greatest."""
    return (values - values.min()) / (values.max() - values.min())


def by_greatest(values: pd.Series) -> pd.Series:
    """In parts of the greatest."""
    return values / values.max()


def standard(values: pd.Series) -> pd.Series:
    """In standard deviations from the mean."""
    return (values - values.mean()) / values.std(ddof=1)


def logarithmic(values: pd.Series) -> pd.Series:
    """Logarithms, from 0 at the least to 1 at the greatest."""
    return unit(np.log1p(values - min(0.0, float(values.min()))))


def as_it_is(values: pd.Series) -> pd.Series:
    """Not compressed at all."""
    return values


#: By what tables call them; the first is the reading we take, for its name says most about 'the same scale'.
SCALES: dict[str, Scale] = {
    "0 to 1": unit,
    "by greatest": by_greatest,
    "z-scores": standard,
    "logarithms, 0 to 1": logarithmic,
    "as they are": as_it_is,
}
