"""One cluster for all tests of this folder: a start takes longer than most of them."""

from pathlib import Path

import pytest

from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.ycsb import INSERT, KEYSPACE, create_table
from tests.helpers.nodes import check_gone
from tests.live.one_cluster.loading import ROWS, Bench


class OurOwnError(Exception):
    """Nothing that the cluster knows of."""


@pytest.fixture(scope="package")
def running():
    """A cluster that ends by an exception which passes through its block: nothing is left of it."""
    with pytest.raises(OurOwnError), CassandraCluster("2.1.20", Spec(heap_mb=512), name="test") as cluster:  # noqa: PT012
        yield cluster
        raise OurOwnError
    check_gone(cluster)


@pytest.fixture(scope="module")
def cluster(running):
    """The cluster, without what another module's tests put there."""
    session = running.connect()
    session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}", timeout=60)
    session.cluster.shutdown()
    return running


@pytest.fixture(scope="module")
def bench(cluster):
    session = cluster.connect()
    create_table(session, ROWS, 3)
    nodes = Nodes(session, cluster.addresses)
    bench = Bench(cluster, session, nodes)
    bench.run(INSERT, threads=20, bound=Bound())
    yield bench
    nodes.close()
    session.cluster.shutdown()


def pytest_collection_modifyitems(items):
    """Put the killed node behind the other tests of this folder, for the cluster is not whole afterwards."""
    places = [place for place, item in enumerate(items) if item.path.parent == Path(__file__).parent]
    ordered = sorted((items[place] for place in places), key=lambda item: item.path.name == "test_node_killed.py")
    for place, item in zip(places, ordered, strict=True):
        items[place] = item
