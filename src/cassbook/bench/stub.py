"""A server that answers each request after a known delay and does nothing else; it holds no data.

It speaks just enough of the native protocol (versions 3 and 4) for the light path: what the generator measures
against it, less what the server itself took, is the generator's own error. Run as a module it is a process of its
own: it prints its port, and when its standard input ends, what it took.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import subprocess
import sys
import time
from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_header = struct.Struct(">BBhBi")
_ERROR, _STARTUP, _READY, _OPTIONS, _SUPPORTED, _RESULT, _EXECUTE = 0x00, 0x01, 0x02, 0x05, 0x06, 0x08, 0x0A
_RESPONSE = 0x80
#: Statements it knows, by what it does with them.
READS, WRITES, FAILS, WARNS, KEEPS_SILENT, HANGS_UP = (bytes([n]) * 16 for n in range(1, 7))
_ID_ENDS = 2 + 16
_VALUES = _ID_ENDS + 2 + 1 + 2  # behind the statement's id: level, flags, number of values
_UNAVAILABLE = struct.pack(">iH", 0x1000, 0)
_OFFERS = struct.pack(">HH11sHH5sH11sH", 2, 11, b"CQL_VERSION", 1, 5, b"3.4.4", 11, b"COMPRESSION", 0)
_WARNING = struct.pack(">HH7sH4s", 2, 7, b"careful", 4, b"very")
_VOID = struct.pack(">i", 1)
_clock = time.perf_counter
#: What it took for the first requests is not counted, as the generator does not count them.
RAMP_S = 0.3


class _Client:
    """One connection: bytes that came, answers that are due."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection, self.rest = connection, b""


class Stub:
    """Answer every EXECUTE `delay_s` after it was read.

    `delay_s`: may be changed meanwhile, also for what has been read. `came` and `took_s`: when a request was read, and
    how long after that its answer was handed to the kernel, of every one answered.
    """

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._clients: dict[socket.socket, _Client] = {}
        self._due: deque[tuple[float, _Client, bytes]] = deque()  # one delay for all: first come, first served
        self.came, self.took_s = array("d"), array("d")

    def serve(self, until: Any) -> None:
        """Serve until something can be read from `until`."""
        while True:
            wait_s = max(0.0, self._due[0][0] + self.delay_s - _clock()) if self._due else None
            # Not epoll: select keeps time by the microsecond.
            ready, _, _ = select.select([until, self._listener, *self._clients], [], [], wait_s)
            if until in ready:
                break
            if self._listener in ready:
                connection = self._listener.accept()[0]
                self._clients[connection] = _Client(connection)
            for connection in ready:
                if connection in self._clients:
                    self._read(self._clients[connection])
            self._answer()
        for connection in (self._listener, *self._clients):
            connection.close()

    def _read(self, client: _Client) -> None:
        try:
            came = client.connection.recv(1 << 16)
        except ConnectionError:
            came = b""
        now = _clock()
        if not came:
            self._hang_up(client)
            return
        data = client.rest + came
        at = 0
        while len(data) - at >= _header.size:
            version, _, stream, opcode, length = _header.unpack_from(data, at)
            until = at + _header.size + length
            if until > len(data):
                break
            self._take(client, now, version, stream, opcode, data[at + _header.size : until])
            at = until
        client.rest = data[at:]

    def _take(self, client: _Client, now: float, version: int, stream: int, opcode: int, body: bytes) -> None:
        def frame(kind: int, content: bytes, flags: int = 0) -> bytes:
            return _header.pack(version | _RESPONSE, flags, stream, kind, len(content)) + content

        if opcode == _OPTIONS:
            client.connection.send(frame(_SUPPORTED, _OFFERS))
        elif opcode == _STARTUP:
            client.connection.send(frame(_READY, b""))
        elif opcode == _EXECUTE:
            statement = body[2:_ID_ENDS]
            if statement == HANGS_UP:
                self._hang_up(client)
            elif statement in (READS, WARNS):
                rows = struct.pack(">iiii", 2, 4, 1, 1) + body[_VALUES:]
                answer = frame(_RESULT, rows) if statement == READS else frame(_RESULT, _WARNING + rows, 0x08)
                self._due.append((now, client, answer))
            elif statement in (WRITES, FAILS):
                answer = frame(_RESULT, _VOID) if statement == WRITES else frame(_ERROR, _UNAVAILABLE)
                self._due.append((now, client, answer))

    def _answer(self) -> None:
        """Send what is due, in one write a connection."""
        sending: dict[_Client, list[bytes]] = {}
        begun = []
        now = _clock()
        while self._due and self._due[0][0] + self.delay_s <= now:
            came, client, answer = self._due.popleft()
            sending.setdefault(client, []).append(answer)
            begun.append(came)
        for client, answers in sending.items():
            with contextlib.suppress(OSError):  # it hung up meanwhile
                client.connection.sendall(b"".join(answers))
        self.came.extend(begun)
        self.took_s.extend(now - came for came in begun)

    def _hang_up(self, client: _Client) -> None:
        self._clients.pop(client.connection, None)
        client.connection.close()


@contextmanager
def stub(delay_ms: float) -> Iterator[tuple[int, dict[str, float]]]:
    """Run the server as a process of its own.

    Returns its port, and a dict that is filled when the block ends: answered, mean_us, p50_us, p99_us, of what the
    server took for a request that came after the ramp.
    """
    command = [sys.executable, "-m", __name__, str(delay_ms)]
    took: dict[str, float] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            yield int(process.stdout.readline()), took
            took |= json.loads(process.communicate(timeout=20)[0])
        finally:
            process.kill()


def _main(delay_ms: float) -> None:
    server = Stub(delay_ms / 1000)
    print(server.port, flush=True)
    server.serve(sys.stdin)
    came = np.array(server.came)
    took_us = np.array(server.took_s)[came >= came[:1] + RAMP_S] * 1e6
    answered = {"answered": float(took_us.size)}
    if took_us.size:
        p50_us, p99_us = np.quantile(took_us, [0.5, 0.99])
        answered |= {"mean_us": float(took_us.mean()), "p50_us": float(p50_us), "p99_us": float(p99_us)}
    print(json.dumps(answered))


if __name__ == "__main__":
    _main(float(sys.argv[1]))
