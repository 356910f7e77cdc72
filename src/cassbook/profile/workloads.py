"""The workloads of a profile: YCSB's presets, and a user's own tables, statements and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from cassbook.core.consistency import STRONG_SETTINGS
from cassbook.profile import columns, syntax
from cassbook.profile.fields import Distinct, Name, Positive, Rates, Section, Settings, Share, Threads
from cassbook.profile.values import Values

Preset = Literal["A", "B", "C", "D", "E", "F"]
_OF_KEYSPACE = re.compile(r'\b(?:FROM|INTO|UPDATE|TABLE|EXISTS|ON|TYPE)\s+("[^"]+"|\w+)\s*\.', re.IGNORECASE)
_CREATE = re.compile(r"CREATE\s+(?:TABLE|TYPE|(?:CUSTOM\s+)?INDEX)\b", re.IGNORECASE)
_QUERY = re.compile(r"SELECT\b", re.IGNORECASE)
_CHANGE = re.compile(r"(?:INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_VIEW = re.compile(r"CREATE\s+MATERIALIZED\b", re.IGNORECASE)
_CONDITION = re.compile(r"\bIF\b", re.IGNORECASE)
#: The kinds of operation that a statement may be counted as, by the word that it begins with; the first where the
#: profile says none.
_KINDS = {
    "SELECT": ("READ", "SCAN", "RMW"), "INSERT": ("INSERT",), "UPDATE": ("UPDATE",), "DELETE": ("DELETE",),
    "BEGIN": ("BATCH",),
}  # fmt: skip


def _own_keyspace(statement: str) -> str:
    """Take off the last semicolon, and refuse a statement that names a keyspace: tables live in the laboratory's."""
    statement = statement.strip().removesuffix(";").rstrip()
    if named := _OF_KEYSPACE.search(syntax.words(statement)):
        raise ValueError(f"names the keyspace {named[1]}; name the table alone, it is in the laboratory's own keyspace")
    return statement


def _create(statement: str) -> str:
    if _VIEW.match(statement):
        raise ValueError("creates a materialized view, and tables with views are not measured")
    if not _CREATE.match(statement):
        raise ValueError("is not CREATE TABLE, CREATE TYPE or CREATE INDEX")
    return statement


def _query(statement: str) -> str:
    if not _QUERY.match(statement):
        raise ValueError("is not a SELECT")
    return statement


def _change(statement: str) -> str:
    if syntax.is_batch(statement):
        if not syntax.is_closed(statement):
            raise ValueError("is a batch without APPLY BATCH at its end")
        if not syntax.parts(statement):
            raise ValueError("is a batch of nothing; give it INSERT, UPDATE or DELETE")
    for part in syntax.parts(statement):
        if not _CHANGE.match(part):
            raise ValueError("is not an INSERT, UPDATE, DELETE or a batch of them")
        if _CONDITION.search(syntax.words(part)):
            raise ValueError("is a lightweight transaction (IF), which has consistency levels of another kind")
    return statement


Statement = Annotated[str, AfterValidator(_own_keyspace)]
Create = Annotated[Statement, AfterValidator(_create)]
Change = Annotated[Statement, AfterValidator(_change)]


class OwnOperation(Section):
    """One kind of request: how often, and what is sent.

    `kind` is how it is counted; by default what the statement says by its first word, READ of a SELECT. `rows` says
    what a query must bring back: 'one' row, 'some' (one or more) or 'any' number, none included.
    """

    kind: Literal["READ", "UPDATE", "INSERT", "DELETE", "BATCH", "SCAN", "RMW"]
    share: Annotated[Share, Field(gt=0)]
    statement: Statement
    then: Change | None = None
    rows: Literal["one", "some", "any"] = "some"
    values: dict[str, Values] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _kind_by_statement(cls, content: Any) -> Any:
        if not isinstance(content, dict) or "kind" in content or not isinstance(content.get("statement"), str):
            return content
        kinds = _KINDS.get(_verb(content["statement"]))
        return content | {"kind": "RMW" if "then" in content else kinds[0]} if kinds else content

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        (_query if self.kind in {"READ", "SCAN", "RMW"} else _change)(self.statement)
        if self.kind not in (kinds := _KINDS[verb := _verb(self.statement)]):
            what = "a batch" if verb == "BEGIN" else f"{'an' if verb[0] in 'IU' else 'a'} {verb}"
            raise ValueError(f"the statement is {what}; give kind: {kinds[0]}, or leave kind out")
        if (self.kind == "RMW") != (self.then is not None):
            raise ValueError("`then`, the statement that writes what was read, goes with RMW and with nothing else")
        return self

    @property
    def statements(self) -> tuple[str, ...]:
        """What is sent, one after the other."""
        return (self.statement,) if self.then is None else (self.statement, self.then)


def _verb(statement: str) -> str:
    found = re.match(r"\s*(\w+)", syntax.words(statement))
    return found[1].upper() if found else ""


class OwnLoad(Section):
    """What is in the tables before anything is measured: `rows` times a statement, at ALL."""

    statement: Change
    rows: Positive


class OwnWorkload(Section):
    """A user's own tables, statements and values; `rates_per_s` in place of the section's, if given."""

    name: Annotated[Name, Field(pattern="^[^.]*$")]
    create: list[Create] = Field(default_factory=list)
    load: OwnLoad | None = None
    operations: Annotated[list[OwnOperation], Field(min_length=1)]
    values: dict[str, Values] = Field(default_factory=dict)
    rates_per_s: Rates | None = None

    @field_validator("name")
    @classmethod
    def _no_preset(cls, value: str) -> str:
        if value.upper() in {"A", "B", "C", "D", "E", "F"}:
            raise ValueError("is the name of one of YCSB's presets")
        return value

    @model_validator(mode="after")
    def _shares_are_all(self) -> Self:
        total = sum(operation.share for operation in self.operations)
        if abs(total - 1.0) > 1e-6:  # noqa: PLR2004 - thirds, say, are written with a few digits
            raise ValueError(f"the shares of its operations add up to {total:g}, not to 1")
        return self

    @property
    def asking(self) -> Iterator[tuple[str, dict[str, Values]]]:
        """Each statement that is sent, the load's too, with the values that it may ask for."""
        for operation in self.operations:
            for statement in operation.statements:
                yield statement, self.values | operation.values
        if self.load:
            yield self.load.statement, self.values

    def misfits(self, tables: Mapping[str, Mapping[str, columns.ColumnType]]) -> list[str]:
        """Say what is wrong with its statements and values, as far as that is plain from the text.

        `tables`: the columns of all tables that the profile creates.
        """
        found: list[str] = []
        for statement, offered in self.asking:
            for part in syntax.parts(statement):
                plain = syntax.words(part)
                found += columns.strangers(plain, tables)
                for marker in columns.markers(plain, tables):
                    if marker.name in offered:
                        found += offered[marker.name].misfits(marker.column, marker.type)
                    else:
                        there = ", ".join(sorted(offered)) or "nothing"
                        found.append(f"no values for {marker.name}, asked for by {part!r}; there are some for {there}")
        return list(dict.fromkeys(found))

    def lacking(self, engine: str) -> list[str]:
        """Say what a release lacks of its tables and statements, and the releases here that have it."""
        sent = [statement for statement, _ in self.asking]
        of_tables = columns.lacking(map(syntax.words, self.create), engine)
        return [*of_tables, *syntax.lacking([*self.create, *sent], engine)]


class WorkloadsSection(Section):
    """Workloads measured after the pure and mixed cells of a block: YCSB's presets, and own ones.

    Each is measured in a closed loop at each of `threads`, and, where there are `rates_per_s`, in an open loop at each
    of them, with as many requests in flight at most as the highest of `threads`. A profile whose section `open` names
    all of them may leave `threads` out: they are then measured there alone.
    """

    threads: Annotated[list[Threads], Distinct] = Field(default_factory=list)
    settings: Settings = Field(default=[s.name for s in STRONG_SETTINGS])
    repeats: Positive = 1
    presets: Annotated[list[Preset], Distinct] = Field(default_factory=list)
    max_scan_length: Positive = 100
    scan_length_distribution: Literal["uniform", "zipfian"] = "uniform"
    own: list[OwnWorkload] = Field(default_factory=list)
    rates_per_s: Rates | None = None

    @property
    def names(self) -> list[str]:
        """Its workloads: letters of presets, then names of own ones."""
        return [*self.presets, *(section.name for section in self.own)]

    @property
    def has_rates(self) -> bool:
        """Whether any of its workloads is measured at fixed rates."""
        return any(self.rates_of(name) for name in self.names)

    def rates_of(self, workload: str) -> list[float]:
        """Return the fixed rates at which a workload is measured; none if in a closed loop only."""
        own = next((section.rates_per_s for section in self.own if section.name == workload), None)
        return own or self.rates_per_s or []

    @model_validator(mode="after")
    def _something_to_measure(self) -> Self:
        names = [workload.name for workload in self.own]
        if not self.presets and not names:
            raise ValueError("give presets, own workloads, or both")
        if len(set(names)) < len(names):
            raise ValueError("two own workloads have the same name")
        return self
