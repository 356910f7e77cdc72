"""Service completions a second of the simulation, and how many times as fast as the same model in SimPy, in one run."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Generator
from typing import Any

import numpy as np

from cassbook.bench.library import PAIRS
from cassbook.core.consistency import LEVELS
from cassbook.queueing import paper, simulation
from cassbook.queueing.mva import analyse
from cassbook.queueing.network import Network

_REQUESTS, _SIMPY_REQUESTS = 1_000_000, 4000
_ANALYSED_S, _ANALYSED_JOBS = 3.0, 200


class Plain:
    """The paper's network in SimPy, equal nodes, its first reading: what the compiled one is held against.

    Processor sharing is not in SimPy: a process wakes up whenever somebody comes or goes.
    """

    def __init__(self, network: Network, jobs: int, seed: int = 0) -> None:
        import simpy  # noqa: PLC0415 - needed for this comparison only

        self.simpy, self.env, self.random = simpy, simpy.Environment(), random.Random(seed)  # noqa: S311
        readings = network.readings
        self.network, self.operation = network, network.operations[0]
        self.client_cpu, self.client_net = self._queue(readings.client_cores), self._queue(1)
        self.nets, self.disks = ([self._queue(1) for _ in range(network.nodes)] for _ in range(2))
        self.cpus = [_Sharing(self.env, readings.node_cores) for _ in range(network.nodes)]
        self.regions = [self._queue(network.region_limit) for _ in range(network.nodes)]
        self.completions = self.answered = 0
        for _ in range(jobs):
            self.env.process(self._client())

    def _queue(self, servers: int) -> Any:
        return self.simpy.Resource(self.env, servers)

    def run(self, requests: int) -> float:
        """Requests a second, in the network's time."""
        while self.answered < requests:
            self.env.step()
        return 1000.0 * self.answered / float(self.env.now)

    def _served(self, queue: Any, ms: float) -> Generator[Any, Any, None]:
        with queue.request() as turn:
            yield turn
            yield self.env.timeout(self.random.expovariate(1 / ms))
        self.completions += 1

    def _cpu(self, node: int, ms: float) -> Generator[Any, Any, None]:
        if not ms:
            return
        with self.regions[node].request() as turn:
            yield turn
            yield self.cpus[node].serve(self.random.expovariate(1 / ms))
        self.completions += 1

    def _client(self) -> Generator[Any, Any, None]:
        demands, net = self.operation.demands, self.network
        while True:
            first, coordinator = self.random.randrange(net.nodes), self.random.randrange(net.nodes)
            held = [(first + k) % net.nodes for k in range(net.replication)]
            local = coordinator in held
            yield from self._served(self.client_cpu, demands.client_ms)
            yield from self._served(self.client_net, demands.request_ms)
            yield from self._served(self.nets[coordinator], demands.request_ms)
            yield from self._cpu(coordinator, demands.cpu_ms["read-local" if local else "read-remote"])
            others = self.random.sample([node for node in held if node != coordinator], self.operation.asked - local)
            parts = [self.env.process(self._remote(coordinator, node)) for node in others]
            if local:
                parts.append(self.env.process(self._served(self.disks[coordinator], demands.disk_ms)))
            yield self.env.all_of(parts)
            yield from self._cpu(coordinator, demands.cpu_ms["read-local-end" if local else "read-remote-end"])
            yield from self._served(self.nets[coordinator], demands.data_ms)
            yield from self._served(self.client_net, demands.data_ms)
            self.answered += 1

    def _remote(self, coordinator: int, node: int) -> Generator[Any, Any, None]:
        demands = self.operation.demands
        yield from self._served(self.nets[coordinator], demands.request_ms)
        yield from self._cpu(node, demands.cpu_ms["read-remote-ID"])
        yield from self._served(self.disks[node], demands.disk_ms)
        yield from self._served(self.nets[node], demands.data_ms)


class _Sharing:
    """A shared processor on a clock of its own, as in the compiled simulation."""

    def __init__(self, env: Any, cores: int) -> None:
        self.env, self.cores = env, cores
        self.jobs: list[tuple[float, int, Any]] = []
        self.clock = self.seen = 0.0
        self.turn = 0

    def serve(self, ms: float) -> Any:
        """An event that comes when a job of so much work is done."""
        self._pass()
        done = self.env.event()
        self.jobs.append((self.clock + ms, len(self.jobs) + self.turn, done))
        self.jobs.sort(key=lambda job: job[:2])
        self._wake()
        return done

    def _rate(self) -> float:
        return min(1.0, self.cores / len(self.jobs)) if self.jobs else 0.0

    def _pass(self) -> None:
        self.clock += (self.env.now - self.seen) * self._rate()
        self.seen = self.env.now

    def _wake(self) -> None:
        self.turn += 1
        if self.jobs:
            self.env.process(self._finish(self.turn, (self.jobs[0][0] - self.clock) / self._rate()))

    def _finish(self, turn: int, ms: float) -> Generator[Any, Any, None]:
        yield self.env.timeout(max(0.0, ms))
        if turn == self.turn:
            self._pass()
            _, _, done = self.jobs.pop(0)
            self._wake()
            done.succeed()


def main() -> None:
    """Print one row per level; the bars are 3 million completions a second and 20 times SimPy."""
    simulation.run(paper.network("ONE"), 10, 1000)  # compiles
    print(f"{'level':8}{'million completions/s':>24}{'requests/s':>14}{'over SimPy':>14}{'SimPy / ours, X':>18}")
    for level in LEVELS:
        network = paper.network(level)
        ours, ratios, same = [], [], []
        for seed in range(PAIRS):
            simulated = simulation.run(network, paper.JOBS, _REQUESTS, seed=seed)
            ours.append(simulated.events / simulated.seconds)
            plain = Plain(network, paper.JOBS, seed)
            begun = time.perf_counter()
            per_s = plain.run(_SIMPY_REQUESTS)
            ratios.append(ours[-1] * (time.perf_counter() - begun) / plain.completions)
            same.append(per_s / simulated.throughput_per_s.value)
        each = _REQUESTS / simulated.events * statistics.median(ours)
        print(
            f"{level:8}{statistics.median(ours) / 1e6:24.2f}{each:14,.0f}{statistics.median(ratios):14.0f}"
            f"{float(np.mean(same)):18.3f}"
        )
    points, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < _ANALYSED_S:
        points += len(analyse(paper.network("QUORUM"), _ANALYSED_JOBS).jobs)
    print(f"analysis: {points / (time.perf_counter() - begun):,.0f} points/s (bar: thousands)")
