"""A service of known capacity: a stub that works on one request at a time, for as long as its level says.

It works by timers and takes hardly any processor time. Run as a module it is a process of its own, like the stub.
"""

import struct
import subprocess
import sys
from contextlib import contextmanager

from cassandra import ConsistencyLevel

from cassbook.bench.stub import Stub
from cassbook.core.paths import project_root

_LEVEL_AT = 2 + 16  # behind the statement's id
#: It makes up for so much of the time in which the machine kept requests from it, or it from them.
_CATCH_UP_S = 0.02


class StubService(Stub):
    """Work on requests in the order in which they come, each for one over the rate of its consistency level.

    Parameters
    ----------
    capacity_per_s : dict
        By level, such as {"ONE": 450.0}.
    makes_up
        Whether it makes up for time that the machine kept from it; else it is a queue as in the books.
    """

    def __init__(self, capacity_per_s, makes_up=True):
        super().__init__(0.0)
        by_name = ConsistencyLevel.name_to_value
        self._service_s = {by_name[level]: 1 / per_s for level, per_s in capacity_per_s.items()}
        self._free = 0.0  # when the last request's turn is over
        self._catch_up_s = _CATCH_UP_S if makes_up else 0.0

    def _take(self, client, now, version, stream, opcode, body):
        waiting = len(self._due)
        super()._take(client, now, version, stream, opcode, body)
        if len(self._due) > waiting:
            _, *answer = self._due.pop()
            (level,) = struct.unpack_from(">H", body, _LEVEL_AT)
            self._free = max(self._free, now - self._catch_up_s) + self._service_s[level]
            self._due.append((max(self._free, now), *answer))


@contextmanager
def stub_service(makes_up=True, **capacity_per_s):
    """Run one as a process of its own; gives its port."""
    levels = (f"{level}={per_s}" for level, per_s in capacity_per_s.items())
    command = [sys.executable, "-m", __name__, str(makes_up), *levels]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=project_root()
    ) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


if __name__ == "__main__":
    makes_up, *levels = sys.argv[1:]
    capacity_per_s = {level: float(per_s) for level, per_s in (word.split("=") for word in levels)}
    service = StubService(capacity_per_s, makes_up == "True")
    print(service.port, flush=True)
    service.serve(sys.stdin)
