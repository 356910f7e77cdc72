"""Several client processes on a real cluster: one window for all, samples merged, nothing left of them."""

import math
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pyarrow.compute as pc
import pytest

from cassbook.core.errors import LaboratoryError
from cassbook.lab.engine.connect import connect
from cassbook.lab.experiments.staleness import panels
from cassbook.lab.load.arrivals import even
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.slices import Alternation
from cassbook.lab.load.ycsb import KEYSPACE, create_table
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.client import Client, Place
from cassbook.lab.run.processes import ClientProcesses
from cassbook.profile.profile import load_profile

pytestmark = pytest.mark.live
BOUND = Bound(0.1, 0.8)


def cell(threads, share=0.5, rate_per_s=math.nan):
    return Cell("c", "mixed", threads, "QUORUM", "QUORUM", share, 1, 1, 0, rate_per_s=rate_per_s)


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "tiny.yaml"
    path.write_text(
        "name: tiny\ntitle: t\nseed: 1\ntable: {record_count: 500}\n"
        "load: {steady_s: 0.8, client_processes: 2}\npure: {threads: [10]}\n"
    )
    return load_profile(str(path))


@pytest.fixture(scope="module")
def place(profile, cluster):
    session = cluster.connect()
    create_table(session, profile.table, 3)
    session.cluster.shutdown()
    reach = partial(connect, cluster.addresses, cluster.release.protocol)
    there = Place(reach, cluster.addresses, cluster.labels, KEYSPACE)
    client = Client(profile, there, [1], 0.0)
    assert not client.fill(client.table, 20)
    client.close()
    return there


@pytest.mark.parametrize("threads", [1, 7, 40])
def test_two_processes_make_one_cell(profile, place, tmp_path, threads):
    with ClientProcesses(2, profile, place, [1], 0.0) as processes:
        outcome, samples = processes.run([cell(threads)], BOUND, tmp_path / "c.parquet")
    assert set(samples["outcome"].to_pylist()) == {"ok"}
    assert samples.num_rows == outcome.operations
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.parquet"]
    starts = samples["started_s"].to_pylist()
    assert starts == sorted(starts)
    steady = samples.filter(pc.equal(samples["phase"].cast("string"), "steady"))
    window = outcome.window
    assert window.steady_to - window.steady_from == pytest.approx(0.8)
    assert pc.min(steady["started_s"]).as_py() >= window.steady_from - 1e-5
    assert pc.max(steady["started_s"]).as_py() < window.steady_to + 1e-5
    assert most_in_flight(samples) == threads  # of both together, and never more


def most_in_flight(samples):
    """Operations that were under way at once, at most; what is stored is rounded to microseconds."""
    began_s = samples["started_s"].to_numpy()
    ended_s = began_s + (samples["latency_us"].to_numpy() - 2) / 1e6
    moments = np.concatenate([ended_s, began_s])
    steps = np.repeat([-1, 1], len(began_s))[np.argsort(moments, kind="stable")]
    return int(steps.cumsum().max())


def test_a_rate_is_shared_out(profile, place, tmp_path):
    with ClientProcesses(2, profile, place, [1], 0.0) as processes:
        bound = replace(BOUND, arrivals=even(400.0))
        _, samples = processes.run([cell(20, rate_per_s=400.0)], bound, tmp_path / "c.parquet")
    steady = samples.filter(pc.equal(samples["phase"].cast("string"), "steady"))
    assert abs(steady.num_rows - 400 * 0.8) <= 4
    assert steady["intended_s"].null_count == 0


def test_levels_alternate_in_both_processes_at_once(profile, place, tmp_path):
    levels = ["ONE", "QUORUM", "ALL"]
    group = [Cell(level, "pure", 20, level, level, 1.0, 1, 1, 0, cell_group="g") for level in levels]
    alternation = Alternation(3, 1.2, (1,), lengths_s=(0.1, 0.3))
    with ClientProcesses(2, profile, place, [1], 0.0) as processes:
        outcome, samples = processes.run(group, Bound(0.1, alternation=alternation), tmp_path / "g.parquet")
    made, table = outcome.window.slices, samples.to_pandas()
    assert len(made.order) == 12
    inside = table[table["slice"].notna()]
    number = inside["slice"].astype(int)
    assert (inside["cell_id"].astype(str) == [levels[made.order[place]] for place in number]).all()
    since_s = inside["started_s"] - outcome.window.steady_from - number * made.length_s
    assert since_s.min() > -1e-5
    assert (since_s < made.length_s + 0.05).mean() > 0.99  # a busy machine may send one late whose level was chosen
    assert set(inside["phase"].astype(str)) == {"steady", "guard"}
    assert set(number) <= set(range(12))
    assert number.nunique() >= 11  # a busy machine may pause for as long as a slice
    assert most_in_flight(samples) == 20


def test_no_process_outlives_the_block(profile, place, tmp_path):
    with ClientProcesses(2, profile, place, [1], 0.0) as processes:
        pids = [child.pid for child in processes.children]
        processes.run([cell(10)], BOUND, tmp_path / "c.parquet")
    assert len(set(pids)) == 2
    assert not [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]


def test_a_process_that_dies_is_told_of(profile, place, tmp_path):
    with ClientProcesses(2, profile, place, [1], 0.0) as processes:
        psutil.Process(processes.children[1].pid).kill()
        with pytest.raises(LaboratoryError, match=r"client process 2 .*died, exit status -9"):
            processes.run([cell(10)], BOUND, tmp_path / "c.parquet")


def test_one_that_cannot_connect_says_why(profile, place, tmp_path):
    nowhere = Place(partial(connect, ["127.0.0.9"], 3, attempts=1), ["127.0.0.9"], ["node1"], KEYSPACE)
    with pytest.raises(LaboratoryError, match=r"127\.0\.0\.9"):
        ClientProcesses(1, profile, nowhere, [1], 0.0)
    assert not list(Path(tmp_path).iterdir())


def test_a_load_beside_the_probe_goes_on_for_the_block_and_says_what_it_did(profile, place, cluster):
    processes = panels.load_process(cluster, profile, 1)
    try:
        with panels.background_load(processes, 20, 0.5) as load:
            time.sleep(0.5)
    finally:
        processes.close()
    assert load.throughput_per_s > 100
    assert load.latency_ms == pytest.approx(1000 * 20 / load.throughput_per_s, rel=0.3)  # Little's law
    with panels.background_load(None, 20, 0.5) as nothing:
        pass
    assert math.isnan(nothing.throughput_per_s)
