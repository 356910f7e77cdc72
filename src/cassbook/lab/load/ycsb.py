"""YCSB's usertable: its schema, its random fields, and its requests as frames that are ready to send."""

from __future__ import annotations

import itertools
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from cassandra.cluster import Session
from cassandra.query import PreparedStatement

from cassbook.lab.engine.connect import define
from cassbook.lab.load import keys, wire
from cassbook.lab.load.coordinators import Coordinators
from cassbook.profile.profile import TableSection

KEYSPACE = "ycsb"
TABLE = f"{KEYSPACE}.usertable"
#: A block draws as many requests as rows, and at least so many; a cell starts somewhere in that ring.
_RING_LEAST = 1 << 17
#: Distinct field values in use: enough that neither compression nor a cache can take advantage.
_VALUES = 4096
_encoded_int = struct.Struct(">ii").pack
READ, UPDATE, INSERT, SCAN, RMW = range(5)


@dataclass(frozen=True, slots=True)
class Request:
    """One request except its consistency level."""

    node: int  # index of its coordinator
    statement: int  # number among its operation's
    tail: bytes  # encoded values
    expected: bytes | None  # what must come back, with `most_rows`: see `wire.judge`
    most_rows: int = 1
    then: Request | None = None  # the UPDATE that follows if this one was ok: together they are one read-modify-write


class Locked(Iterator[Request]):
    """A generator that several threads may draw from."""

    def __init__(self, requests: Iterator[Request]) -> None:
        self._requests, self._lock = requests, threading.Lock()

    def __next__(self) -> Request:
        with self._lock:
            return next(self._requests)


def create_keyspace(session: Session, keyspace: str, replication: int | Mapping[str, int]) -> None:
    """Create a keyspace that is not there, with so many replicas of a row, or so many in each data centre."""
    define(session, f"CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication_map(replication)}")


def replication_map(replication: int | Mapping[str, int]) -> str:
    """Say in CQL how many replicas a row has, anywhere or in each data centre.

    >>> replication_map({"eu": 2, "us": 1})
    "{'class': 'NetworkTopologyStrategy', 'eu': 2, 'us': 1}"
    """
    if isinstance(replication, int):
        return f"{{'class': 'SimpleStrategy', 'replication_factor': {replication}}}"
    each = ", ".join(f"'{name}': {count}" for name, count in replication.items())
    return f"{{'class': 'NetworkTopologyStrategy', {each}}}"


def create_table(
    session: Session,
    table: TableSection,
    replication: int | Mapping[str, int] | None,
    keyspace: str = KEYSPACE,
    name: str = "usertable",
    options: Mapping[str, str | float] | None = None,
) -> None:
    """Create YCSB's keyspace and table, as its Cassandra binding documents them (key `y_id`, text fields).

    `replication` is the number of replicas, or the number in each data centre; None leaves the keyspace as it is:
    on an existing cluster it was made before. `options` are the table's, such as speculative_retry.
    """
    if replication is not None:
        create_keyspace(session, keyspace, replication)
    fields = ", ".join(f"field{i} text" for i in range(table.field_count))
    wanted = " AND ".join(f"{key} = {value!r}" for key, value in (options or {}).items())
    created = f"CREATE TABLE IF NOT EXISTS {keyspace}.{name} (y_id text PRIMARY KEY, {fields})"
    define(session, created + (f" WITH {wanted}" if wanted else ""))


def random_fields(length: int, count: int, rng: np.random.Generator) -> list[bytes]:
    """`count` values of `length` random printable ASCII characters (YCSB's RandomByteIterator), encoded."""
    letters = rng.integers(32, 127, size=(count, length), dtype=np.uint8)
    return [wire.value(row.tobytes()) for row in letters]


class Usertable:
    """Requests on a usertable that exists, drawn when first needed and shared by all cells of a block.

    `nodes` are the coordinators' addresses; for `policy` and `nearest` see `coordinators.Coordinators`. `row_keys` are
    keys of rows that somebody else inserted, in place of YCSB's.
    """

    def __init__(
        self,
        session: Session,
        table: TableSection,
        nodes: Sequence[str],
        policy: str,
        nearest: int,
        rng: np.random.Generator,
        keyspace: str = KEYSPACE,
        name: str = "usertable",
        row_keys: list[bytes] | None = None,
    ) -> None:
        self.table = table
        self.keyspace, self.name = keyspace, f"{keyspace}.{name}"
        self._rng = rng
        fields = [f"field{i}" for i in range(table.field_count)]
        everything = ", ".join(["y_id", *fields])
        updates = [fields] if table.update_all_fields else [[f] for f in fields]
        self._statements: list[list[PreparedStatement]] = [
            [session.prepare(f"SELECT {everything} FROM {self.name} WHERE y_id = ?")],
            [
                session.prepare(f"UPDATE {self.name} SET {', '.join(f'{f} = ?' for f in u)} WHERE y_id = ?")
                for u in updates
            ],
            [session.prepare(f"INSERT INTO {self.name} ({everything}) VALUES ({', '.join('?' * (1 + len(fields)))})")],
        ]
        scan = f"SELECT {everything} FROM {self.name} WHERE token(y_id) >= token(?) LIMIT ?"
        self._statements += [[session.prepare(scan)], self._statements[READ]]
        self._values = random_fields(table.field_length, _VALUES, rng)
        self._route = Coordinators(session, keyspace, nodes, policy, nearest)
        self._keys: list[bytes] = []  # encoded
        self._coordinators: list[int] = []
        self._add_keys(keys.row_keys(np.arange(table.record_count)) if row_keys is None else row_keys)
        self.ring_size = max(_RING_LEAST, table.record_count)
        self._rings: dict[tuple[int, str], list[Request]] = {}

    def add_rows(self, numbers: npt.ArrayLike) -> None:
        """Make the keys of more rows known, by their numbers; the rows themselves are inserted by `insert`."""
        self._add_keys(keys.row_keys(numbers))

    def _add_keys(self, added: list[bytes]) -> None:
        self._coordinators += [0 if self._route.turns else self._route.of(key) for key in added]
        self._keys += [wire.value(key) for key in added]

    @property
    def rows(self) -> int:
        """How many rows have a key."""
        return len(self._keys)

    def _coordinator(self, row: int) -> int:
        return self._route.next() if self._route.turns else self._coordinators[row]

    def read(self, row: int, then: Request | None = None) -> Request:
        """Read one row, all fields, and update it `then` if that is given."""
        return Request(self._coordinator(row), 0, self._keys[row], self._keys[row], 1, then)

    def scan(self, row: int, length: int) -> Request:
        """Read up to `length` rows in the order of their tokens, the first of them `row`."""
        key = self._keys[row]
        return Request(self._coordinator(row), 0, key + _encoded_int(4, length), key, length)

    def update(self, row: int, statement: int, picks: Sequence[int]) -> Request:
        """Write values, given by their numbers, into the fields that a statement sets."""
        fields = b"".join([self._values[v] for v in picks])
        return Request(self._coordinator(row), statement, fields + self._keys[row], None)

    def insert(self, row: int, picks: Sequence[int]) -> Request:
        """Insert a row whose fields have the values of the given numbers."""
        fields = b"".join([self._values[v] for v in picks])
        return Request(self._coordinator(row), 0, self._keys[row] + fields, None)

    def picks(self, operation: int, size: int) -> list[list[int]]:
        """Draw the numbers of the values that `size` requests of a kind write (INSERT, else UPDATE)."""
        fields = self.table.field_count if operation == INSERT or self.table.update_all_fields else 1
        return self._rng.integers(_VALUES, size=(size, fields)).tolist()

    def queries(self) -> list[str]:
        """Text of every statement, to be prepared anew by a new session or for nodes that have forgotten them."""
        return list(dict.fromkeys(s.query_string for statements in self._statements for s in statements))

    def prefixes(self, read_cl: str, write_cl: str) -> list[list[bytes]]:
        """First part of each statement's frame body at the given levels, by operation and statement."""
        levels = (read_cl, write_cl, write_cl, read_cl, read_cl)
        return [
            [wire.execute_prefix(s.query_id, level, len(s.column_metadata)) for s in statements]
            for statements, level in zip(self._statements, levels, strict=True)
        ]

    def requests(self, operation: int, distribution: str | None = None) -> Iterator[Request]:
        """Endless READ, UPDATE or RMW requests, from a random place of the ring on; safe to share by threads.

        Rows have the table's own request distribution unless another one is named.
        """
        ring = itertools.cycle(self._ring(operation, distribution or self.table.request_distribution))
        next(itertools.islice(ring, int(self._rng.integers(self.ring_size)), None))
        return ring

    def inserts(self) -> Iterator[Request]:
        """One INSERT a row, in order; safe to share by threads."""
        count = self.table.record_count
        return Locked(
            self.insert(row, chosen) for row, chosen in zip(range(count), self.picks(INSERT, count), strict=True)
        )

    def _ring(self, operation: int, distribution: str) -> list[Request]:
        if (operation, distribution) not in self._rings:
            rows = keys.draw(distribution, self.table.record_count, self.ring_size, self._rng).tolist()
            self._rings[operation, distribution] = self._requests_for(operation, rows)
        return self._rings[operation, distribution]

    def _requests_for(self, operation: int, rows: list[int]) -> list[Request]:
        if operation == READ:
            return [self.read(row) for row in rows]
        picks = self.picks(UPDATE, len(rows))
        statements = self._rng.integers(len(self._statements[UPDATE]), size=len(rows)).tolist()
        updates = [self.update(*one) for one in zip(rows, statements, picks, strict=True)]
        if operation == UPDATE:
            return updates
        return [self.read(row, then) for row, then in zip(rows, updates, strict=True)]
