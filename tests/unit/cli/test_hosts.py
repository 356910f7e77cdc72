"""Existing clusters, as far as no cluster is needed: what is asked, refused, counted and kept secret."""

import importlib
import json
import pickle
import re
import shutil
import socket
import ssl
import subprocess
import threading
from types import SimpleNamespace

import pytest
import yaml
from cassandra import AuthenticationFailed, DriverException
from cassandra.cluster import NoHostAvailable

from cassbook.cli import hosts
from cassbook.core.consistency import Replicas
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.paths import project_root
from cassbook.lab.engine import cluster as local
from cassbook.lab.engine import existing_cluster as module
from cassbook.lab.engine.connect import PASSWORD, USERNAME, Access, Tls, UnsupportedProtocolError, connect, explained
from cassbook.lab.engine.existing_cluster import FoundRelease, Hosts, contact_points
from cassbook.lab.run import hosts as hosts_module
from cassbook.lab.run import measure
from cassbook.lab.run.hosts import Written, check_written, profile_for, same_clients, same_place, written
from cassbook.lab.run.plan import plan
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import load_profile
from tests.helpers.command import cassbook
from tests.helpers.found_cluster import SECRET, USER, Fake
from tests.helpers.profiles import write_profile as profile_file


@pytest.fixture(autouse=True)
def _no_local_cluster(monkeypatch):
    monkeypatch.setattr(local.CassandraCluster, "start", lambda self, keep=False: pytest.fail("a cluster was started"))
    monkeypatch.delenv(USERNAME, raising=False)
    monkeypatch.delenv(PASSWORD, raising=False)


def run(*arguments, **options):
    return cassbook("run", "--profile", "quick", *arguments, **options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", (("a",), 9042)),
        ("a.example, b.example", (("a.example", "b.example"), 9042)),
        ("10.0.0.1:9142,10.0.0.2:9142", (("10.0.0.1", "10.0.0.2"), 9142)),
        ("[::1]:9142", (("::1",), 9142)),
        ("fe80::1,fe80::2", (("fe80::1", "fe80::2"), 9042)),
        ("a,a", (("a",), 9042)),
    ],
)
def test_contact_points(text, expected):
    assert contact_points(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no HOST"),
        ("a,,b", "is no HOST"),
        ("a:port", "is no HOST"),
        ("a b", "is no HOST"),
        ("a:0", "1 to 65535"),
        ("a:70000", "1 to 65535"),
        ("a:9042,b:9142", "got 9042, 9142"),
    ],
)
def test_contact_points_that_are_none(text, said):
    with pytest.raises(InputError, match="--hosts") as caught:
        contact_points(text)
    assert said in str(caught.value)


def test_a_name_without_an_address():
    with pytest.raises(InputError, match=r"'no-such-host\.invalid'"):
        Hosts(("no-such-host.invalid",)).resolved()


@pytest.mark.parametrize("name", ["", "Upper", "1st", "a-b", "system_auth", "x" * 49, "a; DROP KEYSPACE b"])
def test_keyspaces_that_cannot_be(name):
    with pytest.raises(InputError, match="--keyspace"):
        Hosts(("a",), keyspace=name)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hosts", "a", "--engine", "5.0.9"], "--engine: an existing cluster runs what it runs"),
        (["--dc", "north"], "--dc: needs --hosts"),
        (["--other-dc", "south"], "--other-dc: needs --hosts"),
        (["--tls"], "--tls: needs --hosts"),
        (["--yes"], "--yes: needs --hosts"),
        (["--at-most-mb", "0"], "--at-most-mb: needs --hosts"),
        (["--clients", "tcp://10.0.0.9:8786"], "--clients: needs --hosts"),
        (["--hosts", "a", "--clients", "10.0.0.9"], "give tcp://HOST:PORT"),
        (["--hosts", "a", "--clients-tls-ca", "ca.pem"], "--clients-tls-ca: needs --clients"),
        (["--hosts", "a", "--clients", "tls://10.0.0.9:1"], "--clients-tls-ca: is missing"),
        (["--hosts", "a", "--tls-skip-hostname"], "--tls-skip-hostname: needs --tls"),
        (["--hosts", "a", "--tls-ca", "x.pem"], "--tls-ca: needs --tls"),
        (["--hosts", "a", "--tls", "--tls-key", "x.pem"], "--tls-key: needs --tls-cert"),
        (["--hosts", "a", "--tls", "--tls-ca", "missing.pem"], "--tls-ca: there is no file missing.pem"),
        (["--hosts", "a", "--tls", "--tls-cert", "missing.pem"], "--tls-cert: there is no file missing.pem"),
        (["--hosts", "a:b"], "is no HOST or HOST:PORT"),
        (["--hosts", "a", "--keyspace", "A"], "--keyspace: 'A' cannot be used"),
    ],
)
def test_options_that_contradict_one_another(tmp_path, options, said):
    result = run("--out", tmp_path / "run", *options)
    assert result.exit_code == 2
    assert said in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_half_of_the_credentials(monkeypatch):
    monkeypatch.setenv(USERNAME, USER)
    result = run("--hosts", "a")
    assert result.exit_code == 2
    assert "CASSBOOK_USERNAME is set and CASSBOOK_PASSWORD is not" in result.output
    assert USER not in result.output


def test_a_file_that_is_no_certificate(tmp_path):
    wrong = tmp_path / "ca.pem"
    wrong.write_text("hello")
    with pytest.raises(InputError, match=r"--tls-ca: .*ca\.pem .*PEM"):
        Tls(wrong).context()
    with pytest.raises(InputError, match=r"--tls-cert, --tls-key: .*ca\.pem"):
        Tls(cert=wrong).context()


def test_certificates_are_checked_unless_told_and_then_still_by_who_signed_them():
    context = Tls().context()
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    skipping = Tls(check_name=False).context()
    assert not skipping.check_hostname
    assert skipping.verify_mode is ssl.CERT_REQUIRED


def test_secrets_show_in_no_repr_and_travel_to_other_processes():
    hosts = Hosts(("a",), access=Access(USER, SECRET, Tls()))
    assert SECRET not in repr(hosts)
    assert USER not in repr(hosts)
    assert pickle.loads(pickle.dumps(hosts)).access.password == SECRET  # noqa: S301 - our own bytes


def example(tmp_path):
    """The complete example of the page on workloads, as a file."""
    page = (project_root() / "book" / "workloads.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "orders.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "orders.yaml"


def failed(*reasons):
    return NoHostAvailable("none", {f"10.1.2.{i}": reason for i, reason in enumerate(reasons)})


def tls_error(text):
    return ssl.SSLError(f"[SSL: {text}] (_ssl.c:1006)")


ALONE, OVER_TLS, WITH_NAME = Access(), Access(tls=Tls()), Access(USER, SECRET)
VERSION = DriverException("ProtocolError returned from server while using explicitly set client protocol_version 4")


@pytest.mark.parametrize(
    ("reason", "access", "kind", "said"),
    [
        (AuthenticationFailed(f"{USER} is not {SECRET}"), WITH_NAME, InputError, f"check {USERNAME} and {PASSWORD}"),
        (AuthenticationFailed("requires authentication"), ALONE, InputError, f"set {USERNAME} and {PASSWORD}"),
        (tls_error("WRONG_VERSION_NUMBER"), OVER_TLS, InputError, "does not speak TLS"),
        (tls_error("CERTIFICATE_VERIFY_FAILED"), OVER_TLS, InputError, "--tls-ca"),
        (tls_error("CERTIFICATE_VERIFY_FAILED: IP address mismatch"), OVER_TLS, InputError, "--tls-skip-hostname"),
        (tls_error("SSLV3_ALERT_HANDSHAKE_FAILURE"), OVER_TLS, InputError, "--tls-old-ciphers"),
        (ConnectionResetError("closed"), ALONE, LaboratoryError, "if it expects TLS, add --tls"),
        (VERSION, ALONE, UnsupportedProtocolError, "protocol"),
    ],
)
def test_what_the_drivers_reasons_mean(reason, access, kind, said):
    error = explained(failed(reason), ["10.1.2.3"], access)
    assert isinstance(error, kind)
    assert said in str(error)
    assert SECRET not in str(error)
    assert USER not in str(error)


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(LaboratoryError, match=f"127.0.0.1 .port {port}.*refused.*--tls"):
        connect(["127.0.0.1"], 4, 2.0, Access(port=port), 1)


def test_tls_asked_of_a_server_that_has_none(tmp_path, capfd):
    """A server that answers as a Cassandra without TLS would, in plain bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with peer:
                    peer.recv(1024)
                    peer.sendall(b"\x84\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x0a\x00\x00")

        threading.Thread(target=answer, daemon=True).start()
        access = Access(USER, SECRET, Tls(), server.getsockname()[1])
        with pytest.raises(InputError, match="does not speak TLS there"):
            connect(["127.0.0.1"], 4, 3.0, access, 1)
        server.shutdown(socket.SHUT_RDWR)
    shown = capfd.readouterr()
    assert USER not in shown.out + shown.err
    assert "Traceback" not in shown.err


@pytest.mark.parametrize(
    ("begun", "placed", "said"),
    [({"clients": {}}, False, "give --clients"), ({}, True, "leave --clients out")],
)
def test_a_resumed_run_takes_its_load_from_where_it_came(tmp_path, begun, placed, said):
    store = SimpleNamespace(folder=tmp_path, notes={"cluster_starts": [begun]})
    same_clients(store, not placed)
    with pytest.raises(InputError, match=said):
        same_clients(store, placed)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with a key")
def test_a_clients_own_certificate_and_a_key_with_a_passphrase(tmp_path):
    key, cert, locked = tmp_path / "key.pem", tmp_path / "cert.pem", tmp_path / "locked.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=me"],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        ["openssl", "rsa", "-aes256", "-passout", "pass:x", "-in", key, "-out", locked], check=True, capture_output=True
    )
    assert Tls(cert, cert, key).context().get_ca_certs()[0]["subject"] == ((("commonName", "me"),),)
    with pytest.raises(InputError, match="unencrypted"):
        Tls(cert=cert, key=locked).context()


@pytest.mark.parametrize(
    ("version", "major"), [("2.1.20", (2, 1)), ("4.0.11", (4, 0)), ("5.0-beta1", (5, 0)), ("4.0.0.6816", (4, 0))]
)
def test_releases_that_this_laboratory_does_not_have(version, major):
    assert FoundRelease(version, 4).major == major


def test_the_profile_that_fits(tmp_path):
    fitting = profile_for(load_profile("quick"), Fake(), print)
    assert fitting.engine == "4.1.7"
    assert fitting.cluster.nodes == 3
    with pytest.raises(InputError, match=r"cluster\.options \(authenticator\)"):
        profile_for(load_profile(profile_file(tmp_path, cluster__options={"authenticator": "x"})), Fake(), print)
    with pytest.raises(InputError, match="there are nodes 1 to 3"):
        profile_for(load_profile(profile_file(tmp_path, load__coordinator="node5", cluster__nodes=5)), Fake(), print)


def test_what_will_be_written_grows_with_what_makes_it(tmp_path):
    quick = load_profile("quick")
    cells = [cell for block in plan(quick) for cell in block]
    whole = written(quick, cells)
    # 25000 rows of ten fields of 100 bytes, on three replicas, three times: at least that, at most twice that
    assert 25000 * 1000 * 3 * 3 / 1e6 < whole.table_mb < 2 * 25000 * 1000 * 3 * 3 / 1e6
    one_block = written(quick, plan(quick)[0])
    assert whole.table_mb == pytest.approx(3 * one_block.table_mb)
    reads = [cell for cell in cells if cell.read_share == 1.0]
    warm_up_alone = written(quick, reads).updates_mb
    assert warm_up_alone < written(quick, cells).updates_mb
    assert written(quick, []).total_mb == 0
    counted = load_profile(profile_file(tmp_path, load__steady_s=None, load__operations_per_thread=10))
    assert written(counted, cells).updates_mb < whole.updates_mb


def test_the_estimate_is_of_the_rate_that_the_cluster_answers():
    profile = load_profile("quick")
    cells = plan(profile)[0]
    writing = next(cell for cell in cells if cell.read_share == 0.0)
    reading = next(cell for cell in cells if cell.read_share == 1.0)
    for per_s in (1_000, 12_000):
        found = written(profile, [writing], per_s).updates_mb - written(profile, [reading], per_s).updates_mb
        values_mb = per_s * (profile.load.ramp_s + profile.load.steady_s) * profile.table.field_length * 3 / 1e6
        assert values_mb < found < 3 * values_mb


def test_of_statements_what_they_write_is_counted(tmp_path):
    profile = load_profile(str(example(tmp_path)))
    cells = [cell for cell in plan(profile)[0] if cell.workload and cell.rate_per_s == 1250]
    orders = cells[:1]
    warm_up = written(profile, orders, 1e-9)
    rate_mb = warm_up.updates_mb  # at a rate that bounds it, whatever the cluster answers
    # RMW writes pieces and article (8 and 40 bytes each), INSERT five values of which a note has about 100
    low, high = 0.3 * 2 * 48, 0.3 * (64 + 5 * 48 + 110)
    seconds = profile.load.ramp_s + profile.load.steady_s
    assert 1250 * seconds * low * 3 / 1e6 < rate_mb < 1250 * seconds * high * 3 / 1e6
    assert warm_up.table_mb == pytest.approx(20_000 * (64 + 5 * 40 + 100.5 + 3 * 8 + 16) * 3 / 1e6, rel=0.15)


def test_a_warm_up_that_shows_more_than_is_allowed_ends_the_run():
    profile = load_profile("quick")
    cells = plan(profile)[0]
    assert "answered 10 requests a second" in check_written(profile, cells, 10, 10_000)
    with pytest.raises(
        InputError, match=r"answered 50,000 requests a second, .* more than the 500 MB .* --resume"
    ) as caught:
        check_written(profile, cells, 50_000, 500)
    enough = int(re.search(r"--at-most-mb (\d+)", str(caught.value))[1])
    check_written(profile, cells, 50_000, enough)


def test_what_was_agreed_to_bounds_what_is_written(tmp_path, monkeypatch):
    _, ((_, _, more),) = asked(tmp_path, monkeypatch, "--yes")
    assert more["allowed_mb"] is None
    _, ((_, _, more),) = asked(tmp_path, monkeypatch, "--at-most-mb", "900000")
    assert more["allowed_mb"] == 900_000
    _, ((_, _, more),) = asked(tmp_path, monkeypatch, terminal=True, answer=True)
    assert 500 < more["allowed_mb"] < 900_000


READS = {
    "name": "reads", "load": {"steady_s": 1.0},
    "workloads": {"threads": [4], "settings": ["ONE/ONE"], "own": [
        {"name": "reads", "operations": [{"share": 1.0, "statement": "SELECT total FROM orders WHERE customer = ?"}]}
    ]},
}  # fmt: skip


def reading(tmp_path, **changes):
    content = READS | {"workloads": READS["workloads"] | {"own": [READS["workloads"]["own"][0] | changes]}}
    (tmp_path / "reads.yaml").write_text(yaml.safe_dump(content))
    return tmp_path / "reads.yaml"


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        ({}, ("--read-existing", "orders"), "'orders' is no KEYSPACE.TABLE"),
        ({}, ("--read-existing", "system.local"), "system is Cassandra's own"),
        ({}, ("--read-existing", "shop.orders", "--keyspace", "mine"), "--keyspace: not with --read-existing"),
        ({}, ("--read-existing", "shop.orders", "--read-existing", "users.names"), "shop and users are several"),
        ({"create": ["CREATE TABLE orders (customer text PRIMARY KEY, total int)"],
          "values": {"customer": {"size": 4}}},
         ("--read-existing", "shop.orders"),
         "workloads.own.reads.create: would write"),
        ({"operations": [{"share": 1.0, "statement": "DELETE FROM orders WHERE customer = ?"}]},
         ("--read-existing", "shop.orders"), "is DELETE; only SELECTs are sent"),
        ({"operations": [{"share": 1.0, "statement": "SELECT a FROM stock WHERE b = ?"}]},
         ("--read-existing", "shop.orders"), "asks stock; name it with --read-existing too"),
    ],
)  # fmt: skip
def test_tables_that_exist_are_only_read(tmp_path, monkeypatch, changes, options, said):
    result, measured = asked(tmp_path, monkeypatch, "--profile", reading(tmp_path, **changes), *options)
    assert (result.exit_code, measured) == (2, [])
    assert said in result.output
    assert "Traceback" not in result.output


def test_what_is_only_read_is_announced_and_asks_nothing(tmp_path, monkeypatch):
    result, measured = asked(tmp_path, monkeypatch, "--profile", reading(tmp_path), "--read-existing", "shop.orders")
    assert result.exit_code == 0, result.output
    assert (
        "keyspace shop: orders is read, at ONE to ALL as the settings say; nothing is made, written or dropped"
        in result.output
    )
    assert len(measured) == 1
    result, _ = asked(tmp_path, monkeypatch, "--profile", "quick", "--read-existing", "shop.orders")
    assert result.exit_code == 2
    assert "--read-existing: measures the SELECTs of workloads.own" in result.output


def test_a_table_that_exists_has_to_be_there_with_as_many_replicas():
    cluster = Fake(Hosts(("10.1.2.3",), keyspace="shop", read=("orders",)))
    for tables, replicas, said in (
        (None, 3, "there is no keyspace shop; there are shop, users"),
        (["stock"], 3, "there is no table orders in shop"),
        (["orders"], 2, r"shop has 2 replicas in 'dc-north', the profile says 3; give cluster: \{replication_fac"),
    ):  # fmt: skip
        cluster._tables, cluster._replicas = tables, replicas
        with pytest.raises(InputError, match=said):
            cluster._check_read()
    cluster._replicas = 3
    cluster._check_read()
    cluster.begin()
    cluster.end(None)
    assert cluster.barrier(None) == []


def asked(tmp_path, monkeypatch, *options, answer=None, terminal=False, comment=None, resume=False):
    """What `run --hosts` does with a cluster that was found; measuring itself is only noted."""
    measured = []
    monkeypatch.setattr(module, "ExistingCluster", lambda *a: Fake(a[0], a[1], a[2], a[3], comment))
    monkeypatch.setattr(measure, "measure", lambda profile, folder, **more: measured.append((profile, folder, more)))
    monkeypatch.setattr(importlib.import_module("cassbook.cli.run"), "_show", lambda folder, form: None)
    monkeypatch.setattr(hosts, "_at_a_terminal", lambda: terminal)
    if answer is not None:
        monkeypatch.setattr(hosts.click, "confirm", lambda question, **_: answer)
    monkeypatch.setenv(USERNAME, USER)
    monkeypatch.setenv(PASSWORD, SECRET)
    result = run("--out", tmp_path / "run", "--hosts", "10.1.2.3", *options)
    assert SECRET not in result.output
    assert USER not in result.output
    return result, measured


def test_a_person_is_shown_the_cluster_and_asked(tmp_path, monkeypatch):
    result, measured = asked(tmp_path, monkeypatch, terminal=True, answer=False)
    assert result.exit_code == 2
    assert "nothing was written, as you said" in result.output
    assert "cluster 'Orders', Cassandra 4.1.7, data centre 'dc-north': 3 of 3 nodes answer" in result.output
    assert "keyspace cassbook: made for this run, 3 replicas, dropped at the end" in result.output
    assert not measured
    result, measured = asked(tmp_path, monkeypatch, terminal=True, answer=True)
    assert result.exit_code == 0
    assert measured[0][0].engine == "4.1.7"


def test_other_data_centres_hold_as_many_replicas(tmp_path, monkeypatch):
    alone, _ = asked(tmp_path, monkeypatch, "--yes")
    result, measured = asked(tmp_path, monkeypatch, "--yes", "--other-dc", "dc-south", "--other-dc", "dc-west")
    assert result.exit_code == 0
    assert "made for this run, 3 replicas in each of dc-north, dc-south, dc-west, dropped" in result.output
    assert measured[0][0].replicas == Replicas((3, 3, 3))
    tables_mb = [float(re.search(r"tables (\d+) MB", said.output)[1]) for said in (alone, result)]
    assert tables_mb[1] == pytest.approx(3 * tables_mb[0], rel=0.01)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("nowhere", "--other-dc: 'nowhere' is not there; name one of dc-north, dc-south, dc-west"),
        ("dc-north", "--other-dc: 'dc-north' is the clients' own (--dc)"),
        ("dc-west", "--other-dc: 3 replicas do not fit on the 1 node of 'dc-west'"),
    ],
)
def test_other_data_centres_have_to_be_there_with_enough_nodes(named, said):
    nodes = {"dc-north": 3, "dc-south": 3, "dc-west": 1}
    everyone = [SimpleNamespace(datacenter=name) for name, count in nodes.items() for _ in range(count)]
    Fake(Hosts(("a",), other_centres=("dc-south",)))._check_others(everyone)
    with pytest.raises(InputError, match=re.escape(said)):
        Fake(Hosts(("a",), other_centres=(named,)))._check_others(everyone)


def test_a_script_is_told_the_numbers(tmp_path, monkeypatch):
    result, measured = asked(tmp_path, monkeypatch)
    assert result.exit_code == 2
    assert "more than the 500 MB that are allowed; nothing was written" in result.output
    assert not measured
    enough = result.output.split("--at-most-mb ")[1].split(",")[0]
    result, measured = asked(tmp_path, monkeypatch, "--at-most-mb", enough)
    assert result.exit_code == 0
    assert measured
    result, measured = asked(tmp_path, monkeypatch, "--yes")
    assert measured


def test_a_keyspace_of_somebody_is_refused_before_the_question(tmp_path, monkeypatch):
    for comment, said in (("", "is not ours"), ("made by cassbook for run 2", "is of another run of cassbook")):
        result, measured = asked(tmp_path, monkeypatch, "--yes", comment=comment)
        assert result.exit_code == 2
        assert f"cassbook exists and {said}" in result.output
        assert "nothing was touched" in result.output
        assert not measured


def test_a_run_stays_on_its_cluster(tmp_path):
    profile = profile_for(load_profile("quick"), Fake(), print)
    store = RunStore.create(tmp_path / "run", profile)
    same_place(store, Fake())
    noted = (tmp_path / "run" / "manifest.json").read_text()
    for private in (SECRET, USER, "10.1.2.", "Orders", "dc-north", "shop"):
        assert private not in noted
    assert json.loads(noted)["existing_cluster"]["nodes_in_all"] == 6
    same_place(store, Fake())
    with pytest.raises(InputError, match="give --hosts again"):
        same_place(store, None)
    other = Fake()
    other.fingerprint = "cd34"
    with pytest.raises(InputError, match="was begun on another cluster"):
        same_place(store, other)
    store.close()
    begun_here = RunStore.create(tmp_path / "local", load_profile("quick"))
    begun_here.notes["cluster_starts"].append({"start": 1})
    with pytest.raises(InputError, match="was begun on a local cluster"):
        same_place(begun_here, Fake())
    begun_here.close()


def test_a_manifest_that_was_tampered_with_drops_nothing():
    cluster = Fake()
    with pytest.raises(InputError, match="is damaged"):
        cluster.take_up("x'; DROP KEYSPACE shop; --")
    cluster.take_up("ba9876543210")
    assert cluster.run == "ba9876543210"


@pytest.mark.parametrize("what", ["restart", "paused", "node_process"])
def test_what_is_done_to_nodes_is_refused_with_what_would_work(what):
    cluster = Fake()
    assert (cluster.started_here, cluster.nodes_here, cluster.replication, cluster.apart) == (False, 0, None, None)
    with pytest.raises(
        LaboratoryError, match=r"has not started .* without --hosts it measures on a cluster of its own"
    ):
        getattr(cluster, what)(*[] if what == "restart" else [1])


def test_notes_say_what_could_not_be_known():
    assert Fake().notes()["hints"] == "unknown"
    assert Fake(version="2.1.9").notes()["hints"] == "counted"
    assert Fake().notes()["java"]["version"] == "unknown"
    assert Fake().hints(None) is None
    assert Fake().labels == ["node1", "node2", "node3"]


def test_a_dry_run_looks_at_the_cluster_and_refuses_what_the_run_would(tmp_path, monkeypatch):
    result, measured = asked(tmp_path, monkeypatch, "--dry-run")
    assert result.exit_code == 0
    assert "cluster 'Orders', Cassandra 4.1.7" in result.output
    assert "cells in 3 blocks" in result.output
    result, _ = asked(tmp_path, monkeypatch, "--dry-run", comment="")
    assert result.exit_code == 2
    assert "cassbook exists and is not ours" in result.output
    checked = []
    monkeypatch.setattr(hosts_module, "check_statements", lambda profile, cluster: checked.append(profile.name) or True)
    result, _ = asked(tmp_path, monkeypatch, "--dry-run", "--profile", example(tmp_path))
    assert (result.exit_code, checked) == (0, ["orders"])
    assert "the cluster takes all statements of own workloads" in result.output
    assert "are checked by the server when the run begins" not in result.output
    options = {"authenticator": "x"}
    result, _ = asked(tmp_path, monkeypatch, "--dry-run", "--profile", profile_file(tmp_path, cluster__options=options))
    assert result.exit_code == 2
    assert "cluster.options (authenticator) cannot be set" in result.output
    assert not measured
    assert not (tmp_path / "run").exists()


def test_a_dry_run_without_contact_says_so():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        result = run("--hosts", f"127.0.0.1:{free.getsockname()[1]}", "--dry-run")
    assert result.exit_code == 1
    assert "could not connect to 127.0.0.1" in result.output
    assert "whether the profile fits the cluster is not known" in result.output
    assert "cells in 3 blocks" in result.output
    result = run("--hosts", "no-such-host.invalid", "--dry-run")
    assert result.exit_code == 2
    assert "has no address" in result.output


def test_the_pages_example_fits_an_existing_cluster(tmp_path, monkeypatch):
    result, measured = asked(tmp_path, monkeypatch, "--yes", "--profile", example(tmp_path))
    assert result.exit_code == 0, result.output
    assert [workload.name for workload in measured[0][0].workloads.own] == ["orders"]


def test_totals():
    assert Written(1.5, 2.0).total_mb == 3.5
