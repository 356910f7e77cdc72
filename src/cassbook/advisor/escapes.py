"""When a setting must be left that the live replicas cannot serve, where to, and when it is gone back to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cassbook.advisor.health import Health
from cassbook.advisor.member import Clock
from cassbook.advisor.regime import escape
from cassbook.advisor.register import Epoch
from cassbook.core.consistency import levels, setting_waiting_for


@dataclass(frozen=True, slots=True)
class Way:
    """The way out of a setting that fails.

    Attributes
    ----------
    to : tuple of int or None
        (reads, writes) of the setting to go to; None where no safe way leads to one.
    reason : str
        In a sentence.
    """

    to: tuple[int, int] | None
    reason: str


class Escapes:
    """What one adviser knows of the replicas, and what follows.

    Parameters
    ----------
    replicas : int
        The replication factor.
    least : tuple of int
        Least (reads, writes) that clients outside the register leave.
    clock : callable

    Attributes
    ----------
    alive : int
        Replicas of the worst row that are alive, as last looked at.
    """

    def __init__(self, replicas: int, least: tuple[int, int], clock: Clock) -> None:
        self._replicas, self._least, self._clock = replicas, least, clock
        self._health = Health(replicas, clock)
        self._not_whole_at = float("-inf")
        self._left: tuple[int, int] | None = None
        self.alive = replicas

    def heard(self, error: BaseException) -> bool:
        """Take the error of a request; whether it is news that replicas are dead or silent."""
        return self._health.failed(error) and self.alive == self._replicas

    def look(self, missing: int, nodes: int) -> None:
        """See how many replicas are alive; the driver takes `missing` of `nodes` for down."""
        self.alive = self._health.alive(missing, nodes)
        if missing or self.alive < self._replicas:
            self._not_whole_at = self._clock()

    def way(self, epoch: Epoch, others: Iterable[int | None]) -> Way | None:
        """Return the way out of the setting in force, or of the one that is on its way; None where both can be served.

        Parameters
        ----------
        epoch : Epoch
        others : iterable of int or None
            Live replicas, as the other members say.
        """
        regime, wanted = epoch.regime, epoch.wanted
        alive = self._fewest(others)
        if max(regime.reads, regime.writes, *wanted) <= alive:
            return None
        failing = f"{alive} of {self._replicas} replicas are alive, too few for {setting_waiting_for(*wanted)}"
        to = escape(regime, alive, self._least, levels(self._replicas))
        if to is None:
            return Way(None, f"{failing}; there is no safe way out until another one is back")
        if to != wanted:
            self._left = wanted
        return Way(to, f"to {setting_waiting_for(*to)}: {failing}")

    def hurries(self, epoch: Epoch, others: Iterable[int | None]) -> bool:
        """Whether replicas are missing and a step is due; each member delays it by the time until it looks again."""
        alive = self._fewest(others)
        if alive == self._replicas or not epoch.arrived:
            return alive < self._replicas
        regime = epoch.regime
        failing = max(regime.reads, regime.writes) > alive
        return failing and escape(regime, alive, self._least, levels(self._replicas)) is not None

    def _fewest(self, others: Iterable[int | None]) -> int:
        """Live replicas, by this member or by the one that knows of fewest."""
        return min([self.alive, *(one for one in others if one is not None)])

    def waits(self, epoch: Epoch, asked: tuple[int, int]) -> bool:
        """Whether a setting that was asked for has to wait: it cannot be served, and the present one can."""
        return max(epoch.regime.reads, epoch.regime.writes) <= self.alive < max(asked)

    def back(self, dwell_s: float) -> tuple[int, int] | None:
        """Return, once, the setting that was left, when all replicas have been alive for so long."""
        if self._left is None or self._clock() - self._not_whole_at < dwell_s:
            return None
        left, self._left = self._left, None
        return left
