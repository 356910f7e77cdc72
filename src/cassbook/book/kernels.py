"""Kernels whose own chatter goes to a file, and that end with the command that started them; what memory they took.

nbclient takes SIGINT and SIGTERM for itself when it executes a notebook, and lets the notebook go on. So the command's
own handler is installed anew as each kernel starts; and processes that execute notebooks are ended from outside.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from jupyter_client.localinterfaces import localhost
from jupyter_client.manager import AsyncKernelManager
from traitlets import default

from cassbook.book.kernel_environment import LOG_VARIABLE
from cassbook.core import signals

#: How long what a kernel has started may take to notice that it is gone: a watchdog then removes a cluster.
_PATIENCE_S = 10.0
#: Who would tell of the kernel's death while Python finishes, when nbclient takes up again what a signal broke off.
_NOISY = ("asyncio", "papermill", "traitlets")


class QuietKernelManager(AsyncKernelManager):
    """Start kernels with their standard error appended to the file that CASSBOOK_KERNEL_LOG names.

    On Linux they listen on sockets that have a name of their own: a port that is free when a kernel is given it may be
    taken when it gets there. Their names are in no folder, so that none is left behind.

    Attributes
    ----------
    peak_mb : int
        What the kernel that ended last had in memory at most; 0 where the system does not say.
    """

    peak_mb = 0

    @default("transport")
    def _named(self) -> str:
        return "ipc" if sys.platform == "linux" else "tcp"

    @default("ip")
    def _name(self) -> str:
        return f"@{uuid.uuid4().hex}" if self.transport == "ipc" else localhost()

    async def _async_start_kernel(self, **options: Any) -> None:
        signals.take()
        path = Path(os.environ.get(LOG_VARIABLE, os.devnull))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            await super()._async_start_kernel(stderr=log, **options)

    async def _async_shutdown_kernel(self, now: bool = False, restart: bool = False) -> None:
        QuietKernelManager.peak_mb = _peak_mb(getattr(self.provisioner, "pid", None))
        await super()._async_shutdown_kernel(now=now, restart=restart)

    start_kernel = _async_start_kernel
    shutdown_kernel = _async_shutdown_kernel


def _peak_mb(pid: int | None) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024)
    return 0


@contextmanager
def ended_on_error() -> Iterator[None]:
    """Kill the kernels that the block has started, if it ends with an error, and wait for what they had started.

    That clears up by itself, for a kernel may die at any time: the watchdog of a cluster removes it.
    """
    before = _kernels()
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            for name in _NOISY:
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        with signals.held_back():
            _end(_kernels() - before)
        raise


def _kernels() -> set[psutil.Process]:
    """Kernels that this process has started, or had forked."""
    found: set[psutil.Process] = set()
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            command = child.cmdline()
            if "ipykernel_launcher" in command:
                found.add(child)
            elif any("multiprocessing.forkserver" in part for part in command):
                found.update(child.children())
    return found


def _end(kernels: Iterable[psutil.Process]) -> None:
    for kernel in kernels:
        with suppress(psutil.NoSuchProcess):
            kernel.suspend()  # nothing more is started
            started = kernel.children(recursive=True)
            kernel.kill()
            _wait([kernel, *started])


def end_workers(pids: Iterable[int]) -> None:
    """Kill processes that execute chapters, with all that they have started, and wait until they are gone."""
    gone = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            worker = psutil.Process(pid)
            worker.suspend()
            gone += [*worker.children(recursive=True), worker]
    for process in gone:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _wait(gone)


def _wait(ending: list[psutil.Process]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while any(map(_runs, ending)) and time.monotonic() < deadline:
        time.sleep(0.01)


def _runs(process: psutil.Process) -> bool:
    """Whether it does anything yet; one that has ended may be listed until its parent, or init, looks."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def signals_later() -> Iterator[None]:
    """Within the block signals wait, and do in processes that it starts, until they are `alone`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals.HEEDED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def alone() -> None:
    """Make this process, a worker, one that signals of a terminal do not reach: it is ended by who started it."""
    os.setsid()
    former = {number: signal.signal(number, signal.SIG_IGN) for number in signals.HEEDED}  # forgets those that wait
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals.HEEDED)
    for number, handler in former.items():
        signal.signal(number, handler)
