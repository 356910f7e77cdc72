"""Warm-up of nodes whose code is compiled as they run: bursts of load, and pauses in which the compilers catch up.

On few processors the compilers of several nodes compete with the load for minutes, and throughput seems to have settled
long before they are done. In a pause they have the processors to themselves.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

_PROCESSES = Path("/proc")
_NAME = "Compiler"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
#: A pause ends when compilers take less than this part of a processor, or after so long.
_IDLE, _LOOK_S, _LONGEST_PAUSE_S = 0.1, 0.25, 6.0
#: Nodes are warm when compilers have taken less than this part of a processor, pauses included, so often in a row.
_LITTLE, _IN_A_ROW = 0.06, 3


class Compilers:
    """Threads of processes that compile.

    Parameters
    ----------
    pids : sequence of int
        Of Java virtual machines.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._seen: dict[Path, float] = {}

    def cpu_s(self) -> float:
        """CPU seconds that they have taken so far.

        Java from 17 on starts them as needed and ends them when idle: of one that has ended, what was seen last stays
        counted, as else there would be less work done after it than before.
        """
        for pid in self._pids:
            for task in (_PROCESSES / str(pid) / "task").glob("*"):
                if taken := _cpu_s(task):
                    self._seen[task] = taken
        return sum(self._seen.values())

    def catch_up(self) -> None:
        """Wait until they have little to do."""
        deadline, before = time.perf_counter() + _LONGEST_PAUSE_S, self.cpu_s()
        while time.perf_counter() < deadline:
            time.sleep(_LOOK_S)
            now = self.cpu_s()
            if now - before < _IDLE * _LOOK_S:
                return
            before = now


def _cpu_s(task: Path) -> float:
    with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        if _NAME in (task / "comm").read_text():
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
    return 0.0


def warm_up(compilers: Compilers, burst: Callable[[], None], cap_s: float) -> list[float]:
    """Run bursts of load until the nodes' code is compiled.

    Parameters
    ----------
    compilers : Compilers
    burst : callable
        Runs a load for some seconds.
    cap_s : float
        After which it ends in any case.

    Returns
    -------
    list of float
        For each burst and its pause, the part of a processor that compilers took.
    """
    begun, taken = time.perf_counter(), list[float]()
    while time.perf_counter() - begun < cap_s:
        since, before = time.perf_counter(), compilers.cpu_s()
        burst()
        compilers.catch_up()
        taken.append((compilers.cpu_s() - before) / (time.perf_counter() - since))
        if len(taken) >= _IN_A_ROW and max(taken[-_IN_A_ROW:]) < _LITTLE:
            break
    return taken
