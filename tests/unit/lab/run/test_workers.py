"""Workers of a real Dask cluster on this machine: who they are, what they run, and that a lost one is noticed."""

import os
import shutil
import signal
import subprocess

import pytest
from distributed import LocalCluster
from distributed.security import Security

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.lab.run import on_worker, workers
from cassbook.lab.run.processes import LostClientError
from cassbook.lab.run.remote import measure_offset
from cassbook.lab.run.workers import Asked, Workers


@pytest.fixture(scope="module")
def address():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1") as cluster:
        yield cluster.scheduler_address


def test_who_is_there_and_how_their_clocks_are(address):
    with Workers(Asked(address)) as there:
        assert [(w.number, w.host, w.cores) for w in there.all] == [(1, 1, os.cpu_count()), (2, 1, os.cpu_count())]
        assert any("several workers are on one host" in line for line in there.described())
        assert any("tcp:// is not encrypted" in line for line in there.described())
        offset = measure_offset(lambda: there.read_clock(there.all[1]))
        assert abs(offset.offset_s) <= offset.bound_s < 0.5  # one machine, one clock


@pytest.mark.parametrize("name", ["Python", "cassbook", "distributed", "the source of cassbook"])
def test_another_version_is_refused(address, monkeypatch, name):
    def same(what, ours, theirs):
        return what != name

    monkeypatch.setattr(workers, "_same", same)
    with pytest.raises(InputError, match=rf"tcp://127\.0\.0\.1:\d+ has {name} .*align"):
        Workers(Asked(address))


def test_what_counts_as_the_same():
    assert workers._same("Python", "3.11.7", "3.11.2")
    assert not workers._same("Python", "3.11.7", "3.12.7")
    assert not workers._same("cassbook", "0.1.0", "0.1.1")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with a key")
def test_a_scheduler_that_speaks_tls(tmp_path):
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=me"],
        check=True, capture_output=True,
    )  # fmt: skip
    files = {f"tls_{who}_{what}": str({"key": key, "cert": cert}[what])
             for who in ("scheduler", "worker", "client") for what in ("key", "cert")}  # fmt: skip
    security = Security(tls_ca_file=str(cert), require_encryption=True, **files)
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", host="tls://127.0.0.1", security=security
    ) as cluster:
        with Workers(Asked(cluster.scheduler_address, cert, cert, key)) as there:
            assert cluster.scheduler_address.startswith("tls://")
            assert there.call(there.all[0], os.getpid) != os.getpid()
            assert not any("not encrypted" in line for line in there.described())
        with pytest.raises(LaboratoryError, match="no scheduler answers there"):
            Workers(Asked(cluster.scheduler_address.replace("tls://", "tcp://")))


def test_nobody_there(monkeypatch):
    monkeypatch.setattr(workers, "_CONNECT_S", 0.3)
    with pytest.raises(LaboratoryError, match="no scheduler answers there"):
        Workers(Asked("tcp://127.0.0.1:1"))


def call_until_lost(there, worker):
    for _ in range(1000):
        there.call(worker, on_worker.clock)


def test_a_worker_that_is_killed_is_lost_at_once_and_replaced(address):
    with Workers(Asked(address)) as there:
        first, second = there.all
        os.kill(there.call(first, os.getpid), signal.SIGKILL)
        with pytest.raises(LostClientError, match="worker 1 is lost"):
            call_until_lost(there, first)
        there.call(second, on_worker.clock)
        assert [worker.number for worker in there.again()] == [2, 3]
