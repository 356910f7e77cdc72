"""YCSB's usertable: its schema, its random fields, and its requests as frames that are ready to send."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from cassandra.cluster import Session
from cassandra.metadata import Murmur3Token
from cassandra.query import PreparedStatement

from cassbook.load import keys, wire
from cassbook.profile import TablePart

KEYSPACE = "ycsb"
TABLE = f"{KEYSPACE}.usertable"
#: A block draws as many requests as rows, and at least so many; a cell starts somewhere in that ring and goes round.
_RING_LEAST = 1 << 17
#: Distinct field values in use: enough that neither compression nor a cache can take advantage.
_VALUES = 4096
READ, UPDATE, INSERT = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Request:
    """One request but for its consistency level: node to ask, statement, encoded values, key that must come back."""

    node: int
    statement: int
    tail: bytes
    expected: bytes | None


class _Locked(Iterator[Request]):
    """A generator that several threads may draw from."""

    def __init__(self, requests: Iterator[Request]) -> None:
        self._requests, self._lock = requests, threading.Lock()

    def __next__(self) -> Request:
        with self._lock:
            return next(self._requests)


def create_table(session: Session, table: TablePart, replication_factor: int) -> None:
    """Create YCSB's keyspace and table, as its Cassandra binding documents them (key `y_id`, text fields)."""
    session.execute(
        f"CREATE KEYSPACE IF NOT EXISTS {KEYSPACE} WITH replication = "
        f"{{'class': 'SimpleStrategy', 'replication_factor': {replication_factor}}}"
    )
    fields = ", ".join(f"field{i} text" for i in range(table.field_count))
    session.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} (y_id text PRIMARY KEY, {fields})")


def random_fields(length: int, count: int, rng: np.random.Generator) -> list[bytes]:
    """`count` values of `length` random printable ASCII characters (YCSB's RandomByteIterator), encoded."""
    letters = rng.integers(32, 127, size=(count, length), dtype=np.uint8)
    return [wire.value(row.tobytes()) for row in letters]


class Usertable:
    """Requests on a usertable of a given shape, drawn once and shared by all cells of a block.

    Parameters
    ----------
    session : Session
        Statements are prepared through it; the table exists.
    table : TablePart
    nodes : sequence of str
        Addresses of the coordinators, in the order of their indices.
    policy : str
        'round_robin'; 'token_aware' (the first replica of the key's token range); 'nearest' (the node that
        answers an empty request soonest, see `load.nodes`); 'node1', 'node2', ...: one fixed node.
    nearest : int
        Index of the nearest node.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        session: Session,
        table: TablePart,
        nodes: Sequence[str],
        policy: str,
        nearest: int,
        rng: np.random.Generator,
    ) -> None:
        self.table = table
        self._rng = rng
        fields = [f"field{i}" for i in range(table.field_count)]
        everything = ", ".join(["y_id", *fields])
        updates = [fields] if table.update_all_fields else [[f] for f in fields]
        self._statements: list[list[PreparedStatement]] = [
            [session.prepare(f"SELECT {everything} FROM {TABLE} WHERE y_id = ?")],
            [session.prepare(f"UPDATE {TABLE} SET {', '.join(f'{f} = ?' for f in u)} WHERE y_id = ?") for u in updates],
            [session.prepare(f"INSERT INTO {TABLE} ({everything}) VALUES ({', '.join('?' * (1 + len(fields)))})")],
        ]
        self._keys = keys.row_keys(np.arange(table.record_count))
        self._values = random_fields(table.field_length, _VALUES, rng)
        self._turns = itertools.cycle(range(len(nodes))) if policy == "round_robin" else None
        self._coordinators = self._assign(session, nodes, policy, nearest)
        self._ring = max(_RING_LEAST, table.record_count)
        self._rings = {operation: self._draw(operation) for operation in (READ, UPDATE)}

    def _assign(self, session: Session, nodes: Sequence[str], policy: str, nearest: int) -> list[int]:
        """Give the coordinator of each key, as an index into `nodes` (nobody's where nodes take turns)."""
        if policy == "token_aware":
            token_map = session.cluster.metadata.token_map
            index = {address: i for i, address in enumerate(nodes)}
            return [
                index[token_map.get_replicas(KEYSPACE, Murmur3Token.from_key(key))[0].address] for key in self._keys
            ]
        fixed = int(policy[4:]) - 1 if policy.startswith("node") else nearest
        return [fixed] * len(self._keys)

    def _coordinator(self, row: int) -> int:
        return next(self._turns) if self._turns else self._coordinators[row]

    def prefixes(self, read_cl: str, write_cl: str) -> list[list[bytes]]:
        """First part of each statement's frame body at the given levels, by operation and statement."""
        levels = (read_cl, write_cl, write_cl)
        return [
            [wire.execute_prefix(s.query_id, level, len(s.column_metadata)) for s in statements]
            for statements, level in zip(self._statements, levels, strict=True)
        ]

    def requests(self, operation: int) -> Iterator[Request]:
        """Endless requests of a kind (READ or UPDATE), from a random place of the ring on; safe to share by threads."""
        ring = itertools.cycle(self._rings[operation])
        next(itertools.islice(ring, int(self._rng.integers(self._ring)), None))
        return ring

    def inserts(self) -> Iterator[Request]:
        """One INSERT a row, in order; safe to share by threads."""
        return _Locked(self._inserts())

    def _inserts(self) -> Iterator[Request]:
        fields = self.table.field_count
        picks = self._rng.integers(_VALUES, size=(self.table.record_count, fields))
        for row, (key, chosen) in enumerate(zip(self._keys, picks.tolist(), strict=True)):
            yield Request(self._coordinator(row), 0, wire.value(key) + b"".join(self._values[v] for v in chosen), None)

    def _draw(self, operation: int) -> list[Request]:
        table, rng = self.table, self._rng
        rows = keys.draw(table.request_distribution, table.record_count, self._ring, rng).tolist()
        encoded = [wire.value(key) for key in self._keys]
        if operation == READ:
            return [Request(self._coordinator(r), 0, encoded[r], encoded[r]) for r in rows]
        per_update = table.field_count if table.update_all_fields else 1
        picks = rng.integers(_VALUES, size=(self._ring, per_update)).tolist()
        statements = rng.integers(len(self._statements[UPDATE]), size=self._ring).tolist()
        return [
            Request(self._coordinator(r), s, b"".join(self._values[v] for v in chosen) + encoded[r], None)
            for r, s, chosen in zip(rows, statements, picks, strict=True)
        ]
