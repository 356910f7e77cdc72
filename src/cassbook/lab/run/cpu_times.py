"""What a load takes of its machine: CPU seconds of nodes, client and all else, the hypervisor's, disk and wire."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import psutil

from cassbook.core.threads import meanwhile
from cassbook.lab.engine.any_cluster import AnyCluster

#: Of all processors; what the hypervisor gave to other guests (steal) is counted for itself.
_PROCESSES, _INTERRUPTS = ("user", "nice", "system"), ("irq", "softirq")


class CpuTimes:
    """CPU seconds so far, sampled every `every_s` in a thread of their own.

    Nodes of a cluster that the laboratory has not started count as other processes.
    """

    def __init__(self, cluster: AnyCluster, every_s: float = 0.1) -> None:
        self._cluster, self._every_s = cluster, every_s
        self._nodes: list[psutil.Process | None] = [None] * cluster.nodes_here
        self._client = psutil.Process()
        self._last_s: dict[int, float] = {}
        self._total_s = {"node": 0.0, "client": 0.0}
        self._seen: list[tuple[float, ...]] = []
        self._disks_s: list[dict[str, float]] = []
        self._looking = threading.Lock()
        self.look()
        self._total_s = dict.fromkeys(self._total_s, 0.0)  # what they had taken before

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Within the block samples are taken; a LaboratoryError at its end if the times could not be read."""
        self._seen, self._disks_s = [], []

        def watch(over: threading.Event) -> None:
            while not over.is_set():
                self.look()
                over.wait(self._every_s)

        with meanwhile(watch, "the processes' times could not be read"):
            yield
        self.look()

    def look(self) -> None:
        """Take a sample now; from any thread."""
        with self._looking:
            self._look()

    def _look(self) -> None:
        nodes = [self._node(number) for number in range(len(self._nodes))]
        for node in nodes:
            self._add("node", node)
        for process in (self._client, *self._client.children(recursive=True)):  # client processes, the relay
            if process not in nodes:
                self._add("client", process)
        times = psutil.cpu_times()
        shared = [sum(getattr(times, name, 0.0) for name in names) for names in (_PROCESSES, _INTERRUPTS, ("steal",))]
        row = (self._total_s["node"], self._total_s["client"], *shared, _wire_bytes())
        self._disks_s.append(_disks_busy_s())
        self._seen.append((time.perf_counter(), *row))

    def _node(self, number: int) -> psutil.Process | None:
        """Return a node's process, which is another one after a restart; None while it does not run."""
        known = self._nodes[number]
        if known is None or not known.is_running():
            known = self._nodes[number] = self._cluster.running(number + 1)
        return known

    def _add(self, whose: str, process: psutil.Process | None) -> None:
        """Add what a process has taken since the last sample; one that has ended adds no more."""
        if process is None:
            return
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            now_s = times.user + times.system
            self._total_s[whose] += max(0.0, now_s - self._last_s.get(process.pid, 0.0))
            self._last_s[process.pid] = now_s

    def between(self, from_s: float, to_s: float) -> dict[str, float]:
        """Return what was taken between two moments of `time.perf_counter`.

        Keys: node_cpu_s (all nodes together), client_cpu_s, other_cpu_s (all else, interrupts included), interrupts_s;
        busy and steal, shares of all processors; disk, the share of the time in which the disks had requests (NaN where
        the system does not say); wire_mb_per_s, over the loopback.
        """
        seen = np.array(self._seen)
        ends = [np.interp([from_s, to_s], seen[:, 0], column) for column in seen.T[1:]]
        nodes, client, processes, interrupts, steal, wire = (float(after - before) for before, after in ends)
        busy = processes + interrupts
        all_s = (to_s - from_s) * (psutil.cpu_count() or 1)
        return {
            "node_cpu_s": nodes, "client_cpu_s": client, "other_cpu_s": max(0.0, busy - nodes - client),
            "interrupts_s": interrupts, "busy": busy / all_s, "steal": steal / all_s,
            "disk": self._busiest_disk(seen[:, 0], from_s, to_s), "wire_mb_per_s": wire / 1e6 / (to_s - from_s),
        }  # fmt: skip

    def _busiest_disk(self, moments: np.ndarray, from_s: float, to_s: float) -> float:
        """Return for which share of the time the disk that was busiest then had requests."""
        shares = []
        for name in self._disks_s[0]:
            column = [disks.get(name, math.nan) for disks in self._disks_s[: len(moments)]]
            before, after = np.interp([from_s, to_s], moments, column)
            shares.append(float(after - before) / (to_s - from_s))
        return max(shares, default=math.nan)

    def columns(self, from_s: float, to_s: float) -> dict[str, float]:
        """Columns of a cell: what others took of the machine between two moments, its load now, its clock if known."""
        took, cores = self.between(from_s, to_s), psutil.cpu_count() or 1
        frequency = psutil.cpu_freq()
        others_s = max(0.0, took["other_cpu_s"] - took["interrupts_s"])  # the load's own packets cause most of them
        return {
            "steal_share": round(took["steal"], 4),
            "other_cpu_share": round(others_s / (to_s - from_s) / cores, 4),
            "load_1m": round(os.getloadavg()[0], 2),
            "cpu_mhz": round(frequency.current) if frequency and frequency.current else math.nan,
        }


def _disks_busy_s() -> dict[str, float]:
    """For how many seconds each disk has had requests so far; none where the system does not say."""
    disks = psutil.disk_io_counters(perdisk=True) or {}
    return {name: disk.busy_time / 1e3 for name, disk in disks.items() if hasattr(disk, "busy_time")}


def _wire_bytes() -> float:
    """How many bytes have gone over the loopback."""
    cards = psutil.net_io_counters(pernic=True)
    return float(sum(card.bytes_sent for name, card in cards.items() if name.startswith("lo")))
