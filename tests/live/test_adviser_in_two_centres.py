"""The adviser of a client in one of two data centres: its levels are LOCAL ones, its replicas those near it."""

import time

import pandas as pd
import pytest
from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import DCAwareRoundRobinPolicy

from cassbook.deployment.distances import from_table, placed
from cassbook.deployment.notation import parse
from cassbook.lab.engine.cluster import Spec
from cassbook.lab.engine.distant import DistantCluster
from cassbook_advisor import Adviser, InputError, Latencies, Pace, Terms

pytestmark = pytest.mark.live
APART_MS = 120
SETTINGS = (("1R-3W", "LOCAL_ONE", "ALL", 500), ("2R-2W", "LOCAL_QUORUM", "LOCAL_QUORUM", 1000))
MAP = {
    "schema": "cassbook-advisor", "version": 1, "run": "made", "measured": "2026-11-01", "replication": 3, "by": "mean",
    "data_centre": "here", "load": "in flight", "loads": [1, 1000], "read_shares": [0, 1],
    "settings": [
        {"name": name, "read_cl": read, "write_cl": write, "latency_us": [[[us, us], [us, us]]] * 3}
        for name, read, write, us in SETTINGS
    ],
}  # fmt: skip
REPLICATED = "{'class': 'NetworkTopologyStrategy', 'here': 3, 'there': 1}"


@pytest.fixture(scope="module")
def cluster():
    rows = [("here", "here", 0.5), ("here", "there", APART_MS)]
    table = pd.DataFrame(rows, columns=["from", "to", "rtt_ms"], dtype=object)
    placement = placed(parse("{[C], ([R1], [R2], [R3]}, {[R4]})"), ("here", "there"), from_table(table, "test"))
    with DistantCluster("3.11.4", placement, Spec(nodes=4, replication_factor=4, heap_mb=512), name="test") as started:
        yield started


@pytest.fixture
def session(cluster):
    """As a service of one data centre connects."""
    near = ExecutionProfile(DCAwareRoundRobinPolicy("here"), request_timeout=20)
    driver = Cluster(cluster.addresses[:3], execution_profiles={EXEC_PROFILE_DEFAULT: near}, protocol_version=4)
    connected = driver.connect()
    connected.execute(f"CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {REPLICATED}", timeout=60)
    connected.execute("CREATE TABLE IF NOT EXISTS shop.orders (id int PRIMARY KEY, total int)", timeout=60)
    yield connected
    driver.shutdown()


def until(holds, within_s=60.0):
    """Wait for what has to come true; whether it has."""
    deadline = time.monotonic() + within_s
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.2)
    return holds()


def level_and_ms(adviser, statement):
    """At which level a request was made, and the shortest of several: a busy machine makes others late."""
    taken, levels = [], set()
    for _ in range(20):
        began = time.monotonic()
        request = adviser.execute_async(statement)
        request.result()
        taken.append((time.monotonic() - began) * 1000)
        levels.add(request.future.message.consistency_level)
    (level,) = levels
    return level, min(taken)


def test_a_file_of_another_data_centre_and_a_client_that_names_none_are_refused(session):
    latencies = Latencies.of_json(MAP)
    for named, wrong in (
        ({}, "shop is in 2 data centres; name the one of this client as data_centre, of here, there"),
        ({"data_centre": "nowhere"}, "shop has no replicas in 'nowhere'; it has some in here, there"),
        ({"data_centre": "there"}, "was measured at the levels of 'here', the adviser is in 'there'"),
    ):
        with pytest.raises(InputError, match=wrong):
            Adviser(session, "shop", ["orders"], latencies, **named)


def test_its_requests_wait_for_replicas_of_its_centre_and_go_on_when_others_die(cluster, session):
    read = session.prepare("SELECT total FROM shop.orders WHERE id = ?").bind((1,))
    write = session.prepare("INSERT INTO shop.orders (id, total) VALUES (?, ?)").bind((1, 2))
    common = {"pace": Pace(interval_s=0.5), "data_centre": "here"}
    with Adviser(session, "shop", ["orders"], Latencies.of_json(MAP), terms=Terms(survive=0), **common) as adviser:
        for statement in (write, read):
            level, ms = level_and_ms(adviser, statement)
            assert level == ConsistencyLevel.LOCAL_QUORUM
            assert ms < APART_MS / 2
        adviser.request_setting("1R-3W")
        assert until(lambda: adviser.status().setting == "1R-3W"), adviser.status()
        level, ms = level_and_ms(adviser, write)
        assert level == ConsistencyLevel.ALL
        assert ms >= APART_MS  # it waits for the other centre's too
        level, ms = level_and_ms(adviser, read)
        assert level == ConsistencyLevel.LOCAL_ONE
        assert ms < APART_MS / 2
    with Adviser(session, "shop", ["orders"], Latencies.of_json(MAP), terms=Terms(survive=1), **common) as adviser:
        for node, alive in ((4, 3), (3, 2)):
            cluster.end_node(node)
            address = cluster.addresses[node - 1]
            assert until(
                lambda at=address: any(
                    h.address == at and h.is_up is False for h in session.cluster.metadata.all_hosts()
                )
            )
            for statement in (write, read):
                assert level_and_ms(adviser, statement)[0] == ConsistencyLevel.LOCAL_QUORUM
            assert until(lambda left=alive: adviser.status().alive == left), adviser.status()
            assert adviser.status().missing_nodes == (() if alive == 3 else (address,))
