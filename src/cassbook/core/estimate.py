"""A figure that never travels without its uncertainty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from cassbook.core.types import Floats

#: Chance that an interval does not hold the truth, where no other is asked for.
ERROR = 0.05
#: Of fewer observations no interval is given: with two, Student's t is 12.7 standard errors wide and says nothing.
FEWEST = 3
#: Farther off, a figure counts as not determined.
_KNOWN_PERCENT = 100
#: What stands behind a value of a narrow column in place of such an interval, and what that means.
NOT_DETERMINED = "±n.d."
NOT_DETERMINED_MEANS = f"{NOT_DETERMINED}, not determined, where that is more than {_KNOWN_PERCENT}"
_NONE = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval.

    Attributes
    ----------
    value : float
        The point estimate.
    low, high : float
        Bounds of the 95 % interval; NaN where fewer than `FEWEST` observations allow none.
    n : int or None
        How many independent observations (blocks, replications) stand behind it; None where that is not known, as of
        columns of a table.
    """

    value: float
    low: float
    high: float
    n: int | None = None

    @classmethod
    def mean(cls, observations: Iterable[float], error: float = ERROR) -> Estimate:
        """Mean of independent observations with Student's t interval (wide for few, as it should be).

        Parameters
        ----------
        observations : iterable of float, shape (n,)
            One figure per block. NaN are refused.
        error : float
            The chance that the interval does not hold the truth.

        Raises
        ------
        ValueError
            With no observation, or one that is not finite.
        """
        x = np.asarray(list(observations), dtype=float)
        if x.size == 0 or not np.isfinite(x).all():
            raise ValueError(f"a mean needs at least one finite observation, got {x.tolist()}")
        centre = float(x.mean())
        if x.size < FEWEST:
            return cls(centre, float("nan"), float("nan"), int(x.size))
        half = float(student_half_width(x.size - 1, error) * x.std(ddof=1) / np.sqrt(x.size))
        return cls(centre, centre - half, centre + half, int(x.size))

    @classmethod
    def ratio(cls, ratios: Iterable[float], error: float = ERROR) -> Estimate:
        """Geometric mean of independent ratios, with Student's t interval on their logarithms (of three or more).

        Parameters
        ----------
        ratios : iterable of float, shape (n,)
            Positive, one per block.
        error : float
            As `mean`.

        Raises
        ------
        ValueError
            As `mean`; also for a ratio that is not positive.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = cls.mean(np.log(np.asarray(list(ratios), dtype=float)), error)
        return cls(float(np.exp(logs.value)), float(np.exp(logs.low)), float(np.exp(logs.high)), logs.n)

    @classmethod
    def positive(cls, observations: Iterable[float], error: float = ERROR) -> Estimate:
        """Geometric mean of independent figures that cannot be negative, as latencies and rates: as `ratio`.

        Machines and moments differ by factors, and such an interval never reaches zero. A figure that is 0 has no
        logarithm, as the latency of a client that answers itself: then it is the arithmetic mean, from 0 up.

        Raises
        ------
        ValueError
            As `mean`.
        """
        x = np.asarray(list(observations), dtype=float)
        return cls.ratio(x, error) if x.size > 1 and (x > 0).all() else cls.mean(x, error).at_least(0.0)

    @classmethod
    def share(cls, yes: float, n: float) -> Estimate:
        """Share of n observations with its binomial bounds (see `binomial_bounds`), which holds for none and for all.

        Raises
        ------
        ValueError
            If nothing was observed, or there are more than n.
        """
        if not 0 <= yes <= n or n == 0:
            raise ValueError(f"{yes} of {n} is no share")
        low, high = binomial_bounds(yes / n, n)
        return cls(yes / n, float(low), float(high), round(n))

    def times(self, factor: float) -> Estimate:
        """Return the same figure in another unit; `factor` is positive."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.n)

    def at_least(self, least: float) -> Estimate:
        """Return the estimate as far as it is no lower than `least`, where less cannot be; NaN stay."""
        value, low, high = (float(np.maximum(least, x)) for x in (self.value, self.low, self.high))
        return Estimate(value, low, high, self.n)

    def __str__(self) -> str:
        """Value and interval, short enough for a table cell; how many observations where they allow no interval."""
        return f"{self:.4g}" + (f" (n={self.n})" if np.isnan(self.low) and self.n is not None else "")

    def __format__(self, spec: str) -> str:
        """Value and interval, each by a float's format; behind ±, value and half the interval's width.

        Behind ±%, value and `reach`; an interval that reaches farther than the value itself does not determine it.

        Without an interval the value stands alone; without a format the text is that of `str`.

        >>> moved = Estimate(12.345, 11.9, 12.8, 3)
        >>> f"{moved:.1f}; {moved:±.2f}; {moved:±%.1f}; {Estimate(7.0, float('nan'), float('nan'), 1):.1f}"
        '12.3 [11.9, 12.8]; 12.35 ± 0.45; 12.3 ±4%; 7.0'
        """
        if not spec:
            return str(self)
        number = spec.removeprefix("±").removeprefix("%")
        value = format(self.value, number)
        if np.isnan(self.low):
            return value
        if spec.startswith("±%"):
            return f"{value} {'(± not determined)' if self.undetermined else self.reach}".rstrip()
        if spec != number:
            return f"{value} ± {(self.high - self.low) / 2:{number.removeprefix('+')}}"
        return f"{value} [{self.low:{number}}, {self.high:{number}}]"

    @property
    def undetermined(self) -> bool:
        """Whether the interval reaches farther than the value itself."""
        return self._reach_percent > _KNOWN_PERCENT

    @property
    def reach(self) -> str:
        """The farther side of the interval in percent of the value, in a table's words; empty without an interval.

        `NOT_DETERMINED` where that is more than the value itself.
        """
        percent = self._reach_percent
        if np.isnan(percent):
            return ""
        return NOT_DETERMINED if self.undetermined else f"±{percent:.0f}%"

    @property
    def _reach_percent(self) -> float:
        return max(self.high - self.value, self.value - self.low) / self.value * 100 if self.value else float("nan")

    @property
    def half_width_percent(self) -> float:
        """Half the interval's width on the logarithmic scale, in percent, as suits ratios and what is `positive`.

        >>> round(Estimate(2.0, 1.0, 4.0, 5).half_width_percent)
        100
        """
        return 100 * (float(np.sqrt(self.high / self.low)) - 1)

    def as_dict(self, digits: int | None = None) -> dict[str, float | None]:
        """Return value, low and high as JSON takes them: None for NaN and infinity, rounded to `digits` if given."""
        bounds = {"value": self.value, "low": self.low, "high": self.high}
        return {name: None if not np.isfinite(x) else float(x) if digits is None else round(x, digits)
                for name, x in bounds.items()}  # fmt: skip


def binomial_bounds(share: ArrayLike, n: ArrayLike, error: float = ERROR) -> tuple[Floats, Floats]:
    """Return binomial bounds of shares (Clopper and Pearson 1934), element by element.

    `share`: 0 to 1. `n`: observations behind each; need not be whole, as where they are not independent and count for
    less. `error`: the chance that a bound or the other is wrong.
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - as in `student_half_width`

    share, n = np.asarray(share, dtype=float), np.asarray(n, dtype=float)
    yes, no = share * n, (1 - share) * n
    low = np.where(yes <= 0, 0.0, betaincinv(np.maximum(yes, _NONE), no + 1, error / 2))
    high = np.where(no <= 0, 1.0, betaincinv(yes + 1, np.maximum(no, _NONE), 1 - error / 2))
    return low, high


@cache
def student_half_width(freedom: int, error: float = ERROR) -> float:
    """Half the width of an interval in standard errors; asked thousands of times, for few degrees of freedom.

    By what `scipy.stats.t` calls itself: all of the project's processes import this module, relays and clients that
    have no intervals among them, and `scipy.stats` takes a second.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - see above

    return float(stdtrit(freedom, 1 - error / 2))
