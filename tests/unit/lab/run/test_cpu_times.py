"""Whose processor time it was: of the client and its children, and of others."""

import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import psutil
import pytest

from cassbook.core.schema import CELLS
from cassbook.lab.run.cpu_times import CpuTimes

BUSY = "import time\nwhile time.process_time() < 0.4: pass\nprint('done', flush=True)\ntime.sleep(60)"


def test_a_child_counts_as_the_client_and_the_rest_as_others():
    cpu = CpuTimes(SimpleNamespace(nodes_here=0), every_s=0.05)
    began = time.perf_counter()
    with cpu.watched(), subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        cpu.look()
        child.kill()
    ended = time.perf_counter()
    took = cpu.between(began, ended)
    assert took["client_cpu_s"] >= 0.35
    assert took["node_cpu_s"] == 0.0
    assert 0 <= took["steal"] <= 1
    columns = cpu.columns(began, ended)
    assert set(columns) <= set(CELLS)
    all_s = (ended - began) * psutil.cpu_count()
    assert columns["other_cpu_share"] == pytest.approx(
        max(0.0, took["other_cpu_s"] - took["interrupts_s"]) / all_s, abs=1e-4
    )
    half = cpu.between(began, (began + ended) / 2)["client_cpu_s"]
    assert half < took["client_cpu_s"]


def test_what_a_process_took_before_does_not_count():
    while time.process_time() < 0.2:
        pass
    cpu = CpuTimes(SimpleNamespace(nodes_here=0), every_s=1.0)
    began = time.perf_counter()
    with cpu.watched():
        time.sleep(0.05)
    assert cpu.between(began, time.perf_counter())["client_cpu_s"] < 0.15


def test_what_goes_over_the_loopback_and_to_the_busiest_disk(monkeypatch):
    disks = iter([{"a": 90.0, "b": 1.0}] * 3 + [{"a": 90.0, "b": 1.5}] * 9)  # a was busy once, b is now
    monkeypatch.setattr("cassbook.lab.run.cpu_times._disks_busy_s", lambda: next(disks))
    cpu, sent = CpuTimes(SimpleNamespace(nodes_here=0), every_s=60.0), 4_000_000
    with cpu.watched():
        time.sleep(0.1)  # the watcher takes its first sample
        cpu.look()
        began = time.perf_counter()
        sender, receiver = loopback_pair()
        with sender, receiver:
            reading = threading.Thread(target=drained, args=(receiver,))
            reading.start()
            sender.sendall(b"x" * sent)
            sender.shutdown(socket.SHUT_WR)
            reading.join()
        cpu.look()
        ended = time.perf_counter()
    took = cpu.between(began, ended)
    assert took["wire_mb_per_s"] * (ended - began) == pytest.approx(sent / 1e6, rel=0.5)
    assert took["disk"] * (ended - began) == pytest.approx(0.5, rel=0.5)  # of b alone


def loopback_pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        return sender, server.accept()[0]


def drained(connection):
    while connection.recv(1 << 16):
        pass
