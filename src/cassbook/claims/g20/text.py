"""Sentences of the 2020 paper in the abstract and on its set-up (sections I to III), put to its own tables."""

from __future__ import annotations

from itertools import product

from cassbook.claims.g20.derived import OF_ITSELF
from cassbook.claims.g20.slowdowns import average_slowdown, mends
from cassbook.claims.g20.source import OPERATIONS, SHARES, benchmarks, slowdowns, winners
from cassbook.claims.interval import largest, low, middle
from cassbook.claims.level_means import Study
from cassbook.claims.quorum_pairs import (
    REPLICATION_FACTOR,
    chance_to_meet,
    compared_settings,
    fewest_missing,
    strong_pairs,
)
from cassbook.claims.registry import claim
from cassbook.claims.rules import READ_MOSTLY, UPDATE_HEAVY, YCSB_WORKLOADS
from cassbook.claims.statement import Answer, Count, Untestable, in_words
from cassbook.core.consistency import LEVELS, replicas_waited_for

# Abstract


@claim("g20-abstract-cost", "abstract", "strong consistency costs up to 25% of performance", "25%")
def greatest_cost(study: Study) -> Answer:
    """Largest slowdown in Tables I and II, of latency or throughput, at any thread count."""
    quantities = list(product(OPERATIONS, ("QUORUM", "ALL"), ("latency", "throughput")))
    cells = [cell for o, level, q in quantities for cell in slowdowns(study, o, level, q)]
    lost = {o: middle(average_slowdown(o, "ALL", "throughput", mended=True)) for o in OPERATIONS}
    # the average line of the throughput columns is in percent of the level itself
    largest_average = average_slowdown("READ", "ALL", "throughput", OF_ITSELF)
    return Answer(
        largest(cells),
        {"the largest average loss of throughput in Tables I and II (reads at ALL), " + OF_ITSELF: largest_average},
        f"Averages over threads are lower: in percent of ONE, ALL loses {lost['READ']:.1f} % of the throughput of "
        f"reads and {lost['WRITE']:.1f} % of that of writes (mended: {mends('WRITE', 'ALL')}, a slip that "
        "the average line of its table bears out).",
        "base",
    )


@claim(
    "g20-abstract-ratio",
    "abstract",
    "the best setting for strong consistency depends on the ratio of read and write operations",
    "depends on the ratio",
    asked="all thread counts",
)
def best_changes_with_ratio() -> Count:
    """Thread counts at which Table IV names more than one best setting over its four mixes."""
    threads = list(winners(SHARES[0]))
    return Count(sum(len({winners(share)[n] for share in SHARES}) > 1 for n in threads), len(threads))


# Sections I and II: the plan of the paper, and strong consistency

_PLAN = {"III": "benchmarking", "IV": "data analysis", "V": "settings", "VI": "methodology", "VII": "lessons learnt"}


@claim(
    "g20-plan", "section I", "some practical lessons learnt from our work are summarized in Section VI", "Section VI"
)
def section_of_lessons() -> Answer:
    """The section whose title speaks of lessons learnt."""
    (number,) = [section for section, title in _PLAN.items() if "lessons" in title]
    return Answer(f"Section {number}", note="Section VI is the methodology; a section was put in.", finding="misprint")


@claim(
    "g20-always-strong",
    "section II.B",
    "The sum of nodes written and read being greater than the replication factor always ensures strong data "
    "consistency when a read never misses a preceding write",
    "always",
    asked="6 of 6 pairs",
)
def always_meets() -> Answer:
    """Pairs of replicas read and written, 1 to 3 each, with R + W > 3, in which each read asks one that was written."""
    every = strong_pairs()
    return Answer(
        f"{sum(low(chance_to_meet(pair, REPLICATION_FACTOR)) == 1 for pair in every)} of {len(every)} pairs",
        note="So it is as long as each replica keeps what it acknowledged, and clocks agree.",
    )


@claim(
    "g20-read-all-fails",
    "section II.B",
    "The read operation will fail even if a single replica does not respond",
    "a single replica",
    asked="1",
)
def fewest_missing_at_all() -> float:
    """Replicas of three that must be missing for a read at ALL to fail."""
    return fewest_missing("ALL")


@claim(
    "g20-equation1",
    "section II.B, equation (1)",
    "the strong consistency is ensured if, either",
    "strong consistency is ensured",
    asked="3 settings",
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


@claim("g20-setup-figure", "section III.A", "cluster in the Amazon EC2 cloud (Fig. 2)", "Fig. 2")
def figure_of_the_setup() -> Answer:
    """The figure whose caption is the experimental set-up."""
    captions = {"Fig. 1": "Experimental setup: Cassandra cluster", "Fig. 2": "A fragment of the READ delay graph"}
    (number,) = [figure for figure, caption in captions.items() if "setup" in caption]
    return Answer(number, note=f"The caption of Fig. 2 is '{captions['Fig. 2']}'.", finding="misprint")


@claim(
    "g20-ycsb-mixes",
    "section III.A",
    "each testing different common use case scenarios with a certain mix of reads and writes (50/50, 95/5, read-only",
    "50/50, 95/5",
)
def mixes_of_ycsb() -> tuple[float, ...]:
    """Reads and writes of YCSB's workloads A and B, percent."""
    return (*UPDATE_HEAVY, *READ_MOSTLY)


@claim(
    "g20-three-levels",
    "section III.A",
    "on the 3-replicated Cassandra cluster with the three different consistency settings: ONE, QUORUM and ALL",
    "three",
)
def levels_measured(study: Study) -> str:
    """Levels of Tables I and II."""
    study.threads()  # of a run that has measured none, nothing can be said
    return in_words(len({level for _, level in study.latency_us}))


@claim("g20-workloads", "section III.A", "The YCSB framework includes six out-of-the-box workloads", "six")
def workloads_of_ycsb() -> str:
    """Core workloads that YCSB comes with."""
    return in_words(len(YCSB_WORKLOADS))


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
    """What the writes of Table II alone add: 1000 a thread, three levels, three replicas, one field or all ten."""
    copies = 1000 * sum(benchmarks().threads()) * len(LEVELS) * REPLICATION_FACTOR
    one, ten = (copies * record_bytes(fields) / 1e9 for fields in (1, 10))
    return Untestable(
        "Neither the records loaded, nor compaction, nor the number of repetitions is given. The writes of Table II, "
        f"each kept as a version on three replicas, come to {one:.0f} GB if a write replaces one field, as by YCSB's "
        f"default, and to {ten:.0f} GB if it replaces all ten, before what the engine adds to each cell. One field a "
        "write would need many repetitions, or much that was loaded."
    )
