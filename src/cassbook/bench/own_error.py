"""The generator's own error: what it measures against a server of known delay, less what that server took."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from cassandra.cluster import Cluster
from cassandra.connection import DefaultEndPoint

from cassbook.bench import stub
from cassbook.core import schema
from cassbook.core.paths import project_root
from cassbook.lab.load import keys, wire
from cassbook.lab.load.light import OPTIONS, light
from cassbook.lab.load.loop import Bound, ClosedLoop
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, Request

DELAYS_MS = (0.0, 1.0, 10.0)
THREADS = (1, 10, 100)
_STEADY_S = 3.0
_PROTOCOL = 4


class StubNodes:
    """The light path's connection to a stub, in the place of `load.nodes.Nodes`."""

    def __init__(self, port: int) -> None:
        self._class = Cluster.connection_class
        self._class.initialize_reactor()
        self._port = port
        self.connections: list[list[Any]] = [[self._open()]]

    def _open(self) -> Any:
        endpoint = DefaultEndPoint("127.0.0.1", self._port)
        return light(self._class).factory(endpoint, 5, protocol_version=_PROTOCOL, **OPTIONS)

    def create_timer(self, delay_s: float, callback: Callable[[], None]) -> Any:
        """Have the event loop's thread call back."""
        return self._class.create_timer(delay_s, callback)

    def reopen(self) -> None:
        """Replace a lost connection."""
        if self.connections[0][0].gone:
            self.connections[0][0] = self._open()

    def close(self) -> None:
        self.connections[0][0].close()


def stub_loop(
    nodes: StubNodes, threads: int, statement: bytes, record: Callable[..., None], timeout_s: float = 12.0
) -> ClosedLoop:
    """Closed loop of one statement that the stub knows, on 1000 keys."""
    encoded = [wire.value(key) for key in keys.row_keys(np.arange(1000))]
    reads = statement in (stub.READS, stub.WARNS)
    requests = itertools.cycle([Request(0, 0, key, key if reads else None) for key in encoded])
    prefix = [[wire.execute_prefix(statement, "ONE", 1)]]
    return ClosedLoop(nodes, threads, itertools.repeat(READ), [requests], prefix, record, timeout_s)  # type: ignore[arg-type]


def measure(delay_ms: float, threads: int, steady_s: float = _STEADY_S) -> dict[str, float]:
    """One row: what the server took and what the client saw, in microseconds, and what is between them.

    Columns: delay_ms, threads, operations, server_mean_us, client_mean_us, error_mean_us (client less server: the
    way there and back through the kernel is in it), error_p50_us, error_p99_us (differences of quantiles),
    cpu_us_per_op, loop_lag_us, wrong (reads that did not return their row: 0).
    """
    rows: list[tuple[float, float, int]] = []

    def note(started: float, latency_s: float, operation: int, outcome: int, *_: float) -> None:
        rows.append((started, latency_s, outcome))

    with stub.stub(delay_ms) as (port, took):
        nodes = StubNodes(port)
        loop_run = stub_loop(nodes, threads, stub.READS, note).run(Bound(stub.RAMP_S, steady_s), Window())
        nodes.close()
    started, latency_s, outcome = (np.array(column) for column in zip(*rows, strict=True))
    steady = (started >= loop_run.window.steady_from) & (started < loop_run.window.steady_to)
    client_us = latency_s[steady] * 1e6
    p50_us, p99_us = np.quantile(client_us, [0.5, 0.99])
    return {
        "delay_ms": delay_ms,
        "threads": threads,
        "operations": int(steady.sum()),
        "server_mean_us": took["mean_us"],
        "client_mean_us": float(client_us.mean()),
        "error_mean_us": float(client_us.mean()) - took["mean_us"],
        "error_p50_us": float(p50_us) - took["p50_us"],
        "error_p99_us": float(p99_us) - took["p99_us"],
        "cpu_us_per_op": loop_run.client_cpu_s * 1e6 / steady.sum(),
        "loop_lag_us": loop_run.loop_lag_us,
        "wrong": int((outcome != schema.OK).sum()),
    }


def main(folder: Path | None = None) -> None:
    """Measure every delay at every number of requests in flight; print and store a row each."""
    folder = folder or project_root() / "_build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame([measure(delay_ms, threads) for delay_ms in DELAYS_MS for threads in THREADS])
    table.round(2).to_csv(folder / "own-error.csv", index=False, lineterminator="\n")
    print(table.round(1).to_string(index=False))
