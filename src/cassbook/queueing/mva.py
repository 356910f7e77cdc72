"""Approximate mean value analysis: the same figures without simulation, for 1, 2, ... jobs in one pass.

Job by job, as in exact MVA (Reiser and Lavenberg 1980): a request finds at each station what a network with one job
less has there. Processors with several cores keep the probabilities of so many jobs, which is exact where a product
form holds. What is corrected:

* *Fork and join.* The time between them is the expected time until as many branches are done as are waited for, of
  branches taken to be independent; each is a sum of stages, of which mean and variance go into a gamma distribution.
* *First come, first served with requests of two sizes* (networks): who comes waits for the work that lies before it.
* *Answers nobody waits for* take their time at every station, though not from the request.
* *More branches than jobs*: what is asked of a station is at most what it can do, whatever response times say.
* *One machine for all nodes*: a request is at the same processors several times at once, and the client, which goes
  first, leaves less of them (a shadow server).

The capacity region is left out: behind its limit requests wait for the very processor that they would share within it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cassbook.core.compilation import records
from cassbook.core.errors import InputError
from cassbook.core.types import Floats
from cassbook.queueing import event_loop
from cassbook.queueing.loads import Loads, coordinators
from cassbook.queueing.mva_recursion import Model, recursion, waited
from cassbook.queueing.network import Network, Routing
from cassbook.queueing.stations import DELAYS, Station, machines, rates, stations, taken


@dataclass(frozen=True, eq=False)
class Analysed:
    """Figures for 1 to J jobs.

    Attributes
    ----------
    jobs : ndarray of int, shape (J,)
    throughput_per_s, response_ms : ndarray, shape (J,)
        As `Simulated` has them.
    utilisation : dict of str to ndarray, shape (J,)
        By station, the busy part of its servers.
    """

    jobs: NDArray[np.int64]
    throughput_per_s: Floats
    response_ms: Floats
    utilisation: dict[str, Floats]


def analyse(network: Network, most_jobs: int) -> Analysed:
    """Analyse a closed network.

    Parameters
    ----------
    network : Network
        Without speculative retry, whose requests depend on how late answers are.
    most_jobs : int

    Raises
    ------
    InputError
        For a network that is open, or has speculative retry.
    """
    if most_jobs < 1:
        raise InputError(f"jobs: {most_jobs}; one at least")
    if network.rate_per_s or network.retry_ms:
        raise InputError("analysis: for closed networks without speculative retry; simulate the others")
    loads = Loads(network)
    places = [station for station in stations(network) if station.name not in DELAYS]
    demand = {station.name: loads.ms.get(station.name, 0.0) for station in places}  # of what nobody waits for, none
    if network.shared_cores:
        demand["CPU"] -= demand["client CPU"]
    weights, ways, counts = _paths(network, loads.steps)
    scv = network.readings.law.scv
    at_once = _at_once(demand["CPU"], ways, weights, counts, scv) if network.shared_cores else 0.0
    model = Model(
        demand=np.array(list(demand.values())),
        squared=np.array([_squared(network, station, demand[station.name]) for station in places]),
        shared=np.array([_is_processor(station) for station in places]),
        servers=np.array([station.servers for station in places]),
        steady=np.array([_steady(station.servers) for station in places]),
        slower=np.array(
            [_slower(network, station, most_jobs, at_once if station.name == "CPU" else 1.0) for station in places]
        ),
        machines=machines(network),
        roles=_roles(network.routing),
        weights=weights,
        ways=ways,
        counts=counts,
        scv=scv,
        think=network.think_ms,
        in_line=network.readings.node_network != "delay",
        at_once=at_once,
    )
    x, response, present = recursion(most_jobs, model)
    jobs = np.arange(1, most_jobs + 1)
    busy = {}
    for number, station in enumerate(places):
        if np.isfinite(station.servers):
            busy[station.name] = x * loads.ms[station.name] / station.servers
            if network.slowdown and station.shared:  # work takes what it takes with those who are there
                busy[station.name] = present[:, number] / station.servers + x * loads.ms["client CPU"] / station.servers
    return Analysed(jobs, 1000.0 * x, response, {name: np.minimum(1.0, part) for name, part in busy.items()})


def _at_once(work_ms: float, ways: NDArray[np.void], weights: Floats, counts: NDArray[np.int64], scv: float) -> float:
    """Mean number of a request's visits that are at a processor at once: all its work over what its answer waits for.

    Branches run side by side, and those that nobody waits for go on.
    """
    at_cpu = ways.copy()
    at_cpu["ms"][at_cpu["part"] != event_loop.CPU] = 0.0
    waited_ms = waited(at_cpu, weights, counts, scv)
    return max(1.0, work_ms / waited_ms) if waited_ms else 1.0


def _is_processor(station: Station) -> bool:
    """Whether all who are at a station are served at once. At others a visit waits in line."""
    return "CPU" in station.name


def _slower(network: Network, station: Station, most_jobs: int, at_once: float) -> Floats:
    """Stretch of a visit with 1, 2, ... jobs at a station, each there so many times; shape (taken, jobs)."""
    if not _is_processor(station):
        return np.ones((taken(network).size, most_jobs))
    stretch = 1.0 / rates(network, station, int(np.ceil(most_jobs * at_once)))[:, 1:]
    visits = np.arange(1, most_jobs + 1) * at_once
    return np.array([np.interp(visits, np.arange(1, stretch.shape[1] + 1), row) for row in stretch])


def _squared(network: Network, station: Station, load_ms: float) -> float:
    """Sum over visits of the square of their demand, for stations that serve in order: residual work, ms²."""
    if _is_processor(station) or not load_ms:
        return 0.0
    total, weights = 0.0, sum(operation.share for operation in network.operations)
    for operation in network.operations:
        sizes = (
            (operation.demands.disk_ms,)
            if "disk" in station.name
            else (operation.demands.request_ms, operation.demands.data_ms)
        )
        if sum(sizes):
            # Sizes come in pairs everywhere: a query there, a row back.
            total += operation.share / weights * load_ms * sum(size**2 for size in sizes) / sum(sizes)
    return total * (1 + network.readings.law.scv) / 2


@lru_cache
def _roles(routing: Routing) -> Floats:
    """How often a machine coordinates, is asked, and is the client; shape (3, nodes + 1)."""
    nodes = routing.nodes
    roles = np.zeros((3, nodes + 1))
    for coordinator, _, others, chance in coordinators(routing):
        roles[event_loop.COORDINATOR, coordinator] += chance
        roles[event_loop.OWN, :-1] += chance * others
    elsewhere = roles[event_loop.OWN].sum()
    roles[event_loop.OWN, :-1] = roles[event_loop.OWN, :-1] / elsewhere if elsewhere else 1 / nodes
    roles[event_loop.CLIENTS, -1] = 1.0
    return roles


def _paths(network: Network, steps: NDArray[np.void]) -> tuple[Floats, NDArray[np.void], NDArray[np.int64]]:
    """Requests by operation, remote and local: weights, what they do, and counts.

    Counts are how many are asked elsewhere, whether the coordinator looks, and how many answers are waited for.
    """
    total, weights, counts = sum(operation.share for operation in network.operations), [], []
    for operation in network.operations:
        for local in (0, 1):
            weights.append(operation.share / total * (network.local_share if local else 1 - network.local_share))
            others = network.nodes - 1 if network.readings.targets == "any" else network.replication - local
            counts.append([min(operation.asked - local, others), local, operation.waits])
    return np.array(weights), records(steps.reshape(-1, event_loop.STAGES)), np.array(counts, dtype=np.int64)


@lru_cache
def _steady(servers: float) -> float:
    """Servers that may be busy, on average, before what is left of 1 no longer tells the chance of nobody at a station.

    It goes into the next steps again; with more servers busy than the least root of what then becomes of an error, the
    error grows from step to step.
    """
    if not 1 < servers < math.inf:
        return math.inf
    terms = [1 / math.factorial(k) for k in range(int(servers) + 1)]
    polynomial = [1.0] + [terms[k] - terms[k - 1] / servers for k in range(1, int(servers))]
    return float(np.abs(np.roots(polynomial[::-1])).min())
