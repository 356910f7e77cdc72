"""One client's part in the agreement: which levels it may use at this moment, and what its answers are worth.

**Several clients.** All share a register (module `register`). A client is in the current epoch, or in the one before
it; the register goes on only when all have entered the current one, and neighbouring epochs are safe together. A client
that falls silent must not hold up the others for ever, so it holds its levels by a *lease*:

* It may use an epoch's levels until `lease_s` after it *began* the beat that the register took. After that it reads and
  writes at ALL, which is safe alongside any regime.
* Others wait for it until they have seen no new beat for `lease_s` and `DRIFT` more, on their own clock. They saw its
  last beat after it began it, so by then its lease is over, unless clocks run apart by more than `DRIFT`. No two clocks
  are compared, and none has to tell the time of day.
* A process can be halted between asking for a level and sending its write. So a write counts only if the answer came
  while the lease still held, with no break since it began. Otherwise its outcome is *unknown*, as after a time-out:
  nothing was promised of it. A read needs no such rule: its level was right when it was called, and writes that were
  acknowledged later need not be seen.
* It has *entered* an epoch when it uses its levels and all its writes of the epoch before have ended. While replicas
  are dead those may take as long as their time-out, and an escape must not: then it has entered at once, and what is
  acknowledged of the epoch before from then on is not believed. A write that promises nothing need not be waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cassbook_advisor.register import Epoch, Presence, Register, View
from cassbook_advisor.window import Load

#: By how much two clocks may run apart: 2 % is a hundred times what quartz does.
DRIFT = 0.02
#: Part of a lease that is used up before a member with nothing new to say beats again.
_RENEW = 1 / 3
_NEVER = float("-inf")

Clock = Callable[[], float]


class Writes:
    """Counts the writes of one epoch that are under way; any thread may begin and end one without a lock.

    To count is to append to a list, which is one step for other threads. One thread looks, and shortens the lists.
    """

    __slots__ = ("_began", "_ended", "begin", "end")

    def __init__(self) -> None:
        self._began: list[None] = []
        self._ended: list[None] = []
        self.begin, self.end = self._began.append, self._ended.append

    def under_way(self) -> int:
        """How many have begun and not ended."""
        ended = len(self._ended)  # first: one that ends now counts as under way
        began = len(self._began)
        del self._began[:ended], self._ended[:ended]
        return began - ended


@dataclass(frozen=True, slots=True)
class Ticket:
    """A write that is under way: the level it was made at, and where it is counted; all of an epoch share one.

    `writes` is None for one that needs no lease.
    """

    replicas: int
    writes: Writes | None


@dataclass(frozen=True, slots=True)
class _Held:
    """What a client holds: replaced whole, so that a request sees one state."""

    until: float
    reads: int
    number: int
    ticket: Ticket
    writes: Writes
    #: Those of the epoch before, under the same unbroken row of leases.
    before: Writes

    @classmethod
    def make(cls, until: float, reads: int, writes: int, number: int, before: Writes) -> _Held:
        """With a ticket, and no write under way."""
        count = Writes()
        return cls(until, reads, number, Ticket(writes, count), count, before)


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

    Notes
    -----
    Requests come from any thread, `tick` and `leave` from one at a time.
    """

    def __init__(self, name: str, register: Register, replicas: int, lease_s: float, clock: Clock) -> None:
        self.name = name
        self._register, self._replicas, self._lease_s, self._clock = register, replicas, lease_s, clock
        self._without = Ticket(replicas, None)
        self._held: _Held
        self._give_up(-1)
        self._beats = 0
        self._reported: tuple[int | None, ...] | None = None  # epoch, entered one and live replicas of the last beat

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
        while True:
            held = self._held
            if self._clock() > held.until:
                return self._without
            ticket = held.ticket
            held.writes.begin(None)
            # Counted first, and then looked whether the epoch is still the same: so either this write sees that a tick
            # has gone on, or the tick sees this write.
            if self._held.ticket is ticket:
                return ticket
            held.writes.end(None)

    def end_write(self, ticket: Ticket) -> bool:
        """Return whether an acknowledgement that has just come may be believed; if not, the outcome is unknown."""
        if ticket.writes is None:
            return True
        ticket.writes.end(None)
        return self.believes(ticket)

    def believes(self, ticket: Ticket) -> bool:
        """Whether an acknowledgement that came no later than now may be believed, whoever ends the write."""
        held, writes = self._held, ticket.writes
        return writes is None or ((writes is held.writes or writes is held.before) and self._clock() <= held.until)

    def tick(self, load: Load, alive: int | None = None, leads: bool = False) -> View | None:
        """Look, enter the epoch in force as far as that is possible, and beat if there is news or the lease wears off.

        Parameters
        ----------
        load : Load
            What to tell the others.
        alive : int, optional
            Live replicas, as `Presence` has them; reported at once when it changes.
        leads : bool
            Whether this member acts for all, and on what it knows itself: to tell of live replicas can then wait for
            the next beat, and an escape need not wait for that one.

        Returns
        -------
        View or None
            What was seen, with this member as it is now; None if the register had gone on before its beat. The lease
            then stands as it was.
        """
        began = self._clock()
        view = self._register.look()
        epoch = view.epoch
        held = self._held
        if self._clock() > held.until or not 0 <= epoch.number - held.number <= 1:
            self._give_up(epoch.number)
        elif epoch.number > held.number:
            self._enter(held.until, epoch)
        self._held.writes.under_way()  # keeps its lists short
        if alive is not None and alive < self._replicas and self._held.before.under_way():
            self._held = replace(self._held, before=Writes())  # they wait for the dead, and are not waited for
        entered = epoch.number - 1 if self._held.before.under_way() else epoch.number
        fresh = self._held.until - self._clock() > (1 - _RENEW) * self._lease_s
        reported = self._reported[-1] if leads and self._reported else alive
        if fresh and self._reported == (epoch.number, entered, reported):
            return View(epoch, view.members | {self.name: Presence(entered, self._beats, load, alive)})
        self._beats += 1
        presence = Presence(entered, self._beats, load, alive)
        if not self._register.beat(self.name, presence, epoch.number):
            return None
        self._reported = (epoch.number, entered, alive)
        if self._clock() > self._held.until:  # also in between: what is acknowledged in a gap is not believed
            self._give_up(epoch.number)
            self._enter(began + self._lease_s, epoch)
        else:
            self._held = replace(self._held, until=began + self._lease_s)
        return View(epoch, view.members | {self.name: presence})

    def _give_up(self, number: int) -> None:
        """Begin a new row of leases, with none as yet: writes still under way belong to none."""
        self._held = _Held.make(_NEVER, self._replicas, self._replicas, number, before=Writes())

    def _enter(self, until: float, epoch: Epoch) -> None:
        regime = epoch.regime
        self._held = _Held.make(until, regime.reads, regime.writes, epoch.number, before=self._held.writes)

    def leave(self) -> None:
        """Give the lease back; requests go on at ALL."""
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
