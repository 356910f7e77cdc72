"""Real clusters: they start, all nodes see each other, and whatever ends the block leaves nothing."""

import os
import re
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine import probe, teardown
from cassbook.lab.engine.cluster import CassandraCluster, Spec, clusters_dir

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left")]
SMALL = Spec(heap_mb=512)

HOLD = """
import time
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.engine.cluster import Spec
with CassandraCluster("2.1.20", Spec(2, 1, 512), name="held", say=lambda line: print(line, flush=True)) as cluster:
    print("folder", cluster.folder, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("engine", ["2.1.20", "5.0.9"])
def test_start_and_stop_of_three_nodes(engine):
    with CassandraCluster(engine, SMALL, name="test") as cluster:
        session = cluster.connect()
        try:
            for host in session.hosts:
                assert session.execute("SELECT release_version FROM system.local", host=host).one()[0] == engine
            assert len(list(session.hosts)) == 3
            assert probe.missing_peers(session, 3) == []
            assert probe.read_at_all(session, 3) == []
        finally:
            session.cluster.shutdown()
        nodes = [p for p in teardown.processes(cluster.folder) if p.cmdline()[-1].endswith("CassandraDaemon")]
        assert len(nodes) == 3
        listening = [c for p in nodes for c in p.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        assert {c.laddr.port for c in listening} >= {7000, 9042, 7100, 7200, 7300}
        assert {c.laddr.ip for c in listening} <= {"127.0.0.1", "127.0.0.2", "127.0.0.3"}
        assert all(c.laddr.ip == "127.0.0.1" for c in listening if c.laddr.port in {7100, 7200, 7300})
    assert not cluster.folder.exists()


def test_an_exception_passes_through_and_nothing_is_left():
    class OurOwnError(Exception):
        pass

    cluster = CassandraCluster("2.1.20", Spec(1, 1, 512), name="test")
    with pytest.raises(OurOwnError), cluster:
        raise OurOwnError
    assert cluster.java is not None  # it did start


def heed_ctrl_c():
    """Undo what a shell does to jobs in the background: they, and what they start, ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "when"),
    [(signal.SIGINT, "folder"), (signal.SIGTERM, "starting"), (signal.SIGKILL, "folder")],
    ids=["Ctrl-C", "SIGTERM while starting", "SIGKILL"],
)
def test_a_signal_leaves_nothing(number, when):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,  # noqa: PLW1509 - no thread of ours holds a lock here
    )
    try:
        for line in process.stdout:
            if line.startswith(when):
                break
        time.sleep(3 if when == "starting" else 0)
        assert [
            p for p in psutil.process_iter(["cmdline"]) if f"held-{process.pid}/" in " ".join(p.info["cmdline"] or [])
        ]
        process.send_signal(number)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0
    folder = clusters_dir() / f"held-{process.pid}"
    deadline = time.monotonic() + 30  # after SIGKILL it is the watchdog that clears up
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.2)


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
        assert "in use by process" in again.stderr
    finally:
        down = subprocess.run([*command, "down"], capture_output=True, text=True, check=False)
    assert "removed Cassandra 2.1.20" in down.stdout
    assert subprocess.run([*command, "status"], capture_output=True, check=False).returncode == 1
