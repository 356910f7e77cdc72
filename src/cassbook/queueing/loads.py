"""How long each station works for a request, on average: exact, whatever the loads; and the bounds that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cassbook.core.errors import InputError
from cassbook.queueing import event_loop
from cassbook.queueing.network import Network, ring_shares
from cassbook.queueing.stations import Station, machines, stations, steps

Floats = NDArray[np.float64]

#: Stages of every request, and those of each one that is sent to another node.
ALONE = (*range(event_loop.CLIENT, event_loop.PARSE + 1), *range(event_loop.END, event_loop.CLIENT_IN + 1))
BRANCH = tuple(range(event_loop.ASK_OUT, event_loop.RETURN + 1))


@dataclass(frozen=True, eq=False)
class Loads:
    """Service demands per request, all visits together.

    Speculative retries depend on how late answers are, and are not in them.

    Attributes
    ----------
    network : Network
    """

    network: Network

    @cached_property
    def ms(self) -> dict[str, float]:
        """By station, ms of its servers for one request; of one machine for all, its CPU's are the client's too."""
        return {station.name: self._all[station.name] for station in self._queues}

    @cached_property
    def _all(self) -> dict[str, float]:
        """The same with stations at which nobody waits."""
        total = dict.fromkeys((station.name for station in stations(self.network)), 0.0)
        weights = np.array([operation.share for operation in self.network.operations])
        for number, weight in enumerate(weights / weights.sum()):
            for name, ms in _of_operation(self.network, number, self.steps[number]).items():
                total[name] += weight * ms
        return total

    @cached_property
    def steps(self) -> NDArray[np.void]:
        """What a request does, by operation and whether its coordinator holds the row (see `stations.steps`)."""
        return steps(self.network)

    @cached_property
    def _queues(self) -> list[Station]:
        return [station for station in stations(self.network) if np.isfinite(station.servers)]

    @cached_property
    def per_server_ms(self) -> dict[str, float]:
        """By station, the same over its servers: the time it needs between two requests when it is full.

        With `slowdown` the least of it over the jobs that may be there.
        """
        per_server = {}
        for station in self._queues:
            least = min(self.network.slowdown, default=1.0) if station.shared else 1.0
            per_server[station.name] = self.ms[station.name] * least / station.servers
        return per_server

    @property
    def bottleneck(self) -> str:
        """The station that is full first."""
        return max(self.per_server_ms, key=lambda name: self.per_server_ms[name])

    @property
    def most_per_s(self) -> float:
        """Requests per second that no number of jobs brings about more of."""
        return 1000.0 / self.per_server_ms[self.bottleneck]

    @cached_property
    def least_ms(self) -> float:
        """Mean time of a request that is alone, bounded from below: of what runs in parallel, the longest mean."""
        weights = np.array([operation.share for operation in self.network.operations])
        each = [_alone_ms(self.network, number, ways) for number, ways in enumerate(self.steps)]
        return float(np.average(each, weights=weights)) * min(1.0, min(self.network.slowdown, default=1.0))

    def throughput_bounds(self, jobs: int) -> tuple[float, float]:
        """Asymptotic bounds of requests per second: all wait for each other always, or nobody ever waits.

        Raises
        ------
        InputError
            Without a job.
        """
        if jobs < 1:
            raise InputError(f"jobs: {jobs}; a closed network has one at least")
        all_ms, think = sum(self.ms.values()), self.network.think_ms
        delays = sum(self._all.values()) - all_ms
        if self.network.slowdown:
            all_ms *= max(1.0, *self.network.slowdown)
        least = 1000.0 * jobs / (think + delays + jobs * all_ms)
        return least, min(self.most_per_s, 1000.0 * jobs / (think + self.least_ms))


def _of_operation(network: Network, number: int, ways: NDArray[np.void]) -> dict[str, float]:
    """Work at each station for one request of an operation, ms."""
    names = [station.name for station in stations(network)]
    where = machines(network, {name: place for place, name in enumerate(names)})
    work_ms = np.zeros(len(names))

    def work(way: NDArray[np.void], stages: Sequence[int]) -> list[tuple[int, int, float]]:
        return [
            (machine, part, ms) for machine, part, ms in way[["machine", "part", "ms"]][list(stages)].tolist() if ms
        ]

    # By whether the coordinator holds the row.
    alone, branch = ([work(way, stages) for way in ways] for stages in (ALONE, BRANCH))
    look = work(ways[1], (event_loop.LOCAL_DISK,))

    def add(parts: list[tuple[int, int, float]], coordinator: int, node: int, often: float) -> None:
        machine = {event_loop.COORDINATOR: coordinator, event_loop.OWN: node, event_loop.CLIENTS: network.nodes}
        for which, part, ms in parts:
            work_ms[where[machine[which], part]] += often * ms

    for coordinator, held, chance in coordinators(network):
        local = int(held[coordinator])
        add(alone[local], coordinator, coordinator, chance)
        if local:
            add(look, coordinator, coordinator, chance)
        among = np.flatnonzero(held).tolist() if network.readings.targets == "replicas" else range(network.nodes)
        others = [node for node in among if node != coordinator]
        asked = min(network.operations[number].asked - int(held[coordinator]), len(others))
        for node in others:
            add(branch[local], coordinator, node, chance * asked / len(others))
    loads = dict(zip(names, map(float, work_ms), strict=True))
    return loads | {"CPU": loads["CPU"] + loads["client CPU"]} if network.shared_cores else loads


def coordinators(network: Network) -> list[tuple[int, NDArray[np.bool_], float]]:
    """All (coordinator, nodes that hold the row, probability) that there are."""
    n, rf = network.nodes, network.replication
    cases = []
    for first, share in enumerate(ring_shares(n, network.shares)):
        held = np.zeros(n, dtype=bool)
        held[[(first + k) % n for k in range(rf)]] = True
        choices = np.flatnonzero(held) if network.token_aware else np.arange(n)
        cases += [(int(coordinator), held, float(share) / len(choices)) for coordinator in choices]
    return cases


def _alone_ms(network: Network, number: int, ways: NDArray[np.void]) -> float:
    """Least mean time of a request that waits for nobody: of parallel ways the longest mean, for no mean of a maximum
    is less. Where some answers are not waited for there is no such bound, and none of it counts.
    """
    operation, total = network.operations[number], 0.0
    for local, way in enumerate(ways):
        chance = network.local_share if local else 1 - network.local_share
        alone, branch = (float(way[list(stages)]["ms"].sum()) for stages in (ALONE, BRANCH))
        total += chance * alone
        if operation.waits == operation.asked and not network.retry_ms:
            look_ms = float(way[event_loop.LOCAL_DISK]["ms"])
            total += chance * (branch if not local else look_ms if operation.asked == 1 else max(look_ms, branch))
    return total
