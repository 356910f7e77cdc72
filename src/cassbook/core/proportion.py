"""A share that was counted: how many of how many, in how many groups, and between which bounds the truth lies.

Requests of one outage, or of one cluster start, share its luck: 800 of them are not 800 independent observations. So a
share strictly between none and all has the interval of Korn and Graubard (Survey Methodology 24, 1998): the spread
between groups says how many independent observations the requests are worth, few groups make it fewer still (by
Student's t), and the bounds are the exact ones of Clopper and Pearson (1934) for so many. They never leave [0, 1].

At none or at all, groups do not differ, and nothing is known of how much they might. What remains is the exact bound
of all requests. It holds for requests in groups like these; it does not say how often a group is of another kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cassbook.core.estimate import ERROR, FEWEST, Estimate, binomial_bounds, student_half_width
from cassbook.core.units import PERCENT

#: So many more digits a share may get, so that it does not look like none or all.
_MORE_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion(Estimate):
    """How many of how many, with 95 % bounds. `n` is the number of groups, or of observations without groups."""

    #: Counts. `value` is their ratio.
    yes: int
    of: int
    groups: int  # outages, cluster starts or blocks that they come from; 0 for observations taken to be independent

    @classmethod
    def independent(cls, yes: int, of: int) -> Proportion:
        """Return the share of independent observations, with exact bounds (Clopper and Pearson).

        Raises ValueError if nothing was observed, or more than all.
        """
        share = Estimate.share(yes, of)
        return cls(share.value, share.low, share.high, int(of), yes=int(yes), of=int(of), groups=0)

    @classmethod
    def grouped(cls, yes: Iterable[float], of: Iterable[float], error: float = ERROR) -> Proportion:
        """Return the share of all observations, with bounds that allow for groups that differ.

        `yes` and `of`: shape (groups,); counts of each outage, cluster start or block. Groups without an observation
        are left out. `error`: the chance that the bounds do not hold the truth.

        Its bounds are NaN where fewer than `FEWEST` groups are neither none nor all.

        Raises ValueError if nothing was observed, or in a group more than all.
        """
        counts = np.asarray([(y, n) for y, n in zip(yes, of, strict=True) if n], dtype=float).reshape(-1, 2)
        if not len(counts) or (counts[:, 0] < 0).any() or (counts[:, 0] > counts[:, 1]).any():
            raise ValueError(f"{counts.tolist()} are no counts of groups")
        total_yes, total = counts.sum(axis=0)
        share, groups = total_yes / total, len(counts)
        worth = float(total)
        if 0 < share < 1:
            worth = grouped_worth(counts[:, 0] - share * counts[:, 1], float(share), float(total), error)
        low, high = (float(bound) for bound in binomial_bounds(share, worth, error))
        return cls(float(share), low, high, groups, yes=int(total_yes), of=int(total), groups=groups)

    @property
    def rest(self) -> Proportion:
        """The share of all others."""
        low, high = 1 - self.high, 1 - self.low
        return Proportion(1 - self.value, low, high, self.n, yes=self.of - self.yes, of=self.of, groups=self.groups)

    @property
    def counts(self) -> str:
        """Both counts, as '0 of 2,408'."""
        return f"{self.yes:,} of {self.of:,}"

    @property
    def counts_bounded(self) -> str:
        """Both counts, with the bound of a share at none or all: '0 of 2,408 (at most 0.15 %)', '4 of 600'."""
        return f"{self.counts} ({self.bounds()} %)" if self.exact else self.counts

    @property
    def exact(self) -> bool:
        """Whether none or all were counted, so that only one side has a bound."""
        return self.yes in {0, self.of}

    def bounds(self, factor: float = PERCENT, digits: int = 1) -> str:
        """Say the bounds, as `bounds_text`."""
        return bounds_text(self, factor, digits)

    def text(self, factor: float = PERCENT, digits: int = 1) -> str:
        """Say share and bounds, as `share_text`."""
        return share_text(self, factor, digits)

    def __str__(self) -> str:
        """Percent with bounds, as a table cell shows it."""
        return self.text()


def share_text(share: Estimate, factor: float = PERCENT, digits: int = 1) -> str:
    """Say a share from 0 to 1 for a table: '0 (at most 0.15)', '99.4 [97.9, 99.8]', '100 (at least 99.85)'.

    `factor`: what all are: 100 for percent. `digits`: decimals; more where the share or a bound would otherwise look
    like none or all.
    """
    bounds = bounds_text(share, factor, digits)
    if share.value in {0.0, 1.0}:
        return f"{share.value * factor:,.0f}" + (f" ({bounds})" if bounds else "")
    return f"{share.value * factor:,.{_digits(share, factor, digits)}f} {bounds}".rstrip()


def bounds_text(share: Estimate, factor: float = PERCENT, digits: int = 1) -> str:
    """Say the bounds of a share alone: 'at most 0.15', 'at least 99.85', '[97.9, 99.8]', '' where there are none."""
    if np.isnan(share.low):
        return ""
    if share.value == 0:
        return f"at most {_two_digits(share.high * factor)}"
    if share.value == 1:
        missing = (1 - share.low) * factor
        return f"at least {factor - missing:,.{_decimals(missing)}f}"
    digits = _digits(share, factor, digits)
    least, low, high = 10.0**-digits, share.low * factor, share.high * factor
    lower = f"<{least:.{digits}f}" if low < least / 2 else f"{low:,.{digits}f}"
    upper = f">{factor - least:,.{digits}f}" if high > factor - least / 2 else f"{high:,.{digits}f}"
    return f"[{lower}, {upper}]"


def _digits(share: Estimate, factor: float, digits: int) -> int:
    """Decimals with which neither the share nor a bound looks like none or all, where a few suffice."""
    value, low, high = (part * factor for part in (share.value, share.low, share.high))
    for more in range(digits, digits + _MORE_DIGITS):
        least = 0.5 * 10.0**-more
        if least <= value < factor - least and not (low >= factor - least or high < least):
            return more
    return digits + _MORE_DIGITS


def grouped_worth(residuals: np.ndarray, share: float, total: float, error: float = ERROR) -> float:
    """Return how many independent observations groups are worth that differ like this; NaN for too few groups.

    `residuals`: shape (groups,); of each group the count less the share of all that it would have.
    """
    groups = len(residuals)
    if groups < FEWEST:
        return float("nan")
    variance = groups / (groups - 1) * float((residuals**2).sum()) / total**2
    alike = share * (1 - share) / variance if variance else total
    normal = student_half_width(10**9, error)
    return min(total, alike) * (normal / student_half_width(groups - 1, error)) ** 2


def reads_to_show(target: float, yes: int = 0, error: float = ERROR) -> int:
    """Return how many independent observations, with `yes` among them, bound a share by a target.

    `error`: the chance that this bound or the one from below is wrong.

    By the bound of a Poisson count, which for small shares is that of Clopper and Pearson and never smaller.

    Raises ValueError for a target that is no share.
    """
    from scipy.special import gammaincinv  # noqa: PLC0415 - as in `estimate`

    if not 0 < target < 1:
        raise ValueError(f"{target} is no share between 0 and 1")
    return int(np.ceil(float(gammaincinv(yes + 1, 1 - error / 2)) / target))


def _decimals(value: float) -> int:
    """How many decimals show two digits of a value."""
    return max(0, 1 - int(np.floor(np.log10(value)))) if value > 0 else 1


def _two_digits(value: float) -> str:
    return f"{value:,.{_decimals(value)}f}"
