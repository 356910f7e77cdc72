"""The staleness curve that a reader turns knobs of: few parameters, and the page computes the same numbers.

PBS with exponential delays (Bailis et al., VLDB 2012, section 4), in which some replicas may be far away. Random
numbers come from a counter (mulberry32), which a script has as exactly as NumPy, so that both judge the same trials.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cassbook.core.consistency import check_replicas
from cassbook.core.errors import InputError
from cassbook.core.types import Floats

TRIALS = 20_000
_STEP = 0x6D2B79F5
_DELAYS = 4  # W, A, R, S


@dataclass(frozen=True, slots=True)
class Knobs:
    """What a reader chooses.

    Attributes
    ----------
    n, r, w : int
        Replicas, and how many of them a read and a write wait for.
    write_ms, other_ms : float
        Mean delay of a write to a replica; and of an acknowledgement, a read request, an answer.
    far : int
        How many replicas are far from both coordinators.
    far_ms : float
        By how much each message to or from those takes longer.
    """

    n: int = 3
    r: int = 1
    w: int = 1
    write_ms: float = 5.0
    other_ms: float = 1.0
    far: int = 0
    far_ms: float = 50.0

    def check(self) -> None:
        """Refuse what no cluster can be.

        Raises
        ------
        InputError
            Naming the knob.
        """
        check_replicas(self.r, self.w, self.n)
        if not (self.write_ms > 0 and self.other_ms > 0 and self.far_ms >= 0):
            raise InputError(f"delays: {self.write_ms}, {self.other_ms} and {self.far_ms} ms must be positive")
        if not 0 <= self.far <= self.n:
            raise InputError(f"far: {self.far} of {self.n} replicas cannot be far away")


def draws(trials: int, each: int) -> Floats:
    """Return random numbers from 0 to below 1, shape (trials, each)."""
    with np.errstate(over="ignore"):
        state = (np.arange(1, trials * each + 1, dtype=np.uint64) * _STEP).astype(np.uint32)
        mixed = (state ^ (state >> 15)) * (state | np.uint32(1))
        mixed ^= mixed + (mixed ^ (mixed >> 7)) * (mixed | np.uint32(61))
    return ((mixed ^ (mixed >> 14)) / 2.0**32).reshape(trials, each)


def needed_ms(knobs: Knobs, trials: int = TRIALS) -> Floats:
    """Return how long after its write's acknowledgement each trial's read has to be sent to see it.

    Parameters
    ----------
    knobs : Knobs
    trials : int

    Returns
    -------
    ndarray, shape (trials,)
        In ms, ascending; 0 where the read sees it at once. The share that is at most t is t-visibility.

    Raises
    ------
    InputError
        For knobs that no cluster can have.
    """
    knobs.check()
    means = np.array([knobs.write_ms, *[knobs.other_ms] * (_DELAYS - 1)])[:, None]
    away = np.where(np.arange(knobs.n) >= knobs.n - knobs.far, knobs.far_ms, 0.0)
    chance = draws(trials, _DELAYS * knobs.n).reshape(trials, _DELAYS, knobs.n)
    write, acknowledged, read, answer = np.moveaxis(-means * np.log(1 - chance) + away, 1, 0)
    committed = np.sort(write + acknowledged, axis=1)[:, knobs.w - 1]
    first = np.argsort(read + answer, axis=1)[:, : knobs.r]
    late = np.take_along_axis(write - read, first, axis=1).min(axis=1) - committed
    return np.sort(np.maximum(late, 0.0))
