"""Sentences of the 2016 paper up to its model (sections 1 to 4), put to its tables and its own rules."""

from __future__ import annotations

from itertools import pairwise

from cassbook import published
from cassbook.claims.d16.source import (
    BYTES_PER_KB,
    NODES,
    RESPONSE,
    THROUGHPUT,
    all_errors,
    component_demand,
    cpu_demand_per_request,
    cpu_demands,
    errors,
    remote_requests,
    ring_shares,
    stations,
)
from cassbook.claims.interval import exactly, high, largest, least, mean, middle, overlap, possibly_at_most
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count, Untestable, figure, in_words
from cassbook.core.consistency import LEVELS, replicas_waited_for

#: Section 4.5: 'a normal query size is around 128 bytes'.
QUERY_BYTES = 128
#: Ring sizes over which the formulas in N and RF are tried.
RINGS = tuple((nodes, replication) for nodes in range(1, 9) for replication in range(1, nodes + 1))
# Abstract and introduction


@claim(
    "d16-abstract-errors",
    "abstract",
    "The average performance errors of the model compared to the real results are between 6% and 10%",
    "between 6% and 10%",
)
def errors_between() -> Answer:
    """Averages of Tables 4 and 5 that lie between 6 % and 10 %."""
    every = all_errors()
    ends = f"{middle(least(every)):.2f}% to {middle(largest(every)):.2f}%"
    inside = [possibly_at_most(6, e) and possibly_at_most(e, 10) for e in every]
    return Answer(Count(sum(inside), len(every)), note=f"They span {ends}.")


@claim("d16-intro-throughput", "section 1", "average error for the throughput is lower than 7%", "7%", relation="below")
def mean_throughput_error() -> Answer:
    """Mean of Table 4 over its levels."""
    off = errors(THROUGHPUT).values()
    return Answer(mean(off), note=f"The largest of the three is {middle(largest(off)):.2f}%.")


@claim("d16-intro-response", "section 1", "lower than 10% for the response time", "10%", relation="below")
def mean_response_error() -> Answer:
    """Mean of Table 5 over its levels."""
    off = errors(RESPONSE).values()
    return Answer(mean(off), note=f"The largest of the three is {middle(largest(off)):.2f}%.")


# Section 3: Cassandra


@claim("d16-key-share", "section 3", "each node will store a portion of the key space equal to RF/N", "RF/N")
def share_of_keys() -> Answer:
    """Rings of 1 to 8 nodes and every replication factor on which a count of ranges gives RF/N."""
    right = sum(ring_shares(n, rf)[0] * n == rf for n, rf in RINGS)
    return Answer(
        Count(right, len(RINGS)), note=f"In the paper's own ring {ring_shares(NODES, REPLICATION_FACTOR)[0]}."
    )


@claim("d16-one-fewest", "section 3", "CL ONE involves the fewest operations and it is the fastest", "ONE")
def least_work() -> Answer:
    """The level whose reads ask the least CPU time of the nodes, by Table 2."""
    demand = {level: cpu_demand_per_request(level) for level in LEVELS}
    listed = ", ".join(f"{level} {figure(ms, 2)} ms" for level, ms in demand.items())
    return Answer(
        min(demand, key=lambda level: middle(demand[level])),
        note=f"CPU time of all nodes for one read: {listed}. The width at ALL comes from its demands, printed with one "
        "digit.",
    )


@claim("d16-quorum", "section 3", "the QUORUM needs (RF/2) + 1 versions of the same data", "(RF/2) + 1")
def quorum_formula() -> Answer:
    """Replication factors 1 to 4 at which RF/2 + 1, unrounded and rounded down, is what QUORUM waits for."""
    factors = range(1, NODES + 1)
    waited = {rf: replicas_waited_for("QUORUM", rf) for rf in factors}
    return Answer(
        Count(sum(rf / 2 + 1 == waited[rf] for rf in factors), NODES),
        {"rounded down": Count(sum(int(rf / 2 + 1) == waited[rf] for rf in factors), NODES)},
        f"At the paper's RF the formula as it stands gives {REPLICATION_FACTOR / 2 + 1}, and QUORUM is "
        f"{waited[REPLICATION_FACTOR]}.",
    )


@claim(
    "d16-proxy-more-often",
    "section 3",
    "Choosing a higher CL, the node needs to act more often as a proxy",
    "more often",
)
def proxy_requests() -> Answer:
    """Steps from level to level at which the mean number of requests to other nodes rises."""
    counts = [remote_requests(level) for level in LEVELS]
    steps = list(pairwise(counts))
    return Answer(
        Count(sum(fewer < more for fewer, more in steps), len(steps)),
        note=f"A read sends {', '.join(map(str, counts))} requests to other nodes on average at {', '.join(LEVELS)}.",
    )


# Section 4: the model


@claim(
    "d16-three-stations",
    "section 4",
    "The node is characterized by three queueing stations representing: network (c1_net), CPU (c1_cpu) and disk",
    "three",
)
def stations_of_a_node() -> str:
    """Stations of the nodes in Tables 2 and 3, apart from the client's."""
    return in_words(sum("nodes'" in station.name for station in stations("ONE")))


@claim(
    "d16-two-queues",
    "section 4.4",
    "we have decided to model it with two queues that represents the CPU and the network running the workload "
    "generator machine",
    "two",
)
def stations_of_the_client() -> str:
    """Stations of the client in Table 3."""
    return in_words(sum("client's" in station.name for station in stations("ONE")))


@claim(
    "d16-classes",
    "section 4",
    "in order to model different types of requests, six ... different classes are defined in the model (described in "
    "Table 1)",
    "six",
)
def classes_of_table() -> str:
    """Rows of Table 1."""
    return in_words(len(published.as_text("d16_table1")))


@claim("d16-remote-share", "section 4.4", "The proportion of read-remote requests is equal to (N - RF)/N", "(N - RF)/N")
def remote_share() -> Answer:
    """Rings of 1 to 8 nodes and every replication factor on which a count of coordinators gives (N - RF)/N."""
    right = sum(ring_shares(n, rf)[1] * n == n - rf for n, rf in RINGS)
    return Answer(
        Count(right, len(RINGS)),
        note=f"In the paper's own ring {ring_shares(NODES, REPLICATION_FACTOR)[1]}. The sentence before it says that "
        "the share depends on the consistency level as well; formula and count do not.",
    )


@claim(
    "d16-query-size", "section 4.5", "We have observed that a normal query size is around 128 bytes", "around 128 bytes"
)
def query_size() -> Untestable:
    """What Table 3 implies of the sizes of query and response, whose ratio it fixes if both pass the same network."""
    ratio = component_demand("Network Data") / component_demand("Network Request")
    sizes = ((BYTES_PER_KB, "Network Data"), (QUERY_BYTES, "Network Request"))
    bandwidths = [figure(exactly(size) / BYTES_PER_KB / component_demand(name)) for size, name in sizes]
    return Untestable(
        f"The size of a response is not printed, only that a record has 1 KB without its key. Table 3 makes a response "
        f"{figure(ratio)} times a query. One of 1 KB means {bandwidths[0]} MB/s and a query of "
        f"{figure(BYTES_PER_KB / ratio, 0)} bytes; a query of {QUERY_BYTES} bytes means {bandwidths[1]} MB/s and a "
        f"response of {middle(QUERY_BYTES * ratio):.0f} bytes with key and headers."
    )


@claim(
    "d16-multiply",
    "section 4.5",
    "To calculate the network demand, we multiply the packet size with the bandwidth information",
    "multiply",
)
def size_and_bandwidth() -> Answer:
    """Which operation on bytes and bytes per second gives seconds, and which on bytes and seconds per byte."""
    size, time, bandwidth, time_per_byte = (1, 0), (0, 1), (1, -1), (-1, 1)  # powers of bytes and of seconds

    def operation(other: tuple[int, int]) -> str:
        product = (size[0] + other[0], size[1] + other[1])
        return "multiply" if product == time else "divide"

    return Answer(
        operation(bandwidth),
        {"by the time that a byte takes, the inverse of the bandwidth": operation(time_per_byte)},
        "Section 5.2 repeats the wording; the demands themselves are times of a plausible size.",
    )


@claim(
    "d16-local-as-remote",
    "section 4.5",
    "In case of local requests with CL QUORUM or ALL, the demand is calculated as a remote request",
    "as a remote request",
)
def local_like_remote() -> Answer:
    """Phases at QUORUM and ALL in which Table 2 gives a local request the demand of a remote one."""
    demand, levels, phases = cpu_demands(), ("QUORUM", "ALL"), ("", "-end")
    pairs = [(demand[f"read-local{p}", level], demand[f"read-remote{p}", level]) for level in levels for p in phases]
    in_two_phases = sum(high(demand["read-local-end", level]) > 0 for level in levels)
    return Answer(
        Count(sum(overlap(local, remote) for local, remote in pairs), len(pairs)),
        {"by the same method, in two phases, and not with the same result": Count(in_two_phases, len(levels))},
        "At QUORUM both local demands are smaller, as section 5.2 leads one to expect; at ALL the print is too coarse "
        "to tell.",
    )
