"""A TCP relay that delays what it passes on, each direction by its own time; bytes stay whole and in order.

A node that is to be far away tells the others an address at which the relay listens (`broadcast_address`), and listens
itself on another. What arrives is passed on when its delay is over, not sooner; a chunk that comes while another waits
is due later, so none overtakes. A side that closes, closes the other once all before it has been passed on; a reset is
passed on at once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from cassbook.errors import LaboratoryError

_CHUNK = 1 << 16
#: What may wait in one direction of a connection before its sender is held back.
_MOST_BYTES = 64 << 20
_START_TIMEOUT_S = 10.0

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Route:
    """Where the relay listens, where it passes things on to, and how late.

    Attributes
    ----------
    listen, to : tuple of str and int
        Address and port.
    there_s, back_s : float
        Delay of what the caller sends, and of what it gets, in seconds.
    """

    listen: Address
    to: Address
    there_s: float = 0.0
    back_s: float = 0.0


class Relay:
    """Relays in a thread of its own, between `start` and `stop`.

    Parameters
    ----------
    routes : sequence of Route

    Raises
    ------
    LaboratoryError
        From `start`, naming the address that cannot be listened on.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = list(routes)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cassbook-relay", daemon=True)
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Relay:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen on every route."""
        self._thread.start()
        try:
            for route in self._routes:
                asyncio.run_coroutine_threadsafe(self._listen(route), self._loop).result(_START_TIMEOUT_S)
        except OSError as error:
            self.stop()
            raise LaboratoryError(f"the relay cannot listen: {error}") from None

    def stop(self) -> None:
        """Close everything; what still waits is lost."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(_START_TIMEOUT_S)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    async def _listen(self, route: Route) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 - a connection is served by one
            self._tasks.add(task)
            try:
                await _serve(route, reader, writer)
            finally:
                self._tasks.discard(task)

        self._servers.append(await asyncio.start_server(accept, *route.listen))

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection until both directions have ended, or one has been reset."""
    try:
        far_reader, far_writer = await asyncio.open_connection(*route.to)
    except OSError:
        writer.transport.abort()  # as if the node itself had refused
        return
    whole = False
    try:
        async with asyncio.TaskGroup() as pumps:
            pumps.create_task(_pump(reader, far_writer, route.there_s))
            pumps.create_task(_pump(far_reader, writer, route.back_s))
        whole = True
    except* OSError:  # one side was reset: so is the other, below
        pass
    finally:
        for side in (writer, far_writer):
            if whole:
                side.close()
            else:
                side.transport.abort()
            with suppress(OSError, asyncio.CancelledError):
                await side.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Pass on one direction: a reader that notes when each chunk is due, and a writer that keeps to it."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    room = asyncio.Event()
    room.set()
    held = 0

    async def read() -> None:
        nonlocal held
        while chunk := await reader.read(_CHUNK):
            held += len(chunk)
            if held > _MOST_BYTES:
                room.clear()
            waiting.put_nowait((loop.time() + delay_s, chunk))
            await room.wait()
        waiting.put_nowait((loop.time() + delay_s, b""))

    async def write() -> None:
        nonlocal held
        while True:
            due, chunk = await waiting.get()
            if (left := due - loop.time()) > 0:
                await asyncio.sleep(left)
            if not chunk:
                writer.write_eof()
                return
            writer.write(chunk)
            await writer.drain()
            held -= len(chunk)
            if held <= _MOST_BYTES // 2:
                room.set()

    async with asyncio.TaskGroup() as both:
        both.create_task(read())
        both.create_task(write())
