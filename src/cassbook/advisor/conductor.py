"""Takes a transition through its steps: one member at a time does, the others follow what the register says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cassbook.advisor.member import Clock, Observer
from cassbook.advisor.regime import Step, may_follow, transition
from cassbook.advisor.register import Epoch, Register, View


class Sweep(Protocol):
    """Brings every row to all replicas, in the background."""

    def begin(self) -> None:
        """Start from the beginning, whatever is under way."""

    def ended(self) -> bool | None:
        """True when it is over and reached every row, False when it failed, None while it goes on."""


def _stay(view: View) -> None:
    """No replica is missing."""


@dataclass(frozen=True, slots=True)
class _Sweeping:
    number: int
    since: float


class Conductor:
    """Decides, as long as its member leads, whether the register may go on.

    After a sweep that failed, as it does while a replica is down, it pauses for `retry_s`. `known_alive` are the live
    replicas as each member said that was there at the last look.
    """

    def __init__(
        self, name: str, register: Register, sweep: Sweep, lease_s: float, clock: Clock, retry_s: float = 10.0
    ) -> None:
        self._name, self._register, self._sweep, self._clock = name, register, sweep, clock
        self._observer = Observer(lease_s, clock)
        self._retry_s = retry_s
        self._sweeping: _Sweeping | None = None
        self._not_before = float("-inf")
        self.leads = False
        self.known_alive: list[int | None] = []

    def step(
        self, view: View, decide: Callable[[View], tuple[int, int] | None],
        escape: Callable[[View], tuple[int, int] | None] = _stay,
    ) -> Epoch | None:  # fmt: skip
        """Take one step, if this member leads and all are ready for it; the new epoch, if the register took it.

        `decide` is called when no transition is under way, for the (reads, writes) to go to, None to stay; `escape`
        first, whatever is under way, for those of a setting that the live replicas can serve, None where the present
        one and the one under way can be.
        """
        alive = self._observer.alive(view)
        self.leads = bool(alive) and alive[0] == self._name
        present = View(view.epoch, {name: view.members[name] for name in alive})  # what the others said last is past
        self.known_alive = [one.alive for one in present.members.values()]
        if not self.leads or not self._observer.all_entered(view):
            return None
        epoch = view.epoch
        leaving = escape(present)
        wanted = leaving or ((decide(present) or epoch.wanted) if epoch.arrived else epoch.wanted)
        steps = transition(epoch.regime, *wanted)
        if not steps:
            return None
        step, regime = steps[0]
        swept = step is Step.SETTLE
        if swept and not self._settled(epoch.number):
            return None
        following = Epoch(epoch.number + 1, regime, wanted)
        assert may_follow(epoch.regime, regime, swept)  # noqa: S101 - `transition` promises it
        return following if self._register.advance(following) else None

    def _settled(self, number: int) -> bool:
        """Whether a sweep that began in this epoch, after all had entered it, has reached every row."""
        now = self._clock()
        if self._sweeping is None or self._sweeping.number != number:
            if now >= self._not_before:
                self._sweep.begin()
                self._sweeping = _Sweeping(number, now)
            return False
        ended = self._sweep.ended()
        if ended is False:
            self._sweeping, self._not_before = None, now + self._retry_s
        return ended is True
