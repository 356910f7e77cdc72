"""What an operation's name in a log stands for: a read, a write, both, or something that only the log's owner knows.

A name is a write only where a tool gives it to its own writes. Operations of a cassandra-stress user profile have
names of the user's own, and values of an HdrHistogram log may have none: these are unknown until the user says which
of them read, or gives the profile.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from cassbook.core.errors import InputError
from cassbook.core.schema import OPERATIONS

READ, WRITE, RMW, TOTAL, UNKNOWN = "READ", "WRITE", "RMW", "TOTAL", "UNKNOWN"
#: Names of each tool: YCSB's, cassandra-stress's own commands, easy-stress's, and columns of our samples.
_KNOWN = {
    READ: ("READ", "READS", "SELECT", "SELECTS", "SCAN", "COUNTER_READ", "COUNTERREAD", "RAW-READ"),
    WRITE: (
        "UPDATE", "INSERT", "WRITE", "WRITES", "MUTATION", "MUTATIONS", "DELETE", "DELETION", "DELETIONS",
        "COUNTER_WRITE", "COUNTERWRITE", "RAW-WRITE",
    ),
    RMW: ("RMW", "READ-MODIFY-WRITE", "READ_MODIFY_WRITE"),
    TOTAL: ("TOTAL",),
}  # fmt: skip
_OPERATION = {name: operation for operation, names in _KNOWN.items() for name in names}
#: Not requests: YCSB's end of a client, and its check inside the client.
VERIFY = "VERIFY"
_ASIDE = ("CLEANUP", VERIFY)
#: What YCSB and scylla-bench count a second time, from when a request was meant to start.
_INTENDED = ("Intended-", "co-fixed")
#: Tags of histograms that are no service time: cassandra-stress's response and waiting times, and our own logs'.
_RESPONSES = ("-RT", "-WT", ".RESPONSE")
#: Failures of YCSB and go-ycsb have tags of their own: READ-FAILED, READ-NOT_FOUND, READ_ERROR.
_FAILURE = re.compile(
    r"(?:Hdr|Raw)?((?:BATCH[-_])?(?:READ-MODIFY-WRITE|READ_MODIFY_WRITE|READ|UPDATE|INSERT|SCAN|DELETE))"
    r"(?:-(?!RT$|WT$|ST$)[A-Z_]+|_ERROR)"
)
#: What values without a tag are called on the command line.
UNTAGGED = "untagged"
#: How statements begin that read, and those that write; comments of CQL stand before them at times.
_SELECT, _CHANGES = "SELECT", ("INSERT", "UPDATE", "DELETE", "BEGIN")
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*|//[^\n]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Meanings:
    """What a user says of operations whose names no tool gives."""

    reads: frozenset[str] = field(default_factory=frozenset)  # names, in lower case
    writes: frozenset[str] = field(default_factory=frozenset)  # names, in lower case
    others_write: bool = False  # whether all other unknown names are writes, as where the user lists those that read
    source: str = ""  # what said so, for a message

    @classmethod
    def listed(cls, names: Iterable[str], source: str) -> Meanings:
        """Meanings where the user lists the operations that read; all others write."""
        return cls(frozenset(name.lower() for name in names), others_write=True, source=source)

    @classmethod
    def of_profile(cls, path: Path) -> Meanings:
        """Return what the statements of a cassandra-stress user profile do.

        Raise InputError if the file cannot be read or is no such profile.
        """
        try:
            profile = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise InputError(f"{path}: cannot be read as YAML ({error})") from None
        queries = profile.get("queries") if isinstance(profile, dict) else None
        ranges = (profile.get("token_range_queries") or {}) if isinstance(profile, dict) else {}
        if not isinstance(queries, dict) or not isinstance(ranges, dict):
            raise InputError(f"{path}: is no cassandra-stress profile (no `queries` with a statement by name)")
        statements = {
            str(name).lower(): str(query.get("cql", "") if isinstance(query, dict) else query)
            for name, query in queries.items()
        }
        without = sorted(name for name, cql in statements.items() if not cql.strip())
        if without:
            raise InputError(f"{path}: queries without a statement (`cql`): {', '.join(without)}")
        plain = {name: _COMMENT.sub(" ", cql).lstrip().upper() for name, cql in statements.items()}
        reads = {name for name, cql in plain.items() if cql.startswith(_SELECT)}
        writes = {name for name, cql in plain.items() if cql.startswith(_CHANGES)} | {"insert"}
        return cls(frozenset(reads | {str(name).lower() for name in ranges}), frozenset(writes), source=str(path))

    def of(self, name: str) -> str | None:
        """READ or WRITE where the user says so, else None."""
        lower = name.lower() or UNTAGGED
        if lower not in self.reads | self.writes:  # a query of one of several profiles is SPEC.QUERY
            lower = lower.rpartition(".")[2]
        return READ if lower in self.reads else WRITE if lower in self.writes else None


NONE = Meanings()


def bare(tag: str, in_histograms: bool = True) -> str:
    """Return the operation's own name in a tag.

    >>> bare("insert-st"), bare("cell-1.READ"), bare("HdrREAD"), bare("spec1.insert")
    ('insert', 'READ', 'READ', 'spec1.insert')
    """
    name = tag[: -len("-st")] if in_histograms and tag.lower().endswith("-st") else tag
    before, _, last = name.rpartition(".")
    name = last if before and last in OPERATIONS else name  # CELL.OPERATION of our own logs
    return name.removeprefix("Hdr").removeprefix("Raw")


def operation_of(
    tag: str, meanings: Meanings = NONE, in_histograms: bool = True, own_names: bool = False
) -> str | None:
    """Return READ, WRITE, RMW, TOTAL or UNKNOWN; None for failures, and for what is no request of its own.

    `in_histograms` says whether it is the tag of a histogram, which may be of a response time; `own_names` whether
    users name operations, as those of cassandra-stress, whose own names are in capitals, but for `insert`.

    >>> operation_of("insert-st"), operation_of("cell-1.READ"), operation_of("SCAN"), operation_of("simple1")
    ('WRITE', 'READ', 'READ', 'UNKNOWN')
    >>> operation_of("READ-rt"), operation_of("CLEANUP"), operation_of("VERIFY"), operation_of("READ-FAILED")
    (None, None, None, None)
    """
    name = bare(tag, in_histograms)
    if name in _ASIDE or name.startswith(_INTENDED) or failed(tag):
        return None
    if in_histograms and tag.upper().endswith(_RESPONSES):
        return None
    last = name.rpartition(".")[2]
    known = WRITE if last == "insert" else None if own_names and not name.isupper() else _OPERATION.get(name.upper())
    said = meanings.of(name) or (TOTAL if name == "total" else known)
    return said or (WRITE if meanings.others_write else UNKNOWN)


def failed(tag: str) -> bool:
    """Whether a tag is one that YCSB or go-ycsb has for operations that failed, as READ-FAILED."""
    return of_failure(tag) is not None


def of_failure(tag: str) -> str | None:
    """Return the operation of a tag of failures; None for any other tag.

    >>> of_failure("READ-MODIFY-WRITE"), of_failure("DELETE-FAILED"), of_failure("HdrREAD-NOT_FOUND")
    (None, 'DELETE', 'READ')
    """
    parts = _FAILURE.fullmatch(tag)
    return parts[1] if parts else None


def label(tag: str, operation: str) -> str:
    """Name an operation for a reader.

    >>> label("simple1-st", "UNKNOWN"), label("simple1", "READ"), label("SCAN", "READ"), label("", "UNKNOWN")
    ('simple1 (unknown)', 'simple1 (READ)', 'SCAN', 'untagged (unknown)')
    """
    name = bare(tag) or UNTAGGED
    known = WRITE if name == "insert" else _OPERATION.get(name.upper())
    return name if known == operation else f"{name} ({'unknown' if operation == UNKNOWN else operation})"


def read_bounds(counts: Mapping[str, float]) -> tuple[float, float]:
    """Range of the share of reads among operations of each kind, RMW left out; NaN where there is none."""
    n = sum(count for operation, count in counts.items() if operation != RMW)
    if not n:
        return math.nan, math.nan
    reads = counts.get(READ, 0.0)
    return reads / n, (reads + counts.get(UNKNOWN, 0.0)) / n


def read_share(counts: Mapping[str, float]) -> float:
    """Reads among the operations of each kind, RMW left out; NaN where one is unknown, or there is none."""
    low, high = read_bounds(counts)
    return low if low == high else math.nan
