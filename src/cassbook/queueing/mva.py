"""Approximate mean value analysis: the same figures without simulation, for 1, 2, ... jobs in one pass.

Job by job, as in exact MVA (Reiser and Lavenberg 1980): a request finds at each station what a network with one job
less has there. Processors with several cores keep the probabilities of so many jobs, which is exact where a product
form holds. What is corrected:

* *Fork and join.* The time between them is the expected time until as many branches are done as are waited for, of
  branches taken to be independent; each is a sum of stages, of which mean and variance go into a gamma distribution.
* *First come, first served with requests of two sizes* (networks): who comes waits for the work that lies before it.
* *Answers nobody waits for* take their time at every station, though not from the request.
* *One machine for all nodes*: a branch finds its siblings at the same processors.

The capacity region is left out: behind its limit requests wait for the very processor that they would share within it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cassbook.errors import InputError
from cassbook.queueing.loads import Loads, coordinators
from cassbook.queueing.network import Network
from cassbook.queueing.stations import DELAYS, Station, rates, stations

Floats = NDArray[np.float64]

_POINTS = 64  # of the integral over the time between fork and join
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
    place = {own.name: number for number, own in enumerate(found)}
    shared = np.array(["CPU" in own.name for own in found])
    slow = np.array([1.0 / rates(network, own, most_jobs)[1:] for own in found])
    demand = np.array([loads.ms.get(own.name, 0.0) for own in found])  # of what nobody waits for, none
    squared = np.array([_squared(network, own) for own in found])
    x, response = _recursion(
        most_jobs, demand, squared, shared, slow, *_roles(network, place), *_paths(network),
        network.readings.law.scv, network.think_ms, bool(network.shared_cores),
    )  # fmt: skip
    jobs = np.arange(1, most_jobs + 1)
    busy = {
        own.name: np.minimum(1.0, x * _busy_ms(network, own, loads.ms[own.name]))
        for own in found
        if np.isfinite(own.servers)
    }
    return Analysed(jobs, 1000.0 * x, response, busy)


def _busy_ms(network: Network, station: Station, ms: float) -> float:
    least = network.slowdown[-1] if network.slowdown and station.shared else 1.0
    return ms * least / station.servers


def _squared(network: Network, station: Station) -> float:
    """Sum over visits of the square of their demand, for stations that serve in order: residual work, ms²."""
    if "CPU" in station.name:
        return 0.0
    total, weights = 0.0, sum(own.share for own in network.operations)
    loads = Loads(network).ms.get(station.name, 0.0)
    for own in network.operations:
        sizes = (own.demands.disk_ms,) if "disk" in station.name else (own.demands.request_ms, own.demands.data_ms)
        if sum(sizes):
            # Sizes come in pairs everywhere: a query there, a row back.
            total += own.share / weights * loads * sum(size**2 for size in sizes) / sum(sizes)
    return total * (1 + network.readings.law.scv) / 2


def _roles(network: Network, place: dict[str, int]) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Stations by role (CPU, disk, network out and in of each node, then the client's), and how often a node
    coordinates and is asked.
    """

    def at(machine: str, what: str) -> int:
        names = (f"{machine} {what}", f"{machine} {what.split(maxsplit=1)[0]}", "CPU")
        return next(place[name] for name in names if name in place)

    whats = ("CPU", "disk", "network out", "network in")
    nodes = [[at(f"node{i}", what) for what in whats] for i in range(1, network.nodes + 1)]
    client = [at("client", "CPU"), at("client", "CPU"), at("client", "network out"), at("client", "network in")]
    coordinates, asked = np.zeros(network.nodes), np.zeros(network.nodes)
    for coordinator, held, chance in coordinators(network):
        coordinates[coordinator] += chance
        others = held.copy() if network.readings.targets == "replicas" else np.ones(network.nodes, dtype=bool)
        others[coordinator] = False
        asked += chance * others
    total = asked.sum()
    return (
        np.array([*nodes, client]),
        coordinates,
        asked / total if total else np.full(network.nodes, 1 / network.nodes),
    )


def _paths(network: Network) -> tuple[Floats, NDArray[np.int64]]:
    """Requests by operation, local and remote: weight and demands; asked elsewhere, own disk, waits."""
    rows, counts = [], []
    total, readings = sum(own.share for own in network.operations), network.readings
    for own in network.operations:
        d = own.demands
        there, back = (d.data_ms, d.request_ms) if own.write else (d.request_ms, d.data_ms)
        returned = d.cpu_ms.get("read-remote-return", 0.0) or readings.returned_ms
        for local in (1, 0):
            weight = own.share / total * (network.local_share if local else 1 - network.local_share)
            kind = "read-local" if local else "read-remote"
            rows.append([
                weight, d.client_ms, there, back, d.cpu_ms[kind], d.cpu_ms.get(f"{kind}-end", 0.0),
                d.cpu_ms["read-remote-ID"], d.disk_ms, returned, float(readings.receiver),
            ])  # fmt: skip
            most = (network.nodes if readings.targets == "any" else network.replication) - local
            most -= (1 - local) if readings.targets == "any" else 0
            counts.append([min(own.asked - local, most), local, own.waits])
    return np.array(rows), np.array(counts, dtype=np.int64)


@njit(cache=True)
def _below(x, mean, variance):  # type: ignore[no-untyped-def]
    """P(a gamma variable of such mean and variance is below x), after Wilson and Hilferty."""
    if mean <= 0.0:
        return 1.0
    if x <= 0.0:
        return 0.0
    if variance <= 1e-12 * mean * mean:
        return 1.0 if x >= mean else 0.0
    shape = mean * mean / variance
    if abs(shape - 1.0) < 1e-9:
        return 1.0 - math.exp(-x / mean)
    z = 3.0 * math.sqrt(shape) * ((x / mean) ** (1.0 / 3.0) - 1.0 + 1.0 / (9.0 * shape))
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


@njit(cache=True)
def _joined(count, mean, variance, own_mean, own_variance, own, waits):  # type: ignore[no-untyped-def]
    """Expected time until `waits` branches are done, of `count` alike and, if `own`, one other."""
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
def _recursion(most, demand, squared, shared, slow, places, coordinates, asked_of, paths, counts, scv, think, together):  # type: ignore[no-untyped-def]
    stations, nodes = demand.size, coordinates.size
    chance = np.zeros((stations, most + 1))
    chance[:, 0] = 1.0
    wait = np.zeros(stations)
    stretch = np.ones(stations)
    found_x, found_ms = np.zeros(most), np.zeros(most)
    client = places[nodes]
    for n in range(1, most + 1):
        for i in range(stations):
            if shared[i]:
                own = 0.0
                for j in range(1, n + 1):
                    own += slow[i, j - 1] * chance[i, j - 1]
                stretch[i] = own
        # Averages over the nodes, by role.
        cpu_c = disk_c = out_c = in_c = cpu_a = disk_a = out_a = in_a = 0.0
        for k in range(nodes):
            cpu_c += coordinates[k] * stretch[places[k, 0]]
            disk_c += coordinates[k] * wait[places[k, 1]]
            out_c += coordinates[k] * wait[places[k, 2]]
            in_c += coordinates[k] * wait[places[k, 3]]
            cpu_a += asked_of[k] * stretch[places[k, 0]]
            disk_a += asked_of[k] * wait[places[k, 1]]
            out_a += asked_of[k] * wait[places[k, 2]]
            in_a += asked_of[k] * wait[places[k, 3]]
        total = client_total = 0.0
        for row in range(paths.shape[0]):
            weight, client_ms, there, back, parse, end, serve, disk, returned, receiver = paths[row]
            if weight == 0.0:
                continue
            count, own, waits = counts[row]
            ms = there + wait[client[2]] + there + in_c + parse * cpu_c
            if count + own:
                cpu = cpu_a
                if together and count > 1:
                    cpu = _with_siblings(chance[places[0, 0]], slow[places[0, 0]], n, 0.5 * (count - 1))
                mean, variance = 0.0, 0.0
                for stage in range(7):
                    service, waited = 0.0, 0.0
                    if stage == 0:
                        service, waited = there, out_c + 0.5 * (count - 1) * there
                    elif stage == 1:
                        service, waited = receiver * there, receiver * in_a
                    elif stage == 2:
                        service, waited = serve, serve * (cpu - 1.0)
                    elif stage == 3:
                        service, waited = disk, disk_a
                    elif stage == 4:
                        service, waited = back, out_a
                    elif stage == 5:
                        service, waited = receiver * back, receiver * in_c
                    else:
                        service, waited = returned, returned * (cpu_c - 1.0)
                    if service > 0.0:
                        waited = max(waited, 0.0) if stage != 2 else waited
                        mean += service + waited
                        variance += (
                            scv * (service + min(waited, 0.0)) ** 2
                            + 2.0 * service * max(waited, 0.0) * scv
                            + max(waited, 0.0) ** 2
                        )
                own_mean = disk + disk_c if disk > 0.0 else 0.0
                own_variance = scv * disk * disk + disk_c * disk_c
                ms += _joined(count, mean, variance, own_mean, own_variance, own, waits)
            ms += end * cpu_c + back + out_c + back + wait[client[3]]
            total += weight * ms
            client_total += weight * client_ms * stretch[client[0]]
        x = n / (think + client_total + total)
        found_x[n - 1], found_ms[n - 1] = x, total
        for i in range(stations):
            if shared[i]:
                rest = 0.0
                for j in range(n, 0, -1):
                    chance[i, j] = demand[i] * x * slow[i, j - 1] / j * chance[i, j - 1]
                    rest += chance[i, j]
                if rest > 1.0:  # of rounding, and of what is approximated
                    for j in range(1, n + 1):
                        chance[i, j] /= rest
                    rest = 1.0
                chance[i, 0] = 1.0 - rest
            else:
                wait[i] = x * (squared[i] + wait[i] * demand[i])
    return found_x, found_ms


@njit(cache=True)
def _with_siblings(chance, slow, n, siblings):  # type: ignore[no-untyped-def]
    """Stretch of a branch that finds some of its siblings beside what is there."""
    low = int(siblings)
    part = siblings - low
    found = 0.0
    for j in range(1, n + 1):
        a, b = min(j + low, slow.size), min(j + low + 1, slow.size)
        found += chance[j - 1] * ((1.0 - part) * slow[a - 1] + part * slow[b - 1])
    return found
