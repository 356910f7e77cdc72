"""How often an adviser looks, and how hard it works."""

from __future__ import annotations

from dataclasses import dataclass

from cassbook.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Pace:
    """How often an adviser looks, and how hard its sweeps work.

    Attributes
    ----------
    window_s : float
        How far back the load is looked at, seconds.
    interval_s : float
        Time between two looks, seconds.
    lease_s : float
        How long a sign of life is good for, seconds; at least three intervals.
    sweep_at_once : int
        Ranges of rows that a sweep reads at a time: with more it ends sooner, and slows other requests down more.
    """

    window_s: float = 5.0
    interval_s: float = 0.5
    lease_s: float = 10.0
    sweep_at_once: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.interval_s * 3 <= self.lease_s:
            raise InputError(f"lease_s: {self.lease_s:g} must be at least three times interval_s, {self.interval_s:g}")
