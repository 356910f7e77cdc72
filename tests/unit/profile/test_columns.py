"""What a profile's own statements bind, seen from the statements alone."""

import pytest
import yaml

from cassbook.core.errors import InputError
from cassbook.lab.load import values
from cassbook.lab.run.plan import plan
from cassbook.profile import columns
from cassbook.profile.columns import BINDABLE, Marker
from cassbook.profile.profile import load_profile
from tests.helpers.command import cassbook

CREATE = [
    "CREATE TYPE place (street text, number int)",
    'CREATE TABLE IF NOT EXISTS rides (id uuid, day date, "Stop" text, pickup frozen<place>, tags set<text>, '
    "stops list<frozen<place>>, fares map<text, decimal>, seen counter, host inet, fleet text STATIC, "
    "PRIMARY KEY ((id, day), \"Stop\")) WITH comment = 'a (b, c)' AND gc_grace_seconds = 3",
]
KNOWN = columns.tables(CREATE)


def own(**changes):
    workload = {
        "name": "svc", "create": CREATE,
        "values": {"id": {"distribution": "uniform", "count": 9}},
        "operations": [{"kind": "READ", "share": 1.0, "statement": "SELECT id FROM rides WHERE id = ?"}],
    } | changes  # fmt: skip
    return {
        "name": "p", "title": "t", "seed": 1, "table": {"record_count": 10}, "load": {"steady_s": 1.0},
        "workloads": {"threads": [4], "own": [workload]},
    }  # fmt: skip


def refused(tmp_path, content, *options):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(content))
    done = cassbook("run", "--profile", path, "--dry-run", *options)
    assert done.exit_code == 2, done.output
    return done.output


def test_tables_have_the_types_of_their_columns():
    assert KNOWN == {
        "rides": {
            "id": "uuid", "day": "date", "Stop": "text", "pickup": "frozen<place>", "tags": "set<text>",
            "stops": "list<frozen<place>>", "fares": "map<text,decimal>", "seen": "counter", "host": "inet",
            "fleet": "text",
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("INSERT INTO rides (id, day, pickup) VALUES (uuid(), ?, :spot)", [("day", "day"), ("spot", "pickup")]),
        (
            'UPDATE rides SET seen = seen + :n WHERE id = ? AND "Stop" = ?',
            [("id", "id"), ("Stop", "Stop"), ("n", "seen")],
        ),
        ("UPDATE rides SET tags = tags + ? WHERE id = 1", [("tags", "tags")]),
        ("SELECT id FROM rides WHERE id IN (?, :b) AND day >= ?", [("day", "day"), ("id", "id"), ("b", "id")]),
        ("SELECT id FROM other WHERE id = ?", []),
        ("SELECT id FROM rides WHERE token(id) > ? LIMIT ?", []),
        ("INSERT INTO rides JSON ?", []),
    ],
)
def test_markers_go_by_column_or_by_their_own_name(statement, found):
    marked = columns.markers(statement, KNOWN)
    assert sorted((one.name, one.column) for one in marked) == sorted(found)


def test_a_whole_list_behind_in_is_told_apart():
    assert columns.markers("SELECT id FROM rides WHERE id IN ?", KNOWN) == [Marker("in(id)", "id", "uuid", True)]


def test_the_types_that_are_said_to_fit_are_those_that_values_are_made_for():
    made = (values._FROM_NUMBER, values._FROM_CONTENT, values._FROM_RANGE)
    assert {name: set(types) for name, types in BINDABLE.items()} == dict(zip(BINDABLE, map(set, made), strict=True))


def test_all_columns_that_cannot_be_bound_are_named_at_once_with_the_way_that_works(tmp_path):
    number = {"distribution": "uniform", "count": 9}
    statement = "INSERT INTO rides (id, pickup, tags, stops, fares, host, fleet) VALUES (?, ?, ?, ?, ?, ?, ?)"
    given = dict.fromkeys(("id", "pickup", "tags", "stops", "fares", "host"), number) | {"fleet": {"between": [0, 1]}}
    said = refused(tmp_path, own(
        values=given, operations=[{"kind": "INSERT", "share": 1.0, "statement": statement}]
    ), "--engine", "5.0.9")  # fmt: skip
    assert said.count("mine.yaml") == 1
    for column in ("pickup is frozen<place>", "tags is set<text>", "stops is list<frozen<place>>", "host is inet"):
        assert f"{column}, for which no values are made; write a literal" in said
    assert said.count("values are made for text, varchar") == 1
    assert "(got " not in said
    assert "INSERT INTO" not in said
    assert "{street: 'a', number: 1}" in said
    assert "write a literal into the statement, such as '127.0.0.1'" in said
    assert "fleet is text; use distribution and count or size" in said
    assert "id is" not in said


def test_values_of_the_load_and_of_what_follows_a_read_are_seen_too(tmp_path):
    load = {"statement": "INSERT INTO rides (id, host) VALUES (?, ?)", "rows": 5}
    given = {name: {"distribution": "uniform", "count": 9} for name in ("id", "host", "tags", "in(id)")}
    operations = [
        {
            "kind": "RMW", "share": 1.0, "statement": "SELECT id FROM rides WHERE id IN ?",
            "then": "UPDATE rides SET tags = ? WHERE id = ?",
        }
    ]  # fmt: skip
    said = refused(tmp_path, own(values=given, load=load, operations=operations), "--engine", "5.0.9")
    assert "host is inet" in said
    assert "tags is set<text>" in said
    assert "id IN ? " in said
    assert "write IN (:a, :b)" in said


def test_a_literal_of_such_a_type_is_taken(tmp_path):
    statement = "INSERT INTO rides (id, pickup, tags) VALUES (?, {street: 'a', number: 1}, {'x, y'})"
    content = own(operations=[{"kind": "INSERT", "share": 1.0, "statement": statement}])
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    assert load_profile(str(tmp_path / "mine.yaml"), engine="5.0.9").workloads.own[0].misfits() == []


def test_a_type_that_the_release_lacks_is_refused_with_those_that_have_it(tmp_path):
    said = refused(tmp_path, own())
    assert "workloads.own.svc: rides.day is date; Cassandra has date from 2.2 on" in said
    assert "use --engine 2.2.4 or 3.11.4 or 5.0.9, or another type" in said
    vectors = own(create=["CREATE TABLE rides (id uuid PRIMARY KEY, near vector<float, 3>)"])
    assert ": use --engine 5.0.9" in refused(tmp_path, vectors, "--engine", "3.11.4")
    statement = "INSERT INTO rides (day, host) VALUES (?, ?)"
    given = {name: {"distribution": "uniform", "count": 9} for name in ("day", "host")}
    both = refused(tmp_path, own(values=given, operations=[{"kind": "INSERT", "share": 1.0, "statement": statement}]))
    assert "rides.day is date; Cassandra has date from 2.2 on" in both
    assert "host is inet, for which no values are made" in both
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(own()))
    assert plan(load_profile(str(tmp_path / "mine.yaml"), engine="2.2.4"))


def test_a_type_of_ones_own_may_bear_such_a_name():
    create = ["CREATE TYPE duration (hours int)", "CREATE TABLE t (a int PRIMARY KEY, b frozen<duration>)"]
    assert columns.lacking(create, "2.1.20") == []
    assert columns.lacking(["CREATE TABLE t (a int PRIMARY KEY, dates set<date>)"], "2.1.20")
    assert columns.lacking(["CREATE TABLE t (date int PRIMARY KEY, time text)"], "2.1.20") == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"operations": [{"kind": "INSERT", "share": 1, "statement": "BEGIN BATCH DELETE FROM t APPLY BATCH"}]},
         "give each of its statements an operation of its own"),
        ({"operations": [{"kind": "READ", "share": 1, "statement": "BEGIN UNLOGGED BATCH\n APPLY BATCH"}]},
         "is a batch; batches are not measured"),
        ({"create": ["CREATE MATERIALIZED VIEW v AS SELECT a FROM t"]}, "tables with views are not measured"),
    ],
)  # fmt: skip
def test_batches_and_views_are_named_as_what_they_are(tmp_path, change, said):
    assert said in refused(tmp_path, own(**change))


STRESS = {
    "keyspace": "insanitytest",
    "keyspace_definition": "CREATE KEYSPACE insanitytest WITH replication = {'class': 'SimpleStrategy'}",
    "table": "insanitytest",
    "table_definition": "CREATE TABLE insanitytest (name text PRIMARY KEY, choice boolean)",
    "columnspec": [{"name": "name", "size": "uniform(1..10)", "population": "uniform(1..10)"}],
    "insert": {"partitions": "fixed(1)", "batchtype": "UNLOGGED"},
    "queries": {"simple1": {"cql": "select * from insanitytest where name = ?", "fields": "samerow"}},
}


@pytest.mark.parametrize(
    "keys",
    [
        list(STRESS), ["keyspace", "table", "columnspec"], ["queries"], ["insert", "queries"],
        ["keyspace_definition", "table"], ["table_definition"],
    ],
)  # fmt: skip
def test_a_profile_of_cassandra_stress_is_recognised_by_a_part_of_it(tmp_path, keys):
    said = refused(tmp_path, {key: STRESS[key] for key in keys})
    assert len(said.splitlines()) == 1
    assert "mine.yaml: is a user profile of cassandra-stress (it has " in said
    assert "`workloads.own`" in said
    assert "is missing" not in said
    if "queries" in keys:
        assert "queries (simple1): `operations`" in said


def test_more_keys_of_cassandra_stress(tmp_path):
    assert "specname: `name`" in refused(tmp_path, {"specname": "a", "extra_definitions": ["CREATE TYPE t (a int)"]})


def test_a_profile_of_ours_with_a_strange_key_stays_one(tmp_path):
    said = refused(tmp_path, own() | {"insert": {"partitions": 1}})
    assert "insert: unknown key (misspelt?)" in said
    with pytest.raises(InputError, match="unknown key"):
        load_profile(str(tmp_path / "mine.yaml"))
