"""What must be true of the machine before a cluster starts; said in one message, with the holder of each port."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from cassbook.core.errors import LaboratoryError
from cassbook.core.words import counted, plural

STORAGE_PORT, CQL_PORT, THRIFT_PORT = 7000, 9042, 9160
#: What a node's process takes besides its heap: metaspace, code cache, buffers, mapped SSTables.
_BEYOND_HEAP_MB = 400
_DISK_PER_NODE_MB = 700


@dataclass(frozen=True, slots=True)
class Listener:
    """An address a node will listen on, and what for."""

    host: str
    port: int
    purpose: str


def listeners(nodes: int) -> list[Listener]:
    """Give every address that ccm hands to `nodes` nodes; all of them on loopback."""
    wanted = []
    for i in range(1, nodes + 1):
        wanted += [*_of_host(f"127.0.0.{i}"), Listener("127.0.0.1", 7000 + 100 * i, "JMX")]
    return wanted


def _of_host(host: str) -> list[Listener]:
    ports = {"storage": STORAGE_PORT, "CQL": CQL_PORT, "Thrift": THRIFT_PORT}
    return [Listener(host, port, purpose) for purpose, port in ports.items()]


@dataclass(frozen=True, slots=True)
class Taken:
    """An address that another process listens on, or that cannot be bound: what to say, and the holder if known."""

    listener: Listener
    text: str
    pid: int | None = None
    in_use: bool = True


def holder(listener: Listener) -> psutil.Process | str:
    """Process that listens on an address, or what this user may know of it."""
    everywhere = {listener.host, "0.0.0.0", "::"}  # noqa: S104 - compared with, never bound
    for connection in psutil.net_connections(kind="tcp"):
        if connection.status != psutil.CONN_LISTEN or not connection.laddr:
            continue
        if connection.laddr.port == listener.port and connection.laddr.ip in everywhere:
            return "a process of another user" if connection.pid is None else psutil.Process(connection.pid)
    return "an unknown process"


def _described(process: psutil.Process) -> str:
    words = process.cmdline()
    if words and words[-1].endswith("CassandraDaemon"):
        return f"process {process.pid}, a Cassandra node (`cassbook cluster status` may know it)"
    return f"process {process.pid} ({' '.join(words)[:120] or process.name()})"


def taken(nodes: int) -> list[Taken]:
    """Addresses of `nodes` nodes that are not free, with their holders."""
    return _taken(listeners(nodes))


def held(host: str) -> list[Taken]:
    """Those of one node: the last threads of a process close its ports after it has ended to all appearance."""
    return _taken(_of_host(host))


def _taken(wanted: Iterable[Listener]) -> list[Taken]:
    found = []
    for listener in wanted:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((listener.host, listener.port))
            except OSError as error:
                place = f"{listener.host}:{listener.port} ({listener.purpose})"
                if error.errno in {48, 98}:  # EADDRINUSE on macOS, Linux
                    found.append(_in_use(listener, place))
                else:
                    text = f"{place} cannot be bound: {error.strerror}; macOS needs `ifconfig lo0 alias`"
                    found.append(Taken(listener, text, in_use=False))
    return found


def _in_use(listener: Listener, place: str) -> Taken:
    try:
        process = holder(listener)
        said = process if isinstance(process, str) else _described(process)
    except psutil.Error:  # it ended meanwhile, or is nobody's business
        process, said = "", "a process that ended meanwhile, or of another user"
    return Taken(listener, f"{place} is in use by {said}", None if isinstance(process, str) else process.pid)


def problems(nodes: int, heap_mb: int, folder: Path) -> list[str]:
    """Everything that would keep a cluster from starting, in words; empty if it can start."""
    return [one.text for one in taken(nodes)] + shortages(nodes, heap_mb, folder)


def shortages(nodes: int, heap_mb: int, folder: Path) -> list[str]:
    """What memory and disk lack for so many nodes, in words; empty if both suffice."""
    wrong = []
    need_mb = nodes * (heap_mb + _BEYOND_HEAP_MB)
    have_mb = psutil.virtual_memory().available // 2**20
    if have_mb < need_mb:
        wrong.append(
            f"{counted(nodes, 'node')} with {'a ' if nodes == 1 else ''}{heap_mb} MB {plural('heap', nodes)} "
            f"{'needs' if nodes == 1 else 'need'} {need_mb} MB of memory; {have_mb} MB are available"
        )
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    disk_mb = psutil.disk_usage(str(existing)).free // 2**20
    if disk_mb < nodes * _DISK_PER_NODE_MB:
        wrong.append(
            f"{counted(nodes, 'node')} {'needs' if nodes == 1 else 'need'} {nodes * _DISK_PER_NODE_MB} MB of disk "
            f"under {folder}; {disk_mb} MB are free"
        )
    return wrong


def check(nodes: int, heap_mb: int, folder: Path) -> None:
    """Raise a LaboratoryError with every problem at once: ports with their holders, memory and disk."""
    wrong = problems(nodes, heap_mb, folder)
    if wrong:
        raise LaboratoryError("a cluster cannot start here:\n  " + "\n  ".join(wrong))
