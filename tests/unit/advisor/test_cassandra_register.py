"""Which coordinator the register in Cassandra asks; what it does in a cluster is in the live tests."""

import time
from threading import Timer
from types import SimpleNamespace

import pytest
from cassandra import InvalidRequest, OperationTimedOut

from cassbook_advisor.cassandra_register import _TIMEOUT_S, InCassandra


class Future:
    """An answer: the rows, an error at once, or none, which is an error when its time is over."""

    def __init__(self, error, comes, timeout_s):
        self.error, self.comes, self.timeout_s = error, comes, timeout_s

    def add_callbacks(self, answered, failed):
        if self.comes:
            (failed if self.error else answered)(self.error)
        else:
            self.error = OperationTimedOut()
            Timer(self.timeout_s, failed, [self.error]).start()

    def result(self):
        if self.error:
            raise self.error
        return SimpleNamespace(was_applied=True)


class Session:
    """Notes which coordinator each statement went to; those that are down refuse, those that are halted say nothing."""

    def __init__(self, replicas):
        metadata = SimpleNamespace(keyspaces={"shop": None}, get_replicas=lambda keyspace, key: replicas)
        self.cluster, self.asked = SimpleNamespace(metadata=metadata), []
        self.down, self.halted, self.lost = [], [], 0

    def prepare(self, query):
        return SimpleNamespace(query=query, bind=lambda values: SimpleNamespace(routing_key=b"key"))

    def execute(self, statement):
        """Make or alter the table."""

    def execute_async(self, statement, values, host, timeout):
        self.asked.append(host)
        self.lost, comes = max(0, self.lost - 1), self.lost == 0 and host not in self.halted
        return Future(OperationTimedOut() if host in self.down else None, comes, timeout)


def test_a_coordinator_that_fails_is_left_for_the_next():
    session = Session(["first", "second", "third"])
    register = InCassandra(session, "shop", "orders")
    register.leave("a", 1)
    session.down = ["first"]
    register.leave("a", 1)
    register.leave("a", 1)
    assert session.asked == ["first", "first", "second", "second"]
    session.down = ["first", "second", "third"]
    with pytest.raises(OperationTimedOut):
        register.leave("a", 1)
    assert session.asked[4:] == ["second", "third", "first"] * 2


def test_a_coordinator_that_says_nothing_is_not_waited_for():
    session = Session(["first", "second"])
    register = InCassandra(session, "shop", "orders")
    session.halted = ["first"]
    register.leave("a", 1)
    register.leave("a", 1)
    assert session.asked == ["first", "second", "second"]


def test_what_is_lost_on_its_way_is_asked_again_until_it_is_answered_or_time_is_over():
    session = Session(["only"])
    register = InCassandra(session, "shop", "orders")
    session.lost = 2
    register.leave("a", 1)
    assert session.asked == ["only"] * 3
    session.halted = ["only"]
    began = time.monotonic()
    with pytest.raises(OperationTimedOut):
        register.leave("a", 1)
    assert time.monotonic() - began >= _TIMEOUT_S - 0.1  # how much later depends on the machine


def test_a_cluster_that_does_not_tell_its_replicas_chooses_the_coordinator_itself():
    session = Session([])
    InCassandra(session, "shop", "orders").leave("a", 1)
    assert session.asked == [None]


def test_a_table_of_before_gets_the_column_that_it_lacks():
    class Older(Session):
        def prepare(self, query):
            if "failing_share" in query and not any("ALTER" in str(statement) for statement in self.said):
                raise InvalidRequest("Unknown identifier failing_share")
            return super().prepare(query)

        def execute(self, statement):
            self.said.append(statement)

    Older.said = []
    session = Older(["first"])
    InCassandra(session, "shop", "orders").leave("a", 1)
    for column in ("failing_share double", "alive int"):
        assert f"ALTER TABLE shop.adviser_register ADD {column}" in Older.said


def test_a_coordinator_that_the_driver_takes_for_down_is_not_asked():
    hosts = [SimpleNamespace(is_up=up) for up in (False, True, None)]
    session = Session(hosts)
    register = InCassandra(session, "shop", "orders")
    for _ in range(3):
        register.leave("a", 1)
    assert hosts[0] not in session.asked
