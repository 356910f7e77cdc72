"""The relay passes bytes on whole, in order and late, and ends when its sides do."""

import os
import socket
import threading
import time

import pytest

from cassbook.errors import LaboratoryError
from cassbook.wan.relay import Relay, Route


@pytest.fixture
def echo():
    """A server that sends back what it gets; its address."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(10)
    stop = threading.Event()

    def serve():
        while not stop.is_set():
            try:
                peer, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(peer,), daemon=True).start()

    def answer(peer):
        with peer:
            while data := peer.recv(1 << 16):
                peer.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()
    stop.set()
    server.close()


def free():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()


def trip(address, data=b"x"):
    with socket.create_connection(address, timeout=10) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        peer.sendall(data)
        got = peer.recv(1 << 16)
        return time.perf_counter() - began, got


@pytest.mark.parametrize(("there_s", "back_s"), [(0.05, 0.0), (0.0, 0.08), (0.03, 0.04)])
def test_each_direction_has_its_delay(echo, there_s, back_s):
    listen = free()
    with Relay([Route(listen, echo, there_s, back_s)]):
        taken, got = min(trip(listen) for _ in range(5))
    assert got == b"x"
    assert there_s + back_s <= taken < there_s + back_s + 0.05


def test_megabytes_arrive_whole_and_in_order(echo):
    listen, sent = free(), os.urandom(5_000_000)
    with Relay([Route(listen, echo, 0.01, 0.01)]), socket.create_connection(listen, timeout=20) as peer:
        threading.Thread(target=lambda: (peer.sendall(sent), peer.shutdown(socket.SHUT_WR)), daemon=True).start()
        got = bytearray()
        while data := peer.recv(1 << 16):
            got += data
    assert bytes(got) == sent  # the end was passed on too: recv came back empty


def test_delay_is_not_throughput(echo):
    listen = free()
    with Relay([Route(listen, echo, 0.1, 0.0)]), socket.create_connection(listen, timeout=10) as peer:
        began = time.perf_counter()
        for _ in range(50):
            peer.sendall(b"y")
            time.sleep(0.001)
        got = 0
        while got < 50:
            got += len(peer.recv(100))
        assert time.perf_counter() - began < 0.1 + 50 * 0.01


def test_nobody_there_is_a_closed_connection():
    listen = free()
    with Relay([Route(listen, free())]), socket.create_connection(listen, timeout=10) as peer:
        peer.settimeout(5)
        assert ends(peer)


def ends(peer):
    """Whether the other side closes or resets the connection, and sends nothing before."""
    try:
        return peer.recv(10) == b""
    except ConnectionResetError:
        return True


def test_a_taken_address_is_named(echo):
    with pytest.raises(LaboratoryError, match=rf"cannot listen: .*{echo[1]}"):
        Relay([Route(echo, echo)]).start()


def test_stopping_ends_what_goes_through(echo):
    listen = free()
    relay = Relay([Route(listen, echo)])
    relay.start()
    peer = socket.create_connection(listen, timeout=10)
    peer.sendall(b"z")
    assert peer.recv(10) == b"z"
    relay.stop()
    assert ends(peer)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(listen, timeout=1)
