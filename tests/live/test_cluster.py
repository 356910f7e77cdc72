"""Real clusters that do not come up, or not for their own command: why is said, and nothing is left.

What a start is worth is looked at where one is up anyhow: that all nodes see each other in `one_cluster` (2.1.20) and
`test_distance` (5.0.9), that nothing is left after an exception in `one_cluster`, after Ctrl-C in `test_experiments`,
after SIGKILL in `test_main_path`.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine.cluster import CassandraCluster, Spec, clusters_dir

pytestmark = [pytest.mark.live, pytest.mark.main_path, pytest.mark.usefixtures("nothing_left")]
SMALL = Spec(heap_mb=512)

HOLD = """
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.engine.cluster import Spec
with CassandraCluster("2.1.20", Spec(2, 1, 512), name="held", log=lambda line: print(line, flush=True)):
    pass
"""


def test_sigterm_while_starting_leaves_nothing():
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert any(line.startswith("starting") for line in process.stdout)
        time.sleep(3)
        assert [
            p for p in psutil.process_iter(["cmdline"]) if f"held-{process.pid}/" in " ".join(p.info["cmdline"] or [])
        ]
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0
    assert not (clusters_dir() / f"held-{process.pid}").exists()


def test_a_node_that_does_not_start_is_named_with_its_log():
    broken = Spec(2, 1, 512, {"partitioner": "org.example.NoSuchPartitioner"})
    with pytest.raises(LaboratoryError) as caught, CassandraCluster("2.1.20", broken, name="test"):
        pytest.fail("it started")
    message = str(caught.value)
    assert re.search(r"node[12] stopped while starting", message)
    assert "NoSuchPartitioner" in message


def test_a_port_in_use_is_named_with_its_holder():
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.2", 9042))
        taken.listen()
        with pytest.raises(LaboratoryError) as caught, CassandraCluster("2.1.20", SMALL, name="test"):
            pytest.fail("it started")
    assert f"127.0.0.2:9042 (CQL) is in use by process {os.getpid()}" in str(caught.value)


def test_a_node_that_does_not_take_its_configuration_is_reported_by_its_first_error():
    spec = Spec(nodes=1, replication_factor=1, heap_mb=256, options={"no_such_option": 1})
    with pytest.raises(LaboratoryError) as caught, CassandraCluster("2.1.20", spec, name="test"):
        pytest.fail("it started")
    first, cause, where = str(caught.value).splitlines()
    assert first == "node1 stopped while starting"
    assert "ConfigurationException: Invalid yaml. Please remove properties [no_such_option]" in cause
    whole = Path(where.removeprefix("its whole output is in "))
    assert "no_such_option" in whole.read_text()  # kept, though the node's folder is gone
    whole.unlink()


def check_nodes_by_hand(command):
    """Stop, kill, pause, resume and start nodes of a cluster of two, each time asking what status says."""

    def node(what, name):
        return subprocess.run([*command, what, name], capture_output=True, text=True, check=False)

    def states():
        done = subprocess.run([*command, "status", "--format", "json"], capture_output=True, text=True, check=False)
        return [one["state"] for one in json.loads(done.stdout)[0]["nodes"]], done.returncode

    def check(done, said, *expected):
        assert done.returncode == 0, done.stderr
        assert said in done.stderr
        assert states() == (list(expected), 0 if set(expected) == {"running"} else 3)

    check(node("pause", "node2"), "node2 (127.0.0.2) is paused", "running", "paused")
    assert "is paused, so that it cannot stop in order" in node("stop", "2").stderr
    check(node("resume", "2"), "runs again", "running", "running")
    killed = node("kill", "127.0.0.2")
    check(killed, "is down", "running", "down")
    assert "`nodetool status` shows it as UN for some seconds still" in killed.stderr
    refused = node("kill", "node2")
    assert (refused.returncode, refused.stderr) == (1, "cassbook: kill: node2 (127.0.0.2) is down already\n")
    check(node("start", "node2"), "node2 (127.0.0.2) runs, after", "running", "running")
    check(node("stop", "node1"), "is down", "down", "running")
    check(node("restart", "node1"), "runs, after", "running", "running")
    check(node("restart", "node2"), "runs, after", "running", "running")
    refused = node("stop", "node9")
    assert refused.returncode == 2
    assert "there is no node 'node9'; there are node1 (127.0.0.1), node2 (127.0.0.2)" in refused.stderr


def check_tools(command):
    """Run nodetool and cassandra-stress of the release; neither writes where it is started."""

    def tool(name, *arguments):
        return subprocess.run([*command, name, *arguments], capture_output=True, text=True, check=False)

    before = set(os.listdir())
    done = tool("nodetool", "--node", "2", "status")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^(\w\w)  (127\S+)", done.stdout, re.MULTILINE) == [("UN", "127.0.0.1"), ("UN", "127.0.0.2")]
    assert tool("nodetool", "nosuch").returncode == 1
    done = tool("stress", "write", "n=100", "-rate", "threads=5")
    assert done.returncode == 0, done.stderr
    assert re.search(r"Total partitions +: 100 \[WRITE:100\]", done.stdout)
    assert set(os.listdir()) == before


def test_a_cluster_kept_by_hand_outlives_its_command_until_down():
    command = [sys.executable, "-m", "cassbook.cli", "cluster"]
    up = subprocess.run(
        [*command, "up", "--nodes", "2", "--replication-factor", "2", "--heap-mb", "512"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        assert up.returncode == 0, up.stderr
        assert "127.0.0.1:9042, 127.0.0.2:9042" in up.stdout
        status = subprocess.run([*command, "status"], capture_output=True, text=True, check=False)
        assert status.returncode == 0
        assert "2.1.20 (by hand): 2 of 2 nodes run" in status.stdout
        again = subprocess.run([*command, "up"], capture_output=True, text=True, check=False)
        assert again.returncode == 1
        assert "a cluster is up already: Cassandra 2.1.20 (by hand): 2 of 2 nodes run" in again.stderr
        numbers = re.findall(r"process (\d+)", status.stdout)
        assert [psutil.Process(int(number)).nice() for number in numbers] == [os.nice(0)] * 2
        check_tools(command)
        check_nodes_by_hand(command)
    finally:
        down = subprocess.run([*command, "down"], capture_output=True, text=True, check=False)
    assert "removed Cassandra 2.1.20" in down.stdout
    assert subprocess.run([*command, "status"], capture_output=True, check=False).returncode == 1
