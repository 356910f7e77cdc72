"""Chapters 1 to 3 of the thesis: what it says of its own order, of consistency levels, quorums and workloads."""

from __future__ import annotations

from cassbook.claims.interval import Interval, exactly, low, middle, numbers_in
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR, chance_to_meet, fewest_missing, pairs, strong
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count, in_words
from cassbook.core.consistency import replicas_waited_for

#: Appendix: 'a total of 12 options'.
THREAD_COUNTS = 12
#: Section 4.3.1, requests per second: 'a maximum throughput of 1203 ... between 1240 and 110', and of writes.
READ_RATES = {"ONE": "1203", "QUORUM": "1240", "ALL": "110"}
WRITE_RATES = {"ONE": "1437", "QUORUM": "around 1400", "ALL": "around 1250"}
#: From the abstract of the 2020 paper, reference [11] of the thesis.
ABSTRACT_2020 = "strong consistency costs up to 25% of performance"

#: Section 1.4: what the sections after the first are said to be about.
PLANNED = {
    2: "Literature survey",
    3: "NoSQL benchmarking",
    4: "consistency in Cassandra",
    5: "experimentation",
    6: "conclusion",
}
#: The chapters' own titles.
CHAPTERS = {
    1: "Introduction",
    2: "Cassandra and Consistency",
    3: "Performance Benchmarking",
    4: "Experimentation",
    5: "Conclusion",
}
#: The captions of the tables of chapters 2 and 3.
CAPTIONS = {
    "Table 2.1": "Write consistency levels",
    "Table 2.2": "Read consistency levels",
    "Table 3.1": "Default workloads provided by YCSB",
}


#: What it lists where it says how many there are.
LISTED = {
    "kinds of databases": ("Column-oriented", "Graph", "Document", "Key-value"),
    "levels of consistency": ("Strong Consistency", "Eventual Consistency"),
    "replication strategies": ("SimpleStrategy", "NetworkTopologyStrategy"),
    "ways to set consistency": ("1st Way", "2nd Way"),
    "experiments": ("4.3.1 Experiment 1", "4.3.2 Experiment 2"),
    "nodes": ("192.168.29.143", "192.168.29.144", "192.168.29.145"),
}


# Chapter 1: the order of the thesis


def chapter_about(topic: str) -> int | None:
    """Number of the chapter whose title shares a word with a topic, if there is one."""
    words = set(topic.lower().split())
    return next((number for number, title in CHAPTERS.items() if words & set(title.lower().split())), None)


@claim(
    "thesis-chapters",
    "section 1.4",
    "section 2, Literature survey is presented ... Section 3 talks about NoSQL benchmarking ... Section 4 is "
    "consistency in Cassandra ... Section 5 is about experimentation ... Section 6 concludes",
    "section 2 ... Section 3 ... Section 4 ... Section 5 ... Section 6",
)
def chapters_as_planned() -> Answer:
    """Chapters that section 1.4 lists with the number under which they stand."""
    about = {number: chapter_about(topic) for number, topic in PLANNED.items()}
    moved = [
        f"{PLANNED[planned]} is chapter {actual}" for planned, actual in about.items() if actual not in (planned, None)
    ]
    none = " and ".join(PLANNED[planned] for planned, actual in about.items() if actual is None)
    return Answer(
        Count(sum(planned == actual for planned, actual in about.items()), len(about)),
        note=f"By the titles {', '.join(moved)}; no chapter is called {none}, and other works are reviewed in section "
        "3.3. The list is likely that of an earlier plan.",
        finding="misprint",
    )


@claim("thesis-experiments", "section 1.3", "Two experiments are performed as a part of this work", "Two")
def experiments() -> str:
    """Experiments that chapter 4 has a section of."""
    return in_words(len(LISTED["experiments"])).capitalize()


# Chapter 2: consistency


@claim("thesis-four-types", "section 2.1", "There are four different types of NoSQL databases", "four")
def kinds_of_databases() -> str:
    """Types that the sentence lists."""
    return in_words(len(LISTED["kinds of databases"]))


@claim(
    "thesis-three-levels",
    "section 2.3.1",
    "Hewitt explains three different levels of consistency in his book about Cassandra",
    "three",
)
def levels_of_consistency() -> Answer:
    """Levels of consistency with a section of their own, 2.3.1 and 2.3.2."""
    listed = LISTED["levels of consistency"]
    treated = " and ".join(listed).lower()
    return Answer(in_words(len(listed)), note=f"Treated are {treated}; the book's third is left out.")


@claim(
    "thesis-one-version",
    "section 2.3.2",
    "it may provide data which is one version older than the current one",
    "one version older",
)
def versions_behind() -> Answer:
    """Versions that a read at ONE may be behind if a row is written faster than its versions spread (PBS)."""
    miss = 1 - chance_to_meet((1, 1), REPLICATION_FACTOR)
    two_or_more = middle(miss * miss) * 100
    return Answer(
        "any number of versions older",
        note="Nothing bounds it: of writes at ONE that follow one another before any has spread, a read at ONE misses "
        f"the last two with a chance of {two_or_more:.0f} % by the formula of PBS.",
        finding="overstated",
    )


@claim(
    "thesis-copies",
    "section 2.5.1",
    "A replication factor of one means that each row in the Cassandra cluster has only one copy ... two indicates that "
    "each row has two copies",
    "one ... two",
    asked="1, 2",
)
def copies() -> tuple[int, int]:
    """Replicas that ALL waits for at replication factors 1 and 2."""
    return replicas_waited_for("ALL", 1), replicas_waited_for("ALL", 2)


@claim("thesis-two-strategies", "section 2.5.1", "There are two replication strategies that can be used", "two")
def replication_strategies() -> str:
    """Strategies that the section lists."""
    return in_words(len(LISTED["replication strategies"]))


@claim(
    "thesis-two-others",
    "section 2.5.2",
    "with consistency level ONE and RF = 3, Cassandra concurrently replicates the data to two other nodes",
    "two",
)
def other_replicas() -> str:
    """Replicas that a write at ONE does not wait for."""
    return in_words(REPLICATION_FACTOR - replicas_waited_for("ONE", REPLICATION_FACTOR))


@claim(
    "thesis-table2-2-all",
    "Table 2.2, ALL",
    "It requires confirmation from all replica nodes. The write operation is the slowest in this situation",
    "write operation",
)
def operation_of_table_2_2() -> Answer:
    """The operation that the caption of Table 2.2 names."""
    caption = CAPTIONS["Table 2.2"]
    operation = caption.split()[0].lower()
    return Answer(
        f"{operation} operation",
        note=f"The row repeats that of Table 2.1 word for word; the caption is '{caption}'.",
        finding="misprint",
    )


@claim(
    "thesis-read-all-fails",
    "Table 2.2, ALL",
    "if one of the replica nodes fails during the write operation, the write operation will fail",
    "one",
    asked="1",
)
@claim(
    "thesis-write-all-fails",
    "Table 2.1, ALL",
    "if one of the replica nodes fails during the write operation, the write operation will fail",
    "one",
    asked="1",
)
def fewest_missing_at_all() -> float:
    """Replicas of three that must be missing for a request at ALL to fail."""
    return fewest_missing("ALL")


@claim("thesis-two-ways", "section 2.5.2", "There are mainly 2 ways for setting consistency in a cluster", "2")
def ways_to_set() -> float:
    """Ways that follow the sentence."""
    return len(LISTED["ways to set consistency"])


@claim("thesis-strong-rule", "section 2.3.1", "when we have R+W>N then, strong consistency can be achieved", "R+W>N")
def overlap_rule() -> Count:
    """Pairs of replicas read and written, 1 to 3 each, for which R+W>N says whether every read meets the write."""
    every = pairs(REPLICATION_FACTOR)
    agreeing = [(low(chance_to_meet(c, REPLICATION_FACTOR)) == 1) == strong(c, REPLICATION_FACTOR) for c in every]
    return Count(sum(agreeing), len(every))


@claim(
    "thesis-51-percent-read",
    "Table 2.2",
    "It signifies that 51 percent of replica nodes in all datacentres have responded",
    "51 percent",
)
@claim(
    "thesis-51-percent",
    "Table 2.1",
    "It requires 51 percent or a majority of replica nodes across all datacentres to acknowledge it",
    "51 percent",
)
def quorum_percent() -> Answer:
    """Share of three replicas that QUORUM waits for, and the least whole percentage above one half."""
    waited = exactly(replicas_waited_for("QUORUM", REPLICATION_FACTOR)) / REPLICATION_FACTOR * 100
    return Answer(
        waited,
        {"the least whole percentage that is a majority": 100 // 2 + 1},
        "A majority is what counts; for three replicas it is two of them.",
    )


@claim(
    "thesis-quorum-nodes",
    "section 2.5.2",
    "In a cluster of 3 nodes, a quorum is 2 nodes. In a cluster of 6 nodes, a quorum is 4 nodes",
    "2 nodes ... 4 nodes",
)
def quorums_of_clusters() -> Answer:
    """floor(sum of replication factors / 2 + 1) for clusters of 3 and 6 nodes with RF 3, and with RF = nodes."""

    def quorum(replication: int) -> int:
        return int(replication / 2 + 1)

    return Answer(
        (quorum(REPLICATION_FACTOR), quorum(REPLICATION_FACTOR)),
        {"clusters in which every node holds a replica": (quorum(3), quorum(6))},
        "The formula counts replicas, not nodes: with the thesis' replication factor of 3 a larger cluster keeps its "
        "quorum.",
    )


def rates(operation: str) -> dict[str, Interval]:
    """Highest throughput by level as section 4.3.1 prints it, in requests per second."""
    texts = READ_RATES if operation == "READ" else WRITE_RATES
    return {level: numbers_in(text)[0] for level, text in texts.items()}


def fastest(operation: str) -> str:
    """Level of the highest printed throughput."""
    return max(rates(operation), key=lambda level: middle(rates(operation)[level]))


@claim(
    "thesis-write-one-faster",
    "Table 2.1",
    "ONE It only requires one replica node to recognise it. Because only one copy needs to acknowledge the write "
    "operation, it is faster",
    "ONE",
)
def fastest_write() -> str:
    """Level at which writes reach the highest printed throughput."""
    return fastest("WRITE")


@claim(
    "thesis-read-one-quickest",
    "Table 2.2",
    "ONE Only one replica node returns the data at consistency level ONE. In this scenario, data retrieval is the "
    "quickest",
    "ONE",
)
def fastest_read() -> Answer:
    """Level at which reads reach the highest printed throughput."""
    best, one = rates("READ")[fastest("READ")], rates("READ")["ONE"]
    return Answer(
        fastest("READ"),
        note=f"By section 4.3.1 its throughput is {middle((best / one - 1) * 100):.0f}% above ONE. The numbers of that "
        "sentence contradict each other, see thesis-forensic-read-order; the rule itself need not be wrong.",
    )
