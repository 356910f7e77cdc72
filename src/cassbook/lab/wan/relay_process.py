"""The relay's own process: moves bytes between sockets, each direction of each connection late by its link.

A chunk costs two system calls and little else, a third of what it costs in asyncio.
"""

from __future__ import annotations

import math
import os
import random
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import psutil

from cassbook.core.errors import LaboratoryError
from cassbook.lab.wan import precise
from cassbook.lab.wan.child import Owner
from cassbook.lab.wan.precise import READ, WRITE, clock

_CHUNK = 1 << 18
#: What may wait in one direction of a connection before its sender is held back: 64 MB is 0.5 s at 1 Gbit/s.
_MOST_BYTES = 64 << 20
_SEED = 20211207
_BINS = 32  # of lateness, by the binary logarithm of microseconds
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER for no time: closing sends a reset


class Callers:
    """Identifies the host that a connection comes from; `hosts` are names by the address that a host listens on.

    Nodes of 2.1 bind what they call from to the address they listen on, so the peer's address identifies them.
    Later ones do not: on one machine all of them call from 127.0.0.1, and only the process that owns the calling socket
    (found in some 8 ms, `by_owner`) identifies them. `at` is where hosts listen for each other; a node also listens for
    its manager, wherever that is.
    """

    def __init__(self, hosts: Mapping[str, str], by_owner: bool, at: Collection[tuple[str, int]] = ()) -> None:
        self._hosts, self._by_owner, self._at = dict(hosts), by_owner, frozenset(at)
        self._of_process: dict[int, frozenset[str]] = {}

    def of(self, accepted: socket.socket) -> str:
        """Name of the host at the other end of an accepted connection; '' for a stranger.

        A process that listens for several hosts is taken for the one whose address it calls from. OSError if the
        connection is gone.
        """
        peer, here = accepted.getpeername(), accepted.getsockname()
        by_address = self._hosts.get(peer[0], "")
        if not self._by_owner:
            return by_address
        names = self._owner(peer, here)
        return by_address if len(names) > 1 else "".join(names)

    def _owner(self, peer: tuple[str, int], here: tuple[str, int]) -> frozenset[str]:
        """Hosts that the calling process listens for."""
        sockets = psutil.net_connections("tcp4")
        pid = next((s.pid for s in sockets if s.laddr == peer and s.raddr == here), None)
        if pid is None:
            return frozenset()
        if not self._of_process.get(pid):
            listening = {tuple(s.laddr) for s in sockets if s.pid == pid and s.status == psutil.CONN_LISTEN}
            self._of_process[pid] = frozenset(self._hosts[at[0]] for at in listening & self._at if at[0] in self._hosts)
        return self._of_process[pid]


class Between:
    """A link as the loop sees it: it may change while connections are up."""

    __slots__ = ("bytes", "chunks", "delay_s", "jitter_s", "seconds_per_byte")

    def __init__(self) -> None:
        self.delay_s = self.jitter_s = self.seconds_per_byte = 0.0
        self.chunks = self.bytes = 0


class End:
    """One of a connection's two sockets, and what is on its way to it."""

    __slots__ = (
        "between", "blocked", "closed", "ended", "fd", "finished", "free_at", "held", "last_due", "mask", "other",
        "socket", "waiting", "watched", "when_due",
    )  # fmt: skip

    def __init__(self, connection: socket.socket) -> None:
        self.socket, self.fd = connection, connection.fileno()
        self.other: End
        self.between: Between  # from the other end to this one
        self.waiting: deque[tuple[float, Any]] = deque()  # (due, bytes); no bytes: the other's half has ended
        self.held = 0
        self.last_due = self.free_at = 0.0
        self.mask = 0
        self.blocked = False  # the kernel takes no more just now
        self.ended = False  # nothing more comes from this socket
        self.finished = False  # nothing more goes to it
        self.closed = False
        self.watched = True
        self.when_due: Callable[[float, float], None]


class Forwarder:
    """Listens on every route and passes on what comes; an OSError names an address that cannot be listened on.

    A route has listen and to (address, port), host (that it leads to) and caller (whose connections come in there; None
    if `callers` finds that out).
    """

    def __init__(self, loop: precise.Loop, routes: list[dict[str, Any]], callers: Callers) -> None:
        self._loop, self._callers = loop, callers
        self._ends: dict[int, End] = {}
        self._pairs: dict[tuple[str, str], Between] = {}
        self._late = [0] * _BINS
        self._connections = 0
        self._random = random.Random(_SEED)  # noqa: S311 - jitter
        self._known: deque[tuple[socket.socket, dict[str, Any], str]] = deque()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK)
        loop.watch(self._wake, self._connect_known)
        for route in routes:
            self._listen(route)

    def between(self, sender: str, receiver: str) -> Between:
        """The link of an ordered pair of hosts."""
        return self._pairs.setdefault((sender, receiver), Between())

    def set_links(self, links: list[tuple[str, str, float, float, float]]) -> None:
        """Put links into force, for what comes from now on: sender, receiver, delay_s, jitter_s, seconds_per_byte.

        With an infinite delay what comes is kept; it is passed on when the delay is finite again, if its sender
        still exists.
        """
        for sender, receiver, delay_s, jitter_s, seconds_per_byte in links:
            pair = self.between(sender, receiver)
            healed = pair.delay_s == math.inf > delay_s
            pair.delay_s, pair.jitter_s, pair.seconds_per_byte = delay_s, jitter_s, seconds_per_byte
            if healed:
                self._let_go(pair)

    def _let_go(self, pair: Between) -> None:
        """Give all that a cut held back on a link its time; what a sender left that has ended is lost with it."""
        now = clock()
        for end in list(self._ends.values()):
            if end.between is pair and end.last_due == math.inf:
                if end.other.ended:
                    self._reset_pair(end)
                    continue
                under_way = [at for at, _ in end.waiting if at < math.inf]  # set out before the cut, and armed
                due = max([now + pair.delay_s, *under_way])  # none overtakes
                end.last_due, end.free_at = due, now
                end.waiting = deque((min(at, due), data) for at, data in end.waiting)
                if not under_way and not end.blocked:
                    self._arm(end)

    def report(self) -> dict[str, Any]:
        """What was moved since the last report, and how late."""
        report = {
            "pairs": [[*pair, moved.chunks, moved.bytes] for pair, moved in self._pairs.items()],
            "late": self._late, "longest_turn_s": self._loop.longest_turn_s, "connections": self._connections,
        }  # fmt: skip
        self._late, self._loop.longest_turn_s = [0] * _BINS, 0.0
        for moved in self._pairs.values():
            moved.chunks = moved.bytes = 0
        return report

    # --- connections come in

    def _listen(self, route: dict[str, Any]) -> None:
        address = tuple(route["listen"])
        try:
            server = socket.create_server(address, backlog=1024)
        except OSError as error:
            raise OSError(error.errno, f"{address[0]}:{address[1]}: {error.strerror}") from None
        server.setblocking(False)
        self._loop.watch(server.fileno(), lambda _: self._accept(server, route))

    def _accept(self, server: socket.socket, route: dict[str, Any]) -> None:
        try:
            accepted, _ = server.accept()
        except OSError:  # gone again
            return
        if route["caller"] is not None:
            self._connect(accepted, route, route["caller"])
            return
        # Who it is takes milliseconds to find out, which others must not wait for.
        threading.Thread(target=self._find_out, args=(accepted, route), daemon=True).start()

    def _find_out(self, accepted: socket.socket, route: dict[str, Any]) -> None:
        try:
            caller = self._callers.of(accepted)
        except OSError:
            caller = ""
        self._known.append((accepted, route, caller))
        os.eventfd_write(self._wake, 1)

    def _connect_known(self, _: int) -> None:
        os.eventfd_read(self._wake)
        while self._known:
            self._connect(*self._known.popleft())

    def _connect(self, near: socket.socket, route: dict[str, Any], caller: str) -> None:
        """Open the other half; on one machine that is done, or refused, at once."""
        try:
            far = socket.create_connection(tuple(route["to"]), timeout=1.0)
        except OSError:
            _reset_on_close(near)  # as the host itself would have refused
            near.close()
            return
        ends = End(near), End(far)
        ends[0].other, ends[1].other = ends[1], ends[0]
        ends[1].between = self.between(caller, route["host"])
        ends[0].between = self.between(route["host"], caller)
        self._connections += 1
        for end in ends:
            end.socket.setblocking(False)
            end.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._ends[end.fd] = end
            end.mask, end.when_due = READ, partial(self._pass_on, end)
            self._loop.watch(end.fd, partial(self._happened, end))

    # --- bytes come in, wait, and go out

    def _happened(self, end: End, events: int) -> None:
        if events & WRITE:
            end.blocked = False
            self._interest(end, end.mask & ~WRITE)
            self._send(end, clock())
        if events & ~WRITE and not end.closed:
            if not end.ended:
                self._receive(end)
            elif end.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._reset_pair(end)
            else:  # both halves are over, which would be said again and again until the last bytes have gone
                self._unwatch(end)

    def _receive(self, end: End) -> None:
        try:
            data = end.socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._reset_pair(end)
            return
        now, to, size = clock(), end.other, len(data)
        between = to.between
        between.chunks += bool(data)
        between.bytes += size
        to.free_at = max(now, to.free_at) + size * between.seconds_per_byte
        due = to.free_at + between.delay_s
        if between.jitter_s:
            due += self._random.uniform(-between.jitter_s, between.jitter_s)
        to.last_due = due = max(due, to.last_due)  # none overtakes
        to.waiting.append((due, data))
        to.held += size
        if not data:
            end.ended = True
        if not data or to.held > _MOST_BYTES:
            self._interest(end, end.mask & ~READ)
        if len(to.waiting) == 1 and not to.blocked:
            if due <= now:
                self._send(to, now)
            else:
                self._arm(to)

    def _arm(self, end: End) -> None:
        """Have the first that waits sent in its time: once for each end that is not blocked, and not cut off."""
        if end.waiting[0][0] < math.inf:
            self._loop.at(end.waiting[0][0], end.when_due)

    def _pass_on(self, end: End, due: float, now: float) -> None:
        if not end.closed:
            self._late[min(_BINS - 1, int(max(0.0, now - due) * 1e6).bit_length())] += 1
            self._send(end, now)

    def _send(self, end: End, now: float) -> None:
        """Send all that is due; what is left is armed again, or waits for the kernel to take more."""
        waiting = end.waiting
        while waiting:
            due, data = waiting[0]
            if due > now:
                self._arm(end)
                break
            if not data:
                self._finish(end)
                return
            try:
                sent = end.socket.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._reset_pair(end)
                return
            end.held -= sent
            if sent < len(data):
                waiting[0] = (due, memoryview(data)[sent:])
                end.blocked = True
                self._interest(end, end.mask | WRITE)
                break
            waiting.popleft()
        if end.held <= _MOST_BYTES // 2 and not end.other.ended:
            self._interest(end.other, end.other.mask | READ)

    def _finish(self, end: End) -> None:
        """Pass on that the other half has ended; with both halves the connection has."""
        end.finished = True
        try:
            end.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self._reset_pair(end)
            return
        if end.other.finished:
            self._close(end)
            self._close(end.other)

    def _reset_pair(self, end: End) -> None:
        for one in (end, end.other):
            _reset_on_close(one.socket)
            self._close(one)

    def _close(self, end: End) -> None:
        if end.closed:
            return
        end.closed = True
        self._unwatch(end)
        del self._ends[end.fd]
        end.waiting.clear()
        end.socket.close()

    def _unwatch(self, end: End) -> None:
        if end.watched:
            end.watched = False
            self._loop.forget(end.fd)

    def _interest(self, end: End, mask: int) -> None:
        if mask != end.mask and end.watched:
            end.mask = mask
            self._loop.change(end.fd, mask)


def _reset_on_close(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def serve(
    owner: Owner, routes: list[dict[str, Any]], links: list[tuple[str, str, float, float, float]],
    hosts: dict[str, str], by_owner: bool,
) -> None:  # fmt: skip
    """Be the relay: first say on how many routes it listens, then take links or report, until the owner is gone."""
    loop = precise.Loop()
    at = {(address, port) for address, port in (route["to"] for route in routes)}
    try:
        forwarder = Forwarder(loop, routes, Callers(hosts, by_owner, at))
    except OSError as error:
        raise LaboratoryError(error.strerror) from None
    forwarder.set_links(links)

    def reply(changed: list[tuple[str, str, float, float, float]] | None) -> dict[str, Any] | None:
        if changed is None:
            return forwarder.report()
        forwarder.set_links(changed)
        return None

    owner.tell(len(routes))
    owner.serve(loop, reply)
