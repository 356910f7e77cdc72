"""Sentences of the 2016 paper on its evaluation and in its conclusion (sections 5 and 6)."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from cassbook.claims.d16.source import (
    BYTES_PER_KB,
    NODES,
    RATE_TEXT,
    REDUCTIONS_TEXT,
    RESPONSE,
    THROUGHPUT,
    all_errors,
    bottleneck,
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
from cassbook.claims.interval import Interval, exactly, largest, middle, percent_below, possibly_at_most
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR
from cassbook.claims.registry import claim
from cassbook.claims.rules import straight
from cassbook.claims.statement import Answer, Count, Untestable, figure, in_words
from cassbook.core.consistency import LEVELS, replicas_waited_for
from cassbook.queueing import paper
from cassbook.queueing.mva import Analysed, analyse
from cassbook.queueing.network import Law, Readings
from cassbook.queueing.paper import JOBS

#: What QUORUM and ALL are said to lose of the throughput at ONE, percent.
_LEAST_LOST, _MOST_LOST = 40.0, 60.0
#: A change that is nearly none.
_ALIKE_PERCENT = 5.0
#: Jobs of Figures 5 to 10.
_FEWEST, _MOST = 5, 100


@lru_cache
def _at(level: str, law: Law) -> Analysed:
    return analyse(paper.network(level, readings=Readings(law=law)), _MOST)


def _reductions(law: Law) -> dict[str, float]:
    """Percent of the throughput at ONE that is lost at QUORUM and at ALL, with 45 jobs."""
    per_s = {level: float(_at(level, law).throughput_per_s[JOBS - 1]) for level in LEVELS}
    return {level: 100 * (1 - per_s[level] / per_s["ONE"]) for level in LEVELS[1:]}


def _straightness() -> dict[str, float]:
    """R² of a line through response times over 5 to 100 jobs, by level."""
    r_squared = {}
    for level in LEVELS:
        network = _at(level, Law())
        r_squared[level] = float(
            np.corrcoef(network.jobs[_FEWEST - 1 :], network.response_ms[_FEWEST - 1 :])[0, 1] ** 2
        )
    return r_squared


def _gain_alone(law: Law) -> float:
    """Percent that asking all three replicas at QUORUM, and waiting for two, gains of throughput with one job."""
    two, three = (
        analyse(paper.network("QUORUM", ask_all=ask_all, readings=Readings(law=law)), 1).throughput_per_s[0]
        for ask_all in (False, True)
    )
    return float(100 * (three / two - 1))


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


@claim("d16-records", "section 5.1", "The keyspace is filled with 15 million of records", "15 million of records")
def number_of_records() -> Untestable:
    """What the number of records implies of the data, of which the paper prints no size."""
    return Untestable(
        f"No size of the data is printed. At 1 KB a record it is {middle(data_gb()):.0f} GB, and with its copies "
        f"{figure(data_per_node_gb(), 0)} GB a node; see d16-forensic-disk-space and d16-forensic-memory."
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


@claim("d16-reductions", "section 5.1", REDUCTIONS_TEXT, "more than 40% and up to 60%")
def reductions() -> Answer:
    """Levels at which the network of Tables 2 and 3 loses between 40% and 60% of its throughput at ONE, 45 jobs."""
    lost = {law: _reductions(Law(law)) for law in ("exponential", "constant")}
    kept = {law: Count(sum(_LEAST_LOST < x <= _MOST_LOST for x in by.values()), len(by)) for law, by in lost.items()}
    exponential, constant = (" and ".join(f"{x:.1f}% at {level}" for level, x in by.items()) for by in lost.values())
    return Answer(
        kept["exponential"],
        {"with service times that do not vary": kept["constant"]},
        f"The model's: {exponential} with exponential service times, {constant} with constant ones; the paper prints "
        "their means only. What was measured stands in Figure 5, which is lost. Full CPUs alone force less: "
        f"{_forced('QUORUM')} at QUORUM and {_forced('ALL')} at ALL.",
    )


def _forced(level: str) -> str:
    """Percent of the printed rate that is lost because the nodes' CPUs are full."""
    return figure(percent_below(station(level, "the nodes' CPUs").capacity_per_s, rate_per_s())) + "%"


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


@claim(
    "d16-linear-response",
    "section 5.1",
    "increasing linearly the average time that the clients waits for query completion",
    "linearly",
)
def response_over_jobs() -> Answer:
    """Whether a line explains the response times of the network of Tables 2 and 3 over 5 to 100 jobs."""
    explained = _straightness()
    text = ", ".join(f"{part:.4f} at {level}" for level, part in explained.items())
    return Answer(
        "linearly" if straight(min(explained.values())) else "not linearly",
        note=f"R² of a line through the model's response times: {text}. What was measured stands in Figure 6, which is "
        "lost.",
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


@claim(
    "d16-replication-light",
    "section 5.3",
    "with a very light load, the throughput under replication is nearly identical to the one without replication",
    "nearly identical",
)
def replication_alone() -> Answer:
    """Whether throughput at QUORUM with one job changes by less than 5% when all three replicas are asked."""
    exponential, constant = (_gain_alone(Law(kind)) for kind in ("exponential", "constant"))
    alike = _identical(exponential)
    return Answer(
        alike,
        {"with service times that do not vary": _identical(constant)},
        f"By the model of Tables 2 and 3 it changes by {exponential:.1f}% with exponential service times, by "
        f"{constant:.1f}% with constant ones; only means are printed. Figure 10 is lost.",
    )


def _identical(percent: float) -> str:
    return "nearly identical" if abs(percent) < _ALIKE_PERCENT else "different"


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
