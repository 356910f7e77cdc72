"""One command from statements and limits to a setting, on a cluster of others, which is left as it was."""

import json
import signal
import subprocess
import sys

import pytest

from cassbook.advisor.decision import Limits
from cassbook.advisor.question import Question
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.profile.open import OpenSection
from cassbook.records.run import RecordedRun
from tests.helpers.waiting import heed_ctrl_c, wait_until

pytestmark = pytest.mark.live
RATE = 300.0
PROFILE = """
name: shop
cluster: {nodes: 2, replication_factor: 2}
warm_up: {cap_s: 10}
workloads:
  own:
    - name: orders
      create:
        - "CREATE TABLE orders (customer bigint, number timeuuid, total int, lines list<text>,
           PRIMARY KEY (customer, number)) WITH gc_grace_seconds = 3600"
        - "CREATE TABLE visits (customer bigint PRIMARY KEY, count counter)"
      operations:
        - {share: 0.5, statement: "SELECT total FROM orders WHERE customer = ? LIMIT 1", rows: any}
        - {share: 0.4, statement: "UPDATE orders SET total = ? WHERE customer = ? AND number = ?"}
        - {share: 0.1, statement: "UPDATE visits SET count = count + 1 WHERE customer = ?"}
      values:
        customer: {distribution: uniform, count: 1000}
        number: {distribution: uniform, count: 1000}
        total: {distribution: uniform, count: 1000}
"""
LIMITS = [
    "--rate",
    f"{RATE:g}",
    "--bound-ms",
    "2000",
    "--stale",
    "0.5",
    "--after-ms",
    "20",
    "--minutes",
    "5",
    "--survive",
    "0",
    "--traces",
]


@pytest.fixture(scope="module")
def cluster():
    with CassandraCluster("5.0.9", Spec(2, 2, 512, {}), name="theirs") as started:
        session = started.connect()
        session.execute("CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        yield session
        session.cluster.shutdown()


def command(tmp_path, *options):
    (tmp_path / "shop.yaml").write_text(PROFILE)
    return [
        sys.executable, "-m", "cassbook.cli", "decide", "--profile", tmp_path / "shop.yaml", "--hosts", "127.0.0.1",
        "--folder", tmp_path / "run", *LIMITS, *options,
    ]  # fmt: skip


def keyspaces(session):
    found = session.execute("SELECT keyspace_name, replication FROM system_schema.keyspaces")
    return sorted((row.keyspace_name, sorted(row.replication.items())) for row in found)


def test_interrupted_and_resumed_it_decides_and_leaves_the_cluster_as_it_was(cluster, tmp_path):
    before = keyspaces(cluster)
    process = subprocess.Popen(command(tmp_path), text=True, stderr=subprocess.PIPE, preexec_fn=heed_ctrl_c)  # noqa: PLW1509
    cells = tmp_path / "run" / "cells.csv"
    wait_until(cells.is_file, process, 180)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "--resume" in said
    assert keyspaces(cluster) == before
    done = subprocess.run(
        command(tmp_path, "--resume", "--format", "json"), capture_output=True, text=True, check=False, timeout=600
    )
    assert keyspaces(cluster) == before
    assert done.returncode in {0, 4}, done.stderr
    check_answer(json.loads(done.stdout), done.stderr)
    check_run(RecordedRun(tmp_path / "run"))
    check_again(tmp_path, done)


def check_answer(found, said):
    rows = {f"{row['read_cl']}/{row['write_cl']}": row for row in found["settings"]}
    assert set(rows) == {"ONE/ALL", "ALL/ONE", "ONE/ONE"}
    response = rows["ONE/ONE"]["limits"]["response"]
    assert response["verdict"] == "PASS"
    assert 0 < response["figure"]["low"] <= response["figure"]["value"] <= response["figure"]["high"] < 2000
    assert rows["ONE/ALL"]["survives"] == {"reads": 1, "writes": 0}
    stale = rows["ONE/ONE"]["limits"]["stale"]
    assert stale["source"].startswith("counted on its own tables: ")
    assert stale["verdict"] == "PASS"
    assert found["live"]["segments"]["ONE/ONE"]["requests"] > 0
    assert "not probed for staleness: visits: it has no plain column" in said
    assert f"{RATE * 1.25:g} requests a second" in said
    assert "the replication of that keyspace is not changed" in said
    predicted = found["live"]["predicted"]["ONE/ONE"]
    assert predicted["pairings"] > 0
    assert 0 <= predicted["stale"] < 1


def check_run(run):
    cells = run.cells[run.cells["kind"] == "open"]
    assert cells["rate_per_s"].max() == RATE * 1.25
    probed = {entry["cell_id"] for entry in run.manifest["staleness"]}
    assert probed == set(cells.loc[cells["condition"] == "probed", "cell_id"])
    for entry in run.manifest["staleness"]:
        for turn in entry["turns"].values():
            assert turn["other"][1] > 0
            assert turn["same"][1] > 0
    beside = run.manifest["profile"]["open"][1]
    probing_per_s = OpenSection.model_validate(beside).probing_per_s
    assert beside["rates_per_s"][0] + probing_per_s == pytest.approx(RATE, abs=0.1)
    limits = Limits(bound_ms=2000.0, survive=0, stale=0.5, after_ms=20.0)
    assert Question.of(run) == Question(limits=limits, by="p99", rate_per_s=RATE, workload="orders")
    kinds = {kind.split(":")[0] for errors in run.cells["errors"] for kind in errors.split(";") if kind}
    assert kinds <= {"read_timeout", "write_timeout", "client_timeout"}  # of a busy machine


def check_again(tmp_path, done):
    """The run answers again without the cluster, and with other limits."""
    run = ["--run", tmp_path / "run", "--rate", f"{RATE:g}", "--workload", "orders", "--format", "json"]
    start = [sys.executable, "-m", "cassbook.cli", "decide", *run]
    limits = ["--bound-ms", "2000", "--survive", "0", "--stale", "0.5", "--after-ms", "20"]
    same = subprocess.run([*start, *limits], capture_output=True, text=True, check=False)
    first, again = (json.loads(one.stdout) for one in (done, same))
    for found in (first, again):
        del found["adviser"]["written"]  # when
    assert (again, same.returncode) == (first, done.returncode)
    tight = subprocess.run([*start, "--bound-ms", "0.001"], capture_output=True, text=True, check=False)
    assert tight.returncode == 3, tight.stderr
