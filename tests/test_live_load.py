"""The load generator on a real cluster: agrees with the ordinary path, goes where told, survives losses."""

import statistics
import time
from collections import Counter

import numpy as np
import pytest
from cassandra import ConsistencyLevel
from cassandra.metadata import Murmur3Token

from cassbook.consistency import READ_LEVELS, WRITE_LEVELS
from cassbook.engine import CassandraCluster, probe, teardown
from cassbook.engine.cluster import Spec
from cassbook.load import keys, wire
from cassbook.load.loop import Bound, ClosedLoop
from cassbook.load.nodes import Nodes
from cassbook.load.recorder import Window
from cassbook.load.ycsb import INSERT, KEYSPACE, READ, TABLE, UPDATE, Usertable, create_table
from cassbook.profile import TablePart
from cassbook.run.client import mix

pytestmark = pytest.mark.live
ROWS = TablePart(record_count=500)
SHORT = Bound(0.05, 0.3)


@pytest.fixture(scope="module")
def bench():
    with CassandraCluster("2.1.20", Spec(heap_mb=512), name="test") as cluster:
        session = cluster.connect()
        create_table(session, ROWS, 3)
        nodes = Nodes(session, cluster.addresses)
        bench = Bench(cluster, session, nodes)
        bench.run(INSERT, threads=20, bound=Bound())
        yield bench
        nodes.close()
        session.cluster.shutdown()


class Bench:
    """A cluster with a small table, and a way to run the loop on it."""

    def __init__(self, cluster, session, nodes):
        self.cluster, self.session, self.nodes = cluster, session, nodes

    def table(self, policy="token_aware", shape=ROWS):
        return Usertable(self.session, shape, self.cluster.addresses, policy, 0, np.random.default_rng(3))

    def run(
        self,
        operation,
        levels=("ALL", "ALL"),
        threads=8,
        bound=SHORT,
        policy="token_aware",
        share=None,
        timeout_s=12,
        shape=ROWS,
    ):
        rows = []
        table = self.table(policy, shape)
        kinds = (
            mix(share, np.random.default_rng(1)) if share is not None else mix(1.0 if operation == READ else 0.0, None)
        )
        requests = [table.requests(READ), table.requests(UPDATE)]
        if operation == INSERT:
            kinds, requests = iter(lambda: INSERT, None), [iter(()), iter(()), table.inserts()]
        loop = ClosedLoop(
            self.nodes, threads, kinds, requests, table.prefixes(*levels), lambda *row: rows.append(row), timeout_s
        )
        outcome = loop.run(bound, Window())
        return rows, outcome


def outcomes(rows):
    return Counter(wire.OUTCOMES[row[3]] for row in rows)


def test_every_row_is_loaded_and_flushed(bench):
    assert bench.session.execute(f"SELECT count(*) FROM {TABLE}").one()[0] == ROWS.record_count
    probe.flush(bench.session, TABLE, bench.cluster.node_folders())
    for folder in bench.cluster.node_folders():
        assert list(folder.glob(f"data*/{KEYSPACE}/usertable-*/*-Data.db"))


def test_rows_have_ycsbs_shape(bench):
    row = bench.session.execute(f"SELECT * FROM {TABLE} LIMIT 1").one()
    assert row.y_id.encode() in keys.row_keys(range(ROWS.record_count))
    fields = [getattr(row, f"field{i}") for i in range(10)]
    assert all(len(field) == 100 and field.isprintable() and field.isascii() for field in fields)


@pytest.mark.parametrize("level", READ_LEVELS)
def test_reads_at_every_level(bench, level):
    rows, outcome = bench.run(READ, levels=(level, "ALL"))
    assert outcomes(rows) == {"ok": outcome.operations}
    assert outcome.operations > 20


@pytest.mark.parametrize("level", WRITE_LEVELS)
def test_writes_at_every_level(bench, level):
    rows, outcome = bench.run(UPDATE, levels=("ALL", level))
    assert outcomes(rows) == {"ok": outcome.operations}


def test_what_the_light_path_writes_the_ordinary_path_reads(bench):
    before = {row.y_id: row for row in bench.session.execute(f"SELECT * FROM {TABLE}")}
    bench.run(UPDATE)
    after = {row.y_id: row for row in bench.session.execute(f"SELECT * FROM {TABLE}")}
    changed = [k for k in after if after[k] != before[k]]
    assert changed
    one = after[changed[0]], before[changed[0]]
    assert sum(a != b for a, b in zip(*one, strict=True)) < 11  # an update changes fields, not the row


def test_all_fields_are_updated_where_the_profile_says_so(bench):
    shape = TablePart(record_count=1, update_all_fields=True)
    before = bench.session.execute(f"SELECT * FROM {TABLE} WHERE y_id = %s", (keys.row_keys([0])[0].decode(),)).one()
    bench.run(UPDATE, shape=shape)
    after = bench.session.execute(f"SELECT * FROM {TABLE} WHERE y_id = %s", (keys.row_keys([0])[0].decode(),)).one()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 10


def test_a_read_of_a_row_that_is_not_there_is_no_success(bench):
    rows, outcome = bench.run(READ, shape=TablePart(record_count=1000, request_distribution="uniform"))
    counted = outcomes(rows)
    assert set(counted) == {"ok", "missing_row"}
    assert counted["missing_row"] / outcome.operations == pytest.approx(0.5, abs=0.2)


def test_latency_agrees_with_the_ordinary_path_at_one_in_flight(bench):
    """The light path leaves out work of the client, at most; it must not leave out any of the server's."""
    statement = bench.session.prepare(f"SELECT * FROM {TABLE} WHERE y_id = ?")
    statement.consistency_level = ConsistencyLevel.ALL
    ring = keys.row_keys(keys.draw("zipfian", ROWS.record_count, 300, np.random.default_rng(1)))
    ratios = []
    for _ in range(3):
        times = []
        for key in ring:
            begun = time.perf_counter()
            assert bench.session.execute(statement, (key.decode(),)).one() is not None
            times.append(time.perf_counter() - begun)
        rows, _ = bench.run(READ, threads=1, bound=Bound(0.05, 1.0))
        ratios.append(statistics.median(row[1] for row in rows) / statistics.median(times))
    assert 0.3 < statistics.median(ratios) < 1.2


@pytest.mark.parametrize("policy", ["token_aware", "round_robin", "node2", "nearest"])
def test_requests_go_to_the_coordinator_that_the_policy_names(bench, policy):
    rows, _ = bench.run(READ, policy=policy)
    asked = Counter(row[4] for row in rows)
    if policy == "node2":
        assert set(asked) == {1}
    elif policy == "nearest":
        assert set(asked) == {0}  # as told to the table; `Nodes.nearest` finds it
        assert bench.nodes.nearest() in {0, 1, 2}
    elif policy == "round_robin":
        assert max(asked.values()) - min(asked.values()) <= 0.1 * len(rows)
    else:
        table = bench.table()
        token_map = bench.session.cluster.metadata.token_map
        for key, node in zip(keys.row_keys(range(ROWS.record_count)), table._coordinators, strict=True):
            first = token_map.get_replicas(KEYSPACE, Murmur3Token.from_key(key))[0]
            assert first.address == bench.cluster.addresses[node]
        assert set(asked) == {0, 1, 2}


def test_bound_by_operations_a_thread(bench):
    rows, outcome = bench.run(READ, threads=7, bound=Bound(0.0, None, 50))
    assert outcome.operations == len(rows) == 350
    assert outcome.window.steady_from < outcome.window.steady_to


def test_a_mix_has_the_share_it_was_given(bench):
    rows, _ = bench.run(None, share=0.7, bound=Bound(0.05, 1.0))
    reads = sum(row[2] == READ for row in rows) / len(rows)
    assert reads == pytest.approx(0.7, abs=4 * (0.21 / len(rows)) ** 0.5)


def test_an_overdue_request_is_given_up_and_counted_once(bench):
    rows, outcome = bench.run(READ, threads=30, bound=Bound(0.0, 1.5), timeout_s=1e-9)
    counted = outcomes(rows)
    assert counted["client_timeout"] > 0
    assert sum(counted.values()) == outcome.operations


def test_a_killed_node_is_counted_and_the_loop_goes_on_and_ends(bench):
    """The last test on this cluster."""
    victim = bench.cluster.addresses[1]
    begun = time.monotonic()
    killed = []

    def kill_in_the_middle(done):
        if not killed and done > 200:
            for process in teardown.processes(bench.cluster.node_folders()[1]):
                process.kill()
            killed.append(time.monotonic())
        return bool(killed) and time.monotonic() - killed[0] > 4

    rows, outcome = bench.run(READ, levels=("ONE", "ALL"), threads=20, bound=Bound(until=kill_in_the_middle))
    counted = outcomes(rows)
    assert time.monotonic() - begun < 60
    assert counted["ok"] > 200
    assert counted["connection_lost"] > 0
    assert sum(counted.values()) == outcome.operations
    late = [row for row in rows if row[0] > max(r[0] for r in rows) - 2 and row[3] == wire.OK]
    assert late
    assert all(bench.cluster.addresses[row[4]] != victim for row in late)
    rows, outcome = bench.run(UPDATE, levels=("ONE", "ALL"), policy="node1")
    assert set(outcomes(rows)) <= {"unavailable", "write_timeout"}
    assert outcome.operations == len(rows) > 0
