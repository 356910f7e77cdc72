"""YCSB's presets and a user's own workload on a real cluster: what they ask for comes back, in the shares asked for."""

import re
from collections import Counter, defaultdict
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from scipy import stats

from cassbook.core import schema
from cassbook.core.errors import InputError
from cassbook.core.paths import project_root
from cassbook.core.schema import OPERATIONS, read_cells, without_aside
from cassbook.lab.load import keys, wire
from cassbook.lab.load.core_workloads import PRESETS
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import INSERT, KEYSPACE, READ, RMW, SCAN, Locked, Usertable, create_table
from cassbook.lab.run import workloads
from cassbook.lab.run.block import Block
from cassbook.lab.run.plan import plan
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import Profile

pytestmark = pytest.mark.live
ROWS = 600
PROFILE = yaml.safe_load(f"""
name: test
title: Workloads
seed: 1
cluster: {{heap_mb: 512}}
table: {{record_count: {ROWS}}}
load: {{steady_s: 0.5}}
pure: {{threads: [8]}}
workloads:
  threads: [8]
  settings: [ALL/ALL]
  presets: [A, B, C, D, E, F]
  own:
    - name: timeline
      create:
        - CREATE TABLE posts (user text, day int, at timestamp, id uuid, body text, rank double, raw blob,
          PRIMARY KEY ((user, day), at))
        - CREATE TABLE followers (user text PRIMARY KEY, number bigint)
      load:
        statement: INSERT INTO posts (user, day, at, id, body, rank, raw) VALUES (?, ?, ?, ?, ?, ?, ?);
        rows: 600
      values:
        user: {{distribution: zipfian, count: 20, every: 30, format: "user{{}}"}}
        day: {{distribution: uniform, count: 3, every: 10, first: 100}}
        at: {{distribution: sequential, count: 10, first: 1600000000000}}
        id: {{distribution: uniform, count: 1000000000000}}
        body: {{size: [20, 80]}}
        rank: {{between: [0.5, 2.5]}}
        raw: {{size: 16}}
        number: {{distribution: sequential, count: 1000}}
        "[limit]": {{distribution: uniform, count: 5, first: 1}}
      operations:
        - {{kind: READ, share: 0.4, statement: "SELECT user, at, body FROM posts WHERE user = ? AND day = ? LIMIT ?"}}
        - {{kind: READ, share: 0.1, rows: any, statement: "SELECT number FROM followers WHERE user = ?"}}
        - {{kind: UPDATE, share: 0.2, statement: "UPDATE posts SET body = ? WHERE user = ? AND day = ? AND at = ?"}}
        - {{kind: INSERT, share: 0.1, statement: "INSERT INTO followers (user, number) VALUES (:user, :number)"}}
        - kind: RMW
          share: 0.2
          rows: one
          statement: SELECT user, body FROM posts WHERE user = ? AND day = ? AND at = ?
          then: UPDATE posts SET body = ?, rank = ? WHERE user = ? AND day = ? AND at = ?
""")


class Bench:
    """A cluster with the tables of every workload, and a way to run each."""

    def __init__(self, cluster, session, nodes, profile=PROFILE):
        self.cluster, self.session, self.nodes = cluster, session, nodes
        self.ready = self.prepare(profile)
        for ready in self.ready.values():
            if ready.load:
                rows, _ = self.loop([iter(()), iter(()), ready.load.inserts()], iter(lambda: INSERT, None), ready.load)
                assert outcomes(rows) == {"ok": 600}

    def prepare(self, profile):
        profile = Profile.model_validate(profile)
        create_table(self.session, profile.table, 3)
        place = SimpleNamespace(addresses=self.cluster.addresses, keyspace=KEYSPACE, read=())
        rng = np.random.default_rng(3)
        self.table = Usertable(self.session, profile.table, place.addresses, "token_aware", 0, rng)
        return workloads.prepare(profile, self.session, place, 0, rng, self.table)

    def loop(self, requests, operations, workload, bound=None):
        """The rows it recorded, and every request that was drawn."""
        rows, drawn = [], defaultdict(list)

        def noted(kind, of_kind):
            for request in of_kind:
                drawn[kind].append(request)
                yield request

        noting = [Locked(noted(kind, of_kind)) for kind, of_kind in enumerate(requests)]
        prefixes = workload.prefixes("ALL", "ALL")
        loop = ClosedLoop(self.nodes, 8, operations, noting, prefixes, lambda *row: rows.append(row), 12)
        loop.run(bound or Bound(), Window())
        return rows, drawn

    def run(self, name, each=60):
        workload = self.ready[name].workload
        requests = [workload.requests(kind) for kind in range(len(OPERATIONS))]
        operations = workload.operations(np.random.default_rng(5))
        return self.loop(requests, operations, workload, Bound(operations_per_thread=each))

    def count(self, table):
        return self.session.execute(f"SELECT count(*) FROM {KEYSPACE}.{table}").one()[0]


def outcomes(rows):
    return Counter(schema.OUTCOMES[row[3]] for row in rows)


@pytest.fixture(scope="module")
def bench(cluster):
    session = cluster.connect()
    nodes = Nodes(session, cluster.addresses)
    bench = Bench(cluster, session, nodes)
    rows, _ = bench.loop([iter(()), iter(()), bench.table.inserts()], iter(lambda: INSERT, None), bench.table)
    assert outcomes(rows) == {"ok": ROWS}
    yield bench
    nodes.close()
    session.cluster.shutdown()


@pytest.mark.parametrize("name", [*PRESETS, "timeline"])
def test_every_workload_runs_without_a_miss_in_its_shares(bench, name):
    rows, _ = bench.run(name)
    assert outcomes(rows) == {"ok": len(rows)}
    assert len(rows) > 30
    kinds = Counter(row[2] for row in rows)
    wanted = {0: 0.5, 1: 0.2, 2: 0.1, 4: 0.2} if name == "timeline" else PRESETS[name].shares
    assert set(kinds) == set(wanted)
    if len(wanted) > 1:
        counted = [kinds[kind] for kind in wanted]
        assert stats.chisquare(counted, [len(rows) * share for share in wanted.values()]).pvalue > 1e-6


def test_reads_ask_for_rows_as_the_distribution_says(bench):
    _, drawn = bench.run("C", 200)
    asked = Counter(request.expected for request in drawn[READ])
    popular = Counter(keys.draw("zipfian", ROWS, 100_000, np.random.default_rng(1)).tolist()).most_common(1)[0][0]
    assert asked.most_common(1)[0][0] == wire.value(keys.row_keys([popular])[0])
    assert len(asked) < ROWS


def test_d_adds_rows_to_its_own_table_and_reads_the_latest(bench):
    before, others = bench.count("usertable_d"), bench.count("usertable")
    _, drawn = bench.run("D", 200)
    assert bench.count("usertable_d") == before + len(drawn[INSERT])
    assert bench.count("usertable") == others == ROWS
    new = {request.tail[: 4 + len("user") + 19] for request in drawn[INSERT]}
    assert any(request.tail[:27] in new for request in drawn[READ])  # once settled, they are asked for
    old = set(map(wire.value, keys.row_keys(range(ROWS // 2))))
    assert sum(request.tail in old for request in drawn[READ]) < 0.2 * len(drawn[READ])


def test_scans_return_up_to_the_rows_they_ask_for_from_their_start_key_on(bench):
    _, drawn = bench.run("E")
    asked = [request.most_rows for request in drawn[SCAN]]
    assert min(asked) >= 1
    assert 50 < max(asked) <= 100
    scan = bench.session.prepare(f"SELECT y_id FROM {KEYSPACE}.usertable_e WHERE token(y_id) >= token(?) LIMIT ?")
    counts = []
    for request in drawn[SCAN][:20]:
        rows = bench.session.execute(scan, (request.expected[4:].decode(), request.most_rows)).all()
        assert rows[0].y_id.encode() == request.expected[4:]
        counts.append(len(rows))
    assert max(counts) > 1


def test_a_read_modify_write_changes_the_row_it_read(bench):
    before = {row.y_id: row for row in bench.session.execute(f"SELECT * FROM {KEYSPACE}.usertable")}
    _, drawn = bench.run("F")
    after = {row.y_id: row for row in bench.session.execute(f"SELECT * FROM {KEYSPACE}.usertable")}
    changed = {key for key in after if after[key] != before[key]}
    assert changed == {request.expected[4:].decode() for request in drawn[RMW]}
    assert all(request.then.tail.endswith(request.expected) for request in drawn[RMW])


def test_own_rows_are_loaded_and_changed_as_the_statements_say(bench):
    assert bench.count("posts") == 600  # 20 users, 3 days, 10 posts a day: every population was gone through
    before = {(r.user, r.day, r.at): r for r in bench.session.execute(f"SELECT * FROM {KEYSPACE}.posts")}
    one = next(iter(before.values()))
    assert one.user in {f"user{i}" for i in range(20)}
    assert 20 <= len(one.body) <= 80
    assert one.body.isprintable()
    assert len(one.raw) == 16
    assert 0.5 <= one.rank <= 2.5
    assert one.at.year == 2020
    bench.run("timeline")
    after = {(r.user, r.day, r.at): r for r in bench.session.execute(f"SELECT * FROM {KEYSPACE}.posts")}
    assert before.keys() == after.keys()
    assert any(after[key].rank != before[key].rank for key in after)
    assert bench.count("followers") > 0


def test_own_requests_go_to_the_first_replica_of_a_composite_key(bench):
    _, drawn = bench.run("timeline")
    token_map = bench.session.cluster.metadata.token_map
    statement = bench.session.prepare("SELECT user FROM posts WHERE user = ? AND day = ? LIMIT ?")
    for request in [r for r in drawn[READ] if r.most_rows][:50]:
        user = request.expected[4:].decode()
        day = int.from_bytes(request.tail[len(request.expected) + 4 :][:4], "big")
        key = statement.bind((user, day, 1)).routing_key
        first = token_map.get_replicas(KEYSPACE, token_map.token_class.from_key(key))[0]
        assert bench.cluster.addresses[request.node] == first.address


OF_T = {
    "values": {"a": {"size": 4}},
    "operations": [{"kind": "READ", "share": 1.0, "statement": "SELECT a FROM t WHERE a = ?"}],
}


def changed_profile(**changes):
    """The profile with another own workload on the table that is there already."""
    workload = {
        "name": "mine",
        "values": {"user": {"distribution": "uniform", "count": 5}},
        "operations": [{"kind": "READ", "share": 1.0, "statement": "SELECT user FROM followers WHERE user = ?"}],
    }
    return PROFILE | {"workloads": {"threads": [1], "own": [workload | changes]}}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"create": ["CREATE TABLE t (a text)"]} | OF_T, ["mine", "CREATE TABLE t (a text)", "No PRIMARY KEY"]),
        (
            {
                "operations": [
                    {"kind": "READ", "share": 1.0, "statement": "SELECT nothing FROM followers WHERE user = ?"}
                ]
            },
            ["mine", "SELECT nothing FROM followers", "Undefined name nothing"],
        ),
        (
            {"create": ["CREATE TABLE t (a text PRIMARY KEY b int)"]} | OF_T,
            ["mine", "PRIMARY KEY b int", "line 1:35 mismatched input 'b'"],
        ),
        (
            {"operations": [{"kind": "READ", "share": 1.0, "statement": "SELECT user FORM followers WHERE user = ?"}]},
            ["mine", "SELECT user FORM followers", "no viable alternative at input 'FORM'"],
        ),
        (
            {"operations": [{"kind": "READ", "share": 1.0, "statement": "SELECT user FROM nobody WHERE user = ?"}]},
            ["mine", "SELECT user FROM nobody", "unconfigured columnfamily nobody"],
        ),
        ({"values": {}}, ["no values for user"]),
        (
            {"values": {"user": {"size": 4}, "usr": {"size": 4}}},
            ["values for usr, which no statement asks for", "their markers are user"],
        ),
        ({"values": {"user": {"between": [0, 1]}}}, ["user is", "use distribution and count or size"]),
        (
            {
                "operations": [
                    {
                        "kind": "UPDATE",
                        "share": 1.0,
                        "statement": "UPDATE posts SET rank = 0 WHERE user = ? AND day = ? AND at = 0",
                    }
                ],
                "values": {"user": {"size": 4}, "day": {"distribution": "uniform", "count": 9, "hashed": True}},
            },
            ["is no value for day, a int"],
        ),
    ],
)
def test_what_the_server_or_a_type_refuses_is_named(bench, changes, named):
    with pytest.raises(InputError) as caught:
        bench.prepare(changed_profile(**changes))
    for words in named:
        assert words in str(caught.value)


def test_a_block_measures_the_books_example_and_d_on_tables_it_loads_first(bench, tmp_path):
    page = (project_root() / "book" / "workloads.md").read_text()
    content = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    content["load"]["steady_s"] = 3.0  # at half a second a busy machine got 75 operations done
    content["workloads"] |= {"presets": ["D"], "settings": ["QUORUM/QUORUM"]}
    content["table"] = {"record_count": ROWS}
    (example,) = content["workloads"]["own"]
    example["values"]["customer"]["count"], example["load"]["rows"] = 100, 1000  # a twentieth of them
    profile = Profile.model_validate(content)
    store = RunStore.create(tmp_path / "run", profile)
    bench.session.execute(f"TRUNCATE {KEYSPACE}.usertable_d")
    block = Block.begun(profile, store, 1, bench.cluster, lambda line: None)
    try:
        for cell in plan(profile)[0]:
            if cell.workload and cell.threads == 10:
                block.measure([cell])
    finally:
        block.close()
        store.close()
    every = read_cells(tmp_path / "run" / "cells.csv")
    cells = without_aside(every)  # whatever the tests' own processes disturbed was measured a second time
    assert sorted(cells["workload"]) == ["D", "orders"]
    assert set(cells["kind"]) == {"workload"}
    assert (cells["errors"] == "").all()
    assert (cells["operations"] > 100).all()
    assert 1000 < bench.count("orders") <= 1000 + every["operations"].sum()
    assert ROWS < bench.count("usertable_d") < ROWS + every["operations"].sum()
    samples = pq.read_table(store.sample_path(cells.loc[cells["workload"] == "orders", "cell_id"].iloc[0]))
    assert set(samples["operation"].to_pylist()) == {"READ", "SCAN", "RMW", "INSERT"}
