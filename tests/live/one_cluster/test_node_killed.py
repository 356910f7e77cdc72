"""A node that is killed under load; `conftest` puts it behind all other tests of this folder."""

import time

import pytest

from cassbook.core import schema
from cassbook.lab.engine import teardown
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.ycsb import READ, UPDATE
from tests.live.one_cluster.loading import outcomes

pytestmark = pytest.mark.live


def test_a_killed_node_is_counted_and_the_loop_goes_on_and_ends(bench):
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
    late = [row for row in rows if row[0] > max(r[0] for r in rows) - 2 and row[3] == schema.OK]
    assert late
    assert all(bench.cluster.addresses[row[4]] != victim for row in late)
    rows, outcome = bench.run(UPDATE, levels=("ONE", "ALL"), policy="node1")
    assert set(outcomes(rows)) <= {"unavailable", "write_timeout"}
    assert outcome.operations == len(rows) > 0
