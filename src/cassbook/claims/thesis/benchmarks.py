"""Chapter 3 of the thesis and its set-up: what it says of YCSB, its workloads and commands, and of the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from cassbook import published
from cassbook.claims.interval import exactly
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.rules import YCSB_WORKLOADS
from cassbook.claims.statement import Answer, Statement, in_words
from cassbook.claims.thesis.text import ABSTRACT_2020, CAPTIONS, LISTED

# Chapter 3: benchmarks


@claim("thesis-option-p", "section 3.2, step 5", "-p indicated to load the property file", "-p")
def option_of_the_file() -> Answer:
    """The option of the command above the sentence behind which a file stands."""
    command = ["load", "cassandra-cql", "-p", "hosts=localhost", "-P", "workloads/workloada"]
    (option,) = [before for before, word in pairwise(command) if word.startswith("workloads")]
    return Answer(option, note="-p sets a single property.", finding="misprint")


@claim("thesis-workloads-five", "section 3.1", "YCSB provides five different workloads", "five")
def workloads_of_ycsb() -> Answer:
    """Core workloads that YCSB comes with, and rows of Table 3.1."""
    listed = {_letter(row["workload"]) for row in published.as_text("thesis_table3_1").to_dict("records")}
    missing = ", ".join(f"{letter}, {what}" for letter, what in YCSB_WORKLOADS.items() if letter not in listed)
    return Answer(
        in_words(len(YCSB_WORKLOADS)),
        {"those of Table 3.1": in_words(len(listed))},
        f"Table 3.1 leaves out {missing}; section 3.3 counts six.",
    )


def _letter(workload: str) -> str:
    return workload[0]


@cells("thesis")
def workload_shares() -> Iterator[Cell]:
    """Last share of each row of Table 3.1 against what the other three leave of 100 %."""
    shares = ("read_percent", "update_percent", "insert_percent", "scan_percent")
    for row in published.as_text("thesis_table3_1").to_dict("records"):
        statement = Statement(
            f"thesis-table3-1-{_letter(row['workload']).lower()}",
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
        finding="misprint",
    )


@claim("thesis-workloads-six", "section 3.3", "6 different YCSB workloads are used for testing both the databases", "6")
def workloads_elsewhere() -> Answer:
    """Core workloads that YCSB comes with."""
    return Answer(len(YCSB_WORKLOADS), note="The sentence is about another paper; section 3.1 of this one counts five.")


@claim(
    "thesis-cites-25",
    "section 3.3",
    "The paper shows that strong consistency costs up to 25% of performance",
    "up to 25% of performance",
)
def cited_cost() -> str:
    """The words of the 2020 paper's abstract."""
    return ABSTRACT_2020.removeprefix("strong consistency costs ")


# Section 4.2: set-up


@claim(
    "thesis-three-nodes",
    "section 4.2.2",
    "three nodes with IPs: 192.168.29.143, 192.168.29.144, and 192.168.29.145 are deployed in a single cluster",
    "three",
)
def nodes() -> str:
    """Addresses that the sentence lists."""
    return in_words(len(LISTED["nodes"]))
