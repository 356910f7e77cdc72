"""When the relay passes bytes on, to the microsecond: on a clock that only the test moves, so that no load of the
machine can make it late. `test_relay` has the process around it.
"""

import math
import select
import socket
import struct
from types import SimpleNamespace

import pytest

from cassbook.lab.wan import precise, relay_process
from cassbook.lab.wan.relay import free_address
from cassbook.lab.wan.relay_process import Callers

US = 1e-6
RESET = struct.pack("ii", 1, 0)


class Moved(precise.Loop):
    """A loop whose time passes only in `to`; it waits for files as the real one does."""

    now_s = 0.0

    def turn(self):
        """Look at the files that are ready, of which there must be one."""
        ready = self._epoll.poll(10)
        assert ready, "nothing came"
        for fd, events in ready:
            if fd in self._on:
                self._on[fd](events)

    def to(self, now_s):
        """Let time pass, and do what is due on the way in its order."""
        while self._due and self._due[0][0] <= now_s:
            self.now_s, _, callback = precise.heapq.heappop(self._due)
            callback(self.now_s, self.now_s)
        self.now_s = now_s


class Line:
    """Both ends of a connection through a relay at `loop.now_s`: near is the caller's, far the server's."""

    def __init__(self, loop, relay, near, far):
        self.loop, self.relay, self.near, self.far = loop, relay, near, far

    def send(self, end, data):
        """Have the relay take what an end sends."""
        way = self.relay.between(*(("c", "s") if end is self.near else ("s", "c")))
        until = way.bytes + len(data)
        end.sendall(data)
        while way.bytes < until:
            self.loop.turn()

    def link(self, there_s=0.0, back_s=0.0, seconds_per_byte=0.0):
        self.relay.set_links([("c", "s", there_s, 0.0, seconds_per_byte), ("s", "c", back_s, 0.0, 0.0)])


def nothing(peer):
    """Whether nothing has come."""
    return not select.select([peer], [], [], 0)[0]


def whole(peer, size):
    """So many bytes."""
    got = b""
    while len(got) < size:
        got += peer.recv(size - len(got))
    return got


@pytest.fixture
def line(monkeypatch):
    loop = Moved()
    monkeypatch.setattr(relay_process, "clock", lambda: loop.now_s)
    at = free_address()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        route = {"listen": at, "to": server.getsockname(), "host": "s", "caller": "c"}
        relay = relay_process.Forwarder(loop, [route], Callers({}, by_owner=False))
        with socket.create_connection(at, timeout=10) as near:
            loop.turn()
            with server.accept()[0] as far:
                far.settimeout(10)
                yield Line(loop, relay, near, far)


@pytest.mark.parametrize(("there_s", "back_s"), [(0.05, 0.0), (0.0, 0.08), (0.03, 0.04)])
def test_each_direction_has_its_delay_and_no_more(line, there_s, back_s):
    line.link(there_s, back_s)
    for sender, receiver, asked_s in ((line.near, line.far, there_s), (line.far, line.near, back_s)):
        began_s = line.loop.now_s
        line.send(sender, b"x")
        if asked_s:
            line.loop.to(began_s + asked_s - US)
            assert nothing(receiver)
            line.loop.to(began_s + asked_s)
        assert receiver.recv(10) == b"x"
        assert line.loop.now_s == began_s + asked_s


def test_delay_is_not_throughput(line):
    """Fifty bytes, a millisecond apart, all of them on their way together: each arrives a delay after it left."""
    line.link(0.1)
    for k in range(50):
        line.loop.to(k / 1000)
        line.send(line.near, bytes([k]))
    assert nothing(line.far)
    for k in range(50):
        line.loop.to(0.1 + k / 1000 + US)
        assert line.far.recv(10) == bytes([k])


def test_bandwidth_is_throughput(line):
    """10 kB take 10 ms at 8 Mbit/s, and each lot waits for the one before."""
    line.link(0.02, seconds_per_byte=US)
    for _ in range(10):
        line.send(line.near, bytes(10_000))
    for k in range(1, 11):
        line.loop.to(0.02 + k * 0.01 - US)
        came = 0 if nothing(line.far) else len(line.far.recv(10_000, socket.MSG_PEEK))
        assert came < 10_000
        line.loop.to(0.02 + k * 0.01 + US)
        assert len(whole(line.far, 10_000)) == 10_000
        assert nothing(line.far)


def test_links_change_while_connections_are_up(line):
    line.link(0.1)
    line.send(line.near, b"x")
    line.loop.to(0.1)
    assert line.far.recv(10) == b"x"
    line.link(0.01)
    line.send(line.near, b"y")
    line.loop.to(0.1 + 0.01 - US)
    assert nothing(line.far)
    line.loop.to(0.1 + 0.01)
    assert line.far.recv(10) == b"y"


def test_a_cut_link_keeps_what_comes_until_it_is_whole_again(line):
    line.link(0.1)
    line.send(line.near, b"under way ")
    line.link(math.inf)
    line.send(line.near, b"kept ")
    line.loop.to(0.1)
    assert whole(line.far, 10) == b"under way "
    line.send(line.near, b"too")
    line.send(line.far, b"back")  # the other way is whole
    assert whole(line.near, 4) == b"back"
    line.loop.to(50.0)
    assert nothing(line.far)
    line.link(0.01)
    line.loop.to(50.01 - US)
    assert nothing(line.far)
    line.loop.to(50.01)
    assert whole(line.far, 8) == b"kept too"
    line.send(line.near, b"after")
    line.loop.to(50.02)
    assert line.far.recv(10) == b"after"


def test_what_a_sender_left_that_ended_behind_a_cut_is_lost_with_it(line):
    line.link(0.01)
    line.send(line.near, b"arrived")
    line.loop.to(0.01)
    assert whole(line.far, 7) == b"arrived"
    line.link(math.inf)
    line.send(line.near, b"held back")
    line.near.shutdown(socket.SHUT_WR)
    line.loop.turn()
    line.link(0.01)
    line.loop.to(50.0)
    with pytest.raises(ConnectionResetError):
        line.far.recv(10)


def test_a_link_that_is_healed_while_something_is_under_way_sends_it_in_its_time(line):
    line.link(0.1)
    line.send(line.near, b"one ")
    line.link(math.inf)
    line.send(line.near, b"two")
    line.link(0.01)
    line.loop.to(0.1 - US)
    assert nothing(line.far)  # none overtakes
    line.loop.to(0.1)
    assert whole(line.far, 7) == b"one two"


def test_none_overtakes_where_a_link_becomes_shorter(line):
    line.link(0.1)
    line.send(line.near, b"x")
    line.link(0.01)
    line.send(line.near, b"y")
    line.loop.to(0.1 - US)
    assert nothing(line.far)
    line.loop.to(0.1)
    assert whole(line.far, 2) == b"xy"


@pytest.mark.parametrize("by", ["near", "far"])
def test_a_reset_is_passed_on_at_once_and_past_what_waits(line, by):
    line.link(2.0, 2.0)
    resets, sees = (line.near, line.far) if by == "near" else (line.far, line.near)
    line.send(resets, b"on its way")
    resets.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    resets.close()
    line.loop.turn()
    with pytest.raises(ConnectionResetError):
        sees.recv(10)
    assert line.loop.now_s == 0


def test_an_end_comes_behind_the_bytes_before_it(line):
    line.link(0.02)
    line.send(line.near, b"the last word")
    line.near.shutdown(socket.SHUT_WR)
    line.loop.turn()
    line.loop.to(0.02 - US)
    assert nothing(line.far)
    line.loop.to(0.02)
    assert whole(line.far, 13) == b"the last word"
    assert line.far.recv(10) == b""


def test_the_loop_wakes_for_what_is_due_and_not_much_before(monkeypatch):
    """It asks the kernel to wait for so long, less the time that waking takes, and takes the earliest first."""
    now_s, asked, done = [5.0], [], []

    def wait(read, write, other, timeout_s):
        asked.append(timeout_s)
        now_s[0] += timeout_s
        return [], [], []

    monkeypatch.setattr(precise, "clock", lambda: now_s[0])
    monkeypatch.setattr(precise, "select", SimpleNamespace(epoll=precise.select.epoll, select=wait))
    monkeypatch.setattr(precise, "_SLACK", SimpleNamespace(exists=lambda: False))
    loop = precise.Loop()
    loop.at(5.3, lambda due, now: (done.append((due, now)), loop.stop()))
    loop.at(5.1, lambda due, now: done.append((due, now)))
    loop.run()
    assert asked == [pytest.approx(0.1 - precise._EARLY_S), pytest.approx(0.2)]
    assert done == [(5.1, pytest.approx(5.1)), (5.3, pytest.approx(5.3))]
