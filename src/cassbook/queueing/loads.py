"""How long each station works for a request, on average: exact, whatever the loads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from cassbook.core.types import Floats
from cassbook.core.units import MS_PER_S
from cassbook.queueing import event_loop
from cassbook.queueing.network import Network, Routing, ring_shares
from cassbook.queueing.stations import Station, machines, stations, steps

#: Stages of every request, and those of each one that is sent to another node.
ALONE = (*range(event_loop.CLIENT, event_loop.PARSE + 1), *range(event_loop.END, event_loop.CLIENT_IN + 1))
BRANCH = tuple(range(event_loop.ASK_OUT, event_loop.RETURN + 1))


@dataclass(frozen=True, eq=False)
class Loads:
    """Service demands per request of a network, all visits together.

    Speculative retries depend on how late answers are, and are not in them.
    """

    network: Network

    @cached_property
    def ms(self) -> dict[str, float]:
        """By station, ms of its servers for one request; of one machine for all, its CPU's are the client's too."""
        return {station.name: self.every_ms[station.name] for station in self._queues}

    @cached_property
    def every_ms(self) -> dict[str, float]:
        """As `ms`, with stations at which nobody waits."""
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
        """By station, `ms` over its servers: the time it needs between two requests when it is full.

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
        """Requests per second that no number of jobs can exceed."""
        return MS_PER_S / self.per_server_ms[self.bottleneck]


def _of_operation(network: Network, number: int, ways: NDArray[np.void]) -> dict[str, float]:
    """Work at each station for one request of an operation, ms."""
    names = [station.name for station in stations(network)]
    where = machines(network)
    work_ms = np.zeros(len(names))
    alone, asked = _visits(network.routing, network.operations[number].asked)
    for local, way in enumerate(ways):  # by whether the coordinator holds the row
        look = (event_loop.LOCAL_DISK,) if local else ()
        for often, stages in ((alone, ALONE), (alone, look), (asked, BRANCH)):
            for machine, part, ms in way[["machine", "part", "ms"]][list(stages)].tolist():
                if ms:
                    np.add.at(work_ms, where[:, part], often[local, machine] * ms)
    loads = dict(zip(names, map(float, work_ms), strict=True))
    return loads | {"CPU": loads["CPU"] + loads["client CPU"]} if network.shared_cores else loads


@lru_cache
def _visits(routing: Routing, wanted: int) -> tuple[Floats, Floats]:
    """How often each machine works for a request: what is done once, and what is done for each node asked.

    By whether the coordinator holds the row, role, and machine, the client's last; shape (2, 3, nodes + 1).
    """
    alone, asked = np.zeros((2, 2, 3, routing.nodes + 1))
    for coordinator, local, others, chance in coordinators(routing):
        count = int(others.sum())
        branches = chance * min(wanted - local, count)
        for visits, often in ((alone, chance), (asked, branches)):
            visits[local, event_loop.COORDINATOR, coordinator] += often
            visits[local, event_loop.CLIENTS, -1] += often
        alone[local, event_loop.OWN, coordinator] += chance
        asked[local, event_loop.OWN, :-1] += branches / max(1, count) * others
    return alone, asked


def coordinators(routing: Routing) -> Iterator[tuple[int, int, NDArray[np.bool_], float]]:
    """All (coordinator, whether it holds the row, whom it may ask, probability) that there are."""
    nodes = routing.nodes
    for first, share in enumerate(ring_shares(nodes, routing.shares)):
        held = np.zeros(nodes, dtype=bool)
        held[[(first + k) % nodes for k in range(routing.replication)]] = True
        choices = np.flatnonzero(held) if routing.token_aware else np.arange(nodes)
        for coordinator in map(int, choices):
            others = held.copy() if routing.among_replicas else np.ones(nodes, dtype=bool)
            others[coordinator] = False
            yield coordinator, int(held[coordinator]), others, float(share) / len(choices)
