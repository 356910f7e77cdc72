"""Cassandra 1.2.0 runs, and its own predictor answers."""

import time

import psutil
import pytest

pytest.importorskip("thriftpy2", reason="optional: the extra `oracle` brings what speaks to Cassandra 1.2")
pytest.importorskip("jpype", reason="optional: the extra `oracle` brings what speaks to Cassandra 1.2")

from cassbook.engine import teardown, thrift
from cassbook.engine.cluster import Spec
from cassbook.errors import LaboratoryError
from cassbook.staleness.oracle import Oracle, Question

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left")]
ROWS = 500


def load(cluster, keyspace, table):
    """Write and read rows at ONE through the first node."""
    own, client = thrift.interface(), thrift.client(cluster.addresses[0])
    client.set_keyspace(keyspace)
    level, column = own.ConsistencyLevel.ONE, b"version"
    for number in range(ROWS):
        stamped = own.Column(name=column, value=b"1", timestamp=time.time_ns() // 1000)
        client.insert(b"row%d" % number, own.ColumnParent(column_family=table), stamped, level)
    for number in range(ROWS):
        path = own.ColumnPath(column_family=table, column=column)
        assert client.get(b"row%d" % number, path, level).column.value == b"1"
    client.close()


def test_the_predictor_of_the_studys_version_answers():
    with thrift.StudyCluster(Spec(3, 2, 512), say=lambda _: None) as cluster:
        cluster.create("study", "versions")
        with Oracle(cluster.java.home, cluster.installation.home / "lib", cluster.open_jmx()) as oracle:
            oracle.enable(10_000, 10_000)
            with pytest.raises(LaboratoryError, match="No write latencies have been recorded"):
                oracle.ask(1, [Question(2, 1, 1, 0.0)])
            load(cluster, "study", "versions")
            over_t = oracle.ask(1, [Question(2, 1, 1, t) for t in (0.0, 5.0, 1000.0)])
            over_k = oracle.ask(1, [Question(2, 1, 1, 0.0, k) for k in (1, 3)])
        assert 0 < over_t[0] < over_t[1] <= over_t[2] == 1.0
        assert over_k[1] == pytest.approx(1 - (1 - over_k[0]) ** 3, abs=0.03)  # each is of trials of its own
        nodes = [p for p in teardown.processes(cluster.folder) if p.cmdline()[-1].endswith("CassandraDaemon")]
        listening = [c for p in nodes for c in p.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        assert {c.laddr.ip for c in listening} == {"127.0.0.1", "127.0.0.2", "127.0.0.3"}
