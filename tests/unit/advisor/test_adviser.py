"""The adviser around a session: which requests it takes, at which levels, and what its answers are worth."""

import threading
import time
from types import SimpleNamespace

import pytest
from cassandra import ConsistencyLevel, OperationTimedOut, Unavailable
from cassandra.query import BatchStatement, SimpleStatement

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.consistency import strong_settings
from cassbook_advisor import adviser as adviser_module
from cassbook_advisor.adviser import Adviser, OutcomeUnknown, Pace, is_read, replication_factor
from cassbook_advisor.errors import InputError
from cassbook_advisor.member import Member
from cassbook_advisor.policy import Terms
from cassbook_advisor.regime import Regime
from cassbook_advisor.register import Epoch, InMemory
from cassbook_advisor.window import Load
from tests.helpers import made_runs
from tests.helpers.simulated_cluster import Time
from tests.helpers.stub_session import Future, Session, dead
from tests.helpers.waiting import wait_until

#: Looks when a test has it tick, or a request fails, and never by itself; no stall of the machine outlasts its lease.
STILL = Pace(interval_s=600.0, lease_s=1800.0)
ONE, QUORUM, ALL = ConsistencyLevel.ONE, ConsistencyLevel.QUORUM, ConsistencyLevel.ALL


@pytest.fixture(scope="module")
def latency_map():
    return LatencyMap(made_runs.run(noise=0.0), "known")


@pytest.fixture
def advise(latency_map):
    """Make advisers, and close them."""
    made = []

    def make(session=None, **options):
        adviser = Adviser(
            session or Session(), "shop", ["orders"], latency_map, **({"pace": Pace(interval_s=0.02)} | options)
        )
        made.append(adviser)
        return adviser

    yield make
    for adviser in made:
        adviser.close()


@pytest.mark.parametrize(
    ("start", "read", "write"), [("1R-3W", ONE, ALL), ("2R-2W", QUORUM, QUORUM), ("3R-1W", ALL, ONE)]
)
def test_reads_and_writes_get_the_levels_in_force(advise, start, read, write):
    session = Session()
    adviser = advise(session, start=start)
    assert adviser.execute("SELECT * FROM shop.orders WHERE id = 1") == ["row"]
    adviser.execute("update shop.orders SET total = 2 WHERE id = 1")
    adviser.execute(SimpleStatement("  DELETE FROM shop.orders WHERE id = 1"))
    batch = BatchStatement()
    adviser.execute(batch)
    assert [future.level for future in session.sent] == [read, write, write, write]


def test_the_applications_own_statement_is_left_as_it_was(advise):
    statement = SimpleStatement("SELECT * FROM shop.orders", consistency_level=ConsistencyLevel.TWO)
    advise(start="1R-3W").execute(statement)
    assert statement.consistency_level == ConsistencyLevel.TWO


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("UPDATE t SET a = 1 WHERE k = 1 IF a = 0", "a lightweight transaction keeps its own"),
        ("INSERT INTO t (k) VALUES (1) IF NOT EXISTS", "lightweight"),
        ("TRUNCATE t", "neither SELECT, INSERT, UPDATE nor DELETE"),
        ("", "neither"),
    ],
)
def test_what_has_no_level_of_ours_is_refused(advise, query, wrong):
    session = Session()
    with pytest.raises(InputError, match=wrong):
        advise(session).execute(query)
    assert session.sent == []


def test_a_text_is_no_condition():
    assert not is_read("INSERT INTO t (k, v) VALUES (1, 'if it''s so')")


def test_a_request_that_cannot_be_sent_is_not_counted_as_under_way(advise):
    session = Session()
    adviser = advise(session, start="1R-3W")
    session.refuse = OSError("no host")
    with pytest.raises(OSError, match="no host"):
        adviser.execute("UPDATE t SET a = 1 WHERE k = 1")
    session.refuse = None
    adviser.request_setting("3R-1W")
    wait_until(lambda: adviser.member.number == 2)  # the second step waits for all writes of the first epoch


def test_a_failed_request_raises_what_the_driver_says(advise):
    session = Session(at_once=False)
    request = advise(session).execute_async("SELECT * FROM t")
    session.sent[0].answer(OperationTimedOut())
    with pytest.raises(OperationTimedOut):
        request.result()


@pytest.fixture
def ahead(monkeypatch):
    """Seconds by which the clock of advisers is ahead: past their lease, it is as if their process had been halted."""
    ahead = Time()
    monkeypatch.setattr(adviser_module, "_clock", lambda: time.monotonic() + ahead.s)
    return ahead


def test_an_acknowledgement_after_the_lease_is_an_unknown_outcome(advise, ahead):
    session, register = Session(at_once=False), InMemory()
    adviser = advise(session, start="3R-1W", register=register, pace=STILL)
    request = adviser.execute_async("UPDATE t SET a = 1 WHERE k = 1")
    assert session.sent[0].level == ONE
    ahead.s = 3600.0
    session.sent[0].answer()
    with pytest.raises(OutcomeUnknown, match="after its lease was over"):
        request.result()
    adviser.execute_async("UPDATE t SET a = 1 WHERE k = 1")
    assert session.sent[1].level == ALL


def test_a_read_is_worth_its_answer_whenever_it_comes(advise, ahead):
    session = Session(at_once=False)
    adviser = advise(session, start="1R-3W", pace=STILL)
    request = adviser.execute_async("SELECT * FROM t")
    ahead.s = 3600.0
    session.sent[0].answer()
    assert request.result() == ["row"]


def test_lowering_writes_by_hand_goes_by_two_steps(advise):
    adviser = advise(start="1R-3W")
    adviser.request_setting("3R-1W")
    wait_until(lambda: adviser.history[-1].epoch.number == 2)
    assert [change.epoch.regime.name for change in adviser.history] == ["1R-3W", "3R-3W", "3R-1W"]


def test_what_was_asked_for_survives_a_register_that_fails(advise):
    class Failing(InMemory):
        fails = 2

        def advance(self, epoch):
            if self.fails:
                self.fails -= 1
                raise OperationTimedOut
            return super().advance(epoch)

    adviser = advise(start="1R-3W", register=Failing())
    adviser.request_setting("3R-1W")
    wait_until(lambda: adviser.history[-1].epoch.number == 2)


def test_what_is_asked_for_where_it_is_already_is_held_and_no_longer_asked_for(advise, ahead):
    adviser = advise(start="2R-2W", pace=STILL, terms=Terms(dwell_s=1000.0))
    ahead.s = 100.0
    adviser.tick()
    assert adviser.status().reason.startswith("in force for 100 s")
    adviser.request_setting("2R-2W")
    for _ in range(2):
        adviser.tick()
        assert adviser.status().reason.startswith("in force for 0 s")
    assert adviser.history[-1].epoch.number == 0


def test_a_setting_that_is_not_strong_is_not_gone_to(advise):
    with pytest.raises(InputError, match="can miss a write"):
        advise().request_setting("ONE/ONE")


def test_two_clients_agree_through_one_register(advise):
    register, session = InMemory(), Session()
    first = advise(start="2R-2W", register=register, name="a")
    second = advise(session, start="2R-2W", register=register, name="b")
    first.request_setting("3R-1W")
    wait_until(lambda: second.history[-1].epoch.regime == Regime.settled(3, 3, 1))
    second.execute("UPDATE t SET a = 1 WHERE k = 1")
    assert session.sent[-1].level == ONE


def test_the_load_is_watched(advise):
    adviser = advise(pace=Pace(window_s=1.0, interval_s=0.02))
    for _ in range(30):
        adviser.execute("SELECT * FROM t")
    adviser.execute("DELETE FROM t WHERE k = 1")
    load = adviser.load()
    assert load.read_share == pytest.approx(30 / 31)
    assert load.per_s > 0


def test_after_closing_requests_go_at_all(latency_map):
    session = Session()
    with Adviser(session, "shop", ["orders"], latency_map, start="1R-3W") as adviser:
        pass
    adviser.execute("SELECT * FROM t")
    assert session.sent[-1].level == ALL


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"start": "1R-1W"}, "unknown with 3 replicas; use one of"),
        ({"start": "ONE/ONE"}, "can miss a write"),
        ({"start": Regime(5, 3, 3, 3)}, "of 5 replicas, the keyspace has 3"),
        ({"others": [(1, 1)]}, "which clients outside the register need"),
    ],
)
def test_bad_parameters_are_refused(advise, options, wrong):
    with pytest.raises(InputError, match=wrong):
        advise(**options)


def test_a_lease_outlasts_several_looks():
    with pytest.raises(InputError, match="at least three times interval_s"):
        Pace(lease_s=1.0, interval_s=0.5)


def test_clients_outside_the_register_bound_the_start_and_what_is_asked_for_by_hand(advise):
    others = [(2, 2)]
    with pytest.raises(InputError, match=r"1R-3W: .*outside the register .*at least 2"):
        advise(start="1R-3W", others=others)
    adviser = advise(start="2R-2W", others=others)
    with pytest.raises(InputError, match=r"3R-1W: .*outside the register "):
        adviser.request_setting("3R-1W")


def test_tables_that_a_sweep_cannot_heal_are_refused(latency_map):
    with pytest.raises(InputError, match=r"there is no shop\.customers"):
        Adviser(Session(), "shop", ["customers"], latency_map)
    with pytest.raises(InputError, match="read_repair = 'NONE'"):
        Adviser(Session(options={"read_repair": "NONE"}), "shop", ["orders"], latency_map)


def test_the_replication_factor_is_the_keyspaces_in_one_data_centre():
    assert replication_factor(Session(), "shop") == 3
    one = SimpleNamespace(dc_replication_factors={"dc1": 5})
    assert replication_factor(Session(strategy=one), "shop") == 5
    two = SimpleNamespace(dc_replication_factors={"dc1": 3, "dc2": 3})
    with pytest.raises(InputError, match="shop is in 2 data centres"):
        replication_factor(Session(strategy=two), "shop")
    with pytest.raises(InputError, match="there is no 'bank'"):
        replication_factor(Session(), "bank")


def test_a_write_is_judged_even_when_the_thread_that_was_called_back_has_not_said_yet(advise, ahead, monkeypatch):
    session = Session(at_once=False)
    adviser = advise(session, start="3R-1W", pace=STILL)
    begun, may_end, end_write = threading.Event(), threading.Event(), adviser.member.end_write

    def end_slowly(ticket):
        begun.set()
        assert may_end.wait(60)
        return end_write(ticket)

    monkeypatch.setattr(adviser.member, "end_write", end_slowly)
    request = adviser.execute_async("UPDATE t SET a = 1 WHERE k = 1")
    called_back = threading.Thread(target=session.sent[0].answer)
    called_back.start()
    assert begun.wait(60)
    assert request.result() == ["row"]
    ahead.s = 3600.0
    with pytest.raises(OutcomeUnknown):
        request.result()
    may_end.set()
    called_back.join()


BUSY = {"terms": Terms(dwell_s=0.0, survive=0, fewest_per_s=0.0), "pace": Pace(window_s=60.0, interval_s=0.02)}


def loaded(adviser, latency_s=0.1):
    """Let an adviser see reads; often enough, some hundreds are in flight."""
    for _ in range(30):
        adviser.window.add(True, latency_s)


def test_its_state_can_be_asked_for(advise):
    session = Session()
    session.hosts = [SimpleNamespace(address=f"10.0.0.{k}", is_up=up, datacenter="dc1") for k, up in
                     enumerate((True, False, None), start=1)]  # fmt: skip
    adviser = advise(session, start="2R-2W", name="a")
    adviser.execute("SELECT * FROM t")
    assert adviser.setting == "2R-2W"
    wait_until(lambda: adviser.status().load.per_s > 0)
    status = adviser.status()
    assert (status.setting, status.wanted, status.epoch) == ("2R-2W", "2R-2W", 0)
    assert status.leads
    assert status.leased
    assert not status.sweeping
    assert status.failing_share == 0
    assert status.missing_nodes == ("10.0.0.2",)
    assert adviser.status().reason.startswith("in force for 0 s")


def test_a_failed_request_is_counted(advise):
    session = Session(at_once=False)
    adviser = advise(session, pace=Pace(window_s=60.0, interval_s=0.02))
    for answer in (None, OperationTimedOut(), None, OperationTimedOut()):
        adviser.execute_async("SELECT * FROM t")
        session.sent[-1].answer(answer)
    wait_until(lambda: adviser.status().failing_share == 0.5)
    adviser.execute_async("UPDATE t SET a = 1 WHERE k = 1")
    session.sent[-1].answer(OperationTimedOut())
    wait_until(lambda: adviser.status().failing_share == 0.6)


def test_each_step_is_logged_and_handed_on(advise, caplog):
    events = []
    with caplog.at_level("INFO", logger="cassbook.advisor"):
        adviser = advise(start="1R-3W", on_event=events.append, terms=Terms(survive=0))
        adviser.request_setting("3R-1W")
        wait_until(lambda: any(event.kind == "epoch" and event.epoch == 2 for event in events))
    kinds = [(event.kind, event.setting, event.wanted) for event in events if event.kind in {"epoch", "switch"}]
    assert kinds == [
        ("epoch", "1R-3W", "1R-3W"),
        ("switch", "1R-3W", "1R-3W"),
        ("epoch", "3R-3W", "3R-1W"),
        ("epoch", "3R-1W", "3R-1W"),
    ]
    said = [record.getMessage() for record in caplog.records]
    assert "to 3R-1W: requested by hand (epoch 0, 1R-3W)" in said
    assert "3R-3W on the way to 3R-1W (epoch 1, 3R-3W)" in said
    assert "3R-1W is in force (epoch 2, 3R-1W)" in said


def test_a_callback_that_fails_stops_nothing(advise, caplog):
    def fail(event):
        raise ZeroDivisionError

    adviser = advise(start="1R-3W", on_event=fail, terms=Terms(survive=0))
    adviser.request_setting("3R-1W")
    wait_until(lambda: adviser.setting == "3R-1W")
    assert "on_event failed" in caplog.text


def test_with_three_replicas_there_is_nothing_to_switch_by_default_and_it_says_so_once(advise, caplog):
    adviser = advise(start="2R-2W", terms=Terms(dwell_s=0.0, fewest_per_s=0.0), pace=STILL)
    loaded(adviser)
    for _ in range(5):
        adviser.tick()
    assert adviser.setting == "2R-2W"
    said = [record for record in caplog.records if "there is nothing to switch" in record.getMessage()]
    assert len(said) == 1
    assert (said[0].name, said[0].levelname) == ("cassbook.advisor", "WARNING")


def test_a_setting_that_survives_nothing_is_left_for_quorum(advise):
    adviser = advise(start="1R-3W", terms=Terms(dwell_s=0.0), pace=BUSY["pace"])
    wait_until(lambda: adviser.setting == "2R-2W" and adviser.history[-1].epoch.arrived)
    assert [change.epoch.regime.name for change in adviser.history] == ["1R-3W", "2R-3W", "2R-2W"]


def test_while_a_node_is_missing_it_switches_by_hand_only_as_far_as_goes_without_a_sweep(advise):
    session = Session()
    fails_at_all(session)
    session.hosts = [SimpleNamespace(address="10.0.0.3", is_up=False)]
    events = []
    adviser = advise(session, start="3R-1W", on_event=events.append, **BUSY)
    loaded(adviser)
    wait_until(lambda: any("not up: 10.0.0.3" in event.reason for event in events))
    assert adviser.setting == "3R-1W"
    adviser.request_setting("2R-2W")
    wait_until(lambda: adviser.status().sweeping or adviser.sweep.failure)
    assert (adviser.setting, adviser.status().wanted) == ("3R-2W", "2R-2W")


def test_when_all_is_well_it_switches_for_speed(advise):
    session, events = Session(), []
    adviser = advise(session, start="3R-1W", on_event=events.append, **BUSY)
    wait_until(lambda: loaded(adviser) or any(event.kind == "switch" for event in events))
    (began,) = [event for event in events if event.kind == "switch"]
    assert began.reason.startswith("to 1R-3W: 1R-3W takes ")


def test_of_five_replicas_a_number_without_a_level_goes_at_all():
    session = Session(strategy=SimpleNamespace(replication_factor=5))
    five = LatencyMap(made_runs.run(noise=0.0, settings=strong_settings(5)), "five", 5)
    terms = Terms(survive=0)
    with Adviser(session, "shop", ["orders"], five, terms=terms, pace=Pace(interval_s=0.02)) as adviser:
        assert adviser.setting == "3R-3W"
        adviser.execute("SELECT * FROM t")
        assert session.sent[-1].level == QUORUM
        adviser.request_setting("5R-1W")
        wait_until(lambda: adviser.setting == "5R-1W")
        adviser.execute("UPDATE t SET a = 1 WHERE k = 1")
        assert session.sent[-1].level == ONE
        with pytest.raises(InputError, match=r"'2R-4W' .*5 replicas"):
            adviser.request_setting("2R-4W")


def fails_at_all(session):
    """Make requests at ALL fail as they do with a replica dead, and count the failures."""
    failed, send = [], session.execute_async

    def execute_async(statement, parameters=None, **options):
        if statement.consistency_level != ALL:
            return send(statement, parameters, **options)
        future = Future(statement)
        session.sent.append(future)
        failed.append(future)
        future.answer(Unavailable("x", required_replicas=3, alive_replicas=2))
        return future

    def execute(statement, *_, **__):  # of a sweep
        raise Unavailable("x", required_replicas=3, alive_replicas=2)

    session.execute_async, session.execute = execute_async, execute
    return failed


ZERO = {"terms": Terms(dwell_s=0.0, survive=0), "pace": Pace(interval_s=0.3, lease_s=30.0)}


def test_the_first_failed_reply_is_enough_to_leave_a_setting_that_the_living_cannot_serve(advise):
    session, events = Session(), []
    fails_at_all(session)
    adviser = advise(session, start="1R-3W", on_event=events.append, terms=ZERO["terms"], pace=STILL)
    with pytest.raises(Unavailable):
        adviser.execute("UPDATE t SET a = 1 WHERE k = 1")
    wait_until(lambda: adviser.setting == "2R-2W" and adviser.history[-1].epoch.arrived)
    assert [change.epoch.regime.name for change in adviser.history] == ["1R-3W", "2R-3W", "2R-2W"]
    adviser.execute("UPDATE t SET a = 1 WHERE k = 1")
    escapes = [event.reason for event in events if event.kind == "escape"]
    assert escapes[0] == "to 2R-2W: 2 of 3 replicas are alive, too few for 1R-3W"
    assert adviser.status().alive == 2


def test_who_leads_acts_on_a_dead_node_before_telling_of_it():
    register = InMemory()
    register.open(Epoch(0, Regime.settled(3, 1, 3), (1, 3)))
    member, load = Member("a", register, 3, 5.0, time.monotonic), Load(0.0, float("nan"), 0.0)
    member.tick(load, 3)
    assert member.tick(load, 2, leads=True).members["a"].alive == 2
    assert register.look().members["a"].alive == 3
    member.tick(load, 2)
    assert register.look().members["a"].alive == 2


def test_who_joins_while_a_node_is_missing_leaves_the_failing_setting_before_any_request_fails(advise):
    session = Session()
    dead(session, "10.0.0.3")
    adviser = advise(session, start="1R-3W", **ZERO)
    wait_until(lambda: adviser.setting == "2R-2W" and adviser.history[-1].epoch.arrived)


def test_it_goes_back_when_all_nodes_have_been_up_for_the_dwell_time(advise):
    session, events = Session(), []
    dead(session, "10.0.0.3")
    terms = Terms(dwell_s=0.2, survive=0)
    adviser = advise(session, start="1R-3W", on_event=events.append, terms=terms, pace=Pace(interval_s=0.05))
    wait_until(lambda: adviser.setting == "2R-2W" and adviser.history[-1].epoch.arrived)
    dead(session)
    wait_until(lambda: [event for event in events if event.kind == "switch"])
    (back,) = [event for event in events if event.kind == "switch"]
    assert back.reason == "to 1R-3W: all nodes have been up for 0.2 s: back to 1R-3W"


def test_from_3r_1w_there_is_no_safe_way_out_and_it_says_so_once(advise):
    session, events = Session(), []
    dead(session, "10.0.0.3")
    adviser = advise(session, start="3R-1W", on_event=events.append, terms=ZERO["terms"], pace=STILL)
    for _ in range(5):
        adviser.tick()
    assert [event.reason for event in events if event.kind == "escape"] == [
        "2 of 3 replicas are alive, too few for 3R-1W; reads have no safe way out until more are back, "
        "writes go on in 3R-1W"
    ]
    assert adviser.setting == "3R-1W"


def test_at_all_before_a_sweep_writes_are_lowered_and_go_on(advise):
    session = Session()
    dead(session, "10.0.0.3")
    adviser = advise(session, start=Regime(3, 3, 3, 1), terms=ZERO["terms"], pace=STILL)
    wait_until(lambda: adviser.tick() or adviser.setting == "3R-2W")
    adviser.request_setting("1R-3W")
    for _ in range(5):
        adviser.tick()
    assert adviser.setting == "3R-2W", "what was asked for waits for the node"


def test_reads_that_nobody_can_serve_fail_or_are_weaker_and_marked(advise):
    session = Session()
    dead(session, "10.0.0.3")
    fails_at_all(session)
    strict = advise(session, start="3R-1W", **ZERO)
    with pytest.raises(Unavailable):
        strict.execute("SELECT * FROM t")
    adviser = advise(session, start="3R-1W", on_unavailable="weaker", **ZERO)
    request = adviser.execute_async("SELECT * FROM t")
    assert not request.weaker
    assert request.result() == ["row"]
    assert request.weaker
    assert session.sent[-1].level == QUORUM
    write = adviser.execute_async("UPDATE t SET a = 1 WHERE k = 1")
    write.result()
    assert not write.weaker


def test_what_is_requested_and_cannot_be_served_waits_until_more_replicas_are_alive(advise):
    session, events = Session(), []
    dead(session, "10.0.0.3")
    adviser = advise(session, start="2R-2W", on_event=events.append, **ZERO)
    adviser.request_setting("3R-1W")  # the way there takes no sweep
    wait_until(lambda: any("waits until more replicas are alive" in event.reason for event in events))
    assert adviser.setting == "2R-2W"
    dead(session)
    wait_until(lambda: adviser.setting != "2R-2W")


def test_what_becomes_of_reads_is_one_of_two(advise):
    with pytest.raises(InputError, match=r"on_unavailable: 'guess' .*fail, weaker"):
        advise(on_unavailable="guess")
