"""A network as the stations that the event loop knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cassbook.queueing import engine
from cassbook.queueing.network import CPU_CLASSES, Network, Operation, ring_shares

Floats = NDArray[np.float64]

_KINDS = {"constant": engine.CONSTANT, "exponential": engine.EXPONENTIAL, "erlang": engine.ERLANG,
          "hyper": engine.HYPER}  # fmt: skip
_REGIONS = {"none": engine.NO_REGION, "cpu": engine.REGION_CPU, "cpu-disk": engine.REGION_CPU_DISK,
            "reads": engine.REGION_READS}  # fmt: skip
#: Stations of the network as a whole, in which nobody waits: think times and time-outs, and arrivals.
DELAYS = ("delay", "source")
#: Jobs at a station up to which its rate is looked up.
_RATES = 1024


@dataclass(frozen=True, slots=True)
class Station:
    """A station.

    Attributes
    ----------
    name : str
    servers : float
        Infinite for a delay.
    shared : bool
        Processor sharing; else first come, first served.
    """

    name: str
    servers: float
    shared: bool = False


def stations(network: Network) -> list[Station]:
    """Names and servers: client's CPU and network, nodes' CPUs, disks and networks, then the two delays."""
    own = network.readings
    found = []
    if network.shared_cores:
        found.append(Station("CPU", network.shared_cores, shared=True))
    else:
        found.append(Station("client CPU", own.client_cores))
    found += [Station(f"client network{way}", *_network(own.client_network)) for way in _ways(own.client_network)]
    for i in range(1, network.nodes + 1):
        if not network.shared_cores:
            found.append(Station(f"node{i} CPU", own.node_cores, shared=True))
        found.append(Station(f"node{i} disk", 1))
        found += [Station(f"node{i} network{way}", *_network(own.node_network)) for way in _ways(own.node_network)]
    return [*found, *(Station(name, np.inf, shared=True) for name in DELAYS)]


def _ways(network: str) -> tuple[str, ...]:
    return (" out", " in") if network == "two" else ("",)


def _network(network: str) -> tuple[float, bool]:
    """Servers, and whether they are shared."""
    return (np.inf, True) if network == "delay" else (1, False)


def model(network: Network) -> engine.Model:
    """The same in arrays."""
    own = network.readings
    found = stations(network)
    place = {station.name: number for number, station in enumerate(found)}
    nodes = range(1, network.nodes + 1)

    def placed(what: str) -> NDArray[np.int64]:
        return np.array([place[f"node{i} {what}"] for i in nodes], dtype=np.int64)

    out, into = _ways(own.client_network)[0], _ways(own.client_network)[-1]
    node_out, node_in = _ways(own.node_network)[0], _ways(own.node_network)[-1]
    cpu = np.zeros(network.nodes, np.int64) if network.shared_cores else placed("CPU")
    shares = np.array([operation.share for operation in network.operations])
    demands = [operation.demands for operation in network.operations]
    return engine.Model(
        kind=np.array([engine.SHARED if station.shared else engine.FCFS for station in found]),
        servers=np.array([float(station.servers) for station in found]),
        rates=np.array([rates(network, station) for station in found]),
        client_cpu=0, client_out=place[f"client network{out}"], client_in=place[f"client network{into}"],
        timer=place["delay"], source=place["source"],
        cpu=cpu, disk=placed("disk"), net_out=placed(f"network{node_out}"), net_in=placed(f"network{node_in}"),
        region=_REGIONS[own.region], region_limit=network.region_limit,
        client_limit=network.client_threads,
        nodes=network.nodes, replication=network.replication,
        primary=np.cumsum(ring_shares(network.nodes, network.shares)),
        token_aware=network.token_aware, any_target=own.targets == "any", receiver_net=own.receiver,
        share=np.cumsum(shares / shares.sum()),
        asked=np.array([operation.asked for operation in network.operations]),
        waits=np.array([operation.waits for operation in network.operations]),
        cpu_ms=np.array([_cpu_ms(operation, own.returned_ms) for operation in network.operations]),
        disk_ms=np.array([own.disk_ms for own in demands]),
        request_ms=np.array([_there(operation) for operation in network.operations]),
        data_ms=np.array([_back(operation) for operation in network.operations]),
        ask_ms=np.array([_there(operation) for operation in network.operations]),
        answer_ms=np.array([_back(operation) for operation in network.operations]),
        client_ms=np.array([own.client_ms for own in demands]),
        retry_ms=float(network.retry_ms), think_ms=float(network.think_ms), think_law=_KINDS[network.think.kind],
        law=np.full(4, _KINDS[own.law.kind]), law_shape=np.full(4, float(own.law.shape)),
        interarrival_ms=1000.0 / network.rate_per_s if network.rate_per_s else np.inf,
    )  # fmt: skip


def _there(operation: Operation) -> float:
    return operation.demands.data_ms if operation.write else operation.demands.request_ms


def _back(operation: Operation) -> float:
    return operation.demands.request_ms if operation.write else operation.demands.data_ms


def _cpu_ms(operation: Operation, returned_ms: float) -> list[float]:
    """Demands in the order of the engine's classes."""
    own = operation.demands.cpu_ms
    found = [float(own.get(name, 0.0)) for name in CPU_CLASSES]
    found[engine.RETURNED] = found[engine.RETURNED] or returned_ms
    return found


def rates(network: Network, station: Station, most: int = _RATES) -> Floats:
    """At which each of n jobs is served, n from 0 to `most`: shape (most + 1,)."""
    n = np.arange(most + 1)
    own = np.minimum(1.0, station.servers / np.maximum(n, 1))
    if network.slowdown and station.name.endswith("CPU") and station.shared:
        factors = np.asarray(network.slowdown)
        own = own / factors[np.clip(n - 1, 0, factors.size - 1)]
    return np.asarray(own)
