"""A signal ends `cassbook chapter` while its notebook is executed; no process and no half-written copy is left."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from tests.helpers.waiting import heed_ctrl_c, wait_until

#: A signal is acted on within; and Python, with all that a chapter imports, finishes within.
ACTED_ON_S, FINISHED_S = 2.0, 2.0


def executing(process):
    """Wait until a kernel is at work on the notebook; the processes that the command has started."""
    started = []

    def kernel_runs():
        started[:] = psutil.Process(process.pid).children(recursive=True)
        return any("ipykernel_launcher" in words(one) for one in started)

    wait_until(kernel_runs, process)
    return started


def words(process):
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def runs(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("number", "send", "seed"),
    [(signal.SIGINT, os.killpg, 1), (signal.SIGTERM, os.kill, 2)],
    ids=["Ctrl-C in a terminal", "SIGTERM to the command"],
)
def test_a_chapter_ends_at_a_drawn_moment_and_leaves_nothing(number, send, seed, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "cassbook.cli", "chapter", "latency"],
        env=os.environ | {"CASSBOOK_BUILD": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=heed_ctrl_c,  # noqa: PLW1509 - no thread of ours holds a lock here
    )  # fmt: skip
    started = executing(process)
    time.sleep(float(np.random.default_rng(seed).uniform(0.0, 1.5)))
    send(process.pid, number)
    sent = time.monotonic()
    out, said = process.communicate(timeout=60)
    took_s = time.monotonic() - sent
    assert process.returncode == 128 + number, said
    assert took_s < ACTED_ON_S + FINISHED_S
    wait_until(lambda: not any(map(runs, started)), within_s=2)  # Python's tracker of semaphores goes last
    assert out == ""
    assert said.splitlines()[-1].startswith("cassbook: interrupted")
    assert "Traceback" not in said
    assert not list((tmp_path / "executed").glob("*.ipynb"))
