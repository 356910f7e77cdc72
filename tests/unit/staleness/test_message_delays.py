"""MessageDelays out of traces whose times are known, and predictions from them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.staleness.from_traces import Traced, as_wars
from cassbook.staleness.message_delays import Asked, MessageDelays, asked_of, delays_of, events_of

NODES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
A, B, C = NODES


def write_events(session="w1", ask="MUTATION", answer="REQUEST_RESPONSE", suffix=""):
    """A write through A: sent at 100 us, 2 ms one way, 300 us inside; A's own at 150."""
    rows = [
        (A, 0, "Execute CQL3 prepared query"),
        (A, 140, "Adding to staleness memtable"),
        (A, 160, "Parsing nothing"),
    ]
    for far, way in ((B, 2000), (C, 5000)):
        rows += [
            (A, 100, f"Sending {ask} message to /{far}{suffix}"),
            (far, 10, f"{ask} message received from /{A}{suffix}"),
            (far, 200, "Adding to staleness memtable"), (far, 220, f"Enqueuing response to /{A}{suffix}"),
            (far, 310, f"Sending {answer} message to /{A}{suffix}"),
            (A, 100 + 2 * way + 300, f"{answer} message received from /{far}{suffix}"),
            (A, 100 + 2 * way + 350, f"Processing response from /{far}{suffix}"),
        ]  # fmt: skip
    return events_of((session, source, elapsed, activity) for source, elapsed, activity in rows)


def read_events(session="r1"):
    """A read of one replica, B, through C."""
    rows = [
        (C, 0, "Execute CQL3 prepared query"), (C, 50, f"reading data from /{B}"),
        (C, 80, f"Sending READ message to /{B}"),
        (B, 20, f"READ message received from /{C}"), (B, 100, "Executing single-partition query on staleness"),
        (B, 200, "Merging memtable contents"), (B, 240, "Read 1 live and 0 tombstone cells"),
        (B, 300, f"Enqueuing response to /{C}"), (B, 320, f"Sending REQUEST_RESPONSE message to /{C}"),
        (C, 80 + 2000 + 300, f"REQUEST_RESPONSE message received from /{B}"),
        (C, 80 + 2000 + 340, f"Processing response from /{B}"),
    ]  # fmt: skip
    return events_of((session, source, elapsed, activity) for source, elapsed, activity in rows)


WRITE = Asked("w1", "UPDATE", A, NODES, 12.0, 11.0)
READ = Asked("r1", "READ", C, NODES, 3.0, 2.6)


@pytest.mark.parametrize(
    ("ask", "answer", "suffix"),
    [("MUTATION", "REQUEST_RESPONSE", ""), ("MUTATION_REQ", "MUTATION_RSP", ":7000 message size 188 bytes")],
    ids=["2.1", "5.0"],
)
def test_a_write_is_followed_to_every_replica(ask, answer, suffix):
    delays, left_out = delays_of([WRITE], write_events(ask=ask, answer=answer, suffix=suffix))
    assert left_out == 0
    # at A between 0.140 and 0.160; at B sent 0.1 + way 2 + (0.210 - 0.010); at C 0.1 + 5 + 0.2
    assert delays.there_ms[0] == pytest.approx([0.15, 2.3, 5.3])
    assert delays.back_ms[0] == pytest.approx([0.16, 4.45, 10.45])
    assert delays.outside_ms == pytest.approx([1.0])
    assert delays.uncertain_ms[0] == pytest.approx([0.01] * 3)
    assert delays.coordinator.tolist() == [0]


def test_messages_without_a_verb_are_told_apart_by_where_they_go():
    """As Cassandra 1.2 says them."""
    events = write_events()
    events["activity"] = events["activity"].str.replace(r"(MUTATION|REQUEST_RESPONSE) message", "message", regex=True)
    events["activity"] = events["activity"].str.replace("^message", "Message", regex=True)
    delays, _ = delays_of([WRITE], events)
    known, _ = delays_of([WRITE], write_events())
    assert delays.there_ms == pytest.approx(known.there_ms)
    assert delays.back_ms == pytest.approx(known.back_ms)


def test_a_write_that_one_replica_hands_on_is_followed_by_way_of_it():
    """B is 2 ms from A and hands it on to C, 0.7 ms after the coming and 0.5 ms away, whose answer takes 2 ms."""
    every = write_events()
    far_from_a = every["activity"].str.contains(f"/{C}") & (every["source"] == A)
    at_c = every["source"] == C
    events = every[~far_from_a & ~at_c]
    handed_on = [
        (C, 10, f"MUTATION message received from /{B}"), (C, 200, "Adding to staleness memtable"),
        (C, 220, f"Enqueuing response to /{A}"), (C, 310, f"Sending REQUEST_RESPONSE message to /{A}"),
        (A, 100 + 2000 + 700 + 500 + 300 + 2000, f"REQUEST_RESPONSE message received from /{C}"),
        (A, 5650, f"Processing response from /{C}"),
    ]  # fmt: skip
    more = events_of(("w1", source, elapsed, activity) for source, elapsed, activity in handed_on)
    delays, left_out = delays_of([WRITE], pd.concat([events, more], ignore_index=True))
    assert left_out == 0
    # sent 0.1 + way 2 + 0.7 + way 0.5, then 0.210 - 0.010 until it is applied
    assert delays.there_ms[0] == pytest.approx([0.15, 2.3, 3.5])
    assert delays.back_ms[0, 2] == pytest.approx(5.65)


def test_a_read_asks_whom_it_asks():
    delays, left_out = delays_of([READ], read_events())
    assert left_out == 0
    assert delays.there_ms[0] == pytest.approx([np.inf, 0.08 + 1.0 + 0.22 - 0.02, np.inf])
    assert delays.back_ms[0] == pytest.approx([np.inf, 2.42, np.inf])


def test_a_trace_with_a_hole_is_left_out_and_counted():
    holes = write_events()
    holes = holes[~holes["activity"].str.startswith("Processing")]
    both = pd.concat([holes, write_events("w2")])
    delays, left_out = delays_of([WRITE, Asked("w2", "UPDATE", A, NODES, 12.0, 11.0)], both)
    assert (len(delays), left_out) == (1, 1)
    with pytest.raises(InputError, match="none of 1 is whole"):
        delays_of([WRITE], holes)


def made(there, back, coordinator=0, outside=0.0):
    there, back = np.atleast_2d(there).astype(float), np.atleast_2d(back).astype(float)
    m = len(there)
    last = np.where(np.isfinite(back), back, 0.0).max(axis=1)
    return MessageDelays(np.full(m, coordinator), there, back, np.zeros_like(there), last, last + outside)


def test_what_a_read_would_have_needed():
    writes = made([0, 2, 5], [0, 4, 10])
    read = made([np.inf, 1, np.inf], [np.inf, 2, np.inf], coordinator=2)
    for w, needed in ((1, 2 - 1 - 0), (2, 0.0), (3, 0.0)):
        assert Traced(writes, read, 1, w).needed_ms[0, 2] == pytest.approx(np.array([[needed]]))
    # two answers: the better of replicas 1 and 2
    two = made([np.inf, 1, 4.5], [np.inf, 2, 9], coordinator=2)
    assert Traced(writes, two, 2, 1).needed_ms[0, 2] == pytest.approx(0.5)
    with pytest.raises(InputError, match="asked fewer replicas"):
        Traced(writes, read, 2, 1)


def test_the_clients_way_is_taken_off():
    writes, read = (
        made([0, 2, 5], [0, 4, 10], outside=0.6),
        made([np.inf, np.inf, 1], [np.inf, np.inf, 2], 2, outside=0.4),
    )
    assert Traced(writes, read, 1, 1).needed_ms[0, 2] == pytest.approx(4 - 0.5)
    assert Traced(writes, read, 1, 1, by_client=False).needed_ms[0, 2] == pytest.approx(4)


def test_what_the_coordinator_does_after_the_last_answer_the_client_waits_for_too():
    writes, read = made([0, 2, 5], [0, 4, 10]), made([np.inf, np.inf, 1], [np.inf, np.inf, 2], 2)
    later = replace(writes, duration_ms=writes.duration_ms + 1.5, latency_ms=writes.latency_ms + 1.5)
    assert later.after_ms == pytest.approx([1.5])
    # Where its own replica's answer is the last, there is nobody to wake up.
    assert Traced(later, read, 1, 1).needed_ms[0, 2] == pytest.approx(4)
    far = made([np.inf, np.inf, 0], [np.inf, np.inf, 1], 2)
    slow = replace(later, there_ms=np.array([[0.0, 2.0, 9.0]]))
    assert Traced(slow, far, 1, 2).needed_ms[0, 2] == pytest.approx(9 - 4 - 1.5)
    assert Traced(slow, far, 1, 2, by_client=False).needed_ms[0, 2] == pytest.approx(9 - 4)


def test_what_tracing_costs_is_taken_off_as_well_as_it_is_known():
    writes = made(np.tile([0.0, 5.0], (50, 1)), np.tile([0.1, 9.0], (50, 1)))
    reads = made(np.tile([np.inf, 0.0], (50, 1)), np.tile([np.inf, 1.0], (50, 1)), coordinator=1)
    estimates = Traced(writes, reads, 1, 1, tracing_ms=Estimate(2.0, 1.0, 3.0, 3)).p_consistent_estimates(
        [1.5, 2.95, 4.0]
    )
    assert [estimate.value for estimate in estimates] == [0.0, 1.0, 1.0]
    assert [estimate.low for estimate in estimates] == pytest.approx([0.0, 0.0, 1.0])
    assert [estimate.high for estimate in estimates] == pytest.approx([0.0, 1.0, 1.0])


def test_what_follows_at_the_coordinators_own_replica_may_be_another_threads():
    """Its next event comes with the first answer, 4 ms later; the others apply within 20 us."""
    late = write_events()
    late = late[late["activity"] != "Parsing nothing"]
    delays, _ = delays_of([WRITE], late)
    assert delays.there_ms[0, 0] == pytest.approx(0.15)
    assert delays.back_ms[0, 0] == pytest.approx(0.16)
    assert delays.uncertain_ms[0] == pytest.approx([0.01] * 3)


def test_pairs_of_one_coordinator_do_not_count():
    writes = made([0, 2, 5], [0, 4, 10])
    looked_ms = np.array([[0.1, np.inf, np.inf], [np.inf, np.inf, 0.1]])
    reads = replace(made(looked_ms, looked_ms + 0.1), coordinator=np.array([0, 2]))
    traced = Traced(writes, reads, 1, 1)
    assert traced.pairs == [(0, 2)]
    assert traced.needed_ms[0, 2] == pytest.approx(4.9)
    assert traced.p_consistent(4.8) == 0.0
    assert traced.p_consistent(4.9 + 1e-9) == 1.0


def test_intervals_hold_the_truth():
    """Exponential arrivals at the second replica, which is all that reads ask."""
    random = np.random.default_rng(3)
    inside = 0
    for _ in range(40):
        late = random.exponential(10.0, 150)
        writes = made(np.c_[np.zeros(150), late], np.c_[np.zeros(150), late + 1])
        reads = made(np.tile([np.inf, 0.0], (150, 1)), np.tile([np.inf, 1.0], (150, 1)), coordinator=1)
        estimate = Traced(writes, reads, 1, 1).p_consistent_estimates([5.0])[0]
        inside += estimate.low <= 1 - np.exp(-0.5) <= estimate.high
    assert inside >= 33


def test_the_same_as_four_distributions():
    writes, reads = made([0, 2, 5], [0, 4, 10]), made([np.inf, 1, np.inf], [np.inf, 2, np.inf])
    four = as_wars(writes, [reads])
    w, a, r, s = ((delay.parts[0][1].samples).tolist() for delay in four.delays)
    assert (w, a, r, s) == ([0, 2, 5], [0, 2, 5], [1], [1])


def test_every_pair_of_coordinators_counts_alike():
    """Nine writes through node 0 that a read through 1 meets at once, one through 2 that it meets after 10 ms."""
    there = np.array([[0.0, 0.0, 0.0]] * 9 + [[10.0, 10.0, 0.0]])
    writes = replace(made(there, there + 0.1), coordinator=np.array([0] * 9 + [2]))
    reads = made([np.inf, 0.0, np.inf], [np.inf, 0.1, np.inf], coordinator=1)
    traced = Traced(writes, reads, 1, 1)
    assert traced.p_consistent(1.0) == 0.5
    assert traced.of_pair(np.array([1.0]), 0, 1)[0] == 1.0
    assert traced.t_visibility(0.5) == 0.0
    assert traced.t_visibility(0.51) == pytest.approx(9.9)
    with pytest.raises(InputError, match=r"node 1 .*node 1"):
        traced.of_pair(np.array([1.0]), 1, 1)


def test_what_a_trace_leaves_open_widens_the_interval():
    writes = made(np.tile([0.0, 5.0], (50, 1)), np.tile([0.1, 9.0], (50, 1)))
    writes = replace(writes, uncertain_ms=np.tile([0.0, 1.0], (50, 1)))
    reads = made(np.tile([np.inf, 0.0], (50, 1)), np.tile([np.inf, 1.0], (50, 1)), coordinator=1)
    estimates = Traced(writes, reads, 1, 1).p_consistent_estimates([3.5, 4.5, 6.5])
    assert [estimate.low for estimate in estimates] == pytest.approx([0.0, 0.0, 1.0])
    assert [estimate.high for estimate in estimates] == pytest.approx([0.0, 1.0, 1.0])


def test_legs_come_back_from_a_table():
    delays, _ = delays_of([READ], read_events())
    back = MessageDelays.of_table(delays.table())
    assert back.there_ms == pytest.approx(delays.there_ms, abs=1e-3)
    assert back.latency_ms == pytest.approx(delays.latency_ms)
    assert back.coordinator.tolist() == delays.coordinator.tolist()


def test_a_request_without_a_duration_is_left_out():
    row = {"kind": "UPDATE", "coordinator": 0, "key": "k", "latency_ms": 12.0}
    traced = pd.DataFrame([row | {"session_id": "w1"}, row | {"session_id": "w2"}])
    assert asked_of(traced, [11_000, None], [A], {"k": NODES}) == [WRITE]
