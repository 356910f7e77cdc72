"""The event loop, compiled: stations, tokens that go from one to the next, forks and joins.

Everything is a station: a queue served first come, first served by some servers; a processor shared by all that are
there; or a delay, which is a processor with room for all (think times, time-outs, the source of arrivals). A station's
next completion is one number; the smallest of them is found in a tournament tree. A shared processor runs on a clock of
its own, the service that each job has had so far, on which a job's end stands fixed whoever comes or goes.

A request is a row of `requests`, and one of `tokens` for each place at which it is at the same time. What a token does
at each stage of its way (for how long, at which station, whether the capacity region covers it) is data: `STEP`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from cassbook.core.compilation import compiled
from cassbook.core.random import evenly, exponential

#: How a station serves.
FCFS, SHARED = 0, 1
#: Laws of service times; all have the mean that is asked for.
CONSTANT, EXPONENTIAL, ERLANG, HYPER = range(4)
#: Stages of a token's way; the next follows by counting on, but for forks, joins and ends.
(
    THINK, CLIENT, CLIENT_OUT, COORDINATOR_IN, PARSE, LOCAL_DISK,
    ASK_OUT, ASK_IN, SERVE, DISK, ANSWER_OUT, ANSWER_IN, RETURN,
    END, COORDINATOR_OUT, CLIENT_IN, SOURCE, TIMER, STAGES,
) = range(19)  # fmt: skip
#: Whose station a stage is at, and which of that machine's.
COORDINATOR, OWN, CLIENTS = range(3)
CPU, DISKS, OUT, IN, DELAY, PARTS = range(6)
#: Streams of random numbers, each for one purpose, so that two models differ as little as they can.
ROUTING, TARGETS, CLIENT_TIMES, NET_TIMES, CPU_TIMES, DISK_TIMES, ARRIVALS, STREAMS = range(8)
#: What became of a token that was sent on, and how a run ended.
STAYS, FULL, DONE = -1, -2, -3
#: Bins of response times: 1 / 64 of a power of two, from a microsecond (in ms) on.
BINS, _PER_OCTAVE, _LEAST = 2600, 64, 2.0**-10

_INT, _FLOAT = np.int64, np.float64
STEP = np.dtype([("ms", _FLOAT), ("law", _INT), ("shape", _FLOAT), ("stream", _INT), ("machine", _INT), ("part", _INT),
                 ("enters", _INT), ("leaves", _INT)])  # fmt: skip
STATION = np.dtype([("kind", _INT), ("servers", _FLOAT), ("next_ms", _FLOAT), ("clock", _FLOAT), ("seen", _FLOAT),
                    ("busy", _FLOAT), ("area", _FLOAT), ("count", _INT), ("first", _INT), ("last", _INT)])  # fmt: skip
TOKEN = np.dtype([("request", _INT), ("node", _INT), ("stage", _INT), ("holds", _INT), ("following", _INT),
                  ("ms", _FLOAT)])  # fmt: skip
REQUEST = np.dtype([("operation", _INT), ("coordinator", _INT), ("local", _INT), ("missing", _INT), ("open", _INT),
                    ("mask", _INT), ("following", _INT), ("begun", _FLOAT)])  # fmt: skip
REGION = np.dtype([("limit", _INT), ("inside", _INT), ("first", _INT), ("last", _INT)])
OPERATION = np.dtype([("upto", _FLOAT), ("asked", _INT), ("waits", _INT)])
NODE = np.dtype([("upto", _FLOAT)])
HEAP = np.dtype([("key", _FLOAT), ("token", _INT)])
WHOLE = np.dtype([("now", _FLOAT), ("events", _INT), ("token", _INT), ("request", _INT), ("nodes", _INT),
                  ("replication", _INT), ("token_aware", _INT), ("any_target", _INT), ("retry_ms", _FLOAT),
                  ("timer", _INT), ("source", _INT), ("shared", _INT), ("interarrival_ms", _FLOAT)])  # fmt: skip

#: Nodes whose bits fit into `mask` of a request, a signed 64-bit number.
MOST_NODES = 62

#: Number of the client's processors. Where the nodes work on the same machine (at `shared`), it goes before them.
CLIENT_CPU = 0

#: A network: `whole` (1,), `stations` (S,), `rates` (S, taken + 1, jobs + 1) at which each of so many jobs is served
#: while the client takes so many of the processors, `heaps` (S, room) of who is in service, `tree` of the next
#: completion, `machines` (nodes + 1, PARTS) numbers of stations, the client's last, `regions` (nodes,), `steps`
#: (operations, 2, STAGES) for remote and local requests, and `rng`.
Net = namedtuple(
    "Net", ["whole", "stations", "rates", "heaps", "tree", "machines", "regions", "nodes", "operations", "steps",
            "tokens", "requests", "rng"],
)  # fmt: skip


def empty_tree(stations: int) -> np.ndarray:
    """Return the tournament of so many stations before any has a completion, shape (2 leaves,)."""
    leaves = 1
    while leaves < stations:
        leaves *= 2
    tree = np.zeros(2 * leaves, _INT)
    tree[leaves:] = np.minimum(np.arange(leaves), stations - 1)
    for i in range(leaves - 1, 0, -1):
        tree[i] = tree[2 * i]
    return tree


def chained(rows: int, kind: np.dtype) -> np.ndarray:
    """Return free rows, each of which knows the next."""
    table = np.zeros(rows, kind)
    table["following"] = np.arange(1, rows + 1)
    table["following"][-1] = -1
    return table


#: What `run` fills in, by batch: when it ended (batches + 1,), requests by operation and the sum of their latencies
#: (batches, operations), busy servers and jobs times ms by station (batches + 1, stations); and response times by
#: operation (operations, BINS).
Counts = namedtuple("Counts", ["ended", "answered", "latency", "busy", "area", "histogram"])

#: How functions are compiled. Arrays are only read and written here: to count references to them, as is usual, would
#: take half of the time.
_LEAF: Any = {"forceinline": True, "_nrt": False}
_LOOP: Any = {"cache": True, "_nrt": False}


@compiled(**_LEAF)
def _evenly(net, stream):  # type: ignore[no-untyped-def]
    r = net.rng
    s = (r[stream, 0], r[stream, 1], r[stream, 2], r[stream, 3])
    x, s = evenly(s)
    r[stream, 0], r[stream, 1], r[stream, 2], r[stream, 3] = s
    return x


@compiled(**_LEAF)
def _exponential(net, stream):  # type: ignore[no-untyped-def]
    r = net.rng
    s = (r[stream, 0], r[stream, 1], r[stream, 2], r[stream, 3])
    x, s = exponential(s)
    r[stream, 0], r[stream, 1], r[stream, 2], r[stream, 3] = s
    return x


@compiled(**_LEAF)
def _drawn(net, step):  # type: ignore[no-untyped-def]
    mean, law, shape, stream = step.ms, step.law, step.shape, step.stream
    if law == EXPONENTIAL:
        return mean * _exponential(net, stream)
    if law == CONSTANT:
        return mean
    if law == ERLANG:
        total = 0.0
        for _ in range(int(shape)):
            total += _exponential(net, stream)
        return mean * total / shape
    # Two exponentials with balanced means; shape is the squared coefficient of variation.
    p = 0.5 * (1.0 + np.sqrt((shape - 1.0) / (shape + 1.0)))
    chosen = p if _evenly(net, stream) < p else 1.0 - p
    return mean * _exponential(net, stream) / (2.0 * chosen)


@compiled(**_LEAF)
def _schedule(net, s):  # type: ignore[no-untyped-def]
    """Say when station s is done next, and find the first of all anew."""
    station = net.stations[s]
    n = station.count
    if n == 0:
        station.next_ms, station.clock = np.inf, 0.0
    elif station.kind == SHARED:
        station.next_ms = net.whole[0].now + max(0.0, net.heaps[s, 0].key - station.clock) / _rate(net, s, n)
    else:
        station.next_ms = net.heaps[s, 0].key
    tree = net.tree
    i = (tree.size // 2 + s) // 2
    while i >= 1:
        left, right = tree[2 * i], tree[2 * i + 1]
        tree[i] = left if net.stations[left].next_ms <= net.stations[right].next_ms else right
        i //= 2


@compiled(**_LEAF)
def _taken(net, s):  # type: ignore[no-untyped-def]
    """Processors of station s that the client takes."""
    if s != net.whole[0].shared:
        return 0
    return min(net.stations[CLIENT_CPU].count, net.rates.shape[1] - 1)


@compiled(**_LEAF)
def _rate(net, s, n):  # type: ignore[no-untyped-def]
    """Rate at which each of n jobs is served; beyond the table the servers' work is what it is at its end."""
    most, taken = net.rates.shape[2] - 1, _taken(net, s)
    if n <= most:
        return net.rates[s, taken, n]
    return net.rates[s, taken, most] * (most / n if net.stations[s].servers < n else 1.0)


@compiled(**_LEAF)
def _push(net, s, n, key, token):  # type: ignore[no-untyped-def]
    heap, i = net.heaps[s], n
    while i > 0:
        parent = (i - 1) // 2
        if heap[parent].key <= key:
            break
        heap[i].key, heap[i].token = heap[parent].key, heap[parent].token
        i = parent
    heap[i].key, heap[i].token = key, token


@compiled(**_LEAF)
def _pop(net, s, n):  # type: ignore[no-untyped-def]
    """Take the first of n away."""
    heap, last, i = net.heaps[s], n - 1, 0
    key, token = heap[last].key, heap[last].token
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and heap[child + 1].key < heap[child].key:
            child += 1
        if heap[child].key >= key:
            break
        heap[i].key, heap[i].token = heap[child].key, heap[child].token
        i = child
    heap[i].key, heap[i].token = key, token


@compiled(**_LEAF)
def _account(net, s):  # type: ignore[no-untyped-def]
    """Count what station s has done since it was last seen."""
    station, now = net.stations[s], net.whole[0].now
    passed, n = now - station.seen, station.count
    if passed > 0.0 and n:
        station.busy += passed * min(float(n), station.servers - _taken(net, s))
        station.area += passed * n
        if station.kind == SHARED:
            station.clock += passed * _rate(net, s, n)
    station.seen = now


@compiled(**_LOOP)
def _arrive(net, s, token, ms):  # type: ignore[no-untyped-def]
    """Let a token join a station, to be served for so long."""
    _account(net, s)
    station, shared = net.stations[s], net.whole[0].shared
    n = station.count
    if s == CLIENT_CPU and shared >= 0:
        _account(net, shared)
    station.count = n + 1
    if s == CLIENT_CPU and shared >= 0:
        _schedule(net, shared)
    if station.kind == SHARED:
        _push(net, s, n, station.clock + ms, token)
    elif n < station.servers:
        _push(net, s, n, net.whole[0].now + ms, token)
    else:
        net.tokens[token].ms = ms
        _append(net, station, token)
        return
    _schedule(net, s)


@compiled(**_LEAF)
def _complete(net, s):  # type: ignore[no-untyped-def]
    """Take away whom station s has served, and return its token."""
    _account(net, s)
    station, shared = net.stations[s], net.whole[0].shared
    n, token = station.count, net.heaps[s, 0].token
    if s == CLIENT_CPU and shared >= 0:
        _account(net, shared)
    station.count = n - 1
    if s == CLIENT_CPU and shared >= 0:
        _schedule(net, shared)
    if station.kind == SHARED:
        station.clock = net.heaps[s, 0].key  # exactly, whatever rounding has made of it
        _pop(net, s, n)
    else:
        serving = min(n, int(station.servers))
        _pop(net, s, serving)
        if station.first >= 0:
            following = _take(net, station)
            _push(net, s, serving - 1, net.whole[0].now + net.tokens[following].ms, following)
    _schedule(net, s)
    return token


@compiled(**_LEAF)
def _append(net, queue, token):  # type: ignore[no-untyped-def]
    """Let a token wait at the end of the line of a station or region."""
    net.tokens[token].following = -1
    if queue.first < 0:
        queue.first = token
    else:
        net.tokens[queue.last].following = token
    queue.last = token


@compiled(**_LEAF)
def _take(net, queue):  # type: ignore[no-untyped-def]
    """Take whoever has waited longest out of a line."""
    token = queue.first
    queue.first = net.tokens[token].following
    return token


@compiled(**_LEAF)
def _new_token(net, request, node):  # type: ignore[no-untyped-def]
    """Return a free token for a request at a node, or FULL where there is no room."""
    number = net.whole[0].token
    if number < 0:
        return FULL
    row = net.tokens[number]
    net.whole[0].token = row.following
    row.request, row.node, row.holds = request, node, 0
    net.requests[request].open += 1
    return number


@compiled(**_LEAF)
def _drop(net, token):  # type: ignore[no-untyped-def]
    """Give a token back, and its request when that was the last."""
    whole, row = net.whole[0], net.tokens[token]
    row.following = whole.token
    whole.token = token
    request = net.requests[row.request]
    request.open -= 1
    if request.open == 0:
        request.following = whole.request
        whole.request = row.request


@compiled(**_LEAF)
def _step(net, token):  # type: ignore[no-untyped-def]
    request = net.requests[net.tokens[token].request]
    return net.steps[request.operation, request.local, net.tokens[token].stage]


@compiled(**_LEAF)
def _machine(net, token, step):  # type: ignore[no-untyped-def]
    """Return the machine whose station, and whose capacity region, a step is at."""
    if step.machine == OWN:
        return net.tokens[token].node
    if step.machine == COORDINATOR:
        return net.requests[net.tokens[token].request].coordinator
    return net.whole[0].nodes


@compiled(**_LEAF)
def _serve(net, token):  # type: ignore[no-untyped-def]
    step = _step(net, token)
    _arrive(net, net.machines[_machine(net, token, step), step.part], token, _drawn(net, step))


@compiled(**_LOOP)
def _enter(net, token, stage):  # type: ignore[no-untyped-def]
    """Bring a token to a stage. True if it stays there, in service or waiting; False if that takes no time."""
    net.tokens[token].stage = stage
    step = _step(net, token)
    if step.ms <= 0.0:
        return False
    if step.enters and not net.tokens[token].holds:
        region = net.regions[_machine(net, token, step)]
        if region.inside >= region.limit:
            _append(net, region, token)
            return True
        region.inside += 1
        net.tokens[token].holds = 1
    _serve(net, token)
    return True


@compiled(**_LEAF)
def _leave(net, token):  # type: ignore[no-untyped-def]
    """Let the next one into the region, if a token's stage ends what the region covers."""
    row, step = net.tokens[token], _step(net, token)
    if not (row.holds and step.leaves):
        return
    row.holds = 0
    region = net.regions[_machine(net, token, step)]
    if region.first < 0:
        region.inside -= 1
        return
    following = _take(net, region)
    net.tokens[following].holds = 1
    _serve(net, following)


@compiled(**_LEAF)
def _begin(net):  # type: ignore[no-untyped-def]
    """Begin a request: choose its operation and its coordinator; returns its token, or FULL."""
    whole = net.whole[0]
    number = whole.request
    if number < 0:
        return FULL
    request = net.requests[number]
    whole.request = request.following
    chance, op = _evenly(net, ROUTING), 0
    while op < net.operations.size - 1 and chance >= net.operations[op].upto:
        op += 1
    chance, first = _evenly(net, ROUTING), 0
    while first < whole.nodes - 1 and chance >= net.nodes[first].upto:
        first += 1
    place = int(_evenly(net, ROUTING) * (whole.replication if whole.token_aware else whole.nodes))
    coordinator = (first + place) % whole.nodes if whole.token_aware else place
    request.operation, request.coordinator, request.open = op, coordinator, 0
    request.local = 1 if (coordinator - first) % whole.nodes < whole.replication else 0
    request.missing = net.operations[op].waits
    mask = 0  # who may be asked
    for i in range(whole.nodes):
        if i != coordinator and (whole.any_target or (i - first) % whole.nodes < whole.replication):
            mask |= 1 << i
    request.mask = mask
    return _new_token(net, number, coordinator)


@compiled(**_LOOP)
def _ask_another(net, number):  # type: ignore[no-untyped-def]
    """Send a request to one more node, chosen by chance; False where there is no room."""
    request, left = net.requests[number], 0
    for i in range(net.whole[0].nodes):
        left += (request.mask >> i) & 1
    if left == 0:
        return True
    chosen, node = int(_evenly(net, TARGETS) * left), 0
    while True:
        if (request.mask >> node) & 1:
            if chosen == 0:
                break
            chosen -= 1
        node += 1
    request.mask &= ~(1 << node)
    token = _new_token(net, number, node)
    if token == FULL:
        return False
    stage = ASK_OUT
    while not _enter(net, token, stage):  # demands are such that a replica always takes some time
        stage += 1
    return True


@compiled(**_LEAF)
def _fork(net, token):  # type: ignore[no-untyped-def]
    """Ask whom the level needs; False where there is no room."""
    number, whole = net.tokens[token].request, net.whole[0]
    request = net.requests[number]
    asked = net.operations[request.operation].asked
    for _ in range(asked - request.local):
        if not _ask_another(net, number):
            return False
    if whole.retry_ms > 0.0 and asked < whole.replication:
        timer = _new_token(net, number, 0)
        if timer == FULL:
            return False
        net.tokens[timer].stage = TIMER
        _arrive(net, whole.timer, timer, whole.retry_ms)
    return True


@compiled(**_LEAF)
def _after(net, token, stage):  # type: ignore[no-untyped-def]
    """Return the stage that follows for a token that is done with one, STAYS where its way ends, or FULL."""
    row = net.tokens[token]
    request = net.requests[row.request]
    if stage == PARSE:
        if not _fork(net, token):
            return FULL
        if request.local:
            return LOCAL_DISK
    elif stage == LOCAL_DISK or stage == RETURN:  # noqa: PLR1714, SIM109 - a tuple of them would be built each time
        request.missing -= 1
        if request.missing == 0:  # the join fires; answers that come later are discarded
            return END
    elif stage == TIMER:
        if request.missing > 0 and not _ask_another(net, row.request):
            return FULL
    else:
        if stage == CLIENT:
            request.begun = net.whole[0].now
        return stage + 1
    _drop(net, token)
    return STAYS


@compiled(**_LOOP)
def _next_request(net, first_stage):  # type: ignore[no-untyped-def]
    """Send a client's next request on its way: STAYS, or FULL."""
    token = _begin(net)
    if token == FULL:
        return FULL
    stage = first_stage
    while not _enter(net, token, stage):
        stage = _after(net, token, stage)
        if stage < 0:
            return stage
    return STAYS


@compiled(**_LOOP)
def _arrival(net):  # type: ignore[no-untyped-def]
    """Let the source work on the next arrival; its token belongs to no request."""
    whole = net.whole[0]
    net.tokens[net.tokens.size - 1].stage = SOURCE
    _arrive(net, whole.source, net.tokens.size - 1, whole.interarrival_ms * _exponential(net, ARRIVALS))


@compiled(**_LOOP)
def run(net, jobs, warm_up, per_batch, counts):  # type: ignore[no-untyped-def]
    """Simulate until so many requests were answered: DONE, or FULL where there was no room for another token.

    `net` is empty; `jobs` are those of a closed network, 0 where requests arrive from outside. `warm_up` requests are
    not counted; then each batch has `per_batch`, until `counts`, zeros that are filled in, has no row for another.
    """
    for _ in range(jobs):
        if _next_request(net, THINK) == FULL:
            return FULL
    if jobs == 0:
        _arrival(net)
    total, goal, batch = 0, warm_up, -1
    whole = net.whole[0]
    while True:
        s = net.tree[1]
        whole.now = net.stations[s].next_ms
        token = _complete(net, s)
        whole.events += 1
        if net.tokens[token].stage == SOURCE:
            _arrival(net)
            if _next_request(net, CLIENT) == FULL:
                return FULL
            continue
        outcome = _go_on(net, token)
        if outcome == FULL:
            return FULL
        if outcome == STAYS:
            continue
        if batch >= 0:
            _count(net, token, batch, counts)
        _drop(net, token)
        total += 1
        if total == goal:
            batch += 1
            goal += per_batch
            _close(net, batch, counts)
            if batch == counts.answered.shape[0]:
                return DONE
        if jobs and _next_request(net, THINK) == FULL:
            return FULL


@compiled(**_LEAF)
def _go_on(net, token):  # type: ignore[no-untyped-def]
    """Take a token on from a stage that is done: STAYS, FULL, or CLIENT_IN where it brings the answer."""
    stage = net.tokens[token].stage
    while True:
        _leave(net, token)
        if stage == CLIENT_IN:
            return CLIENT_IN
        stage = _after(net, token, stage)
        if stage < 0:
            return stage
        if _enter(net, token, stage):
            return STAYS


@compiled(**_LEAF)
def _count(net, token, batch, counts):  # type: ignore[no-untyped-def]
    """Note a request that is answered."""
    request = net.requests[net.tokens[token].request]
    ms = net.whole[0].now - request.begun
    counts.answered[batch, request.operation] += 1
    counts.latency[batch, request.operation] += ms
    counts.histogram[request.operation, _bin(ms)] += 1


@compiled(**_LOOP)
def _close(net, batch, counts):  # type: ignore[no-untyped-def]
    """Note where all stand at the end of a batch."""
    counts.ended[batch] = net.whole[0].now
    for i in range(net.stations.size):
        _account(net, i)
        counts.busy[batch, i], counts.area[batch, i] = net.stations[i].busy, net.stations[i].area


@compiled(**_LEAF)
def _bin(ms):  # type: ignore[no-untyped-def]
    if ms <= _LEAST:
        return 0
    return min(BINS - 1, int(np.log2(ms / _LEAST) * _PER_OCTAVE) + 1)


def upper_ms() -> np.ndarray:
    """Upper bound of each bin of response times, ms, shape (BINS,)."""
    return np.asarray(_LEAST * np.exp2(np.arange(BINS) / _PER_OCTAVE))
