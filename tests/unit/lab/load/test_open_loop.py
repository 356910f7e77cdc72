"""The open loop against a stub: what became of all that was due, its slots, its draws and its alarm."""

import gc
import itertools
import time
import weakref
from collections import Counter

import numpy as np
import pytest

from cassbook.bench import stub
from cassbook.bench.own_error import StubNodes
from cassbook.core import schema
from cassbook.lab.load import wire
from cassbook.lab.load.alarm import CoarseAlarm, alarm
from cassbook.lab.load.arrivals import Arrivals
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.open_loop import OpenLoop
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, UPDATE, Request
from tests.helpers.stub_service import stub_service
from tests.helpers.waiting import wait_until

KEY = wire.value(b"user1")


@pytest.fixture
def nodes():
    """Connects to a port; closed when the test ends."""
    made = []

    def connect(port):
        made.append(StubNodes(port))
        return made[-1]

    yield connect
    for each in made:
        each.close()


class Rows(list):
    """Records of a loop, and what is read off them."""

    def note(self, *row):
        self.append(row)

    def table(self, window=None):
        """Columns started, latency, operation, outcome, node, intended, slice, in the order in which they were due."""
        rows = np.array(sorted(self, key=lambda row: row[5]))
        return rows if window is None else rows[(rows[:, 5] >= window.steady_from) & (rows[:, 5] < window.steady_to)]


def open_loop(nodes, threads, arrivals, rows, statement=stub.READS, timeout_s=12.0, drawn=None):
    requests = itertools.repeat(Request(0, 0, KEY, KEY if statement == stub.READS else None))
    prefixes = [[wire.execute_prefix(statement, "ONE", 1)]]
    return OpenLoop(
        nodes, threads, itertools.repeat(READ), [requests], prefixes, rows.note, timeout_s,
        arrivals=arrivals, drawn=drawn,
    )  # fmt: skip


# What is due


def counted_on(rows, window, outcome):
    """Check that what was due was answered, failed, is in flight or was never sent; return outcomes by name."""
    by_kind = Counter(schema.OUTCOMES[int(outcome)] for outcome in rows.table(window)[:, 3]) if rows else Counter()
    due = outcome.due
    assert due.n_due == sum(by_kind.values()) + due.n_in_flight + due.n_unsent
    assert due.n_due > 0
    return by_kind


def expected(arrivals, lead_in_s, steady_s):
    """How many are due in what counts; one at an edge may be either side of it."""
    due_s = np.array(list(itertools.takewhile(lambda at: at < lead_in_s + steady_s + 1, arrivals.due_s())))
    return np.count_nonzero((due_s >= lead_in_s) & (due_s < lead_in_s + steady_s))


@pytest.mark.parametrize("kind", ["poisson", "even"])
def test_all_that_is_due_is_answered(nodes, kind):
    rows, window, arrivals = Rows(), Window(), Arrivals(kind, 400.0, (1,))
    with stub.stub(1) as (port, _):
        outcome = open_loop(nodes(port), 500, arrivals, rows).run(Bound(0.2, 0.8), window)
    assert set(counted_on(rows, window, outcome)) == {"ok"}
    assert abs(outcome.due.n_due - expected(arrivals, 0.2, 0.8)) <= 1
    assert (outcome.due.n_unsent, outcome.due.n_in_flight) == (0, 0)
    assert len(outcome.due.late_s) + outcome.due.n_waited == outcome.due.n_due
    assert outcome.due.late_s.min() >= 0


def test_failures_are_counted_by_kind(nodes):
    rows, window, arrivals = Rows(), Window(), Arrivals("poisson", 400.0, (2,))
    with stub.stub(1) as (port, _):
        outcome = open_loop(nodes(port), 500, arrivals, rows, stub.FAILS).run(Bound(0.2, 0.8), window)
    assert set(counted_on(rows, window, outcome)) == {"unavailable"}
    assert abs(outcome.due.n_due - expected(arrivals, 0.2, 0.8)) <= 1


def test_silence_is_a_time_out_each_and_no_more_is_sent_than_was_due(nodes):
    rows, window, arrivals = Rows(), Window(), Arrivals("poisson", 200.0, (3,))
    with stub.stub(1) as (port, _):
        loop = open_loop(nodes(port), 4096, arrivals, rows, stub.KEEPS_SILENT, timeout_s=0.5)
        outcome = loop.run(Bound(0.2, 0.8), window)
    assert set(counted_on(rows, window, outcome)) == {"client_timeout"}
    assert outcome.due.n_unsent == 0
    intended = rows.table()[:, 5]
    assert len(np.unique(intended)) == len(intended)  # each that was due left once
    due_s = np.array(list(itertools.islice(arrivals.due_s(), len(intended))))
    assert intended - intended[0] == pytest.approx(due_s - due_s[0], abs=1e-6)
    assert rows.table()[:, 1].min() >= 0.5


def test_a_lost_connection_loses_what_was_on_it_and_the_load_goes_on(nodes):
    rows, window = Rows(), Window()
    hang_up, read = Request(0, 0, KEY, None), Request(0, 0, KEY, KEY)
    prefixes = [[wire.execute_prefix(statement, "ONE", 1)] for statement in (stub.READS, stub.HANGS_UP)]
    with stub.stub(1) as (port, _):
        kinds = itertools.cycle([READ] * 100 + [UPDATE])
        loop = OpenLoop(
            nodes(port), 500, kinds, [itertools.repeat(read), itertools.repeat(hang_up)], prefixes, rows.note, 12.0,
            arrivals=Arrivals("poisson", 200.0, (4,)),
        )  # fmt: skip
        outcome = loop.run(Bound(0.2, 2.5), window)
    assert set(counted_on(rows, window, outcome)) == {"ok", "connection_lost"}


def test_an_overloaded_service_answers_some_and_the_rest_was_never_sent(nodes):
    rows, window, arrivals = Rows(), Window(), Arrivals("poisson", 1000.0, (5,))
    with stub_service(ONE=200.0) as port:
        outcome = open_loop(nodes(port), 20, arrivals, rows).run(Bound(0.05, 0.5), window)
    assert set(counted_on(rows, window, outcome)) == {"ok"}
    assert abs(outcome.due.n_due - expected(arrivals, 0.05, 0.5)) <= 1
    assert outcome.due.n_unsent > 0.3 * outcome.due.n_due
    assert outcome.due.n_waited > 0.9 * outcome.due.n_due


def test_what_was_due_is_sent_no_longer_than_the_patience(nodes):
    """Five times as much is due as is answered: two fifths in twice the window, fewer in a second more."""
    with stub_service(ONE=100.0) as port:
        loop = open_loop(nodes(port), 20, Arrivals("poisson", 500.0, (5,)), Rows())
        outcome = loop.run(Bound(0.05, 4.0, patience_s=1.0), Window())
    assert outcome.due.n_unsent > 0.65 * outcome.due.n_due


def test_too_few_slots_are_counted_and_what_waited_is_not_called_late(nodes):
    rows, window = Rows(), Window()
    with stub.stub(20) as (port, _):
        outcome = open_loop(nodes(port), 2, Arrivals("poisson", 80.0, (6,)), rows).run(Bound(0.2, 2.0), window)
    assert set(counted_on(rows, window, outcome)) == {"ok"}
    due = outcome.due
    assert due.n_waited > 0.2 * due.n_due  # two for 20 ms each at 80 a second: Erlang's C is 0.71
    assert len(due.late_s) + due.n_waited == due.n_due
    assert (rows.table()[:, 0] >= rows.table()[:, 5]).all()


def test_an_error_in_making_requests_ends_the_loop(nodes):
    def requests():
        yield from itertools.repeat(Request(0, 0, KEY, KEY), 20)
        raise RuntimeError("no key")

    prefixes = [[wire.execute_prefix(stub.READS, "ONE", 1)]]
    with stub.stub(1) as (port, _):
        loop = OpenLoop(
            nodes(port), 20, itertools.repeat(READ), [requests()], prefixes, Rows().note, 12.0,
            arrivals=Arrivals("even", 200.0),
        )  # fmt: skip
        with pytest.raises(RuntimeError, match="no key"):
            loop.run(Bound(0.2, 30.0), Window())


def test_what_is_never_asked_for_was_due_all_the_same(nodes):
    """Requests that run out, as an event loop that comes to nothing, are no reason to count less."""
    rows, window, arrivals = Rows(), Window(), Arrivals("poisson", 300.0, (7,))
    requests = iter([Request(0, 0, KEY, KEY)] * 100)
    prefixes = [[wire.execute_prefix(stub.READS, "ONE", 1)]]
    with stub.stub(1) as (port, _):
        loop = OpenLoop(
            nodes(port), 20, itertools.repeat(READ), [requests], prefixes, rows.note, 12.0, arrivals=arrivals
        )
        outcome = loop.run(Bound(0.1, 0.9), window)
    assert len(rows) == 100
    counted_on(rows, window, outcome)
    assert abs(outcome.due.n_due - expected(arrivals, 0.1, 0.9)) <= 1


def test_runs_of_one_seed_ask_the_same_at_the_same_times(nodes):
    """Settings in turn meet the same draw: kinds, keys and times, lead-in and all."""
    rng, drawn, asked, times = np.random.default_rng(1), [], [], []
    encoded = [wire.value(b"user%d" % n) for n in range(100)]

    def keys():
        while True:
            key = encoded[rng.integers(100)]
            yield Request(0, 0, key, key)

    def kinds():
        while True:
            yield int(rng.integers(2))

    prefixes = [[wire.execute_prefix(statement, "ONE", 1)] for statement in (stub.READS, stub.READS)]
    with stub.stub(1) as (port, _):
        for length_s in (0.4, 0.8, 0.4):
            rows = Rows()
            loop = OpenLoop(
                nodes(port), 50, kinds(), [keys(), keys()], prefixes, rows.note, 12.0,
                arrivals=Arrivals("poisson", 300.0, (8,)), drawn=drawn,
            )  # fmt: skip
            own, following = [], loop.next_request
            loop.next_request = lambda own=own, following=following: own.append(following()) or own[-1]
            loop.run(Bound(0.1, length_s), Window())
            asked.append(own)
            times.append(rows.table()[:, 5] - loop._begun)
    shared = min(len(own) for own in asked)
    assert shared > 100
    assert asked[0][:shared] == asked[1][:shared] == asked[2][:shared]
    assert len({request.tail for _, request in asked[0]}) > 20
    shared = min(len(own) for own in times)
    assert times[0][:shared] == pytest.approx(times[1][:shared], abs=1e-6)
    assert times[0][:shared] == pytest.approx(times[2][:shared], abs=1e-6)


# Alarms


def test_a_loop_that_is_over_is_not_kept(nodes):
    """All that its requests were would stay with it, and each collection go through that."""
    with stub.stub(1) as (port, _):
        to = nodes(port)
        over = [open_loop(to, 8, Arrivals("poisson", 500, (1,)), Rows()) for _ in range(2)]
        for loop in over:
            loop.run(Bound(0.0, 0.2, arrivals=Arrivals("poisson", 500, (1,))), Window())
        first, _ = map(weakref.ref, over)
        del over, loop
        gc.collect()
        assert first() is None


@pytest.fixture(params=["precise", "coarse"])
def ringing(request, nodes):
    """An alarm that notes when it rang, and how to have something done in the event loop's thread."""
    rang = []
    with stub.stub(0) as (port, _):
        connected = nodes(port)
        make = alarm if request.param == "precise" else CoarseAlarm
        made = make(connected.create_timer, lambda: rang.append(time.perf_counter()))
        yield made, rang, connected.create_timer
        made.close()


def set_to(made, create_timer, *moments):
    """Set an alarm to each of the moments, from the event loop's thread; return when that is done."""
    done = []
    create_timer(0.0, lambda: done.append([made.at(moment) for moment in moments]))
    wait_until(lambda: done)


def test_an_alarm_rings_once_and_not_before_the_moment(ringing):
    made, rang, create_timer = ringing
    for _ in range(20):
        rang.clear()
        moment = time.perf_counter() + 0.01
        set_to(made, create_timer, moment)
        wait_until(lambda: rang)
        assert rang[0] >= moment - (0.002 if isinstance(made, CoarseAlarm) else 0.0)
    time.sleep(0.05)
    assert len(rang) == 1
    assert made.lags.mean_us >= (-2000 if isinstance(made, CoarseAlarm) else 0)


@pytest.mark.parametrize("first_s", [0.05, 30.0])
def test_a_moment_takes_the_place_of_another(ringing, first_s):
    made, rang, create_timer = ringing
    now = time.perf_counter()
    set_to(made, create_timer, now + first_s, now + 0.3)
    wait_until(lambda: rang)
    assert rang[0] >= now + 0.298
    assert len(rang) == 1


def test_a_moment_that_is_past_rings_at_once(ringing):
    made, rang, create_timer = ringing
    set_to(made, create_timer, time.perf_counter() - 1)
    wait_until(lambda: rang)
    assert len(rang) == 1


def test_a_closed_alarm_rings_no_more(ringing, nodes):
    _, rang, create_timer = ringing
    for make in (alarm, CoarseAlarm):
        closed = make(create_timer, lambda: rang.append("closed"))
        set_to(closed, create_timer, time.perf_counter() + 0.1)
        closed.close()
    time.sleep(0.3)
    assert rang == []
