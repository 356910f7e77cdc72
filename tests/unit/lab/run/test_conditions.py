"""Conditions: what is planned, in which order it is made, what is put down, and that a paused node always goes on."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.lab.engine import pages
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.recorder import Window
from cassbook.lab.run import conditions
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.plan import forecast_s, plan
from cassbook.profile.conditions import PauseSection
from cassbook.profile.profile import load_profile
from tests.helpers.waiting import wait_until

PROFILE = """
name: mine
title: Conditions
seed: 3
table: {record_count: 2000}
load: {steady_s: 1.0}
pure: {threads: [20], levels: [ONE], repeats: 2}
cold:
  threads: 40
  levels: [ONE, QUORUM]
  conditions: [restarted_server, cold_pages, warm, restarted_client]
  steady_s: 2.0
paced:
  rates_per_s: [500, 1500]
  threads: 60
  levels: [ONE, QUORUM]
  steady_s: 3.0
  pause: {node: 2, after_s: 1.0, for_s: 0.8}
"""


def profile_of(tmp_path, old="", new=""):
    assert old in PROFILE
    path = tmp_path / "mine.yaml"
    path.write_text(PROFILE.replace(old, new) if old else PROFILE)
    return load_profile(str(path))


@pytest.fixture
def profile(tmp_path):
    return profile_of(tmp_path)


def test_conditions_come_last_in_every_block(profile):
    for number, cells in enumerate(plan(profile), start=1):
        kinds = [cell.kind for cell in cells]
        assert kinds == ["pure"] * 2 + ["paced"] * 12 + ["cold"] * 8
        assert [cell.order for cell in cells] == list(range(22))
        assert len({cell.cell_id for cell in cells}) == 22
        assert all(cell.cell_id.startswith(f"b{number}-") and cell.block == number for cell in cells)
    assert [cell.condition for cell in cells if cell.kind == "cold"] == [
        "warm", "warm", "restarted_client", "restarted_client", "cold_pages", "cold_pages",
        "restarted_server", "restarted_server",
    ]  # fmt: skip


def test_each_rate_stands_beside_a_closed_loop_healthy_and_paused(profile):
    paced = [cell for cell in plan(profile)[0] if cell.kind == "paced"]
    points = {(cell.read_cl, cell.condition, cell.rate_per_s) for cell in paced if not math.isnan(cell.rate_per_s)}
    both = {(level, condition) for level in ("ONE", "QUORUM") for condition in ("healthy", "paused_node")}
    assert points == {(*pair, rate) for pair in both for rate in (500.0, 1500.0)}
    assert {(cell.read_cl, cell.condition) for cell in paced if math.isnan(cell.rate_per_s)} == both
    assert [cell.cell_id for cell in plan(profile)[1] if cell.kind == "paced"] != [
        cell.cell_id.replace("b1", "b2") for cell in paced
    ]


def test_without_a_pause_the_cluster_stays_healthy(tmp_path):
    profile = profile_of(tmp_path, "pause: {node: 2, after_s: 1.0, for_s: 0.8}", "pause: null")
    assert {cell.condition for cell in plan(profile)[0] if cell.kind == "paced"} == {"healthy"}


def test_the_forecast_counts_restarts(profile):
    cells = plan(profile)[0]
    cold = [cell for cell in cells if cell.kind == "cold"]
    assert forecast_s(profile, cells) - forecast_s(profile, [c for c in cells if c not in cold]) > 8 * 2.0 + 2 * 15


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("node: 2", "node: 4", r"paced\.pause\.node 4: there are nodes 1 to 3"),
        ("for_s: 0.8", "for_s: 2.0", "the pause ends 3 s into a steady window of 3 s"),
        ("for_s: 0.8", "for_s: 9", r"paced\.pause\.for_s.*less than or equal to 5"),
        ("[ONE, QUORUM]\n  steady", "[ANY]\n  steady", "'ANY' is no consistency level for reads"),
        ("[ONE, QUORUM]\n  cond", "[EACH_QUORUM]\n  cond", "'EACH_QUORUM' is no consistency level for reads"),
        ("warm, ", "warm, warm, ", "warm given twice"),
        ("cold_pages", "cold_hands", r"cold\.conditions\.1: .*cold_hands"),
        ("rates_per_s: [500, 1500]", "rates_per_s: [0]", "greater than 0"),
        ("threads: 60", "thread: 60", r"paced\.thread: unknown key"),
    ],
)  # fmt: skip
def test_a_profile_that_cannot_be_is_refused(tmp_path, old, new, message):
    with pytest.raises(InputError, match=message):
        profile_of(tmp_path, old, new)


def test_an_existing_cluster_is_neither_restarted_nor_paused(profile):
    fitting, left_out = conditions.for_existing(profile)
    assert fitting.cold.conditions == [c for c in profile.cold.conditions if c in ("warm", "restarted_client")]
    assert fitting.paced.pause is None
    assert fitting.paced.rates_per_s == profile.paced.rates_per_s
    assert [line.split(";")[0] for line in left_out] == [
        "left out: cold starts of kind restarted_server, cold_pages",
        "left out: cells with a paused node",
    ]
    assert conditions.for_existing(fitting) == (fitting, [])
    only_pages = profile.cold.model_copy(update={"conditions": ["cold_pages"]})
    assert conditions.for_existing(profile.model_copy(update={"cold": only_pages}))[0].cold is None


class Recorded:
    """A bench that notes what is asked of it, on a cluster that never was started."""

    def __init__(self, profile, monkeypatch, left=0):
        self.done = []
        self.notes = {}
        cluster = CassandraCluster("2.1.20", Spec(), name="never")
        monkeypatch.setattr(cluster, "restart", lambda: self.done.append("restart"))
        before, after = (pages.Residency(3, 1000, n) for n in (900, left))
        monkeypatch.setattr(pages, "drop_pages", lambda folders, table: self.done.append("drop") or (before, after))
        note = {name: lambda name=name: self.done.append(name) for name in ("flush", "reconnect", "renew")}
        self.bench = conditions.Bench(
            profile,
            cluster,
            self.notes,
            0.0,
            "ycsb.usertable",
            note["flush"],
            note["reconnect"],
            note["renew"],
            self.run,
        )

    def run(self, group, bound, marks, during):
        self.done.append((group[0].condition, bound, marks))

    def measure(self, cells):
        previous = []
        for cell in cells:
            conditions.measure(cell, self.bench, previous, [])
            previous = [cell]
        return self.done


def test_each_condition_is_made_right_before_its_cell(profile, monkeypatch):
    bound = Bound(0.0, 2.0)
    cells = [c for c in plan(profile)[0] if c.kind == "cold" and c.read_cl == "ONE"]
    bench = Recorded(profile, monkeypatch)
    assert bench.measure(cells) == [
        "flush", ("warm", bound, []),
        "renew", ("restarted_client", bound, []),
        "drop", ("cold_pages", bound, []),
        "restart", "reconnect", ("restarted_server", bound, []),
    ]  # fmt: skip
    assert bench.notes == {
        "cold_pages": [
            {
                "cell_id": "b1-cold-read-ONE-cold_pages",
                "data_bytes": 1000, "resident_before_bytes": 900, "resident_after_bytes": 0,
            }
        ]
    }  # fmt: skip


def test_pages_that_stay_mark_the_cell(profile, monkeypatch):
    (cell,) = [c for c in plan(profile)[0] if c.condition == "cold_pages" and c.read_cl == "ONE"]
    assert Recorded(profile, monkeypatch, left=51).measure([cell])[-1][2] == ["pages"]
    assert Recorded(profile, monkeypatch, left=50).measure([cell])[-1][2] == []


def test_writes_are_flushed_before_the_next_condition(profile, monkeypatch):
    both = profile.model_copy(
        update={"cold": profile.cold.model_copy(update={"operations": ["UPDATE"], "levels": ["ONE"]})}
    )
    cells = [c for c in plan(both)[0] if c.kind == "cold"]
    assert [c.read_share for c in cells] == [0.0] * 4
    assert Recorded(both, monkeypatch).measure(cells).count("flush") == 4


def test_pages_leave_memory_and_are_counted(tmp_path):
    data = tmp_path / "node1" / "data0" / "ks" / "t-1234"
    data.mkdir(parents=True)
    (data / "ks-t-ka-1-Data.db").write_bytes(os.urandom(1 << 20))
    (data / "ks-t-ka-1-Index.db").write_bytes(os.urandom(5000))
    (data / "ks-t-ka-1-TOC.txt").write_text("")
    other = data.parent / "other-1"
    other.mkdir()
    (other / "ks-other-ka-1-Data.db").write_bytes(b"x")
    files = pages.table_files([tmp_path / "node1"], "ks.t")
    assert [f.name.rsplit("-", 1)[1] for f in files] == ["Data.db", "Index.db", "TOC.txt"]
    assert pages.residency(files) == pages.Residency(3, (1 << 20) + 8192, (1 << 20) + 8192)
    before, after = pages.drop_pages([tmp_path / "node1"], "ks.t")
    assert before == pages.Residency(1, 1 << 20, 1 << 20)
    assert (after.size, after.resident, after.share) == (1 << 20, 0, 0.0)
    with (data / "ks-t-ka-1-Data.db").open("rb", buffering=0) as file:
        file.read(4096)
    assert 0 < pages.residency(files[:1]).resident <= 1 << 20


def test_pages_that_a_process_has_mapped_stay(tmp_path):
    """What a node that reads through mmap does to the condition; it is counted, not assumed."""
    data = tmp_path / "node1" / "data0" / "ks" / "t-1"
    data.mkdir(parents=True)
    (data / "x-1-Data.db").write_bytes(os.urandom(1 << 18))
    held = np.memmap(data / "x-1-Data.db", dtype=np.uint8, mode="r")
    assert held.sum() > 0  # touches every page
    before, after = pages.drop_pages([tmp_path / "node1"], "ks.t")
    assert (before.share, after.share) == (1.0, 1.0)
    assert after.share > pages.LEFT_TOLERANCE


def test_no_sstable_no_cold_pages(tmp_path):
    with pytest.raises(LaboratoryError, match=r"ks\.t has no SSTable"):
        pages.drop_pages([tmp_path], "ks.t")


@pytest.fixture
def sleeper(tmp_path, monkeypatch):
    """A cluster whose node 2 is a process that only sleeps."""
    process = psutil.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    cluster = CassandraCluster("2.1.20", Spec(), name="never")
    cluster.folder = tmp_path
    for i in (1, 2, 3):
        (tmp_path / "ccm" / f"node{i}").mkdir(parents=True)
    (tmp_path / "ccm" / "node2" / "cassandra.pid").write_text(str(process.pid))
    yield cluster, process
    if process.poll() is None:
        process.kill()
        process.wait()


def stands_still(process):
    return wait_until(lambda: process.status() == psutil.STATUS_STOPPED)


def goes_on(process):
    return wait_until(lambda: process.status() != psutil.STATUS_STOPPED)


def interrupted(process):
    """Ctrl-C while the process stands still."""
    assert stands_still(process)
    raise KeyboardInterrupt


def test_a_node_is_paused_and_goes_on_whatever_happens(sleeper):
    cluster, process = sleeper
    with cluster.paused(2):
        assert stands_still(process)
    assert goes_on(process)
    with pytest.raises(KeyboardInterrupt), cluster.paused(2):
        interrupted(process)
    assert goes_on(process)
    with cluster.paused(2):
        process.kill()  # a node that dies meanwhile is no reason to fail twice
        process.wait()


def test_a_node_that_is_not_there_is_not_paused(sleeper):
    cluster, _ = sleeper
    with pytest.raises(InputError, match="there are nodes 1 to 3, got 4"):
        cluster.node_process(4)
    with pytest.raises(LaboratoryError, match="node1 does not run"):
        cluster.node_process(1)


CELL = Cell("b1-x", "paced", 10, "ONE", "ONE", 1.0, 1, 1, 0, condition="paused_node")


def bench_on(cluster):
    return SimpleNamespace(cluster=cluster, notes={"pauses": [{"cell_id": "b1-x"}, {"cell_id": "b1-y"}]}, epoch=0.0)


def test_the_pause_keeps_its_time_and_is_put_down(sleeper):
    cluster, process = sleeper
    bench, window, seen_s = bench_on(cluster), Window(), []

    @contextmanager
    def watched(node):
        with cluster.paused(node):
            assert stands_still(process)
            seen_s.append(time.perf_counter())
            yield
            seen_s.append(time.perf_counter())

    bench.cluster = SimpleNamespace(paused=watched)
    with conditions.pausing(bench, PauseSection(node=2, after_s=0.3, for_s=0.4), CELL, window):
        time.sleep(0.2)
        assert not seen_s  # the steady window has not begun
        window.steady_from = time.perf_counter()
        assert wait_until(lambda: not [t for t in threading.enumerate() if t.name == "meanwhile"])
        assert goes_on(process)
    kept, paused = bench.notes["pauses"]
    assert kept == {"cell_id": "b1-y"}  # and what an earlier attempt at this cell put down is replaced
    assert paused["node"] == 2
    moments = [window.steady_from + 0.3, seen_s[0], paused["from_s"], paused["to_s"], seen_s[1]]
    assert np.diff(moments).min() > -0.001  # in this order; timers may be early, and what is put down is rounded
    assert paused["to_s"] - paused["from_s"] >= 0.4 - 0.001


def test_an_interruption_ends_the_pause(sleeper):
    cluster, process = sleeper
    bench = bench_on(cluster)
    with (
        pytest.raises(KeyboardInterrupt),
        conditions.pausing(bench, PauseSection(node=2, after_s=0.05, for_s=5.0), CELL, Window(time.perf_counter())),
    ):
        interrupted(process)
    assert goes_on(process)
    assert len(bench.notes["pauses"]) == 2
    assert not [t for t in threading.enumerate() if t.name == "meanwhile"]


@pytest.mark.parametrize("node", [1, 2])
def test_a_cell_without_its_pause_is_no_cell(sleeper, node):
    """The node is gone, or the load ended first: either way the cell must not be taken for one with a pause."""
    cluster, _ = sleeper
    part = PauseSection(node=node, after_s=0.05, for_s=5.0)
    with (
        pytest.raises(LaboratoryError, match=r"could not be paused|the load ended before"),
        conditions.pausing(bench_on(cluster), part, CELL, Window(time.perf_counter())),
    ):
        time.sleep(0.3)


def test_ctrl_c_in_the_terminal_leaves_no_node_paused(tmp_path, sleeper):
    """The real signal, in a process of its own that is in the middle of a pause."""
    process = sleeper[1]
    script = (
        "import time, psutil\n"
        "from types import SimpleNamespace\n"
        "from pathlib import Path\n"
        "from cassbook.lab.engine.cluster import CassandraCluster\n"
        "from cassbook.lab.load.recorder import Window\n"
        "from cassbook.profile.conditions import PauseSection\n"
        "from cassbook.lab.run import conditions\n"
        "cluster = CassandraCluster('2.1.20', name='never')\n"
        f"cluster.folder = Path({str(tmp_path)!r})\n"
        "bench = SimpleNamespace(cluster=cluster, notes={}, epoch=0.0)\n"
        "part = PauseSection(node=2, after_s=0.01, for_s=5.0)\n"
        "cell = SimpleNamespace(cell_id='b1-x')\n"
        "with conditions.pausing(bench, part, cell, Window(time.perf_counter())):\n"
        "    print('paused', flush=True)\n"
        "    time.sleep(30)\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )  # fmt: skip
    try:
        assert other.stdout.readline() == "paused\n"
        assert stands_still(process)
        other.send_signal(signal.SIGINT)
        other.wait(timeout=20)
    finally:
        other.kill()
    assert goes_on(process)
