"""What a turn of the probe shows, and rows of a service's own tables."""

import struct
from types import SimpleNamespace

import pandas as pd
import pytest
from cassandra.cqltypes import _cqltypes

from cassbook.lab.load import own_rows, values
from cassbook.lab.load.own_rows import OwnRows, Target
from cassbook.lab.load.staleness_probe import History, Panel
from cassbook.lab.run import side_probe
from cassbook.lab.run.side_probe import counts, tracing_ms

NO_TRACES = pd.DataFrame()


def KEY(number):
    return struct.pack(">ii", 4, number)


def test_reads_are_counted_by_whether_another_coordinator_wrote():
    writes = pd.DataFrame(
        [("t:0", 1, 0.0, 0.1), ("t:0", 2, 1.0, 1.1), ("t:1", 1, 0.0, 0.1)],
        columns=["key", "version", "sent_s", "acked_s"],
    )
    reads = pd.DataFrame(
        [("t:0", 0.2, 0.3, 1, 0, 1), ("t:0", 1.2, 1.3, 1, 0, 1), ("t:1", 0.2, 0.3, 1, 2, 2)],
        columns=["key", "sent_s", "returned_s", "version", "writer", "reader"],
    )
    assert counts(History(writes, reads, 4, NO_TRACES)) == {"other": [1, 2], "same": [0, 1], "lost": 4}


def test_half_of_the_reads_go_through_the_coordinator_of_their_write():
    panel = Panel("ONE", "ONE", (10.0,), same=True)
    assert sorted(hop for _, hop in panel.ways(3)) == [0, 0, 1, 2]
    assert panel.ways(1) == [(10.0, 0)]
    assert Panel("ONE", "ONE", (10.0,)).ways(1) == []


def test_an_own_row_knows_its_version_by_the_time_of_its_write():
    target = Target("b", "a", b"W" * 16, b"R" * 16, b"\0\0\0\4\0\0\0\0", (KEY,), 1)
    row = OwnRows([target]).row(7, "ONE", "QUORUM")
    body = row.write(3, 1_000_000)
    assert body.endswith(struct.pack(">ii", 4, 7))
    assert struct.pack(">iq", 8, 1_000_000) in body
    answer = struct.pack(">iiii", 2, 4, 1, 1) + struct.pack(">iq", 8, 1_000_000)
    assert row.seen(answer) == 3
    assert row.seen(struct.pack(">iiii", 2, 4, 1, 0)) == 0
    assert row.name == "b:7"


def test_a_rows_token_is_made_of_its_partition_key_as_the_driver_has_it():
    one, two = (Target("b", "a", b"", b"", b"", (KEY, KEY, KEY), parts) for parts in (1, 2))
    assert OwnRows([one]).routing_key("b:7") == struct.pack(">i", 7)
    part = struct.pack(">Hi", 4, 7) + b"\0"
    assert OwnRows([one, two]).routing_key("b:7") == part + part


def test_half_of_what_tracing_adds_to_reads_is_taken_for_its_cost():
    reads = pd.DataFrame({"sent_s": [0.0, 1.0], "returned_s": [0.002, 1.004]})
    traced = pd.DataFrame({"kind": ["READ", "UPDATE"], "latency_ms": [4.0, 100.0]})
    cost = tracing_ms(History(pd.DataFrame(), reads, 0, traced))
    assert (cost.low, cost.value, cost.high) == pytest.approx((0.0, 0.5, 1.0))
    faster = tracing_ms(History(pd.DataFrame(), reads, 0, traced.assign(latency_ms=1.0)))
    assert (faster.value, faster.high) == (0.0, 0.0)


@pytest.mark.parametrize("kind", own_rows._FIRST)
def test_keys_of_probers_are_values_of_their_type_and_none_that_a_load_draws(kind):
    encode, probers = _cqltypes[kind].to_binary, range(100)
    theirs = {encode(values.FROM_NUMBER[kind](n, "{}"), 4) for n in probers}
    ours = {encode(own_rows.value_of(kind, n), 4) for n in probers}
    assert len(ours) == len(probers)
    assert not ours & theirs


def test_probers_ask_the_nodes_that_the_load_asks(monkeypatch):
    closed = []

    class Connected:
        def __init__(self, session, addresses):
            self.addresses = addresses

        def nearest(self):
            return 1

        def close(self):
            closed.append(self)

    monkeypatch.setattr(side_probe, "Nodes", Connected)
    centres = {"10.0.0.1": "west", "10.0.0.2": "east", "10.0.0.3": "east"}
    session = SimpleNamespace(hosts=[SimpleNamespace(address=one, datacenter=of) for one, of in centres.items()])
    assert side_probe._asked(session, list(centres), "nearest_dc").addresses == ["10.0.0.2", "10.0.0.3"]
    assert len(closed) == 1
    assert side_probe._asked(session, list(centres), "token_aware").addresses == list(centres)
    assert len(closed) == 1
