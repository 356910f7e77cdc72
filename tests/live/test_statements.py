"""Statements as people have them, on a cluster of today's release: all that is bound, batches, tables that exist."""

import dataclasses
import re
import subprocess

import pandas as pd
import pytest
import yaml

from cassbook.core.paths import project_root
from cassbook.core.schema import read_cells
from cassbook.lab.engine import manual, tools
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.manual import NodeState
from tests.helpers.command import cassbook

pytestmark = pytest.mark.live
PAGE = (project_root() / "book" / "workloads.md").read_text(encoding="utf-8")
(PARCELS,) = re.findall(r"```\{code-block\} yaml\n:name: parcels\n(.*?)```", PAGE, re.DOTALL)
TABLES = ("parcels", "counts")


@pytest.fixture(scope="module")
def cluster():
    with CassandraCluster("5.0.9", Spec(heap_mb=512), name="test") as running:
        yield running


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parcels.yaml").write_text(PARCELS, encoding="utf-8")
    return tmp_path


def run(cluster, *options):
    return cassbook("run", "--hosts", cluster.addresses[0], *options)


def keyspaces(cluster):
    session = cluster.connect()
    names = {row[0] for row in session.execute("SELECT keyspace_name FROM system_schema.keyspaces")}
    session.cluster.shutdown()
    return names


def local_writes(cluster, keyspace):
    """Writes that each node has done in the tables of a keyspace, by its own counters."""
    (there,) = [one for one in manual.status() if one.folder == cluster.folder]
    counts = []
    for node in range(1, cluster.spec.nodes + 1):
        state = NodeState(f"node{node}", "", manual.RUNNING, cluster.node_process(node).pid)
        command = tools.nodetool(dataclasses.replace(there, nodes=[state]), state.name, ["tablestats", keyspace])
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        counts.append(sum(map(int, re.findall(r"Local write count: (\d+)", said))))
    return counts


def test_the_pages_service_is_measured_and_then_only_read(cluster, folder):
    dry = run(cluster, "--profile", "parcels.yaml", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "the cluster takes all statements of own workloads" in dry.stderr
    assert "cassbook" not in keyspaces(cluster)
    done = run(cluster, "--profile", "parcels.yaml", "--yes", "--keep-keyspace", "--output", "mine")
    assert done.exit_code == 0, done.output
    cells = read_cells(folder / "mine" / "cells.csv")
    assert (cells["errors"] == "").all(), cells["errors"].tolist()
    samples = pd.concat([pd.read_parquet(path) for path in (folder / "mine" / "samples").glob("*.parquet")])
    assert set(samples["operation"]) == {"READ", "SCAN", "UPDATE", "BATCH"}
    shares = samples["operation"].value_counts(normalize=True)
    assert shares["BATCH"] == pytest.approx(0.1, abs=0.03)
    check_estimate(cluster, done.stderr, samples)
    check_rows(cluster)
    check_only_read(cluster, folder)


def check_estimate(cluster, said, samples):
    """What is said to be written, once the warm-up has shown the rate, is within three times of what the nodes did."""
    tables, updates = map(float, re.search(r"(\d+) MB of tables and ([\d.]+) MB of updates", said).groups())
    row_bytes = 64 + 8 * 40 + 450  # a loaded parcel, about
    loaded_mb = 5000 * 3 * row_bytes / 1e6
    assert loaded_mb / 3 < tables < 3 * loaded_mb
    writes = (~samples["operation"].isin(["READ", "SCAN"])).sum() * 3
    counted = sum(local_writes(cluster, "cassbook"))
    assert 0.8 * (writes + 15_000) < counted < 2.5 * (writes + 15_000)  # a batch is two rows, a counter is kept twice
    update_mb = (counted - 15_000) * (64 + 2 * 40 + 60) / 1e6  # the warm-up's are among the nodes'
    assert update_mb / 3 < updates < 3 * update_mb, (update_mb, updates, counted, writes)


def check_rows(cluster):
    """The rows hold what the profile says."""
    session = cluster.connect()
    row = session.execute("SELECT * FROM cassbook.parcels WHERE fees CONTAINS KEY 'fee1' LIMIT 1 ALLOW FILTERING").one()
    assert 5 <= len(row.sender.street) <= 30
    assert 1 <= row.sender.number <= 300
    assert 1 <= len(row.stops) <= 4
    assert row.stops[0].at.number is None
    assert len(row.size) == 3
    assert row.host.startswith("10.0.")
    assert session.execute("SELECT count(*) FROM cassbook.counts").one()[0] > 10
    session.cluster.shutdown()


READS = {
    "load": {"steady_s": 1.0}, "warm_up": {"cap_s": 3},
    "workloads": {"threads": [8], "settings": ["ONE/ONE", "QUORUM/QUORUM"], "own": [{"name": "reads", "operations": [
        {"share": 0.7, "rows": "one", "statement": "SELECT id, sender FROM parcels WHERE id = ?"},
        {"share": 0.3, "rows": "one", "statement": "SELECT day, parcels FROM counts WHERE day = ? AND depot = ?"},
    ]}]},
}  # fmt: skip


def check_only_read(cluster, folder):
    (folder / "reads.yaml").write_text(yaml.safe_dump(READS))
    tables = [option for table in TABLES for option in ("--read-existing", f"cassbook.{table}")]
    before, there = local_writes(cluster, "cassbook"), keyspaces(cluster)
    done = run(cluster, "--profile", "reads.yaml", "--output", "reads", *tables)
    assert done.exit_code == 0, done.output
    assert "nothing is made, written or dropped" in done.stderr
    cells = read_cells(folder / "reads" / "cells.csv")
    assert (cells["errors"] == "").all(), cells["errors"].tolist()  # every key that was asked for is there
    assert (cells["operations"] > 100).all()
    assert local_writes(cluster, "cassbook") == before
    assert keyspaces(cluster) == there
    refused = run(cluster, "--profile", "reads.yaml", "--output", "other", "--read-existing", "cassbook.parcels")
    assert refused.exit_code == 2
    assert "asks counts; name it with --read-existing too" in refused.stderr


def test_all_that_the_server_refuses_is_said_at_once_and_nothing_is_left(cluster, folder):
    content = yaml.safe_load(PARCELS)
    (own,) = content["workloads"]["own"]
    own["operations"][0]["statement"] = "SELECT id, sender, stops FORM parcels WHERE id = ?"
    own["operations"][2]["statement"] = "UPDATE parcels USING TTL ? SET tags = ?, fees = ? WHERE id = ? ORDER BY id"
    (folder / "parcels.yaml").write_text(yaml.safe_dump(content))
    there = keyspaces(cluster)
    options = ("--profile", "parcels.yaml", "--dry-run", "--keyspace", "scratch")
    done = run(cluster, *options)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("the server refuses") == 2
    assert "FORM" in done.stderr
    assert "Traceback" not in done.output
    assert keyspaces(cluster) == there
