"""Who decides on the levels of a load: the adviser, fixed settings, and the paper's switching, for comparison only.

The paper's step 6 sets the optimal setting when it changes. The closed loop and the watchers next to it take their
levels from one object, an `Actor`: `Advising`, a `Naive` that switches when the adviser's policy says so, or a `Fixed`.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

from cassandra import ConsistencyLevel
from cassandra.cluster import Session

from cassbook.core.consistency import setting
from cassbook_advisor.adviser import Adviser
from cassbook_advisor.member import Ticket
from cassbook_advisor.policy import Policy, SweepCost
from cassbook_advisor.regime import Regime
from cassbook_advisor.requests import is_read
from cassbook_advisor.window import Window

#: A request that was built just before its levels changed has left by then.
_LEAVING_S = 0.05
REPLICAS = 3


class Switch:
    """Sends each request at the levels of the setting it was last given, such as '3R-1W'.

    That is the paper's step 6 to the letter: the setting is in force for reads and writes at once;
    `cassbook_advisor.regime` says what that breaks. The session stays the caller's.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.request_setting(name)

    def request_setting(self, name: str) -> None:
        """Use another setting from now on."""
        pair = setting(name)
        codes = ConsistencyLevel.name_to_value
        self._levels = {True: codes[pair.read_cl], False: codes[pair.write_cl]}

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """Do as `Session.execute`, for prepared statements."""
        return self.execute_async(statement, parameters, **options).result()

    def execute_async(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """Do as `Session.execute_async`, for prepared statements."""
        bound = statement.bind(parameters or ())
        bound.consistency_level = self._levels[is_read(statement.query_string)]
        return self._session.execute_async(bound, **options)


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
        self._waits = setting(name).waits(REPLICAS)

    def levels(self) -> tuple[int, int]:
        return self._waits

    def drained(self, until: float) -> None:
        """See `Actor`."""

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        return self._switch.execute(statement, parameters, **options)


class Naive(Fixed):
    """The paper's step 6: the policy's choice is in force as soon as it is made, for reads and writes at once."""

    def __init__(self, session: Session, name: str, window: Window, policy: Policy, interval_s: float) -> None:
        super().__init__(session, name, window)
        self._policy, self._interval_s = policy, interval_s
        self._decided = self._arrived = time.monotonic()
        self.history: list[tuple[float, str]] = [(self._arrived, name)]

    def levels(self) -> tuple[int, int]:
        now = time.monotonic()
        if now - self._decided >= self._interval_s:
            self._decided = now
            load = self.window.load(now)
            if now - self._arrived >= self._policy.terms.dwell_s:
                self._decide(now, load)
        return self._waits

    def _decide(self, now: float, load: Any) -> None:
        forecast = self._policy.best(load, Regime.settled(REPLICAS, *self._waits), SweepCost(0.0))
        if forecast is not None:
            name = forecast.setting.name
            self._switch.request_setting(name)
            self._waits, self._arrived = setting(name).waits(REPLICAS), now
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
        while self._leaving and self._leaving[0][0] <= until:
            self.adviser.member.end_write(self._leaving.pop(0)[1])

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        return self.adviser.execute(statement, parameters, **options)
