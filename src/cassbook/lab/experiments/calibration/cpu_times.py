"""CPU seconds of each process of a cluster and of its client, over a window of time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import psutil
from numpy.typing import NDArray

from cassbook.core.threads import meanwhile
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.load.recorder import Window

Floats = NDArray[np.float64]

_EVERY_S = 0.1
#: Of all processors; what the machine's other guests take is none of ours.
_BUSY = ("user", "nice", "system", "irq", "softirq")


class CpuTimes:
    """CPU seconds so far, sampled while a load runs.

    Parameters
    ----------
    cluster : CassandraCluster
        Ready.
    """

    def __init__(self, cluster: CassandraCluster) -> None:
        nodes = range(1, cluster.spec.nodes + 1)
        self._processes = [*(cluster.node_process(node) for node in nodes), psutil.Process()]
        self._seen: list[list[float]] = []

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Within the block samples are taken."""
        self._seen = []

        def watch(over: threading.Event) -> None:
            while not over.is_set():
                self._look()
                over.wait(_EVERY_S)

        with meanwhile(watch, "the processes' times could not be read"):
            yield
        self._look()

    def _look(self) -> None:
        row = [time.perf_counter()]
        for process in self._processes:
            with suppress(psutil.NoSuchProcess):  # a node that died: the load fails by itself
                times = process.cpu_times()
                row.append(times.user + times.system)
        busy = psutil.cpu_times()
        row.append(sum(getattr(busy, name, 0.0) for name in _BUSY))
        if len(row) == len(self._processes) + 2:
            self._seen.append(row)

    def between(self, window: Window) -> dict[str, float]:
        """CPU seconds of the nodes together, of the client and of all else over a steady window, and its busy share."""
        seen = np.array(self._seen)
        ends = [np.interp([window.steady_from, window.steady_to], seen[:, 0], column) for column in seen.T[1:]]
        *nodes, client, busy = (float(after - before) for before, after in ends)
        length_s = window.steady_to - window.steady_from
        return {
            "node_cpu_s": sum(nodes), "client_cpu_s": client, "other_cpu_s": max(0.0, busy - sum(nodes) - client),
            "busy": busy / length_s / (psutil.cpu_count() or 1),
        }  # fmt: skip
