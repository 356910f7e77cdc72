"""A load whose mix and intensity shift over ten minutes, under the adviser, fixed settings and the paper's switching.

The load is the light path's closed loop on usertable, so that the client stays small; next to it a few ordinary driver
threads write and read a table of their own and record everything, for `checker.judge`. Both take their levels from the
same object: an `Adviser`, a `Naive` that switches when the same policy says so, or a `Fixed`.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Protocol

import numpy as np
import pandas as pd
from cassandra.cluster import Session

from cassbook.advisor.adviser import Adviser
from cassbook.advisor.member import Ticket
from cassbook.advisor.payback import Phase
from cassbook.advisor.policy import Policy, SweepCost
from cassbook.advisor.regime import Regime
from cassbook.advisor.window import Window
from cassbook.core import schema
from cassbook.core.consistency import level_waiting_for, setting
from cassbook.lab.experiments.adviser.naive import Switch
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.recorder import Chunk
from cassbook.lab.load.recorder import Window as Steady
from cassbook.lab.load.ycsb import READ, UPDATE, Usertable
from cassbook.lab.run.client import mix

_POLL_S = 0.05
#: A request that was built just before its levels changed has left by then.
_LEAVING_S = 0.05
_REPLICAS = 3


#: Ten minutes: reads by day, writes by night, and what lies between.
SCHEDULE = (
    Phase(120, 100, 0.9),
    Phase(120, 400, 0.1),
    Phase(120, 400, 0.5),
    Phase(120, 600, 0.95),
    Phase(120, 200, 0.05),
)


class Actor(Protocol):
    """An object that decides on levels, for the loop and for the watchers next to it."""

    window: Any

    def levels(self) -> tuple[int, int]:
        """Return the replicas that reads and writes wait for; called every few milliseconds, by one thread."""

    def drained(self, until: float) -> None:
        """Learn that no request of the loop that left before a moment is in flight."""

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """Send a request of a watcher."""


class Fixed:
    """One setting, whatever happens."""

    def __init__(self, session: Session, name: str, window: Window) -> None:
        self.window = window
        self._switch = Switch(session, name)
        self._waits = setting(name).waits(_REPLICAS)

    def levels(self) -> tuple[int, int]:
        """See `Actor`."""
        return self._waits

    def drained(self, until: float) -> None:
        """See `Actor`."""

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """See `Actor`."""
        return self._switch.execute(statement, parameters, **options)


class Naive(Fixed):
    """The paper's step 6: the policy's choice is in force as soon as it is made, for reads and writes at once."""

    def __init__(self, session: Session, name: str, window: Window, policy: Policy, interval_s: float) -> None:
        super().__init__(session, name, window)
        self._policy, self._interval_s = policy, interval_s
        self._decided = self._arrived = time.monotonic()
        self.history: list[tuple[float, str]] = [(self._arrived, name)]

    def levels(self) -> tuple[int, int]:
        """See `Actor`."""
        now = time.monotonic()
        if now - self._decided >= self._interval_s:
            self._decided = now
            load = self.window.load(now)
            if now - self._arrived >= self._policy.terms.dwell_s:
                self._decide(now, load)
        return self._waits

    def _decide(self, now: float, load: Any) -> None:
        forecast = self._policy.best(load, Regime.settled(_REPLICAS, *self._waits), SweepCost(0.0))
        if forecast is not None:
            name = forecast.setting.name
            self._switch.request_setting(name)
            self._waits, self._arrived = setting(name).waits(_REPLICAS), now
            self.history.append((now, name))


class Advising:
    """An adviser whose epochs the loop follows; a ticket stands for all its writes at one level."""

    def __init__(self, adviser: Adviser) -> None:
        self.adviser, self.window = adviser, adviser.window
        self._ticket: Ticket = adviser.member.begin_write()
        self._levels = (adviser.member.read_level(), self._ticket.replicas)
        self._state = self._now()
        self._leaving: list[tuple[float, Ticket]] = []

    def levels(self) -> tuple[int, int]:
        """See `Actor`. An epoch counts as entered only when the loop has followed, for the old ticket is still open."""
        now = self._now()
        if now != self._state:
            fresh = self.adviser.member.begin_write()
            self._leaving.append((time.perf_counter() + _LEAVING_S, self._ticket))
            self._ticket, self._state = fresh, now
            self._levels = (self.adviser.member.read_level(), fresh.replicas)
        return self._levels

    def _now(self) -> tuple[int, bool]:
        member = self.adviser.member
        return member.number, member.leased

    def drained(self, until: float) -> None:
        """See `Actor`."""
        while self._leaving and self._leaving[0][0] <= until:
            self.adviser.member.end_write(self._leaving.pop(0)[1])

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """See `Actor`."""
        return self.adviser.execute(statement, parameters, **options)


class ScheduleRun:
    """A run of the loop through a schedule, and what it saw.

    Parameters
    ----------
    nodes : Nodes
    table : Usertable
    actor : Actor
    rng : numpy.random.Generator
    timeout_s : float
        For a request.
    """

    def __init__(
        self, nodes: Nodes, table: Usertable, actor: Actor, rng: np.random.Generator, timeout_s: float = 12.0
    ) -> None:
        self._nodes, self._table, self._actor, self._rng, self._timeout_s = nodes, table, actor, rng, timeout_s
        self._rows = Chunk()
        self._bounds: list[tuple[float, float]] = []
        self.levels: list[tuple[float, int, int]] = []

    def run(self, schedule: tuple[Phase, ...]) -> None:
        """Run the phases, one after the other."""
        for phase in schedule:
            began = time.perf_counter()
            self._phase(phase)
            self._bounds.append((began, time.perf_counter()))

    def _phase(self, phase: Phase) -> None:
        rows, window = self._rows, self._actor.window

        def note(started: float, latency_s: float, operation: int, outcome: int, *_: float) -> None:
            rows.started.append(started)
            rows.latency_s.append(latency_s)
            rows.operation.append(operation)
            rows.outcome.append(outcome)
            window.add(operation == READ, latency_s)
            if outcome != schema.OK:
                window.fail()

        operations = mix(phase.read_share, self._rng)
        requests = [self._table.requests(READ), self._table.requests(UPDATE)]
        loop = ClosedLoop(self._nodes, phase.threads, operations, requests, [[], []], note, self._timeout_s)
        follower = _Follower(loop, self._table, self._actor, self.levels)
        follower.follow()
        ends = time.perf_counter() + phase.seconds
        with follower:
            loop.run(Bound(until=lambda done: time.perf_counter() >= ends), Steady())

    def samples(self) -> pd.DataFrame:
        """Return every request: started_s (from the run's first), latency_us, read, ok, phase (from 1)."""
        rows = self._rows
        started = np.frombuffer(rows.started)
        phase = np.searchsorted([began for began, _ in self._bounds], started, side="right")
        table = pd.DataFrame(
            {
                "started_s": started - self.began,
                "latency_us": np.frombuffer(rows.latency_s) * 1e6,
                "read": np.frombuffer(rows.operation, dtype=np.int8) == READ,
                "ok": np.frombuffer(rows.outcome, dtype=np.int8) == schema.OK,
                "phase": phase,
            }
        )
        return table.sort_values("started_s", kind="stable", ignore_index=True)

    @property
    def began(self) -> float:
        """Moment of the first phase, on `time.perf_counter`."""
        return self._bounds[0][0]


class _Follower:
    """A thread that gives a loop the actor's levels, again and again."""

    def __init__(self, loop: ClosedLoop, table: Usertable, actor: Actor, kept: list[tuple[float, int, int]]) -> None:
        self._loop, self._table, self._actor, self._kept = loop, table, actor, kept
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow_on, name="cassbook-follower", daemon=True)
        self._last: tuple[int, int] | None = None

    def __enter__(self) -> _Follower:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._actor.drained(float("inf"))  # the loop has ended: nothing of it is under way

    def follow(self) -> None:
        """Have the loop send at the actor's levels."""
        levels = self._actor.levels()
        if levels == self._last:
            return
        read_cl, write_cl = (level_waiting_for(waits, _REPLICAS) for waits in levels)
        self._loop.prefixes[:] = self._table.prefixes(read_cl, write_cl)
        self._last = levels
        if not self._kept or self._kept[-1][1:] != levels:
            self._kept.append((time.perf_counter(), *levels))

    def _follow_on(self) -> None:
        while not self._stop.wait(_POLL_S):
            self.follow()
            self._actor.drained(self._loop.oldest())
