"""What runs on a worker of a Dask cluster: client processes are started there, spoken to, and their files read.

Each function is called by name through the scheduler (`lab.run.workers`). The client processes are children of the
worker; they end with it, when they are stopped, and when nobody has asked for them for a while.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

import cassbook
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.lab.engine.connect import Tls, connect_with_own
from cassbook.lab.run.processes import FAREWELL_S, serve
from cassbook.lab.wan.child import Child, DiedError

#: A client process that its owner has not asked for so long is ended: the owner is gone.
LEASE_S = 60.0
_WATCH_S = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client process sent, if anything, or how it failed."""

    said: bool = False  # whether there is anything yet
    message: Any = None
    problem: str = ""  # why it failed; empty if it did not
    died: bool = False  # it ended without a reason of its own
    wrong_input: bool = False  # the request cannot be met, and repeating it is no use


@dataclass(slots=True)
class _Hosted:
    """A client process of this worker, its folder, and when it was last asked for."""

    child: Child
    folder: Path
    asked: float = field(default_factory=time.monotonic)

    def end(self) -> None:
        self.child.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


_hosted: dict[str, _Hosted] = {}
_watching = threading.Lock()


async def clock() -> float:
    """Return this machine's monotonic clock."""
    return time.perf_counter()


async def cores() -> int:
    """Return how many processors this machine has."""
    return psutil.cpu_count() or 1


def fingerprint() -> str:
    """Return a hash of cassbook's source here: versions in the making may bear one number."""
    root = Path(cassbook.__file__).parent
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        total.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return total.hexdigest()[:16]


async def try_door(addresses: Sequence[str], protocol: int, tls: Tls | None, port: int) -> str:
    """Connect to the cluster from here, once, with what this environment has; return why that fails, or nothing."""

    def attempt() -> str:
        try:
            connect_with_own(addresses, protocol, tls, port, attempts=1).cluster.shutdown()
        except (InputError, LaboratoryError) as error:
            return str(error)
        return ""

    return await asyncio.to_thread(attempt)


async def launch(key: str, number: int, arguments: tuple[Any, ...]) -> str:
    """Start a client process; return the folder that it may write in."""

    def start() -> str:
        try:
            folder = Path(tempfile.mkdtemp(prefix="cassbook-client-"))
            child = Child(f"client process {number}", serve, *arguments, patience_s=FAREWELL_S)
            child.launch()
        except OSError as error:
            raise LaboratoryError(f"client process {number} cannot be started on its worker: {error}") from None
        _hosted[key] = _Hosted(child, folder)
        if _watching.acquire(blocking=False):
            threading.Thread(target=_watch, name="leases", daemon=True).start()
        return str(folder)

    return await asyncio.to_thread(start)


def _watch() -> None:
    """End what nobody asks for any more, as long as there is anything."""
    while _hosted:
        time.sleep(_WATCH_S)
        late = time.monotonic() - LEASE_S
        for key in [key for key, hosted in list(_hosted.items()) if hosted.asked < late]:
            _hosted.pop(key).end()
    _watching.release()


async def touch(keys: Sequence[str]) -> None:
    """Note that the owner is there."""
    for key in keys:
        if key in _hosted:
            _hosted[key].asked = time.monotonic()


async def tell(key: str, message: Any) -> tuple[Answer, float]:
    """Pass a message on; also return when, by this machine's clock."""
    answer = await asyncio.to_thread(_guarded, key, lambda child: child.tell(message))
    return answer, time.perf_counter()


async def hear(key: str, within_s: float) -> Answer:
    """Wait for a client process's next message, but not longer than that."""
    return await asyncio.to_thread(
        _guarded, key, lambda child: Answer(True, child.hear()) if child.says(within_s) else Answer()
    )


def _guarded(key: str, act: Any) -> Answer:
    if key not in _hosted:
        return Answer(problem="is not there: its worker was started anew, or its owner was away too long", died=True)
    hosted = _hosted[key]
    hosted.asked = time.monotonic()
    try:
        return act(hosted.child) or Answer()
    except DiedError as error:
        return Answer(problem=str(error), died=True)
    except (InputError, LaboratoryError) as error:
        return Answer(problem=str(error), wrong_input=isinstance(error, InputError))


async def read(key: str, path: str, at: int, size: int) -> bytes:
    """Return a part of a file that a client process wrote, and note that the owner is there."""
    await touch([key])

    def part() -> bytes:
        try:
            with Path(path).open("rb") as stream:
                stream.seek(at)
                return stream.read(size)
        except OSError as error:
            raise LaboratoryError(f"samples cannot be read on their worker: {error}") from None

    return await asyncio.to_thread(part)


async def remove(path: str) -> None:
    """Remove a file that has been fetched."""
    Path(path).unlink(missing_ok=True)


async def hang_up(key: str) -> None:
    """Let a client process end, without waiting for it."""
    if key in _hosted:
        _hosted[key].child.hang_up()


async def stop(key: str) -> None:
    """End a client process, gently and then not, and remove what it wrote."""
    hosted = _hosted.pop(key, None)
    if hosted:
        await asyncio.to_thread(hosted.end)
