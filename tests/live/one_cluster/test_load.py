"""The load generator on a real cluster: agrees with the ordinary path, goes where told."""

import statistics
import time
from collections import Counter

import numpy as np
import pytest
from cassandra import ConsistencyLevel
from cassandra.metadata import Murmur3Token

from cassbook.core.consistency import READ_LEVELS, WRITE_LEVELS
from cassbook.lab.engine import cluster_state
from cassbook.lab.load import keys
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.ycsb import KEYSPACE, READ, TABLE, UPDATE
from cassbook.profile.profile import TableSection
from tests.helpers.nodes import check_ready
from tests.live.one_cluster.loading import ROWS, outcomes

pytestmark = pytest.mark.live


def test_the_cluster_is_ready(cluster):
    check_ready(cluster, "2.1.20")


def test_every_row_is_loaded_and_flushed(bench):
    assert bench.session.execute(f"SELECT count(*) FROM {TABLE}").one()[0] == ROWS.record_count
    cluster_state.flush(bench.session, TABLE, bench.cluster.node_folders())
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
    shape = TableSection(record_count=1, update_all_fields=True)
    before = bench.session.execute(f"SELECT * FROM {TABLE} WHERE y_id = %s", (keys.row_keys([0])[0].decode(),)).one()
    bench.run(UPDATE, shape=shape)
    after = bench.session.execute(f"SELECT * FROM {TABLE} WHERE y_id = %s", (keys.row_keys([0])[0].decode(),)).one()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 10


def test_a_read_of_a_row_that_is_not_there_is_no_success(bench):
    rows, outcome = bench.run(READ, shape=TableSection(record_count=1000, request_distribution="uniform"))
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


@pytest.mark.parametrize("policy", ["token_aware", "round_robin", "node2", "nearest", "nearest_dc"])
def test_requests_go_to_the_coordinator_that_the_policy_names(bench, policy):
    rows, _ = bench.run(READ, policy=policy)
    asked = Counter(row[4] for row in rows)
    if policy == "node2":
        assert set(asked) == {1}
    elif policy == "nearest":
        assert set(asked) == {0}  # as told to the table; `Nodes.nearest` finds it
        assert bench.nodes.nearest() in {0, 1, 2}
    elif policy in {"round_robin", "nearest_dc"}:  # one data centre, so that it is the same
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
