"""Chapters 1 to 3 of the thesis: what it says of its own order, of consistency levels, quorums and workloads."""

from __future__ import annotations

from collections.abc import Iterator

from cassbook import published
from cassbook.claims.interval import Interval, exactly, low, middle, numbers_in
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR, chance_to_meet, pairs, strong
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.statement import Answer, Count, Statement
from cassbook.claims.wording import in_words
from cassbook.core.consistency import replicas_waited_for

#: Appendix: 'a total of 12 options'.
THREAD_COUNTS = 12
#: Section 4.3.1, requests per second: 'a maximum throughput of 1203 ... between 1240 and 110', and of writes.
READ_RATES = {"ONE": "1203", "QUORUM": "1240", "ALL": "110"}
WRITE_RATES = {"ONE": "1437", "QUORUM": "around 1400", "ALL": "around 1250"}
#: From the abstract of the 2020 paper, reference [11] of the thesis.
ABSTRACT_2020 = "strong consistency costs up to 25% of performance"
LOST = "Tables 4.1 to 4.10 and the figures are pictures of which the text keeps only the captions."

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
    )


# Chapter 2: consistency


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


# Chapter 3: benchmarks


@claim("thesis-workloads-five", "section 3.1", "YCSB provides five different workloads", "five")
def workloads_of_table() -> str:
    """Rows of Table 3.1."""
    return in_words(len(published.as_text("thesis_table3_1")))


@cells("thesis")
def workload_shares() -> Iterator[Cell]:
    """Last share of each row of Table 3.1 against what the other three leave of 100 %."""
    shares = ("read_percent", "update_percent", "insert_percent", "scan_percent")
    for row in published.as_text("thesis_table3_1").to_dict("records"):
        statement = Statement(
            f"thesis-table3-1-{row['workload'][0].lower()}",
            f"Table 3.1, {row['workload']}",
            "Default workloads provided by YCSB (Values are in % percentage)",
            f"{row[shares[-1]]}%",
            kind="cell",
        )
        yield statement, Answer(100 - sum(exactly(row[share]) for share in shares[:-1]))


@claim(
    "thesis-table-of-workloads",
    "section 3.2, step 3",
    "As mentioned in Table 2.1, the core workload defines a shuffle of activities such as scan, read, insert, update",
    "Table 2.1",
)
def table_of_workloads() -> Answer:
    """The table whose caption speaks of workloads."""
    (number,) = [table for table, caption in CAPTIONS.items() if "workloads" in caption]
    return Answer(
        number,
        note=f"The caption of Table 2.1 is '{CAPTIONS['Table 2.1']}'. The number would be right if benchmarking were "
        "the chapter before consistency; section 1.4 lists them in that order.",
    )


@claim(
    "thesis-workloads-six",
    "section 3.3",
    "6 different YCSB workloads are used for testing both the databases",
    "6",
)
def workloads_elsewhere() -> Answer:
    """Rows of Table 3.1, and with read-modify-write, which the 2020 paper names among YCSB's six."""
    listed = len(published.as_text("thesis_table3_1"))
    return Answer(
        listed,
        {"with the read-modify-write workload, which Table 3.1 leaves out": listed + 1},
        f"The sentence is about another paper; the 2020 paper counts {in_words(listed + 1)} as well (section III.A).",
    )


@claim(
    "thesis-cites-25",
    "section 3.3",
    "The paper shows that strong consistency costs up to 25% of performance",
    "up to 25% of performance",
)
def cited_cost() -> str:
    """The words of the 2020 paper's abstract."""
    return ABSTRACT_2020.removeprefix("strong consistency costs ")
