"""What an operation's name in a log stands for: a read, a write, both, or something that only the log's owner knows.

A name is a write only where a tool gives it to its own writes. Operations of a cassandra-stress user profile have
names of the user's own, and values of an HdrHistogram log may have none: these are unknown until the user says which
of them read, or gives the profile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from cassbook.core.errors import InputError
from cassbook.core.schema import OUTCOMES
from cassbook.ingest.ycsb_lines import kind

READ, WRITE, RMW, TOTAL, UNKNOWN = "READ", "WRITE", "RMW", "TOTAL", "UNKNOWN"
#: Names of each tool: YCSB's, cassandra-stress's own commands, easy-stress's, and columns of our samples.
_KNOWN = {
    READ: ("READ", "READS", "SELECT", "SELECTS", "SCAN", "COUNTER_READ", "COUNTERREAD", "RAW-READ"),
    WRITE: (
        "UPDATE", "INSERT", "WRITE", "WRITES", "MUTATION", "MUTATIONS", "DELETE", "DELETION", "DELETIONS",
        "COUNTER_WRITE", "COUNTERWRITE", "RAW-WRITE",
    ),
    RMW: ("RMW", "READ-MODIFY-WRITE"),
    TOTAL: ("TOTAL",),
}  # fmt: skip
_OPERATION = {name: operation for operation, names in _KNOWN.items() for name in names}
#: Not requests: YCSB's end of a client and its check inside the client, and what it and scylla-bench count a second
#: time, from when a request was meant to start.
_ASIDE = ("CLEANUP", "INTENDED-", "VERIFY", "CO-FIXED")
_RESPONSES = ("-RT", "-WT", ".RESPONSE")
#: How the statement of a query begins that reads; every other statement of a profile changes data.
_SELECT = "SELECT"


@dataclass(frozen=True, slots=True)
class Meanings:
    """What a user says of operations whose names no tool gives.

    Attributes
    ----------
    reads, writes : frozenset of str
        Names, in lower case.
    others_write : bool
        Whether all other unknown names are writes, as where the user lists those that read.
    source : str
        What said so, for a message.
    """

    reads: frozenset[str] = field(default_factory=frozenset)
    writes: frozenset[str] = field(default_factory=frozenset)
    others_write: bool = False
    source: str = ""

    @classmethod
    def listed(cls, names: Iterable[str], source: str) -> Meanings:
        """Meanings where the user lists the operations that read; all others write."""
        return cls(frozenset(name.lower() for name in names), others_write=True, source=source)

    @classmethod
    def of_profile(cls, path: Path) -> Meanings:
        """Return what the statements of a cassandra-stress user profile do.

        Raises
        ------
        InputError
            If the file cannot be read or is no such profile.
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
        reads = {name for name, cql in statements.items() if cql.lstrip().upper().startswith(_SELECT)}
        without = sorted(name for name, cql in statements.items() if not cql.strip())
        if without:
            raise InputError(f"{path}: queries without a statement (`cql`): {', '.join(without)}")
        writes = {*statements, "insert"} - reads
        return cls(frozenset(reads | {str(name).lower() for name in ranges}), frozenset(writes), source=str(path))

    def of(self, name: str) -> str | None:
        """READ or WRITE where the user says so, else None."""
        lower = name.lower()
        return READ if lower in self.reads else WRITE if lower in self.writes else None


NONE = Meanings()


def bare(tag: str) -> str:
    """Return the operation's own name in a tag.

    >>> bare("insert-st"), bare("cell-1.READ"), bare("HdrREAD")
    ('insert', 'READ', 'READ')
    """
    name = tag[: -len("-st")] if tag.lower().endswith("-st") else tag
    return name.rpartition(".")[2].removeprefix("Hdr").removeprefix("Raw")


def operation_of(tag: str, meanings: Meanings = NONE) -> str | None:
    """READ, WRITE, RMW, TOTAL or UNKNOWN; None for failures, and for what is no request of its own.

    Examples
    --------
    >>> operation_of("insert-st"), operation_of("cell-1.READ"), operation_of("SCAN"), operation_of("simple1")
    ('WRITE', 'READ', 'READ', 'UNKNOWN')
    >>> operation_of("READ-rt"), operation_of("CLEANUP"), operation_of("VERIFY"), operation_of("READ-FAILED")
    (None, None, None, None)
    """
    upper = tag.upper()
    if bare(tag).upper().startswith(_ASIDE) or upper.endswith(_RESPONSES) or failed(tag):
        return None
    name = bare(tag)
    said = meanings.of(name) or _OPERATION.get(name.upper())
    return said or (WRITE if meanings.others_write else UNKNOWN)


def failed(tag: str) -> bool:
    """Whether a tag is one that YCSB has for operations that failed, as READ-FAILED."""
    ycsb = kind(tag.removeprefix("Hdr"))
    return ycsb is not None and OUTCOMES[ycsb.outcome] != "ok" and ycsb.operation >= 0


def label(tag: str, operation: str) -> str:
    """Name an operation for a reader.

    >>> label("simple1-st", "UNKNOWN"), label("simple1", "READ"), label("SCAN", "READ"), label("", "UNKNOWN")
    ('simple1 (unknown)', 'simple1 (READ)', 'SCAN', '(no name, unknown)')
    """
    name = bare(tag)
    if not name:
        return "(no name, unknown)" if operation == UNKNOWN else operation
    known = _OPERATION.get(name.upper())
    return name if known == operation else f"{name} ({'unknown' if operation == UNKNOWN else operation})"


def read_share(counts: dict[str, float]) -> float:
    """Reads among the operations of each kind, RMW left out; NaN where one is unknown, or there is none."""
    n = sum(count for operation, count in counts.items() if operation != RMW)
    return float("nan") if counts.get(UNKNOWN) or not n else counts.get(READ, 0.0) / n
