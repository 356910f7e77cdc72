"""YCSB's presets and a user's own workloads, as far as they can be checked without a cluster."""

import re
from collections import Counter
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from cassandra import cqltypes
from scipy import stats

from cassbook.core.errors import InputError
from cassbook.core.paths import project_root, resource
from cassbook.lab.load import keys, values, wire
from cassbook.lab.load.core_workloads import PRESETS, SETTLED_AFTER_S, Growth, YcsbWorkload, kinds
from cassbook.lab.load.statements import Statements
from cassbook.lab.load.ycsb import INSERT, READ, RMW, SCAN, UPDATE, Usertable
from cassbook.lab.run.hosts import written
from cassbook.lab.run.plan import forecast_s, plan
from cassbook.profile.columns import ColumnType
from cassbook.profile.profile import TableSection, load_profile
from cassbook.profile.syntax import qualified
from cassbook.profile.values import Values
from cassbook.profile.workloads import OwnWorkload
from tests.helpers.data import DATA

GENERATORS = pd.read_csv(DATA / "ycsb" / "generators.csv")
DRAWS = 3_000_000  # more than YCSB's, so that chance comes from one side mostly


def ours(generator, rng):
    """Draws of ours where YCSB drew from 1000 rows (scan lengths: 1 to 100)."""
    match generator:
        case "zipfian":
            return keys.scan_lengths("zipfian", 100, DRAWS, rng)
        case "latest_newest":
            rows = keys.draw("latest", 1000, 3 * DRAWS, rng)
            return rows[rows >= 980][:DRAWS]
        case "scrambled_zipfian":
            return keys.draw("zipfian", 1000, DRAWS, rng)
        case _:
            return keys.draw(generator, 1000, DRAWS, rng)


@pytest.mark.parametrize("generator", GENERATORS["generator"].unique())
def test_draws_are_distributed_as_ycsbs(generator):
    theirs = GENERATORS[GENERATORS["generator"] == generator]
    edges = [*theirs["low"], theirs["high"].iloc[-1] + 1]
    counts, _ = np.histogram(ours(generator, np.random.default_rng(11)), edges)
    assert counts.sum() == DRAWS
    assert theirs["count"].sum() == 1_000_000
    seen = (counts + theirs["count"].to_numpy()) > 0
    assert stats.chi2_contingency([counts[seen], theirs["count"][seen]]).pvalue > 1e-3


def test_small_populations_are_drawn_from_too():
    rng = np.random.default_rng(1)
    for distribution in keys.DISTRIBUTIONS:
        for count in (1, 2, 3):
            drawn = keys.draw(distribution, count, 1000, rng)
            assert set(drawn.tolist()) <= set(range(count))
    assert keys.draw("sequential", 5, 12, rng).tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert set(keys.scan_lengths("uniform", 3, 1000, rng).tolist()) == {1, 2, 3}


class Prepared:
    """A session that prepares anything, on a ring where each key belongs to the second of three nodes."""

    def __init__(self):
        ring = SimpleNamespace(get_replicas=lambda keyspace, token: [SimpleNamespace(address="b")])
        self.cluster = SimpleNamespace(metadata=SimpleNamespace(token_map=ring))

    def prepare(self, query):
        return SimpleNamespace(query_string=query, query_id=b"i" * 16, column_metadata=[None] * query.count("?"))


def usertable(rows=1000, policy="token_aware", **shape):
    part = TableSection(record_count=rows, **shape)
    return Usertable(Prepared(), part, ["a", "b", "c"], policy, 0, np.random.default_rng(2))


def key_of(row):
    return wire.value(keys.row_keys([row])[0])


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_ycsbs_shares(name):
    shares = PRESETS[name].shares
    counted = Counter(
        islice(
            YcsbWorkload(PRESETS[name], usertable(), np.random.default_rng(1)).operations(np.random.default_rng(4)),
            60_000,
        )
    )
    assert sum(shares.values()) == 1.0
    for kind, share in shares.items():
        assert counted[kind] / 60_000 == pytest.approx(share, abs=0.01)


def test_presets_ask_for_nothing_that_they_do_not_have():
    workload = YcsbWorkload(PRESETS["A"], usertable(), np.random.default_rng(1))
    assert [next(workload.requests(kind), None) is not None for kind in range(5)] == [True, True, False, False, False]


def test_a_read_modify_write_updates_the_row_it_has_read():
    workload = YcsbWorkload(PRESETS["F"], usertable(), np.random.default_rng(1))
    for request in islice(workload.requests(RMW), 200):
        assert request.expected == request.tail
        assert request.then.expected is None
        assert request.then.tail.endswith(request.expected)
        assert request.then.node == request.node == 1
    prefixes = workload.prefixes("ONE", "ALL")
    assert prefixes[RMW] == prefixes[READ]
    assert prefixes[UPDATE][0][18:20] == b"\0\5"
    assert prefixes[SCAN][0][18:20] == b"\0\1"


def test_scans_ask_for_one_to_a_hundred_rows_from_a_row_that_is_there():
    table = usertable()
    workload = YcsbWorkload(PRESETS["E"], table, np.random.default_rng(1))
    there = {key_of(row) for row in range(1000)}
    lengths = []
    for request in islice(workload.requests(SCAN), 5000):
        assert request.expected in there
        assert request.tail == request.expected + bytes([0, 0, 0, 4]) + request.most_rows.to_bytes(4, "big")
        lengths.append(request.most_rows)
    assert stats.chisquare(np.bincount(lengths, minlength=101)[1:]).pvalue > 1e-3
    assert max(lengths) == 100


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_new_row_is_asked_for_only_when_its_insert_has_had_time():
    table, clock = usertable(), Clock()
    growth = Growth(table, clock=clock)
    growth.prepare()
    inserted = [growth.insert() for _ in range(3)]
    assert [request.tail[:27].startswith(key_of(1000 + i)[:10]) for i, request in enumerate(inserted)] == [True] * 3
    assert inserted[0].tail.startswith(key_of(1000))
    assert growth.newest() == 999
    clock.now += SETTLED_AFTER_S / 2
    growth.insert()
    clock.now += SETTLED_AFTER_S * 0.6
    assert growth.newest() == 1002
    clock.now += SETTLED_AFTER_S
    assert growth.newest() == 1003


def test_inserts_never_run_out_and_never_repeat():
    growth = Growth(usertable(100), clock=Clock())
    growth.prepare()
    inserted = {growth.insert().tail[:24] for _ in range(17_500)}
    assert len(inserted) == 17_500


def test_processes_insert_rows_of_their_own():
    drawn = []
    for process in range(3):
        growth = Growth(usertable(100), process, 3, Clock())
        growth.prepare()
        drawn.append([growth.insert().tail for _ in range(50)])
    for process, tails in enumerate(drawn):
        assert all(tail.startswith(key_of(100 + process + 3 * i)) for i, tail in enumerate(tails))


def test_d_reads_the_newest_most_and_moves_with_the_inserts():
    table, clock = usertable(), Clock()
    workload = YcsbWorkload(PRESETS["D"], table, np.random.default_rng(1))
    workload.growth = Growth(table, clock=clock)
    reads, inserts = workload.requests(READ), workload.requests(INSERT)
    first = Counter(request.tail for request in islice(reads, 2000))
    assert first.most_common(1)[0][0] == key_of(999)
    for _ in range(10):
        next(inserts)
    clock.now += 1
    second = Counter(request.tail for request in islice(reads, 2000))
    assert second.most_common(1)[0][0] == key_of(1009)


def test_e_scans_from_new_rows_too_once_they_are_there():
    table, clock = usertable(), Clock()
    workload = YcsbWorkload(PRESETS["E"], table, np.random.default_rng(1))
    workload.growth = Growth(table, clock=clock)
    scans, inserts = workload.requests(SCAN), workload.requests(INSERT)
    for _ in range(500):
        next(inserts)
    new = {key_of(row) for row in range(1000, 1500)}
    assert not any(request.expected in new for request in islice(scans, 2000))
    clock.now += 1
    assert 0.2 < sum(request.expected in new for request in islice(scans, 2000)) / 2000 < 0.45


def test_nodes_take_turns_where_the_policy_says_so():
    workload = YcsbWorkload(PRESETS["D"], usertable(policy="round_robin"), np.random.default_rng(1))
    assert [request.node for request in islice(workload.requests(READ), 6)] == [0, 1, 2, 0, 1, 2]


def test_single_kinds_need_no_drawing():
    assert list(islice(kinds({SCAN: 1.0}, np.random.default_rng(1)), 3)) == [SCAN] * 3


def column(typename):
    return SimpleNamespace(name="c", type=cqltypes.lookup_casstype(f"{typename}Type"))


def encoded(described, typename, size=50):
    one = Values.model_validate(described)
    kind = column(typename)
    drawn = values.draw(one, size, np.random.default_rng(3), values.type_of(kind.type))
    return [kind.type.from_binary(v[4:], 4) for v in values.encode(one, drawn, kind, 4, "here")]


NUMBERS = {"distribution": "sequential", "count": 3, "first": 5}


@pytest.mark.parametrize(
    ("typename", "wanted"),
    [
        ("UTF8", ["5", "6", "7", "5"]),
        ("Int32", [5, 6, 7, 5]),
        ("Long", [5, 6, 7, 5]),
        ("Byte", [5, 6, 7, 5]),
        ("Double", [5.0, 6.0, 7.0, 5.0]),
        ("Boolean", [True, False, True, True]),
    ],
)
def test_numbers_become_what_the_column_holds(typename, wanted):
    assert encoded(NUMBERS, typename, 4) == wanted


def test_numbers_become_uuids_timestamps_dates_and_bytes():
    assert [u.int for u in encoded(NUMBERS, "UUID", 3)] == [5, 6, 7]
    assert {u.version for u in encoded(NUMBERS, "TimeUUID", 3)} == {1}
    assert encoded(NUMBERS | {"first": 1_600_000_000_000}, "Timestamp", 1)[0].year == 2020
    assert str(encoded(NUMBERS | {"first": 18_000}, "SimpleDate", 1)[0]) == "2019-04-14"
    assert encoded(NUMBERS, "Time", 1)[0].nanosecond_time == 5
    assert encoded(NUMBERS, "Bytes", 1) == [bytes(7) + b"\5"]
    assert str(encoded(NUMBERS, "Decimal", 1)[0]) == "5"


def test_formatted_and_hashed_numbers_are_ycsbs_keys():
    described = {"distribution": "sequential", "count": 5, "hashed": True, "format": "user{}"}
    assert [key.encode() for key in encoded(described, "UTF8", 5)] == keys.row_keys(range(5))


def test_contents_have_the_size_asked_for():
    assert {len(text) for text in encoded({"size": 7}, "UTF8")} == {7}
    assert all(text.isprintable() and text.isascii() for text in encoded({"size": 70}, "UTF8"))
    sizes = {len(content) for content in encoded({"size": [3, 5]}, "Bytes", 500)}
    assert sizes == {3, 4, 5}
    assert all(0.5 <= x < 2 for x in encoded({"between": [0.5, 2]}, "Double"))


def test_while_loading_a_population_is_gone_through_in_order():
    one, number = Values(distribution="zipfian", count=3, every=2, first=10), ColumnType("int")
    assert values.go_through(one, 0, 7, np.random.default_rng(1), number).tolist() == [10, 10, 11, 11, 12, 12, 10]
    assert values.go_through(one, 3, 2, np.random.default_rng(1), number).tolist() == [11, 12]


@pytest.mark.parametrize(
    ("described", "typename", "named"),
    [
        (NUMBERS | {"first": 300}, "Byte", "300 is no value for c, a tinyint"),
        ({"size": 4}, "Int32", "c is int; use distribution and count"),
        ({"between": [0, 1]}, "UTF8", "c is text; use distribution and count or size"),
        ({"size": 4}, "InetAddress", "c is inet; use distribution and count"),
    ],
)
def test_a_type_that_values_cannot_have_is_refused(described, typename, named):
    with pytest.raises(InputError) as caught:
        encoded(described, typename)
    assert named in str(caught.value)
    assert str(caught.value).startswith("here: ")


WORKLOADS = yaml.safe_load((resource("profiles") / "workloads.yaml").read_text())


def changed(tmp_path, **changes):
    """Path of the profile `workloads` with keys of its own workload changed."""
    content = yaml.safe_load(yaml.safe_dump(WORKLOADS))
    part = content["workloads"]
    for key, value in changes.items():
        (part["own"][0] if key in {"name", "create", "load", "operations", "values"} else part)[key] = value
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(content))
    return str(path)


READING = {"kind": "READ", "share": 1.0, "statement": "SELECT a FROM t WHERE a = ?"}
WRITING = {"kind": "UPDATE", "share": 1.0, "statement": "UPDATE t SET b = ? WHERE a = ?"}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"presets": ["A", "G"]}, "workloads.presets.1"),
        ({"presets": ["A", "A"]}, "A given twice"),
        ({"presets": [], "own": []}, "give presets, own workloads, or both"),
        ({"settings": ["QUORUM"]}, "'QUORUM' is unknown"),
        ({"settings": ["ANY/ONE"]}, "'ANY' is not a read consistency level"),
        ({"settings": ["ONE/SERIAL"]}, "'SERIAL' is not a write consistency level"),
        ({"max_scan_length": 0}, "workloads.max_scan_length"),
        ({"name": "F"}, "is the name of one of YCSB's presets"),
        ({"create": ["DROP TABLE t"]}, "is not CREATE TABLE"),
        ({"create": ["CREATE TABLE other.t (a text PRIMARY KEY)"]}, "names the keyspace other"),
        ({"operations": [READING | {"statement": "SELECT a FROM system.local"}]}, "names the keyspace system"),
        ({"operations": [READING | {"statement": "SELECT a FROM/* b */system.local"}]}, "names the keyspace system"),
        (
            {"operations": [WRITING | {"statement": 'UPDATE "Other".t SET b = ? WHERE a = ?'}]},
            'names the keyspace "Other"',
        ),
        ({"operations": [READING | {"statement": "DELETE FROM t WHERE a = ?"}]}, "is not a SELECT"),
        ({"operations": [WRITING | {"statement": "SELECT a FROM t"}]}, "is not an INSERT, UPDATE, DELETE or a batch"),
        ({"operations": [WRITING | {"statement": "DELETE FROM t WHERE a = ? IF EXISTS"}]}, "lightweight transaction"),
        ({"operations": [READING | {"then": WRITING["statement"]}]}, "goes with RMW"),
        ({"operations": [READING | {"kind": "RMW"}]}, "goes with RMW"),
        ({"operations": [READING | {"share": 0.9}]}, "add up to 0.9"),
        ({"operations": []}, "operations"),
        ({"values": {"user": {"size": 4, "count": 3}}}, "distribution and count go together"),
        (
            {"values": {"user": {"size": 4, "between": [0, 1]}}},
            "give one of distribution, size, between, each, parts or fields",
        ),
        ({"values": {"user": {"size": [9, 4]}}}, "9 is more than 4"),
        ({"values": {"user": {"size": 4, "format": "a{}"}}}, "format does not go with size"),
        ({"values": {"user": {"distribution": "zipfian", "count": 3, "format": "a{}{}"}}}, "exactly one {}"),
        ({"values": {"user": {"distribution": "zipf", "count": 3}}}, "values.user.distribution"),
        ({"load": {"statement": "SELECT a FROM t", "rows": 3}}, "is not an INSERT"),
    ],
)
def test_what_makes_no_sense_is_refused_with_file_and_key(tmp_path, changes, named):
    with pytest.raises(InputError) as caught:
        load_profile(changed(tmp_path, **changes))
    assert named in str(caught.value)
    assert "mine.yaml: workloads." in str(caught.value) or "mine.yaml: workloads:" in str(caught.value)


def test_a_statement_that_reaches_another_keyspace_all_the_same_is_refused():
    elsewhere = SimpleNamespace(keyspace_name="other", name="a", type=cqltypes.UTF8Type)
    session = SimpleNamespace(
        cluster=SimpleNamespace(protocol_version=4),
        set_keyspace=lambda keyspace: None,
        prepare=lambda query: SimpleNamespace(column_metadata=[elsewhere]),
    )
    workload = OwnWorkload.model_validate({"name": "mine", "operations": [READING], "values": {"a": {"size": 4}}})
    with pytest.raises(InputError, match=r"workloads\.own\.mine: 'SELECT a FROM t.*keyspace other"):
        Statements(session, workload, "ycsb", SimpleNamespace(), np.random.default_rng(1))


def test_statements_name_their_keyspace_to_the_server():
    for statement, sent in [
        ('SELECT "from", a FROM t WHERE a = ?', 'SELECT "from", a FROM ks.t WHERE a = ?'),
        ("insert into\n t (a) VALUES ('FROM x')", "insert into\n ks.t (a) VALUES ('FROM x')"),
        ("UPDATE t SET a = ' FROM t'", "UPDATE ks.t SET a = ' FROM t'"),
        ("DELETE b FROM t WHERE a = ?", "DELETE b FROM ks.t WHERE a = ?"),
        (
            "BEGIN BATCH UPDATE t SET a = ' INTO t' WHERE b = 1; INSERT INTO t (a) VALUES (1); APPLY BATCH",
            "BEGIN BATCH UPDATE ks.t SET a = ' INTO t' WHERE b = 1; INSERT INTO ks.t (a) VALUES (1); APPLY BATCH",
        ),
    ]:
        assert qualified(statement, "ks") == sent


def test_words_in_a_text_do_not_count(tmp_path):
    statement = "UPDATE t SET b = 'taken FROM other.t IF it''s so' WHERE a = ?;"
    profile = load_profile(changed(tmp_path, operations=[WRITING | {"statement": statement}], create=[]))
    assert profile.workloads.own[0].operations[0].statement == statement[:-1]


def test_two_own_workloads_have_names_of_their_own(tmp_path):
    with pytest.raises(InputError, match="same name"):
        load_profile(changed(tmp_path, own=WORKLOADS["workloads"]["own"] * 2))


def test_the_levels_of_workloads_must_be_met_too(tmp_path):
    content = yaml.safe_load(Path(changed(tmp_path, settings=["ONE/TWO"])).read_text())
    content["cluster"]["replication_factor"] = 1
    content["pure"]["levels"] = ["ONE"]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(InputError, match="TWO waits for more replicas"):
        load_profile(str(tmp_path / "mine.yaml"))


def test_workload_cells_come_behind_the_pure_and_mixed_and_have_ids_of_their_own():
    profile = load_profile("workloads")
    part = profile.workloads
    (cells,) = plan(profile)
    of_workloads = [cell for cell in cells if cell.kind == "workload"]
    assert len(of_workloads) == len(part.threads) * len(part.settings) * (len(part.presets) + len(part.own))
    assert cells[-len(of_workloads) :] == of_workloads
    assert [cell.order for cell in cells] == list(range(len(cells)))
    assert len({cell.cell_id for cell in cells}) == len(cells)
    shares = {cell.workload: cell.read_share for cell in of_workloads}
    assert {name: shares[name] for name in PRESETS} == {
        "A": 0.5, "B": 0.95, "C": 1.0, "D": 0.95, "E": 0.95, "F": 0.75,
    }  # fmt: skip
    assert shares["timeline"] == pytest.approx(0.9)
    assert {(cell.read_cl, cell.write_cl) for cell in of_workloads} == {("ONE", "ONE"), ("QUORUM", "QUORUM")}
    assert all(cell.condition == "" and np.isnan(cell.rate_per_s) for cell in of_workloads)


def test_workloads_leave_the_order_of_the_other_cells_alone(tmp_path):
    content = {key: value for key, value in WORKLOADS.items() if key != "workloads"}
    (tmp_path / "without.yaml").write_text(yaml.safe_dump(content))
    without = plan(load_profile(str(tmp_path / "without.yaml")))[0]
    assert plan(load_profile("workloads"))[0][: len(without)] == without


def test_tables_of_their_own_are_in_the_forecast():
    profile = load_profile("workloads")
    (cells,) = plan(profile)
    d = [cell for cell in cells if cell.workload == "D"]
    a = [cell for cell in cells if cell.workload == "A"]
    assert forecast_s(profile, d) - forecast_s(profile, a) == pytest.approx(profile.table.record_count / 4000)


def test_the_example_in_the_book_is_a_profile(tmp_path):
    page = (project_root() / "book" / "workloads.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "orders.yaml").write_text(example)
    profile = load_profile(str(tmp_path / "orders.yaml"))
    assert {cell.workload for cell in plan(profile)[0]} == {"orders"}


def test_the_page_tells_the_presets_as_they_are():
    page = (project_root() / "book" / "workloads.md").read_text()
    on_page = {
        name: (operations, rows) for name, operations, rows in re.findall(r"^\| ([A-F]) \| (.*?) \| (\w+)", page, re.M)
    }
    words = {READ: "read", UPDATE: "update", INSERT: "insert", SCAN: "scan", RMW: "read-modify-write"}
    assert on_page == {
        name: (
            ", ".join(f"{100 * share:g} % {words[kind]}" for kind, share in preset.shares.items()),
            preset.distribution,
        )
        for name, preset in PRESETS.items()
    }


def with_rates(tmp_path, own=None, steady_s=2.0, **section):
    """The profile `workloads` with rates for all of its workloads, or for its own one."""
    content = yaml.safe_load(yaml.safe_dump(WORKLOADS))
    content["workloads"] |= section
    content["workloads"]["own"][0] |= {"rates_per_s": own} if own else {}
    if steady_s is None:
        del content["load"]["steady_s"]
        content["load"]["operations_per_thread"] = 10
    (tmp_path / "rates.yaml").write_text(yaml.safe_dump(content))
    return load_profile(str(tmp_path / "rates.yaml"))


def test_own_workloads_take_rates(tmp_path):
    profile = with_rates(tmp_path, own=[500, 2000])
    (cells,) = plan(profile)
    paced = [cell for cell in cells if not np.isnan(cell.rate_per_s)]
    assert len(cells) == len(plan(load_profile("workloads"))[0]) + len(paced)
    assert {(cell.workload, cell.rate_per_s, cell.read_cl, cell.threads, cell.kind) for cell in paced} == {
        ("timeline", rate, level, 100, "workload") for rate in (500.0, 2000.0) for level in ("ONE", "QUORUM")
    }
    assert "b1-paced500-own-timeline-QUORUM+QUORUM" in {cell.cell_id for cell in paced}
    assert len({cell.cell_id for cell in cells}) == len(cells)
    # the warm-up aside, a cell at a low rate writes less than one in a closed loop may
    slow = next(cell for cell in paced if cell.rate_per_s == 500)
    closed = next(cell for cell in cells if cell.workload == "timeline" and np.isnan(cell.rate_per_s))
    assert written(profile, [slow]).updates_mb < written(profile, [closed]).updates_mb


def test_rates_of_the_section_are_for_all_but_those_that_have_their_own(tmp_path):
    profile = with_rates(tmp_path, own=[500], rates_per_s={"from": 1000, "to": 8000, "steps": 4})
    assert profile.workloads.rates_of("A") == [1000.0, 2000.0, 4000.0, 8000.0]
    assert profile.workloads.rates_of("timeline") == [500.0]


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ([], "at least 1 item"),
        ([100, 100], "100.0 given twice"),
        ([2e6], "less than or equal to 1000000"),
        ({"from": 1, "to": 2}, "a ladder of rates has from, to and steps, such as"),
        ({"from": 1, "to": 2, "steps": 1}, "steps: a ladder has 2 to 50"),
        ({"from": 5, "to": 2, "steps": 3}, "a ladder goes from a rate above 0 to a higher one"),
        ({"from": "low", "to": 2, "steps": 3}, "a ladder goes from a rate above 0 to a higher one"),
    ],
)
def test_rates_that_cannot_be_are_refused(tmp_path, rates, said):
    with pytest.raises(InputError, match=r"workloads\.rates_per_s") as caught:
        with_rates(tmp_path, rates_per_s=rates)
    assert said in str(caught.value)


def test_a_rate_needs_a_window(tmp_path):
    with pytest.raises(InputError, match=r"workloads\.rates_per_s: needs load\.steady_s"):
        with_rates(tmp_path, own=[500], steady_s=None)
