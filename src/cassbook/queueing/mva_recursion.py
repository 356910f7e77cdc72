"""The recursion of the mean value analysis, compiled: figures with n jobs from those with one less (see `mva`)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cassbook.core.compilation import compiled
from cassbook.core.types import Floats
from cassbook.queueing import event_loop

_POINTS = 64  # of the integral over the time between fork and join
_ALIKE, _NEVER = 1e-9, 1e-12
_DEVIATIONS = 8.0  # beyond the mean of the longest branch, at which it ends


class Model(NamedTuple):
    """The network as numbers, S stations; names in backticks are functions of `mva`."""

    demand: Floats  # (S,): work of a request, ms
    squared: Floats  # (S,): `_squared`
    shared: NDArray[np.bool_]  # (S,): which are processors
    servers: Floats  # (S,)
    steady: Floats  # (S,): `_steady`
    slower: Floats  # (S, taken, jobs): `_slower`
    machines: NDArray[np.int64]  # (nodes + 1, parts)
    roles: Floats  # (3, nodes + 1): `_roles`
    weights: Floats  # these three: `_paths`
    ways: NDArray[np.void]
    counts: NDArray[np.int64]
    scv: float  # squared coefficient of variation of service times
    think: float  # time that a client thinks, ms
    in_line: bool  # messages leave one after the other
    at_once: float  # `_at_once`; 0 where nodes share no machine


class _At(NamedTuple):
    """Where the recursion stands, after so many jobs."""

    chance: Floats  # (S, jobs + 1): probabilities of so many jobs at a processor
    slow: Floats  # (S, jobs): stretch of a visit with so many jobs there
    queue: Floats  # (S, S): of each network that is without one of its processors
    ahead: Floats  # (S,): what a request finds at a station: a wait, ms, or at a processor a stretch less one
    more: Floats  # (3, parts): the same by role and part of a machine


@compiled(cache=True)
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


@compiled(cache=True)
def _joined(count, mean, variance, local_mean, local_variance, local, waits):  # type: ignore[no-untyped-def]
    """Expected time until `waits` branches are done, of `count` alike and, if `local`, one other."""
    if count + local == 1:
        return mean if count else local_mean
    most = max(mean + _DEVIATIONS * math.sqrt(variance), local * (local_mean + _DEVIATIONS * math.sqrt(local_variance)))
    step = most / _POINTS
    total = 0.0
    done = np.zeros(count + local + 1)
    for i in range(_POINTS):
        x = (i + 0.5) * step
        p, q = _below(x, mean, variance), _below(x, local_mean, local_variance)
        done[:] = 0.0
        done[0] = 1.0
        for branch in range(count + local):
            chance = p if branch < count else q
            for k in range(branch + 1, 0, -1):
                done[k] = done[k] * (1.0 - chance) + done[k - 1] * chance
            done[0] *= 1.0 - chance
        for k in range(waits):
            total += done[k]
    return total * step


@compiled(cache=True)
def _stay(step, more):  # type: ignore[no-untyped-def]
    """Service and wait at a stage, ms, for what its station adds: a wait, or at a processor a stretch less one."""
    if step.ms <= 0.0:
        return 0.0, 0.0
    if step.part != event_loop.CPU:
        return step.ms, more[step.machine, step.part]
    stretch = more[step.machine, step.part]
    return step.ms * (1.0 + min(0.0, stretch)), step.ms * max(0.0, stretch)


@compiled(cache=True)
def _between(way, count, local, waits, more, scv, in_line):  # type: ignore[no-untyped-def]
    """Time from fork to join, ms."""
    mean = variance = 0.0
    for stage in range(event_loop.ASK_OUT, event_loop.RETURN + 1):
        service, wait = _stay(way[stage], more)
        if stage == event_loop.ASK_OUT and in_line:
            wait += 0.5 * (count - 1) * service
        mean += service + wait
        variance += scv * service * (service + 2.0 * wait) + wait * wait
    service, wait = _stay(way[event_loop.LOCAL_DISK], more)
    return _joined(count, mean, variance, service + wait, scv * service * service + wait * wait, local, waits)


@compiled(cache=True)
def waited(ways, weights, counts, scv):  # type: ignore[no-untyped-def]
    """Time at processors for which an answer waits, of a request that is alone."""
    more, total = np.zeros((3, 4)), 0.0
    for row in range(weights.size):
        count, local, waits = counts[row]
        ms = _between(ways[row], count, local, waits, more, scv, False)
        for stage in (event_loop.PARSE, event_loop.END):
            ms += ways[row][stage].ms
        total += weights[row] * ms
    return total


@compiled(cache=True)
def recursion(most, model):  # type: ignore[no-untyped-def]
    """Throughput per ms and response time, shape (most,); busy servers by station, shape (most, stations)."""
    stations = model.demand.size
    at = _At(
        chance=np.zeros((stations, most + 1)), slow=model.slower[:, 0].copy(), queue=np.zeros((stations, stations)),
        ahead=np.zeros(stations), more=np.zeros((3, 4)),
    )  # fmt: skip
    at.chance[:, 0] = 1.0
    found_x, found_ms, present = np.zeros(most), np.zeros(most), np.zeros((most, stations))
    for n in range(1, most + 1):
        _look(model, at, n)
        client, total = _request(model, at.more)
        x = _bounded(model, at, n / (model.think + client + total), n)
        found_x[n - 1], found_ms[n - 1] = x, n / x - model.think - client
        _join(model, at, x, n, present[n - 1])
    return found_x, found_ms, present


@compiled(cache=True)
def _load(model, i):  # type: ignore[no-untyped-def]
    """Demand of jobs at a station, where a request's visits may be there several at once."""
    return model.demand[i] / model.at_once if model.at_once > 0.0 else model.demand[i]


@compiled(cache=True)
def _look(model, at, n):  # type: ignore[no-untyped-def]
    """Note what a request finds that comes as the n-th: at processors, and then by role and part of a machine."""
    for i in range(model.demand.size):
        if model.shared[i]:
            at.ahead[i] = -1.0
            for j in range(1, n + 1):
                at.ahead[i] += at.slow[i, j - 1] * at.chance[i, j - 1]
    for role in range(3):
        for part in range(4):
            at.more[role, part] = 0.0
            for k in range(model.machines.shape[0]):
                at.more[role, part] += model.roles[role, k] * at.ahead[model.machines[k, part]]


@compiled(cache=True)
def _request(model, more):  # type: ignore[no-untyped-def]
    """Mean time of a request at the client before it is sent, and from then to its answer, ms."""
    total = client = 0.0
    for row in range(model.weights.size):
        if model.weights[row] == 0.0:
            continue
        way, ms = model.ways[row], 0.0
        count, local, waits = model.counts[row]
        for stage in range(event_loop.CLIENT_OUT, event_loop.CLIENT_IN + 1):
            if stage <= event_loop.PARSE or stage >= event_loop.END:
                service, wait = _stay(way[stage], more)
                ms += service + wait
        ms += _between(way, count, local, waits, more, model.scv, model.in_line)
        total += model.weights[row] * ms
        service, wait = _stay(way[event_loop.CLIENT], more)
        client += model.weights[row] * (service + wait)
    return client, total


@compiled(cache=True)
def _bounded(model, at, x, n):  # type: ignore[no-untyped-def]
    """Throughput at which no station does more than it can."""
    for i in range(model.demand.size):
        if model.shared[i]:
            x /= max(1.0, _present(at.chance[i], at.slow[i], _load(model, i) * x, n))
        else:
            x = min(x, model.servers[i] / max(model.demand[i], _NEVER))
    return x


@compiled(cache=True)
def _join(model, at, x, n, present):  # type: ignore[no-untyped-def]
    """Bring stations from n - 1 jobs in the network to n; fills in how many servers are busy where."""
    together, busy = model.at_once > 0.0, model.machines[0, event_loop.CPU]
    if together:
        _leave(at.slow[busy], model.slower[busy], x * model.demand[event_loop.CLIENT_CPU])
    for i in range(model.demand.size):
        if not model.shared[i]:
            at.ahead[i] = x * (model.squared[i] + at.ahead[i] * model.demand[i])
            continue
        load, before, slowed = _load(model, i), at.chance[i, 0], together and i == busy
        less = 1.0
        if slowed or model.servers[i] > 1.0:
            less = x / _without(at.queue[i], model.demand, model.servers, i, model.think, n)
        _raise(at.chance[i], at.slow[i], load * x, n)
        if slowed:
            _settle(at.chance[i], before * less, n)
        elif load * x > model.steady[i]:
            _settle(at.chance[i], before * min(1.0, less), n)
        for j in range(1, n + 1):
            present[i] += min(j * max(1.0, model.at_once), model.servers[i]) * at.chance[i, j]


@compiled(cache=True)
def _leave(slow, slower, taken):  # type: ignore[no-untyped-def]
    """Note the stretch of what the client, which takes so many processors on average, leaves."""
    low = min(int(taken), slower.shape[0] - 1)
    high = min(low + 1, slower.shape[0] - 1)
    part = taken - low if high > low else 0.0
    for j in range(slow.size):
        slow[j] = 1.0 / ((1.0 - part) / slower[low, j] + part / slower[high, j])


@compiled(cache=True)
def _raise(chance, slow, load, n):  # type: ignore[no-untyped-def]
    """Update the probabilities of so many jobs at a processor, from those with one job less in the network."""
    rest = _present(chance, slow, load, n)
    for j in range(n, 0, -1):
        chance[j] = load * slow[j - 1] / j * chance[j - 1]
    chance[0] = max(0.0, 1.0 - rest)


@compiled(cache=True)
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


@compiled(cache=True)
def _settle(chance, nobody, n):  # type: ignore[no-untyped-def]
    """Set the probability of nobody at a processor, and make all sum to 1.

    It is what it was with one job less, times the throughput over that of the network without the processor (modified
    MVA; Reiser 1981). What is left of 1 would do in theory; where work is slower with few jobs, or many servers are
    busy, its rounding errors grow without bound.
    """
    chance[0] = nobody
    total = 0.0
    for j in range(n + 1):
        total += chance[j]
    for j in range(n + 1):
        chance[j] /= total


@compiled(cache=True)
def _present(chance, slow, load, n):  # type: ignore[no-untyped-def]
    """Probability that somebody is at a processor; above 1 where it is asked for more than it can do."""
    rest = 0.0
    for j in range(1, n + 1):
        rest += load * slow[j - 1] / j * chance[j - 1]
    return rest
