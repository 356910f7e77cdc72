"""Fixtures shared by the tests that start clusters or build the book."""

import functools
import os

import psutil
import pytest
from xdist.scheduler import LoadFileScheduling

from cassbook.core.paths import project_root
from cassbook.lab.engine import preflight
from cassbook.lab.engine.cluster import clusters_dir
from cassbook.lab.engine.home import OPTIONS_VARIABLE
from cassbook.lab.run import circumstances

#: Nodes that live for a minute start sooner without the compiler that pays off after ten, and without waiting eight
#: seconds for gossip to settle: that all see each other is waited for anyhow.
os.environ.setdefault(OPTIONS_VARIABLE, "-XX:TieredStopAtLevel=1 -Dcassandra.skip_wait_for_gossip_to_settle=0")
#: Two test processes at a time, whose small linear algebra would otherwise contend for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

#: How the names of tests on real clusters begin.
LIVE = "tests/live/"

#: The book that the tests build, and that CI publishes.
BUILD = project_root() / "_build" / "tests"

#: What tests measure is no record of this machine: a short look at how busy it is does.
circumstances.LOOK_S = 0.05


class LiveTogether(LoadFileScheduling):
    """Give a process whole files, and one of them all live tests, which share addresses."""

    def _split_scope(self, nodeid):
        return LIVE if nodeid.startswith(LIVE) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return LiveTogether(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_runtest_setup(item):
    """Beside live tests the others have the lowest priority: they fill the time in which those wait for their nodes."""
    beside = os.environ.get("PYTEST_XDIST_WORKER") and not item.nodeid.startswith(LIVE)
    if beside and _some_are_live(item.session):
        os.setpriority(os.PRIO_PROCESS, 0, 19)


@functools.cache  # thousands of tests ask
def _some_are_live(session):
    return any(item.nodeid.startswith(LIVE) for item in session.items)


TINY = """
name: tiny
title: A few cells for the tests
seed: 7
cluster: {heap_mb: 512}
table: {record_count: 2000}
load: {ramp_s: 0.1, steady_s: 0.6}
warm_up: {threads: 40, window_s: 0.5, windows: 2, tolerance: 0.1, cap_s: 5}
pure: {threads: [20, 60], levels: [ONE, QUORUM, ALL], repeats: 1}
mixed: {threads: [20], read_shares: [0.5], repeats: 1}
"""


@pytest.fixture
def tiny(tmp_path):
    """Path of a profile of 15 short cells."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture
def nothing_left():
    """After the test: no node, no port in use, no cluster folder."""
    before = set(clusters_dir().glob("*")) if clusters_dir().exists() else set()
    yield
    left = set(clusters_dir().glob("*")) - before
    assert not left
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if "cassandra.storagedir" in " ".join(p.info["cmdline"] or [])
    ]
    assert not [problem for problem in preflight.problems(3, 128, clusters_dir()) if "in use" in problem]
