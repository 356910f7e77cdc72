"""The adviser of a service: each request gets the level that is fastest now, and safe alongside every earlier one.

    from cassbook.advisor import Adviser, LatencyMap

    with Adviser(session, "shop", ["orders"], LatencyMap.of_run("standard-2.1.20"), start="2R-2W") as adviser:
        rows = adviser.execute(select_order, (order_id,))

Several processes that share data give their advisers one register (`InCassandra`). Module `regime` holds the argument
why no read misses an earlier acknowledged write, module `member` that for several clients.
"""

from __future__ import annotations

import logging
import re
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import NoHostAvailable, ResponseFuture, Session
from cassandra.query import BatchStatement, BoundStatement, PreparedStatement, SimpleStatement

from cassbook.advisor.conductor import Conductor
from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.member import Member, Ticket
from cassbook.advisor.policy import Policy, Terms
from cassbook.advisor.regime import Regime, bound_by_others
from cassbook.advisor.register import Epoch, InMemory, Register, View
from cassbook.advisor.sweep import TableSweep
from cassbook.advisor.sweep_cost import SweepCost, SweepMeter
from cassbook.advisor.window import Load, Window
from cassbook.core.consistency import level_waiting_for, setting
from cassbook.core.errors import InputError, LaboratoryError

_log = logging.getLogger(__name__)
_clock = time.monotonic
_WRITING_WORDS = ("insert", "update", "delete", "begin")
_TEXT = re.compile(r"'(?:[^']|'')*'")


class OutcomeUnknown(LaboratoryError):
    """A write was acknowledged, but after the client had lost its lease: take it as one that timed out."""


@dataclass(frozen=True, slots=True)
class Change:
    """An epoch that this client entered.

    Attributes
    ----------
    at : float
        Seconds on the monotonic clock.
    epoch : Epoch
    """

    at: float
    epoch: Epoch


class Advised:
    """A request under way, as the driver's ResponseFuture, but for late acknowledgements (`OutcomeUnknown`)."""

    __slots__ = ("_began", "_window", "future")

    def __init__(self, future: ResponseFuture, window: Window, began: float) -> None:
        self.future, self._window, self._began = future, window, began
        future.add_callbacks(self._answered, self._answered)

    def result(self) -> Any:
        """Wait for the answer.

        Raises
        ------
        OutcomeUnknown
            For a write whose acknowledgement came after the lease was over.
        DriverException
            As the driver's own.
        """
        return self.future.result()

    def _answered(self, *_: Any) -> None:
        self._window.add(True, _clock() - self._began)


class _Write(Advised):
    """A write; sets what its base sets by itself, for each call of a request counts."""

    __slots__ = ("_believed", "_member", "_open", "_ticket")

    def __init__(self, future: ResponseFuture, window: Window, began: float, member: Member, ticket: Ticket) -> None:
        self._member, self._ticket, self._open = member, ticket, [True]
        self._believed: bool | None = None
        self.future, self._window, self._began = future, window, began
        future.add_callbacks(self._answered, self._answered)

    def result(self) -> Any:
        rows = self.future.result()
        if self._believed is None:  # the thread that is called back has yet to say
            self._answered()
        believed = self._believed
        if believed is None:  # it has begun to
            believed = self._member.believes(self._ticket)
        if not believed:
            raise OutcomeUnknown("the write was acknowledged after its lease was over: its outcome is unknown")
        return rows

    def _answered(self, *_: Any) -> None:
        """End the write, once, by whichever thread is first: the one that called back, or the one that waited."""
        try:
            self._open.pop()
        except IndexError:
            return
        self._believed = self._member.end_write(self._ticket)
        self._window.add(False, _clock() - self._began)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often an adviser looks, and how hard its sweeps work.

    Attributes
    ----------
    window_s : float
        How far back the load is looked at, seconds.
    interval_s : float
        Time between two looks, seconds.
    lease_s : float
        How long a sign of life is good for, seconds; at least three intervals.
    sweep_at_once : int
        Ranges of rows that a sweep reads at a time: with more it ends sooner, and slows other requests down more.
    """

    window_s: float = 5.0
    interval_s: float = 0.5
    lease_s: float = 10.0
    sweep_at_once: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.interval_s * 3 <= self.lease_s:
            raise InputError(f"lease_s: {self.lease_s:g} must be at least three times interval_s, {self.interval_s:g}")


_PACE = Pace()


class Adviser:
    """Sets the consistency level of each request of a cassandra-driver application.

    Parameters
    ----------
    session : Session
        Of the driver; stays the caller's. Requests that are not made through the adviser count as those of others.
    keyspace : str
    tables : sequence of str
        All tables that the advised requests touch: a sweep reads these.
    latency_map : LatencyMap
        Of a run on a cluster like this one.
    start : str or Regime
        The setting (such as '2R-2W') at which all that is in the tables was written, or a regime that says more.
    register : Register, optional
        Shared with the other clients of these tables; by default there are none.
    terms : Terms, optional
        When a switch pays.
    sweep_s : float
        How long a sweep is taken to last until one has been measured.
    others : sequence of (int, int)
        Clients outside the register that touch the tables: the (reads, writes) they always wait for, in replicas. The
        same for all advisers of a register.
    name : str, optional
        Of this client; drawn at random by default, and never to be used again by another.
    pace : Pace, optional
        How often the adviser looks, and how hard a sweep works.

    Attributes
    ----------
    history : list of Change
        Epochs entered so far.
    sweeps : SweepMeter
        What sweeps have cost here.

    Raises
    ------
    InputError
        For a keyspace, table or setting that does not fit.
    """

    def __init__(
        self,
        session: Session,
        keyspace: str,
        tables: Sequence[str],
        latency_map: LatencyMap,
        start: str | Regime = "2R-2W",
        register: Register | None = None,
        terms: Terms | None = None,
        sweep_s: float = 60.0,
        others: Sequence[tuple[int, int]] = (),
        name: str | None = None,
        pace: Pace = _PACE,
    ) -> None:
        self._session, self._interval_s = session, pace.interval_s
        replicas = self._replicas = replication_factor(session, keyspace)
        self._asked: tuple[int, int] | None = None
        self.policy = Policy(latency_map, replicas, terms, bound_by_others(replicas, others))
        first = _first(start, replicas)
        self._register = register or InMemory()
        self._register.open(Epoch(0, first, (first.reads, first.writes)))
        present = self._register.look().epoch
        self.policy.check(present.regime.reads, present.regime.writes)
        self.policy.check(*present.wanted)
        self.member = Member(name or uuid.uuid4().hex[:12], self._register, replicas, pace.lease_s, _clock)
        self.sweep = TableSweep(session, keyspace, tables, at_once=pace.sweep_at_once)
        self._conductor = Conductor(self.member.name, self._register, self.sweep, pace.lease_s, _clock)
        self.sweeps = SweepMeter(SweepCost(sweep_s))
        self.window = Window(pace.window_s)
        self._codes = [0] + [
            ConsistencyLevel.name_to_value[level_waiting_for(n, replicas)] for n in range(1, replicas + 1)
        ]
        self.history: list[Change] = []
        self._arrived_at = _clock()
        self._stop = threading.Event()
        self._tick()
        self._thread = threading.Thread(target=self._keep_house, name="cassbook-adviser", daemon=True)
        self._thread.start()

    def __enter__(self) -> Adviser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching and give the lease back; requests made through the adviser go on, at ALL."""
        self._stop.set()
        self._thread.join()
        self.sweep.cancel()
        try:
            self.member.leave()
        except (DriverException, NoHostAvailable) as error:
            _log.warning("the adviser could not leave the register, others wait for its lease to end: %s", error)

    def request_setting(self, name: str) -> None:
        """Ask for a strong setting by hand, whatever the policy says; the way there is the safe one.

        It is taken when this client leads, and held for the dwell time before the policy decides again.

        Raises
        ------
        InputError
            For an unknown setting, one that is not strong, or less than clients outside the register need.
        """
        wanted = setting(name).waits(self._replicas)
        Regime.settled(self._replicas, *wanted)
        self.policy.check(*wanted)
        self._asked = wanted

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """As `Session.execute`; see `Advised.result` for what it raises."""
        return self.execute_async(statement, parameters, **options).result()

    def execute_async(self, statement: Any, parameters: Any = None, **options: Any) -> Advised:
        """As `Session.execute_async`, at the level that is in force for reads or for writes.

        Parameters
        ----------
        statement : str, SimpleStatement, PreparedStatement, BoundStatement or BatchStatement
            One that begins with SELECT reads, all others write.
        parameters : optional
            Values to bind.
        **options
            Passed to `Session.execute_async`.

        Raises
        ------
        InputError
            For a lightweight transaction, whose level is not the adviser's to choose.
        """
        began = _clock()
        reads, statement, parameters = self._ready(statement, parameters)
        if reads:
            statement.consistency_level = self._codes[self.member.read_level()]
            return Advised(self._session.execute_async(statement, parameters, **options), self.window, began)
        ticket = self.member.begin_write()
        statement.consistency_level = self._codes[ticket.replicas]
        try:
            future = self._session.execute_async(statement, parameters, **options)
        except BaseException:
            self.member.end_write(ticket)
            raise
        return _Write(future, self.window, began, self.member, ticket)

    def load(self) -> Load:
        """Return the load of this client over the window."""
        return self.window.load(_clock())

    @staticmethod
    def _ready(statement: Any, parameters: Any) -> tuple[bool, Any, Any]:
        """Whether a statement reads, a statement of our own to set the level of, and what is still to be bound."""
        if isinstance(statement, PreparedStatement):
            return is_read(statement.query_string), statement.bind(parameters or ()), None
        if isinstance(statement, BoundStatement):
            return is_read(statement.prepared_statement.query_string), _copied(statement), parameters
        if isinstance(statement, BatchStatement):
            return False, _copied(statement), parameters
        if isinstance(statement, str):
            return is_read(statement), SimpleStatement(statement), parameters
        return is_read(statement.query_string), _copied(statement), parameters

    def _keep_house(self) -> None:
        while not self._stop.wait(self._interval_s):
            self._tick()

    def _tick(self) -> None:
        """Beat, and lead if it is this client's turn; what fails is tried again, the lease being the safeguard."""
        try:
            load = self.load()
            view = self.member.tick(load)
            if view is None:
                return
            self._note(view)
            self._measure(view, load)
            self._conductor.step(view, self._decide)
        except (DriverException, NoHostAvailable, OSError) as error:
            _log.warning("the adviser could not reach its register: %s", error)

    def _note(self, view: View) -> None:
        if self.history and self.history[-1].epoch.number == view.epoch.number:
            return
        now = _clock()
        self.history.append(Change(now, view.epoch))
        if view.epoch.arrived:
            self._arrived_at = now
        if view.epoch.wanted == self._asked:  # another member led there
            self._asked = None

    def _measure(self, view: View, load: Load) -> None:
        """See what a sweep of this client's costs its own requests."""
        self.sweeps.look(load, view.epoch.arrived, self.sweep.ended() is None)
        for swept in self.sweep.done[len(self.sweeps.measured) :]:
            self.sweeps.swept(swept)

    def _decide(self, view: View) -> tuple[int, int] | None:
        if self._asked == view.epoch.wanted:  # asked for where it is
            self._asked, self._arrived_at = None, _clock()
        if self._asked is not None:  # kept until the register shows it: a step that it did not take is tried again
            return self._asked
        if _clock() - self._arrived_at < self.policy.terms.dwell_s:
            return None
        load = Load.together(presence.load for presence in view.members.values())
        forecast = self.policy.best(load, view.epoch.regime, self.sweeps.cost)
        return None if forecast is None else self.policy.waits(forecast.setting)


def _copied(statement: Any) -> Any:
    """Copy a statement, so that the caller's keeps its level; `copy.copy` takes as long as all the rest together."""
    copied = object.__new__(type(statement))
    copied.__dict__ = statement.__dict__.copy()
    return copied


@lru_cache(maxsize=4096)
def is_read(query: str) -> bool:
    """Whether a CQL statement reads.

    Raises
    ------
    InputError
        For one that does neither, or is a lightweight transaction.
    """
    words = _TEXT.sub("''", query).lower().split()
    first = words[0] if words else ""
    if first == "select":
        return True
    if first not in _WRITING_WORDS:
        raise InputError(
            f"the adviser has no level for {query[:60]!r}: it is neither SELECT, INSERT, UPDATE nor DELETE"
        )
    if "if" in words:
        raise InputError(
            f"the adviser has no level for {query[:60]!r}: a lightweight transaction keeps its own; use the session"
        )
    return False


def replication_factor(session: Session, keyspace: str) -> int:
    """Replicas of a keyspace in its one data centre.

    Raises
    ------
    InputError
        If it is not there, or in several data centres, where ONE, QUORUM and ALL mean something else.
    """
    metadata = session.cluster.metadata.keyspaces.get(keyspace)
    if metadata is None:
        raise InputError(f"keyspace: there is no {keyspace!r} in this cluster")
    strategy = metadata.replication_strategy
    factors = getattr(strategy, "dc_replication_factors", None)
    if factors is not None and len(factors) != 1:
        raise InputError(f"keyspace: {keyspace} is in {len(factors)} data centres; the adviser is for one")
    return int(next(iter(factors.values())) if factors else strategy.replication_factor)


def _first(start: str | Regime, replicas: int) -> Regime:
    if isinstance(start, Regime):
        if start.replicas != replicas:
            raise InputError(f"start: {start} is of {start.replicas} replicas, the keyspace has {replicas}")
        return start
    return Regime.settled(replicas, *setting(start).waits(replicas))
