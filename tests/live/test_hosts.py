"""An existing cluster with passwords and TLS: measured through `--hosts`, and left exactly as it was."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import dask
import numpy as np
import psutil
import pytest
from distributed import Client, LocalCluster

from cassbook.lab.engine import manual, tools
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.connect import PASSWORD, USERNAME, Access, Tls
from cassbook.lab.engine.existing_cluster import ExistingCluster, Hosts
from cassbook.lab.load.nodes import Nodes
from cassbook.records.run import RecordedRun
from tests.helpers.waiting import heed_ctrl_c, wait_for_cells, wait_until

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("keytool") is None, reason="no keytool (of a JDK) to make the nodes' certificate"),
]
USER, SECRET = "bench-user", "s3cret-of-the-test"
POOR = "user-without-rights"
#: A signal is acted on within; and to connect over TLS and to drop a keyspace takes at most.
ACTED_ON_S, DROPPED_S = 2.0, 8.0
PROFILE = """
name: tiny
title: A few cells on somebody's cluster
seed: 7
cluster: {nodes: 3, replication_factor: 2}
table: {record_count: 1000}
load: {ramp_s: 0.1, steady_s: 0.4}
warm_up: {threads: 20, window_s: 0.3, windows: 2, tolerance: 0.1, cap_s: 2}
pure: {threads: [10], levels: [ONE, ALL], repeats: 2}
"""


def certificate(folder, name):
    """Make a key pair that names the loopback addresses; its keystore and its certificate in PEM form."""
    store, pem = folder / f"{name}.jks", folder / f"{name}.pem"
    common = ["-keystore", str(store), "-storepass", "changeit", "-alias", name]
    subprocess.run(
        ["keytool", "-genkeypair", *common, "-keypass", "changeit", "-storetype", "JKS", "-keyalg", "RSA",
         "-validity", "2", "-dname", f"CN={name}", "-ext", "SAN=ip:127.0.0.1,ip:127.0.0.2"],
        check=True, capture_output=True,
    )  # fmt: skip
    with pem.open("wb") as stream:
        subprocess.run(
            ["keytool", "-exportcert", "-rfc", *common], check=True, stdout=stream, stderr=subprocess.DEVNULL
        )
    return store, pem


class Secured:
    """A cluster that asks for passwords and speaks TLS only, with a keyspace that is not ours."""

    def __init__(self, cluster, folder, profile, tls):
        self.cluster, self.tls = cluster, tls
        self.session = cluster.connect()
        self.old = cluster.release.major < (2, 2)
        rights = ("CREATE", "ALTER", "DROP", "SELECT", "MODIFY") if self.old else ("CREATE",)  # as book/hosts.md has it
        self.session.execute(f"CREATE USER '{USER}' WITH PASSWORD '{SECRET}' NOSUPERUSER")
        for right in rights:
            self.session.execute(f"GRANT {right} ON ALL KEYSPACES TO '{USER}'")
        self.session.execute(
            "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        self.session.execute("CREATE TABLE shop.usertable (y_id text PRIMARY KEY, field0 text)")
        for i in range(100):
            self.session.execute("INSERT INTO shop.usertable (y_id, field0) VALUES (%s, %s)", (f"user{i}", f"goods{i}"))
        self.profile = folder / "profile.yaml"
        self.profile.write_text(profile)

    def command(self, out, *options, hosts="127.0.0.1"):
        """Arguments of a run over TLS; later options win."""
        tls = ["--tls", "--tls-ca", str(self.tls.ca), *(["--tls-old-ciphers"] if self.tls.old_ciphers else [])]
        start = [sys.executable, "-m", "cassbook.cli", "run", "--profile", str(self.profile)]
        return [*start, "--out", str(out), "--hosts", hosts, *tls, *options]

    def run(self, out, *options, password=SECRET, command=None, user=USER):
        return subprocess.run(
            command or self.command(out, *options),
            env=environment(password, user), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def state(self):
        """What is there: each keyspace, and the sum of the foreign one's rows with their time stamps."""
        table = "system.schema_keyspaces" if self.old else "system_schema.keyspaces"
        keyspaces = sorted(r[0] for r in self.session.execute(f"SELECT keyspace_name FROM {table}"))
        rows = self.session.execute("SELECT y_id, field0, writetime(field0) FROM shop.usertable")
        return keyspaces, hashlib.sha256(repr(sorted(map(tuple, rows))).encode()).hexdigest()


def environment(password=SECRET, user=USER):
    rest = {key: value for key, value in os.environ.items() if key not in {USERNAME, PASSWORD}}
    return rest if password is None else rest | {USERNAME: user, PASSWORD: password}


@contextmanager
def started(engine, nodes, folder, profile, old_ciphers):
    keystore, ca = certificate(folder, "nodes")
    options = {
        "authenticator": "PasswordAuthenticator",
        "authorizer": "CassandraAuthorizer",
        "client_encryption_options": {"enabled": True, "keystore": str(keystore), "keystore_password": "changeit"},
    }
    tls = Tls(ca, old_ciphers=old_ciphers)
    access = Access("cassandra", "cassandra", tls)
    with CassandraCluster(engine, Spec(nodes, nodes, 512, options), name="test", access=access) as cluster:
        there = Secured(cluster, folder, profile, tls)
        yield there
        there.session.cluster.shutdown()


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    with started("2.1.20", 2, tmp_path_factory.mktemp("secured"), PROFILE, old_ciphers=True) as there:
        yield there


def test_todays_release_with_the_one_right_that_is_needed(tmp_path):
    """The first test here: its cluster has the ports that the next one needs."""
    profile = PROFILE.replace("replication_factor: 2", "replication_factor: 1").replace("ONE, ALL", "ONE")
    with started("5.0.9", 1, tmp_path, profile, old_ciphers=False) as there:
        before = there.state()
        done = there.run(tmp_path / "run")
        assert done.returncode == 0, done.stderr
        assert there.state() == before
        check_nothing_leaked(tmp_path / "run", done.stdout + done.stderr)
        check_nodetool_of_today()
    assert "1 of 1 node answers (127.0.0.1)" in done.stderr
    assert "the 2 others there are not touched" in done.stderr  # shop, and the probe's of our own local cluster
    run = RecordedRun(tmp_path / "run")
    assert set(run.cells["engine"]) == {"5.0.9"}
    assert (run.cells["errors"] == "").all()
    assert run.manifest["cluster_starts"][0]["hints"] == "unknown"


def check_nodetool_of_today():
    """5.0.9 comes without scripts; its nodetool runs all the same, and writes nothing where it is started."""
    (cluster,), before = manual.status(), set(os.listdir())
    command = tools.nodetool(cluster, None, ["status"])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "UN  127.0.0.1" in done.stdout
    assert set(os.listdir()) == before


def check_nothing_leaked(folder, output):
    for secret in (SECRET, USER):
        assert secret not in output
    for path in (p for p in folder.rglob("*") if p.is_file()):
        content = path.read_bytes()
        for private in (SECRET, USER, "127.0.0.", "datacenter1", "/nodes.pem"):
            assert private.encode() not in content, (path.name, private)


def test_killed_then_refused_to_others_then_resumed_and_left_as_it_was(secured, tmp_path):
    before = secured.state()
    kill_in_the_middle(secured, tmp_path / "run")
    left = secured.state()
    assert left == (sorted({*before[0], "cassbook"}), before[1])
    other = secured.run(tmp_path / "other")
    assert other.returncode == 2
    assert "cassbook exists and is of another run of cassbook" in other.stderr
    assert secured.state() == left
    assert not (tmp_path / "other").exists()
    resumed = secured.run(tmp_path / "run", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert secured.state() == before
    check_nothing_leaked(tmp_path / "run", resumed.stdout + resumed.stderr)
    check_run(RecordedRun(tmp_path / "run"))


def check_run(run, starts=3):
    """Every cell once, in two blocks on the one cluster that was there."""
    cells = run.cells
    assert cells["cell_id"].is_unique
    assert cells.loc[cells["kind"] == "pure", "block"].value_counts().to_dict() == {1: 4, 2: 4}
    assert set(cells["engine"]) == {"2.1.20"}
    assert set(cells["deployment"]) == {"existing"}
    assert set(cells["cluster_start"]) == {1}
    assert (cells["errors"] == "").all()
    assert not cells["marks"].str.contains("hints").any()
    assert set(run.samples(["coordinator"])["coordinator"].unique()) == {"node1", "node2"}
    assert [start["kind"] for start in run.manifest["cluster_starts"]] == ["existing"] * starts
    assert run.manifest["profile"]["cluster"]["nodes"] == 2


def kill_in_the_middle(secured, folder):
    process = subprocess.Popen(
        secured.command(folder), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for_cells(process, folder, 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not json.loads((folder / "manifest.json").read_text())["complete"]


def test_five_signals_at_drawn_moments_end_runs_that_drop_their_keyspace(secured, tmp_path):
    draw = np.random.default_rng(27)
    before = secured.state()
    for turn, number in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGINT)):
        process = subprocess.Popen(
            secured.command(tmp_path / f"run-{turn}"),
            env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            preexec_fn=heed_ctrl_c,  # noqa: PLW1509 - no thread of ours holds a lock here
        )  # fmt: skip
        wait_until(lambda: "cassbook" in secured.state()[0], process)
        time.sleep(float(draw.uniform(0.0, 3.0)))
        process.send_signal(number)
        sent = time.monotonic()
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)  # impatience, while the keyspace is dropped
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 128 + number, said
        assert time.monotonic() - sent < ACTED_ON_S + DROPPED_S
        assert "Traceback" not in said
        assert secured.state() == before


@pytest.mark.parametrize(
    ("password", "options", "said"),
    [
        ("wrong-and-secret", [], "check CASSBOOK_USERNAME and CASSBOOK_PASSWORD"),
        (None, [], "set CASSBOOK_USERNAME and CASSBOOK_PASSWORD"),
        (SECRET, ["--tls-ca", "WRONG"], "not signed by anyone trusted; name the signer's with --tls-ca"),
        (SECRET, ["--keyspace", "shop"], "shop exists and is not ours; nothing was touched"),
        (SECRET, ["--dc", "elsewhere"], "'elsewhere' is not there; name one of datacenter1"),
        (SECRET, ["--at-most-mb", "1"], "more than the 1 MB that are allowed; nothing was written"),
    ],
)
def test_refused_before_anything_is_written(secured, tmp_path, password, options, said):
    before = secured.state()
    options = [str(certificate(tmp_path, "others")[1]) if option == "WRONG" else option for option in options]
    done = secured.run(tmp_path / "run", *options, password=password)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert USER not in done.stderr
    assert not password or password not in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
    assert secured.state() == before


def test_rights_that_are_wanting_are_told_before_anything_is_written(secured, tmp_path):
    secured.session.execute(f"CREATE USER '{POOR}' WITH PASSWORD '{SECRET}' NOSUPERUSER")
    secured.session.execute(f"GRANT CREATE ON ALL KEYSPACES TO '{POOR}'")
    before = secured.state()
    done = secured.run(tmp_path / "run", user=POOR)
    assert done.returncode == 2
    assert "has no DROP permission" in done.stderr
    assert "CREATE, ALTER, DROP, SELECT and MODIFY" in done.stderr
    assert POOR not in done.stderr
    assert secured.state() == before


def test_a_door_that_is_knocked_at_without_tls(secured, tmp_path):
    plain = [word for word in secured.command(tmp_path / "run") if not word.startswith("--tls") and ".pem" not in word]
    done = secured.run(tmp_path / "run", command=plain)
    assert done.returncode == 1
    assert "if it expects TLS, add --tls" in done.stderr


@contextmanager
def workers(**secrets):
    """Two workers on this machine, and how to kill one; user name and password are of their own environment.

    The scheduler gives up a worker that was killed after 3 s, not after its usual 30.
    """
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1", env=secrets) as made,
        Client(made.scheduler_address, set_as_default=False) as client,
    ):
        yield made.scheduler_address, lambda: psutil.Process(min(client.run(os.getpid).values())).kill()


def test_load_from_two_workers_of_which_one_is_killed(secured, tmp_path):
    """Every cell is measured once by both; the group that was under way is measured again and its cells say so."""
    before, out = secured.state(), tmp_path / "run"
    with workers(**{USERNAME: USER, PASSWORD: SECRET}) as (scheduler, kill_one):
        command = secured.command(out, "--clients", scheduler)
        process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
        wait_for_cells(process, out, 3)
        kill_one()
        errors = process.communicate(timeout=240)[1]
    assert process.returncode == 0, errors
    assert secured.state() == before
    assert "several workers are on one host" in errors
    check_nothing_leaked(out, "")
    run = RecordedRun(out)
    check_run(run, starts=2)
    cells = run.cells[run.cells["kind"] == "pure"].set_index("cell_id")
    assert set(cells["client_processes"]) == {2}
    assert set(cells["client_hosts"]) == {1}
    assert cells["clock_bound_us"].between(1, 1e5).all()
    assert run.samples(["cell_id"])["cell_id"].value_counts()[cells.index].to_dict() == cells["operations"].to_dict()
    again = cells[cells["marks"].str.contains("again")]
    assert {cell["cell_id"] for cell in run.manifest["cut_off"]} == set(again.index)
    (group,) = again["cell_group"].unique()
    assert set(cells.index[cells["cell_group"] == group]) == set(again.index)  # its levels alternate: all or none
    noted = [start["clients"] for start in run.manifest["cluster_starts"]]
    assert {worker["host"] for each in noted for worker in each["workers"]} == {1}
    assert {name for each in noted for name in each["clocks"]} == set(cells.index)


def test_a_worker_without_a_password_is_refused_before_anything_is_written(secured, tmp_path):
    before = secured.state()
    with workers() as (scheduler, _):
        done = secured.run(tmp_path / "run", "--clients", scheduler)
    assert done.returncode == 2, done.stderr
    assert "--clients: from worker 1 (tcp://127.0.0.1:" in done.stderr
    assert "set CASSBOOK_USERNAME and CASSBOOK_PASSWORD" in done.stderr
    assert not (tmp_path / "run").exists()
    assert secured.state() == before


def test_the_light_path_inherits_password_tls_and_port(secured):
    access = Access(USER, SECRET, secured.tls)
    existing = ExistingCluster(Hosts(("localhost", "127.0.0.2"), None, access), 2, "test", print)
    session = existing.connect()
    nodes = Nodes(session, existing.addresses)
    try:
        for address, pool in zip(existing.addresses, nodes.connections, strict=True):
            assert pool[0]._socket.getpeername() == (address, 9042)
            assert pool[0]._socket.cipher()
        assert nodes.nearest() in {0, 1}  # answered, over TLS and past the authenticator
    finally:
        nodes.close()
        session.cluster.shutdown()
