"""The MBeans of a node's Java: where nodetool finds them, and how a node that cannot open them itself is made to.

A node opens them on loopback, port 7100 for node1, 7200 for node2, as ccm says. That takes the module jdk.naming.rmi,
which the fetched Java lacks; there the JVM's own agent does the same, started by `jcmd`.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
from pathlib import Path

import psutil

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine import java

#: Module of Java by which Cassandra opens its MBeans, and by which nodetool finds them.
NAMING = "jdk.naming.rmi"
_NOTE = "jmx.port"
_BEFORE_MODULES = 8


def standard_port(number: int) -> int:
    """Port of a node's MBeans, by the node's number from 1."""
    return 7000 + 100 * number


def has_naming(home: Path) -> bool:
    """Whether the Java at `home` has what nodetool and its nodes need."""
    version = java.feature_version(home)
    if version is None:
        return False
    if version[0] <= _BEFORE_MODULES:
        return True
    listed = subprocess.run([home / "bin" / "java", "--list-modules"], capture_output=True, text=True, check=False)
    return f"{NAMING}@" in listed.stdout


def port(folder: Path, number: int, pid: int) -> int:
    """Port on 127.0.0.1 where the MBeans of running node `number` (from 1) answer; they are opened if need be.

    The port is noted in the node's folder. A LaboratoryError gives the reason why they cannot be opened.
    """
    home = Path(psutil.Process(pid).exe()).parents[1]
    if has_naming(home):
        return standard_port(number)
    note = folder / _NOTE
    noted = note.read_text().split() if note.is_file() else []
    if noted[:1] == [str(pid)]:
        return int(noted[1])
    with socket.create_server(("127.0.0.1", 0)) as free:
        chosen: int = free.getsockname()[1]
    start_agent(home, pid, chosen, folder.name)
    note.write_text(f"{pid} {chosen}")
    return chosen


def start_agent(home: Path, pid: int, at: int, name: str) -> None:
    """Have the JVM `pid`, which runs the Java at `home`, open its MBeans on 127.0.0.1 alone, without a password.

    A JVM of the age of Java 11 that is asked at its start would open a second port on all addresses. If it fails, the
    LaboratoryError quotes it.
    """
    attach = home / "bin" / "jcmd"
    if not attach.is_file():
        raise LaboratoryError(f"{name} does not open JMX: its Java in {home} has neither {NAMING} nor jcmd")
    wanted = [f"port={at}", f"rmi.port={at}", "host=127.0.0.1", "authenticate=false", "ssl=false"]
    options = [f"jmxremote.{option}" for option in wanted]
    for order in (["ManagementAgent.stop"], ["ManagementAgent.start", *options]):  # one that runs is not started again
        done = subprocess.run([attach, str(pid), *order], capture_output=True, text=True, check=False)
    # The door that jcmd came by; a node that is killed would leave it there.
    Path(tempfile.gettempdir(), f".java_pid{pid}").unlink(missing_ok=True)
    if done.returncode:
        raise LaboratoryError(f"{name} does not open JMX: {done.stdout}{done.stderr}")
