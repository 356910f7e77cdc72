"""Chapters 2 and 3 of the thesis: what it says of consistency levels, quorums and workloads."""

from __future__ import annotations

from collections.abc import Iterator

from cassbook import published
from cassbook.claims.interval import Interval, exactly, low, middle, numbers_in
from cassbook.claims.quorums import chance_to_meet, couples, strong
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.statement import Answer, Count, Statement
from cassbook.claims.wording import in_words
from cassbook.consistency import replicas_waited_for

#: Section 4.2.2: 'a replication factor of 3'.
REPLICATION = 3
#: Appendix: 'a total of 12 options'.
THREAD_COUNTS = 12
#: Section 4.3.1, requests per second: 'a maximum throughput of 1203 [...] between 1240 and 110', and of writes.
READ_RATES = {"ONE": "1203", "QUORUM": "1240", "ALL": "110"}
WRITE_RATES = {"ONE": "1437", "QUORUM": "around 1400", "ALL": "around 1250"}
#: From the abstract of the 2020 paper, reference [11] of the thesis.
ABSTRACT_2020 = "strong consistency costs up to 25% of performance"
LOST = "Tables 4.1 to 4.10 and the figures are pictures of which the text keeps only the captions."


# Chapter 2: consistency


@claim("thesis-strong-rule", "section 2.3.1", "when we have R+W>N then, strong consistency can be achieved", "R+W>N")
def overlap_rule() -> Count:
    """Pairs of replicas read and written, 1 to 3 each, for which R+W>N says whether every read meets the write."""
    pairs = couples(REPLICATION)
    agreeing = [(low(chance_to_meet(c, REPLICATION)) == 1) == strong(c, REPLICATION) for c in pairs]
    return Count(sum(agreeing), len(pairs))


@claim(
    "thesis-51-percent",
    "Table 2.1",
    "It requires 51 percent or a majority of replica nodes across all datacentres to acknowledge it",
    "51 percent",
)
def quorum_percent() -> Answer:
    """Share of three replicas that QUORUM waits for, and the least whole percentage above one half."""
    waited = exactly(replicas_waited_for("QUORUM", REPLICATION)) / REPLICATION * 100
    return Answer(
        waited,
        {"the least whole percentage that is a majority": 100 // 2 + 1},
        "A majority is what counts; for three replicas it is two of them.",
    )


@claim(
    "thesis-quorum-nodes",
    "section 2.5.2",
    "In a cluster of 3 nodes, a quorum is 2 nodes. In a cluster of 6 nodes, [...] 4 nodes",
    "2 nodes, 4 nodes",
)
def quorums_of_clusters() -> Answer:
    """floor(sum of replication factors / 2 + 1) for clusters of 3 and 6 nodes with RF 3, and with RF = nodes."""

    def quorum(replication: int) -> int:
        return int(replication / 2 + 1)

    return Answer(
        (quorum(REPLICATION), quorum(REPLICATION)),
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


@claim("thesis-write-one-faster", "Table 2.1", "Because only one copy needs to acknowledge [...], it is faster", "ONE")
def fastest_write() -> str:
    """Level at which writes reach the highest printed throughput."""
    return fastest("WRITE")


@claim("thesis-read-one-quickest", "Table 2.2", "In this scenario, data retrieval is the quickest", "ONE")
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
            "Scan Weightage [...] (Values are in % percentage)",
            f"{row[shares[-1]]}%",
            kind="cell",
        )
        yield statement, Answer(100 - sum(exactly(row[share]) for share in shares[:-1]))


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
