"""The light path against a server of known delays: latencies, outcomes, time-outs, lost connections, pacing.

No verdict is by how fast the machine is: what the client noted is held against what the server noted on the same clock,
or against the delay, below which no latency can be.
"""

import itertools
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest

from cassbook.bench import stub
from cassbook.bench.own_error import StubNodes, measure, stub_loop
from cassbook.core import schema
from cassbook.lab.load import wire
from cassbook.lab.load.arrivals import Arrivals
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.open_loop import OpenLoop
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, RMW, UPDATE, Request
from tests.helpers.waiting import wait_until

KEY = wire.value(b"user1")


class Note:
    """Samples as tuples, by name."""

    def __init__(self):
        self.rows = []

    def __call__(self, *row):
        self.rows.append(row)

    @property
    def latency_us(self):
        return np.array([row[1] for row in self.rows]) * 1e6

    @property
    def outcomes(self):
        return Counter(schema.OUTCOMES[row[3]] for row in self.rows)


@pytest.fixture
def nodes():
    opened = []

    def to(port):
        opened.append(StubNodes(port))
        return opened[-1]

    yield to
    for one in opened:
        one.close()


@contextmanager
def serving(delay_ms):
    """The server as a thread of this process, with what it notes of each request."""
    server, (ours, theirs) = stub.Stub(delay_ms / 1000), socket.socketpair()
    thread = threading.Thread(target=server.serve, args=(theirs,))
    with ours, theirs:
        thread.start()
        try:
            yield server
        finally:
            ours.send(b"end")
            thread.join()


@pytest.mark.parametrize("delay_ms", [0, 1, 10])
@pytest.mark.parametrize("threads", [1, 50])
def test_latency_is_from_before_the_server_reads_to_after_it_answers(nodes, delay_ms, threads):
    note = Note()
    with serving(delay_ms) as server:
        stub_loop(nodes(server.port), threads, stub.READS, note).run(Bound(0.0, None, 20), Window())
    assert note.outcomes == {"ok": 20 * threads}
    rows = np.array(note.rows)
    began, ended = np.sort(rows[:, 0]), np.sort(rows[:, 0] + rows[:, 1])
    came, took_s = np.array(server.came), np.array(server.took_s)
    assert len(came) == len(began)
    assert (began <= np.sort(came)).all()  # all on one connection, which keeps their order
    assert (np.sort(came + took_s) <= ended + 1e-9).all()
    assert note.latency_us.min() >= 1000 * delay_ms
    if threads == 1:  # and nothing of the request before is in it
        assert (began[1:] >= ended[:-1] - 1e-9).all()


def test_the_own_error_is_what_the_client_took_less_the_server():
    row = measure(1.0, 10, steady_s=0.5)
    assert row["wrong"] == 0
    assert row["operations"] > 0
    assert min(row["client_mean_us"], row["server_mean_us"]) >= 1000
    assert row["error_mean_us"] == row["client_mean_us"] - row["server_mean_us"]


def test_nothing_waits_in_the_kernel_for_an_acknowledgement(nodes):
    """With Nagle's algorithm on, bursts of several requests took twice the delay."""
    with serving(0) as server:
        ((connection,),) = nodes(server.port).connections
        assert connection._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_every_thread_has_one_request_in_flight(nodes):
    note = Note()
    with stub.stub(5) as (port, _):
        outcome = stub_loop(nodes(port), 40, stub.READS, note).run(Bound(0.1, 0.5), Window())
    events = sorted([(row[0], 1) for row in note.rows] + [(row[0] + row[1], -1) for row in note.rows])
    in_flight = np.cumsum([step for _, step in events])
    assert in_flight.max() == 40
    assert outcome.operations == len(note.rows)


@pytest.mark.parametrize(
    ("statement", "outcome"), [(stub.WRITES, "ok"), (stub.WARNS, "ok"), (stub.FAILS, "unavailable")]
)
def test_answers_are_told_apart(nodes, statement, outcome):
    note = Note()
    with stub.stub(0) as (port, _):
        stub_loop(nodes(port), 4, statement, note).run(Bound(0.05, 0.1), Window())
    assert set(note.outcomes) == {outcome}


def test_a_request_that_is_not_answered_is_given_up(nodes):
    note = Note()
    with stub.stub(0) as (port, _):
        loop = stub_loop(nodes(port), 3, stub.KEEPS_SILENT, note, timeout_s=0.2)
        loop.run(Bound(0.1, 1.5), Window())
    assert set(note.outcomes) == {"client_timeout"}
    assert note.latency_us.min() >= 200_000


def by_then(reached):
    """A bound: until something is so, or a minute is over, which is a failure."""
    deadline = time.monotonic() + 60
    return Bound(until=lambda _: reached() or time.monotonic() > deadline)


def test_an_answer_that_comes_after_the_time_out_is_nobodys(nodes):
    """Nothing is answered until three requests have been given up; then everything is, theirs too."""
    note = Note()

    def some_answered():
        if len(note.rows) >= 3:
            server.delay_s = 0.0
        return note.outcomes["ok"] > 20

    with serving(1e6) as server:
        loop = stub_loop(nodes(server.port), 3, stub.READS, note, timeout_s=0.3)
        outcome = loop.run(by_then(some_answered), Window())
        wait_until(lambda: len(server.came) >= outcome.operations)  # the last may have been given up before
    assert note.outcomes["ok"] > 20
    assert note.outcomes["client_timeout"] >= 3
    assert set(note.outcomes) == {"ok", "client_timeout"}
    assert len(server.came) == outcome.operations == len(note.rows)  # each settled once, and all of them answered


def test_a_lost_connection_is_counted_and_opened_again(nodes):
    note = Note()
    encoded = [wire.value(b"user%d" % n) for n in range(10)]
    requests = itertools.cycle([Request(0, 0, key, key) for key in encoded])
    hang_up = itertools.repeat(Request(0, 0, KEY, None))
    prefixes = [[wire.execute_prefix(statement, "ONE", 1)] for statement in (stub.READS, stub.HANGS_UP)]
    kinds = itertools.cycle([READ] * 500 + [UPDATE])

    def answered_again():
        rows = list(note.rows)
        lost_at = [row[0] for row in rows if schema.OUTCOMES[row[3]] == "connection_lost"]
        return any(row[0] > min(lost_at, default=np.inf) and row[3] == schema.OK for row in rows)

    with stub.stub(1) as (port, _):
        loop = ClosedLoop(nodes(port), 20, kinds, [requests, hang_up], prefixes, note, 12.0)
        loop.run(by_then(answered_again), Window())
    assert answered_again()
    assert set(note.outcomes) == {"ok", "connection_lost"}


def test_read_modify_write_is_one_operation_of_two_round_trips(nodes):
    note = Note()
    then = Request(0, 0, KEY, None)
    requests = itertools.repeat(Request(0, 0, KEY, KEY, 1, then))
    prefixes = [[wire.execute_prefix(s, "ONE", 1)] for s in (stub.READS, stub.WRITES, b"", b"", stub.READS)]
    with serving(10) as server:
        kinds, nothing = itertools.repeat(RMW), iter(())
        loop = ClosedLoop(nodes(server.port), 5, kinds, [nothing] * 4 + [requests], prefixes, note, 12.0)
        loop.run(Bound(0.0, None, 20), Window())
    assert note.outcomes == {"ok": 100}
    assert {row[2] for row in note.rows} == {RMW}
    assert len(server.came) == 200
    assert note.latency_us.min() >= 20_000


def paced(nodes, threads, rate_per_s, note):
    requests = itertools.repeat(Request(0, 0, KEY, KEY))
    prefixes = [[wire.execute_prefix(stub.READS, "ONE", 1)]]
    arrivals = Arrivals("even", rate_per_s)
    return OpenLoop(nodes, threads, itertools.repeat(READ), [requests], prefixes, note, 12.0, arrivals=arrivals)


def test_paced_requests_start_at_the_rate_asked_for(nodes):
    note = Note()
    with stub.stub(1) as (port, _):
        window = Window()
        paced(nodes(port), 20, 500.0, note).run(Bound(0.2, 1.0), window)
    intended = np.array(sorted(row[5] for row in note.rows))
    assert np.allclose(np.diff(intended), 1 / 500)
    steady = (intended >= window.steady_from) & (intended < window.steady_to)
    assert abs(steady.sum() - 500) <= 1
    late_us = np.array([row[0] - row[5] for row in note.rows]) * 1e6
    assert late_us.min() >= 0


def test_a_server_too_slow_for_the_rate_shows_in_response_time_only(nodes):
    """Five in flight at 10 ms are 500 a second; at 1000 a second each request waits longer than the one before."""
    note = Note()
    with stub.stub(10) as (port, _):
        paced(nodes(port), 5, 1000.0, note).run(Bound(0.1, 0.6), Window())
    rows = np.array(sorted(note.rows, key=lambda row: row[5]))
    service_us, waited_us = rows[:, 1] * 1e6, (rows[:, 0] - rows[:, 5]) * 1e6
    steady = rows[:, 5] < rows[0, 5] + 0.6
    assert service_us.min() >= 10_000
    # No machine makes the server faster: of requests in order, the one after k is sent after k // 5 times 10 ms.
    order = np.arange(steady.sum())
    floor_us = (order // 5 - 1) * 10_000 - order * 1000
    assert steady.sum() > 100
    assert (waited_us[steady] > floor_us).all()
    assert waited_us[steady][-1] > 5 * np.median(service_us)


def test_a_rate_that_is_far_too_high_ends_all_the_same(nodes):
    """Five in flight at 10 ms are 500 a second: of 50,000 that are due in the window few are ever sent."""
    note, window = Note(), Window()
    with stub.stub(10) as (port, _):
        paced(nodes(port), 5, 50_000.0, note).run(Bound(0.1, 0.3), window)
    rows = np.array(note.rows)
    assert rows[:, 0].max() < window.steady_to + 1.5
    assert 100 < len(rows) < 1000
    assert (rows[:, 5] < window.steady_to).all()
