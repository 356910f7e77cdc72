"""A user's own workload: tables, statements and values of a profile, as frames that are ready to send."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from cassandra import AlreadyExists, DriverException
from cassandra.cluster import NoHostAvailable, Session
from cassandra.protocol import ErrorMessage
from cassandra.query import PreparedStatement
from typing_extensions import override

from cassbook.core.errors import InputError
from cassbook.core.schema import OPERATIONS
from cassbook.lab.engine.connect import define
from cassbook.lab.load import values, wire
from cassbook.lab.load.coordinators import Coordinators
from cassbook.lab.load.core_workloads import Workload, kinds
from cassbook.lab.load.existing_keys import Keys
from cassbook.lab.load.ycsb import INSERT, READ, RMW, SCAN, UPDATE, Locked, Request
from cassbook.profile import columns, syntax
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


class Prepared:
    """The statements of a user's own workload, prepared through a session whose default the keyspace becomes.

    Tables are created first if `create`; those that exist already stay. InputError with all that is wrong at once:
    what the server refuses, in its words, markers without values, values that their columns cannot have, and values
    without a marker. `known` are keys of tables that exist, by table: markers for their columns need no values.
    """

    def __init__(
        self, session: Session, workload: OwnWorkload, keyspace: str, create: bool = True,
        known: Mapping[str, Keys] | None = None,
    ) -> None:  # fmt: skip
        self._known = known or {}
        self._session, self._workload, self._keyspace = session, workload, keyspace
        self._where = f"workloads.own.{workload.name}"
        self._wrong: list[str] = []
        self.by_kind: list[list[PreparedStatement]] = [[] for _ in OPERATIONS]
        session.set_keyspace(keyspace)
        for statement in workload.create if create else ():
            self._ask(partial(define, session), statement)
        self._refuse()
        #: Each operation with the numbers of its statement, and of the one that follows, among those of their kinds.
        self.operations = [
            (one, self._add(OPERATIONS.index(one.kind), one.statement),
             None if one.then is None else self._add(UPDATE, one.then))
            for one in workload.operations
        ]  # fmt: skip
        self.load = self._add(INSERT, workload.load.statement) if workload.load else -1
        self._refuse()
        self._check_values()
        self._refuse()

    def _refuse(self) -> None:
        if self._wrong:
            raise InputError(f"{self._where}: {'; '.join(dict.fromkeys(self._wrong))}")

    def _ask(self, ask: Any, statement: str) -> Any:
        """Have the server take a statement, or note why it does not."""
        try:
            return ask(statement)
        except AlreadyExists:
            return None
        except (DriverException, ErrorMessage, NoHostAvailable, ValueError) as error:
            self._wrong.append(f"the server refuses {statement!r}: {error}")
            return None

    def _add(self, kind: int, statement: str) -> int:
        """Prepare a statement; its number among those of its kind."""
        prepared = self._ask(lambda text: self._session.prepare(syntax.qualified(text, self._keyspace)), statement)
        bound = prepared.column_metadata if prepared else ()
        if elsewhere := {column.keyspace_name for column in bound} - {self._keyspace}:
            self._wrong.append(f"{statement!r} is about the keyspace {', '.join(elsewhere)}")
        self.by_kind[kind].append(prepared)
        return len(self.by_kind[kind]) - 1

    @property
    def _asking(self) -> Iterator[tuple[OwnOperation | None, PreparedStatement]]:
        """Every statement with the operation that it belongs to; none of the load's."""
        for one, number, then in self.operations:
            yield one, self.by_kind[OPERATIONS.index(one.kind)][number]
            if then is not None:
                yield one, self.by_kind[UPDATE][then]
        if self.load >= 0:
            yield None, self.by_kind[INSERT][self.load]

    def _offered(self, operation: OwnOperation | None) -> dict[str, Values]:
        return {**self._workload.values, **(operation.values if operation else {})}

    def values(self, operation: OwnOperation | None, statement: PreparedStatement) -> dict[str, Values]:
        """Values of each marker of a statement: the operation's own, else the workload's; not those of known keys."""
        offered = self._offered(operation)
        names = (column.name for column in statement.column_metadata)
        return {name: offered[name] for name in names if name in offered}

    def keys(self, statement: PreparedStatement) -> Keys:
        """Keys that are known of the table that a statement is about."""
        table = columns.table_of(syntax.words(statement.query_string).replace(f"{self._keyspace}.", ""))
        return self._known.get(table, Keys((), ((),)))

    def _check_values(self) -> None:
        used: set[str] = set()
        for operation, statement in self._asking:
            offered = self._offered(operation)
            names = [column.name for column in statement.column_metadata]
            used |= set(names)
            sampled = self.keys(statement).columns
            if missing := [name for name in names if name not in offered and name not in sampled]:
                self._wrong.append(
                    f"no values for {', '.join(missing)}, asked for by {statement.query_string!r}; "
                    f"there are some for {', '.join(sorted(offered)) or 'nothing'}"
                )
            for column in statement.column_metadata:
                if column.name in offered:
                    self._wrong += offered[column.name].misfits(column.name, values.type_of(column.type))
        given = set(self._workload.values).union(*(operation.values for operation in self._workload.operations))
        if unused := given - used:
            self._wrong.append(
                f"values for {', '.join(sorted(unused))}, which no statement asks for; their markers are "
                f"{', '.join(sorted(used)) or 'none'}"
            )


class Statements(Workload):
    """The requests of a user's own workload; arguments and errors as of `Prepared`."""

    def __init__(
        self,
        session: Session,
        workload: OwnWorkload,
        keyspace: str,
        route: Coordinators,
        rng: np.random.Generator,
        create: bool = True,
        known: Mapping[str, Keys] | None = None,
    ) -> None:
        self._workload, self._route, self._rng = workload, route, rng
        self._where = f"workloads.own.{workload.name}"
        self._protocol = session.cluster.protocol_version
        self._prepared = Prepared(session, workload, keyspace, create, known)
        self._statements = self._prepared.by_kind
        #: Tables that loading fills.
        loading = syntax.words(workload.load.statement) if workload.load else ""
        self.tables = list(dict.fromkeys(_TABLE.findall(loading)))
        self._rings: dict[int, list[Request]] = {}
        for kind, share in own_shares(workload).items():
            parts = [
                self._draw(*one, round(RING * one[0].share / share))
                for one in self._prepared.operations if one[0].kind == OPERATIONS[kind]
            ]  # fmt: skip
            order = np.arange(len(parts[0])) if len(parts) == 1 else rng.permutation(sum(map(len, parts)))
            together = list(itertools.chain.from_iterable(parts))
            self._rings[kind] = [together[i] for i in order.tolist()]
        if workload.load:
            next(self._inserts())

    @override
    def queries(self) -> list[str]:
        return list(dict.fromkeys(one.query_string for statements in self._statements for one in statements))

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

    def _draw(self, operation: OwnOperation, number: int, then: int | None, size: int) -> list[Request]:
        """Draw requests of one operation: a marker's name has one value in each, also in the statement that follows."""
        kind = OPERATIONS.index(operation.kind)
        first = self._statements[kind][number]
        second = None if then is None else self._statements[UPDATE][then]
        wanted = self._prepared.values(operation, first) | (self._prepared.values(operation, second) if second else {})
        types = _types(first, *([second] if second else []))
        drawn = {name: values.draw(generator, size, self._rng, types[name]) for name, generator in wanted.items()}
        keys = self._prepared.keys(first)
        rows = self._rng.integers(len(keys.rows), size=size).tolist() if keys.columns else []
        drawn |= {name: [keys.rows[row][place] for row in rows] for place, name in enumerate(keys.columns)
                  if name not in wanted}  # fmt: skip
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
        encoded = [
            values.encode(wanted.get(column.name), drawn[column.name], column, self._protocol, self._where)
            for column in statement.column_metadata
        ]
        keyed = statement.routing_key_indexes
        for bound in zip(*encoded, strict=True) if encoded else itertools.repeat((), size):
            node = self._route.of(_routing_key([bound[i] for i in keyed]) if keyed else None)
            yield Request(node, number, b"".join(bound), None if verified is None else bound[verified])

    def _inserts(self) -> Iterator[Request]:
        load = self._workload.load
        if load is None:
            return
        number = self._prepared.load
        statement = self._statements[INSERT][number]
        wanted, types = self._prepared.values(None, statement), _types(statement)
        for begin in range(0, load.rows, _LOADED_AT_ONCE):
            size = min(_LOADED_AT_ONCE, load.rows - begin)
            drawn = {name: values.go_through(v, begin, size, self._rng, types[name]) for name, v in wanted.items()}
            yield from self._requests(statement, number, wanted, drawn, size)


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
