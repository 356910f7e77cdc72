"""The workloads of a profile: YCSB's presets, and a user's own tables, statements and values."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from cassbook.core.consistency import STRONG_SETTINGS
from cassbook.profile import columns
from cassbook.profile.fields import Distinct, Name, Positive, Rates, Section, Settings, Share, Threads

Distribution = Literal["zipfian", "uniform", "hotspot", "exponential", "sequential"]
Preset = Literal["A", "B", "C", "D", "E", "F"]
_TEXT_OR_COMMENT = re.compile(r"'(?:[^']|'')*'|/\*.*?\*/|(?:--|//)[^\n]*", re.DOTALL)
_OF_KEYSPACE = re.compile(r'\b(?:FROM|INTO|UPDATE|TABLE|EXISTS|ON|TYPE)\s+("[^"]+"|\w+)\s*\.', re.IGNORECASE)
_CREATE = re.compile(r"CREATE\s+(?:TABLE|TYPE|(?:CUSTOM\s+)?INDEX)\b", re.IGNORECASE)
_QUERY = re.compile(r"SELECT\b", re.IGNORECASE)
_CHANGE = re.compile(r"(?:INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_VIEW = re.compile(r"CREATE\s+MATERIALIZED\b", re.IGNORECASE)
_BATCH = re.compile(r"BEGIN\b.*\bBATCH\b", re.IGNORECASE | re.DOTALL)
_CONDITION = re.compile(r"\bIF\b", re.IGNORECASE)


def _words(statement: str) -> str:
    """Give a statement without what is text or comment in it."""
    return _TEXT_OR_COMMENT.sub(" ", statement)


def _own_keyspace(statement: str) -> str:
    """Take off the last semicolon, and refuse a statement that names a keyspace: tables live in the laboratory's."""
    statement = statement.strip().removesuffix(";").rstrip()
    if named := _OF_KEYSPACE.search(_words(statement)):
        raise ValueError(f"names the keyspace {named[1]}; name the table alone, it is in the laboratory's own keyspace")
    return statement


def _create(statement: str) -> str:
    if _VIEW.match(statement):
        raise ValueError("creates a materialized view, and tables with views are not measured")
    if not _CREATE.match(statement):
        raise ValueError("is not CREATE TABLE, CREATE TYPE or CREATE INDEX")
    return statement


def _no_batch(statement: str) -> None:
    if _BATCH.match(statement):
        raise ValueError("is a batch; batches are not measured: give each of its statements an operation of its own")


def _query(statement: str) -> str:
    _no_batch(statement)
    if not _QUERY.match(statement):
        raise ValueError("is not a SELECT")
    return statement


def _change(statement: str) -> str:
    _no_batch(statement)
    if not _CHANGE.match(statement):
        raise ValueError("is not an INSERT, UPDATE or DELETE")
    if _CONDITION.search(_words(statement)):
        raise ValueError("is a lightweight transaction (IF), which has consistency levels of another kind")
    return statement


Statement = Annotated[str, AfterValidator(_own_keyspace)]
Create = Annotated[Statement, AfterValidator(_create)]
Change = Annotated[Statement, AfterValidator(_change)]


class Values(Section):
    """What is bound to a marker: numbers of a population, random content of a size, or random numbers of a range."""

    #: Numbers from `first` on, of a population of `count`, asked for as YCSB does. While rows are loaded, a population
    #: is gone through in order instead, a step every `every` rows, and round and round.
    distribution: Distribution | None = None
    count: Positive | None = None
    first: int = 0
    every: Positive = 1
    hashed: bool = False  # put YCSB's hash of a number in its place, as in YCSB's keys
    format: str = "{}"  # text with {} where the number goes, for text columns
    #: length of random printable text, or of random bytes, fixed or from the least to the most
    size: Positive | tuple[Positive, Positive] | None = None
    between: tuple[float, float] | None = None  # bounds of uniform random numbers

    @property
    def sort(self) -> str:
        """Which of the three it is, as `columns.BINDABLE` calls them."""
        if self.distribution is not None:
            return "distribution and count"
        return "between" if self.size is None else "size"

    @field_validator("format")
    @classmethod
    def _one_place(cls, value: str) -> str:
        if value.count("{}") != 1 or "{" in value.replace("{}", "") or "}" in value.replace("{}", ""):
            raise ValueError("has not exactly one {} where the number goes")
        return value

    @model_validator(mode="after")
    def _of_one_sort(self) -> Self:
        given = [name for name in ("distribution", "size", "between") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give one of distribution, size or between")
        if (self.distribution is None) != (self.count is None):
            raise ValueError("distribution and count go together")
        # A default that is written out goes with anything: what a profile's dump says is the same profile.
        said = {name for name, field in type(self).model_fields.items() if getattr(self, name) != field.default}
        allowed = {"count", "first", "every", "hashed", "format"} if given[0] == "distribution" else set()
        if strays := said - {given[0]} - allowed:
            raise ValueError(f"{', '.join(sorted(strays))} does not go with {given[0]}")
        for bounds in (self.size, self.between):
            if isinstance(bounds, tuple) and bounds[0] > bounds[1]:
                raise ValueError(f"{bounds[0]} is more than {bounds[1]}")
        return self


class OwnOperation(Section):
    """One kind of request: how often, and what is sent.

    `rows` says what a query must bring back: 'one' row, 'some' (one or more) or 'any' number, none included.
    """

    kind: Literal["READ", "UPDATE", "INSERT", "SCAN", "RMW"]
    share: Annotated[Share, Field(gt=0)]
    statement: Statement
    then: Change | None = None
    rows: Literal["one", "some", "any"] = "some"
    values: dict[str, Values] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        (_query if self.kind in {"READ", "SCAN", "RMW"} else _change)(self.statement)
        if (self.kind == "RMW") != (self.then is not None):
            raise ValueError("`then`, the statement that writes what was read, goes with RMW and with nothing else")
        return self


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

    def misfits(self) -> list[str]:
        """Say of all markers whose columns and types are plain which cannot have the values that they are given."""
        known = columns.tables(map(_words, self.create))
        asking: list[tuple[str, dict[str, Values]]] = [
            (statement, self.values | operation.values)
            for operation in self.operations
            for statement in (operation.statement, operation.then)
            if statement is not None
        ]
        asking += [(self.load.statement, self.values)] if self.load else []
        found = [
            marker.misfit(offered[marker.name].sort)
            for statement, offered in asking
            for marker in columns.markers(_words(statement), known)
            if marker.name in offered
        ]
        return list(dict.fromkeys(filter(None, found)))


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
