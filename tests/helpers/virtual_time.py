"""The open loop in virtual time, against one server: what it does is exact, whatever the machine does meanwhile."""

import heapq
import itertools
import struct

from cassbook.lab.load import alarm, loop, open_loop
from cassbook.lab.load.ycsb import READ, Request

_POLL_S, _HOUSEKEEPING_S = 0.02, 0.5
_RESULT, _VOID = 0x08, struct.pack(">i", 1)


class VirtualTime:
    """A clock that shows when the next thing happens, and what is to happen."""

    def __init__(self):
        self.now = 0.0
        self._due, self._count = [], itertools.count()

    def clock(self):
        return self.now

    def at(self, moment, callback):
        heapq.heappush(self._due, (moment, next(self._count), callback))

    def create_timer(self, delay_s, callback):
        self.at(self.now + delay_s, callback)

    def run_until(self, moment):
        while self._due and self._due[0][0] <= moment:
            self.now, _, callback = heapq.heappop(self._due)
            callback()
        self.now = moment


class VirtualAlarm:
    """Rings at the very moment."""

    def __init__(self, time, callback):
        self._time, self._callback, self._number, self.lags = time, callback, 0, alarm.Lags()

    def at(self, moment):
        self._number += 1
        number = self._number
        self._time.at(moment, lambda: self._callback() if number == self._number else None)

    def close(self):
        self._number += 1


class OneServer:
    """A connection to a server that works on one request at a time, each for the next of `service_s`."""

    gone = False

    def __init__(self, time, service_s):
        self._time, self._service_s, self._free, self._kept = time, iter(service_s), 0.0, []

    def ask_later(self, body, waiting, ticket):
        self._kept.append((waiting, ticket))
        return 0

    def flush(self):
        for waiting, ticket in self._kept:
            self._free = max(self._free, self._time.now) + next(self._service_s)
            self._time.at(self._free, lambda waiting=waiting, ticket=ticket: self._answer(waiting, ticket))
        self._kept.clear()

    def forget(self, stream):
        pass

    def _answer(self, waiting, ticket):
        waiting.answered(ticket, self._time.now, _RESULT, _VOID)
        self.after_burst()


class VirtualNodes:
    """One node, with one connection to it."""

    def __init__(self, time, service_s):
        self.create_timer = time.create_timer
        self.connections = [[OneServer(time, service_s)]]

    def reopen(self):
        pass


class VirtualLoop(open_loop.OpenLoop):
    """An open loop that lets time pass instead of waiting."""

    time: VirtualTime

    def _wait_until(self, reached, lag=None):
        tidied = self.time.now
        while not reached() and not self._all_idle.is_set():
            self.time.run_until(self.time.now + _POLL_S)
            if self.time.now - tidied > _HOUSEKEEPING_S:
                self._keep_house()
                tidied = self.time.now


def virtual_loop(monkeypatch, service_s, arrivals, note, threads=10_000, timeout_s=1e6):
    """Return an open loop in virtual time, on a server with these service times."""
    time = VirtualTime()
    for module in (alarm, loop, open_loop):
        monkeypatch.setattr(module, "_clock", time.clock)
    monkeypatch.setattr(open_loop, "alarm", lambda create_timer, callback: VirtualAlarm(time, callback))
    request = Request(0, 0, b"", None)
    made = VirtualLoop(
        VirtualNodes(time, service_s), threads, itertools.repeat(READ), [itertools.repeat(request)], [[b""]], note,
        timeout_s, arrivals=arrivals,
    )  # fmt: skip
    made.time = time
    return made
