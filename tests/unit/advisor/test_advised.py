"""No read misses an earlier acknowledged write, whatever clients, clocks and replicas do; the naive switch does."""

import sys
import threading

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cassbook_advisor.adviser import Conductor
from cassbook_advisor.escapes import Escapes
from cassbook_advisor.member import Member
from cassbook_advisor.regime import Regime, escape
from cassbook_advisor.register import Epoch, InMemory
from tests.helpers.simulated_cluster import (
    IDLE,
    KEYS,
    N,
    Naive,
    NaiveConductor,
    Read,
    Replicas,
    SimulatedSweep,
    Time,
    Write,
)

LEASE_S = 10.0
STRONG = [(1, 3), (2, 2), (3, 1), (2, 3), (3, 2), (3, 3)]
SEARCH = settings(
    max_examples=150, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


class Client:
    def __init__(self, machine, name, rate):
        clock = machine.time.clock(rate)
        self.sweep = SimulatedSweep(machine.replicas)
        self.member = machine.member_class(name, machine.register, N, LEASE_S, clock)
        self.conductor = machine.conductor_class(name, machine.register, self.sweep, LEASE_S, clock, 0.0)


class Advised(RuleBasedStateMachine):
    """Clients of one register write and read two keys; every interleaving that the rules allow is tried."""

    start = (3, 1)
    member_class, conductor_class = Member, Conductor
    clients, writes, reads = Bundle("clients"), Bundle("writes"), Bundle("reads")

    def __init__(self):
        super().__init__()
        self.time, self.replicas, self.register = Time(), Replicas(), InMemory()
        self.count = 0
        start = self.start
        self.register.open(Epoch(0, Regime.settled(N, *start), start))

    @initialize(target=clients)
    def begin(self):
        return self._joined(1.0)

    @rule(target=clients, rate=st.sampled_from([0.991, 1.0, 1.009]))
    @precondition(lambda self: self.count < 3)
    def join(self, rate):
        return self._joined(rate)

    def _joined(self, rate):
        self.count += 1
        client = Client(self, f"client{self.count}", rate)
        client.member.tick(IDLE)
        return client

    @rule(seconds=st.sampled_from([0.5, 3.0, 11.0]))
    def pass_time(self, seconds):
        self.time.s += seconds

    @rule(client=clients)
    def tick(self, client):
        client.member.tick(IDLE)

    @rule(client=clients, wanted=st.sampled_from(STRONG))
    def lead(self, client, wanted):
        view = client.member.tick(IDLE)
        if view is not None:
            client.conductor.step(view, lambda _: wanted)

    @rule(client=clients)
    def sweep(self, client):
        client.sweep.go_on()

    @rule(client=consumes(clients), politely=st.booleans())
    def end(self, client, politely):
        if politely:
            client.member.leave()

    @rule(client=clients, key=st.sampled_from(KEYS), order=st.permutations(range(N)))
    def write(self, client, key, order):
        self.end_write(self.begin_write(client, key), order)

    @rule(client=clients, key=st.sampled_from(KEYS), order=st.permutations(range(N)))
    def read(self, client, key, order):
        self.end_read(self.begin_read(client, key), order)

    @rule(target=writes, client=clients, key=st.sampled_from(KEYS))
    def begin_write(self, client, key):
        self.replicas.last[key] += 1
        return Write(client, key, self.replicas.last[key], client.member.begin_write())

    @rule(write=consumes(writes), order=st.permutations(range(N)))
    def end_write(self, write, order):
        self.replicas.apply(write.key, write.sequence, order[: write.ticket.replicas])
        if write.client.member.end_write(write.ticket):
            known = self.replicas.acknowledged
            known[write.key] = max(known[write.key], write.sequence)

    @rule(write=consumes(writes), replica=st.integers(0, N - 1))
    def time_out(self, write, replica):
        self.replicas.apply(write.key, write.sequence, [replica])
        write.client.member.end_write(write.ticket)  # the answer that came later is nobody's

    @rule(target=reads, client=clients, key=st.sampled_from(KEYS))
    def begin_read(self, client, key):
        return Read(key, client.member.read_level(), self.replicas.acknowledged[key])

    @rule(read=consumes(reads), order=st.permutations(range(N)))
    def end_read(self, read, order):
        seen = self.replicas.read(read.key, order[: read.replicas_needed])
        assert seen >= read.required, f"read {seen} of {read.key}, {read.required} was acknowledged before it began"


class Crashing(Advised):
    """Replicas die and come back, disks kept; whoever leads escapes, by what it knows, which may be out of date."""

    def __init__(self):
        super().__init__()
        self.dead = set()

    def living(self, order):
        return [replica for replica in order if replica not in self.dead]

    @rule(replica=st.integers(0, N - 1))
    def crash(self, replica):
        self.dead.add(replica)

    @rule(replica=st.integers(0, N - 1))
    def come_back(self, replica):
        self.dead.discard(replica)

    @rule(client=Advised.clients, wanted=st.sampled_from(STRONG), alive=st.none() | st.integers(0, N))
    def lead(self, client, wanted, alive):
        known = N - len(self.dead) if alive is None else alive
        view = client.member.tick(IDLE, known)
        if view is not None:
            client.conductor.step(view, lambda _: wanted, lambda view: self.leave(view, known))

    def leave(self, view, alive):
        way = Escapes(N, (1, 1), self.time.clock(1.0)).way(view.epoch, [alive])
        return way and way.to

    @rule(client=Advised.clients)
    def sweep(self, client):
        if not self.dead:
            client.sweep.go_on()

    @rule(write=consumes(Advised.writes), order=st.permutations(range(N)))
    def end_write(self, write, order):
        there = self.living(order)
        if len(there) < write.ticket.replicas:  # it times out, and is unknown
            self.replicas.apply(write.key, write.sequence, there)
            write.client.member.end_write(write.ticket)
            return
        super().end_write(write, there)

    @rule(read=consumes(Advised.reads), order=st.permutations(range(N)))
    def end_read(self, read, order):
        there = self.living(order)
        if len(there) >= read.replicas_needed:
            super().end_read(read, there)


class NaivelyAdvised(Advised):
    member_class, conductor_class = Naive, NaiveConductor


def machine(base, begins):
    """The machine that begins in a setting."""
    return type(base.__name__, (base,), {"start": begins})


@pytest.mark.parametrize("start", [(3, 1), (2, 2), (1, 3)])
def test_no_interleaving_loses_an_acknowledged_write(start):
    run_state_machine_as_test(machine(Advised, start), settings=SEARCH)


@pytest.mark.parametrize("start", [(3, 1), (2, 2), (1, 3)])
def test_none_does_while_replicas_crash_and_settings_are_escaped_from(start):
    run_state_machine_as_test(machine(Crashing, start), settings=SEARCH)


@pytest.mark.parametrize("start", [(3, 1), (2, 2), (1, 3)])
def test_the_same_search_finds_what_the_papers_rule_loses(start):
    with pytest.raises(AssertionError, match="was acknowledged before it began"):
        run_state_machine_as_test(machine(NaivelyAdvised, start), settings=settings(SEARCH, phases=[Phase.generate]))


class Scene:
    """Clients by hand, for what a search would take long to come by."""

    member_class, conductor_class = Member, Conductor

    def __init__(self, start, names=("a", "b")):
        self.time, self.replicas, self.register = Time(), Replicas(), InMemory()
        self.register.open(Epoch(0, Regime.settled(N, *start), start))
        self.clients = {name: Client(self, name, 1.0) for name in names}
        self.tick()

    def tick(self, *names):
        for name in names or self.clients:
            self.clients[name].member.tick(IDLE)

    def lead(self, name, wanted):
        client = self.clients[name]
        view = client.member.tick(IDLE)
        client.conductor.step(view, lambda _: wanted)

    @property
    def regime(self):
        return self.register.look().epoch.regime

    def levels(self, name):
        member = self.clients[name].member
        ticket = member.begin_write()
        member.end_write(ticket)
        return member.read_level(), ticket.replicas


def test_a_transition_goes_by_its_four_steps_and_waits_for_everyone():
    scene = Scene((3, 1))
    scene.lead("a", (1, 3))
    assert scene.regime == Regime(3, 3, 3, 1)
    scene.lead("a", (1, 3))  # b has not entered yet: no sweep
    assert scene.clients["a"].sweep.ended() is False
    scene.tick()
    scene.lead("a", (1, 3))
    assert scene.clients["a"].sweep.ended() is None
    assert scene.regime == Regime(3, 3, 3, 1)
    for _ in KEYS:
        scene.clients["a"].sweep.go_on()
    scene.lead("a", (1, 3))
    assert scene.regime == Regime(3, 3, 3, 3)
    scene.tick()
    scene.lead("a", (1, 3))
    assert scene.regime == Regime.settled(3, 1, 3)
    scene.tick()
    assert scene.levels("b") == (1, 3)


def test_a_setting_that_the_living_cannot_serve_is_left_by_two_steps_whatever_is_under_way():
    scene = Scene((1, 3))
    client = scene.clients["a"]

    def leads():
        view = client.member.tick(IDLE, 2)
        client.conductor.step(view, lambda _: None, lambda view: escape(view.epoch.regime, 2))

    leads()
    assert scene.regime == Regime(3, 2, 3, 3)
    leads()  # b has not entered yet
    assert scene.regime == Regime(3, 2, 3, 3)
    scene.tick()
    leads()
    assert scene.regime == Regime.settled(3, 2, 2)
    scene.tick()
    assert scene.levels("b") == (2, 2)


def test_writes_that_wait_for_the_dead_hold_nobody_up_and_are_not_believed():
    scene = Scene((1, 3))
    member = scene.clients["b"].member
    hangs = member.begin_write()
    scene.lead("a", (2, 2))
    member.tick(IDLE, 3)
    assert scene.register.look().members["b"].entered == 0
    member.tick(IDLE, 2)
    assert scene.register.look().members["b"].entered == 1
    assert not member.end_write(hangs)
    assert member.end_write(member.begin_write())


def test_what_a_member_that_is_gone_said_last_counts_no_more():
    scene = Scene((2, 2))
    scene.clients["b"].member.tick(IDLE, 1)
    seen = []
    for _ in range(2):
        scene.time.s += LEASE_S + 1
        client = scene.clients["a"]
        client.conductor.step(client.member.tick(IDLE, 3), lambda _: None, lambda view: seen.append(view.members))
    assert [sorted(members) for members in seen] == [["a", "b"], ["a"]]


def test_a_member_tells_at_once_that_replicas_are_dead():
    scene = Scene((2, 2), names=("a",))
    member = scene.clients["a"].member
    before = scene.register.look().members["a"].beat
    member.tick(IDLE, 3)
    member.tick(IDLE, 2)
    assert scene.register.look().members["a"].alive == 2
    member.tick(IDLE, 2)
    assert scene.register.look().members["a"].beat == before + 2


def test_a_write_under_way_holds_the_sweep_up():
    scene = Scene((3, 1))
    ticket = scene.clients["b"].member.begin_write()
    scene.lead("a", (1, 3))
    scene.tick()
    scene.lead("a", (1, 3))
    assert scene.clients["a"].sweep.ended() is False
    assert scene.clients["b"].member.end_write(ticket)
    scene.tick()
    scene.lead("a", (1, 3))
    assert scene.clients["a"].sweep.ended() is None


def test_a_dead_client_is_waited_for_until_its_lease_is_over_for_certain():
    scene = Scene((3, 1))
    scene.lead("a", (1, 3))
    for passed in (5.0, 5.1):  # 10.1 s, the drift not yet allowed for
        scene.time.s += passed
        scene.lead("a", (1, 3))
        assert scene.clients["a"].sweep.ended() is False
    scene.time.s += 0.2
    scene.lead("a", (1, 3))
    assert scene.clients["a"].sweep.ended() is None


def test_a_client_without_a_lease_uses_all_and_its_late_acknowledgement_is_not_believed():
    scene = Scene((3, 1))
    member = scene.clients["b"].member
    ticket = member.begin_write()
    assert ticket.replicas == 1
    scene.time.s += LEASE_S + 1
    assert not member.leased
    assert scene.levels("b") == (3, 3)
    assert not member.end_write(ticket)
    member.tick(IDLE)
    assert scene.levels("b") == (3, 1)


def test_a_lease_won_back_does_not_believe_writes_from_before():
    scene = Scene((3, 1))
    member = scene.clients["b"].member
    ticket = member.begin_write()
    scene.time.s += LEASE_S + 1
    member.tick(IDLE)
    assert member.leased
    assert not member.end_write(ticket)


def test_who_leaves_is_not_waited_for():
    scene = Scene((3, 1))
    scene.clients["b"].member.leave()
    scene.lead("a", (1, 3))
    scene.lead("a", (1, 3))
    assert scene.clients["a"].sweep.ended() is None


def test_one_member_leads():
    scene = Scene((2, 2))
    scene.lead("b", (1, 3))
    assert scene.register.look().epoch.number == 0
    scene.lead("a", (1, 3))
    assert scene.register.look().epoch.number == 1


def test_a_sweep_that_failed_is_tried_again_later():
    scene = Scene((2, 2), names=("a",))
    client = scene.clients["a"]
    client.conductor._retry_s = 5.0
    scene.lead("a", (1, 3))
    scene.lead("a", (1, 3))
    assert client.sweep.ended() is None
    client.sweep._left = None  # it failed
    scene.lead("a", (1, 3))
    scene.time.s += 1
    scene.lead("a", (1, 3))
    assert client.sweep.ended() is False
    scene.time.s += 5
    scene.lead("a", (1, 3))
    assert client.sweep.ended() is None


def test_a_member_beats_for_news_and_when_a_third_of_its_lease_is_gone():
    scene = Scene((3, 1), names=("a",))
    beats = lambda: scene.register.look().members["a"].beat  # noqa: E731
    first = beats()
    scene.time.s += LEASE_S / 3 - 0.1
    scene.tick()
    assert beats() == first
    scene.time.s += 0.2
    scene.tick()
    assert beats() == first + 1
    scene.lead("a", (1, 3))
    scene.tick()
    assert beats() == first + 2  # the next epoch


def test_no_write_gets_in_behind_a_tick_that_found_none_left():
    scene = Scene((3, 1), names=("a",))
    member, gone, late, stop = scene.clients["a"].member, set(), [], threading.Event()

    def write():
        while not stop.is_set():
            ticket = member.begin_write()
            for _ in range(3):
                if ticket.writes in gone:
                    late.append(ticket)
            member.end_write(ticket)

    writers = [threading.Thread(target=write) for _ in range(4)]
    switch_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in writers:
            thread.start()
        for number in range(1, 400):
            before = member.begin_write()
            member.end_write(before)
            scene.register.advance(Epoch(number, Regime(N, 3, 1 + number % 2, 1), (3, 1 + number % 2)))
            while member.tick(IDLE).members["a"].entered != number:
                pass
            gone.add(before.writes)
    finally:
        stop.set()
        for thread in writers:
            thread.join()
        sys.setswitchinterval(switch_s)
    assert not late
    assert member.begin_write().writes.under_way() == 1
