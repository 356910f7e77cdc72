"""Simulate a network: batch means after a warm-up, 95 % intervals, the same figures from the same seed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cassbook.core.compilation import need_numba
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.random import streams
from cassbook.core.types import Floats
from cassbook.core.units import MS_PER_S
from cassbook.queueing import event_loop, paper
from cassbook.queueing.network import Demands, Network
from cassbook.queueing.stations import build, stations

REQUESTS, BATCHES = 200_000, 20
_WARM_UP = 0.1  # of the requests that are counted, before them
_ROOM = 4096  # tokens at least; what is discarded but still served needs room too


@dataclass(frozen=True, eq=False)
class Simulated:
    """What a simulation has shown; intervals by batch means.

    Attributes
    ----------
    network : Network
    jobs : int
    ended_ms : ndarray, shape (batches + 1,)
    answered, latency_ms : ndarray, shape (batches, operations)
        Requests, and the sum of their response times.
    busy_ms, area_ms : ndarray, shape (batches + 1, stations)
        Busy servers, and jobs, integrated over time since the beginning.
    histogram : ndarray, shape (operations, bins)
    events : int
        Service completions.
    seconds : float
        That it took.
    """

    network: Network
    jobs: int
    ended_ms: Floats
    answered: NDArray[np.int64]
    latency_ms: Floats
    busy_ms: Floats
    area_ms: Floats
    histogram: NDArray[np.int64]
    events: int
    seconds: float

    @cached_property
    def _length_ms(self) -> Floats:
        return np.diff(self.ended_ms)

    @property
    def throughput_per_s(self) -> Estimate:
        """Requests answered per second."""
        return _ratio(self.answered.sum(axis=1) * MS_PER_S, self._length_ms)

    @property
    def response_ms(self) -> Estimate:
        """Mean response time: from when the client sends a request until it has the answer."""
        return _ratio(self.latency_ms.sum(axis=1), self.answered.sum(axis=1))

    def quantile_ms(self, q: float, operation: int | None = None) -> float:
        """Quantile of response times, to 1 / 64 of a power of two."""
        if not 0 < q < 1:
            raise InputError(f"quantile: {q!r} is not between 0 and 1")
        counts = self.histogram.sum(axis=0) if operation is None else self.histogram[operation]
        upto = np.cumsum(counts)
        return float(event_loop.upper_ms()[np.searchsorted(upto, q * upto[-1])])

    @cached_property
    def utilisation(self) -> dict[str, Estimate]:
        """By station, the part of its servers that is busy; delays have none."""
        busy_parts = {}
        for place, station in enumerate(stations(self.network)):
            busy = np.diff(self.busy_ms[:, place])
            if station.name == "CPU":  # of all; the client's work is there too
                busy += np.diff(self.busy_ms[:, event_loop.CLIENT_CPU])
            if np.isfinite(station.servers):
                busy_parts[station.name] = _ratio(busy, self._length_ms * station.servers)
        return busy_parts

    @cached_property
    def jobs_at(self) -> dict[str, Estimate]:
        """By station, how many are there, in service or waiting; a region's own queue not counted."""
        return {
            station.name: _ratio(np.diff(self.area_ms[:, place]), self._length_ms)
            for place, station in enumerate(stations(self.network))
        }

    @property
    def bottleneck(self) -> str:
        """The busiest station."""
        return max(self.utilisation, key=lambda name: self.utilisation[name].value)


def _ratio(over: Any, under: Any) -> Estimate:
    """Ratio of sums over batches with its interval (Student's t on the linearised ratio)."""
    over, under = np.asarray(over, dtype=float), np.asarray(under, dtype=float)
    value = float(over.sum() / under.sum())
    spread = Estimate.mean((over - value * under) / under.mean())
    return Estimate(value, value + spread.low, value + spread.high, over.size)


def run(network: Network, jobs: int, requests: int = REQUESTS, batches: int = BATCHES, seed: int = 0) -> Simulated:
    """Simulate until so many requests, after a tenth as many that do not count.

    Parameters
    ----------
    network : Network
    jobs : int
        Clients of a closed network; 0 where requests arrive from outside.
    requests, batches : int
    seed : int
        The same seed gives the same figures; networks that are alike get the same random numbers where they can.

    Raises
    ------
    InputError
        For numbers that do not fit together, or a network that cannot keep up with what arrives.
    """
    if jobs < 0 or (jobs == 0) != (network.rate_per_s > 0):
        raise InputError(f"jobs: {jobs} and arrivals {network.rate_per_s:g}/s; give the one or the other")
    if batches < 2 or requests < batches:  # noqa: PLR2004
        raise InputError(f"requests: {requests} in {batches} batches; there are two batches at least, none empty")
    if network.nodes > event_loop.MOST_NODES:
        raise InputError(
            f"nodes: {network.nodes}; a simulation takes 1 to {event_loop.MOST_NODES} (whom a request may still ask is "
            "kept in the bits of one number); the analysis, mva.analyse, takes more"
        )
    most_asked = max(operation.asked for operation in network.operations)
    room = max(_ROOM, 1 << int(np.ceil(np.log2(8 * max(jobs, 1) * (most_asked + 2)))))
    need_numba()
    net = build(network, room, streams(seed, event_loop.STREAMS))
    count, operations = net.stations.size, len(network.operations)
    counts = event_loop.Counts(
        ended=np.zeros(batches + 1),
        answered=np.zeros((batches, operations), np.int64),
        latency=np.zeros((batches, operations)),
        busy=np.zeros((batches + 1, count)),
        area=np.zeros((batches + 1, count)),
        histogram=np.zeros((operations, event_loop.BINS), np.int64),
    )
    each = requests // batches
    begun = time.perf_counter()
    outcome = event_loop.run(net, jobs, max(1, int(_WARM_UP * requests)), each, counts)
    seconds = time.perf_counter() - begun
    if outcome == event_loop.FULL:
        raise InputError(
            f"network: {room} messages are on their way and more come than are served; lower the arrivals, or wait for "
            "more of the replicas that are asked"
        )
    return Simulated(network, jobs, *counts, int(net.whole["events"][0]), seconds)


def simulate(
    jobs: int,
    consistency: str | int,
    nodes: int = paper.NODES,
    replication: int = paper.REPLICATION,
    demands: Demands | None = None,
    seed: int = 0,
    requests: int = REQUESTS,
    **options: Any,
) -> Simulated:
    """Simulate the paper's cluster, or another.

    Parameters
    ----------
    jobs : int
        Clients, each with one request at a time.
    consistency : str or int
        Level of the reads, or how many replicas they wait for.
    nodes, replication : int
    demands : Demands, optional
        Default: those of the paper's Tables 2 and 3 at that level.
    seed, requests : int
    **options
        As `paper.network` takes.

    Raises
    ------
    InputError
        For demands, levels or counts that do not fit together.
    """
    return run(paper.network(consistency, nodes, replication, demands, **options), jobs, requests, seed=seed)
