"""When a setting must be left that the live replicas cannot serve, where to, and when it is gone back to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cassbook_advisor.gates import Lack
from cassbook_advisor.health import Health
from cassbook_advisor.levels import levels, setting_waiting_for
from cassbook_advisor.member import Clock
from cassbook_advisor.regime import Regime, escape, lower_writes
from cassbook_advisor.register import Epoch
from cassbook_advisor.words import counted

_OPERATIONS = ("reads", "writes")


@dataclass(frozen=True, slots=True)
class Way:
    """The way out of a setting that fails, and why in a sentence.

    `to` is the (reads, writes) to go to: a setting that is served, or one whose writes are where no safe way leads to
    such a one; None to stay.
    """

    to: tuple[int, int] | None
    reason: str


class Escapes:
    """What one adviser knows of the replicas, and what follows.

    `least` are the least (reads, writes) that clients outside the register leave; `alive` the live replicas of the
    worst row, as last looked at.
    """

    def __init__(self, replicas: int, least: tuple[int, int], clock: Clock, local: bool = False) -> None:
        self._replicas, self._least, self._clock, self._local = replicas, least, clock, local
        self._health = Health(replicas, clock)
        self._not_whole_at = float("-inf")
        self._left: tuple[int, int] | None = None
        self._gone_to: tuple[int, int] | None = None
        self.alive = replicas
        self._some_rows = False

    def heard(self, error: BaseException) -> bool:
        """Take the error of a request; whether it is news that replicas are dead or silent."""
        return self._health.failed(error) and self.alive == self._replicas

    def look(self, missing: int, nodes: int) -> None:
        """See how many replicas are alive; the driver takes `missing` of `nodes` for down."""
        self.alive = self._health.alive(missing, nodes)
        self._some_rows = nodes > self._replicas
        if missing or self.alive < self._replicas:
            self._not_whole_at = self._clock()

    def way(self, epoch: Epoch, others: Iterable[int | None]) -> Way | None:
        """Return the way out of the setting in force, or of the one that is under way; None where both can be served.

        `others` are the live replicas that the other members know of.
        """
        regime, wanted = epoch.regime, epoch.wanted
        alive = self._fewest(others)
        if max(regime.reads, regime.writes, *wanted) <= alive:
            return None
        short = setting_waiting_for(*wanted) if max(wanted) > alive else regime.name
        living = "is" if alive == 1 else "are"
        failing = f"{alive} of {counted(self._replicas, 'replica')} {living} alive, too few for {short}"
        to = self._out(regime, wanted, alive)
        if to is not None and to != wanted:
            if wanted != self._gone_to:  # else it is left on the way, and what was left first is gone back to
                self._left = wanted
            self._gone_to = to
        if to is not None and max(to) <= alive:
            return Way(to, f"to {setting_waiting_for(*to)}: {failing}")
        writes = (to or wanted)[1]
        if writes > alive:
            return Way(None, f"{failing}; there is no safe way out until more are back")
        on = setting_waiting_for(max(regime.reads, self._replicas - writes + 1), writes)
        return Way(to, f"{failing}; reads have no safe way out until more are back, writes go on in {on}")

    def _out(self, regime: Regime, wanted: tuple[int, int], alive: int) -> tuple[int, int] | None:
        """Return where to go instead of where is wanted: reads and writes are answered there, or writes alone are."""
        known = levels(self._replicas, self._local)
        to = escape(regime, alive, self._least, known)
        if to is None and wanted[1] > alive:
            to = lower_writes(regime, alive, self._least, known)
        return to

    def lacks(self, regime: Regime, leased: bool, others: Iterable[int | None]) -> tuple[Lack | None, Lack | None]:
        """Return what reads and what writes lack that no safe way leads out for; None for those that have one.

        `leased` is whether this client may use its levels: else its requests go at ALL, and what `others` say of live
        replicas is of no use.
        """
        n = self._replicas
        alive = self._fewest(others) if leased else self.alive
        few = f"{alive} of {n} replicas {'of some rows ' if self._some_rows else ''}are alive"
        if not leased:
            lacks = [Lack(n, alive, f"{few}, and without a lease {what} go at ALL") for what in _OPERATIONS]
            return (lacks[0], lacks[1]) if alive < n else (None, None)
        known = levels(n, self._local)
        if alive >= max(regime.reads, regime.writes) or escape(regime, alive, self._least, known) is not None:
            return None, None
        until = "there is no safe way out until more are back"
        reads, writes = (
            Lack(needs, alive, f"{few}, too few for {what} in {regime.name}; {until}")
            for what, needs in zip(_OPERATIONS, (regime.reads, regime.writes), strict=True)
        )  # fmt: skip
        lowered = lower_writes(regime, alive, self._least, known)
        return (
            reads if regime.reads > alive else None,
            writes if regime.writes > alive and lowered is None else None,
        )

    def hurries(self, epoch: Epoch, others: Iterable[int | None]) -> bool:
        """Whether replicas are missing and a step is due; each member delays it by the time until it looks again."""
        alive = self._fewest(others)
        if alive == self._replicas or not epoch.arrived:
            return alive < self._replicas
        regime = epoch.regime
        failing = max(regime.reads, regime.writes) > alive
        return failing and self._out(regime, epoch.wanted, alive) is not None

    def _fewest(self, others: Iterable[int | None]) -> int:
        """Live replicas, by this member or by the one that knows of fewest."""
        return min([self.alive, *(one for one in others if one is not None)])

    def waits(self, asked: tuple[int, int]) -> bool:
        """Whether a setting that was asked for has to wait until more replicas are alive."""
        return self.alive < max(asked)

    def back(self, dwell_s: float) -> tuple[int, int] | None:
        """Return, once, the setting that was left, when all replicas have been alive for so long."""
        if self._left is None or self._clock() - self._not_whole_at < dwell_s:
            return None
        left, self._left, self._gone_to = self._left, None, None
        return left
