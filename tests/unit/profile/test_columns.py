"""What a profile's own statements bind, seen from the statements alone."""

import pytest
import yaml

from cassbook.core.errors import InputError
from cassbook.lab.load import values
from cassbook.lab.run.plan import plan
from cassbook.profile import columns
from cassbook.profile.profile import load_profile
from cassbook.profile.values import BINDABLE
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
    (rides,) = KNOWN.values()
    assert {name: str(type_) for name, type_ in rides.items()} == {
        "id": "uuid", "day": "date", "Stop": "text", "pickup": "place", "tags": "set<text>", "stops": "list<place>",
        "fares": "map<text, decimal>", "seen": "counter", "host": "inet", "fleet": "text",
    }  # fmt: skip
    assert rides["pickup"].fields == ("street", "number")
    assert str(rides["stops"].parts[0].parts[1]) == "int"


def test_what_a_statement_asks_of_what_nothing_creates_is_named():
    said = columns.strangers("SELECT id FROM rides WHERE id = ? AND dya = ?", KNOWN)
    assert said == [f"rides has no column dya; it has {', '.join(KNOWN['rides'])}"]
    assert columns.strangers("INSERT INTO rides (id, Stop) VALUES (?, ?)", KNOWN)[0].startswith(
        "rides has no column stop;"
    )
    assert columns.strangers("SELECT a FROM rdies", KNOWN) == [
        "no statement under create makes the table rdies; there is rides"
    ]
    assert columns.strangers("UPDATE usertable SET field0 = ? WHERE y_id = ?", KNOWN) == []
    assert columns.strangers("SELECT a FROM other", {}) == []


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
        ("SELECT id FROM rides WHERE token(id) > ? LIMIT ?", [("[limit]", "LIMIT")]),
        (
            "UPDATE rides USING TTL ? AND TIMESTAMP :at SET fleet = ? WHERE id = ?",
            [("[ttl]", "TTL"), ("at", "TIMESTAMP"), ("fleet", "fleet"), ("id", "id")],
        ),
        ("INSERT INTO rides JSON ?", []),
    ],
)
def test_markers_go_by_column_or_by_their_own_name(statement, found):
    marked = columns.markers(statement, KNOWN)
    assert sorted((one.name, one.column) for one in marked) == sorted(found)


def test_a_whole_list_behind_in_is_bound_as_a_list():
    (marker,) = columns.markers("SELECT id FROM rides WHERE id IN ?", KNOWN)
    assert (marker.name, str(marker.type)) == ("in(id)", "list<uuid>")


def test_the_types_that_are_said_to_fit_are_those_that_values_are_made_for():
    assert {name: set(types) for name, types in BINDABLE.items()} == {
        name: set(made) for name, made in values._MAKERS.items()
    }
    assert {name for types in BINDABLE.values() for name in types} == set(columns._PLAIN)


def test_all_columns_that_cannot_have_their_values_are_named_at_once_with_what_works(tmp_path):
    number = {"distribution": "uniform", "count": 9}
    statement = "INSERT INTO rides (id, pickup, tags, stops, fares, host, fleet) VALUES (?, ?, ?, ?, ?, ?, ?)"
    given = dict.fromkeys(("id", "pickup", "tags", "stops", "fares", "host"), number) | {"fleet": {"between": [0, 1]}}
    said = refused(tmp_path, own(
        values=given, operations=[{"kind": "INSERT", "share": 1.0, "statement": statement}]
    ), "--engine", "5.0.9")  # fmt: skip
    assert said.count("mine.yaml") == 1
    assert "pickup is place; use {fields: {street: {...}, number: {...}}}" in said
    assert "tags is set<text>; use {each: {...}, length: [1, 5]}" in said
    assert "stops is list<place>; use {each: {...}, length: [1, 5]}" in said
    assert "fares is map<text, decimal>; use {keys: {...}, each: {...}, length: [1, 5]}" in said
    assert "fleet is text; use distribution and count or size" in said
    assert "(got " not in said
    assert "INSERT INTO" not in said
    assert "id is" not in said
    assert "host is" not in said


def test_what_is_wrong_within_a_composed_value_is_named_where_it_is(tmp_path):
    number, text = {"distribution": "uniform", "count": 9}, {"size": 4}
    given = {
        "pickup": {"fields": {"street": number, "numbr": number}}, "tags": {"each": {"between": [0, 1]}, "length": 2},
        "stops": {"each": {"fields": {"number": text}}, "length": [0, 2]},
        "fares": {"keys": text, "each": text, "length": 1},
    }  # fmt: skip
    statement = "UPDATE rides SET pickup = ?, tags = ?, stops = ?, fares = ? WHERE id = 1"
    said = refused(tmp_path, own(
        values=given, operations=[{"share": 1.0, "statement": statement}]
    ), "--engine", "5.0.9")  # fmt: skip
    for wrong in (
        "place has no field numbr; it has street, number",
        "an element of tags is text; use distribution and count or size",
        "an element of stops.number is int; use distribution and count",
        "an element of fares is decimal; use distribution and count or between",
    ):  # fmt: skip
        assert wrong in said


def test_values_of_the_load_and_of_what_follows_a_read_are_seen_too(tmp_path):
    load = {"statement": "INSERT INTO rides (id, host) VALUES (?, ?)", "rows": 5}
    given = {name: {"distribution": "uniform", "count": 9} for name in ("id", "tags", "in(id)")} | {"host": {"size": 4}}
    operations = [
        {
            "kind": "RMW", "share": 1.0, "statement": "SELECT id FROM rides WHERE id IN ?",
            "then": "UPDATE rides SET tags = ? WHERE id = ?",
        }
    ]  # fmt: skip
    said = refused(tmp_path, own(values=given, load=load, operations=operations), "--engine", "5.0.9")
    assert "host is inet; use distribution and count" in said
    assert "tags is set<text>" in said
    assert "id IN ? is list<uuid>; use {each: {...}, length: [1, 5]}" in said


def test_a_marker_without_values_is_named_before_anything_starts(tmp_path):
    operations = [{"share": 1.0, "statement": "SELECT id FROM rides WHERE id = ? AND day = ? LIMIT ?"}]
    said = refused(tmp_path, own(operations=operations), "--engine", "5.0.9")
    for name in ("day", "[limit]"):
        assert f"no values for {name}, asked for by 'SELECT id FROM rides" in said
    assert "there are some for id" in said


def test_a_literal_of_such_a_type_is_taken(tmp_path):
    statement = "INSERT INTO rides (id, pickup, tags) VALUES (?, {street: 'a', number: 1}, {'x, y'})"
    content = own(operations=[{"kind": "INSERT", "share": 1.0, "statement": statement}])
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    assert load_profile(str(tmp_path / "mine.yaml"), engine="5.0.9").workloads.own[0].misfits(KNOWN) == []


def test_a_type_that_the_release_lacks_is_refused_with_those_that_have_it(tmp_path):
    said = refused(tmp_path, own())
    assert "workloads.own.svc: rides.day is date; Cassandra has date from 2.2 on" in said
    assert "use --engine 2.2.4 or 3.11.4 or 5.0.9, or another type" in said
    vectors = own(create=["CREATE TABLE rides (id uuid PRIMARY KEY, near vector<float, 3>)"])
    assert ": use --engine 5.0.9" in refused(tmp_path, vectors, "--engine", "3.11.4")
    statement = "INSERT INTO rides (day, host) VALUES (?, ?)"
    given = {"day": {"distribution": "uniform", "count": 9}, "host": {"size": 4}}
    both = refused(tmp_path, own(values=given, operations=[{"kind": "INSERT", "share": 1.0, "statement": statement}]))
    assert "rides.day is date; Cassandra has date from 2.2 on" in both
    assert "host is inet; use distribution and count" in both
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(own()))
    assert plan(load_profile(str(tmp_path / "mine.yaml"), engine="2.2.4"))


def test_a_type_of_ones_own_may_bear_such_a_name():
    create = ["CREATE TYPE duration (hours int)", "CREATE TABLE t (a int PRIMARY KEY, b frozen<duration>)"]
    assert columns.lacking(create, "2.1.20") == []
    assert columns.lacking(["CREATE TABLE t (a int PRIMARY KEY, dates set<date>)"], "2.1.20")
    assert columns.lacking(["CREATE TABLE t (date int PRIMARY KEY, time text)"], "2.1.20") == []


@pytest.mark.parametrize(
    ("create", "engine", "said"),
    [
        (
            "CREATE TABLE rides (id uuid PRIMARY KEY, token int)",
            "5.0.9",
            "token is a reserved word of CQL in Cassandra 5.0.9",
        ),
        ("CREATE TABLE rides (id uuid PRIMARY KEY, is int)", "3.11.4", "is is a reserved word"),
        ("CREATE TABLE rides (id uuid PRIMARY KEY, at frozen<place>)", "2.1.20", ""),
        ("CREATE TABLE rides (id uuid PRIMARY KEY, is int)", "2.2.4", ""),
        ('CREATE TABLE rides (id uuid PRIMARY KEY, "token" int)', "5.0.9", ""),
        (
            "CREATE TABLE rides (id uuid PRIMARY KEY, at place)",
            "2.1.20",
            "rides.at is place; Cassandra has types of your own",
        ),
        ("CREATE TABLE rides (id uuid PRIMARY KEY, at place)", "3.11.4", ""),
    ],
)
def test_names_and_types_that_a_release_does_not_take_are_refused(tmp_path, create, engine, said):
    content = own(create=[CREATE[0], create])
    if said:
        assert said in refused(tmp_path, content, "--engine", engine)
        return
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    assert load_profile(str(tmp_path / "mine.yaml"), engine=engine)


@pytest.mark.parametrize(
    ("change", "engine", "said"),
    [
        ({"create": [*CREATE, "CREATE INDEX ON rides (fleet) USING 'sai'"]}, "3.11.4",
         "Cassandra has SAI indexes from 5.0 on, not in 3.11.4: use --engine 5.0.9"),
        ({"operations": [{"share": 1.0, "statement": "SELECT id FROM rides PER PARTITION LIMIT 2"}]}, "2.2.4",
         "Cassandra has PER PARTITION LIMIT from 3.6 on"),
        ({"operations": [{"share": 1.0, "statement": "SELECT JSON id FROM rides"}]}, "2.1.20",
         "Cassandra has JSON from 2.2"),
    ],
)  # fmt: skip
def test_what_a_release_has_not_learned_is_refused_with_one_that_has(tmp_path, change, engine, said):
    assert said in refused(tmp_path, own(**change), "--engine", engine)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"operations": [{"share": 1, "statement": "BEGIN BATCH DELETE FROM rides WHERE id = ?"}]},
         "without APPLY BATCH"),
        ({"operations": [{"share": 1, "statement": "BEGIN UNLOGGED BATCH APPLY BATCH"}]}, "is a batch of nothing"),
        ({"operations": [{"kind": "UPDATE", "share": 1, "statement": "DELETE FROM rides WHERE id = ?"}]},
         "the statement is a DELETE; give kind: DELETE, or leave kind out"),
        ({"operations": [{"kind": "INSERT", "share": 1, "statement": "UPDATE rides SET fleet = 'a' WHERE id = ?"}]},
         "the statement is an UPDATE; give kind: UPDATE"),
        ({"operations": [{"share": 1, "statement": "BEGIN BATCH DELETE FROM rides IF EXISTS APPLY BATCH"}]},
         "is a lightweight transaction (IF)"),
        ({"create": ["CREATE MATERIALIZED VIEW v AS SELECT a FROM t"]}, "tables with views are not measured"),
    ],
)  # fmt: skip
def test_what_is_not_measured_is_named_as_what_it_is(tmp_path, change, said):
    assert said in refused(tmp_path, own(**change), "--engine", "5.0.9")


def test_an_operation_is_counted_as_what_its_statement_is(tmp_path):
    statements = [
        "SELECT id FROM rides WHERE id = ?", "INSERT INTO rides (id) VALUES (?)",
        "UPDATE rides SET fleet = 'x' WHERE id = ?",
        "DELETE FROM rides WHERE id = ?",
        "BEGIN UNLOGGED BATCH INSERT INTO rides (id) VALUES (?) DELETE FROM rides WHERE id = ? APPLY BATCH;",
    ]  # fmt: skip
    content = own(operations=[{"share": 0.2, "statement": statement} for statement in statements])
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    operations = load_profile(str(tmp_path / "mine.yaml"), engine="5.0.9").workloads.own[0].operations
    assert [one.kind for one in operations] == ["READ", "INSERT", "UPDATE", "DELETE", "BATCH"]


def test_a_profile_says_only_what_it_must(tmp_path):
    whole = own()
    (tmp_path / "my orders.yaml").write_text(yaml.safe_dump({"workloads": whole["workloads"], "engine": "5.0.9"}))
    profile = load_profile(str(tmp_path / "my orders.yaml"))
    assert (profile.name, profile.title, profile.seed) == ("my-orders", "my-orders", 1)
    assert (profile.uses_table, profile.first_workload) == (False, "svc")
    for part in ({"pure": {"threads": [1]}}, {"open": {"read_shares": [0.5], "load_shares": [0.4]}}):
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"workloads": whole["workloads"], "engine": "5.0.9"} | part))
        assert load_profile(str(tmp_path / "mine.yaml")).uses_table


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
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({key: STRESS[key] for key in keys}))
    with pytest.raises(InputError, match=r"is a user profile of cassandra-stress; .* --convert FILE"):
        load_profile(str(path))
    if "table_definition" not in keys:
        said = refused(tmp_path, {key: STRESS[key] for key in keys})
        assert "table_definition: is missing" in said


def test_a_profile_of_ours_with_a_strange_key_stays_one(tmp_path):
    said = refused(tmp_path, own() | {"insert": {"partitions": 1}})
    assert "insert: unknown key (misspelt?)" in said
    with pytest.raises(InputError, match="unknown key"):
        load_profile(str(tmp_path / "mine.yaml"))
