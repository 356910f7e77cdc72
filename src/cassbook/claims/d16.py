"""Sentences of the queueing paper, put to its own tables and to the laws that hold for any queueing network."""

from __future__ import annotations

from itertools import pairwise

from cassbook import published
from cassbook.claims.d16_source import (
    BYTES_PER_KB,
    NODES,
    RATE_TEXT,
    REDUCTIONS_TEXT,
    bottleneck,
    component_demand,
    cpu_demand_per_request,
    cpu_demands,
    data_gb,
    data_per_node_gb,
    errors,
    rate_per_s,
    remote_requests,
    ring_shares,
    station,
    stations,
)
from cassbook.claims.interval import Interval, exactly, high, largest, least, mean, middle, overlap, possibly_at_most
from cassbook.claims.quorums import LEVELS, REPLICATION_FACTOR
from cassbook.claims.registry import claim, untestable
from cassbook.claims.statement import Answer, Count, Untestable
from cassbook.claims.wording import figure, in_words
from cassbook.consistency import replicas_waited_for

THROUGHPUT, RESPONSE = "d16_table4", "d16_table5"
#: Section 4.5: 'a normal query size is around 128 bytes'.
QUERY_BYTES = 128
#: Ring sizes over which the formulas in N and RF are tried.
RINGS = tuple((nodes, replication) for nodes in range(1, 9) for replication in range(1, nodes + 1))
_OTHER_MODELS = (
    "Of other models the paper prints one number, 'over 40%' for some configuration of [25]. Missing are the average "
    "errors of [13] and [25], or what they predict for this cluster."
)


def all_errors() -> list[Interval]:
    """The six averages of Tables 4 and 5, in percent."""
    return [*errors(THROUGHPUT).values(), *errors(RESPONSE).values()]


# Abstract and introduction


@claim(
    "d16-abstract-errors",
    "abstract",
    "The average performance errors of the model compared to the real results are between 6% and 10%",
    "between 6% and 10%",
)
def errors_between() -> Answer:
    """Averages of Tables 4 and 5 that lie between 6 % and 10 %."""
    found = all_errors()
    ends = f"{middle(least(found)):.2f}% to {middle(largest(found)):.2f}%"
    inside = [possibly_at_most(6, e) and possibly_at_most(e, 10) for e in found]
    return Answer(Count(sum(inside), len(found)), note=f"They span {ends}.")


@claim("d16-intro-throughput", "section 1", "average error for the throughput is lower than 7%", "7%", relation="below")
def mean_throughput_error() -> Answer:
    """Mean of Table 4 over its levels."""
    found = errors(THROUGHPUT).values()
    return Answer(mean(found), note=f"The largest of the three is {middle(largest(found)):.2f}%.")


@claim("d16-intro-response", "section 1", "lower than 10% for the response time", "10%", relation="below")
def mean_response_error() -> Answer:
    """Mean of Table 5 over its levels."""
    found = errors(RESPONSE).values()
    return Answer(mean(found), note=f"The largest of the three is {middle(largest(found)):.2f}%.")


untestable(
    "d16-more-robust",
    "section 1",
    "increasing prediction robustness compared to existing models",
    "increasing prediction robustness",
    _OTHER_MODELS,
)
untestable(
    "d16-related-40",
    "section 2",
    "for some particular configuration the error between real system and simulation can grow over 40%",
    "over 40%",
    "A statement about another paper, [25], whose numbers are not repeated here.",
)


# Section 3: Cassandra


@claim("d16-key-share", "section 3", "each node will store a portion of the key space equal to RF/N", "RF/N")
def share_of_keys() -> Answer:
    """Rings of 1 to 8 nodes and every replication factor on which a count of ranges gives RF/N."""
    right = sum(ring_shares(n, rf)[0] * n == rf for n, rf in RINGS)
    return Answer(
        Count(right, len(RINGS)), note=f"In the paper's own ring {ring_shares(NODES, REPLICATION_FACTOR)[0]}."
    )


@claim(
    "d16-one-fewest",
    "section 3",
    "CL ONE involves the fewest operations and it is the fastest",
    "ONE",
)
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

untestable(
    "d16-concurrent-reads",
    "section 4",
    "This limit is static and set by default to 32 requests in the configuration file of each Cassandra node",
    "32 requests",
    "A default of the software; the configuration file is not printed, and no printed number depends on it.",
)


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


@claim(
    "d16-remote-share",
    "section 4.4",
    "The proportion of read-remote requests is equal to (N - RF)/N",
    "(N - RF)/N",
)
def remote_share() -> Answer:
    """Rings of 1 to 8 nodes and every replication factor on which a count of coordinators gives (N - RF)/N."""
    right = sum(ring_shares(n, rf)[1] * n == n - rf for n, rf in RINGS)
    return Answer(
        Count(right, len(RINGS)),
        note=f"In the paper's own ring {ring_shares(NODES, REPLICATION_FACTOR)[1]}. The sentence before it says that "
        "the share depends on the consistency level as well; formula and count do not.",
    )


@claim(
    "d16-query-size",
    "section 4.5",
    "We have observed that a normal query size is around 128 bytes",
    "around 128 bytes",
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


# Section 5.1: validation


@claim(
    "d16-record-size",
    "section 5.1",
    "10 fields, each filled with 100B of data. The total data size for each record is 1KB",
    "1KB",
)
def record_size(fields: int = 10, length: int = 100) -> Interval:
    """Fields times their length, in KB."""
    return exactly(fields * length) / BYTES_PER_KB


@claim(
    "d16-records",
    "section 5.1",
    "The keyspace is filled with 15 million of records",
    "15 million of records",
)
def number_of_records() -> Untestable:
    """What the number of records implies of the data, of which the paper prints no size."""
    return Untestable(
        f"No size of the data is printed. At 1 KB a record it is {middle(data_gb()):.0f} GB, and with its copies "
        f"{figure(data_per_node_gb(), 0)} GB a node; see d16-forensic-disk-space and d16-forensic-memory."
    )


untestable(
    "d16-repeated",
    "section 5.1",
    "Each experiment on the real system is repeated three times and it has the duration of 30 minutes, plus 5 minutes "
    "of warm-up",
    "three times ... 30 minutes, plus 5 minutes",
    "A setting of the experiments; no number of requests and no time of a single run is printed to hold it against.",
)


@claim(
    "d16-6800",
    "section 5.1",
    "Using ONE as CL with 45 jobs in the system, or 45 simultaneous client requests, the system is able to serve "
    "around 6800 requests per second",
    RATE_TEXT,
)
def saturation_rate() -> Answer:
    """Rate at ONE at which the first station of the model is full, by Tables 2 and 3."""
    first = bottleneck("ONE")
    busy = ", ".join(f"{s.name} {figure(s.busy_percent(rate_per_s()), 0)}%" for s in stations("ONE"))
    return Answer(
        first.capacity_per_s,
        note=f"The rate is what {first.name} can carry, 1 / (Network Request + Network Data); the cluster has room "
        f"left. Busy at the printed rate: {busy}.",
    )


untestable(
    "d16-reductions",
    "section 5.1",
    REDUCTIONS_TEXT,
    "more than 40% and up to 60%",
    "Throughput at QUORUM and ALL stands in Figure 5, which is lost; d16-forensic-quorum and d16-forensic-all say what "
    "Table 2 allows.",
)


@claim(
    "d16-utilisation",
    "section 5.1",
    "increasing the CL, the CPU utilisation of each node grows faster like the graph reports in Figure 7",
    "grows faster",
)
def cpu_per_request() -> Answer:
    """Steps from level to level at which a read asks more CPU time of the nodes."""
    steps = list(pairwise(cpu_demand_per_request(level) for level in LEVELS))
    ceiling = station("ONE", "the nodes' CPUs").busy_percent(bottleneck("ONE").capacity_per_s)
    return Answer(
        Count(sum(possibly_at_most(fewer, more) for fewer, more in steps), len(steps)),
        note=f"At ONE the nodes' CPUs cannot be busier than {figure(ceiling, 0)}%, since the client's network is full "
        "first. Figure 7 is lost.",
    )


untestable(
    "d16-linear-response",
    "section 5.1",
    "increasing linearly the average time that the clients waits for query completion",
    "linearly",
    "Response times stand in Figure 6, which is lost.",
)


@claim(
    "d16-all-below-7",
    "section 5.1",
    "the average throughput relative error is below 7% for all analysed CLs",
    "7%",
    relation="below",
)
def throughput_errors() -> Interval:
    """Largest error of Table 4."""
    return largest(errors(THROUGHPUT).values())


@claim(
    "d16-response-below-10",
    "section 5.1",
    "The average response time error, as reported in Table 5, is below the 10%",
    "10%",
    relation="below",
)
def response_errors() -> Interval:
    """Largest error of Table 5."""
    return largest(errors(RESPONSE).values())


# Section 5.2: ScyllaDB


@claim("d16-end-zero", "section 5.2", "In case of CL ONE the demand for this class is set to zero", "zero")
def end_at_one() -> Answer:
    """Demand of read-local-end at ONE in Table 2."""
    return Answer(
        in_words(int(middle(cpu_demands()["read-local-end", "ONE"]))),
        note="The sentence stands in the section on ScyllaDB, which studies QUORUM alone; Table 2 shows that it was so "
        "for Cassandra.",
    )


@claim(
    "d16-one-request-less",
    "section 5.2",
    "The local requests generate one request less than the remote",
    "one request less",
)
def local_parses_less() -> Answer:
    """Levels at which Table 2 gives parsing a local request less time than parsing a remote one."""
    demand = cpu_demands()

    def less(levels: tuple[str, ...]) -> Count:
        right = [possibly_at_most(demand["read-local", level], demand["read-remote", level]) for level in levels]
        return Count(sum(right), len(levels))

    return Answer(
        less(LEVELS),
        {"at QUORUM and ALL, where a local request has an end phase too": less(("QUORUM", "ALL"))},
        "At ONE the whole local read is one class, so that its demand is not that of parsing.",
    )


@claim(
    "d16-scylla-bottleneck",
    "section 5.2",
    "differently from the Cassandra scenario, at high load the workload generator network represents the bottleneck",
    "differently",
)
def other_bottleneck() -> Answer:
    """Levels at which something else than the client's network is full first for Cassandra, by Tables 2 and 3."""
    first = {level: bottleneck(level).name for level in LEVELS}
    different = [level for level in LEVELS if first[level] != "the client's network"]
    return Answer(
        Count(len(different), len(LEVELS)),
        {"at QUORUM, the level that is compared": Count(int("QUORUM" in different), 1)},
        f"Full first: {', '.join(f'{name} at {level}' for level, name in first.items())}.",
    )


untestable(
    "d16-scylla-faster",
    "section 5.2",
    "Comparing ScyllaDB with Cassandra QUORUM results, it is possible to observe that ScyllaDB is able to achieve "
    "better performance",
    "better performance",
    "Both sides stand in Figures 5, 6, 8 and 9, which are lost. By the same section ScyllaDB's machines had another "
    "CPU and a larger bandwidth of network and disk, so that some of it may be theirs.",
)
untestable(
    "d16-scylla-errors",
    "section 5.2",
    "the average relative error is 8% for the throughput and 12.9% for the response time",
    "8% ... 12.9%",
    "Measured and simulated values stand in Figures 8 and 9, which are lost; no demand of ScyllaDB is printed.",
)


# Section 5.3: replicated queries


@claim(
    "d16-remote-requests",
    "section 5.3",
    "The number of remote requests depends on the RF applied to the database and is equal to (RF/2) + 1",
    "(RF/2) + 1",
)
def remote_requests_at_quorum() -> Answer:
    """Kinds of request, local and remote, that send RF/2 + 1, rounded down, requests to other nodes."""
    quorum = int(REPLICATION_FACTOR / 2 + 1)
    sent = {
        "local": replicas_waited_for("QUORUM", REPLICATION_FACTOR) - 1,
        "remote": replicas_waited_for("QUORUM", REPLICATION_FACTOR),
    }
    answers = {"local": sent["local"] + 1, "remote": sent["remote"]}
    return Answer(
        Count(sum(n == quorum for n in sent.values()), len(sent)),
        {
            "answers needed, the coordinator's own included": Count(
                sum(n == quorum for n in answers.values()), len(sent)
            )
        },
        f"On average {remote_requests('QUORUM')} requests leave the coordinator, since it holds the key itself with "
        f"probability {float(ring_shares(NODES, REPLICATION_FACTOR)[0])}.",
    )


@claim(
    "d16-replication-loss",
    "section 5.3",
    "at higher loads Cassandra is expected to suffer on average a performance loss",
    "loss",
)
def replicated_queries() -> Answer:
    """Whether the nodes' CPUs, full, serve fewer reads at QUORUM if every replica is asked."""
    plain = cpu_demand_per_request("QUORUM")
    replicated = cpu_demand_per_request("QUORUM", asked=REPLICATION_FACTOR)
    change = 1 - 1 / (1 + cpu_demands()["read-remote-ID", "QUORUM"] / plain)
    return Answer(
        "loss" if middle(change) > 0 else "gain",
        note=f"Each read costs one read-remote-ID more, {figure(replicated, 2)} instead of {figure(plain, 2)} ms: with "
        f"full CPUs the rate falls by {figure(change * 100, 0)}%. The curves of Figure 10 are lost.",
    )


untestable(
    "d16-replication-light",
    "section 5.3",
    "with a very light load, the throughput under replication is nearly identical to the one without replication",
    "nearly identical",
    "Figure 10 is lost, and with few jobs the gain depends on the law of service times; only means are printed.",
)


# Section 6: conclusion


@claim(
    "d16-conclusion-10",
    "section 6",
    "able to predict with an error below the 10% the throughput and response time of the system",
    "10%",
    relation="below",
)
def largest_error() -> Interval:
    """Largest average of Tables 4 and 5."""
    return largest(all_errors())


untestable(
    "d16-more-accurate",
    "section 6",
    "The proposed model appears generally more accurate than existing models in the literature that also consider the "
    "YCSB benchmark",
    "more accurate than existing models",
    _OTHER_MODELS,
)
