"""Sentences of the 2020 paper in the abstract and on its set-up (sections I to III), put to its own tables."""

from __future__ import annotations

from itertools import product

from cassbook.claims.g20.cells import OF_ITSELF, average_slowdown
from cassbook.claims.g20.source import (
    OPERATIONS,
    SHARES,
    benchmarks,
    slowdowns,
    winners,
)
from cassbook.claims.interval import (
    largest,
    mean,
    middle,
)
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR, compared_settings
from cassbook.claims.registry import claim, untestable_in
from cassbook.claims.statement import Answer, Count, Untestable
from cassbook.claims.study import Study
from cassbook.core.consistency import LEVELS, replicas_waited_for

untestable = untestable_in(__name__)

# Abstract


@claim("g20-abstract-cost", "abstract", "strong consistency costs up to 25% of performance", "25%")
def greatest_cost(study: Study) -> Answer:
    """Largest slowdown in Tables I and II, of latency or throughput, at any thread count."""
    quantities = list(product(OPERATIONS, ("QUORUM", "ALL"), ("latency", "throughput")))
    cells = [cell for o, level, q in quantities for cell in slowdowns(study, o, level, q)]
    lost = {(o, level): mean(slowdowns(study, o, level, "throughput")) for o, level, q in quantities if q != "latency"}
    # the average line of the throughput columns is in percent of the level itself: see g20_cells.OF_ITSELF
    largest_average = average_slowdown("READ", "ALL", "throughput", OF_ITSELF)
    return Answer(
        largest(cells),
        {"the largest average loss of throughput in Tables I and II (reads at ALL), " + OF_ITSELF: largest_average},
        f"Averages over threads are lower: in percent of ONE, ALL loses {middle(lost['READ', 'ALL']):.0f} % of the "
        f"throughput of reads and {middle(lost['WRITE', 'ALL']):.0f} % of writes.",
    )


@claim(
    "g20-abstract-ratio",
    "abstract",
    "the best setting for strong consistency depends on the ratio of read and write operations",
    "all thread counts",
)
def best_changes_with_ratio() -> Count:
    """Thread counts at which Table IV names more than one best setting over its four mixes."""
    threads = list(winners(SHARES[0]))
    return Count(sum(len({winners(share)[n] for share in SHARES}) > 1 for n in threads), len(threads))


# Section II: strong consistency


@claim(
    "g20-equation1",
    "section II.B, equation (1)",
    "the strong consistency is ensured if, either",
    "3 settings",
)
def overlapping_settings() -> Count:
    """Settings among the three whose replicas read and written overlap at replication factor 3."""
    return compared_settings()


@claim(
    "g20-quorum",
    "section II.B",
    "a quorum is calculated by rounding down to a whole number ... replication_factor/2+1",
    "2",
)
def quorum_of_three() -> float:
    """Replicas that QUORUM waits for at replication factor 3."""
    return replicas_waited_for("QUORUM", REPLICATION_FACTOR)


# Section III: set-up


@claim(
    "g20-record-size", "section III.A", "F is equal 10 and L is equal 100, which constructs 1000 bytes records", "1000"
)
def record_bytes(fields: int = 10, length: int = 100) -> float:
    """Fields times their length."""
    return fields * length


@claim("g20-threads", "section III.A", "with a number of threads varying from 10 to 1000", "10 to 1000")
def thread_range(study: Study) -> tuple[float, float]:
    """Least and largest thread count measured."""
    return min(study.threads()), max(study.threads())


@claim(
    "g20-database-size",
    "section III.A",
    "The final size of the testbed database reached 70GB by the end of our experiments",
    "70GB",
)
def database_size() -> Untestable:
    """What the writes of Table II alone add: 1000 records a thread of 1000 bytes, three levels, three replicas."""
    written = 1000 * sum(benchmarks().threads()) * len(LEVELS) * record_bytes() * REPLICATION_FACTOR
    return Untestable(
        "Neither the records loaded, nor compaction, nor the number of repetitions is given. The writes of Table II, "
        f"each kept as a version on three replicas, come to {written / 1e9:.0f} GB: the order of magnitude is right."
    )


untestable(
    "g20-operation-count",
    "section III.A",
    "The operation count within each thread is set to 1000",
    "1000",
    "A setting; the claims on Little's law use it and find nothing against it.",
)
untestable(
    "g20-workloads",
    "section III.A",
    "The YCSB framework includes six out-of-the-box workloads",
    "six",
    "A statement about YCSB; the thesis, which lists them, says five in one place and six in another.",
)
untestable(
    "g20-instance",
    "section III.A",
    "on c3.xlarge instances (vCPUs - 4, RAM - 7.5 GB, SSD - 2x40 GB, OS - Ubuntu Server 16.04 LTS)",
    "4, 7.5 GB, 2x40 GB",
    "A property of Amazon's instances, not of the paper's numbers.",
)
untestable(
    "g20-cold-start-length",
    "section III.B",
    "In all our experiments this period lasts approximately 800-1000 milliseconds",
    "800-1000",
    "The raw delays and Figs. 2 and 3 are lost. The chapter on cold start measures it on a cluster of ours.",
)
untestable(
    "g20-cold-start-factor",
    "section III.B",
    "the delays measured during the cold start are on average 5-8 times longer",
    "5-8",
    "The raw delays and Figs. 2 and 3 are lost. The chapter on cold start measures it on a cluster of ours.",
)
