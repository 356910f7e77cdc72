import re
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from cassandra import OperationTimedOut

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine import cluster_state, connect
from tests.helpers.data import PACKAGES


@dataclass(frozen=True)
class Node:
    address: str


NODES = [Node(f"127.0.0.{number}") for number in (1, 2, 3)]


class Nodes:
    """Three nodes, of which the last learns of a change late, and the second may be silent."""

    def __init__(self, late_looks: int, silent_looks: int = 0) -> None:
        self.statements: list[str] = []
        self._late_looks, self._silent_looks = late_looks, silent_looks

    def get_pool_state(self):
        return dict.fromkeys(NODES, "open")

    def execute(self, query, timeout=None, host=None):
        if host is None:
            self.statements.append(query)
            return None
        if host is NODES[1] and self._silent_looks > 0:
            self._silent_looks -= 1
            raise OperationTimedOut
        late = host is NODES[-1] and self._late_looks > 0
        self._late_looks -= late
        return SimpleNamespace(one=lambda: SimpleNamespace(schema_version="old" if late else "new"))

    @property
    def late(self) -> bool:
        return self._late_looks > 0 or self._silent_looks > 0


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(connect.time, "sleep", lambda _: None)


def test_a_change_of_the_schema_is_over_when_all_nodes_have_it():
    nodes = Nodes(late_looks=3)
    connect.define(nodes, "CREATE TABLE t (id int PRIMARY KEY)")
    assert nodes.statements == ["CREATE TABLE t (id int PRIMARY KEY)"]
    assert not nodes.late


def test_a_node_that_does_not_answer_is_waited_for():
    nodes = Nodes(late_looks=1, silent_looks=2)
    connect.define(nodes, "DROP KEYSPACE shop")
    assert not nodes.late


def test_nodes_that_never_agree_are_named(monkeypatch):
    monkeypatch.setattr(connect, "_AGREE_S", -1.0)
    said = r"nodes have not agreed on the schema .* of CREATE TABLE t: 2 versions on 127.0.0.1, 127.0.0.2, 127.0.0.3"
    with pytest.raises(LaboratoryError, match=said):
        connect.define(Nodes(late_looks=3), "CREATE TABLE t (id int PRIMARY KEY)")


def test_a_flush_that_fails_at_its_beginning_is_set_back(monkeypatch):
    monkeypatch.setattr(connect, "_AGREE_S", -1.0)
    nodes = Nodes(late_looks=1)
    with pytest.raises(LaboratoryError, match="have not agreed"):
        cluster_state.ask_to_flush(nodes, "shop.orders")
    assert [statement.rpartition(" = ")[2] for statement in nodes.statements] == ["1000", "0"]


def test_every_change_of_the_schema_is_waited_for():
    sent = {
        (path.name, verb)
        for package in PACKAGES
        for path in package.rglob("*.py")
        for verb in re.findall(r"execute\(\s*f?\"(CREATE|ALTER|DROP) ", path.read_text(encoding="utf-8"))
    }
    asked_again, changes_nothing = ("cluster_state.py", "CREATE"), ("existing_cluster.py", "DROP")
    of_a_service = ("cassandra_register.py", "ALTER")
    assert sent == {asked_again, changes_nothing, of_a_service}
