"""Kernels that are forked from a process which has imported what chapters import.

A kernel of its own takes about three seconds to start and to import; a forked one a few hundredths. The process is the
one that `multiprocessing` keeps for its start method `forkserver`; it never runs a cell, so kernels are as separate
from each other as any.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from jupyter_client.provisioning import LocalProvisioner

from cassbook.book.kernels import QuietKernelManager

_PRELOADED = "cassbook.book.preloaded"
_INLINE = "matplotlib_inline.backend_inline"


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
        context.set_forkserver_preload([_PRELOADED])
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
