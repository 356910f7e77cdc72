"""Processors that nodes may use: set for every thread of a process, and given back however the block ends."""

import os
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from cassbook.core.errors import InputError
from cassbook.lab.engine import processors

THREADS = """
import threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ready", flush=True)
end = time.perf_counter() + 60
while time.perf_counter() < end:
    pass
"""


@pytest.fixture
def node():
    """A process of four threads, one of them busy."""
    with subprocess.Popen([sys.executable, "-c", THREADS], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        yield psutil.Process(child.pid)
        child.kill()


def affinities(node):
    return {frozenset(os.sched_getaffinity(thread.id)) for thread in node.threads()}


def test_every_thread_has_the_one_processor_and_gets_all_back(node):
    every = frozenset(os.sched_getaffinity(0))
    with suppress(InterruptedError), processors.own([node]):
        assert affinities(node) == {frozenset({min(every)})}
        raise InterruptedError
    assert affinities(node) == {every}


def test_more_nodes_than_processors_are_refused():
    processors.check_own(os.cpu_count())
    with pytest.raises(InputError, match=f"processors: own: {os.cpu_count() + 1} nodes need as many"):
        processors.check_own(os.cpu_count() + 1)


def test_a_node_that_has_ended_is_let_go(node):
    with processors.own([node]):
        node.kill()
        node.wait()


def may_limit():
    try:
        processors.check_quota()
    except InputError as error:
        return str(error)
    return ""


def test_a_quota_holds_a_process_and_says_for_how_long(node):
    if why := may_limit():
        assert "this user may not limit processor time here" in why
        pytest.skip(why)
    with processors.quota([node], 0.25) as throttled:
        before, began = node.cpu_times().user, time.perf_counter()
        time.sleep(1.5)
        used = (node.cpu_times().user - before) / (time.perf_counter() - began)
    assert used < 0.4
    assert throttled.seconds > 0.1
    assert not [path for path in processors._GROUPS[0].glob("cassbook-*")]


def test_where_it_is_not_allowed_the_message_says_what_it_takes(monkeypatch, tmp_path):
    monkeypatch.setattr(processors, "_GROUPS", (tmp_path,))
    with pytest.raises(InputError, match=r"may not limit processor time here .* leave these sections out"):
        processors.check_quota()
    assert not list(tmp_path.iterdir())
