"""The light path's connection: the driver's own, with a short way out and in for frames that are ready.

A burst of answers is read at once, judged without decoding rows, and what they set off leaves in one write a node.
Everything else on the connection (its opening, authentication, TLS, ordinary requests) stays the driver's.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from typing import Any, Protocol

from cassandra.connection import Connection

from cassbook.lab.load import wire

_clock = time.perf_counter
_header = struct.Struct(">BBhBi")
_short = struct.Struct(">H").unpack_from
_short_size = 2
_WARNING = 0x08
_UUID_SIZE = 16
_BUFFER = 1 << 16
#: The driver numbers its own requests from 0 upwards; those of the light path have the upper half to themselves.
_FIRST_STREAM, _LAST_STREAM = 1 << 14, (1 << 15) - 1


class Waiting(Protocol):
    """Takes an answer; the ticket that it gave distinguishes a late one from that of its next request."""

    def answered(self, ticket: Any, now: float, opcode: int, body: bytes) -> None:
        """Take the answer; `now` is when it was read. Called by the event loop's thread."""

    def lost(self, ticket: Any) -> None:
        """Learn that the connection is gone; called by any thread."""


class Tracing(Waiting, Protocol):
    """Whoever waits for the answer to a request that the cluster traces."""

    def traced(self, session_id: bytes) -> None:
        """Learn, just before the answer, the id of its trace (16 bytes)."""


class LightPath:
    """Mixed into a connection class of the driver by `light`.

    The event loop's thread calls `after_burst` when all answers of a burst have been handed out.
    """

    in_buffer_size = _BUFFER
    out_buffer_size = _BUFFER

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._streams = list(range(_LAST_STREAM, _FIRST_STREAM - 1, -1))
        self._waiting: dict[int, tuple[Waiting, Any] | None] = {}
        self._frames: list[bytes] = []
        self.after_burst: Callable[[], None] = _nothing
        super().__init__(*arguments, **options)

    @property
    def gone(self: Any) -> bool:
        """Whether nothing can be sent any more."""
        return bool(self.is_closed or self.is_defunct)

    def ask(self: Any, body: bytes, waiting: Waiting, ticket: Any) -> int:
        """Send an EXECUTE body at once, from any thread; return the number of its stream. ConnectionError if it is
        gone.
        """
        stream = self._enter(waiting, ticket)
        self.push(wire.encode(body, stream, self.protocol_version))
        if self.gone and self._waiting.pop(stream, None):  # it went while this was entered
            raise ConnectionError(f"the connection to {self.endpoint} is gone")
        return int(stream)

    def ask_later(self: Any, body: bytes, waiting: Waiting, ticket: Any, tracing: bool = False) -> int:
        """Keep an EXECUTE body for `flush`; from the event loop's thread only. `tracing` is for a `Tracing`."""
        stream = self._enter(waiting, ticket)
        self._frames.append(wire.encode(body, stream, self.protocol_version, flags=wire.TRACING if tracing else 0))
        return int(stream)

    def _enter(self: Any, waiting: Waiting, ticket: Any) -> int:
        if self.is_closed or self.is_defunct:
            raise ConnectionError(f"the connection to {self.endpoint} is gone")
        stream: int = self._streams.pop()
        self._waiting[stream] = (waiting, ticket)
        return stream

    def forget(self, stream: int) -> None:
        """Let an answer that may still come be nobody's; its stream is used again after that."""
        if stream in self._waiting:
            self._waiting[stream] = None

    def flush(self: Any) -> None:
        """Write what was kept, straight to the socket where it takes it; from the event loop's thread only."""
        data = b"".join(self._frames)
        self._frames.clear()
        if self.gone:
            self._tell_lost()
            return
        if type(self._socket) is socket.socket and not getattr(self, "deque", True):
            try:
                sent = self._socket.send(data)
            except BlockingIOError:
                sent = 0
            except OSError as error:
                self.defunct(error)
                return
            data = data[sent:]
        if data:
            self.push(data)

    def process_io_buffer(self: Any) -> None:
        """Hand out every whole frame that was read, in place of the driver (protocols to 4: without segments)."""
        now = _clock()
        data = self._iobuf.getvalue()
        at, end = 0, len(data)
        try:
            while end - at >= _header.size:
                version, flags, stream, opcode, length = _header.unpack_from(data, at)
                until = at + _header.size + length
                if until > end:
                    break
                body = data[at + _header.size : until]
                at = until
                if stream in self._waiting:
                    entry = self._waiting.pop(stream)
                    self._streams.append(stream)
                    if flags & wire.TRACING:
                        session_id, body = body[:_UUID_SIZE], body[_UUID_SIZE:]
                        if entry is not None:
                            entry[0].traced(session_id)
                    if flags & _WARNING:
                        body = _without_warnings(body)
                    if entry is not None:
                        entry[0].answered(entry[1], now, opcode, body)
                else:
                    self.process_msg(_Header(version & 0x7F, flags, stream, opcode), body)
        except Exception as error:
            self.defunct(error)
            return
        self._iobuf.seek(at)
        self._io_buffer.reset_io_buffer()
        self.after_burst()

    def error_all_requests(self, error: Exception) -> None:
        """Inform everybody who waits that the connection is gone."""
        self._tell_lost()
        super().error_all_requests(error)  # type: ignore[misc]

    def _tell_lost(self) -> None:
        entries, self._waiting = self._waiting, {}
        for entry in entries.values():
            if entry is not None:
                entry[0].lost(entry[1])


class _Header:
    """What the driver wants to know of a frame."""

    __slots__ = ("flags", "opcode", "stream", "version")

    def __init__(self, version: int, flags: int, stream: int, opcode: int) -> None:
        self.version, self.flags, self.stream, self.opcode = version, flags, stream, opcode


def _without_warnings(body: bytes) -> bytes:
    """Cut off the list of strings that precedes an answer with warnings (native protocol 4, section 2.2)."""
    (count,) = _short(body)
    at = _short_size
    for _ in range(count):
        at += _short_size + _short(body, at)[0]
    return body[at:]


def _nothing() -> None:
    pass


#: What a light connection is opened with. The driver leaves Nagle's algorithm on: a burst would wait for the
#: acknowledgement of the one before, up to a whole latency. And answers are looked into as they are, so not compressed.
OPTIONS: dict[str, Any] = {"sockopts": [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)], "compression": False}


def light(base: type[Connection]) -> type[Any]:
    """Return a connection class like `base`, the driver's for its event loop, with the light path."""
    return type(f"Light{base.__name__}", (LightPath, base), {})
