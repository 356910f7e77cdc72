"""The event loop, compiled: stations, tokens that go from one to the next, forks and joins.

Everything is a station: a queue served first come, first served by some servers; a processor shared by all that are
there; or a delay, which is a processor with room for all (think times, time-outs, the source of arrivals). A station's
next completion is one number; the smallest of them is found in a tournament tree. A shared processor runs on a clock of
its own, the service that each job has had so far, on which a job's end stands fixed whoever comes or goes.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numba import njit

from cassbook.staleness.random import evenly, exponential

#: How a station serves.
FCFS, SHARED = 0, 1
#: Laws of service times: all have the mean asked for; the second number of HYPER is the squared coefficient of
#: variation, that of ERLANG the number of stages.
CONSTANT, EXPONENTIAL, ERLANG, HYPER = range(4)
#: Where a token is, and so what comes next.
(
    CLIENT, CLIENT_OUT, COORDINATOR_IN, PARSE, LOCAL_DISK, ASK_OUT, ASK_IN, SERVE, DISK, ANSWER_OUT, ANSWER_IN, RETURN,
    END, COORDINATOR_OUT, CLIENT_IN, SOURCE, TIMER, THINK,
) = range(18)  # fmt: skip
#: Classes of CPU demands, by the paper's Table 1; the last is that of a coordinator for each answer.
LOCAL, REMOTE, INCOMING, LOCAL_END, REMOTE_END, RETURNED = range(6)
#: What the capacity region of a node covers.
NO_REGION, REGION_CPU, REGION_CPU_DISK, REGION_READS = range(4)
#: How a run ended.
DONE, FULL = 0, 1
#: Streams of random numbers, each for one purpose, so that two models differ as little as they can.
ROUTING, CLIENT_TIMES, NET_TIMES, CPU_TIMES, DISK_TIMES, ARRIVALS, STREAMS = range(7)
#: Bins of response times: 1 / 64 of a power of two, from a microsecond (in ms) on.
BINS, _PER_OCTAVE, _LEAST = 2600, 64, 2.0**-10

Model = namedtuple(
    "Model",
    [
        "kind", "servers", "rates",  # stations: (S,), (S,), (S, jobs)
        "client_cpu", "client_out", "client_in", "timer", "source",  # numbers of stations
        "cpu", "disk", "net_out", "net_in",  # of each node
        "region", "region_limit", "client_limit",
        "nodes", "replication", "primary", "token_aware", "any_target", "receiver_net",
        "share", "asked", "waits", "cpu_ms", "disk_ms", "request_ms", "data_ms", "ask_ms", "answer_ms", "client_ms",
        "retry_ms", "think_ms", "think_law", "law", "law_shape", "interarrival_ms",
    ],
)  # fmt: skip

State = namedtuple(
    "State",
    [
        "now", "next_ms", "tree", "clock", "seen", "count", "keys", "tokens", "waiting", "head", "length",
        "busy", "area", "stage", "request", "node", "demand", "holds", "free_tokens", "inside", "region_queue",
        "region_head", "region_length", "operation", "coordinator", "begun", "missing", "open", "asked_mask", "local",
        "free_requests", "left", "rng", "events",
    ],
)  # fmt: skip


def state(model: Model, jobs: int, pool: int, rng: np.ndarray) -> State:
    """An empty network with room for `pool` tokens and as many requests."""
    stations, nodes = len(model.kind), model.nodes
    leaves = 1
    while leaves < stations:
        leaves *= 2
    tree = np.zeros(2 * leaves, np.int64)
    tree[leaves:] = np.minimum(np.arange(leaves), stations - 1)
    for i in range(leaves - 1, 0, -1):
        tree[i] = tree[2 * i]
    return State(
        np.zeros(1), np.full(stations, np.inf), tree, np.zeros(stations), np.zeros(stations),
        np.zeros(stations, np.int64), np.zeros((stations, pool)), np.zeros((stations, pool), np.int32),
        np.zeros((stations, pool), np.int32), np.zeros(stations, np.int64), np.zeros(stations, np.int64),
        np.zeros(stations), np.zeros(stations), np.zeros(pool, np.int8), np.zeros(pool, np.int32),
        np.zeros(pool, np.int32), np.zeros(pool), np.zeros(pool, np.int8), np.arange(pool, dtype=np.int32),
        np.zeros(nodes + 1, np.int64), np.zeros((nodes + 1, pool), np.int32), np.zeros(nodes + 1, np.int64),
        np.zeros(nodes + 1, np.int64), np.zeros(pool, np.int8), np.zeros(pool, np.int32), np.zeros(pool),
        np.zeros(pool, np.int32), np.zeros(pool, np.int32), np.zeros(pool, np.int64), np.zeros(pool, np.int8),
        np.arange(pool, dtype=np.int32), np.array([pool, pool], np.int64), rng, np.zeros(1, np.int64),
    )  # fmt: skip


@njit(cache=True)
def _evenly(st, stream):  # type: ignore[no-untyped-def]
    s = (st.rng[stream, 0], st.rng[stream, 1], st.rng[stream, 2], st.rng[stream, 3])
    x, s = evenly(s)
    st.rng[stream, 0], st.rng[stream, 1], st.rng[stream, 2], st.rng[stream, 3] = s
    return x


@njit(cache=True)
def _exponential(st, stream):  # type: ignore[no-untyped-def]
    s = (st.rng[stream, 0], st.rng[stream, 1], st.rng[stream, 2], st.rng[stream, 3])
    x, s = exponential(s)
    st.rng[stream, 0], st.rng[stream, 1], st.rng[stream, 2], st.rng[stream, 3] = s
    return x


@njit(cache=True)
def _drawn(st, stream, mean, law, shape):  # type: ignore[no-untyped-def]
    if law == EXPONENTIAL:
        return mean * _exponential(st, stream)
    if law == CONSTANT:
        return mean
    if law == ERLANG:
        total = 0.0
        for _ in range(int(shape)):
            total += _exponential(st, stream)
        return mean * total / shape
    # Two exponentials with balanced means.
    p = 0.5 * (1.0 + np.sqrt((shape - 1.0) / (shape + 1.0)))
    chosen = p if _evenly(st, stream) < p else 1.0 - p
    return mean * _exponential(st, stream) / (2.0 * chosen)


@njit(cache=True)
def _replay(st, s):  # type: ignore[no-untyped-def]
    """Find the winner of the tournament anew after station s has changed."""
    tree, next_ms = st.tree, st.next_ms
    i = (tree.size // 2 + s) // 2
    while i >= 1:
        left, right = tree[2 * i], tree[2 * i + 1]
        tree[i] = left if next_ms[left] <= next_ms[right] else right
        i //= 2


@njit(cache=True)
def _rate(m, s, n):  # type: ignore[no-untyped-def]
    """At which each of n jobs is served."""
    if n < m.rates.shape[1]:
        return m.rates[s, n]
    last = m.rates.shape[1] - 1
    return m.rates[s, last] * last / n if m.servers[s] < n else m.rates[s, last]


@njit(cache=True)
def _push(keys, tokens, s, n, key, token):  # type: ignore[no-untyped-def]
    i = n
    while i > 0:
        parent = (i - 1) // 2
        if keys[s, parent] <= key:
            break
        keys[s, i], tokens[s, i] = keys[s, parent], tokens[s, parent]
        i = parent
    keys[s, i], tokens[s, i] = key, token


@njit(cache=True)
def _pop(keys, tokens, s, n):  # type: ignore[no-untyped-def]
    """Take the first of n away."""
    last = n - 1
    key, token = keys[s, last], tokens[s, last]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and keys[s, child + 1] < keys[s, child]:
            child += 1
        if keys[s, child] >= key:
            break
        keys[s, i], tokens[s, i] = keys[s, child], tokens[s, child]
        i = child
    keys[s, i], tokens[s, i] = key, token


@njit(cache=True)
def _account(m, st, s):  # type: ignore[no-untyped-def]
    """Count what station s has done since it was last seen."""
    now, n = st.now[0], st.count[s]
    passed = now - st.seen[s]
    if passed > 0.0:
        if n:
            st.busy[s] += passed * min(float(n), m.servers[s])
            st.area[s] += passed * n
            if m.kind[s] == SHARED:
                st.clock[s] += passed * _rate(m, s, n)
        st.seen[s] = now


@njit(cache=True)
def _schedule(m, st, s):  # type: ignore[no-untyped-def]
    n = st.count[s]
    if n == 0:
        st.next_ms[s] = np.inf
        st.clock[s] = 0.0
    elif m.kind[s] == SHARED:
        st.next_ms[s] = st.now[0] + max(0.0, st.keys[s, 0] - st.clock[s]) / _rate(m, s, n)
    else:
        st.next_ms[s] = st.keys[s, 0]
    _replay(st, s)


@njit(cache=True)
def _arrive(m, st, s, token, ms):  # type: ignore[no-untyped-def]
    """Let a token join a station, to be served for so long."""
    _account(m, st, s)
    n = st.count[s]
    st.count[s] = n + 1
    if m.kind[s] == SHARED:
        _push(st.keys, st.tokens, s, n, st.clock[s] + ms, token)
        _schedule(m, st, s)
    elif n < m.servers[s]:
        _push(st.keys, st.tokens, s, n, st.now[0] + ms, token)
        _schedule(m, st, s)
    else:
        pool = st.waiting.shape[1]
        st.demand[token] = ms
        st.waiting[s, (st.head[s] + st.length[s]) % pool] = token
        st.length[s] += 1


@njit(cache=True)
def _complete(m, st, s):  # type: ignore[no-untyped-def]
    """Take away whom station s has served; its token."""
    _account(m, st, s)
    n, token = st.count[s], st.tokens[s, 0]
    st.count[s] = n - 1
    if m.kind[s] == SHARED:
        st.clock[s] = st.keys[s, 0]  # exactly, whatever rounding has made of it
        _pop(st.keys, st.tokens, s, n)
    else:
        serving = min(n, int(m.servers[s]))
        _pop(st.keys, st.tokens, s, serving)
        if st.length[s]:
            following = st.waiting[s, st.head[s]]
            st.head[s] = (st.head[s] + 1) % st.waiting.shape[1]
            st.length[s] -= 1
            _push(st.keys, st.tokens, s, serving - 1, st.now[0] + st.demand[following], following)
    _schedule(m, st, s)
    return token


@njit(cache=True)
def _new_token(st, request, node, stage):  # type: ignore[no-untyped-def]
    """A token, or -1 where there is no room."""
    if st.left[0] == 0:
        return -1
    st.left[0] -= 1
    token = st.free_tokens[st.left[0]]
    st.request[token], st.node[token], st.stage[token], st.holds[token] = request, node, stage, 0
    return token


@njit(cache=True)
def _drop(st, token):  # type: ignore[no-untyped-def]
    """Give a token back, and its request when that was the last."""
    request = st.request[token]
    st.free_tokens[st.left[0]] = token
    st.left[0] += 1
    st.open[request] -= 1
    if st.open[request] == 0:
        st.free_requests[st.left[1]] = request
        st.left[1] += 1


@njit(cache=True)
def _needs_region(m, st, request, stage):  # type: ignore[no-untyped-def]
    if stage == CLIENT:
        return m.client_limit > 0
    if m.region == NO_REGION:
        return False
    if m.region == REGION_READS:
        return stage == SERVE or (stage == PARSE and st.local[request] == 1)
    return stage == PARSE or stage == SERVE or stage == END or stage == RETURN


@njit(cache=True)
def _leave_region(m, st, token, at):  # type: ignore[no-untyped-def]
    """Let the next one in."""
    if not st.holds[token]:
        return
    st.holds[token] = 0
    if not st.region_length[at]:
        st.inside[at] -= 1
        return
    following = st.region_queue[at, st.region_head[at]]
    st.region_head[at] = (st.region_head[at] + 1) % st.region_queue.shape[1]
    st.region_length[at] -= 1
    st.holds[following] = 1
    request, stage = st.request[following], st.stage[following]
    op = st.operation[request]
    if stage == CLIENT:
        _arrive(m, st, m.client_cpu, following, _drawn(st, CLIENT_TIMES, m.client_ms[op], m.law[0], m.law_shape[0]))
        return
    if stage == SERVE:
        own = INCOMING
    elif stage == RETURN:
        own = RETURNED
    elif stage == PARSE:
        own = LOCAL if st.local[request] else REMOTE
    else:
        own = LOCAL_END if st.local[request] else REMOTE_END
    ms = _drawn(st, CPU_TIMES, m.cpu_ms[op, own], m.law[2], m.law_shape[2])
    _arrive(m, st, m.cpu[at], following, ms)


@njit(cache=True)
def _go(m, st, token, stage):  # type: ignore[no-untyped-def]
    """Send a token on to a stage; passes through those that take no time. Returns the stage at which it stays, or -1
    if its way ends (a join, an answer to the client): the caller sees to that.
    """
    while True:
        request, node = st.request[token], st.node[token]
        op = st.operation[request]
        coordinator = st.coordinator[request]
        ms, s, stream = 0.0, -1, NET_TIMES
        law = 1
        if stage == CLIENT:
            ms, s, stream, law = m.client_ms[op], m.client_cpu, CLIENT_TIMES, 0
        elif stage == CLIENT_OUT:
            ms, s = m.request_ms[op], m.client_out
        elif stage == COORDINATOR_IN:
            ms, s = m.request_ms[op], m.net_in[coordinator]
        elif stage == PARSE:
            own = LOCAL if st.local[request] else REMOTE
            ms, s, stream, law = m.cpu_ms[op, own], m.cpu[coordinator], CPU_TIMES, 2
        elif stage == LOCAL_DISK or stage == DISK:
            ms, s, stream, law = m.disk_ms[op], m.disk[node], DISK_TIMES, 3
        elif stage == ASK_OUT:
            ms, s = m.ask_ms[op], m.net_out[coordinator]
        elif stage == ASK_IN:
            ms, s = (m.ask_ms[op] if m.receiver_net else 0.0), m.net_in[node]
        elif stage == SERVE:
            ms, s, stream, law = m.cpu_ms[op, INCOMING], m.cpu[node], CPU_TIMES, 2
        elif stage == ANSWER_OUT:
            ms, s = m.answer_ms[op], m.net_out[node]
        elif stage == ANSWER_IN:
            ms, s = (m.answer_ms[op] if m.receiver_net else 0.0), m.net_in[coordinator]
        elif stage == RETURN:
            ms, s, stream, law = m.cpu_ms[op, RETURNED], m.cpu[coordinator], CPU_TIMES, 2
        elif stage == END:
            own = LOCAL_END if st.local[request] else REMOTE_END
            ms, s, stream, law = m.cpu_ms[op, own], m.cpu[coordinator], CPU_TIMES, 2
        elif stage == COORDINATOR_OUT:
            ms, s = m.data_ms[op], m.net_out[coordinator]
        elif stage == CLIENT_IN:
            ms, s = m.data_ms[op], m.client_in
        st.stage[token] = stage
        if ms > 0.0:
            if _needs_region(m, st, request, stage) and not st.holds[token]:
                at = node if stage == SERVE else coordinator
                limit = m.region_limit
                if stage == CLIENT:
                    at, limit = m.nodes, m.client_limit
                if st.inside[at] >= limit:
                    st.region_queue[at, (st.region_head[at] + st.region_length[at]) % st.region_queue.shape[1]] = token
                    st.region_length[at] += 1
                    return stage
                st.inside[at] += 1
                st.holds[token] = 1
            _arrive(m, st, s, token, _drawn(st, stream, ms, m.law[law], m.law_shape[law]))
            return stage
        if stage == PARSE or stage == LOCAL_DISK or stage == RETURN or stage == CLIENT_IN:
            return -1
        if stage == DISK:
            _leave_region(m, st, token, node)
        stage += 1


@njit(cache=True)
def _begin(m, st):  # type: ignore[no-untyped-def]
    """A new request, its operation, coordinator and whether that holds the row; its token, or -1."""
    if st.left[1] == 0:
        return -1
    st.left[1] -= 1
    request = st.free_requests[st.left[1]]
    chance, op = _evenly(st, ROUTING), 0
    while op < m.share.size - 1 and chance >= m.share[op]:
        op += 1
    chance, first = _evenly(st, ROUTING), 0
    while first < m.nodes - 1 and chance >= m.primary[first]:
        first += 1
    place = int(_evenly(st, ROUTING) * (m.replication if m.token_aware else m.nodes))
    coordinator = (first + place) % m.nodes if m.token_aware else place
    distance = (coordinator - first) % m.nodes
    st.operation[request], st.coordinator[request] = op, coordinator
    st.local[request] = 1 if distance < m.replication else 0
    st.missing[request], st.open[request] = m.waits[op], 1
    mask = np.int64(0)
    for i in range(m.replication):  # who may be asked
        mask |= np.int64(1) << np.int64((first + i) % m.nodes)
    if m.any_target:
        mask = (np.int64(1) << np.int64(m.nodes)) - np.int64(1)
    st.asked_mask[request] = mask & ~(np.int64(1) << np.int64(coordinator))
    return _new_token(st, request, coordinator, CLIENT)


@njit(cache=True)
def _ask_another(m, st, request):  # type: ignore[no-untyped-def]
    """Send the request to one more replica, chosen by chance; False where there is none, or no room."""
    mask, left = st.asked_mask[request], 0
    for i in range(m.nodes):
        left += (mask >> i) & 1
    if left == 0:
        return True
    chosen = int(_evenly(st, ROUTING) * left)
    node = 0
    for i in range(m.nodes):
        if (mask >> i) & 1:
            if chosen == 0:
                node = i
                break
            chosen -= 1
    st.asked_mask[request] = mask & ~(np.int64(1) << np.int64(node))
    token = _new_token(st, request, node, ASK_OUT)
    if token < 0:
        return False
    st.open[request] += 1
    _go(m, st, token, ASK_OUT)
    return True


@njit(cache=True)
def _fork(m, st, token):  # type: ignore[no-untyped-def]
    """Parsed: ask whom the level needs. The token goes on to the own disk, or waits for the answers.

    Returns whether the join fired at once, or -1 where there is no room.
    """
    request = st.request[token]
    op = st.operation[request]
    local = st.local[request]
    for _ in range(m.asked[op] - local):
        if not _ask_another(m, st, request):
            return -1
    if m.retry_ms > 0.0 and m.asked[op] < m.replication:
        timer = _new_token(st, request, 0, TIMER)
        if timer < 0:
            return -1
        st.open[request] += 1
        _arrive(m, st, m.timer, timer, m.retry_ms)
    if local:
        if _go(m, st, token, LOCAL_DISK) == -1:
            _leave_region(m, st, token, st.coordinator[request])
            return _joined(m, st, token)
        return 0
    _drop(st, token)
    return 0


@njit(cache=True)
def _joined(m, st, token):  # type: ignore[no-untyped-def]
    """An answer has come. The one that completes the join goes on to the end operations; others are discarded.

    Returns whether the request is back at the client by that (where nothing on its way takes time).
    """
    request = st.request[token]
    st.missing[request] -= 1
    if st.missing[request] != 0:
        _drop(st, token)
        return 0
    st.node[token] = st.coordinator[request]
    return 1 if _go(m, st, token, END) == -1 else 0


@njit(cache=True)
def _passed(m, st, token, stage):  # type: ignore[no-untyped-def]
    """Send a token on and do what is due where its way ends: 0 if it is in a queue, 1 if back at the client, -1 where
    there is no room.
    """
    if _go(m, st, token, stage) != -1:
        return 0
    at = st.stage[token]
    if at == PARSE:
        return _fork(m, st, token)
    if at == LOCAL_DISK or at == RETURN:
        return _joined(m, st, token)
    return 1


@njit(cache=True)
def _send(m, st, token):  # type: ignore[no-untyped-def]
    """Let the client make a request; its latency runs from when it is sent."""
    request = st.request[token]
    if m.client_ms[st.operation[request]] > 0.0:
        return _passed(m, st, token, CLIENT)
    st.begun[request] = st.now[0]
    return _passed(m, st, token, CLIENT_OUT)


@njit(cache=True)
def _next_of_client(m, st):  # type: ignore[no-untyped-def]
    """A client's next request, after its think time."""
    token = _begin(m, st)
    if token < 0:
        return -1
    if m.think_ms > 0.0:
        st.stage[token] = THINK
        _arrive(m, st, m.timer, token, _drawn(st, CLIENT_TIMES, m.think_ms, m.think_law, 1.0))
        return 0
    return _send(m, st, token)


@njit(cache=True)
def run(m, st, jobs, warm_up, per_batch, batches, ended, answered, latency, busy, area, histogram):  # type: ignore[no-untyped-def]
    """Simulate until so many requests were answered.

    Parameters
    ----------
    m : Model
    st : State
        Empty.
    jobs : int
        Of the closed network; 0 for arrivals from outside.
    warm_up, per_batch, batches : int
        Requests that are not counted, those of a batch, and batches.
    ended, answered, latency, busy, area, histogram : ndarray
        Filled in, by batch: when it ended (batches + 1,), requests by operation and the sum of their latencies
        (batches, operations), busy servers and jobs times ms by station (batches + 1, stations); response times by
        operation (operations, BINS).

    Returns
    -------
    int
        DONE, or FULL where there was no room for another token.
    """
    for _ in range(jobs):
        if _next_of_client(m, st) < 0:
            return FULL
    if jobs == 0:
        token = _new_token(st, 0, 0, SOURCE)
        _arrive(m, st, m.source, token, m.interarrival_ms * _exponential(st, ARRIVALS))
    total, goal = 0, warm_up
    batch = -1
    stations = st.next_ms.size
    while True:
        s = st.tree[1]
        st.now[0] = st.next_ms[s]
        token = _complete(m, st, s)
        st.events[0] += 1
        request, stage = st.request[token], st.stage[token]
        back = 0  # 1: answered at the client; -1: no room
        if stage == PARSE:
            if not (m.region >= REGION_CPU_DISK and st.local[request]):
                _leave_region(m, st, token, st.coordinator[request])
            back = _fork(m, st, token)
        elif stage == LOCAL_DISK:
            _leave_region(m, st, token, st.node[token])
            back = _joined(m, st, token)
        elif stage == SERVE:
            if m.region < REGION_CPU_DISK:
                _leave_region(m, st, token, st.node[token])
            back = _passed(m, st, token, DISK)
        elif stage == DISK:
            _leave_region(m, st, token, st.node[token])
            back = _passed(m, st, token, ANSWER_OUT)
        elif stage == ANSWER_IN:
            back = _passed(m, st, token, RETURN)
        elif stage == RETURN:
            _leave_region(m, st, token, st.coordinator[request])
            back = _joined(m, st, token)
        elif stage == END:
            _leave_region(m, st, token, st.coordinator[request])
            back = 1 if _go(m, st, token, COORDINATOR_OUT) == -1 else 0
        elif stage == CLIENT_IN:
            back = 1
        elif stage == TIMER:
            if st.missing[request] > 0 and not _ask_another(m, st, request):
                back = -1
            _drop(st, token)
        elif stage == SOURCE:
            _arrive(m, st, m.source, token, m.interarrival_ms * _exponential(st, ARRIVALS))
            token = _begin(m, st)
            back = -1 if token < 0 else _send(m, st, token)
        elif stage == THINK:
            back = _send(m, st, token)
        elif stage == CLIENT:
            _leave_region(m, st, token, m.nodes)
            st.begun[request] = st.now[0]
            back = _passed(m, st, token, CLIENT_OUT)
        else:
            back = _passed(m, st, token, stage + 1)
        if back == -1:
            return FULL
        if back == 1:
            request = st.request[token]
            op = st.operation[request]
            if batch >= 0:
                ms = st.now[0] - st.begun[request]
                answered[batch, op] += 1
                latency[batch, op] += ms
                histogram[op, _bin(ms)] += 1
            total += 1
            _drop(st, token)
            if total == goal:
                batch += 1
                goal += per_batch
                ended[batch] = st.now[0]
                for i in range(stations):
                    _account(m, st, i)
                    busy[batch, i], area[batch, i] = st.busy[i], st.area[i]
                if batch == batches:
                    return DONE
            if jobs and _next_of_client(m, st) < 0:
                return FULL


@njit(cache=True)
def _bin(ms):  # type: ignore[no-untyped-def]
    if ms <= _LEAST:
        return 0
    return min(BINS - 1, int(np.log2(ms / _LEAST) * _PER_OCTAVE) + 1)


def upper_ms() -> np.ndarray:
    """Upper bound of each bin of response times, ms, shape (BINS,)."""
    return np.asarray(_LEAST * np.exp2(np.arange(BINS) / _PER_OCTAVE))
