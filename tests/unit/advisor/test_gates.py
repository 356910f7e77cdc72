"""What cannot be served fails at once, but for one request a second, until one is answered."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from cassandra import ConsistencyLevel, OperationTimedOut, ReadTimeout, Unavailable
from cassandra.query import SimpleStatement

from cassbook.advisor import CannotServe, OutcomeUnknown
from cassbook.advisor.latency_map import LatencyMap
from cassbook_advisor.adviser import Adviser, Pace
from cassbook_advisor.escapes import Escapes
from cassbook_advisor.gates import PROBE_S, Failed, Gate, Lack, Unserved
from cassbook_advisor.health import Health
from cassbook_advisor.policy import Terms
from cassbook_advisor.regime import Regime
from cassbook_advisor.register import Epoch, InMemory
from tests.helpers import made_runs
from tests.helpers.simulated_cluster import Time
from tests.helpers.stub_session import Future, Session, dead
from tests.helpers.waiting import wait_until

ONE, QUORUM, ALL = ConsistencyLevel.ONE, ConsistencyLevel.QUORUM, ConsistencyLevel.ALL
LACK = Lack(3, 2, "2 of 3 replicas are alive")
READ, WRITE = "SELECT * FROM shop.orders WHERE id = 1", "UPDATE shop.orders SET a = 1 WHERE id = 1"
TERMS, PACE = Terms(dwell_s=0.0, survive=0), Pace(interval_s=0.02, lease_s=30.0)


@pytest.fixture(scope="module")
def latency_map():
    return LatencyMap(made_runs.run(noise=0.0), "known")


@pytest.fixture
def advise(latency_map):
    """Make advisers, and close them."""
    made = []

    def make(session, start="3R-1W", **options):
        given = {"start": start, "terms": TERMS, "pace": PACE} | options
        made.append(Adviser(session, "shop", ["orders"], latency_map, **given))
        return made[-1]

    yield make
    for adviser in made:
        adviser.close()


class Cluster(Session):
    """Three nodes; requests that need one that is dead are never answered, until they are given up by hand."""

    def __init__(self, *addresses):
        super().__init__()
        self.dies(*addresses)

    def dies(self, *addresses):
        dead(self, *addresses)
        self.alive = 3 - len(addresses)

    def execute_async(self, statement, parameters=None, **options):
        needed = {ONE: 1, QUORUM: 2, ALL: 3}[statement.consistency_level]
        self._at_once = needed <= self.alive
        return super().execute_async(statement, parameters, **options)

    def execute(self, statement, *_, **__):  # of a sweep
        raise ReadTimeout("x")

    def sent_at(self, level):
        return [future for future in self.sent if future.level == level]


def gate():
    now = Time()
    return now, Gate("reads", now.clock(1.0))


def test_one_request_a_second_goes_through_whatever_the_number_of_threads():
    now, reads = gate()
    reads.look(LACK)
    with ThreadPoolExecutor(16) as threads:
        for _ in range(3):
            admitted = list(threads.map(lambda _: reads.admits(), range(200)))
            assert sum(sent for sent, _ in admitted) == 1
            assert all(isinstance(error, CannotServe) for _, error in admitted)
            now.s += PROBE_S


def test_it_says_since_when_and_why_and_keeps_the_moment_when_the_reason_changes():
    _, reads = gate()
    assert reads.unserved is None
    assert reads.admits() == (True, None)
    reads.look(LACK)
    first = reads.unserved
    assert (first.operation, first.why) == ("reads", "2 of 3 replicas are alive")
    reads.look(Lack(3, 1, "1 of 3 replicas are alive"))
    assert reads.unserved == Unserved("reads", first.since, "1 of 3 replicas are alive")
    reads.look(None)
    assert reads.unserved is None


def test_an_answer_opens_it_and_a_later_failure_shuts_it_again_after_a_second():
    now, reads = gate()
    reads.look(LACK)
    began, probe = now.s, Future(SimpleNamespace(consistency_level=ALL))
    assert reads.admits()[0]
    reads.watch(probe, began)
    assert not reads.admits()[0]
    probe.answer()
    assert reads.admits() == (True, None), "answered: all of them go"
    now.s += 10
    reads.look(LACK)
    assert reads.unserved is None, "the driver may not have heard that the node is back"
    later = Future(SimpleNamespace(consistency_level=ALL))
    reads.watch(later, now.s)
    later.answer(OperationTimedOut())
    assert reads.unserved is not None


def test_where_some_are_answered_each_second_it_stays_open():
    """Coordinators differ over who is up: what succeeds now and then is not known to be without a way."""
    now, reads = gate()
    reads.look(LACK)
    for _ in range(5):
        for error in (None, Unavailable("x"), Unavailable("x")):
            request = Future(SimpleNamespace(consistency_level=ALL))
            reads.watch(request, now.s)
            now.s += 0.2
            request.answer(error)
            assert reads.admits() == (True, None)


def test_a_request_from_before_the_last_answer_is_no_news():
    now, reads = gate()
    reads.look(LACK)
    early, probe = (Future(SimpleNamespace(consistency_level=ALL)) for _ in range(2))
    reads.watch(early, now.s)
    now.s += 4.0
    reads.watch(probe, now.s)
    probe.answer()
    now.s += 2.0
    early.answer(OperationTimedOut())
    assert reads.unserved is None


def test_an_answer_to_what_was_sent_before_the_node_died_opens_nothing():
    now, reads = gate()
    request = Future(SimpleNamespace(consistency_level=ALL))
    reads.watch(request, now.s)
    now.s += 1.0
    reads.look(LACK)
    request.answer()
    assert reads.unserved is not None


def test_it_is_unavailable_to_a_service_and_no_evidence_to_the_adviser():
    reads = Gate("reads", Time().clock(1.0))
    reads.look(LACK)
    reads.admits()
    _, error = reads.admits()
    assert isinstance(error, CannotServe)
    assert isinstance(error, Unavailable)
    assert (error.operation, error.why) == ("reads", LACK.why)
    assert (error.required_replicas, error.alive_replicas) == (3, 2)
    assert str(error).startswith(f"reads cannot be served since {error.since:%H:%M:%S} UTC: 2 of 3 replicas are alive")
    health = Health(3, Time().clock(1.0))
    assert not health.failed(error)
    assert health.alive(0, 3) == 3


def test_the_future_of_what_was_not_sent_calls_back_as_the_drivers_does():
    error, called = Unavailable("x"), []
    failed = Failed(error)
    failed.add_callbacks(called.append, lambda *given: called.append(given), errback_args=(1,))
    failed.add_errback(lambda *given: called.append(given))
    failed.add_callback(called.append)
    assert called == [(error, 1), (error,)]
    assert failed.coordinator_host is None
    with pytest.raises(Unavailable):
        failed.result()


@pytest.mark.parametrize(
    ("regime", "alive", "reads", "writes"),
    [
        ((3, 1, 1), 2, True, False),
        ((3, 1, 1), 1, True, False),
        ((2, 2, 2), 2, False, False),
        ((2, 2, 2), 1, True, True),
        ((1, 3, 3), 2, False, False),  # to 2R-2W
        ((1, 3, 3), 1, False, True),
        ((3, 3, 1), 2, True, False),  # writes are lowered
        ((3, 3, 3), 2, False, False),  # to 2R-2W
        ((3, 3, 3), 1, True, False),
    ],
)
def test_what_has_no_safe_way_out(regime, alive, reads, writes):
    escapes = Escapes(3, (1, 1), Time().clock(1.0))
    of_reads, of_writes = escapes.lacks(Regime(3, *regime), True, [alive])
    assert (of_reads is not None, of_writes is not None) == (reads, writes)
    if of_reads:
        assert of_reads.why.startswith(f"{alive} of 3 replicas are alive, too few for reads in ")
    assert escapes.lacks(Regime(3, *regime), True, [3]) == (None, None)


def test_without_a_lease_all_need_every_replica_and_what_others_said_is_past():
    escapes = Escapes(3, (1, 1), Time().clock(1.0))
    assert escapes.lacks(Regime.settled(3, 2, 2), False, [1]) == (None, None)
    escapes.alive = 2
    for lack in escapes.lacks(Regime.settled(3, 2, 2), False, []):
        assert (lack.needs, lack.alive) == (3, 2)
        assert "without a lease" in lack.why


def test_reads_that_cannot_be_served_hold_no_thread_and_writes_go_on(advise):
    session = Cluster("10.0.0.3")
    adviser = advise(session)
    wait_until(lambda: adviser.status().cannot_serve)
    (unserved,) = adviser.status().cannot_serve
    assert unserved.operation == "reads"
    assert unserved.why.startswith("2 of 3 replicas are alive, too few for reads in 3R-1W; ")
    session.sent.clear()
    began = time.monotonic()
    errors = []
    for _ in range(200):
        request = adviser.execute_async(READ)
        request.future.add_callbacks(lambda _: None, errors.append)
        adviser.execute(WRITE)
    seconds = time.monotonic() - began
    assert 1 <= len(session.sent_at(ALL)) <= seconds / PROBE_S + 1
    assert len(errors) == 200 - len(session.sent_at(ALL))
    assert all(isinstance(error, CannotServe) for error in errors)
    assert len(session.sent_at(ONE)) == 200
    with pytest.raises(CannotServe):
        adviser.execute(READ)
    wait_until(lambda: adviser.status().failing_share > 0.3)
    assert adviser.status().alive == 2


@pytest.mark.parametrize(
    ("start", "gone", "statement", "wrong"),
    [
        ("3R-1W", ["10.0.0.3"], READ, CannotServe),
        ("2R-2W", ["10.0.0.2", "10.0.0.3"], WRITE, OutcomeUnknown),
    ],
)
def test_the_one_that_is_sent_holds_its_thread_for_a_second_at_most(advise, start, gone, statement, wrong):
    session = Cluster(*gone)
    adviser = advise(session, start)
    wait_until(lambda: adviser.status().cannot_serve)
    began = time.monotonic()
    probe = adviser.execute_async(statement)
    assert probe.future is session.sent[-1]
    with pytest.raises(wrong):
        probe.result()
    assert PROBE_S <= time.monotonic() - began < 4 * PROBE_S
    session.sent[-1].answer()  # it came later, and shows recovery all the same
    assert adviser.execute_async(statement).future is session.sent[-1]
    assert probe.result() == ["row"]


def test_no_later_reason_overwrites_it_and_recovery_clears_it(advise):
    session, events = Cluster("10.0.0.3"), []
    adviser = advise(session, on_event=events.append, terms=Terms(dwell_s=0.0, survive=0, fewest_per_s=10))
    wait_until(lambda: adviser.status().cannot_serve)
    wait_until(lambda: adviser.status().reason)
    assert "cannot be served" not in adviser.status().reason
    assert [unserved.operation for unserved in adviser.status().cannot_serve] == ["reads"]
    session.dies()
    wait_until(lambda: not adviser.status().cannot_serve)
    wait_until(lambda: [event.reason for event in events if event.kind == "unserved"][1:])
    began, ended = [event.reason for event in events if event.kind == "unserved"]
    assert began.startswith("reads cannot be served: 2 of 3 replicas are alive")
    assert ended.startswith("reads are served again, after ")
    adviser.execute(READ)


def test_a_probe_shows_recovery_before_the_driver_knows(advise):
    session = Cluster("10.0.0.3")
    adviser = advise(session)
    wait_until(lambda: adviser.status().cannot_serve)
    session.alive = 3  # the driver still has the node as down
    wait_until(lambda: not isinstance(error_of(adviser, READ), CannotServe), within_s=5)
    assert adviser.status().cannot_serve == ()
    for _ in range(50):
        adviser.execute(READ)
    assert adviser.status().missing_nodes == ("10.0.0.3",)


def error_of(adviser, statement):
    try:
        adviser.execute(statement)
    except Unavailable as error:
        return error
    return None


def test_writes_that_cannot_be_served_fail_at_once_too(advise):
    session = Cluster("10.0.0.2", "10.0.0.3")
    adviser = advise(session, "2R-2W")
    wait_until(lambda: len(adviser.status().cannot_serve) == 2)
    for statement in (READ, WRITE):
        errors = []
        for _ in range(2):
            adviser.execute_async(statement).future.add_callbacks(lambda _: None, errors.append)
        assert [(error.operation, error.required_replicas) for error in errors] == [
            ("reads" if statement == READ else "writes", 2)
        ]


def test_what_an_escape_will_serve_in_a_moment_is_sent(advise):
    session = Cluster("10.0.0.3")
    adviser = advise(session, "1R-3W")
    for _ in range(20):
        adviser.execute_async(WRITE)
        assert adviser.status().cannot_serve == ()
    wait_until(lambda: adviser.setting == "2R-2W")
    assert error_of(adviser, WRITE) is None


@pytest.mark.parametrize(
    ("options", "counted"), [({"fail_fast": False}, {"reads"}), ({"on_unavailable": "weaker"}, {"reads"})]
)
def test_where_it_is_off_or_reads_may_be_weaker_every_read_is_sent(advise, options, counted):
    session = Cluster("10.0.0.3")
    adviser = advise(session, **options)
    wait_until(lambda: adviser.status().cannot_serve)
    session.sent.clear()
    for _ in range(30):
        adviser.execute_async(READ)
    assert len(session.sent_at(ALL)) == 30
    assert {unserved.operation for unserved in adviser.status().cannot_serve} == counted


def test_weaker_reads_are_answered_while_writes_that_have_no_way_fail_at_once(advise):
    session = Cluster("10.0.0.2", "10.0.0.3")
    adviser = advise(session, "2R-2W", on_unavailable="weaker")
    wait_until(lambda: len(adviser.status().cannot_serve) == 2)
    read = adviser.execute_async(READ)
    session.sent[-1].answer(Unavailable("x", required_replicas=2, alive_replicas=1))
    assert read.result() == ["row"]
    assert read.weaker
    assert session.sent[-1].level == ONE
    adviser.execute_async(WRITE)
    with pytest.raises(CannotServe):
        adviser.execute(WRITE)


def test_with_more_nodes_than_replicas_only_rows_that_lost_one_fail_at_once(advise):
    session = Cluster("10.0.0.3")
    session.hosts += [SimpleNamespace(address=f"10.0.0.{k}", is_up=True) for k in (4, 5)]
    one, two, lost, four, five = session.hosts
    rows = {b"hit": [one, two, lost], b"whole": [one, four, five]}
    session.cluster.metadata.get_replicas = lambda keyspace, key: rows[key] if keyspace == "shop" else []
    adviser = advise(session)
    wait_until(lambda: adviser.status().cannot_serve)
    assert adviser.status().cannot_serve[0].why.startswith("2 of 3 replicas of some rows are alive")
    session.sent.clear()
    for key, sent in ((b"hit", 1), (b"whole", 10), (None, 10)):
        before = len(session.sent)
        for _ in range(10):
            adviser.execute_async(SimpleStatement(READ, routing_key=key))
        assert len(session.sent) - before == sent


def test_once_closed_it_holds_nothing_back(latency_map):
    session = Cluster("10.0.0.3")
    with Adviser(session, "shop", ["orders"], latency_map, "3R-1W", terms=TERMS, pace=PACE) as adviser:
        wait_until(lambda: adviser.status().cannot_serve)
    for _ in range(3):
        adviser.execute_async(READ)
    assert len(session.sent_at(ALL)) == 3


def test_without_a_register_it_still_learns_that_nothing_can_be_served(advise):
    class Lost(InMemory):
        lost = False

        def look(self):
            if self.lost:
                raise OperationTimedOut
            return super().look()

    session, register = Cluster(), Lost()
    adviser = advise(session, "2R-2W", register=register)
    register.lost = True
    session.dies("10.0.0.2", "10.0.0.3")
    wait_until(lambda: len(adviser.status().cannot_serve) == 2)
    register.lost = False
    session.dies()
    wait_until(lambda: not adviser.status().cannot_serve)


def test_services_of_one_register_probe_each_for_itself(advise):
    session, register = Cluster("10.0.0.3"), InMemory()
    services = [advise(session, register=register, name=name) for name in "abc"]
    wait_until(lambda: all(adviser.status().cannot_serve for adviser in services))
    session.sent.clear()
    stop = threading.Event()

    def ask(adviser):
        while not stop.is_set():
            adviser.execute_async(READ)
            time.sleep(0.005)

    threads = [threading.Thread(target=ask, args=(adviser,)) for adviser in services for _ in range(3)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    time.sleep(2.3)
    stop.set()
    for thread in threads:
        thread.join()
    probes = len(session.sent_at(ALL))
    assert 3 * 2 <= probes <= 3 * ((time.monotonic() - began) / PROBE_S + 1)


def test_a_start_that_the_register_overrules_is_said(advise, caplog):
    register, events = InMemory(), []
    register.open(Epoch(4, Regime.settled(3, 2, 2), (2, 2)))
    adviser = advise(Cluster(), register=register, on_event=events.append)
    assert adviser.setting == "2R-2W"
    said = (
        "start 3R-1W over writes on 1 is overruled: the register is in 2R-2W over writes on 2 since epoch 4, "
        "and what it holds goes for all its clients"
    )
    assert adviser.status().overruled == said
    assert [event.reason for event in events if event.kind == "start"] == [said]
    assert [record.levelname for record in caplog.records if said in record.getMessage()] == ["WARNING"]


def test_a_start_that_agrees_with_the_register_is_not_said(advise):
    register = InMemory()
    for _ in range(2):
        assert advise(Cluster(), "2R-2W", register=register).status().overruled == ""
