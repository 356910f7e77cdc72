"""Command lines of nodetool, cassandra-stress and cqlsh, and what is said where they cannot run; nothing is started."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine import java, jmx
from tests.helpers.command import cassbook
from tests.helpers.node_processes import Nodes

JAVA_8, JAVA_11, JAVA_17, JAVA_25 = (
    java.Java(feature, f"{feature}.0.1", Path(f"/jvm/{feature}"), "test") for feature in (8, 11, 17, 25)
)


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """A cluster of 2.1.20 with its tools, on processes that only bear the nodes' names."""
    monkeypatch.setenv("CASSBOOK_CACHE", str(tmp_path))
    made = Nodes(by_hand=True)
    for part in ("lib", "tools/lib", "conf"):
        (tmp_path / "unpacked" / part).mkdir(parents=True)
    (tmp_path / "unpacked" / "tools" / "lib" / "stress.jar").touch()
    (made.folder / "home").mkdir()
    (made.folder / "home" / "lib").symlink_to(tmp_path / "unpacked" / "lib")
    for number in (1, 2, 3):
        conf = made.folder / "ccm" / f"node{number}" / "conf"
        conf.mkdir()
        (conf / "cassbook.jvm").write_text("-Xmx1024M\n--add-opens=java.base/java.io=ALL-UNNAMED\n")
    monkeypatch.setattr(java, "candidates", lambda: iter([JAVA_11, JAVA_17, JAVA_25]))
    monkeypatch.setattr(java, "obtain", lambda release: JAVA_11)
    monkeypatch.setattr(jmx, "has_naming", lambda home: home != JAVA_11.home)
    monkeypatch.setattr(jmx, "port", lambda folder, number, pid: 7000 + 100 * number + 1)
    yield made
    made.close()


@pytest.fixture
def become(monkeypatch):
    """What the command becomes, in place of becoming it."""
    became = []
    monkeypatch.setattr(os, "execv", lambda program, command: became.append(command))
    monkeypatch.setattr(signal, "SIGPIPE", signal.SIGUSR1)  # pytest's own stays as it is
    return became


def ask(*arguments):
    return cassbook("cluster", *arguments)


def test_nodetool_asks_the_first_node_that_runs_by_a_java_that_can(nodes, become):
    assert ask("nodetool", "clearsnapshot", "--", "shop").exit_code == 0
    nodes.end(1)
    assert ask("nodetool", "-r", "status").exit_code == 0
    assert ask("nodetool", "--node", "127.0.0.3", "info", "--node", "x").exit_code == 0
    first, second, third = become
    assert first[0] == "/jvm/17/bin/java"
    assert first[-7:] == ["-h", "127.0.0.1", "-p", "7101", "clearsnapshot", "--", "shop"]
    assert "-Dcom.sun.jndi.rmiURLParsing=legacy" in first
    assert f"-Dcassandra.logdir={nodes.folder}/tools" in first
    assert "--add-opens=java.base/java.io=ALL-UNNAMED" in first
    assert "-Xmx1024M" not in first
    assert second[-4:] == ["-p", "7201", "-r", "status"]
    assert third[-5:] == ["-p", "7301", "info", "--node", "x"]


def test_stress_is_given_all_nodes_that_run_unless_it_names_its_own(nodes, become):
    nodes.end(2)
    assert ask("stress", "write", "n=10", "-rate", "threads=5").exit_code == 0
    assert ask("stress", "read", "n=10", "-node", "127.0.0.3").exit_code == 0
    assert ask("stress", "help", "write").exit_code == 0
    every, own, offline = become
    assert every[0] == "/jvm/11/bin/java"
    assert every[-6:] == ["write", "n=10", "-rate", "threads=5", "-node", "127.0.0.1,127.0.0.3"]
    assert own[-4:] == ["read", "n=10", "-node", "127.0.0.3"]
    assert offline[-2:] == ["help", "write"]


def test_cqlsh_goes_to_a_nodes_address(nodes, become, tmp_path, monkeypatch):
    program = tmp_path / "cqlsh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert ask("cqlsh", "--node", "2", "-e", "SELECT * FROM system.peers").exit_code == 0
    assert become == [[str(program), "-e", "SELECT * FROM system.peers", "127.0.0.2", "9042"]]


def test_what_is_missing_is_named(nodes, become, tmp_path, monkeypatch):
    monkeypatch.setattr(java, "candidates", lambda: iter([JAVA_11, JAVA_25]))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "unpacked" / "tools" / "lib" / "stress.jar").unlink()
    for typed, said in (
        (("nodetool", "status"), "a Java 8 to 17 with the module jdk.naming.rmi"),
        (("stress", "write"), "tools/lib/stress.jar; Maven Central has Cassandra 2.1.20 without its tools"),
        (("cqlsh",), "`pip install cqlsh`"),
    ):
        result = ask(*typed)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert said in result.stderr
    assert not become


def test_a_java_8_runs_nodetool_of_2_1_and_not_of_5_0(nodes, become, monkeypatch):
    monkeypatch.setattr(java, "candidates", lambda: iter([JAVA_8]))
    assert ask("nodetool", "status").exit_code == 0
    assert not any(word.startswith("--add-") for word in become[0])
    state = nodes.folder / "cluster.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"engine": "5.0.9"}))
    assert "a Java 11 to 17 with" in ask("nodetool", "status").stderr


def test_without_a_node_that_runs_nothing_is_started(nodes, become):
    nodes.end(2)
    result = ask("nodetool", "--node", "node2", "status")
    assert (result.exit_code, result.stderr) == (1, "cassbook: node2 (127.0.0.2) is down\n")
    assert ask("cqlsh", "--node", "7").exit_code == 2
    nodes.end(1)
    nodes.end(3)
    for name in ("nodetool", "stress", "cqlsh"):
        result = ask(name)
        assert (result.exit_code, result.stderr) == (
            1,
            "cassbook: no node runs; `cassbook cluster start NODE` starts one\n",
        )
    assert not become


def test_without_a_cluster_it_is_said_as_status_says_it(tmp_path, monkeypatch):
    monkeypatch.setenv("CASSBOOK_CACHE", str(tmp_path))
    for name in ("nodetool", "stress", "cqlsh"):
        result = ask(name, "x")
        assert (result.exit_code, result.stderr) == (
            1,
            "cassbook: no cluster is up; `cassbook cluster up` starts one\n",
        )


#: Stands for jcmd, and notes what it is told.
JCMD = '#!/bin/sh\necho "$@" >>"{log}"\n[ "$2" = ManagementAgent.stop ] || {then}\n'


@pytest.fixture
def jvm(tmp_path, monkeypatch):
    """A Java without jdk.naming.rmi that runs this process; how to write its jcmd, and how it was called."""
    home, log = tmp_path / "jvm", tmp_path / "log"
    (home / "bin").mkdir(parents=True)
    monkeypatch.setattr(jmx.psutil.Process, "exe", lambda process: str(home / "bin" / "java"))

    def write(then):
        (home / "bin" / "jcmd").write_text(JCMD.format(log=log, then=then))
        (home / "bin" / "jcmd").chmod(0o755)

    return write, lambda: log.read_text().splitlines()


def test_a_node_is_told_once_to_open_its_mbeans_on_loopback(jvm, tmp_path):
    write, calls = jvm
    write("exit 0")
    pid = os.getpid()
    port = jmx.port(tmp_path, 1, pid)
    assert calls()[0] == f"{pid} ManagementAgent.stop"
    assert calls()[1].startswith(f"{pid} ManagementAgent.start jmxremote.port={port} jmxremote.rmi.port={port} ")
    assert "jmxremote.host=127.0.0.1" in calls()[1]
    assert jmx.port(tmp_path, 1, pid) == port
    assert len(calls()) == 2
    (tmp_path / "jmx.port").write_text(f"1 {port}")  # of a process before this one
    jmx.port(tmp_path, 1, pid)
    assert len(calls()) == 4


def test_a_node_that_does_not_open_its_mbeans_is_named(jvm, tmp_path):
    write, _ = jvm
    node = tmp_path / "node2"
    node.mkdir()
    with pytest.raises(LaboratoryError, match=r"node2.*JMX.*jdk\.naming\.rmi.*jcmd"):
        jmx.port(node, 2, os.getpid())
    write("{ echo no such luck; exit 1; }")
    with pytest.raises(LaboratoryError, match=r"node2 .*JMX: no such luck"):
        jmx.port(node, 2, os.getpid())
    assert not (node / "jmx.port").exists()
