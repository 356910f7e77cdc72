"""The echo's own process: says how far hosts are apart, as a chunk of bytes finds it.

It acts for all hosts: listens for each, and calls each from the address of each other, through the relay. A
message carries the moment it was sent, the answer the moment it was received, by the same clock, so that either way is
known.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cassbook.lab.wan import precise
from cassbook.lab.wan.child import Owner
from cassbook.lab.wan.precise import clock

_STAMPS = struct.Struct("dd")
_CONNECT_TIMEOUT_S = 5.0
#: Its multiples, less their whole parts, are spread evenly however many there are.
_GOLDEN = 0.6180339887


@dataclass(slots=True)
class Call:
    """A connection from one host to another, and what came of it since the last report."""

    sender: str
    receiver: str
    socket: socket.socket
    there_s: list[float] = field(default_factory=list)
    back_s: list[float] = field(default_factory=list)
    unanswered: int = 0


class Caller:
    """Answers what comes in, and calls every `interval_s`; a message has `size` bytes, at least those of two stamps."""

    def __init__(self, loop: precise.Loop, listen: list[tuple[str, int]], size: int, interval_s: float) -> None:
        self._loop, self._interval_s = loop, interval_s
        self._size, self._rest = size, b"\0" * (size - _STAMPS.size)
        self._calls: list[Call] = []
        for address in listen:
            server = socket.create_server(tuple(address), backlog=64)
            loop.watch(server.fileno(), partial(self._accept, server))

    def call(self, sender: str, receiver: str, source: str, address: Sequence[Any]) -> None:
        """Call a host from the address of another; calls take turns within an interval, so that they make no bursts."""
        connection = socket.create_connection(
            (str(address[0]), int(address[1])), _CONNECT_TIMEOUT_S, source_address=(source, 0)
        )
        call = Call(sender, receiver, connection)
        self._calls.append(call)
        self._read(connection, partial(self._answered, call))
        turn = len(self._calls) * _GOLDEN % 1
        self._loop.at(clock() + turn * self._interval_s, partial(self._send, call))

    def report(self) -> list[dict[str, Any]]:
        """What each call found since the last report, in seconds; and how many messages wait for their answer."""
        calls = []
        for call in self._calls:
            calls.append(
                {"from": call.sender, "to": call.receiver, "there_s": call.there_s, "back_s": call.back_s,
                 "unanswered": call.unanswered}
            )  # fmt: skip
            call.there_s, call.back_s = [], []
        return calls

    def _accept(self, server: socket.socket, _: int) -> None:
        connection, _ = server.accept()
        self._read(connection, partial(self._echo, connection))

    def _read(self, connection: socket.socket, whole: Callable[[bytes], None]) -> None:
        """Have something called with every whole message."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        fd, rest, size = connection.fileno(), bytearray(), self._size

        def readable(_: int) -> None:
            try:
                data = connection.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                self._loop.forget(fd)
                connection.close()
            rest.extend(data)
            while len(rest) >= size:
                whole(bytes(rest[:size]))
                del rest[:size]

        self._loop.watch(fd, readable)

    def _echo(self, connection: socket.socket, message: bytes) -> None:
        sent, _ = _STAMPS.unpack_from(message)
        connection.sendall(_STAMPS.pack(sent, clock()) + self._rest)

    def _send(self, call: Call, due: float, now: float) -> None:
        if call.socket.fileno() < 0:  # it was closed: no more answers
            return
        call.socket.sendall(_STAMPS.pack(clock(), 0.0) + self._rest)
        call.unanswered += 1
        # What is late is left out, so that a stall is not followed by a burst.
        self._loop.at(max(due + self._interval_s, now), partial(self._send, call))

    def _answered(self, call: Call, message: bytes) -> None:
        sent, received = _STAMPS.unpack_from(message)
        call.there_s.append(received - sent)
        call.back_s.append(clock() - received)
        call.unanswered -= 1


def serve(
    owner: Owner, listen: list[tuple[str, int]], size: int, interval_s: float,
    calls: list[tuple[str, str, str, tuple[str, int]]],
) -> None:  # fmt: skip
    """Be the echo: first say how many calls there are, then report whenever asked, until the owner is gone."""
    loop = precise.Loop()
    caller = Caller(loop, listen, size, interval_s)
    for call in calls:
        caller.call(*call)
    owner.tell(len(calls))
    owner.serve(loop, lambda _: caller.report())
