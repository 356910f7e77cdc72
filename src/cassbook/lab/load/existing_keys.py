"""Keys of rows that a table holds already, sampled by reading it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import NoHostAvailable, Session

from cassbook.core.errors import InputError, LaboratoryError

#: Places of the ring that are looked at, and rows that are read from each.
_PLACES, _ROWS = 200, 50
_LEAST_TOKEN, _MOST_TOKEN = -(2**63), 2**63 - 1
_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of rows that exist: their columns, and a row of values for each."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def table_name(text: str) -> tuple[str, str]:
    """Read `KEYSPACE.TABLE`; InputError for anything else."""
    named = re.fullmatch(r"([A-Za-z]\w*)\.([A-Za-z]\w*)", text)
    if not named:
        raise InputError(f"--read-existing: {text!r} is no KEYSPACE.TABLE, such as shop.orders")
    if named[1].lower().startswith("system"):
        raise InputError(f"--read-existing: {named[1]} is Cassandra's own; name a keyspace of yours")
    return named[1].lower(), named[2].lower()


def keys_of(session: Session, keyspace: str, tables: Iterable[str], rng: np.random.Generator) -> Mapping[str, Keys]:
    """Sample keys of some tables, by table: of rows behind random tokens, read at LOCAL_ONE.

    Raises
    ------
    InputError
        For a table that is not there, or is empty.
    LaboratoryError
        If it cannot be read.
    """
    return {table: _sample(session, keyspace, table, rng) for table in tables}


def _sample(session: Session, keyspace: str, table: str, rng: np.random.Generator) -> Keys:
    found = session.cluster.metadata.keyspaces[keyspace].tables.get(table)
    if found is None:
        there = ", ".join(sorted(session.cluster.metadata.keyspaces[keyspace].tables)) or "none"
        raise InputError(f"--read-existing: there is no table {table} in {keyspace}; there are {there}")
    partition = [f'"{column.name}"' for column in found.partition_key]
    columns = [column.name for column in found.primary_key]
    asked = ", ".join(f'"{name}"' for name in columns)
    statement = session.prepare(
        f'SELECT {asked} FROM {keyspace}."{table}" WHERE token({", ".join(partition)}) >= ? LIMIT {_ROWS}'
    )
    statement.consistency_level = ConsistencyLevel.LOCAL_ONE
    rows: dict[tuple[Any, ...], None] = {}
    tokens = [_LEAST_TOKEN, *rng.integers(_LEAST_TOKEN, _MOST_TOKEN, _PLACES - 1, endpoint=True).tolist()]
    try:
        for token in tokens:
            rows |= dict.fromkeys(map(tuple, session.execute(statement, (token,), timeout=_TIMEOUT_S)))
    except (DriverException, NoHostAvailable) as error:
        raise LaboratoryError(f"--read-existing: keys of {table} cannot be read: {error}") from None
    if not rows:
        raise InputError(f"--read-existing: {keyspace}.{table} is empty, so there is nothing to ask for")
    return Keys(tuple(columns), tuple(rows))
