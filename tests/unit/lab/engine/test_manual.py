"""What `cassbook cluster status` and `doctor` say of clusters, shown on processes that only bear a node's name."""

import json
import os
import signal
import socket
import threading

import click
import pytest

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine import manual, manual_nodes, preflight
from cassbook.lab.engine.spec import Spec
from tests.helpers.command import cassbook
from tests.helpers.node_processes import Nodes
from tests.helpers.waiting import wait_until


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.setenv("CASSBOOK_CACHE", str(tmp_path))


@pytest.fixture
def nodes():
    made = Nodes(by_hand=True)
    yield made
    made.close()


def states():
    return [node["state"] for node in json.loads(cassbook("cluster", "status", "--format", "json").stdout)[0]["nodes"]]


def test_without_a_cluster_status_exits_1():
    assert (cassbook("cluster", "status").exit_code, cassbook("cluster", "status").stdout) == (1, "no cluster is up\n")
    assert cassbook("cluster", "status", "--format", "json").stdout == "[]\n"


def test_status_names_the_node_that_is_down_and_exits_accordingly(nodes):
    assert cassbook("cluster", "status").exit_code == 0
    nodes.end(2)
    result = cassbook("cluster", "status")
    assert result.exit_code == 3
    lines = result.stdout.splitlines()
    assert lines[0] == "Cassandra 2.1.20 (by hand): 2 of 3 nodes run"
    assert lines[1] == f"  node1  127.0.0.1  running  process {nodes.processes[0].pid}"
    assert lines[2] == "  node2  127.0.0.2  down"
    nodes.end(1)
    nodes.end(3)
    assert cassbook("cluster", "status").exit_code == 1
    assert states() == ["down"] * 3


def test_status_tells_a_paused_node(nodes):
    nodes.processes[1].send_signal(signal.SIGSTOP)
    wait_until(lambda: "paused" in states())
    assert states() == ["running", "paused", "running"]
    assert cassbook("cluster", "status").exit_code == 3


def doctor_of(ports, monkeypatch):
    """What doctor says of this machine where a cluster would need these ports."""
    wanted = [preflight.Listener("127.0.0.1", port, "CQL") for port in ports]
    monkeypatch.setattr(preflight, "listeners", lambda nodes: wanted)
    monkeypatch.setattr(preflight, "shortages", lambda *_: [])
    result = cassbook("doctor", "--format", "json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 1
    assert answer["can_start"] is False
    return [(f["status"], f["detail"]) for f in answer["findings"] if f["subject"] == "this machine"]


def test_doctor_knows_a_cluster_started_by_hand(nodes, monkeypatch):
    (finding,) = doctor_of(nodes.ports, monkeypatch)
    assert finding[0] == "in use"
    assert finding[1].startswith("3 ports, by cassbook's own cluster of Cassandra 2.1.20, started by hand")
    assert "`cassbook cluster down` removes it" in finding[1]


def test_doctor_says_whose_run_a_cluster_is(monkeypatch):
    made = Nodes(by_hand=False)
    try:
        (finding,) = doctor_of(made.ports, monkeypatch)
    finally:
        made.close()
    assert finding[0] == "in use"
    assert f"of process {os.getpid()} (" in finding[1]
    assert "removes it when it ends" in finding[1]


def test_doctor_calls_a_port_of_somebodys_in_use_and_names_its_holder(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (finding,) = doctor_of([port], monkeypatch)
    assert finding[0] == "in use"
    assert finding[1].startswith(f"127.0.0.1:{port} (CQL) is in use by process {os.getpid()} (")


def launched(*_):
    raise LaboratoryError("launched")


def test_a_node_is_started_when_the_last_of_its_ports_is_free_and_else_their_holder_is_named(nodes, monkeypatch):
    nodes.end(2)
    monkeypatch.setattr(manual_nodes, "_launch", launched)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(preflight, "_of_host", lambda _: [preflight.Listener("127.0.0.1", port, "Thrift")])
        with monkeypatch.context() as impatient:
            impatient.setattr(manual_nodes, "_FREE_TIMEOUT_S", 0.2)
            refused = cassbook("cluster", "start", "node2")
        assert refused.exit_code == 1
        assert f"start: node2: 127.0.0.1:{port} (Thrift) is in use by process {os.getpid()} (" in refused.stderr
        closing = threading.Timer(0.3, taken.close)
        closing.start()
        assert "launched" in cassbook("cluster", "start", "node2").stderr
        closing.join()


def up(monkeypatch, *arguments):
    """Outcome of `cluster up`, and the clusters that it would have started."""
    asked = []

    class Cluster:
        def __init__(self, engine, spec, **_):
            self.spec, self.addresses = spec, [f"127.0.0.{number}" for number in range(1, spec.nodes + 1)]

        def start(self, keep):
            asked.append(self.spec)

    monkeypatch.setattr(manual, "CassandraCluster", Cluster)
    return cassbook("cluster", "up", *arguments), asked


@pytest.mark.parametrize(
    ("arguments", "replicas"),
    [([], 3), (["--nodes", "1"], 1), (["--nodes", "2"], 2), (["--nodes", "5"], 3)],
)
def test_up_takes_as_many_replicas_as_fit_and_the_ordinary_priority(monkeypatch, arguments, replicas):
    result, (spec,) = up(monkeypatch, *arguments)
    assert result.exit_code == 0
    assert (spec.replication_factor, spec.nice) == (replicas, 0)


def test_up_can_give_the_priority_of_measurements(monkeypatch):
    assert up(monkeypatch, "--nice", "19")[1][0].nice == Spec().nice == 19
    assert up(monkeypatch, "--nice", "20")[0].exit_code == 2
    refused, asked = up(monkeypatch, "--nodes", "1", "--replication-factor", "3")
    assert (refused.exit_code, asked) == (2, [])
    assert "3 replicas do not fit on 1 node; use 1\n" in refused.stderr


def test_up_says_in_one_line_that_a_cluster_is_up_already_and_the_way(nodes, monkeypatch):
    refused, asked = up(monkeypatch)
    assert (refused.exit_code, asked) == (1, [])
    assert refused.stderr.startswith(
        "cassbook: a cluster is up already: Cassandra 2.1.20 (by hand): 3 of 3 nodes run; "
    )
    assert refused.stderr.endswith("`cassbook cluster down`\n")
    assert refused.stderr.count("\n") == 1


def test_up_names_the_process_whose_cluster_is_up(monkeypatch):
    made = Nodes(by_hand=False)
    note = made.folder / "cluster.json"
    note.write_text(
        json.dumps(json.loads(note.read_text()) | {"owner_created_s": manual.psutil.Process().create_time()})
    )
    try:
        refused, asked = up(monkeypatch)
        assert (refused.exit_code, asked) == (1, [])
        assert f"(of process {os.getpid()}): 3 of 3 nodes run; wait until that process has ended" in refused.stderr
    finally:
        made.close()


def test_what_a_killed_process_left_does_not_keep_up_from_starting(monkeypatch):
    made = Nodes(by_hand=False)  # of an owner that began at another time
    try:
        assert up(monkeypatch)[0].exit_code == 0
    finally:
        made.close()


def test_kill_says_that_nodetool_shows_it_up_for_a_while(nodes):
    killed = cassbook("cluster", "kill", "2")
    assert killed.exit_code == 0
    assert killed.stderr.splitlines()[0] == "node2 (127.0.0.2) is down"
    assert "`nodetool status` shows it as UN for some seconds still" in killed.stderr
    assert "UN" not in cassbook("cluster", "stop", "1").stderr


def test_restart_starts_a_node_that_is_down_with_the_priority_of_its_cluster(nodes, monkeypatch):
    note = nodes.folder / "cluster.json"
    note.write_text(json.dumps(json.loads(note.read_text()) | {"spec": {"nice": 0}}))
    nodes.end(2)
    seen = []
    monkeypatch.setattr(preflight, "held", lambda _: [])
    monkeypatch.setattr(
        manual_nodes, "_launch", lambda cluster, node: (seen.append((cluster.nice, node.name)), launched())
    )
    assert "launched" in cassbook("cluster", "restart", "2").stderr
    assert seen == [(0, "node2")]
    assert states() == ["running", "down", "running"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("run", "--profile", "quick"), "what was finished is kept, and the same command with --resume resumes"),
        (("cluster", "up"), "what had been started is removed, and the same command begins anew"),
        (("cluster", "start", "1"), "the node may still be starting"),
        (("reproduce",), "what was finished is kept, and the same command resumes"),
        (("show", "quick-2.1.20"), ""),
    ],
)
def test_what_an_interrupted_command_leaves_is_said_of_that_command(monkeypatch, command, said):
    def interrupted(self, ctx):
        raise KeyboardInterrupt

    monkeypatch.setattr(click.Group, "invoke", lambda self, ctx: (_named(self, ctx), interrupted(self, ctx)))
    result = cassbook(*command)
    assert result.exit_code == 130
    end = f"; {said}" if said else ""
    assert result.stderr.startswith(f"cassbook: interrupted{end}")
    assert said or result.stderr == "cassbook: interrupted\n"


def _named(group, ctx):
    """What click does before it calls a command."""
    words = [*ctx._protected_args, *ctx.args]
    ctx.invoked_subcommand = words[0]
