"""What a level costs at a distance: the k-th of the round trips, and three bounds of throughput.

A request goes from the client to a coordinator, which asks replicas and waits for the k nearest answers (its own among
them if it holds the row): *hold* is the k-th smallest round trip from the coordinator, its own being zero. So one
request alone takes

    alone = round trip to the coordinator + hold + service.

With N in flight in a closed loop (Little's law: latency = N / throughput), throughput is bounded by what the processors
of the cluster can do, and by what a coordinator holds at a time: it gives each request a thread until its answer is
complete, and has `in_flight` of them (`native_transport_max_threads`, 128 by default). Latency is the largest of

    alone,   N / C (hold + service) / in_flight,   N / most_per_s

where C coordinators share the load. The bounds are asymptotes: near a knee latency is above them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cassbook.core.consistency import replicas_waited_for
from cassbook.core.errors import InputError
from cassbook.deployment.distances import Placement
from cassbook.deployment.notation import CLIENT, Host
from cassbook.deployment.replication import Replication, check, replica_sets

#: Requests that a coordinator works on at a time: Cassandra's native_transport_max_threads.
IN_FLIGHT = 128
LEVELS = ("ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM")
POLICIES = ("nearest_dc", "nearest", "round_robin")
_DRAWS, _SEED = 20_000, 20211207


@dataclass(frozen=True, slots=True)
class Way:
    """A request through one coordinator.

    Attributes
    ----------
    coordinator : str
    share : float
        Part of the requests that go there.
    client_ms, hold_ms : float
        Round trip to the coordinator, and how long that waits for replicas.
    holds : tuple of (float, float)
        What `hold_ms` is the mean of: by the nodes that hold the row, how long that is and which part of the rows.
    """

    coordinator: str
    share: float
    client_ms: float
    hold_ms: float
    holds: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Model:
    """A deployment that requests of one level go through.

    Attributes
    ----------
    placement : Placement
    level : str
        One of `LEVELS`.
    policy : str
        'nearest_dc' (all nodes of the nearest one's region take turns), 'nearest', 'round_robin', or the name of a node
        that coordinates everything.
    replication : int or mapping of str to int
        Replicas of a row, neighbours in the ring, whose order is that of the names; or by name of a data centre, so
        many there (see `replication`).
    service_ms : float
        What one request takes where nothing is far.
    most_per_s : float
        Throughput of the cluster where nothing is far.
    in_flight : int
        Requests that a coordinator holds at a time.

    Raises
    ------
    InputError
        For an unknown level or policy, or a level that waits for more replicas than there are.
    """

    placement: Placement
    level: str
    policy: str = "nearest_dc"
    replication: Replication = 3
    service_ms: float = 0.0
    most_per_s: float = float("inf")
    in_flight: int = IN_FLIGHT

    def __post_init__(self) -> None:
        names = self._names
        if self.level not in LEVELS:
            raise InputError(f"level: {self.level!r} is unknown; use one of {', '.join(LEVELS)}")
        if self.policy not in {*POLICIES, *names}:
            raise InputError(
                f"policy: {self.policy!r} is unknown; use {', '.join(POLICIES)} or one of {', '.join(names)}"
            )
        check(self.placement, self.replication)
        self.ways()

    @property
    def _nodes(self) -> tuple[Host, ...]:
        return self.placement.deployment.replicas

    @property
    def _names(self) -> list[str]:
        return [host.name for host in self._nodes]

    @property
    def _places(self) -> dict[str, int]:
        """Region of each replica."""
        return {host.name: host.region for host in self._nodes}

    def ways(self) -> list[Way]:
        """How requests go: one entry a coordinator that is used."""
        rtt = self._round_trips()
        client_ms = {name: float(rtt[CLIENT, name].mean()) for name in self._names}
        nearest = min(client_ms, key=client_ms.__getitem__)
        places = self._places
        used = {
            "round_robin": self._names,
            "nearest": [nearest],
            "nearest_dc": [name for name in self._names if places[name] == places[nearest]],
        }.get(self.policy, [self.policy])
        return [Way(name, 1 / len(used), client_ms[name], *self._holds(name, rtt)) for name in used]

    def alone_ms(self) -> float:
        """Mean latency of one request at a time."""
        return sum(way.share * (way.client_ms + way.hold_ms) for way in self.ways()) + self.service_ms

    def throughput_per_s(self, threads: float) -> float:
        """Requests per second with so many in flight."""
        return threads / self.latency_ms(threads) * 1000

    def latency_ms(self, threads: float) -> float:
        """Mean latency with so many in flight in a closed loop."""
        return max(self.bounds_ms(threads).values())

    def bounds_ms(self, threads: float) -> dict[str, float]:
        """What latency cannot be below, by what keeps it from being: 'distance', 'coordinator', 'processors'."""
        ways = self.ways()
        # Threads go where they find room, so that all coordinators together are the bound.
        held_ms = sum(way.share * (way.hold_ms + self.service_ms) for way in ways)
        return {
            "distance": self.alone_ms(),
            "coordinator": threads * held_ms / (self.in_flight * len(ways)),
            "processors": threads / self.most_per_s * 1000,
        }

    def _round_trips(self) -> dict[tuple[str, str], np.ndarray]:
        """Draws of each round trip in ms; one where nothing jitters."""
        links = self.placement.links()
        random = np.random.default_rng(_SEED)
        draws = _DRAWS if any(link.jitter_ms for link in links.values()) else 1
        one_way = {pair: link.delay_ms + link.jitter_ms * random.uniform(-1, 1, draws) for pair, link in links.items()}
        return {(a, b): one_way[a, b] + one_way[b, a] for a, b in one_way}

    def _holds(
        self, coordinator: str, rtt: dict[tuple[str, str], np.ndarray]
    ) -> tuple[float, tuple[tuple[float, float], ...]]:
        """Mean over all rows of how long it waits for replicas, and the values that this is of, with their shares."""
        sets = self._sets(coordinator)
        held = [self._waited_ms(coordinator, replicas, rtt) for replicas, _ in sets]
        often = [count for _, count in sets]
        shares: dict[float, float] = {}
        for ms, count in zip(held, often, strict=True):
            shares[ms] = shares.get(ms, 0.0) + count / sum(often)
        return float(np.average(held, weights=often)), tuple(sorted(shares.items()))

    def _sets(self, coordinator: str) -> list[tuple[tuple[str, ...], int]]:
        """Nodes that hold a row; by data centre, those once that are as far from the coordinator as others."""
        sets = replica_sets(self.placement, self.replication)
        if not isinstance(self.replication, Mapping):
            return sets
        where = {host.name: (host.region, host.zone, host.name == coordinator) for host in self._nodes}
        merged: dict[tuple[tuple[int, int, bool], ...], tuple[tuple[str, ...], int]] = {}
        for replicas, often in sets:
            alike = tuple(sorted(where[name] for name in replicas))
            first, before = merged.get(alike, (replicas, 0))
            merged[alike] = first, before + often
        return list(merged.values())

    def _waited_ms(self, coordinator: str, replicas: Sequence[str], rtt: dict[tuple[str, str], np.ndarray]) -> float:
        places = self._places
        region = places[coordinator]
        if self.level.startswith("LOCAL_"):
            groups = [[name for name in replicas if places[name] == region]]
            if not groups[0]:
                raise self._nothing_local(coordinator)
        elif self.level == "EACH_QUORUM":
            by_region = itertools.groupby(sorted(replicas, key=places.__getitem__), key=places.__getitem__)
            groups = [list(group) for _, group in by_region]
        else:
            groups = [list(replicas)]
        plain = self.level.rpartition("_")[2]
        slowest = []
        for group in groups:
            needed = replicas_waited_for(plain, len(group))
            if needed > len(group):
                there = f"{len(group)} {'is' if len(group) == 1 else 'are'} there to be asked"
                raise InputError(f"level: {self.level} waits for {needed} replicas, {there}")
            draws = np.sort(np.stack([_to(coordinator, name, rtt) for name in group]), axis=0)
            slowest.append(draws[needed - 1])
        return float(np.max(np.stack(slowest), axis=0).mean())

    def _nothing_local(self, coordinator: str) -> InputError:
        centre = next(self.placement.centre(host) for host in self._nodes if host.name == coordinator)
        why = f"no row has a replica there; give {centre} some, or choose another --coordinator"
        if not isinstance(self.replication, Mapping):
            each = ",".join(f"{name}={min(3, len(nodes))}" for name, nodes in self.placement.data_centres().items())
            why = (
                f"some rows have no replica there, since replication {self.replication} goes round the ring whatever "
                f"the data centre (SimpleStrategy); give it by data centre, {each}"
            )
        return InputError(
            f"level: {self.level} waits for replicas in {centre}, where the coordinator {coordinator} is: {why}"
        )


def _to(coordinator: str, name: str, rtt: dict[tuple[str, str], np.ndarray]) -> np.ndarray:
    any_rtt = next(iter(rtt.values()))
    return np.zeros_like(any_rtt) if name == coordinator else rtt[coordinator, name]


def table(models: Sequence[Model], threads: Sequence[float]) -> pd.DataFrame:
    """Predictions of several models: one row per (model, threads), with what bounds it."""
    rows = []
    for model in models:
        for count in threads:
            bounds = model.bounds_ms(count)
            bound = max(bounds, key=bounds.__getitem__)
            rows.append((str(model.placement.deployment), model.level, model.policy, count, bounds[bound], bound))
    columns = ["deployment", "level", "policy", "threads", "latency_ms", "bound"]
    return pd.DataFrame(rows, columns=columns)
