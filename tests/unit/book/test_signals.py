"""A signal ends a command while it executes a notebook; no process and no half-written copy is left."""

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
        forked = [one for one in started if any("forkserver" in word for word in words(one))]
        launched = any("ipykernel_launcher" in words(one) for one in started)
        return launched or any(one.ppid() == server.pid for one in forked for server in forked if one.is_running())

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


CHAPTER = ["-m", "cassbook.cli", "chapter", "latency"]
#: Its kernels are forked.
BOOK = ["-m", "cassbook.cli", "book"]
#: `cassbook reproduce` with a notebook that measures nothing, for a long time.
REPRODUCE = """
import pathlib, nbformat
from cassbook.book import execution, notebooks
from cassbook.cli.main import main

given = nbformat.v4.new_code_cell("profile, engine, out, resume = 'quick', '2.1.20', '', False")
given.metadata["tags"] = ["parameters"]
wait = nbformat.v4.new_code_cell("import time; time.sleep(120)")
path = execution.build_dir() / notebooks.MEASURE
kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
nbformat.write(nbformat.v4.new_notebook(cells=[given, wait], metadata={"kernelspec": kernel}), path)
notebooks.measure_notebook = lambda: path
notebooks.check = lambda notebook, names: None
main(["reproduce"])
"""


@pytest.mark.parametrize(
    ("command", "number", "send", "seed"),
    [
        (CHAPTER, signal.SIGINT, os.killpg, 1),
        (CHAPTER, signal.SIGTERM, os.kill, 2),
        (["-c", REPRODUCE], signal.SIGINT, os.kill, 3),
        (["-c", REPRODUCE], signal.SIGTERM, os.killpg, 4),
        (BOOK, signal.SIGINT, os.killpg, 5),
    ],
    ids=[
        "chapter, Ctrl-C in a terminal",
        "chapter, SIGTERM",
        "reproduce, SIGINT",
        "reproduce, SIGTERM to all",
        "book, Ctrl-C in a terminal",
    ],
)
def test_a_command_ends_at_a_drawn_moment_and_leaves_nothing(command, number, send, seed, tmp_path):
    process = subprocess.Popen(
        [sys.executable, *command],
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
    folders = ["executed"] if command is BOOK else ["executed", "source"]
    assert not [path for folder in folders for path in (tmp_path / folder).rglob("*.ipynb")]
