"""Waiting for what another process does."""

import signal
import time


def wait_until(reached, process=None, within_s=60.0, every_s=0.05):
    """Wait until `reached()` is true, and return that; a process that ends before, or the time, fails the test."""
    deadline = time.monotonic() + within_s
    while not (found := reached()):
        assert process is None or process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline, f"not reached within {within_s:g} s"
        time.sleep(every_s)
    return found


def wait_for_cells(process, folder, count):
    """Wait until a run in `folder` has put down so many cells."""
    cells = folder / "cells.csv"
    wait_until(lambda: cells.exists() and len(cells.read_text().splitlines()) > count, process, 120.0)


def heed_ctrl_c():
    """Undo in a child what a shell, or nohup, does to jobs in the background: they ignore SIGINT, or SIGHUP."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
