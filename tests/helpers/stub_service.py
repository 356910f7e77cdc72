"""A service of known capacity: a stub that works on one request at a time, for as long as its level says.

It works by timers and takes hardly any processor time. Run as a module it is a process of its own, like the stub.
"""

import struct
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
from cassandra import ConsistencyLevel

from cassbook.bench.stub import Stub
from cassbook.core.paths import project_root

_LEVEL_AT = 2 + 16  # behind the statement's id
#: It makes up for so much of the time in which the machine kept requests from it, or it from them.
_CATCH_UP_S = 0.02
#: It serves no more requests than this.
_MOST = 1_000_000


def service_times_s(kind, seed, count):
    """Return service times of mean 1, "exponential" or "constant", in the order of service."""
    return np.random.default_rng(seed).exponential(size=count) if kind == "exponential" else np.ones(count)


class StubService(Stub):
    """Work on requests in the order in which they come, each for one over the rate of its consistency level.

    Parameters
    ----------
    capacity_per_s : dict
        By level, such as {"ONE": 450.0}.
    times, seed
        As for `service_times_s`. With a seed it is a queue as in the books, and makes up for nothing.
    """

    def __init__(self, capacity_per_s, times="constant", seed=None):
        super().__init__(0.0)
        by_name = ConsistencyLevel.name_to_value
        self._service_s = {by_name[level]: 1 / per_s for level, per_s in capacity_per_s.items()}
        self._free = 0.0  # when the last request's turn is over
        self._catch_up_s = _CATCH_UP_S if seed is None else 0.0
        self._times = iter(service_times_s(times, seed, _MOST).tolist())

    def _take(self, client, now, version, stream, opcode, body):
        waiting = len(self._due)
        super()._take(client, now, version, stream, opcode, body)
        if len(self._due) > waiting:
            _, *answer = self._due.pop()
            (level,) = struct.unpack_from(">H", body, _LEVEL_AT)
            self._free = max(self._free, now - self._catch_up_s) + self._service_s[level] * next(self._times)
            self._due.append((max(self._free, now), *answer))


@contextmanager
def stub_service(times="constant", seed=None, **capacity_per_s):
    """Run one as a process of its own; gives its port."""
    levels = (f"{level}={per_s}" for level, per_s in capacity_per_s.items())
    command = [sys.executable, "-m", __name__, times, str(seed), *levels]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=project_root()
    ) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


if __name__ == "__main__":
    times, seed, *levels = sys.argv[1:]
    capacity_per_s = {level: float(per_s) for level, per_s in (word.split("=") for word in levels)}
    service = StubService(capacity_per_s, times, None if seed == "None" else int(seed))
    print(service.port, flush=True)
    service.serve(sys.stdin)
