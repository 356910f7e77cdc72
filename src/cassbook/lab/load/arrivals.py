"""When requests arrive, whether or not earlier ones have been answered: evenly spaced, or as a Poisson process."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

#: So many arrivals are drawn at a time.
_DRAWN = 4096

Kind = Literal["poisson", "even"]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A process of `rate_per_s` arrivals a second, or one of `parts` that it is divided into by thinning.

    Those of one seed are the same whoever draws them, so that processes share a load without asking each other: each
    takes its own of the whole, a Poisson process by lot, an even one by turns.
    """

    kind: Kind
    rate_per_s: float
    seed: tuple[int, ...] = ()
    part: int = 0
    parts: int = 1

    def thinned(self, part: int, parts: int) -> Arrivals:
        """Return part number `part` (from 0) of so many."""
        return replace(self, part=part, parts=parts)

    def due_s(self) -> Iterator[float]:
        """Moments, in seconds from the beginning, in order and without end."""
        # Lots of their own: arrivals do not depend on how many share them.
        rng, lots = (np.random.default_rng(each) for each in np.random.SeedSequence(self.seed).spawn(2))
        last_s, last = 0.0, 0
        while True:
            numbers = np.arange(last, last + _DRAWN)
            if self.kind == "poisson":
                moments_s = last_s + np.cumsum(rng.exponential(1 / self.rate_per_s, _DRAWN))
                owners = lots.integers(self.parts, size=_DRAWN)
            else:
                moments_s, owners = numbers / self.rate_per_s, numbers % self.parts
            yield from moments_s[owners == self.part].tolist()
            last_s, last = float(moments_s[-1]), last + _DRAWN


def even(rate_per_s: float) -> Arrivals | None:
    """Return evenly spaced arrivals at a rate; None where there is none (NaN), as in a closed loop."""
    return None if math.isnan(rate_per_s) else Arrivals("even", rate_per_s)
