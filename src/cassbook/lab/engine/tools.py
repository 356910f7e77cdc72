"""Cassandra's own tools on a local cluster: the command lines of nodetool, cassandra-stress and cqlsh.

Our servers come without scripts that run on any Java, so the tools' classes are run by one that suits them. What cannot
run is refused, with what is missing.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.releases import release
from cassbook.lab.engine import fetch, java, jmx
from cassbook.lab.engine.manual import RUNNING, LocalCluster, NodeState
from cassbook.lab.engine.manual_nodes import named
from cassbook.lab.engine.preflight import CQL_PORT

_NODETOOL = "org.apache.cassandra.tools.NodeTool"
_STRESS = "org.apache.cassandra.stress.Stress"
#: Commands of cassandra-stress that ask no node.
_OFFLINE = ("help", "print", "version", "legacy")
#: Java that runs the tools of a release: what they were compiled for, and what they still start on.
_FROM_4_0, _OLDEST, _OLDEST_FROM_4_0, _NEWEST = (4, 0), 8, 11, 17


def nodetool(cluster: LocalCluster, node: str | None, arguments: Sequence[str]) -> list[str]:
    """Command line of nodetool on a node, by default the first that runs; InputError if no Java here can run it."""
    chosen = _running(cluster, node)
    runtime = _java_of_nodetool(cluster)
    home = cluster.folder / "ccm" / chosen.name
    assert chosen.pid is not None  # noqa: S101 - it runs
    port = jmx.port(home, int(chosen.name.removeprefix("node")), chosen.pid)
    command = [str(runtime.home / "bin" / "java"), "-Xmx128M", "-Dcom.sun.jndi.rmiURLParsing=legacy"]
    command += [*_own_folder(cluster), f"-Dcassandra.config=file://{home}/conf/cassandra.yaml", *_opened(home, runtime)]
    command += ["-cp", f"{home}/conf:{cluster.folder}/home/lib/*", _NODETOOL]
    return [*command, "-h", "127.0.0.1", "-p", str(port), *arguments]


def stress(cluster: LocalCluster, arguments: Sequence[str]) -> list[str]:
    """Command line of the release's cassandra-stress on all running nodes; InputError if the release has none."""
    running = _addresses(cluster)
    home = (cluster.folder / "home" / "lib").resolve().parent
    jar = home / "tools" / "lib" / "stress.jar"
    if not jar.is_file():
        raise InputError(
            f"stress: there is no {jar}; Maven Central has Cassandra {cluster.engine} without its tools. Unpack the "
            f"Apache tarball, let {fetch.HOME_VARIABLE} name its folder, and start the cluster anew"
        )
    runtime = java.obtain(release(cluster.engine))
    command = [str(runtime.home / "bin" / "java"), "-Xmx1G", *_own_folder(cluster)]
    command += [*_opened(cluster.folder / "ccm" / "node1", runtime), "-cp", f"{home}/lib/*:{jar.parent}/*:{home}/conf"]
    command += [_STRESS, *arguments]
    if arguments and arguments[0] not in _OFFLINE and "-node" not in arguments:
        command += ["-node", ",".join(running)]
    return command


def cqlsh(cluster: LocalCluster, node: str | None, arguments: Sequence[str]) -> list[str]:
    """Command line of cqlsh on a node, by default the first that runs; InputError if cqlsh is not installed."""
    chosen = _running(cluster, node)
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which("cqlsh", path=places)
    if program is None:
        raise InputError(
            "cqlsh: is neither next to this Python nor on the PATH; `pip install cqlsh` gets one that works with "
            "every release here (those in the tarballs of 2.1 to 3.11 need Python 2)"
        )
    return [program, *arguments, chosen.address, str(CQL_PORT)]


def _java_of_nodetool(cluster: LocalCluster) -> java.Java:
    """Return the newest Java present that runs the release's nodetool and has what JMX needs."""
    oldest = _OLDEST_FROM_4_0 if release(cluster.engine).major >= _FROM_4_0 else _OLDEST
    able = [one for one in java.candidates() if oldest <= one.feature <= _NEWEST and jmx.has_naming(one.home)]
    if not able:
        raise InputError(
            f"nodetool: needs a Java {oldest} to {_NEWEST} with the module {jmx.NAMING}, which those of the Python "
            f"index lack. Install a whole one (Debian: openjdk-17-jre-headless; conda-forge: openjdk=17), or let "
            f"JAVA{_NEWEST}_HOME name its folder"
        )
    return max(able, key=lambda one: one.feature)


def _own_folder(cluster: LocalCluster) -> list[str]:
    """Options that keep a tool's log within the cluster's folder."""
    folder = cluster.folder / "tools"
    return [
        f"-Dcassandra.logdir={folder}",
        f"-Dcassandra.storagedir={folder}",
        "-Dlogback.configurationFile=logback-tools.xml",
    ]


def _opened(node: Path, runtime: java.Java) -> list[str]:
    """Options that open Java's inside to a tool, as they do to a node; Java 8 has none."""
    if runtime.feature <= _OLDEST:
        return []
    return [line for line in (node / "conf" / "cassbook.jvm").read_text().split() if line.startswith("--add-")]


def _running(cluster: LocalCluster, name: str | None) -> NodeState:
    if name is None:
        _addresses(cluster)
        return next(node for node in cluster.nodes if node.state == RUNNING)
    node = named(cluster, name)
    if node.state != RUNNING:
        raise LaboratoryError(f"{node.name} ({node.address}) is {node.state}")
    return node


def _addresses(cluster: LocalCluster) -> list[str]:
    running = [node.address for node in cluster.nodes if node.state == RUNNING]
    if not running:
        raise LaboratoryError("no node runs; `cassbook cluster start NODE` starts one")
    return running
