"""What clients that share data have to agree on: the regime in force, and who has entered it.

`InMemory` serves the advisers of one process, `InCassandra` (module `shared`)
those of many.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from cassbook_advisor.errors import InputError
from cassbook_advisor.regime import Regime
from cassbook_advisor.window import Load
from cassbook_advisor.words import counted


@dataclass(frozen=True, slots=True)
class Epoch:
    """A regime, numbered, with the setting it is on the way to."""

    number: int  # rises by one with each change
    regime: Regime
    #: (reads, writes) of the setting that the transition leads to; those of the regime where there is none under way.
    wanted: tuple[int, int]

    @property
    def arrived(self) -> bool:
        """Whether no transition is under way."""
        return self.wanted == (self.regime.reads, self.regime.writes)


@dataclass(frozen=True, slots=True)
class Presence:
    """What a member says of itself with each beat."""

    entered: int  # number of the epoch it is in; its requests of earlier ones have ended
    beat: int  # counts up, so that an observer can tell a new one
    load: Load  # its own
    #: Replicas of the worst row that are alive, by its own requests and driver; None where it does not say.
    alive: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """The register at one moment."""

    epoch: Epoch
    members: dict[str, Presence]


class Register(Protocol):
    """One object whose changes are linearizable: each takes effect at one moment, or raises and may have."""

    def open(self, first: Epoch) -> None:
        """Begin with an epoch, unless there is one already.

        Raises InputError if what is there is of another replication factor.
        """

    def look(self) -> View:
        """Return what is in it; of a change that its caller does not know of yet, it may have everything or nothing."""

    def beat(self, member: str, presence: Presence, number: int) -> bool:
        """Put a member down, provided that the current epoch has this number."""

    def advance(self, epoch: Epoch) -> bool:
        """Go on to the next epoch, provided that the current one is numbered one less."""

    def leave(self, member: str, beat: int) -> None:
        """Forget a member, provided that this was its last beat."""


class InMemory:
    """The register of advisers in one process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._epoch: Epoch | None = None
        self._members: dict[str, Presence] = {}

    def open(self, first: Epoch) -> None:
        with self._lock:
            if self._epoch is None:
                self._epoch = first
            check_same(self._epoch, first)

    def look(self) -> View:
        with self._lock:
            assert self._epoch is not None  # noqa: S101 - advisers open it first
            return View(self._epoch, dict(self._members))

    def beat(self, member: str, presence: Presence, number: int) -> bool:
        with self._lock:
            assert self._epoch is not None  # noqa: S101
            if self._epoch.number != number:
                return False
            self._members[member] = presence
            return True

    def advance(self, epoch: Epoch) -> bool:
        with self._lock:
            assert self._epoch is not None  # noqa: S101
            if self._epoch.number != epoch.number - 1:
                return False
            self._epoch = epoch
            return True

    def leave(self, member: str, beat: int) -> None:
        with self._lock:
            last = self._members.get(member)
            if last is not None and last.beat == beat:
                del self._members[member]


def check_same(there: Epoch, first: Epoch) -> None:
    """Refuse a register of another keyspace's replication factor.

    Raises InputError, naming both.
    """
    if there.regime.replicas != first.regime.replicas:
        raise InputError(
            f"the register is of {counted(there.regime.replicas, 'replica')}, the adviser of {first.regime.replicas}: "
            "use one register for each replication factor"
        )


def overruled(first: Regime, present: Epoch) -> str:
    """Say that the register has another regime than this client began with; empty where it has not."""
    if present.regime == first:
        return ""
    return (
        f"start {first} is overruled: the register is in {present.regime} since epoch {present.number}, "
        "and what it holds goes for all its clients"
    )
