"""What an open loop costs the client over a closed one at the same rate, and how late it sends.

The stub works on each request for a time of its own, exponentially distributed, so that its answers do not come in
bursts that spare a closed loop its wake-ups. Loops take turns, so that a busy machine is one for both.
"""

from __future__ import annotations

import heapq
import itertools
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cassbook.bench import stub
from cassbook.bench.own_error import StubNodes, stub_loop
from cassbook.core.paths import project_root
from cassbook.lab.load import keys, wire
from cassbook.lab.load.arrivals import Arrivals
from cassbook.lab.load.loop import Bound, Outcome
from cassbook.lab.load.open_loop import OpenLoop
from cassbook.lab.load.recorder import Window
from cassbook.lab.load.ycsb import READ, Request

RATES_PER_S = (1000.0, 2000.0, 4000.0)
#: Mean service time of the stub.
SERVICE_MS = 5.0
#: Of each loop, so many times in turn.
_STEADY_S, _ROUNDS = 2.0, 3
_MOST_IN_FLIGHT = 4096


class ExponentialStub(stub.Stub):
    """Work on every request at once, for an exponentially distributed time of the given mean."""

    def __init__(self, mean_s: float) -> None:
        super().__init__(0.0)
        self._rng, self._mean_s = np.random.default_rng(1), mean_s
        self._heap: list[tuple[float, int, Any, bytes]] = []
        self._number = itertools.count()

    def _take(self, *request: Any) -> None:
        waiting = len(self._due)
        super()._take(*request)
        if len(self._due) > waiting:
            came, client, answer = self._due.pop()
            until = came + self._rng.exponential(self._mean_s)
            heapq.heappush(self._heap, (until, next(self._number), client, answer))
        self._first()

    def _answer(self) -> None:
        self._due.clear()
        now = stub._clock()
        while self._heap and self._heap[0][0] <= now:
            until, _, client, answer = heapq.heappop(self._heap)
            self._due.append((until, client, answer))
        super()._answer()
        self._first()

    def _first(self) -> None:
        """Have `serve` wake up for the answer that is due next."""
        self._due.clear()
        if self._heap:
            until, _, client, answer = self._heap[0]
            self._due.append((until, client, answer))


@contextmanager
def serving(mean_ms: float) -> Iterator[int]:
    """Run the stub as a process of its own; gives its port."""
    command = [sys.executable, "-m", __name__, str(mean_ms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def _note(*_: float) -> None:
    """Take a finished request, and keep nothing."""


def _open_loop(nodes: StubNodes, rate_per_s: float, seed: int) -> OpenLoop:
    encoded = [wire.value(key) for key in keys.row_keys(np.arange(1000))]
    requests = itertools.cycle([Request(0, 0, key, key) for key in encoded])
    prefix = [[wire.execute_prefix(stub.READS, "ONE", 1)]]
    return OpenLoop(
        nodes, _MOST_IN_FLIGHT, itertools.repeat(READ), [requests], prefix, _note, 12.0,
        arrivals=Arrivals("poisson", rate_per_s, (seed,)),
    )  # fmt: skip


def _cpu_us(outcome: Outcome, counted: int) -> float:
    return outcome.client_cpu_s * 1e6 / counted


def measure(
    rate_per_s: float, steady_s: float = _STEADY_S, rounds: int = _ROUNDS, mean_ms: float = SERVICE_MS
) -> dict[str, float]:
    """One row: processor time per request of both loops, their ratio, and the open one's lateness.

    Columns: rate_per_s, closed_per_s (what as many threads as keep the rate came to), closed_us, open_us (medians over
    the rounds), ratio (median of the ratios in a round), late_p50_us, late_p99_us, n_due.
    """
    threads = max(1, round(rate_per_s * mean_ms / 1000))
    closed_us, open_us, reached, late_s, n_due = [], [], [], [], 0
    with serving(mean_ms) as port:
        for number in range(rounds):
            nodes = StubNodes(port)
            started: list[float] = []
            closed = stub_loop(nodes, threads, stub.READS, lambda at, *_: started.append(at))  # noqa: B023
            window = Window()
            outcome = closed.run(Bound(stub.RAMP_S, steady_s), window)
            steady = sum(window.steady_from <= at < window.steady_to for at in started)
            closed_us.append(_cpu_us(outcome, steady))
            reached.append(steady / steady_s)
            outcome = _open_loop(nodes, rate_per_s, number).run(Bound(stub.RAMP_S, steady_s), Window())
            assert outcome.due is not None  # noqa: S101 - it was open
            open_us.append(_cpu_us(outcome, outcome.due.n_due))
            late_s.append(outcome.due.late_s)
            n_due += outcome.due.n_due
            nodes.close()
    late_us = np.quantile(np.concatenate(late_s), [0.5, 0.99]) * 1e6
    return {
        "rate_per_s": rate_per_s,
        "closed_per_s": float(np.median(reached)),
        "closed_us": float(np.median(closed_us)),
        "open_us": float(np.median(open_us)),
        "ratio": float(np.median(np.array(open_us) / np.array(closed_us))),
        "late_p50_us": float(late_us[0]),
        "late_p99_us": float(late_us[1]),
        "n_due": n_due,
    }


def main(folder: Path | None = None) -> None:
    """Measure each rate; print and store a row each."""
    folder = folder or project_root() / "_build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame([measure(rate_per_s) for rate_per_s in RATES_PER_S])
    table.round(2).to_csv(folder / "open-sender.csv", index=False, lineterminator="\n")
    print(table.round(2).to_string(index=False))


if __name__ == "__main__":
    service = ExponentialStub(float(sys.argv[1]) / 1000)
    print(service.port, flush=True)
    service.serve(sys.stdin)
