"""The adviser of a service: each request gets the level that is fastest now, and safe alongside every earlier one.

A service uses it so::

    from cassbook_advisor import Adviser, Latencies

    with Adviser(session, "shop", ["orders"], Latencies.of_file("orders.json"), start="2R-2W") as adviser:
        rows = adviser.execute(select_order, (order_id,))

Several processes that share data give their advisers one register (`InCassandra`). Module `regime` holds the argument
why no read misses an earlier acknowledged write, module `member` that for several clients.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cassandra import DriverException
from cassandra.cluster import NoHostAvailable, Session

from cassbook_advisor.errors import InputError
from cassbook_advisor.escapes import Escapes
from cassbook_advisor.gates import CannotServe, Gates
from cassbook_advisor.health import keyspace_hosts, missing_nodes, replication_factor
from cassbook_advisor.latencies import Measured
from cassbook_advisor.levels import setting, setting_waiting_for
from cassbook_advisor.member import Clock, Member, Observer
from cassbook_advisor.policy import Decision, Policy, SweepCost, SweepMeter, Terms
from cassbook_advisor.regime import Regime, Step, bound_by_others, may_follow, starting, transition
from cassbook_advisor.register import Epoch, InMemory, Register, View, overruled
from cassbook_advisor.requests import Advised, OutcomeUnknown, Sender, is_read
from cassbook_advisor.status import LOGGER, Event, Journal, Status
from cassbook_advisor.sweep import TableSweep
from cassbook_advisor.window import Load, Window
from cassbook_advisor.words import stops

__all__ = [
    "Advised",
    "Adviser",
    "CannotServe",
    "Change",
    "OutcomeUnknown",
    "Pace",
    "is_read",
    "missing_nodes",
    "replication_factor",
]

_log = logging.getLogger(LOGGER)
_clock = time.monotonic
#: While a setting that fails is left the adviser looks this often, and no oftener when requests fail.
_HURRY_S = 0.1
#: What may become of reads that the live replicas cannot serve.
_ON_UNAVAILABLE = ("fail", "weaker")
#: Reasons to stay that come and go with every change of load.
_QUIET = frozenset({"idle", "best", "small gain", "unknown load", "dwelling", "dear way"})


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


@dataclass(frozen=True, slots=True)
class Change:
    """An epoch that this client entered."""

    at: float  # seconds on the monotonic clock
    epoch: Epoch


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


def _check_centre(latency_map: Measured, data_centre: str) -> None:
    """Refuse (InputError) a map of another data centre's levels."""
    of = str(getattr(latency_map, "data_centre", ""))
    if of and of != data_centre:
        raise InputError(
            f"data_centre: {latency_map.name} was measured at the levels of {of!r}, the adviser is in "
            f"{data_centre or 'none'!r}; give data_centre={of!r}, or a map of this one"
        )


class Adviser:
    """Sets the consistency level of each request of a cassandra-driver application.

    Parameters
    ----------
    session : Session
        Of the driver; stays the caller's. Requests that are not made through the adviser count as those of others.
    keyspace : str
    tables : sequence of str
        All tables that the advised requests touch: a sweep reads these.
    latency_map : Latencies, or a map of cassbook's
        Of a run on a cluster like this one.
    start : str or Regime
        The setting (such as '2R-2W') at which all that is in the tables was written, or a regime that says more.
        Default: QUORUM/QUORUM.
    register : Register, optional
        Shared with the other clients of these tables; by default there are none.
    terms : Terms, optional
        When a switch pays, and how many dead replicas each setting has to survive: one by default.
    sweep_s : float
        How long a sweep is taken to last until one has been measured.
    others : sequence of (int, int)
        Clients outside the register that touch the tables: the (reads, writes) they always wait for, in replicas. The
        same for all advisers of a register.
    name : str, optional
        Of this client; drawn at random by default, and never to be used again by another.
    pace : Pace, optional
        How often the adviser looks, and how hard a sweep works.
    on_event : callable, optional
        Called by the adviser's thread with each `Event`, for metrics. All events are logged as well, to the logger
        'cassbook.advisor'.
    on_unavailable : str
        What becomes of a read for which too few replicas are alive: 'fail' raises what the driver says; 'weaker' reads
        once more from those that are, and marks the answer (`Advised.weaker`). From a setting such as 3R-1W there is
        no safe way out for reads while a replica is dead, for an acknowledged write may be on that replica alone.
    fail_fast : bool
        Whether requests that cannot be served, and for which no safe way out exists, fail at once with `CannotServe`,
        so that they do not hold the service's threads until they time out. One a second is sent all the same, of reads
        and of writes, so that recovery is seen; its `result` waits for a second at most. Reads are sent where
        `on_unavailable` is 'weaker'.
    data_centre : str
        Of this client, where the keyspace is in several: requests go at LOCAL_ONE and LOCAL_QUORUM, or at ALL, which
        waits for the others too, and replicas are counted there. The same for all advisers of a register.

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
        latency_map: Measured,
        start: str | Regime = "QUORUM/QUORUM",
        register: Register | None = None,
        terms: Terms | None = None,
        sweep_s: float = 60.0,
        others: Sequence[tuple[int, int]] = (),
        name: str | None = None,
        pace: Pace = _PACE,
        on_event: Callable[[Event], None] | None = None,
        on_unavailable: str = "fail",
        fail_fast: bool = True,
        data_centre: str = "",
    ) -> None:
        if on_unavailable not in _ON_UNAVAILABLE:
            raise InputError(f"on_unavailable: {on_unavailable!r} is none of {', '.join(_ON_UNAVAILABLE)}")
        self._session, self._keyspace, self._interval_s = session, keyspace, pace.interval_s
        replicas = self._replicas = replication_factor(session, keyspace, data_centre)
        self._centre = data_centre
        _check_centre(latency_map, data_centre)
        self._asked: tuple[int, int] | None = None
        self.policy = Policy(latency_map, replicas, terms, bound_by_others(replicas, others))
        first = starting(start, replicas)
        self._register = register or InMemory()
        self._register.open(Epoch(0, first, (first.reads, first.writes)))
        present = self._epoch = self._register.look().epoch
        self.policy.check(present.regime.reads, present.regime.writes)
        self.policy.check(*present.wanted)
        self.member = Member(name or uuid.uuid4().hex[:12], self._register, replicas, pace.lease_s, _clock)
        self.sweep = TableSweep(session, keyspace, tables, at_once=pace.sweep_at_once)
        self._conductor = Conductor(self.member.name, self._register, self.sweep, pace.lease_s, _clock)
        self.sweeps = SweepMeter(SweepCost(sweep_s))
        self._wake, self._hurried = threading.Event(), False
        self._escapes = Escapes(replicas, self.policy.least, _clock, bool(data_centre))
        self._gates = Gates(_clock)
        self.window = Window(pace.window_s, self._heard)
        self._sender = Sender(
            session, keyspace, replicas, self.member, self.window, self._gates, self._escapes,
            reads_weaker=on_unavailable == "weaker", fail_fast=fail_fast, data_centre=data_centre,
        )  # fmt: skip
        self._journal = Journal(on_event)
        self._load, self._reason = Load(0.0, float("nan"), 0.0), ""
        self._sweeping, self._leased = False, True
        self.history: list[Change] = []
        self._arrived_at = _clock()
        self._stop, self._ticking = threading.Event(), threading.Lock()
        self._overruled = overruled(first, present)
        if self._overruled:
            self._note_event("start", self._overruled, logging.WARNING)
        if nothing := self.policy.nothing_to_switch():
            self._reason = nothing
            self._note_event("stay", nothing, logging.WARNING, unless="nothing to switch")
        self.tick()
        self._thread = threading.Thread(target=self._keep_house, name="cassbook-adviser", daemon=True)
        self._thread.start()

    def __enter__(self) -> Adviser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching and give the lease back; requests made through the adviser go on, at ALL."""
        self._stop.set()
        self._wake.set()
        self._thread.join()
        self.sweep.cancel()
        self._gates.look(None, None)  # nobody looks any more
        try:
            with self._ticking:
                self.member.leave()
        except (DriverException, NoHostAvailable) as error:
            _log.warning("the adviser could not leave the register, others wait for its lease to end: %s", error)

    def request_setting(self, name: str) -> None:
        """Ask for a strong setting by hand, whatever the policy says; the way there is the safe one.

        It is taken when this client leads, and held for the dwell time before the policy decides again. It is taken
        while nodes are missing too, and where it survives fewer dead replicas than the terms ask for; the log says so.

        Raises
        ------
        InputError
            For an unknown setting, one that is not strong, or less than clients outside the register need.
        """
        wanted = setting(name, self._replicas).waits(self._replicas)
        Regime.settled(self._replicas, *wanted)
        self.policy.check(*wanted)
        stopped = stops(self._replicas - wanted[0], self._replicas - wanted[1], self.policy.terms.survive)
        if stopped:
            _log.warning("%s was requested, which %s", setting_waiting_for(*wanted), stopped)
        self._asked = wanted

    @property
    def setting(self) -> str:
        """Name of the setting in force; while a switch is under way, of the one it goes through."""
        return self._epoch.regime.name

    def status(self) -> Status:
        """Return the adviser's state, as it last looked."""
        return Status(
            setting=self.setting,
            wanted=setting_waiting_for(*self._epoch.wanted),
            epoch=self._epoch.number,
            leads=self._conductor.leads,
            sweeping=self.sweep.ended() is None,
            leased=self.member.leased,
            load=self._load,
            failing_share=self._load.failing_share,
            missing_nodes=missing_nodes(self._session, self._keyspace, self._centre),
            alive=self._escapes.alive,
            reason=self._reason,
            cannot_serve=self._gates.unserved,
            overruled=self._overruled,
        )

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
        return self._sender.send(statement, parameters, options)

    def load(self) -> Load:
        """Return the load of this client over the window."""
        return self.window.load(_clock())

    def tick(self) -> None:
        """Look now, besides the looks that the adviser's thread takes at its pace; `on_event` must not call it."""
        with self._ticking:
            if not self._stop.is_set():
                self._look()

    def _heard(self, error: BaseException) -> None:
        """Take the error of a request; if it shows that replicas are dead the adviser looks at once."""
        if self._escapes.heard(error):
            self._wake.set()

    def _keep_house(self) -> None:
        pause_s = min(self._interval_s, _HURRY_S)
        while not self._stop.wait(pause_s):
            if not self._hurried:
                self._wake.wait(self._interval_s - pause_s)
            self._wake.clear()
            self.tick()

    def _look(self) -> None:
        """Beat, and lead if it is this client's turn; what fails is tried again, the lease being the safeguard."""
        try:
            load = self._load = self.load()
            missing = missing_nodes(self._session, self._keyspace, self._centre)
            nodes = len(keyspace_hosts(self._session, self._keyspace, self._centre))
            self._sender.everywhere = nodes <= self._replicas
            self._escapes.look(len(missing), nodes)
            if self.member.leased:  # the register may not answer for long
                self._look_at_gates()
            view = self.member.tick(load, self._escapes.alive, self._conductor.leads)
            if view is None:
                return
            self._note(view)
            self._measure(view, load)
            self._conductor.step(view, self._decide, self._escape)
            self._hurried = self._escapes.hurries(view.epoch, self._conductor.known_alive)
            self._journal.forget("register")
        except (DriverException, NoHostAvailable, OSError) as error:
            self._note_event(
                "register", f"the adviser could not reach its register: {error}", logging.WARNING, type(error).__name__
            )
        self._look_at_gates()
        self._note_lease()
        self._note_sweep()

    def _look_at_gates(self) -> None:
        """See whether reads and writes can be served, and say when that has changed."""
        lacks = self._escapes.lacks(self._epoch.regime, self.member.leased, self._conductor.known_alive)
        for worse, reason in self._gates.look(*lacks):
            self._note_event("unserved", reason, logging.ERROR if worse else logging.WARNING)

    def _note(self, view: View) -> None:
        if self.history and self.history[-1].epoch.number == view.epoch.number:
            return
        now, self._epoch = _clock(), view.epoch
        self.history.append(Change(now, view.epoch))
        name = view.epoch.regime.name
        wanted = setting_waiting_for(*view.epoch.wanted)
        self._note_event("epoch", f"{name} is in force" if view.epoch.arrived else f"{name} on the way to {wanted}")
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
        decision = self._decision(view)
        self._reason = decision.reason
        if decision.wanted is None:
            level = logging.DEBUG if decision.kind in _QUIET else logging.INFO
            self._note_event("stay", decision.reason, level, unless=decision.kind)
            return None
        name = setting_waiting_for(*decision.wanted)
        reason = f"to {name}: {decision.reason}"
        self._note_event("switch", reason, unless=f"{view.epoch.number} {name}")
        return decision.wanted

    def _escape(self, view: View) -> tuple[int, int] | None:
        """Leave a setting that the live replicas cannot serve, as far as is safe; also on the way to one."""
        way = self._escapes.way(view.epoch, (presence.alive for presence in view.members.values()))
        if way is None:
            self._journal.forget("escape")
            return None
        if way.to != view.epoch.wanted:
            self._note_event("escape", way.reason, logging.WARNING, unless=way.reason)
        return way.to

    def _decision(self, view: View) -> Decision:
        if self._asked == view.epoch.wanted:  # asked for where it is
            self._asked, self._arrived_at = None, _clock()
        if self._asked is not None:  # kept until the register shows it: a step that it did not take is tried again
            if self._escapes.waits(self._asked):
                asked = setting_waiting_for(*self._asked)
                return Decision(
                    None, "nodes missing", f"{asked} was requested, and waits until more replicas are alive"
                )
            return Decision(self._asked, "requested", "requested by hand")
        stayed_s, dwell_s = _clock() - self._arrived_at, self.policy.terms.dwell_s
        if stayed_s < dwell_s:
            return Decision(None, "dwelling", f"in force for {stayed_s:.0f} s, {dwell_s:g} s is the shortest time")
        load = Load.together(presence.load for presence in view.members.values())
        missing = missing_nodes(self._session, self._keyspace, self._centre)
        back = self._escapes.back(dwell_s)
        if back is not None and back != view.epoch.wanted and self.policy.may_choose(*back, load.per_s):
            reason = f"all nodes have been up for {dwell_s:g} s: back to {setting_waiting_for(*back)}"
            return Decision(back, "returned", reason)
        return self.policy.consider(load, view.epoch.regime, self.sweeps.cost, missing)

    def _note_event(self, kind: str, reason: str, level: int = logging.INFO, unless: str = "") -> None:
        wanted = setting_waiting_for(*self._epoch.wanted)
        self._journal.note(Event(_clock(), kind, self.setting, wanted, self._epoch.number, reason), level, unless)

    def _note_lease(self) -> None:
        """Say when the lease is lost, and when it is regained."""
        leased = self.member.leased
        if leased != self._leased:
            self._leased = leased
            reason = "the lease is held again" if leased else "the lease is lost: requests go at ALL"
            self._note_event("lease", reason, logging.INFO if leased else logging.WARNING)

    def _note_sweep(self) -> None:
        """Say when a sweep of this client's begins and ends."""
        ended = self.sweep.ended()
        if self._sweeping == (ended is None):
            return
        self._sweeping = ended is None
        if ended is None:
            self._note_event("sweep", "a sweep has begun: every row is read at ALL")
        elif ended:
            swept = self.sweep.done[-1]
            self._note_event("sweep", f"the sweep has read {swept.rows} rows in {swept.seconds:.1f} s")
        else:
            self._note_event("sweep", f"the sweep did not reach every row: {self.sweep.failure}", logging.WARNING)
