"""From a user's own statements to an answer, by the commands of the page on workloads, on a cluster that exists."""

import json
import re
import shlex

import pytest

from cassbook.core.paths import project_root
from cassbook.core.schema import read_cells
from tests.helpers.command import cassbook

pytestmark = pytest.mark.live
PAGE = (project_root() / "book" / "workloads.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line.strip() for line in re.findall(r"^ {4}cassbook (?!.*--read-existing).*orders.*$", PAGE, re.MULTILINE)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the commands are run: the example lies there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.yaml").write_text(EXAMPLE, encoding="utf-8")
    return tmp_path


def run(command):
    """Run a command as it is written on the page."""
    program, *arguments = shlex.split(command)
    assert program == "cassbook"
    return cassbook(*arguments)


def keyspaces(cluster):
    session = cluster.connect()
    names = {row[0] for row in session.execute("SELECT keyspace_name FROM system.schema_keyspaces")}
    session.cluster.shutdown()
    return names


def read_as(output):
    """An answer in JSON; nothing else goes to standard output."""
    assert output.exit_code == 0, output.output
    return json.loads(output.stdout)


def test_the_pages_commands_lead_from_statements_to_an_answer(cluster, folder):
    dry, measuring, at_a_load, whole, capacity, capacity_p95 = COMMANDS
    assert "10 cells in 1 block," in run(dry).stdout
    done = run(measuring)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("mine: Cassandra 2.1.20, 10 cells in 1 block\n\nWorkloads")
    assert run("cassbook show mine").stdout == done.stdout
    print(done.stderr)  # shown where the test fails: the estimates of the time left above all
    assert "cassbook" not in keyspaces(cluster)
    cells = read_cells(folder / "mine" / "cells.csv")
    assert set(cells["workload"]) == {"orders"}  # the warm-up's too, for no cell uses YCSB's table
    assert (cells["errors"] == "").all()
    advice = read_as(run(f"{at_a_load} --format json"))
    assert advice["workloads"] == ["orders"]
    assert advice["read_share"] == pytest.approx(0.8)
    assert advice["setting"]["setting"] == "2R-2W"
    assert {row["setting"] for row in advice["settings"]} == {"2R-2W", "1R-3W"}
    assert "workload orders, 50 threads, 80% reads" in run(at_a_load).stdout
    assert "it holds workloads orders: choose one with --workload" in run("cassbook advise --run mine --map").stderr
    assert {(row["threads"], row["recommended"]) for row in read_as(run(f"{whole} --format json"))["points"]} == {
        (10, "2R-2W"), (100, "2R-2W"),
    }  # fmt: skip
    check_rates(cells)
    assert "highest rate whose p99 response time keeps 20 ms" in run(capacity).stdout
    answer = read_as(run(capacity_p95))
    assert answer["by"] == "p95"
    assert {(row["read_cl"], row["write_cl"]) for row in answer["capacities"]} == {("QUORUM", "QUORUM"), ("ONE", "ALL")}
    assert all(row["rates_per_s"] == [1250, 5000, 20000] for row in answer["capacities"])
    assert all(row["verdict"] in {"found", "none"} for row in answer["capacities"])  # nothing keeps 20,000 a second


def check_rates(cells):
    """No cluster of three nodes on this machine serves 20,000 a second, and no cell takes for ever to find out."""
    paced = cells[cells["rate_per_s"].notna()]
    assert sorted(paced["rate_per_s"]) == [1250, 1250, 5000, 5000, 20000, 20000]
    assert set(paced["threads"]) == {100}
    assert paced.loc[paced["rate_per_s"] == 20000, "marks"].str.contains("rate").all()
    assert (paced["cell_group"] == "").all()
    # the window of a second, the backlog behind it, and what is in flight then may take the time-out
    assert (paced["ended_s"] - paced["started_s"] < 2 * 6 + 3).all()


def test_a_syntax_error_is_told_in_the_servers_words_and_nothing_is_left(cluster, folder):
    spoilt = EXAMPLE.replace("SELECT customer, total, note FROM", "SELECT customer, total, note FORM")
    assert spoilt != EXAMPLE
    (folder / "orders.yaml").write_text(spoilt, encoding="utf-8")
    done = run(COMMANDS[1])
    assert done.exit_code == 2, done.output
    assert "workloads.own.orders: the server refuses 'SELECT customer, total, note FORM orders" in done.stderr
    assert "no viable alternative at input 'FORM'" in done.stderr
    assert "loading" not in done.stderr
    assert "Traceback" not in done.output
    assert "cassbook" not in keyspaces(cluster)
    assert not (folder / "mine").exists()
