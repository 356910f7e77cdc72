"""A schedule of loads: stretches of constant mix and intensity, one after the other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of constant load.

    Attributes
    ----------
    seconds : float
    threads : int
        Requests in flight.
    read_share : float
        Part that reads, 0 to 1.
    """

    seconds: float
    threads: int
    read_share: float
