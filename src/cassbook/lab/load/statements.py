"""A user's own workload: tables, statements and values of a profile, as frames that are ready to send."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from cassandra import AlreadyExists, DriverException
from cassandra.cluster import NoHostAvailable, Session
from cassandra.protocol import ErrorMessage
from cassandra.query import PreparedStatement
from typing_extensions import override

from cassbook.core.errors import InputError
from cassbook.core.schema import OPERATIONS
from cassbook.lab.load import values, wire
from cassbook.lab.load.coordinators import Coordinators
from cassbook.lab.load.core_workloads import Workload, kinds
from cassbook.lab.load.ycsb import INSERT, READ, RMW, SCAN, UPDATE, Locked, Request
from cassbook.profile import syntax
from cassbook.profile.columns import ColumnType
from cassbook.profile.values import Values
from cassbook.profile.workloads import OwnOperation, OwnWorkload

#: So many requests of a kind are drawn; then they repeat.
RING = 1 << 16
_TABLE = re.compile(r"\b(?:INTO|UPDATE|FROM)\s+(\w+)", re.IGNORECASE)
_LOADED_AT_ONCE = 1 << 13
_ANY_NUMBER = 2**31 - 1
_MOST_ROWS = {"one": 1, "some": _ANY_NUMBER, "any": 0}


def own_shares(workload: OwnWorkload) -> dict[int, float]:
    """Share of each kind of operation."""
    shares: dict[int, float] = {}
    for operation in workload.operations:
        kind = OPERATIONS.index(operation.kind)
        shares[kind] = shares.get(kind, 0.0) + operation.share
    return shares


class Statements(Workload):
    """The requests of a user's own workload.

    Statements are prepared through the session, whose default the keyspace becomes. Tables are created first if
    `create`; those that exist already stay. InputError if the server refuses a statement, a marker has no values,
    values have no marker, or a column's type is not one that its values can have: with the workload, the statement, and
    what the server said.
    """

    def __init__(
        self,
        session: Session,
        workload: OwnWorkload,
        keyspace: str,
        route: Coordinators,
        rng: np.random.Generator,
        create: bool = True,
    ) -> None:
        self._workload, self._keyspace, self._route, self._rng = workload, keyspace, route, rng
        self._where = f"workloads.own.{workload.name}"
        self._session, self._protocol = session, session.cluster.protocol_version
        session.set_keyspace(keyspace)
        for statement in workload.create if create else ():
            self._ask(session.execute, statement)
        #: Tables that loading fills.
        self.tables = list(dict.fromkeys(_TABLE.findall(syntax.words(workload.load.statement)))) if workload.load else []
        self._statements: list[list[PreparedStatement]] = [[] for _ in OPERATIONS]
        self._rings: dict[int, list[Request]] = {}
        self._used: set[str] = set()
        draws = [(o, self._add(OPERATIONS.index(o.kind), o.statement), self._then(o)) for o in workload.operations]
        self._load_statement = self._add(INSERT, workload.load.statement) if workload.load else -1
        self._refuse_misfits(draws)
        for kind, share in own_shares(workload).items():
            parts = [
                self._draw(*one, round(RING * one[0].share / share)) for one in draws if one[0].kind == OPERATIONS[kind]
            ]
            order = np.arange(len(parts[0])) if len(parts) == 1 else rng.permutation(sum(map(len, parts)))
            together = list(itertools.chain.from_iterable(parts))
            self._rings[kind] = [together[i] for i in order.tolist()]
        if workload.load:
            next(self._inserts())
        self._refuse_unused()

    @override
    def prefixes(self, read_cl: str, write_cl: str) -> list[list[bytes]]:
        levels = {READ: read_cl, SCAN: read_cl, RMW: read_cl}
        return [
            [wire.execute_prefix(s.query_id, levels.get(kind, write_cl), len(s.column_metadata)) for s in statements]
            for kind, statements in enumerate(self._statements)
        ]

    @override
    def operations(self, rng: np.random.Generator) -> Iterator[int]:
        """Endless kinds of operation in the profile's shares; safe to share by threads."""
        return kinds(own_shares(self._workload), rng)

    @override
    def requests(self, operation: int) -> Iterator[Request]:
        """Endless requests of a kind, from a random place of the ring on; none of a kind that it does not have."""
        ring = self._rings.get(operation, [])
        begin = int(self._rng.integers(len(ring))) if ring else 0
        return itertools.cycle(ring[begin:] + ring[:begin])

    def inserts(self) -> Iterator[Request]:
        """The rows to load, in order; safe to share by threads."""
        return Locked(self._inserts())

    def _ask(self, ask: Any, statement: str) -> Any:
        """Have the server take a statement, or say why it does not."""
        try:
            return ask(statement)
        except AlreadyExists:
            return None
        except (DriverException, ErrorMessage, NoHostAvailable, ValueError) as error:
            raise InputError(f"{self._where}: the server refuses {statement!r}: {error}") from None

    def _add(self, kind: int, statement: str) -> int:
        """Prepare a statement; its number among those of its kind."""
        prepared = self._ask(lambda text: self._session.prepare(syntax.qualified(text, self._keyspace)), statement)
        elsewhere = {column.keyspace_name for column in prepared.column_metadata} - {self._keyspace}
        if elsewhere:
            raise InputError(f"{self._where}: {statement!r} is about the keyspace {', '.join(elsewhere)}")
        self._statements[kind].append(prepared)
        return len(self._statements[kind]) - 1

    def _then(self, operation: OwnOperation) -> int | None:
        return None if operation.then is None else self._add(UPDATE, operation.then)

    def _values(self, operation: OwnOperation | None, statement: PreparedStatement) -> dict[str, Values]:
        """Values of each marker of a statement: the operation's own, else the workload's."""
        offered = {**self._workload.values, **(operation.values if operation else {})}
        names = [column.name for column in statement.column_metadata]
        missing = [name for name in names if name not in offered]
        if missing:
            raise InputError(
                f"{self._where}: no values for {', '.join(missing)}, asked for by {statement.query_string!r}; "
                f"there are some for {', '.join(sorted(offered)) or 'nothing'}"
            )
        self._used |= set(names)
        return {name: offered[name] for name in names}

    def _refuse_misfits(self, draws: Sequence[tuple[OwnOperation, int, int | None]]) -> None:
        """Refuse values that their columns cannot have, all of them at once: each column, its type, and what works."""
        asked: list[tuple[OwnOperation | None, PreparedStatement]] = []
        for operation, number, then in draws:
            asked.append((operation, self._statements[OPERATIONS.index(operation.kind)][number]))
            asked += [] if then is None else [(operation, self._statements[UPDATE][then])]
        if self._load_statement >= 0:
            asked.append((None, self._statements[INSERT][self._load_statement]))
        wrong = []
        for one, statement in asked:
            offered = self._values(one, statement)
            for column in statement.column_metadata:
                wrong += offered[column.name].misfits(column.name, values.type_of(column.type))
        if wrong:
            raise InputError(f"{self._where}: {'; '.join(dict.fromkeys(wrong))}")

    def _refuse_unused(self) -> None:
        given = set(self._workload.values).union(*(operation.values for operation in self._workload.operations))
        if given - self._used:
            raise InputError(
                f"{self._where}: values for {', '.join(sorted(given - self._used))}, which no statement asks for; "
                f"their markers are {', '.join(sorted(self._used)) or 'none'}"
            )

    def _draw(self, operation: OwnOperation, number: int, then: int | None, size: int) -> list[Request]:
        """Draw requests of one operation: a marker's name has one value in each, also in the statement that follows."""
        kind = OPERATIONS.index(operation.kind)
        first = self._statements[kind][number]
        second = None if then is None else self._statements[UPDATE][then]
        wanted = self._values(operation, first) | (self._values(operation, second) if second else {})
        types = _types(first, *([second] if second else []))
        drawn = {name: values.draw(generator, size, self._rng, types[name]) for name, generator in wanted.items()}
        follows: list[Request | None] = [None] * size
        if second is not None and then is not None:
            follows = list(self._requests(second, then, wanted, drawn, size))
        if operation.kind in {"UPDATE", "INSERT", "DELETE", "BATCH"}:
            return list(self._requests(first, number, wanted, drawn, size))
        most = _MOST_ROWS[operation.rows]
        verified = _verified(first)
        return [
            Request(one.node, number, one.tail, one.expected or b"", most, then)
            for one, then in zip(self._requests(first, number, wanted, drawn, size, verified), follows, strict=True)
        ]

    def _requests(
        self,
        statement: PreparedStatement,
        number: int,
        wanted: dict[str, Values],
        drawn: dict[str, values.Drawn],
        size: int,
        verified: int | None = None,
    ) -> Iterator[Request]:
        columns = [
            values.encode(wanted[column.name], drawn[column.name], column, self._protocol, self._where)
            for column in statement.column_metadata
        ]
        keyed = statement.routing_key_indexes
        for bound in zip(*columns, strict=True) if columns else itertools.repeat((), size):
            node = self._route.of(_routing_key([bound[i] for i in keyed]) if keyed else None)
            yield Request(node, number, b"".join(bound), None if verified is None else bound[verified])

    def _inserts(self) -> Iterator[Request]:
        load = self._workload.load
        if load is None:
            return
        statement = self._statements[INSERT][self._load_statement]
        wanted, types = self._values(None, statement), _types(statement)
        for begin in range(0, load.rows, _LOADED_AT_ONCE):
            size = min(_LOADED_AT_ONCE, load.rows - begin)
            drawn = {name: values.go_through(v, begin, size, self._rng, types[name]) for name, v in wanted.items()}
            yield from self._requests(statement, self._load_statement, wanted, drawn, size)


def _types(*statements: PreparedStatement) -> dict[str, ColumnType]:
    """Types of what is bound, by name; one of several statements where they differ, which `encode` then refuses."""
    return {column.name: values.type_of(column.type) for one in statements for column in one.column_metadata}


def _routing_key(parts: list[bytes]) -> bytes:
    """Partition key as the ring hashes it: the value alone, or each between its length and a zero."""
    if len(parts) == 1:
        return parts[0][4:]
    return b"".join(struct.pack(">H", len(part) - 4) + part[4:] + b"\0" for part in parts)


def _verified(statement: PreparedStatement) -> int | None:
    """Which marker's value must come back as the first column of the first row, where a query asks for that column."""
    if not statement.result_metadata:
        return None
    _, _, column, _ = statement.result_metadata[0]
    condition = re.search(rf'(?<![\w."]){re.escape(column)}\s*=\s*(\?|:\w+)', statement.query_string)
    if not condition:
        return None
    marker = column if condition[1] == "?" else condition[1][1:]
    names = [bound.name for bound in statement.column_metadata]
    return names.index(marker) if marker in names else None
