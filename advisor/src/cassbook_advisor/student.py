"""Whether paired figures differ: Student's t with the standard library alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

_MOST_TERMS, _ENOUGH, _TINY = 300, 1e-12, 1e-300
_LEVEL = 0.05
_FEWEST = 2


def paired_p(differences: Sequence[float]) -> float:
    """Two-sided p-value of Student's t for a mean of zero; NaN for fewer than two differences.

    Differences that are all the same leave no doubt: 0, or 1 if they are nothing.

    >>> round(paired_p([0.1, 0.2, 0.3]), 6)
    0.07418
    """
    n = len(differences)
    if n < _FEWEST:
        return math.nan
    mean = math.fsum(differences) / n
    spread = math.fsum((x - mean) ** 2 for x in differences)
    if min(differences) == max(differences) or spread == 0:
        return float(mean == 0)
    freedom = n - 1
    t_squared = mean**2 * n * freedom / spread
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t_squared))


def differ(p_value: float) -> bool | None:
    """Whether a p-value is below 5 %; None for NaN, which one block gives."""
    return None if math.isnan(p_value) else p_value < _LEVEL


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function, by its continued fraction (DLMF 8.17.22), evaluated as Lentz does.

    >>> round(incomplete_beta(2.0, 3.0, 0.4), 6)
    0.5248
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    above, below, fraction = 1.0, 0.0, 1.0
    for term in range(_MOST_TERMS):
        k = term // 2
        if term == 0:
            numerator = 1.0
        elif term % 2:
            numerator = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        else:
            numerator = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        below = 1 / _away_from_zero(1 + numerator * below)
        above = _away_from_zero(1 + numerator / above)
        fraction *= above * below
        if term and abs(1 - above * below) < _ENOUGH:
            break
    return math.exp(log_front) * (fraction - 1) / a


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
