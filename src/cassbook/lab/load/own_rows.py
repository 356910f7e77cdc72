"""Rows of a service's own tables for the probe of staleness: one regular column written, and read by its WRITETIME.

Keys are outside of what a load draws. A table of counters, or whose other columns are keys, static or collections, has
nothing to be probed by; `targets` names it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cassandra.cluster import Session

from cassbook.lab.load import values, wire
from cassbook.lab.load.staleness_probe import Row

_encoded_bigint = struct.Struct(">iq").pack
_stamp = struct.Struct(">q").unpack_from
#: In an answer of rows, without their description: kind, flags, columns, rows; then the length of the only value.
_AT_VALUE, _BIGINT_SIZE = 20, 8
#: A value is encoded behind its length.
_SIZE = 4
#: Of which number on keys of probers are made, by type: nothing that values of a profile are made of.
_FIRST: dict[str, int] = {
    **dict.fromkeys(("text", "varchar", "ascii"), 0), "blob": -(2**62), "int": -(2**31), "bigint": -(2**63),
    "varint": -(2**70), "decimal": -(2**70), "double": -(2**50), "uuid": 0xCA55B00C << 96,
    "timeuuid": -(2**40), "timestamp": -(2**44),  # milliseconds before 1970
    "date": -(10**6),  # days before 1970
    "time": 86_000_000_000_000,  # nanoseconds: late in the day
    "inet": 0xF0000000,  # addresses that nobody may have
}  # fmt: skip
#: Types with too few values to be set apart by: other columns of a key have one.
_FEW = ("boolean", "tinyint", "smallint", "float")


def value_of(kind: str, number: int) -> Any:
    """Return what prober `number` has in a column of a type."""
    return values.FROM_NUMBER[kind](_FIRST.get(kind, 0) + number, "cassbook-probe-{}")


@dataclass(frozen=True, slots=True)
class Target:
    """A table that can be probed, and its statements, prepared."""

    table: str
    column: str
    write_id: bytes
    read_id: bytes
    written: bytes  # the value, encoded
    keys: tuple[Callable[[int], bytes], ...]  # of prober n, encoded; those of the partition first
    partitioned_by: int  # how many those are

    def routing_key(self, number: int) -> bytes:
        """Return what the token of a prober's row is made of."""
        parts = [key(number)[_SIZE:] for key in self.keys[: self.partitioned_by]]
        return parts[0] if len(parts) == 1 else b"".join(struct.pack(">H", len(x)) + x + b"\0" for x in parts)


def targets(session: Session, keyspace: str, tables: Sequence[str]) -> tuple[list[Target], dict[str, str]]:
    """Return the tables of a keyspace that can be probed; and why others cannot, by name."""
    session.cluster.refresh_keyspace_metadata(keyspace)
    there = session.cluster.metadata.keyspaces[keyspace].tables
    found, refused = [], dict[str, str]()
    for name in tables:
        table = there[name]
        why = _keys_refused(table)
        column = next((c for c in table.columns.values() if _is_plain(c, table)), None)
        if why or column is None:
            refused[name] = why or "it has no plain column besides its keys"
            continue
        found.append(_target(session, keyspace, table, column))
    return found, refused


def _type(column: Any) -> str:
    return str(column.cql_type).removeprefix("frozen<").removesuffix(">")


def _keys_refused(table: Any) -> str:
    kinds = [_type(column) for column in table.primary_key]
    if unknown := [kind for kind in kinds if kind not in _FIRST and kind not in _FEW]:
        return f"no keys of type {', '.join(unknown)} are made"
    if not any(_type(column) in _FIRST for column in table.partition_key):
        return "the types of its partition key have too few values to keep away from the load's"
    return ""


def _is_plain(column: Any, table: Any) -> bool:
    """Whether a column is regular, and of a type with values of its own."""
    keys = {key.name for key in table.primary_key}
    return column.name not in keys and not column.is_static and _type(column) in {*_FIRST, *_FEW}


def _target(session: Session, keyspace: str, table: Any, column: Any) -> Target:
    quoted = {one.name: f'"{one.name}"' for one in (*table.primary_key, column)}
    where = " AND ".join(f"{quoted[key.name]} = ?" for key in table.primary_key)
    name, of = f'"{keyspace}"."{table.name}"', quoted[column.name]
    write = session.prepare(f"UPDATE {name} USING TIMESTAMP ? SET {of} = ? WHERE {where}")
    read = session.prepare(f"SELECT WRITETIME({of}) FROM {name} WHERE {where}")
    protocol = session.cluster.protocol_version

    def encoded(place: int, what: Any) -> bytes:
        return wire.value(write.column_metadata[place].type.to_binary(what, protocol))

    def key(place: int, kind: str) -> Callable[[int], bytes]:
        return lambda n: encoded(place, value_of(kind, n if kind in _FIRST else 0))

    keys = tuple(key(place, _type(column)) for place, column in enumerate(table.primary_key, start=2))
    written, parts = encoded(1, value_of(_type(column), 0)), len(table.partition_key)
    return Target(table.name, column.name, write.query_id, read.query_id, written, keys, parts)


class OwnRows:
    """Rows of several tables, in turn."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self._targets = targets

    def routing_key(self, row: str) -> bytes:
        """Return what the token of a row is made of, by its name."""
        number = int(row.rpartition(":")[2])
        return self._target(number).routing_key(number)

    def _target(self, number: int) -> Target:
        return self._targets[number % len(self._targets)]

    def row(self, number: int, read_cl: str, write_cl: str) -> Row:
        """Return row `number`, of the next table."""
        target = self._target(number)
        keys = b"".join(key(number) for key in target.keys)
        count = len(target.keys)
        write = wire.execute_prefix(target.write_id, write_cl, count + 2)
        read = wire.execute_prefix(target.read_id, read_cl, count)
        return _OwnRow(f"{target.table}:{number}", write, target.written + keys, read + keys)


class _OwnRow:
    """Which version an answer has is known by its time stamp: a row has one writer."""

    def __init__(self, name: str, prefix: bytes, rest: bytes, read: bytes) -> None:
        self.name, self.read, self._prefix, self._rest = name, read, prefix, rest
        self._versions: dict[int, int] = {}

    def write(self, version: int, stamp_us: int) -> bytes:
        self._versions[stamp_us] = version
        return self._prefix + _encoded_bigint(8, stamp_us) + self._rest

    def seen(self, body: bytes) -> int:
        if len(body) < _AT_VALUE + _BIGINT_SIZE:  # no row yet
            return 0
        return self._versions.get(_stamp(body, _AT_VALUE)[0], 0)
