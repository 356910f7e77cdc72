"""Two ways to the rows of a page: each row asked for when the one before has come, or all by one call to a proxy.

The proxy is a middleware near the cluster: it does what a far client asks for, row by row, and answers once. One
process, one thread a connection. A call is a line of JSON, {"keys": [...]}; so is the answer, {"rows": n}.
"""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from cassandra import ConsistencyLevel

from cassbook.lab.engine.connect import connect
from cassbook.lab.wan.child import Child, Owner

Address = tuple[str, int]
_LEVEL = "QUORUM"
_FAREWELL_S = 5.0
_PATIENCE_S = 60.0


class Pager:
    """Reads rows one after the other, through the nodes in turn."""

    def __init__(self, addresses: list[str], protocol: int, keyspace: str) -> None:
        self._session = connect(addresses, protocol)
        self._read = self._session.prepare(f"SELECT * FROM {keyspace}.usertable WHERE y_id = ?")
        self._read.consistency_level = ConsistencyLevel.name_to_value[_LEVEL]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.cluster.shutdown()

    def read(self, keys: Sequence[str]) -> int:
        """Return how many of the rows exist; each is requested when the one before has been read."""
        return sum(len(list(self._session.execute(self._read, (key,)))) for key in keys)


class ProxyClient:
    """Calls a proxy; each thread has a connection of its own."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._local = threading.local()

    def read(self, keys: Sequence[str]) -> int:
        """Do as `Pager.read`, in one call."""
        stream: Any = getattr(self._local, "stream", None)
        if stream is None:
            connection = socket.create_connection(self._address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = self._local.stream = connection.makefile("rwb")
        stream.write(json.dumps({"keys": list(keys)}).encode() + b"\n")
        stream.flush()
        return int(json.loads(stream.readline())["rows"])


@contextmanager
def proxy(pager: Callable[[], Pager]) -> Iterator[Address]:
    """Run a proxy while the block runs; its address is the context.

    `pager` opens, within the proxy's process, what reads rows, and can be pickled. Raise LaboratoryError if the proxy
    cannot start, with its reason.
    """
    with Child("the proxy", _serve, pager, patience_s=_FAREWELL_S) as child:
        yield child.start(_PATIENCE_S)


def _serve(owner: Owner, pager: Callable[[], Pager]) -> None:
    """Be the proxy until the owner is gone."""
    with pager() as readers, _Server(("127.0.0.1", 0), readers) as server:
        owner.tell(server.server_address)
        server.serve_while(owner)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, address: Address, pager: Pager) -> None:
        super().__init__(address, _Handler)
        self.pager = pager

    def serve_while(self, owner: Owner) -> None:
        """Serve until the owner is gone."""
        self.timeout = 0.2
        while not owner.waits():
            self.handle_request()


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Server

    def handle(self) -> None:
        """Answer line after line."""
        for line in self.rfile:
            answer = {"rows": self.server.pager.read(json.loads(line)["keys"])}
            self.wfile.write(json.dumps(answer).encode() + b"\n")
