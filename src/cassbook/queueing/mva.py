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
from numba import njit
from numpy.typing import NDArray

from cassbook.core.errors import InputError
from cassbook.queueing import event_loop
from cassbook.queueing.loads import Loads, coordinators
from cassbook.queueing.network import Network
from cassbook.queueing.stations import DELAYS, Station, machines, rates, stations, taken

Floats = NDArray[np.float64]

_POINTS = 64  # of the integral over the time between fork and join
_ALIKE, _NEVER = 1e-9, 1e-12
_DEVIATIONS = 8.0  # beyond the mean of the longest branch, at which it ends


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
    found = [own for own in stations(network) if own.name not in DELAYS]
    demand = {own.name: loads.ms.get(own.name, 0.0) for own in found}  # of what nobody waits for, none
    if network.shared_cores:
        demand["CPU"] -= demand["client CPU"]
    weights, ways, counts = _paths(network, loads.steps)
    scv = network.readings.law.scv
    at_once = _at_once(demand["CPU"], ways, weights, counts, scv) if network.shared_cores else 0.0
    x, response, present = _recursion(
        most_jobs,
        np.array(list(demand.values())),
        np.array([_squared(network, own, demand[own.name]) for own in found]),
        np.array([_is_processor(own) for own in found]),
        np.array([own.servers for own in found]),
        np.array([_slower(network, own, most_jobs, at_once if own.name == "CPU" else 1.0) for own in found]),
        machines(network, {own.name: number for number, own in enumerate(stations(network))}),
        _roles(network), weights, ways, counts, scv, network.think_ms,
        network.readings.node_network != "delay", at_once, np.array([_steady(own.servers) for own in found]),
    )  # fmt: skip
    jobs = np.arange(1, most_jobs + 1)
    busy = {}
    for number, own in enumerate(found):
        if np.isfinite(own.servers):
            busy[own.name] = x * loads.ms[own.name] / own.servers
            if network.slowdown and own.shared:  # work takes what it takes with those who are there
                busy[own.name] = present[:, number] / own.servers + x * loads.ms["client CPU"] / own.servers
    return Analysed(jobs, 1000.0 * x, response, {name: np.minimum(1.0, part) for name, part in busy.items()})


def _at_once(work_ms: float, ways: NDArray[np.void], weights: Floats, counts: NDArray[np.int64], scv: float) -> float:
    """How many of a request's visits are at a processor at once, on average: all its work over what its answer waits
    for. Branches run side by side, and those that nobody waits for go on.
    """
    own = ways.copy()
    own["ms"][own["part"] != event_loop.CPU] = 0.0
    waited_ms = _waited(own, weights, counts, scv)
    return max(1.0, work_ms / waited_ms) if waited_ms else 1.0


def _is_processor(station: Station) -> bool:
    """Whether it is a processor: all there are served at once. At others a visit waits in line."""
    return "CPU" in station.name


def _slower(network: Network, station: Station, most_jobs: int, at_once: float) -> Floats:
    """Stretch of a visit with 1, 2, ... jobs at a station, each there so many times; shape (taken, jobs)."""
    if not _is_processor(station):
        return np.ones((taken(network).size, most_jobs))
    found = 1.0 / rates(network, station, int(np.ceil(most_jobs * at_once)))[:, 1:]
    visits = np.arange(1, most_jobs + 1) * at_once
    return np.array([np.interp(visits, np.arange(1, found.shape[1] + 1), own) for own in found])


def _squared(network: Network, station: Station, load_ms: float) -> float:
    """Sum over visits of the square of their demand, for stations that serve in order: residual work, ms²."""
    if _is_processor(station) or not load_ms:
        return 0.0
    total, weights = 0.0, sum(own.share for own in network.operations)
    for own in network.operations:
        sizes = (own.demands.disk_ms,) if "disk" in station.name else (own.demands.request_ms, own.demands.data_ms)
        if sum(sizes):
            # Sizes come in pairs everywhere: a query there, a row back.
            total += own.share / weights * load_ms * sum(size**2 for size in sizes) / sum(sizes)
    return total * (1 + network.readings.law.scv) / 2


def _roles(network: Network) -> Floats:
    """How often a machine coordinates, is asked, and is the client; shape (3, nodes + 1)."""
    found = np.zeros((3, network.nodes + 1))
    for coordinator, held, chance in coordinators(network):
        found[event_loop.COORDINATOR, coordinator] += chance
        others = held.copy() if network.readings.targets == "replicas" else np.ones(network.nodes, dtype=bool)
        others[coordinator] = False
        found[event_loop.OWN, :-1] += chance * others
    asked = found[event_loop.OWN].sum()
    found[event_loop.OWN, :-1] = found[event_loop.OWN, :-1] / asked if asked else 1 / network.nodes
    found[event_loop.CLIENTS, -1] = 1.0
    return found


def _paths(network: Network, steps: NDArray[np.void]) -> tuple[Floats, NDArray[np.void], NDArray[np.int64]]:
    """Requests by operation, remote and local: weights, what they do, and how many are asked elsewhere, whether the
    coordinator looks, and how many answers are waited for.
    """
    total, weights, counts = sum(own.share for own in network.operations), [], []
    for own in network.operations:
        for local in (0, 1):
            weights.append(own.share / total * (network.local_share if local else 1 - network.local_share))
            others = network.nodes - 1 if network.readings.targets == "any" else network.replication - local
            counts.append([min(own.asked - local, others), local, own.waits])
    return np.array(weights), steps.reshape(-1, event_loop.STAGES), np.array(counts, dtype=np.int64)


@lru_cache
def _steady(servers: float) -> float:
    """Servers that may be busy, on average, before what is left of 1 no longer tells the chance of nobody at a station.

    It goes into the next steps again; with more servers busy than the least root of what then becomes of an error, the
    error grows from step to step.
    """
    if not 1 < servers < math.inf:
        return math.inf
    terms = [1 / math.factorial(k) for k in range(int(servers) + 1)]
    own = [1.0] + [terms[k] - terms[k - 1] / servers for k in range(1, int(servers))]
    return float(np.abs(np.roots(own[::-1])).min())


@njit(cache=True)
def _below(x, mean, variance):  # type: ignore[no-untyped-def]
    """P(a gamma variable of such mean and variance is below x), after Wilson and Hilferty."""
    if mean <= 0.0:
        return 1.0
    if x <= 0.0:
        return 0.0
    if variance <= _ALIKE * mean * mean:
        return 1.0 if x >= mean else 0.0
    shape = mean * mean / variance
    if abs(shape - 1.0) < _ALIKE:
        return 1.0 - math.exp(-x / mean)
    z = 3.0 * math.sqrt(shape) * ((x / mean) ** (1.0 / 3.0) - 1.0 + 1.0 / (9.0 * shape))
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


@njit(cache=True)
def _joined(count, mean, variance, own_mean, own_variance, own, waits):  # type: ignore[no-untyped-def]
    """Expected time until `waits` branches are done, of `count` alike and, if `own`, one other."""
    if count + own == 1:
        return mean if count else own_mean
    most = max(mean + _DEVIATIONS * math.sqrt(variance), own * (own_mean + _DEVIATIONS * math.sqrt(own_variance)))
    step = most / _POINTS
    total = 0.0
    done = np.zeros(count + own + 1)
    for i in range(_POINTS):
        x = (i + 0.5) * step
        p, q = _below(x, mean, variance), _below(x, own_mean, own_variance)
        done[:] = 0.0
        done[0] = 1.0
        for branch in range(count + own):
            chance = p if branch < count else q
            for k in range(branch + 1, 0, -1):
                done[k] = done[k] * (1.0 - chance) + done[k - 1] * chance
            done[0] *= 1.0 - chance
        for k in range(waits):
            total += done[k]
    return total * step


@njit(cache=True)
def _stay(step, more):  # type: ignore[no-untyped-def]
    """Service and wait at a stage, ms, for what its station adds: a wait, or at a processor a stretch less one."""
    if step.ms <= 0.0:
        return 0.0, 0.0
    if step.part != event_loop.CPU:
        return step.ms, more[step.machine, step.part]
    stretch = more[step.machine, step.part]
    return step.ms * (1.0 + min(0.0, stretch)), step.ms * max(0.0, stretch)


@njit(cache=True)
def _between(way, count, own, waits, more, scv, in_line):  # type: ignore[no-untyped-def]
    """Time from fork to join."""
    mean = variance = 0.0
    for stage in range(event_loop.ASK_OUT, event_loop.RETURN + 1):
        service, wait = _stay(way[stage], more)
        if stage == event_loop.ASK_OUT and in_line:
            wait += 0.5 * (count - 1) * service
        mean += service + wait
        variance += scv * service * (service + 2.0 * wait) + wait * wait
    service, wait = _stay(way[event_loop.LOCAL_DISK], more)
    return _joined(count, mean, variance, service + wait, scv * service * service + wait * wait, own, waits)


@njit(cache=True)
def _waited(ways, weights, counts, scv):  # type: ignore[no-untyped-def]
    """Time at processors for which an answer waits, of a request that is alone."""
    more, total = np.zeros((3, 4)), 0.0
    for row in range(weights.size):
        count, own, waits = counts[row]
        ms = _between(ways[row], count, own, waits, more, scv, False)
        for stage in (event_loop.PARSE, event_loop.END):
            ms += ways[row][stage].ms
        total += weights[row] * ms
    return total


@njit(cache=True)
def _recursion(  # type: ignore[no-untyped-def]  # noqa: PLR0912 - one recursion
    most,
    demand,
    squared,
    shared,
    servers,
    slower,
    machines,
    roles,
    weights,
    ways,
    counts,
    scv,
    think,
    in_line,
    at_once,
    steady,
):
    stations, together = demand.size, at_once > 0.0
    load = demand / at_once if together else demand  # of jobs, where visits are several at once
    busy, queue = machines[0, event_loop.CPU], np.zeros((stations, stations))
    chance = np.zeros((stations, most + 1))
    chance[:, 0] = 1.0
    slow = slower[:, 0].copy()
    found = np.zeros(stations)  # a wait, or a stretch less one
    found_x, found_ms, present = np.zeros(most), np.zeros(most), np.zeros((most, stations))
    more = np.zeros((3, 4))
    for n in range(1, most + 1):
        for i in range(stations):
            if shared[i]:
                found[i] = -1.0
                for j in range(1, n + 1):
                    found[i] += slow[i, j - 1] * chance[i, j - 1]
        for role in range(3):
            for part in range(4):
                more[role, part] = 0.0
                for k in range(machines.shape[0]):
                    more[role, part] += roles[role, k] * found[machines[k, part]]
        total = client = 0.0
        for row in range(weights.size):
            if weights[row] == 0.0:
                continue
            way, ms = ways[row], 0.0
            count, own, waits = counts[row]
            for stage in range(event_loop.CLIENT_OUT, event_loop.CLIENT_IN + 1):
                if stage <= event_loop.PARSE or stage >= event_loop.END:
                    service, wait = _stay(way[stage], more)
                    ms += service + wait
            ms += _between(way, count, own, waits, more, scv, in_line)
            total += weights[row] * ms
            service, wait = _stay(way[event_loop.CLIENT], more)
            client += weights[row] * (service + wait)
        x = n / (think + client + total)
        for i in range(stations):
            if shared[i]:
                x /= max(1.0, _present(chance[i], slow[i], load[i] * x, n))
            else:
                x = min(x, servers[i] / max(demand[i], _NEVER))
        found_x[n - 1], found_ms[n - 1] = x, n / x - think - client
        if together:
            _leave(slow[busy], slower[busy], x * demand[event_loop.CLIENT_CPU])
        for i in range(stations):
            if shared[i]:
                before, slowed = chance[i, 0], together and i == busy
                less = x / _without(queue[i], demand, servers, i, think, n) if slowed or servers[i] > 1.0 else 1.0
                _raise(chance[i], slow[i], load[i] * x, n)
                if slowed:
                    _settle(chance[i], before * less, n)
                elif load[i] * x > steady[i]:
                    _settle(chance[i], before * min(1.0, less), n)
                for j in range(1, n + 1):
                    present[n - 1, i] += min(j * max(1.0, at_once), servers[i]) * chance[i, j]
            else:
                found[i] = x * (squared[i] + found[i] * demand[i])
    return found_x, found_ms, present


@njit(cache=True)
def _leave(slow, slower, taken):  # type: ignore[no-untyped-def]
    """What the client, which takes so many processors on average, leaves of a rate."""
    low = min(int(taken), slower.shape[0] - 1)
    high = min(low + 1, slower.shape[0] - 1)
    part = taken - low if high > low else 0.0
    for j in range(slow.size):
        slow[j] = 1.0 / ((1.0 - part) / slower[low, j] + part / slower[high, j])


@njit(cache=True)
def _raise(chance, slow, load, n):  # type: ignore[no-untyped-def]
    """Probabilities of so many jobs at a processor, from those with one job less in the network."""
    rest = _present(chance, slow, load, n)
    for j in range(n, 0, -1):
        chance[j] = load * slow[j - 1] / j * chance[j - 1]
    chance[0] = max(0.0, 1.0 - rest)


@njit(cache=True)
def _without(queue, demand, servers, busy, think, n):  # type: ignore[no-untyped-def]
    """Throughput of the network without its shared processors, and what then waits at its other stations.

    Several servers are taken for one that is as fast, and a delay (Seidmann et al. 1987).
    """
    stays, cycle = np.zeros(demand.size), think
    for i in range(demand.size):
        if i != busy:
            stays[i] = demand[i] * (1.0 + queue[i] / servers[i])
            cycle += stays[i]
    x = n / max(cycle, _NEVER)
    for i in range(demand.size):
        queue[i] = x * (stays[i] - demand[i] * (1.0 - 1.0 / servers[i]))
    return x


@njit(cache=True)
def _settle(chance, nobody, n):  # type: ignore[no-untyped-def]
    """Probability of nobody at a processor by what it was with one job less, times the throughput over that of the
    network without it (modified MVA; Reiser 1981).

    What is left of 1 would do in theory; where work is slower with few jobs, or many servers are busy, its rounding
    errors grow without bound.
    """
    chance[0] = nobody
    total = 0.0
    for j in range(n + 1):
        total += chance[j]
    for j in range(n + 1):
        chance[j] /= total


@njit(cache=True)
def _present(chance, slow, load, n):  # type: ignore[no-untyped-def]
    """Probability that somebody is at a processor; above 1 where it is asked for more than it can do."""
    rest = 0.0
    for j in range(1, n + 1):
        rest += load * slow[j - 1] / j * chance[j - 1]
    return rest
