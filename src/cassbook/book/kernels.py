"""Kernels whose own chatter goes to a file, and that end with the command that started them; what memory they took.

nbclient takes SIGINT and SIGTERM for itself when it executes a notebook, and lets the notebook go on. So the command's
own handler is installed anew as each kernel starts; and processes that execute notebooks are ended from outside.

Kernels of `ForkedKernelManager` are forked from a process which has imported what chapters import. A kernel of its own
takes about three seconds to start and to import; a forked one a few hundredths. The process is the one that
`multiprocessing` keeps for its start method `forkserver`; it never runs a cell, so kernels are as separate from each
other as any.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import psutil
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.localinterfaces import localhost
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from traitlets import default

from cassbook.book.kernel_environment import LOG_VARIABLE
from cassbook.core import signals

#: How long what a kernel has started may take to notice that it is gone: a watchdog then removes a cluster.
_PATIENCE_S = 10.0
#: Who would tell of the kernel's death while Python finishes, when nbclient takes up again what a signal broke off.
_NOISY = ("asyncio", "papermill", "traitlets")
_PRELOAD = "cassbook.book.preload"
_INLINE = "matplotlib_inline.backend_inline"


class QuietKernelManager(AsyncKernelManager):
    """Start kernels with their standard error appended to the file that CASSBOOK_KERNEL_LOG names.

    On Linux they listen on sockets that have a name of their own: a port that is free when a kernel is given it may be
    taken when it gets there. Their names are in no folder, so that none is left behind.

    `peak_mb`: what the kernel that ended last had in memory at most; 0 where the system does not say.
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


class ForkedKernelManager(QuietKernelManager):
    """Start kernels by a fork; otherwise as `QuietKernelManager`."""

    async def _async_pre_start_kernel(self, **options: Any) -> tuple[list[str], dict[str, Any]]:
        if self.provisioner is None:
            self.provisioner = _Forked(kernel_id="", kernel_spec=self.kernel_spec, parent=self)
        command, rest = await super()._async_pre_start_kernel(**options)
        return list(command), dict(rest)


class _Forked(LocalProvisioner):
    """Fork a kernel where the other starts a program."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> Any:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([_PRELOAD])
        connection_file = cmd[cmd.index("-f") + 1]
        folder = str(options.get("cwd") or Path.cwd())
        given = (connection_file, options["env"], folder, options["stderr"].name)
        process = context.Process(target=_run, args=given)
        process.start()
        self.process = _Started(process)  # type: ignore[assignment]
        self.pid = self.pgid = process.pid  # it begins a session of its own
        self.cwd = folder
        return self.connection_info


class _Started:
    """A forked process with the face of `subprocess.Popen` that provisioners look at."""

    stdin = stdout = stderr = None

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.pid is not None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def _run(connection_file: str, environment: dict[str, str], folder: str, log: str) -> None:
    """Be a kernel, in a forked process."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Imported again, it finds the kernel's shell and has it draw figures in the page.
    sys.modules.pop(_INLINE, None)
    options = [f"--IPKernelApp.parent_handle={os.getppid()}", f"--IPKernelApp.exec_lines=import {_INLINE}"]
    IPKernelApp.launch_instance(["-f", connection_file, *options])


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
