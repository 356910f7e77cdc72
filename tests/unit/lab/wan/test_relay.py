"""The relay's process passes bytes on whole, in order and late, tells callers apart, and ends when its sides do.

No verdict here is by how fast the machine is: a delay is never shorter than asked, which says nothing about how much
longer it may be. `test_relaying` holds the delays exactly, on a clock of its own.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import psutil
import pytest

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.deployment.link import NONE, Link
from cassbook.lab.wan.echo import Call, Echo, held_against, matrix
from cassbook.lab.wan.relay import Moved, Relay, Route
from tests.helpers.waiting import wait_until

RESET = struct.pack("ii", 1, 0)
#: What timers may be early.
EARLY_MS = 0.2


@pytest.fixture
def server():
    """A listening socket on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        yield listening


def free(address="127.0.0.1"):
    with socket.create_server((address, 0)) as listener:
        return listener.getsockname()


def links(there=NONE, back=NONE):
    return {("c", "s"): there, ("s", "c"): back}


@contextmanager
def through(server, there=NONE, back=NONE):
    """Both ends of a connection through a relay."""
    listen = free()
    with (
        Relay([Route(listen, server.getsockname(), "s", "c")], links(there, back)) as relay,
        socket.create_connection(listen, timeout=10) as near,
        server.accept()[0] as far,
    ):
        near.settimeout(10)
        far.settimeout(10)
        yield relay, near, far


def received(peer, size=None):
    """Everything up to the end, or so many bytes."""
    got = bytearray()
    while size is None or len(got) < size:
        data = peer.recv(1 << 16)
        if not data:
            break
        got += data
    return bytes(got)


@pytest.mark.parametrize(("there_ms", "back_ms"), [(50.0, 0.0), (0.0, 80.0), (30.0, 40.0)])
def test_each_direction_has_no_less_than_its_delay(server, there_ms, back_ms):
    with through(server, Link(there_ms), Link(back_ms)) as (_, near, far):
        for sender, receiver, asked_ms in ((near, far, there_ms), (far, near, back_ms)):
            taken = []
            for _ in range(5):
                began = time.monotonic()
                sender.sendall(b"x")
                assert receiver.recv(10) == b"x"
                taken.append((time.monotonic() - began) * 1000)
            assert min(taken) >= asked_ms - EARLY_MS


@pytest.mark.parametrize("link", [Link(), Link(5.0), Link(5.0, jitter_ms=5.0)])
def test_megabytes_arrive_whole_and_in_order_both_ways(server, link):
    there, back = os.urandom(20_000_000), os.urandom(15_000_000)

    def send(peer, data):
        chunks, at = np.random.default_rng(1), 0
        while at < len(data):
            size = int(chunks.choice((1, 100, 10_000, 500_000)))
            peer.sendall(data[at : at + size])
            at += size
        peer.shutdown(socket.SHUT_WR)

    with through(server, link, link) as (_, near, far):
        got = {}
        work = [
            threading.Thread(target=send, args=(near, there)), threading.Thread(target=send, args=(far, back)),
            threading.Thread(target=lambda: got.update(back=received(near))),
        ]  # fmt: skip
        for thread in work:
            thread.start()
        got["there"] = received(far)
        for thread in work:
            thread.join()
    assert got["there"] == there
    assert got["back"] == back


def test_a_slow_reader_holds_its_sender_back(server):
    with through(server, Link(1.0)) as (relay, near, far):
        near.settimeout(2)
        sent = 0
        with pytest.raises(TimeoutError):  # noqa: PT012 - at some time it happens
            while sent < 1 << 30:
                sent += near.send(bytes(1 << 20))
        assert sent < 200 << 20  # what the relay holds, and the kernel
        assert psutil.Process(relay.pid).memory_info().rss < 300 << 20
        assert len(received(far, sent)) == sent


def test_bandwidth_bounds_throughput(server):
    with through(server, Link(20.0, mbit_per_s=80.0)) as (_, near, far):
        began = time.monotonic()
        near.sendall(bytes(1_000_000))
        assert len(received(far, 1_000_000)) == 1_000_000
        assert time.monotonic() - began >= 0.12 - EARLY_MS / 1000


def test_a_half_that_has_ended_leaves_the_other_open(server):
    with through(server, Link(20.0), Link(20.0)) as (_, near, far):
        near.sendall(b"the last word")
        near.shutdown(socket.SHUT_WR)
        assert received(far) == b"the last word"
        far.sendall(b"go on")
        time.sleep(0.1)
        far.sendall(b" and on")
        far.shutdown(socket.SHUT_WR)
        assert received(near) == b"go on and on"


def test_nobody_there_is_a_connection_reset():
    listen = free()
    # The reset may come while the connection is being made.
    with (
        Relay([Route(listen, free(), "s", "c")], {}),
        pytest.raises(ConnectionResetError),
        socket.create_connection(listen, timeout=10) as peer,
    ):
        peer.recv(10)


def test_many_connections_leave_nothing_behind(server):
    listen = free()
    with Relay([Route(listen, server.getsockname(), "s", "c")], links()) as relay:
        process = psutil.Process(relay.pid)
        before = process.num_fds()
        for k in range(60):
            near = socket.create_connection(listen, timeout=10)
            far, _ = server.accept()
            if k % 3 == 0:
                near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            near.close()
            far.close()
        wait_until(lambda: process.num_fds() <= before)
        assert process.num_fds() == before
        assert relay.report().connections == 60


def test_callers_are_told_apart_by_the_address_they_call_from():
    listening, relayed = free("127.0.0.2"), free("127.0.0.2")
    hosts = {"127.0.0.1": "A", "127.0.0.2": "B", "127.0.0.3": "D"}
    asked = {("A", "B"): Link(5), ("B", "A"): Link(15), ("D", "B"): Link(30), ("B", "D"): Link(30)}
    calls = [Call(hosts[source], "B", source, relayed) for source in ("127.0.0.1", "127.0.0.3")]
    with (
        Relay([Route(relayed, listening, "B")], asked, hosts) as relay,
        Echo([listening], calls, interval_s=0.02) as echo,
    ):
        reports = [echo.report()]

        def ten_of_each():
            reports.append(echo.report())
            return (pd.concat(reports)["from"].value_counts().reindex(["A", "D"]).fillna(0) >= 10).all()

        wait_until(ten_of_each)
        echoes = pd.concat(reports, ignore_index=True)
        moved = relay.report()
    assert moved.strangers == 0
    assert set(moved.chunks) == set(asked)
    shortest_ms = echoes.groupby("from")[["there_ms", "back_ms"]].min()
    assert (shortest_ms.loc["A"] >= [5 - EARLY_MS, 15 - EARLY_MS]).all()
    assert (shortest_ms.loc["D"] >= 30 - EARLY_MS).all()
    assert shortest_ms.loc["A"].sum() < shortest_ms.loc["D"].sum()
    there = echoes[echoes["from"] == "A"]
    one_way = matrix(echoes)
    assert (one_way.loc["A", "B"], one_way.loc["B", "A"]) == (there["there_ms"].median(), there["back_ms"].median())


@pytest.mark.parametrize(("pair", "strangers"), [(("A", "B"), 0), (("", "B"), 3), (("B", ""), 3), (("B", "B"), 3)])
def test_who_is_no_host_or_calls_itself_is_a_stranger(pair, strangers):
    assert Moved(1.0, {("A", "B"): 5, pair: 3}, {}, (0,), 0.0, 1).strangers == strangers


CALLER = """
import socket, sys, time
listening = socket.create_server((sys.argv[1], int(sys.argv[2])))
manager = socket.create_server(("127.0.0.5", 0))
own = socket.create_connection(("127.0.0.9", int(sys.argv[3])))
own.sendall(b"x")
own.recv(1)
own.sendall(b"y")
time.sleep(60)
"""


def test_callers_are_told_apart_by_the_process_that_calls():
    listen = free("127.0.0.9")
    hosts = {"127.0.0.5": "A", "127.0.0.6": "B"}
    asked = {("A", "s"): Link(50), ("B", "s"): Link(200)}
    addresses = {name: free(address) for address, name in hosts.items()}
    with socket.create_server(("127.0.0.1", 0)) as server, Relay(
        [Route(listen, server.getsockname(), "s"), *(Route(free(), at, name) for name, at in addresses.items())],
        asked, hosts, by_owner=True,
    ) as relay:  # fmt: skip
        server.settimeout(10)
        for name, asked_s in (("A", 0.05), ("B", 0.2)):
            address, port = addresses[name]
            with subprocess.Popen([sys.executable, "-c", CALLER, address, str(port), str(listen[1])]) as caller:
                far, _ = server.accept()
                with far:
                    far.recv(1)
                    far.sendall(b"z")
                    began = time.monotonic()
                    assert far.recv(1) == b"y"
                    taken = time.monotonic() - began
                caller.kill()
            assert taken >= asked_s * 0.95  # as late as calls from this host are, whose chunks these were
            assert relay.report().chunks[name, "s"] == 2


def test_links_change_while_connections_are_up(server):
    with through(server) as (relay, near, far):
        relay.set_links(links(Link(100.0)))
        began = time.monotonic()
        near.sendall(b"x")
        far.recv(1)
        assert time.monotonic() - began >= 0.1 - EARLY_MS / 1000


def test_it_says_what_it_moved_and_how_late(server):
    with through(server, Link(10.0), Link(0.0)) as (relay, near, far):
        for _ in range(20):
            near.sendall(b"12345")
            far.sendall(far.recv(5))
            near.recv(5)
        moved = relay.report()
        assert moved.bytes == {("c", "s"): 100, ("s", "c"): 100}
        assert moved.chunks == {("c", "s"): 20, ("s", "c"): 20}
        assert moved.bytes_per_s == pytest.approx(200 / moved.seconds)
        assert sum(moved.late) == 20
        assert sum(relay.report().bytes.values()) == 0


def test_a_taken_address_is_named(server):
    host, port = server.getsockname()
    with pytest.raises(LaboratoryError, match=rf"relay .*{host}:{port}: Address already in use"):
        Relay([Route((host, port), (host, port), "s", "c")], {}).start()


def test_a_relay_that_has_died_says_so(server):
    with through(server) as (relay, near, _):
        assert relay.alive
        os.kill(relay.pid, signal.SIGKILL)
        with pytest.raises((ConnectionResetError, AssertionError)):
            assert near.recv(1) != b""
        with pytest.raises(LaboratoryError, match=r"the relay \(process \d+\) .*status -9"):
            relay.report()
        assert not relay.alive


def test_it_does_not_outlive_who_started_it(server):
    listen = free()
    program = f"""
import os
from cassbook.lab.wan.relay import Moved, Relay, Route
relay = Relay([Route({listen!r}, {server.getsockname()!r}, "s", "c")], {{}})
relay.start()
print(relay.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    wait_until(lambda: not psutil.pid_exists(int(done.stdout)))


def test_an_echo_is_held_against_what_was_asked():
    echoes = pd.DataFrame({"from": "A", "to": "B", "rtt_ms": [20.1, 20.4, 20.9, 80.0]})
    asked = pd.DataFrame({"B": [20.0]}, index=["A"])
    row = held_against(echoes, asked).iloc[0]
    assert (row["echoes"], row["asked_ms"], bool(row["kept"])) == (4, 20.0, True)
    assert row["off_ms"] == pytest.approx(0.65)
    assert not held_against(echoes.assign(rtt_ms=23.0), asked)["kept"].iloc[0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1,), "delay: -1 ms"),
        ((9000,), "delay: 9000 ms"),
        ((1, 2), "jitter: 2 ms"),
        ((1, 0, 0), "bandwidth: 0 Mbit/s"),
    ],
)
def test_an_absurd_link_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        Link(*values)
