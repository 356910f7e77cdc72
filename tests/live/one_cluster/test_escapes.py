"""An adviser whose setting fails while a node is dead or stands still: it gets out, and goes back."""

import threading
import time
from contextlib import suppress
from functools import partial

import pytest
from cassandra import DriverException, OperationTimedOut, Unavailable, WriteTimeout
from cassandra.cluster import NoHostAvailable

from cassbook.advisor.latency_map import LatencyMap
from cassbook_advisor.adviser import Adviser, Pace
from cassbook_advisor.cassandra_register import InCassandra
from cassbook_advisor.policy import Terms
from tests.helpers import made_runs

pytestmark = pytest.mark.live
#: From the first failed reply to the setting that two replicas can serve. About 1 s as a rule; where members beat at
#: once, their transactions wait for the dead replica to settle who is first, until the server's time-out of 2 s.
ESCAPED_S = 12.0
WRITE = "UPDATE shop.orders SET total = {} WHERE id = {}"


@pytest.fixture(scope="module")
def session(cluster):
    connected = cluster.connect()
    connected.execute("CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
    connected.execute("CREATE TABLE shop.orders (id int PRIMARY KEY, total int)")
    yield connected
    connected.execute("DROP KEYSPACE shop", timeout=60)
    connected.cluster.shutdown()


@pytest.fixture
def advise(session, request):
    """Make an adviser that begins with 1R-3W, of a register of the test's own."""
    register = InCassandra(session, "shop", request.node.name)
    latency_map = LatencyMap(made_runs.run(noise=0.0), "known")
    terms = Terms(dwell_s=3.0, fewest_per_s=float("inf"), survive=0)

    def make(name):
        begin = partial(
            Adviser, session, "shop", ["orders"], latency_map, "1R-3W", register, terms, name=name,
            pace=Pace(lease_s=5.0),
        )  # fmt: skip
        with suppress(OperationTimedOut):  # a register's first answer from a busy machine
            return begin()
        return begin()

    return make


class Writes:
    """Writes through an adviser, on and on, until left; notes when one was refused or timed out."""

    def __init__(self, adviser):
        self.adviser, self.failed_at, self.stop = adviser, [], threading.Event()
        self.thread = threading.Thread(target=self.go, daemon=True)

    def go(self):
        while not self.stop.wait(0.1):
            for key in range(5):
                with suppress(NoHostAvailable):
                    self.adviser.execute_async(WRITE.format(1, key), timeout=10).future.add_errback(self.note)

    def note(self, error):
        if isinstance(error, WriteTimeout | Unavailable):
            self.failed_at.append(time.monotonic())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def arrived(adviser, name, within_s):
    deadline = time.monotonic() + within_s
    while adviser.setting != name or not adviser.history[-1].epoch.arrived:
        assert time.monotonic() < deadline, adviser.status()
        time.sleep(0.01)
    return adviser.history[-1].at


def check_escaped(leading, writing):
    """The client that does not lead sees the failure; both are out, by two steps, and its writes are answered.

    Whoever led took both steps. The other may have lost its lease meanwhile, gone on at ALL, and missed the first.
    """
    with Writes(writing) as writes:
        out = [arrived(adviser, "2R-2W", 30) for adviser in (leading, writing)]
    assert max(out) - writes.failed_at[0] < ESCAPED_S
    ways = [[change.epoch.regime.name for change in adviser.history] for adviser in (leading, writing)]
    assert ["1R-3W", "2R-3W", "2R-2W"] in ways
    assert answered(writing)


def answered(adviser, tries=5):
    """Whether a write is answered; some may still be lost that are sent to a node of whose silence nothing is known."""
    for value in range(tries):
        with suppress(DriverException):
            adviser.execute(WRITE.format(value, 1), timeout=3)
            return True
    return False


def test_a_node_that_stands_still_is_escaped_from(cluster, advise):
    with advise("a") as leading, advise("b") as writing, cluster.paused(3):
        check_escaped(leading, writing)


def test_a_killed_node_is_escaped_from_and_when_it_is_back_so_is_the_setting(cluster, advise):
    with advise("a") as leading, advise("b") as writing:
        assert writing.status().alive == 3
        cluster.end_node(2)
        try:
            check_escaped(leading, writing)
            with advise("c") as joining:  # joins where the others have gone
                arrived(joining, "2R-2W", 5)
        finally:
            cluster.launch_node(2)
            cluster.wait_until_whole()
        deadline = time.monotonic() + 60
        while leading.status().missing_nodes and time.monotonic() < deadline:
            with suppress(DriverException, NoHostAvailable):
                leading.execute("SELECT total FROM shop.orders WHERE id = 1", timeout=2)
            time.sleep(0.1)
        for adviser in (leading, writing):
            arrived(adviser, "1R-3W", 40)  # a dwell, and a sweep
