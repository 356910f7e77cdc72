"""The light path against a server of known delays: latencies, outcomes, time-outs, lost connections, pacing."""

import itertools
from collections import Counter

import numpy as np
import pytest

from cassbook.bench import stub
from cassbook.bench.own_error import StubNodes, measure, stub_loop
from cassbook.core import schema
from cassbook.lab.load import wire
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.pacing import PacedLoop
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, RMW, UPDATE, Request

#: Of a busy machine: a process that is ready may wait so long for a processor.
SCHEDULING_US = 3000
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


@pytest.mark.parametrize("delay_ms", [0, 1, 10])
@pytest.mark.parametrize("threads", [1, 50])
def test_latency_is_the_servers_delay_and_little_more(delay_ms, threads):
    found = measure(delay_ms, threads, steady_s=0.5)
    assert found["wrong"] == 0
    assert found["operations"] > 20
    assert -50 < found["error_p50_us"] < SCHEDULING_US
    assert found["client_mean_us"] >= 1000 * delay_ms


def test_what_waits_in_the_kernel_of_nagle_is_not_there(nodes):
    """With Nagle's algorithm on, bursts of several requests took twice the delay."""
    note = Note()
    with stub.stub(20) as (port, _):
        stub_loop(nodes(port), 20, stub.READS, note).run(Bound(0.1, 0.4), Window())
    assert np.median(note.latency_us) < 30_000


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


def test_an_answer_that_comes_after_the_time_out_is_nobodys(nodes):
    """The delay is longer than the time-out: each request is given up, and each answer comes all the same."""
    note = Note()
    with stub.stub(1500) as (port, took):
        loop = stub_loop(nodes(port), 3, stub.READS, note, timeout_s=0.3)
        loop.run(Bound(0.1, 2.5), Window())
    assert set(note.outcomes) == {"client_timeout"}
    assert note.latency_us.max() < 1_400_000  # given up by the house-keeping, not by a late answer
    assert took["answered"] > 0


def test_a_lost_connection_is_counted_and_opened_again(nodes):
    note = Note()
    encoded = [wire.value(b"user%d" % n) for n in range(10)]
    requests = itertools.cycle([Request(0, 0, key, key) for key in encoded])
    hang_up = itertools.repeat(Request(0, 0, KEY, None))
    prefixes = [[wire.execute_prefix(statement, "ONE", 1)] for statement in (stub.READS, stub.HANGS_UP)]
    kinds = itertools.cycle([READ] * 500 + [UPDATE])
    with stub.stub(1) as (port, _):
        loop = ClosedLoop(nodes(port), 20, kinds, [requests, hang_up], prefixes, note, 12.0)
        loop.run(Bound(0.1, 2.0), Window())
    assert set(note.outcomes) == {"ok", "connection_lost"}
    lost_at = [row[0] for row in note.rows if schema.OUTCOMES[row[3]] == "connection_lost"]
    assert any(row[0] > min(lost_at) and row[3] == schema.OK for row in note.rows)


def test_read_modify_write_is_one_operation_of_two_round_trips(nodes):
    note = Note()
    then = Request(0, 0, KEY, None)
    requests = itertools.repeat(Request(0, 0, KEY, KEY, 1, then))
    prefixes = [[wire.execute_prefix(s, "ONE", 1)] for s in (stub.READS, stub.WRITES, b"", b"", stub.READS)]
    with stub.stub(10) as (port, took):
        kinds, nothing = itertools.repeat(RMW), iter(())
        loop = ClosedLoop(nodes(port), 5, kinds, [nothing] * 4 + [requests], prefixes, note, 12.0)
        loop.run(Bound(0.1, 0.4), Window())
    assert set(note.outcomes) == {"ok"}
    assert {row[2] for row in note.rows} == {RMW}
    assert 20_000 <= np.median(note.latency_us) < 20_000 + 2 * SCHEDULING_US
    assert took["answered"] > 1.5 * len(note.rows) * 0.4  # after the ramp, two answers an operation


def paced(nodes, threads, rate_per_s, note):
    requests = itertools.repeat(Request(0, 0, KEY, KEY))
    prefixes = [[wire.execute_prefix(stub.READS, "ONE", 1)]]
    return PacedLoop(nodes, threads, itertools.repeat(READ), [requests], prefixes, note, 12.0, rate_per_s=rate_per_s)


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
    assert np.median(late_us) < SCHEDULING_US


def test_a_server_too_slow_for_the_rate_shows_in_response_time_only(nodes):
    """Five in flight at 10 ms are 500 a second; at 1000 a second each request waits longer than the one before."""
    note = Note()
    with stub.stub(10) as (port, _):
        paced(nodes(port), 5, 1000.0, note).run(Bound(0.1, 0.6), Window())
    rows = np.array(sorted(note.rows, key=lambda row: row[5]))
    service_us, waited_us = rows[:, 1] * 1e6, (rows[:, 0] - rows[:, 5]) * 1e6
    assert np.median(service_us) < 10_000 + SCHEDULING_US
    steady = rows[:, 5] < rows[0, 5] + 0.6
    assert waited_us[steady][-1] > 200_000
    assert np.corrcoef(rows[steady, 5], waited_us[steady])[0, 1] > 0.95
