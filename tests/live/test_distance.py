"""Unmodified nodes that are far apart: each level waits for its replicas, whoever calls from where."""

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cassandra import ConsistencyLevel

from cassbook.core.errors import LaboratoryError
from cassbook.deployment.distances import from_table, placed
from cassbook.deployment.model import Model
from cassbook.deployment.notation import parse
from cassbook.lab.engine.cluster import Spec
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.experiments.experiment import Setup
from cassbook.lab.experiments.staleness.panels import StalenessExperiment
from cassbook.lab.load.nodes import Nodes
from cassbook.lab.load.ycsb import create_table
from cassbook.lab.run.measure import measure
from cassbook.profile.profile import TableSection, load_profile
from cassbook.records.run import RecordedRun
from cassbook.records.staleness import StalenessRun
from tests.helpers.made_staleness import probed
from tests.helpers.nodes import check_ready

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left")]

#: Round trips of 10 ms to the coordinator, and from it 40 and 80 ms to the others: every level is told apart.
TABLE = [
    ("here", "east", 10), ("here", "south", 50), ("here", "west", 90), ("east", "south", 40), ("east", "west", 80),
    ("south", "west", 100),
]  # fmt: skip
SPEC = Spec(heap_mb=512)


@pytest.fixture
def far():
    table = pd.DataFrame(TABLE, columns=["from", "to", "rtt_ms"], dtype=object)
    return placed(parse("{C}, ({R1}, {R2}, {R3})"), ("here", "east", "south", "west"), from_table(table, "test"))


def shortest_ms(cluster, placement, goes=10):
    """Shortest echo of each pair: what else goes on in the machine makes others later, for seconds at times."""
    shortest = {}
    for _ in range(goes):
        time.sleep(2)
        shortest = cluster.echoes().groupby(["from", "to"])["rtt_ms"].min().to_dict()
        if all(ms < placement.rtt_ms().loc[pair] + 2 for pair, ms in shortest.items()):
            break
    return shortest


def usual_ms(session, statement, values, level, below_ms, goes=10):
    """Least of several goes: for seconds at times a busy machine has the dynamic snitch ask the far replica."""
    statement.consistency_level = ConsistencyLevel.name_to_value[level]
    host = next(host for host in session.hosts if host.address == "127.0.2.1")
    least = np.inf
    for _ in range(goes):
        taken = []
        for _ in range(20):
            began = time.monotonic()
            session.execute(statement, values, host=host)
            taken.append((time.monotonic() - began) * 1000)
        least = min(least, float(np.quantile(taken, 0.1)))
        if least < below_ms:
            break
        time.sleep(2)
    return least


def test_a_level_takes_the_round_trip_to_the_last_replica_it_waits_for(far, tmp_path):
    engine = "5.0.9"  # whose nodes all call from one address; the run below is of 2.1.20
    lines = []
    with DistantCluster(engine, far, SPEC, log=lines.append) as cluster:
        at_best = shortest_ms(cluster, far)
        assert at_best == {pair: pytest.approx(far.rtt_ms().loc[pair], abs=2) for pair in at_best}
        assert "round trips, ms" in "\n".join(lines)
        check_ready(cluster, engine)
        session = cluster.connect()
        part = TableSection(record_count=10)
        create_table(session, part, cluster.replication, cluster.keyspace)
        assert cluster.replication == {"east": 1, "south": 1, "west": 1}
        read = session.prepare("SELECT * FROM ycsb.usertable WHERE y_id = ?")
        write = session.prepare("UPDATE ycsb.usertable SET field0 = ? WHERE y_id = ?")
        nodes = Nodes(session, cluster.addresses)
        assert nodes.nearest() == 0
        nodes.close()
        for level in ("ONE", "QUORUM", "ALL"):
            asked_ms = Model(far, level).alone_ms()
            for statement, values in ((write, ("x", "a")), (read, ("a",))):
                below_ms = asked_ms * 1.1 + 15
                taken_ms = usual_ms(session, statement, values, level, below_ms)
                assert asked_ms <= taken_ms < below_ms, (engine, level, taken_ms, asked_ms)
        assert cluster.relay.report().strangers == 0
        session.cluster.shutdown()
        todays_traces_are_understood(cluster, far, tmp_path)


@pytest.mark.parametrize("engine", ["2.2.4", "3.11.4"])
def test_nodes_that_all_call_from_one_address_are_told_apart(engine):
    """Both halves of a round trip are delayed: an answer is not taken for a message of the node that it goes to."""
    table = pd.DataFrame([("here", "east", 0), ("here", "south", 80), ("east", "south", 80)],
                         columns=["from", "to", "rtt_ms"], dtype=object)  # fmt: skip
    where = placed(parse("{C}, ({R1}, {R2})"), ("here", "east", "south"), from_table(table, "test"))
    with DistantCluster(engine, where, replace(SPEC, nodes=2, replication_factor=2), log=lambda _: None) as cluster:
        session = cluster.connect()
        create_table(session, TableSection(record_count=10), cluster.replication, cluster.keyspace)
        write = session.prepare("UPDATE ycsb.usertable SET field0 = ? WHERE y_id = ?")
        assert 80 <= usual_ms(session, write, ("x", "a"), "ALL", 110) < 110
        assert cluster.relay.report().strangers == 0
        session.cluster.shutdown()


def todays_traces_are_understood(cluster, far, folder):
    """What they say of a way is what the relay makes of it."""
    experiment = StalenessExperiment(
        {"far": Setup(far)}, {"far": (0.0, 60.0)}, (0,), 3.0, versions=2, warm_up_s=4.0, settings=((1, 1),)
    )
    run = StalenessRun(str(probed(folder, "staleness-three", experiment, cluster)))
    traced = run.traced("far", 0, 1, 1)
    assert len(traced.writes) > 5
    assert run.panels["traces_left_out"].sum() <= len(traced.writes) / 4
    rtt_ms = far.rtt_ms().loc["R1":, "R1":].to_numpy()
    inside_ms = traced.writes.back_ms - rtt_ms[traced.writes.coordinator]
    assert inside_ms.min() > -1
    assert inside_ms.min(axis=0).max() < 20  # of each replica the quickest: a busy machine makes the others late
    assert np.isfinite(traced.reads.back_ms).sum(axis=1).min() >= 1


RELAY = b"cassbook.lab.wan.relay_process"

PROFILE = """
name: far
title: A few cells at a distance
seed: 7
cluster: {nodes: 2, replication_factor: 2, heap_mb: 512}
table: {record_count: 100, field_count: 1}
load: {coordinator: nearest, ramp_s: 0.5, steady_s: 1.5}
warm_up: {threads: 20, window_s: 0.5, windows: 2, tolerance: 0.3, cap_s: 3}
distance:
  deployments:
    d: {notation: "{C}, ({R1}, {R2})", regions: [here, east, south]}
  distances:
%s
pure: {threads: [10], levels: [ALL]}
"""


def test_a_run_survives_a_relay_that_dies(tmp_path):
    path, folder = tmp_path / "far.yaml", tmp_path / "run"
    rows = "\n".join(f"    - {{from: {a}, to: {b}, rtt_ms: {ms}}}" for a, b, ms in TABLE)
    path.write_text(PROFILE % rows)
    profile, killed = load_profile(str(path)), []

    def kill_the_relay():
        killed.extend(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and RELAY in command(pid))
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    def in_the_first_cell(line):
        if not killed and "warm-up over" in line:
            threading.Timer(1.5, kill_the_relay).start()

    with pytest.raises(LaboratoryError, match=r"relay|could not connect|died"):
        measure(profile, folder, log=in_the_first_cell)
    assert killed
    measure(profile, folder, resume=True, log=lambda _: None)
    run = RecordedRun(folder)
    cells = run.cells[run.cells["kind"] == "pure"]
    assert len(cells) == 2
    assert set(cells["deployment"]) == {"{C}, ({R1}, {R2})"}
    off_ms = cells["distance_off_ms"].abs()
    assert off_ms.notna().all()
    assert not cells.loc[off_ms <= 1, "marks"].str.contains("distance").any()
    assert [note["cell_id"] for note in run.manifest["cut_off"]]
    least_ms = run.samples(["latency_us"], ["b1-d-t0010-read-ALL"])["latency_us"].min() / 1000
    assert 50 <= least_ms < 55  # the others wait for a busy machine too


TWO_CENTRES = """
name: centres
engine: 5.0.9
cluster: {nodes: 3, replication_factor: 3, heap_mb: 512}
load: {coordinator: nearest_dc, steady_s: 1.0}
warm_up: {cap_s: 5}
distance:
  distances: [{from: here, to: here, rtt_ms: 0.5}, {from: here, to: there, rtt_ms: 100}]
  deployments: {apart: {notation: "{[C], ([R1], [R2]}, {R3})", regions: [here, there]}}
workloads:
  own:
    - name: people
      create: ["CREATE TABLE people (id bigint PRIMARY KEY, name text)"]
      load: {statement: "INSERT INTO people (id, name) VALUES (?, ?)", rows: 200}
      values: {id: {distribution: uniform, count: 200}, name: {size: 8}}
      operations:
        - {share: 0.5, rows: one, statement: "SELECT id, name FROM people WHERE id = ?"}
        - {share: 0.5, statement: "UPDATE people SET name = ? WHERE id = ?"}
open:
  - &turns
    workloads: [people]
    settings: [LOCAL_ONE/LOCAL_ONE, LOCAL_QUORUM/EACH_QUORUM]
    rates_per_s: [50]
    measured_s: 10
    repeats: 1
    find_capacity: false
    rising: true
  - <<: *turns
    settings: [LOCAL_ONE/LOCAL_ONE]
    probe_after_ms: 20
    probes_per_s: 10
"""


def test_own_statements_of_a_client_in_one_of_two_data_centres(tmp_path):
    """EACH_QUORUM waits for the other one; requests, the probe's among them, go to the nodes of its own."""
    path, folder = tmp_path / "centres.yaml", tmp_path / "run"
    path.write_text(TWO_CENTRES)
    measure(load_profile(str(path)), folder, log=lambda _: None)
    run = RecordedRun(folder)
    cells = run.cells[run.cells["kind"] == "open"].set_index(["condition", "write_cl"])
    columns = ["coordinator", "operation", "latency_us", "outcome"]
    samples = {key: run.samples(columns, [cell_id]) for key, cell_id in cells["cell_id"].items()}
    assert all(set(own["coordinator"]) <= {"R1", "R2"} for own in samples.values())
    wrote = {key: own[(own["operation"] == "UPDATE") & (own["outcome"] == "ok")] for key, own in samples.items()}
    assert wrote["", "EACH_QUORUM"]["latency_us"].min() > 100_000
    assert wrote["", "LOCAL_ONE"]["latency_us"].min() < 50_000
    (probed,) = run.manifest["staleness"]
    assert all(turn["other"][1] + turn["same"][1] > 0 for turn in probed["turns"].values())


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
