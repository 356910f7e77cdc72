"""What a sweep costs the requests next to it, as last measured on this cluster under its own load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cassbook.advisor.window import Load

if TYPE_CHECKING:  # the driver is needed to sweep, not to reckon
    from cassbook.advisor.sweep import Swept


@dataclass(frozen=True, slots=True)
class SweepCost:
    """What a sweep costs, as last measured (or as believed, before the first).

    Attributes
    ----------
    seconds : float
        How long it takes.
    slowdown : float
        Mean latency of other requests until it is over, as a multiple of what it was before the switch began. The
        wider setting on the way is in it.
    """

    seconds: float
    slowdown: float = 1.5


class SweepMeter:
    """Measures sweeps while they happen.

    Parameters
    ----------
    believed : SweepCost
        Holds until a sweep has been measured.

    Attributes
    ----------
    measured : list of SweepCost
        One of each sweep so far.
    """

    def __init__(self, believed: SweepCost) -> None:
        self._believed = believed
        self.measured: list[SweepCost] = []
        self._before_s = float("nan")
        self._during: list[float] = []

    @property
    def cost(self) -> SweepCost:
        """What the next sweep is taken to cost."""
        return self.measured[-1] if self.measured else self._believed

    def look(self, load: Load, settled: bool, sweeping: bool) -> None:
        """Note the load, at regular intervals.

        Parameters
        ----------
        load : Load
            Over a window that ends now.
        settled : bool
            No switch is under way.
        sweeping : bool
            A sweep is.
        """
        if load.per_s > 0 and settled:
            self._before_s = load.in_flight / load.per_s
        elif load.per_s > 0 and sweeping:
            self._during.append(load.in_flight / load.per_s)

    def swept(self, swept: Swept) -> None:
        """Note that a sweep of a switch is over.

        Without requests before or during it, it slowed nothing down that could be measured: the last value stays.
        """
        slowdown = self.cost.slowdown
        if self._during and self._before_s > 0:
            slowdown = max(1.0, sum(self._during) / len(self._during) / self._before_s)
        self.measured.append(SweepCost(swept.seconds, slowdown))
        self._during.clear()
