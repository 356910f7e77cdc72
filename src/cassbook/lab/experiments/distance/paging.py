"""Two ways to the rows of a page: each row asked for when the one before has come, or all by one call to a proxy."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Sequence
from typing import Any, Self

from cassandra import ConsistencyLevel

from cassbook.lab.engine.connect import connect

_LEVEL = "QUORUM"


class Pager:
    """Reads rows one after the other, through the nodes in turn.

    Parameters
    ----------
    addresses : list of str
    protocol : int
    keyspace : str
    """

    def __init__(self, addresses: list[str], protocol: int, keyspace: str) -> None:
        self._session = connect(addresses, protocol)
        self._read = self._session.prepare(f"SELECT * FROM {keyspace}.usertable WHERE y_id = ?")
        self._read.consistency_level = ConsistencyLevel.name_to_value[_LEVEL]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.cluster.shutdown()

    def read(self, keys: Sequence[str]) -> int:
        """How many of the rows are there; each is asked for when the one before has been read."""
        return sum(len(list(self._session.execute(self._read, (key,)))) for key in keys)


class Asking:
    """Calls a proxy; each thread has a connection of its own.

    Parameters
    ----------
    address : tuple of str and int
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._local = threading.local()

    def read(self, keys: Sequence[str]) -> int:
        """As `Pager.read`, in one call."""
        stream: Any = getattr(self._local, "stream", None)
        if stream is None:
            connection = socket.create_connection(self._address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = self._local.stream = connection.makefile("rwb")
        stream.write(json.dumps({"keys": list(keys)}).encode() + b"\n")
        stream.flush()
        return int(json.loads(stream.readline())["rows"])
