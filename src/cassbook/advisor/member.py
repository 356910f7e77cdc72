"""One client's part in the agreement: which levels it may use at this moment, and what its answers are worth.

**Several clients.** All share a register (module `register`). A client is in the current epoch, or in the one before
it; the register goes on only when all have entered the current one, and neighbouring epochs are safe together. A client
that falls silent must not hold up the others for ever, so it holds its levels by a *lease*:

* It may use an epoch's levels until `lease_s` after it *began* the beat that the register took. After that it reads and
  writes at ALL, which is safe beside any regime.
* Others wait for it until they have seen no new beat for `lease_s` and `DRIFT` more, on their own clock. They saw its
  last beat after it began it, so by then its lease is over, unless clocks run apart by more than `DRIFT`. No two clocks
  are compared, and none has to tell the time of day.
* A process can be halted between asking for a level and sending its write. So a write counts only if the answer came
  while the lease still held, with no break since it began. Otherwise its outcome is *unknown*, as after a time-out:
  nothing was promised of it. A read needs no such rule: its level was right when it was called, and writes that were
  acknowledged later need not be seen.
* It has *entered* an epoch when it uses its levels and all its writes of the epoch before have ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from cassbook.advisor.load import Load
from cassbook.advisor.register import Epoch, Presence, Register, View

#: By how much two clocks may run apart: 2 % is a hundred times what quartz does.
DRIFT = 0.02
#: Part of a lease that is used up before a member with nothing new to say beats again.
_RENEW = 1 / 3
_NEVER = float("-inf")

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Ticket:
    """A write that is under way.

    Attributes
    ----------
    replicas : int
        Level it was made at.
    place : int
        Where it is counted; -1 for one that needs no lease.
    generation : int
        Which unbroken row of leases it belongs to.
    """

    replicas: int
    place: int
    generation: int


@dataclass(frozen=True, slots=True)
class _Held:
    """What a client holds: replaced whole, so that a request sees one state.

    All writes of an epoch have the same ticket, so it is made once.
    """

    until: float
    reads: int
    number: int
    generation: int
    ticket: Ticket
    without: Ticket

    @classmethod
    def make(cls, until: float, regime: tuple[int, int], number: int, generation: int, replicas: int) -> _Held:
        """With the tickets of a write under the lease, and of one without."""
        reads, writes = regime
        under = Ticket(writes, number & 1, generation)
        return cls(until, reads, number, generation, under, Ticket(replicas, -1, generation))


class Member:
    """Levels of one client, under a lease.

    Parameters
    ----------
    name : str
        Different for every client, also for one that was started again.
    register : Register
        Open.
    replicas : int
        The replication factor.
    lease_s : float
        How long a beat is good for. Longer spares traffic, shorter lets a transition pass a dead client sooner.
    clock : callable
        Seconds on a clock that never goes back.
    """

    def __init__(self, name: str, register: Register, replicas: int, lease_s: float, clock: Clock) -> None:
        self.name = name
        self._register, self._replicas, self._lease_s, self._clock = register, replicas, lease_s, clock
        self._lock = Lock()
        self._held = _Held.make(_NEVER, (replicas, replicas), -1, 0, replicas)
        self._writing = [0, 0]
        self._beats = 0
        self._told: tuple[int, int] | None = None  # epoch, and the one it had entered, of the last beat that was taken

    @property
    def leased(self) -> bool:
        """Whether it may use an epoch's levels now."""
        return self._clock() <= self._held.until

    @property
    def number(self) -> int:
        """Number of the epoch whose levels it uses; -1 before the first."""
        return self._held.number

    def read_level(self) -> int:
        """How many replicas a read has to wait for that is called now."""
        held = self._held
        return held.reads if self._clock() <= held.until else self._replicas

    def begin_write(self) -> Ticket:
        """Begin a write; end it with `end_write`, whatever becomes of it."""
        # Under the lock: a write must not get in behind a tick that finds none left of its epoch.
        with self._lock:
            held = self._held
            if self._clock() > held.until:
                return held.without
            self._writing[held.ticket.place] += 1
            return held.ticket

    def end_write(self, ticket: Ticket) -> bool:
        """Return whether an acknowledgement that has just come may be believed; if not, the outcome is unknown."""
        if ticket.place < 0:
            return True
        with self._lock:
            held = self._held
            if ticket.generation != held.generation:
                return False  # its count went with its generation
            self._writing[ticket.place] -= 1
            return self._clock() <= held.until

    def tick(self, load: Load) -> View | None:
        """Look, enter the epoch in force as far as that is possible, and beat if there is news or the lease wears off.

        Parameters
        ----------
        load : Load
            What to tell the others.

        Returns
        -------
        View or None
            What was seen, with this member as it is now; None if the register had gone on before its beat. The lease
            then stands as it was.
        """
        began = self._clock()
        view = self._register.look()
        epoch = view.epoch
        with self._lock:
            held = self._held
            if self._clock() > held.until or not 0 <= epoch.number - held.number <= 1:
                self._give_up(epoch.number)
            elif epoch.number > held.number:
                self._hold(held.until, epoch, held.generation)
            drained = self._writing[(epoch.number - 1) & 1] == 0
            entered = epoch.number if drained else epoch.number - 1
            fresh = self._held.until - self._clock() > (1 - _RENEW) * self._lease_s
        if fresh and self._told == (epoch.number, entered):
            return View(epoch, view.members | {self.name: Presence(entered, self._beats, load)})
        self._beats += 1
        presence = Presence(entered, self._beats, load)
        if not self._register.beat(self.name, presence, epoch.number):
            return None
        self._told = (epoch.number, entered)
        with self._lock:
            held = self._held
            if self._clock() > held.until:  # also in between: what is acknowledged in a gap is not believed
                self._give_up(epoch.number)
            self._hold(began + self._lease_s, epoch, self._held.generation)
        return View(epoch, view.members | {self.name: presence})

    def _give_up(self, number: int) -> None:
        """Begin a new generation without a lease: writes still under way belong to none."""
        held = self._held
        self._writing = [0, 0]
        self._held = _Held.make(_NEVER, (self._replicas,) * 2, number, held.generation + 1, self._replicas)

    def _hold(self, until: float, epoch: Epoch, generation: int) -> None:
        levels = (epoch.regime.reads, epoch.regime.writes)
        self._held = _Held.make(until, levels, epoch.number, generation, self._replicas)

    def leave(self) -> None:
        """Give the lease back; requests go on at ALL."""
        with self._lock:
            self._give_up(self._held.number)
        self._register.leave(self.name, self._beats)


class Observer:
    """Tells which members have entered an epoch, or are gone for certain.

    Parameters
    ----------
    lease_s : float
        That of the members.
    clock : callable
    """

    def __init__(self, lease_s: float, clock: Clock) -> None:
        self._wait_s, self._clock = lease_s * (1 + DRIFT), clock
        self._seen: dict[str, tuple[int, float]] = {}

    def all_entered(self, view: View) -> bool:
        """Whether every member that may hold a lease has entered the current epoch."""
        return not self.waiting_for(view)

    def waiting_for(self, view: View) -> list[str]:
        """Members that may still be in the epoch before."""
        return [name for name in self.alive(view) if view.members[name].entered != view.epoch.number]

    def alive(self, view: View) -> list[str]:
        """Members that may hold a lease, by name."""
        now = self._clock()
        for name, presence in view.members.items():
            beat, _ = self._seen.get(name, (None, now))
            if presence.beat != beat:
                self._seen[name] = (presence.beat, now)
        self._seen = {name: seen for name, seen in self._seen.items() if name in view.members}
        return sorted(name for name in view.members if now - self._seen[name][1] <= self._wait_s)
