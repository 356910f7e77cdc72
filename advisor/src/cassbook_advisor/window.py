"""What a client does now: requests per second, the share of reads and how many are in flight, in a sliding window."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True, slots=True)
class Load:
    """A workload as a map of latencies knows it."""

    per_s: float  # requests per second that were answered
    read_share: float  # part of them that read, 0 to 1; NaN without requests
    in_flight: float  # mean number in flight, by Little's law: seconds of latency per second
    failing_share: float = 0.0  # part of them whose answer was an error, 0 to 1

    @classmethod
    def together(cls, loads: Iterable[Load]) -> Load:
        """Return the load of several clients on one cluster."""
        active = [load for load in loads if load.per_s > 0]
        per_s = sum(load.per_s for load in active)
        if not per_s:
            return cls(0.0, float("nan"), 0.0)
        reads = sum(load.per_s * load.read_share for load in active)
        failing = sum(load.per_s * load.failing_share for load in active)
        return cls(per_s, reads / per_s, sum(load.in_flight for load in active), failing / per_s)


#: Latencies that wait to be summed, at most: what is left where nobody looks at the load.
_MOST = 10_000


class Window:
    """Counts finished requests; cheap to add to, from any thread.

    To add is to append to a queue, which needs no lock; whoever looks sums up what has come.

    `length_s`: how far back `load` looks, at most. `on_failure`: called with the error of each request that failed, by
    the thread that learns of it.
    """

    def __init__(self, length_s: float, on_failure: Callable[[BaseException], object] | None = None) -> None:
        self._length_s, self._on_failure = length_s, on_failure
        self._lock = Lock()
        self._finished: tuple[deque[float], deque[float]] = (deque(), deque())  # latencies of writes, of reads
        self._counts = [0, 0]
        self._busy_s = 0.0
        self._failed: deque[None] = deque()
        self._failures = 0
        self._past: deque[tuple[float, int, int, float, int]] = deque()

    def add(self, is_read: bool, latency_s: float) -> None:
        """Count a request that was answered."""
        finished = self._finished[is_read]
        finished.append(latency_s)
        if len(finished) > _MOST:
            self._sum_up()

    def fail(self, error: BaseException | None = None) -> None:
        """Count that the answer of a request was an error, or that it could not be sent."""
        self._failed.append(None)
        if error is not None and self._on_failure is not None:
            self._on_failure(error)

    def _sum_up(self) -> None:
        with self._lock:
            for _ in range(len(self._failed)):
                self._failed.pop()
                self._failures += 1
            for which, finished in enumerate(self._finished):
                count = len(finished)
                self._counts[which] += count
                self._busy_s += sum(finished.popleft() for _ in range(count))

    def load(self, now: float) -> Load:
        """Return the load since the oldest look inside the window; call it several times in each window.

        `now`: seconds on a clock that never goes back.
        """
        self._sum_up()
        with self._lock:
            current = (now, self._counts[True], self._counts[False], self._busy_s, self._failures)
        self._past.append(current)
        while len(self._past) > 1 and self._past[1][0] <= now - self._length_s:
            self._past.popleft()
        since = self._past[0]
        seconds = now - since[0]
        reads, writes = current[1] - since[1], current[2] - since[2]
        if seconds <= 0 or reads + writes == 0:
            return Load(0.0, float("nan"), 0.0)
        failing = min(1.0, (current[4] - since[4]) / (reads + writes))
        return Load((reads + writes) / seconds, reads / (reads + writes), (current[3] - since[3]) / seconds, failing)
