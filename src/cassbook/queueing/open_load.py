"""Requests that arrive from outside, whether others are answered or not: response time and utilisation at a rate.

Where a product form holds, the mean is exact: each station is a birth-death process of its own, with Poisson arrivals
(Baskett, Chandy, Muntz and Palacios 1975), and the response time is Little's law over all of them. Everything else, as
fork and join or a client that goes before the nodes on one machine, is simulated; so is p99.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cassbook.core.errors import InputError
from cassbook.core.types import Floats
from cassbook.core.units import MS_PER_S
from cassbook.queueing.loads import Loads
from cassbook.queueing.network import Network
from cassbook.queueing.simulation import BATCHES, REQUESTS, run
from cassbook.queueing.stations import Station, rates, stations

ANALYTIC, SIMULATED = "analytic", "simulated"
_CLIENT = "client CPU"


@dataclass(frozen=True, slots=True)
class OpenLoad:
    """A network under Poisson arrivals.

    Attributes
    ----------
    rate_per_s : float
        Requests that arrive in a second.
    response_ms : float
        Mean response time: from when the client sends a request until it has the answer.
    p99_ms : float
        Simulated; NaN where no simulation was asked for.
    utilisation : dict of str to float
        By station, the busy part of its servers.
    method : str
        'analytic' where a product form holds, otherwise 'simulated'; of the mean and of utilisation.
    """

    rate_per_s: float
    response_ms: float
    p99_ms: float
    utilisation: dict[str, float]
    method: str


def capacity_per_s(network: Network) -> float:
    """Requests per second at which the first station is always busy; above it the backlog grows without end.

    With `slowdown` work costs what it does with many jobs at the processors. Speculative retries are not counted.

    Parameters
    ----------
    network : Network
        Open or closed.
    """
    loads = Loads(network)
    most = []
    for station in stations(network):
        if not np.isfinite(station.servers):
            continue
        work_ms = loads.ms[station.name]
        if network.slowdown and station.shared:
            first_ms = loads.ms[_CLIENT] if station.name == "CPU" else 0.0  # the client's costs what it costs
            work_ms = first_ms + (work_ms - first_ms) * network.slowdown[-1]
        most.append(station.servers / work_ms * MS_PER_S if work_ms else np.inf)
    return float(min(most))


def has_product_form(network: Network) -> bool:
    """Whether the mean response time of the open network is exact by stations: no fork, no region, no priority.

    Stations that serve first come, first served need exponential times of one mean; shared processors and delays do
    not. Every request then asks one replica.
    """
    readings, operations = network.readings, network.operations
    alone = all(operation.asked == operation.waits == 1 for operation in operations)
    if not alone or network.retry_ms or network.shared_cores or readings.region != "none":
        return False
    sizes = {operation.demands.client_ms for operation in operations}, {
        operation.demands.disk_ms for operation in operations
    }  # fmt: skip
    in_line = [name for name in (readings.client_network, readings.node_network) if name != "delay"]
    messages = {
        ms for operation in operations for ms in (operation.demands.request_ms, operation.demands.data_ms)
    }  # fmt: skip
    one_mean = all(len(means) == 1 for means in sizes) and (not in_line or len(messages) == 1)
    exponential = readings.law.kind == "exponential" or not (any(map(sum, sizes)) or (in_line and any(messages)))
    return one_mean and exponential


def open_load(
    network: Network, rate_per_s: float, requests: int = REQUESTS, batches: int = BATCHES, seed: int = 0
) -> OpenLoad:
    """Response time and utilisation of a network at a rate of Poisson arrivals.

    Parameters
    ----------
    network : Network
        Its own think time and rate do not matter.
    rate_per_s : float
    requests, batches, seed : int
        As `simulation.run` takes them; no requests for no simulation, where a product form holds.

    Raises
    ------
    InputError
        For a rate that is not above 0, or not below what the network carries, with that capacity.
    """
    check_rate(rate_per_s, capacity_per_s(network))
    opened = replace(network, rate_per_s=rate_per_s, think_ms=0.0)
    exact = has_product_form(opened)
    p99_ms = float("nan")
    if requests or not exact:
        simulated = run(opened, 0, requests or REQUESTS, batches, seed)
        p99_ms = simulated.quantile_ms(0.99)
        if not exact:
            busy = {name: part.value for name, part in simulated.utilisation.items()}
            return OpenLoad(rate_per_s, simulated.response_ms.value, p99_ms, busy, SIMULATED)
    response_ms, busy = _by_station(opened)
    return OpenLoad(rate_per_s, response_ms, p99_ms, busy, ANALYTIC)


def check_rate(rate_per_s: float, capacity_per_s: float) -> None:
    """Refuse a rate that is not above 0, or that is not carried; raises InputError."""
    if not (np.isfinite(rate_per_s) and rate_per_s > 0):
        raise InputError(f"rate: {rate_per_s:g} requests a second; give a number above 0")
    if rate_per_s >= capacity_per_s:
        raise InputError(
            f"rate: {rate_per_s:g} requests a second are more than this cluster carries, {capacity_per_s:.0f}; at that "
            "rate and above it the backlog grows without end. Give a lower rate"
        )


def _by_station(network: Network) -> tuple[float, dict[str, float]]:
    """Mean response time in ms, and the busy part of each station's servers."""
    loads, per_ms, present, busy = Loads(network), network.rate_per_s / MS_PER_S, 0.0, {}
    for station in stations(network):
        if not np.isfinite(station.servers):
            continue
        jobs, busy[station.name] = _station(network, station, per_ms * loads.ms[station.name])
        present += jobs * (station.name != _CLIENT)
    return present / per_ms + _delayed_ms(network, loads), busy


def _delayed_ms(network: Network, loads: Loads) -> float:
    """Time of a request in stations where nobody waits, ms."""
    return sum(
        loads.every_ms[station.name]
        for station in stations(network)
        if not np.isfinite(station.servers) and station.name != "source"
    )


def _station(network: Network, station: Station, offered: float) -> tuple[float, float]:
    """Mean number of jobs, and the busy part of the servers, of a station that is offered so many servers' work."""
    if not offered:
        return 0.0, 0.0
    speed = _speeds(network, station)
    ratio = offered / speed[-1]  # from the last number of jobs on, each is so much rarer than the one before
    weights = np.cumprod(np.concatenate([[1.0], offered / speed]))
    tail, n = weights[-1] * ratio / (1 - ratio), np.arange(weights.size)
    total = weights.sum() + tail
    jobs = (weights @ n + tail * (n[-1] + 1 / (1 - ratio))) / total
    idle = weights @ np.maximum(station.servers - n, 0) / total
    return float(jobs), float(1 - idle / station.servers)


def _speeds(network: Network, station: Station) -> Floats:
    """Work that a station does with 1, 2, ... jobs there, in servers; the last is for all beyond."""
    most = int(max(station.servers, len(network.slowdown) if station.shared else 1))
    n = np.arange(1, most + 1)
    if not station.shared:
        return np.asarray(np.minimum(n, station.servers), dtype=float)
    return np.asarray(rates(network, station, most)[0, 1:] * n)
