"""User profiles of cassandra-stress become profiles of ours, and nothing is left out without a word."""

import pytest
import yaml

from cassbook.core.errors import InputError
from cassbook.profile import stress
from cassbook.profile.profile import load_profile
from tests.helpers.command import cassbook

ORDERS = {
    "keyspace": "shop",
    "keyspace_definition": "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy'};",
    "table": "orders",
    "table_definition": "CREATE TABLE shop.orders (customer text, number int, placed timestamp, note text, "
    "tags set<text>, PRIMARY KEY (customer, number)) WITH comment='a'",
    "extra_definitions": [
        "CREATE MATERIALIZED VIEW shop.v AS SELECT * FROM orders", "CREATE INDEX ON shop.orders (note);",
    ],
    "columnspec": [
        {"name": "customer", "size": "fixed(12)", "population": "gaussian(1..5K)"},
        {"name": "number", "cluster": "uniform(1..20)"},
        {"name": "note", "size": "uniform(10..200)"},
        {"name": "tags", "size": "fixed(3)"},
    ],
    "insert": {"partitions": "fixed(1)", "batchtype": "UNLOGGED"},
    "queries": {
        "one": {"cql": "select * from orders where customer = ? and number = ?", "fields": "samerow",
                "consistencyLevel": "QUORUM"},
        "noted": {"cql": "SELECT * FROM shop.orders WHERE note = ? LIMIT 5"},
        "cas": {"cql": "UPDATE orders SET note = ? WHERE customer = ? AND number = ? IF EXISTS"},
    },
    "token_range_queries": {"all": {"columns": "*", "page_size": 5000}},
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "stress.yaml"
    path.write_text(yaml.safe_dump(ORDERS))
    return path


def test_the_profile_that_it_becomes(file, tmp_path):
    done = cassbook("run", "--profile", file, "--convert", tmp_path / "mine.yaml")
    assert done.exit_code == 0, done.output
    profile = load_profile(str(tmp_path / "mine.yaml"))
    (own,) = profile.workloads.own
    assert not profile.uses_table
    assert [statement.split()[1] for statement in own.create] == ["TABLE", "INDEX"]
    assert not any("shop" in statement for statement in own.create)
    assert own.load.rows == 5000 * 20
    customer, number = own.values["customer"], own.values["number"]
    assert (customer.distribution, customer.count, customer.first, customer.every) == ("uniform", 5000, 1, 20)
    assert (number.count, number.every) == (20, 1)
    assert own.values["note"].size == (10, 200)
    assert (own.values["tags"].length, own.values["tags"].each.size) == (3, 3)
    kinds = [(one.kind, one.rows) for one in own.operations]
    assert sorted(kinds) == [("INSERT", "some"), ("READ", "any"), ("READ", "some")]
    assert sum(one.share for one in own.operations) == pytest.approx(1)


def test_all_that_has_no_counterpart_is_named(file):
    done = cassbook("run", "--profile", file, "--dry-run")
    assert done.exit_code == 0, done.output
    for left_out in (
        "keyspace_definition: the keyspace is the laboratory's", "extra_definitions: CREATE MATERIALIZED VIEW",
        "columnspec: customer: GAUSSIAN has no counterpart",
        "columnspec: customer: size: a key is as long as its number",
        "insert: partitions: fixed(1)", "insert: batchtype: UNLOGGED", "queries: one: fields: samerow",
        "queries: one: consistencyLevel", "queries: cas: lightweight transactions", "token_range_queries: all",
        "ops(...) of the command line",
    ):  # fmt: skip
        assert left_out in done.stderr, left_out
    shown = yaml.safe_load(done.stdout.partition("\n4 cells")[0].partition("cells in")[0].rpartition("\n")[0])
    assert shown["workloads"]["own"][0]["name"] == "stress"


def test_a_table_of_counters_is_counted(file):
    content = ORDERS | {
        "table_definition": "CREATE TABLE hits (page text PRIMARY KEY, n counter)", "columnspec": [], "queries": {},
        "extra_definitions": None,
    }  # fmt: skip
    ours, left_out = stress.converted(content, "hits")
    (own,) = ours["workloads"]["own"]
    assert own["operations"][0] == {
        "kind": "UPDATE",
        "share": 1,
        "statement": "UPDATE hits SET n = n + ? WHERE page = ?",
    }
    assert own["values"]["page"]["count"] == 100_000
    assert any("100,000 of 100,000,000,000 values" in line for line in left_out)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"columnspec": [{"name": "note", "size": "often"}]},
            "columnspec: note: size: 'often' is no distribution",
        ),
        ({"columnspec": [{"name": "custmer"}]}, "columnspec: orders has no column custmer; it has customer"),
        ({"table_definition": "CREATE TABLE orders"}, "table_definition: is not CREATE TABLE with its columns"),
        ({"table_definition": ""}, "table_definition: is missing"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(file, change, said):
    file.write_text(yaml.safe_dump(ORDERS | change))
    done = cassbook("run", "--profile", file, "--dry-run")
    assert done.exit_code == 2
    assert f"{file}: a user profile of cassandra-stress: {said}" in done.stderr
    assert "Traceback" not in done.output


def test_only_such_a_profile_is_converted_and_no_file_is_overwritten(file, tmp_path):
    (tmp_path / "there.yaml").write_text("mine")
    done = cassbook("run", "--profile", file, "--convert", tmp_path / "there.yaml")
    assert (done.exit_code, (tmp_path / "there.yaml").read_text()) == (2, "mine")
    assert "is there already; name another file" in done.stderr
    done = cassbook("run", "--profile", "quick", "--convert", tmp_path / "other.yaml")
    assert done.exit_code == 2
    assert "quick is no user profile of cassandra-stress" in done.stderr


def test_distributions():
    assert stress.distribution("~exp(1..10M)", "x") == stress.Drawn("EXP", 1, 10_000_000, inverted=True)
    assert stress.distribution("GAUSSIAN(100..100K,2)", "x").count == 99_901
    for text in ("fixed()", "uniform(1..x)", "5", ""):
        with pytest.raises(InputError, match=r"x: .* is no distribution"):
            stress.distribution(text, "x")
