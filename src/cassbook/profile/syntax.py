"""What releases of CQL lack and reserve, seen in statements before anything starts, and the parts of a batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

from cassbook.core.releases import RELEASES

_TEXT_OR_COMMENT = re.compile(r"'(?:[^']|'')*'|/\*.*?\*/|(?:--|//)[^\n]*", re.DOTALL)
_BATCH = re.compile(r"\s*BEGIN\s+(?:UNLOGGED\s+|LOGGED\s+|COUNTER\s+)?BATCH\b", re.IGNORECASE)
_APPLY = re.compile(r"\bAPPLY\s+BATCH\s*$", re.IGNORECASE)
_CHANGES = re.compile(r"\b(?:INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_BEFORE_TABLE = re.compile(r'(?<!["\w])(?:UPDATE|INTO|FROM)\s+', re.IGNORECASE)

#: Words that no name may be unless it is quoted, by the release from which on.
_RESERVED = {
    (2, 0): (
        "add allow alter and apply asc authorize batch begin by columnfamily create delete desc drop from grant if in "
        "index infinity insert into keyspace limit modify nan norecursive not null of on order primary rename revoke "
        "schema select set table to token truncate unlogged update use using where with"
    ),
    (2, 1): "full",
    (2, 2): "describe entries execute or replace",
    (3, 0): "is materialized view",
    (3, 6): "default mbean mbeans unset",
}
#: Words that are names again, by the release from which on.
_FREED = {(4, 0): "default mbean mbeans replace unset"}
#: What CQL learned, by the release it came with: how it is found in a statement without texts, and how it is called.
_LEARNED: tuple[tuple[tuple[int, int], str, str], ...] = (
    ((2, 2), r"\b(?:INSERT\s+INTO\s+\S+\s+JSON|SELECT\s+JSON|(?:to|from)Json\s*\()", "JSON"),
    ((3, 4), r"\bLIKE\b", "LIKE"),
    ((3, 6), r"\bPER\s+PARTITION\s+LIMIT\b", "PER PARTITION LIMIT"),
    ((3, 10), r"\bGROUP\s+BY\b", "GROUP BY"),
    ((5, 0), r"\bANN\s+OF\b", "ANN OF"),
    ((5, 0), r"\bMASKED\s+WITH\b", "MASKED WITH"),
)
#: As that, in statements as they are written.
_LEARNED_INDEXES: tuple[tuple[tuple[int, int], str, str], ...] = (
    ((3, 4), r"USING\s+'[\w.]*SASIIndex'", "SASI indexes"),
    ((5, 0), r"USING\s+'(?:sai|[\w.]*StorageAttachedIndex)'", "SAI indexes"),
)


def words(statement: str) -> str:
    """Return a statement with blanks for what is text or comment in it, every word where it was.

    >>> words("SELECT a FROM t WHERE b = 'it''s' -- so")
    'SELECT a FROM t WHERE b =              '
    """
    return _TEXT_OR_COMMENT.sub(lambda found: " " * len(found[0]), statement)


def parts(statement: str) -> list[str]:
    """Return the statements that a batch has; of any other the statement alone.

    >>> parts("BEGIN UNLOGGED BATCH INSERT INTO t (a) VALUES (?); DELETE FROM t WHERE a = ?; APPLY BATCH")
    ['INSERT INTO t (a) VALUES (?)', 'DELETE FROM t WHERE a = ?']
    """
    if not is_batch(statement):
        return [statement]
    plain = words(statement)
    ends = _APPLY.search(plain)
    begins = [found.start() for found in _CHANGES.finditer(plain)]
    bounds = [*begins, ends.start() if ends else len(plain)]
    return [statement[a:b].strip().removesuffix(";").rstrip() for a, b in pairwise(bounds)]


def is_batch(statement: str) -> bool:
    """Whether a statement begins a batch."""
    return _BATCH.match(words(statement)) is not None


def is_closed(statement: str) -> bool:
    """Whether a batch is applied at its end."""
    return _APPLY.search(words(statement)) is not None


def qualified(statement: str, keyspace: str) -> str:
    """Name the keyspace of each table; newer servers warn of those that leave it to the session.

    >>> qualified("SELECT a FROM t WHERE b = ' FROM t'", "k")
    "SELECT a FROM k.t WHERE b = ' FROM t'"
    """
    places = [found.end() for found in _BEFORE_TABLE.finditer(words(statement))]
    for place in reversed(places):
        statement = f"{statement[:place]}{keyspace}.{statement[place:]}"
    return statement


def version_of(engine: str) -> tuple[int, ...]:
    """Return the first two numbers of a version; nothing for what is none."""
    found = re.match(r"(\d+)\.(\d+)", engine)
    return tuple(map(int, found.groups())) if found else ()


def reserved(engine: str) -> frozenset[str]:
    """Words that a release reserves, in lower case.

    >>> sorted(reserved("5.0.9") ^ reserved("2.2.4"))
    ['is', 'materialized', 'replace', 'view']
    """

    def so_far(lists: Mapping[tuple[int, int], str]) -> frozenset[str]:
        return frozenset(word for since, words in lists.items() if version >= since for word in words.split())

    version = version_of(engine)
    return so_far(_RESERVED) - so_far(_FREED)


def came_with(since: tuple[int, int], what: str, engine: str, instead: str = "") -> str:
    """Say that a release lacks something, and those here that have it."""
    have = [version for version in RELEASES if version_of(version) >= since]
    return (
        f"Cassandra has {what} from {'.'.join(map(str, since))} on, not in {engine}: use --engine "
        f"{' or '.join(have)}{instead}"
    )


def lacking(statements: Iterable[str], engine: str) -> list[str]:
    """Say what of CQL in statements a release lacks, and the releases here that have it."""
    version = version_of(engine)

    def unknown(text: str, learned: Iterable[tuple[tuple[int, int], str, str]]) -> Iterator[str]:
        for since, pattern, what in learned:
            if version and version < since and re.search(pattern, text, re.IGNORECASE):
                yield came_with(since, what, engine)

    said = [
        found for statement in statements
        for found in (*unknown(words(statement), _LEARNED), *unknown(statement, _LEARNED_INDEXES))
    ]  # fmt: skip
    return list(dict.fromkeys(said))


def misnamed(names: Iterable[str], engine: str, plain: Callable[[str], str]) -> list[str]:
    """Say which names, as they are written, are reserved words of a release; `plain` takes the quotes off."""
    known = reserved(engine)
    return [
        f'{name} is a reserved word of CQL in Cassandra {engine}; write "{plain(name)}" with its quotes wherever it '
        "stands, or take another name"
        for name in dict.fromkeys(names) if name.lower() in known
    ]  # fmt: skip
