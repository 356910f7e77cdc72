"""An event loop for sockets that keeps time in microseconds.

`epoll` counts in milliseconds, and so do the event loops that are built on it: whatever is to happen at a time would
happen up to one late. Here `select` waits, in microseconds, on the `epoll` that has all the sockets.
"""

from __future__ import annotations

import heapq
import select
import time
from collections.abc import Callable
from pathlib import Path

READ, WRITE = select.EPOLLIN, select.EPOLLOUT
clock = time.monotonic
#: Waking up takes about so long; the loop does not sleep for what is due within it.
_EARLY_S = 1e-4
_SLACK = Path("/proc/self/timerslack_ns")


class Loop:
    """Calls back when a file is ready, or when it is time."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._wait_on = [self._epoll.fileno()]
        self._on: dict[int, Callable[[int], None]] = {}
        self._due: list[tuple[float, int, Callable[[float, float], None]]] = []
        self._count = 0
        self._running = True
        #: Longest time without a look at any file, in seconds; its reader may reset it.
        self.longest_turn_s = 0.0

    def watch(self, fd: int, callback: Callable[[int], None], mask: int = READ) -> None:
        """Call back with the events of a file."""
        self._on[fd] = callback
        self._epoll.register(fd, mask)

    def change(self, fd: int, mask: int) -> None:
        """Watch for other events."""
        self._epoll.modify(fd, mask)

    def forget(self, fd: int) -> None:
        """Watch a file no more."""
        self._epoll.unregister(fd)
        del self._on[fd]

    def at(self, due: float, callback: Callable[[float, float], None]) -> None:
        """Call back with `due` and about the time that it is then, which is no earlier."""
        self._count += 1
        heapq.heappush(self._due, (due, self._count, callback))

    def stop(self) -> None:
        """End `run` after this turn."""
        self._running = False

    def run(self) -> None:
        """Run until `stop`."""
        if _SLACK.exists():  # the kernel would let timers be 50 us late, to wake up less often
            _SLACK.write_text("1")
        poll, on, due = self._epoll.poll, self._on, self._due
        while self._running:
            timeout_s = max(0.0, due[0][0] - _EARLY_S - clock()) if due else None
            ready, _, _ = select.select(self._wait_on, (), (), timeout_s)
            began = clock()
            now = began + _EARLY_S
            while due and due[0][0] <= now:
                at, _, callback = heapq.heappop(due)
                callback(at, now)
            if ready:
                for fd, events in poll(0):
                    if fd in on:  # else it was closed in this very turn
                        on[fd](events)
            self.longest_turn_s = max(self.longest_turn_s, clock() - began)
        self._epoll.close()
