"""Remove a cluster's processes and folder, at the block's end, by the watchdog, or at a later start.

Run as a module it is the watchdog: it waits on its standard input and, when the owner dies without a word
(even by SIGKILL), clears up in its stead. A notebook's kernel is killed in just that way on Ctrl-C.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

#: Written by rename before anything starts: owner, engine, addresses, and whether to keep the cluster.
STATE = "cluster.json"
_RELEASED = b"released"
#: How the paths end that launchers and holders of small disks are started with.
_OURS = ("/bin/cassandra", "/disk")


def processes(folder: Path) -> list[psutil.Process]:
    """Processes started from a cluster's folder: its JVMs, which name their storage there, their launchers, and what
    holds their small disks.
    """
    storage = f"-Dcassandra.storagedir={folder}"
    mine = {os.getpid(), os.getppid()}
    started = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        node = any(word == storage or word.startswith(f"{storage}/") for word in words)
        ours = any(word.startswith(f"{folder}/ccm/") and word.endswith(_OURS) for word in words)
        if process.pid not in mine and (node or ours):
            started.append(process)
    return started


def tear_down(folder: Path) -> None:
    """Kill what runs from `folder` and remove it; harmless to repeat.

    The nodes hold nothing worth a clean stop, and a kill leaves no port held.
    """
    kill(folder)
    shutil.rmtree(folder, ignore_errors=True)


def kill(folder: Path) -> None:
    """Kill what runs from `folder`, also a node that is paused; harmless to repeat."""
    deadline = time.monotonic() + 30
    while (running := processes(folder)) and time.monotonic() < deadline:
        for process in running:
            try:
                process.kill()
            except psutil.Error:  # gone, or another user's who happens to name our folder
                continue
        psutil.wait_procs(running, timeout=5)


def orphans(base: Path) -> Iterator[Path]:
    """Cluster folders under `base` whose owner is gone and that nobody asked to keep."""
    for state in base.glob(f"*/{STATE}"):
        note = json.loads(state.read_text())
        if not note["keep"] and not _alive(note["owner_pid"], note["owner_created_s"]):
            yield state.parent


def _alive(pid: int, created_s: float) -> bool:
    """Whether that very process still runs (its number may since have gone to another)."""
    try:
        return abs(psutil.Process(pid).create_time() - created_s) < 1
    except psutil.NoSuchProcess:
        return False


class Watchdog:
    """A process of its own that tears `folder` down unless it is released first."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C in the terminal is for the owner
        )

    def release(self) -> None:
        """End the watch; the folder is the caller's again."""
        try:
            self._process.communicate(_RELEASED, timeout=10)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()


def _watch(folder: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() != _RELEASED:
        tear_down(folder)


if __name__ == "__main__":
    _watch(Path(sys.argv[1]))
