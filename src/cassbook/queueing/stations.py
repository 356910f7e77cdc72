"""A network as the stations that the event loop knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cassbook.core.types import Floats
from cassbook.queueing import event_loop
from cassbook.queueing.network import Network, Operation, Readings, ring_shares

_KINDS = {"constant": event_loop.CONSTANT, "exponential": event_loop.EXPONENTIAL, "erlang": event_loop.ERLANG,
          "hyper": event_loop.HYPER}  # fmt: skip
#: Stations of the network as a whole, in which nobody waits: think times and time-outs, and arrivals.
DELAYS = ("delay", "source")
#: Processors that a client which takes all leaves to nodes of the lowest priority: 15 of 1024 + 15 parts of one.
LEAST_LEFT = 15 / 1039
#: Jobs at a station up to which its rate is looked up.
_RATES = 1024


@dataclass(frozen=True, slots=True)
class Station:
    """Servers (infinite for a delay) with one queue; `shared` for processor sharing, else first come, first served."""

    name: str
    servers: float
    shared: bool = False


def stations(network: Network) -> tuple[Station, ...]:
    """Names and servers: client's CPU and network, nodes' CPUs, disks and networks, then the two delays."""
    return _stations(network.nodes, network.shared_cores, network.client_threads, network.readings)


@lru_cache
def _stations(nodes: int, shared_cores: int, client_threads: int, readings: Readings) -> tuple[Station, ...]:
    listed = [Station("client CPU", client_threads if shared_cores else readings.client_cores)]
    listed += [
        Station(f"client network{way}", *_network(readings.client_network)) for way in _ways(readings.client_network)
    ]
    for i in range(1, nodes + 1):
        if not shared_cores:
            listed.append(Station(f"node{i} CPU", readings.node_cores, shared=True))
        listed.append(Station(f"node{i} disk", 1))
        listed += [
            Station(f"node{i} network{way}", *_network(readings.node_network)) for way in _ways(readings.node_network)
        ]
    if shared_cores:
        listed.append(Station("CPU", shared_cores, shared=True))
    return (*listed, *(Station(name, np.inf, shared=True) for name in DELAYS))


def _ways(network: str) -> tuple[str, ...]:
    return (" out", " in") if network == "two" else ("",)


def _network(network: str) -> tuple[float, bool]:
    """Servers of a network's station, and whether they are shared."""
    return (np.inf, True) if network == "delay" else (1, False)


def build(network: Network, room: int, rng: NDArray[np.uint64]) -> event_loop.Net:
    """A network in arrays, empty, with room for so many tokens and requests."""
    listed = stations(network)
    rows = np.zeros(len(listed), event_loop.STATION)
    rows["kind"] = [event_loop.SHARED if station.shared else event_loop.FCFS for station in listed]
    rows["servers"] = [station.servers for station in listed]
    rows["next_ms"], rows["first"] = np.inf, -1
    tokens = event_loop.chained(room, event_loop.TOKEN)
    tokens["following"][-2] = -1  # the last is the source's own
    nodes = np.zeros(network.nodes, event_loop.NODE)
    nodes["upto"] = np.cumsum(ring_shares(network.nodes, network.shares))
    shares = np.array([operation.share for operation in network.operations])
    operations = np.zeros(len(network.operations), event_loop.OPERATION)
    operations["upto"] = np.cumsum(shares / shares.sum())
    for name in ("asked", "waits"):
        operations[name] = [getattr(operation, name) for operation in network.operations]
    regions = np.zeros(network.nodes, event_loop.REGION)
    regions["limit"], regions["first"] = network.region_limit, -1
    place = {station.name: number for number, station in enumerate(listed)}
    return event_loop.Net(
        _whole(network, place), rows, np.array([rates(network, station) for station in listed]),
        np.zeros((len(listed), room), event_loop.HEAP), event_loop.empty_tree(len(listed)), machines(network),
        regions, nodes, operations, steps(network), tokens, event_loop.chained(room, event_loop.REQUEST), rng,
    )  # fmt: skip


def _whole(network: Network, place: Mapping[str, int]) -> NDArray[np.void]:
    row = np.zeros(1, event_loop.WHOLE)
    row["nodes"], row["replication"] = network.nodes, network.replication
    row["token_aware"], row["any_target"] = network.token_aware, network.readings.targets == "any"
    row["retry_ms"], row["timer"], row["source"] = network.retry_ms, place["delay"], place["source"]
    row["shared"] = place.get("CPU", -1)
    row["interarrival_ms"] = 1000.0 / network.rate_per_s if network.rate_per_s else np.inf
    return row


def machines(network: Network) -> NDArray[np.int64]:
    """Numbers of the stations of each machine, the client's last; shape (nodes + 1, parts)."""
    return _machines(stations(network), network.nodes, network.readings)


@lru_cache
def _machines(listed: tuple[Station, ...], nodes: int, readings: Readings) -> NDArray[np.int64]:
    place = {station.name: number for number, station in enumerate(listed)}
    numbers = np.zeros((nodes + 1, event_loop.PARTS), np.int64)
    for i in range(nodes + 1):
        machine, ways = (f"node{i + 1}", _ways(readings.node_network)) if i < nodes else (
            "client", _ways(readings.client_network)
        )  # fmt: skip
        numbers[i, event_loop.CPU] = place.get(f"{machine} CPU", place.get("CPU", 0))
        numbers[i, event_loop.OUT], numbers[i, event_loop.IN] = (
            place[f"{machine} network{way}"] for way in (ways[0], ways[-1])
        )
        numbers[i, event_loop.DISKS] = place.get(f"{machine} disk", 0)
        numbers[i, event_loop.DELAY] = place["delay"]
    return numbers


def steps(network: Network) -> NDArray[np.void]:
    """What is done at each stage: rows of `event_loop.STEP`, shape (operations, 2, stages), remote and local."""
    table = np.zeros((len(network.operations), 2, event_loop.STAGES), event_loop.STEP)
    readings = network.readings
    receiver = float(readings.receiver)
    for rows, operation in zip(table, network.operations, strict=True):
        demands, cpu = operation.demands, operation.demands.cpu_ms
        there, back = (
            (demands.data_ms, demands.request_ms) if operation.write else (demands.request_ms, demands.data_ms)
        )
        for local, own_steps in enumerate(rows):
            kind = "read-local" if local else "read-remote"
            ways = {
                event_loop.THINK: (network.think_ms, event_loop.CLIENT_TIMES, event_loop.CLIENTS, event_loop.DELAY),
                event_loop.CLIENT: (demands.client_ms, event_loop.CLIENT_TIMES, event_loop.CLIENTS, event_loop.CPU),
                event_loop.CLIENT_OUT: (there, event_loop.NET_TIMES, event_loop.CLIENTS, event_loop.OUT),
                event_loop.COORDINATOR_IN: (there, event_loop.NET_TIMES, event_loop.COORDINATOR, event_loop.IN),
                event_loop.PARSE: (cpu[kind], event_loop.CPU_TIMES, event_loop.COORDINATOR, event_loop.CPU),
                event_loop.LOCAL_DISK: (
                    demands.disk_ms,
                    event_loop.DISK_TIMES,
                    event_loop.COORDINATOR,
                    event_loop.DISKS,
                ),
                event_loop.ASK_OUT: (there, event_loop.NET_TIMES, event_loop.COORDINATOR, event_loop.OUT),
                event_loop.ASK_IN: (receiver * there, event_loop.NET_TIMES, event_loop.OWN, event_loop.IN),
                event_loop.SERVE: (cpu["read-remote-ID"], event_loop.CPU_TIMES, event_loop.OWN, event_loop.CPU),
                event_loop.DISK: (demands.disk_ms, event_loop.DISK_TIMES, event_loop.OWN, event_loop.DISKS),
                event_loop.ANSWER_OUT: (back, event_loop.NET_TIMES, event_loop.OWN, event_loop.OUT),
                event_loop.ANSWER_IN: (receiver * back, event_loop.NET_TIMES, event_loop.COORDINATOR, event_loop.IN),
                event_loop.RETURN: (
                    returned_ms(network, operation),
                    event_loop.CPU_TIMES,
                    event_loop.COORDINATOR,
                    event_loop.CPU,
                ),
                event_loop.END: (
                    cpu.get(f"{kind}-end", 0.0),
                    event_loop.CPU_TIMES,
                    event_loop.COORDINATOR,
                    event_loop.CPU,
                ),
                event_loop.COORDINATOR_OUT: (back, event_loop.NET_TIMES, event_loop.COORDINATOR, event_loop.OUT),
                event_loop.CLIENT_IN: (back, event_loop.NET_TIMES, event_loop.CLIENTS, event_loop.IN),
            }
            for stage, values in ways.items():
                for name, value in zip(("ms", "stream", "machine", "part"), values, strict=True):
                    own_steps[stage][name] = value
            own_steps["law"], own_steps["shape"] = _KINDS[readings.law.kind], readings.law.shape
            think = own_steps[event_loop.THINK]
            think["law"], think["shape"] = _KINDS[network.think.kind], network.think.shape
            for enters, leaves in _covered(network, bool(local)):
                own_steps[enters]["enters"], own_steps[leaves]["leaves"] = 1, 1
    return table


def _covered(network: Network, local: bool) -> list[tuple[int, int]]:
    """First and last stage of each stretch that the capacity regions cover."""
    region = network.readings.region
    if region == "none":
        return []
    covered = [(event_loop.SERVE, event_loop.SERVE if region == "cpu" else event_loop.DISK)]
    if local:
        covered.append((event_loop.PARSE, event_loop.PARSE if region == "cpu" else event_loop.LOCAL_DISK))
    if region == "reads":
        return covered
    alone = (event_loop.RETURN, event_loop.END) if local else (event_loop.PARSE, event_loop.RETURN, event_loop.END)
    return covered + [(stage, stage) for stage in alone]


def returned_ms(network: Network, operation: Operation) -> float:
    """CPU time of a coordinator for each answer."""
    return operation.demands.cpu_ms.get("read-remote-return", 0.0) or network.readings.returned_ms


def taken(network: Network) -> NDArray[np.int64]:
    """Numbers of processors, 0, 1, ..., that the client may take of those it shares with the nodes."""
    return np.arange(1 + min(network.client_threads, network.shared_cores) * bool(network.shared_cores))


def rates(network: Network, station: Station, most: int = _RATES) -> Floats:
    """Rates at which each of n jobs is served, while the client takes 0, 1, ... of the processors.

    Shape (taken + 1, most + 1); n from 0 to `most`.
    """
    n = np.arange(most + 1)
    left = np.maximum(station.servers - taken(network) * (station.name == "CPU"), LEAST_LEFT)
    speed = np.minimum(1.0, left[:, None] / np.maximum(n, 1))
    if network.slowdown and station.name.endswith("CPU") and station.shared:
        factors = np.asarray(network.slowdown)
        speed = speed / factors[np.clip(n - 1, 0, factors.size - 1)]
    return np.asarray(speed)
