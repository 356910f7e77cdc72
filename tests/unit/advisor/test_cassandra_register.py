"""Which coordinator the register in Cassandra asks; what it does in a cluster is in the live tests."""

from types import SimpleNamespace

import pytest
from cassandra import InvalidRequest, OperationTimedOut

from cassbook.advisor.cassandra_register import InCassandra


class Session:
    """Notes which coordinator each statement went to; those that are down do not answer."""

    def __init__(self, replicas):
        metadata = SimpleNamespace(keyspaces={"shop": None}, get_replicas=lambda keyspace, key: replicas)
        self.cluster, self.asked, self.down = SimpleNamespace(metadata=metadata), [], set()

    def prepare(self, query):
        return SimpleNamespace(query=query, bind=lambda values: SimpleNamespace(routing_key=b"key"))

    def execute(self, statement, values=None, host=None, timeout=None):
        self.asked.append(host)
        if self.down and host in self.down:
            raise OperationTimedOut()
        return SimpleNamespace(was_applied=True)


def test_a_coordinator_that_fails_is_left_for_the_next():
    session = Session(["first", "second"])
    register = InCassandra(session, "shop", "orders")
    register.leave("a", 1)
    session.down.add("first")
    with pytest.raises(OperationTimedOut):
        register.leave("a", 1)
    register.leave("a", 1)
    assert session.asked == [None, "first", "first", "second"]
    session.down = {"second"}
    with pytest.raises(OperationTimedOut):
        register.leave("a", 1)
    register.leave("a", 1)
    assert session.asked[-1] == "first"


def test_a_cluster_that_does_not_tell_its_replicas_chooses_the_coordinator_itself():
    session = Session([])
    InCassandra(session, "shop", "orders").leave("a", 1)
    assert session.asked == [None, None]


def test_a_table_of_before_gets_the_column_that_it_lacks():
    class Older(Session):
        def prepare(self, query):
            if "failing_share" in query and not any("ALTER" in str(statement) for statement in self.said):
                raise InvalidRequest("Unknown identifier failing_share")
            return super().prepare(query)

        def execute(self, statement, values=None, host=None, timeout=None):
            self.said.append(statement)
            return super().execute(statement, values, host)

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
