"""Finding Java and Cassandra: order of sources, pinned sums, and what is said when something is wrong."""

import itertools
import subprocess
import sys
from types import SimpleNamespace

import pytest

from cassbook.core import files
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.releases import RELEASES, release
from cassbook.lab.engine import cluster, fetch, home, java, preflight, teardown
from cassbook.lab.engine.cluster import Spec


@pytest.fixture
def empty_machine(tmp_path, monkeypatch):
    """No cache, no ccm repository, no named folder."""
    monkeypatch.setenv("CASSBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CCM_CONFIG_DIR", str(tmp_path / "ccm"))
    monkeypatch.delenv(fetch.HOME_VARIABLE, raising=False)
    return tmp_path


def fake_home(folder, version, content=b"jar"):
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / f"apache-cassandra-{version}.jar").write_bytes(content)
    return folder


def fake_java(folder, version):
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text("#!/bin/sh\n")
    (folder / "bin" / "java").chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return folder


def test_known_engines_and_the_default():
    assert list(RELEASES) == ["2.1.20", "2.2.4", "3.11.4", "5.0.9"]
    with pytest.raises(InputError, match=r"2\.1\.20, 2\.2\.4, 3\.11\.4, 5\.0\.9"):
        release("4.1.0")


def test_a_mismatch_shows_both_sums(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    actual = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    files.check(path, actual)
    with pytest.raises(LaboratoryError) as caught:
        files.check(path, "0" * 64)
    assert actual in str(caught.value)
    assert "0" * 64 in str(caught.value)


def test_nothing_present_is_found_as_nothing(empty_machine):
    assert fetch.locate(release("2.1.20")) is None


def test_a_named_folder_comes_first_and_is_checked(empty_machine, monkeypatch):
    named = fake_home(empty_machine / "mine", "2.1.20")
    monkeypatch.setenv(fetch.HOME_VARIABLE, str(named))
    with pytest.raises(LaboratoryError, match="SHA-256 mismatch"):
        fetch.locate(release("2.1.20"))
    with pytest.raises(InputError, match=r"holds no Cassandra 5\.0\.9"):
        fetch.locate(release("5.0.9"))


def test_order_of_sources(empty_machine, monkeypatch):
    monkeypatch.setattr(fetch, "check", lambda path, pinned: None)
    fake_home(empty_machine / "cache" / "cassandra" / "2.1.20", "2.1.20")
    assert fetch.locate(release("2.1.20")).source == "Maven Central (cached)"
    fake_home(empty_machine / "ccm" / "repository" / "2.1.20", "2.1.20")
    assert fetch.locate(release("2.1.20")).source == "ccm repository"
    monkeypatch.setenv(fetch.HOME_VARIABLE, str(fake_home(empty_machine / "mine", "2.1.20")))
    assert fetch.locate(release("2.1.20")).source == fetch.HOME_VARIABLE


def test_a_damaged_download_stops_and_leaves_nothing(empty_machine, monkeypatch):
    """Maven brings a file with another sum: no further source is asked, the cache stays empty."""

    def wrong(folder, *arguments):
        (folder / "apache-cassandra-2.1.20-bin.tar.gz").write_bytes(b"not it")

    monkeypatch.setattr(fetch, "_maven", wrong)
    monkeypatch.setattr(fetch.shutil, "which", lambda name: "/usr/bin/mvn")
    monkeypatch.setattr(fetch, "_from_ccm", lambda release: pytest.fail("asked although the sum was wrong"))
    with pytest.raises(LaboratoryError, match="SHA-256 mismatch"):
        fetch.obtain(release("2.1.20"), lambda line: None)
    assert not list((empty_machine / "cache" / "cassandra").iterdir())


def test_all_refusals_are_told(empty_machine, monkeypatch):
    def refuse(folder, *arguments):
        raise subprocess.CalledProcessError(1, "mvn", output="[INFO] x\n[ERROR] cannot resolve host\n")

    def refuse_too(release):
        raise RuntimeError("archive unreachable")

    monkeypatch.setattr(fetch, "_maven", refuse)
    monkeypatch.setattr(fetch.shutil, "which", lambda name: "/usr/bin/mvn")
    monkeypatch.setattr(fetch, "_from_ccm", refuse_too)
    with pytest.raises(LaboratoryError) as caught:
        fetch.obtain(release("2.1.20"), lambda line: None)
    for part in ("cannot resolve host", "archive unreachable", fetch.HOME_VARIABLE):
        assert part in str(caught.value)


def test_every_assembled_jar_is_pinned():
    sums = release("5.0.9").jar_sums()
    assert sums["cassandra-all-5.0.9.jar"] == release("5.0.9").server_jar_sha256
    assert all(len(digest) == 64 for digest in sums.values())


def test_java_8_before_11_wherever_it_lies(tmp_path, monkeypatch):
    monkeypatch.setenv("CASSBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_usual_homes", lambda: iter([("usual", fake_java(tmp_path / "u", "1.8.0_402"))]))
    monkeypatch.setenv("JAVA11_HOME", str(fake_java(tmp_path / "n", "11.0.2")))
    chosen = java.locate(release("2.1.20"))
    assert (chosen.feature, chosen.version, chosen.source) == (8, "1.8.0_402", "usual")


def test_a_named_java_comes_before_a_usual_one(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "_usual_homes", lambda: iter([("usual", fake_java(tmp_path / "u", "17.0.9"))]))
    monkeypatch.setenv("JAVA_HOME_17_X64", str(fake_java(tmp_path / "n", "17.0.1")))
    assert java.locate(release("5.0.9")).version == "17.0.1"


def test_java_that_does_not_suit_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("CASSBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_named_homes", lambda: iter([]))
    monkeypatch.setattr(java, "_usual_homes", lambda: iter([("usual", fake_java(tmp_path / "u", "21.0.1"))]))
    assert java.locate(release("5.0.9")) is None


def test_options_suit_engine_and_java(tmp_path):
    (tmp_path / "jamm-0.3.0.jar").touch()
    eight, eleven = (java.Java(f, str(f), tmp_path, "test") for f in (8, 11))
    old = home.jvm_options(release("2.1.20"), eight, 1024, tmp_path)
    new = home.jvm_options(release("2.2.4"), eleven, 512, tmp_path)
    assert "-XX:+UseConcMarkSweepGC" in old
    assert not any(option.startswith("--add") for option in old)
    assert "-XX:+UseG1GC" in new
    assert "-Xmx512M" in new
    assert "-Dcassandra.native.epoll.enabled=false" in new
    assert any(option.startswith("-javaagent:") and "jamm" in option for option in new)


@pytest.mark.parametrize("spec", [{"nodes": 3, "replication_factor": 4}, {"nodes": 0}, {"replication_factor": 0}])
def test_impossible_clusters_are_refused(spec):
    with pytest.raises(InputError):
        Spec(**spec)


def test_want_of_memory_and_disk_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight.psutil, "virtual_memory", lambda: type("M", (), {"available": 100 * 2**20}))
    monkeypatch.setattr(preflight.psutil, "disk_usage", lambda path: type("D", (), {"free": 50 * 2**20}))
    problems = " ".join(preflight.problems(3, 1024, tmp_path / "not" / "yet"))
    assert "100 MB are available" in problems
    assert "50 MB are free" in problems


def test_options_are_named_as_the_release_has_them():
    asked = {"commitlog_sync": "batch", "commitlog_segment_size_in_mb": 4, "max_hint_window_in_ms": 5000}
    old = cluster.named_for(release("2.1.20"), asked)
    assert old == asked | {"commitlog_sync_period_in_ms": None, "commitlog_sync_batch_window_in_ms": 2}
    new = cluster.named_for(release("5.0.9"), asked)
    assert new == {
        "commitlog_sync": "batch", "commitlog_sync_period": "0ms", "commitlog_segment_size": "4MiB",
        "max_hint_window": "5000ms",
    }  # fmt: skip
    assert all(value is not None for value in new.values())  # 5.0.9 does not start over an empty value
    assert cluster.named_for(release("5.0.9"), {"hinted_handoff_enabled": False}) == {"hinted_handoff_enabled": False}


def test_all_listeners_are_on_loopback():
    assert all(listener.host.startswith("127.") for listener in preflight.listeners(8))


def test_tear_down_kills_what_runs_from_the_folder_and_removes_it(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    node = [sys.executable, "-c", "import time; time.sleep(600)", f"-Dcassandra.storagedir={folder}/ccm/node1"]
    onlooker = [sys.executable, "-c", "import time; time.sleep(600)", f"{folder}/ccm/node1/logs/system.log"]
    process, other = subprocess.Popen(node), subprocess.Popen(onlooker)
    assert [p.pid for p in teardown.processes(folder)] == [process.pid]
    teardown.tear_down(folder)
    process.wait(timeout=10)
    assert not teardown.processes(folder)
    assert not folder.exists()
    assert other.poll() is None  # whoever only looks at a log is left alone
    other.kill()
    other.wait()
    teardown.tear_down(folder)


def test_further_jvm_options_come_from_the_environment(monkeypatch):
    monkeypatch.setenv(home.OPTIONS_VARIABLE, "-XX:TieredStopAtLevel=1  -verbose:gc")
    assert home.further_options() == ["-XX:TieredStopAtLevel=1", "-verbose:gc"]
    monkeypatch.delenv(home.OPTIONS_VARIABLE)
    assert home.further_options() == []


def test_a_session_that_holds_a_node_for_removed_is_made_anew(tmp_path, monkeypatch):
    """A driver that connects while a node is replaced at its own address may never take it for up again."""
    monkeypatch.setenv("CASSBOOK_CACHE", str(tmp_path))
    closed = []

    def session(number):
        return SimpleNamespace(number=number, cluster=SimpleNamespace(shutdown=lambda: closed.append(number)))

    made = map(session, itertools.count(1))
    monkeypatch.setattr(cluster, "_RENEW_S", 0.0)
    monkeypatch.setattr(cluster, "answers", lambda address: True)
    monkeypatch.setattr(cluster.CassandraCluster, "connect", lambda self: next(made))
    for question in ("missing_peers", "ensure_probe_table"):
        monkeypatch.setattr(cluster.cluster_state, question, lambda session, nodes: [])
    held = "127.0.0.3: Host has been marked down or removed"
    monkeypatch.setattr(
        cluster.cluster_state, "read_at_all", lambda session, nodes: [held] if session.number == 1 else []
    )
    cluster.CassandraCluster("2.1.20", Spec(nodes=3)).wait_until_whole()
    assert closed == [1, 2]
