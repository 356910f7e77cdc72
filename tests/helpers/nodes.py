"""What is asked of nodes of any local cluster that is ready, and of what is left of one."""

import os
import signal
import time

import psutil

from cassbook.lab.engine import cluster_state, teardown


def check_ready(cluster, engine, nodes=3):
    """Assert that each node answers as that version, sees all others, and listens on loopback alone."""
    session = cluster.connect()
    try:
        for host in session.hosts:
            assert session.execute("SELECT release_version FROM system.local", host=host).one()[0] == engine
        assert len(list(session.hosts)) == nodes
        assert cluster_state.missing_peers(session, nodes) == []
        assert cluster_state.read_at_all(session, nodes) == []
    finally:
        session.cluster.shutdown()
    running = [p for p in teardown.processes(cluster.folder) if p.cmdline()[-1].endswith("CassandraDaemon")]
    assert len(running) == nodes
    listening = [c for p in running for c in p.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    numbers = range(1, nodes + 1)
    jmx = {7000 + 100 * n for n in numbers}
    assert {c.laddr.port for c in listening} >= {7000, 9042, *jmx}
    assert {c.laddr.ip for c in listening} <= {f"127.0.0.{n}" for n in numbers}
    assert all(c.laddr.ip == "127.0.0.1" for c in listening if c.laddr.port in jmx)


def check_gone(cluster):
    """Assert that no node of it runs and that its folder is removed."""
    assert not cluster.folder.exists()
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if f"{cluster.folder}/" in " ".join(p.info["cmdline"] or [])
    ]


def press_ctrl_c():
    """Send this process what a terminal sends on Ctrl-C; it does not return."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    finally:
        signal.signal(signal.SIGINT, previous)
