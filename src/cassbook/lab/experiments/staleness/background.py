"""A load next to the probe: a closed loop in a process of its own, so that the probe's clock does not wait for it."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow.compute as pc

from cassbook.core.threads import meanwhile
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.engine.connect import connect
from cassbook.lab.load.loop import Bound
from cassbook.lab.run.cell import Cell
from cassbook.lab.run.client import Place
from cassbook.lab.run.processes import ClientProcesses
from cassbook.profile.profile import Profile

_LEVEL = "ONE"
_READ_SHARE = 0.5
_SETTLE_S = 3.0


@dataclass(slots=True)
class Load:
    """The load's operations per second and mean latency, ms; NaN until it is over."""

    throughput_per_s: float = float("nan")
    latency_ms: float = float("nan")


@contextmanager
def load(processes: ClientProcesses | None, threads: int, seconds: float) -> Iterator[Load]:
    """Within the block, for at most `seconds`, keep `threads` requests in flight: half reads, half updates, at ONE.

    Parameters
    ----------
    processes : ClientProcesses, optional
        None, or no threads, for no load.
    threads : int
    seconds : float
        How long the block takes, at most; the load lasts until then.
    """
    measured = Load()
    if processes is None or not threads:
        yield measured
        return
    cell = Cell("background", "mixed", threads, _LEVEL, _LEVEL, _READ_SHARE, 1, 1, 1)

    def keep_up(_: threading.Event) -> None:
        with tempfile.TemporaryDirectory() as folder:
            outcome, samples = processes.run([cell], Bound(_SETTLE_S, seconds), Path(folder) / "samples.parquet")
        window = outcome.window
        steady = samples.filter(pc.equal(samples["phase"], "steady"))
        measured.throughput_per_s = steady.num_rows / (window.steady_to - window.steady_from)
        measured.latency_ms = pc.mean(steady["latency_us"]).as_py() / 1000

    with meanwhile(keep_up, "the load next to the probe failed"):
        time.sleep(_SETTLE_S)
        yield measured


def client(cluster: CassandraCluster, profile: Profile, seed: int) -> ClientProcesses:
    """Return the process that `load` is made by; the tables of the profile are there."""
    reach = partial(connect, cluster.addresses, cluster.release.protocol)  # can be handed to another process
    place = Place(reach, cluster.addresses, cluster.labels, cluster.keyspace)
    return ClientProcesses(1, profile, place, [seed], time.perf_counter())
