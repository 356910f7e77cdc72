"""Client processes on workers that are made here: their clocks, the common window, the merging, and who is lost."""

import asyncio
import itertools
import math
import pickle
import time
from pathlib import Path

import psutil
import pyarrow.compute as pc
import pytest

from cassbook.core.errors import InputError
from cassbook.lab.engine.connect import PASSWORD, USERNAME, Access, Tls
from cassbook.lab.load.loop import Bound
from cassbook.lab.run import on_worker, remote
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.client import Place
from cassbook.lab.run.processes import LostClientError
from cassbook.lab.run.remote import WINDOW_SHARE, Clients, Offset, RemoteProcesses, measure_offset, too_wide
from cassbook.lab.run.workers import Asked, Worker
from cassbook.profile.profile import load_profile
from tests.helpers.children import made_client
from tests.helpers.waiting import wait_until

SKEWS_S = [1000.0, -500.0]
CELL = Cell("c", "pure", 7, "ONE", "ONE", 1.0, 1, 1, 0)
BOUND = Bound(0.1, 0.4)
SECRET = "s3cret-of-the-test"  # noqa: S105 - of nobody


class MadeWorkers:
    """Workers in this process, whose clocks are ahead of ours."""

    def __init__(self, skews_s=SKEWS_S, reading_s=0.0, slow_s=0.0):
        self.all = [Worker(n, n, f"tcp://10.0.0.{n}:1", 4) for n in range(1, len(skews_s) + 1)]
        self.asked = Asked("tcp://10.0.0.9:8786")
        self.skews_s, self.reading_s, self.slow_s = skews_s, reading_s, slow_s
        self.sent = []

    def call(self, worker, function, *arguments):
        if worker.lost:
            raise LostClientError(f"{worker.name} is lost")
        self.sent.append(pickle.dumps(arguments))
        if function is on_worker.tell and isinstance(arguments[1], float):
            time.sleep(self.slow_s)
        result = asyncio.run(function(*arguments))
        if function is on_worker.tell:
            return result[0], result[1] + self.skews_s[worker.number - 1]
        return result

    def read_clock(self, worker):
        time.sleep(self.reading_s)
        return time.perf_counter() + self.skews_s[worker.number - 1]


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(on_worker, "serve", made_client)


def processes_on(workers, count=2):
    return RemoteProcesses(workers, count, {"skew_s": [SKEWS_S[n % 2] for n in range(count)]}, None, [1], 0.0)


def test_an_offset_is_that_of_the_quickest_round_trip_and_holds_the_truth():
    ours = itertools.chain.from_iterable([(0.0, 10.0), (20.0, 20.2), (30.0, 34.0)])
    theirs = iter([109.0, 120.02, 131.0])  # 100 ahead, read early or late within the round trip
    offset = measure_offset(lambda: next(theirs), rounds=3, clock=lambda: next(ours))
    assert offset.bound_s == pytest.approx(0.1)
    assert abs(offset.offset_s - 100.0) <= offset.bound_s


def test_a_clock_that_drifted_widens_the_bound_and_keeps_the_offset():
    kept = Offset(5.0, 0.001).until(Offset(5.003, 0.002))
    assert kept == Offset(5.0, pytest.approx(0.005))
    assert Offset(5.0, 0.001).until(Offset(5.0, 0.0001)).bound_s == 0.001
    assert too_wide(WINDOW_SHARE * 1.01, 1.0)
    assert too_wide(math.nan, 1.0)
    assert not too_wide(WINDOW_SHARE, 1.0)


def test_two_workers_with_clocks_far_apart_make_one_cell(made, tmp_path):
    workers = MadeWorkers()
    before = time.perf_counter()
    with processes_on(workers) as processes:
        outcome, samples = processes.run([CELL], BOUND, tmp_path / "c.parquet")
        again, _ = processes.run([CELL], BOUND, tmp_path / "d.parquet")
    after = time.perf_counter()
    assert samples.num_rows == outcome.operations
    assert again.operations > 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.parquet", "d.parquet"]
    starts = samples["started_s"].to_pylist()
    assert starts == sorted(starts)
    assert before < starts[0] < starts[-1] < after
    steady = samples.filter(pc.equal(samples["phase"].cast("string"), "steady"))
    window = outcome.window
    assert window.steady_to - window.steady_from == pytest.approx(0.4, abs=1e-5)
    assert pc.min(steady["started_s"]).as_py() == pytest.approx(window.steady_from, abs=0.05)
    assert pc.max(steady["started_s"]).as_py() < window.steady_to + 1e-5
    outside = samples.filter(pc.not_equal(samples["phase"].cast("string"), "steady"))["started_s"].to_pylist()
    assert not [s for s in outside if window.steady_from + 1e-5 < s < window.steady_to - 1e-5]
    assert [round(note["offset_s"]) for note in processes.offsets] == SKEWS_S
    assert processes.columns["client_hosts"] == 2
    assert processes.columns["client_cpu_share"] == pytest.approx(0.25 / 0.4 / 4, abs=1e-4)
    assert outcome.client_cpu_s == 0.5
    assert processes.marks == []


def test_nothing_is_left_on_the_workers(made, tmp_path):
    workers = MadeWorkers()
    with processes_on(workers, 3) as processes:
        hosted = [on_worker._hosted[child.key] for child in processes.children]
        assert [child.worker.number for child in processes.children] == [1, 2, 1]
        pids = [each.child.pid for each in hosted]
    assert not any(each.folder.exists() for each in hosted)
    assert not [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]
    assert on_worker._hosted == {}


def test_clocks_that_are_known_badly_mark_the_cell(made, tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "measure_offset", lambda read: measure_offset(read, rounds=2))
    with processes_on(MadeWorkers(reading_s=0.02)) as processes:
        processes.run([CELL], BOUND, tmp_path / "c.parquet")
    assert processes.marks == ["clock"]
    assert processes.columns["clock_bound_us"] > 9000


def test_news_that_come_after_the_window_began_lose_the_cell(made, tmp_path):
    with processes_on(MadeWorkers(slow_s=0.3)) as processes, pytest.raises(LostClientError, match="heard too late"):
        processes.run([CELL], BOUND, tmp_path / "c.parquet")


def test_a_client_that_is_killed_is_lost_and_not_an_error(made, tmp_path):
    with processes_on(MadeWorkers()) as processes:
        psutil.Process(on_worker._hosted[processes.children[1].key].child.pid).kill()
        with pytest.raises(LostClientError, match=r"client process 2 \(worker 2\) is lost"):
            processes.run([CELL], BOUND, tmp_path / "c.parquet")


def test_who_is_not_asked_for_is_ended(made, monkeypatch):
    monkeypatch.setattr(on_worker, "_WATCH_S", 0.05)
    with processes_on(MadeWorkers()) as processes:
        monkeypatch.setattr(on_worker, "LEASE_S", 0.2)
        wait_until(lambda: not on_worker._hosted)
        with pytest.raises(LostClientError, match="its owner was away too long"):
            processes.children[0].hear()


def test_no_secret_travels(made, monkeypatch, tmp_path):
    for name in (USERNAME, PASSWORD):
        monkeypatch.setenv(name, SECRET)
    workers = MadeWorkers()
    access = Access.from_environment(Tls(ca=tmp_path / "ca.pem"))
    place = Place(access.from_environment, ["10.0.0.1"], ["node1"], "ks")
    clients = Clients(workers, access, 4)
    clients.place(2, {"skew_s": SKEWS_S}, place, [1], 0.0).close()
    assert any(b"ca.pem" in sent for sent in workers.sent)
    assert not any(SECRET.encode() in sent for sent in workers.sent)
    assert "10.0.0" not in str(clients.notes())


@pytest.fixture
def profile(tmp_path):
    def of(load):
        path = tmp_path / "p.yaml"
        path.write_text(
            f"name: t\ntitle: t\nseed: 1\ntable: {{record_count: 5}}\nload: {load}\npure: {{threads: [5]}}\n"
        )
        return load_profile(str(path))

    return of


def test_each_worker_gets_a_process_unless_more_are_asked_for(profile):
    clients = Clients(MadeWorkers(), Access(), 4)
    assert clients.processes_for(profile("{steady_s: 1.0}")) == 2
    assert clients.processes_for(profile("{steady_s: 1.0, client_processes: 5}")) == 5
    assert clients.processes_for(profile("{steady_s: 1.0}"), begun_with=3) == 3
    with pytest.raises(InputError, match=r"give load\.steady_s"):
        clients.processes_for(profile("{operations_per_thread: 10}"))
    with pytest.raises(InputError, match="65 workers; at most 64"):
        Clients(MadeWorkers([0.0] * 65), Access(), 4).processes_for(profile("{steady_s: 1.0}"))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("10.0.0.9:8786",), "is no address of a Dask scheduler"),
        (("http://10.0.0.9:8786",), "is no address of a Dask scheduler"),
        (("tls://10.0.0.9:8786",), "--clients-tls-ca: is missing"),
        (("tls://10.0.0.9:8786", "nowhere.pem"), "--clients-tls-ca: there is no file nowhere.pem"),
        (("tcp://10.0.0.9:8786", "nowhere.pem"), "--clients-tls-ca: is for tls://"),
    ],
)
def test_an_address_that_cannot_be_is_refused(asked, said):
    with pytest.raises(InputError, match=said):
        Asked(asked[0], *map(Path, asked[1:]))
