"""Turn a user profile of cassandra-stress into a profile of ours, and say what of it has no counterpart."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cassbook.core.errors import InputError
from cassbook.profile import columns, syntax
from cassbook.profile.columns import ColumnType
from cassbook.profile.values import BINDABLE, CONTENT, NUMBERS

#: Keys that a profile of cassandra-stress has and none of ours.
KEYS = frozenset({
    "keyspace_definition", "table_definition", "extra_definitions", "columnspec", "insert", "queries",
    "token_range_queries", "specname",
})  # fmt: skip
#: What cassandra-stress takes where nothing is said (its SeedManager and PartitionGenerator).
_SIZE, _POPULATION, _CLUSTER = "uniform(4..8)", "uniform(1..100B)", "fixed(1)"
#: Rows that are loaded at most, and those of one partition.
_MOST_ROWS, _MOST_IN_PARTITION = 100_000, 1_000
_DISTRIBUTION = re.compile(r"(~?)\s*(\w+)\s*\(([^)]*)\)")
_SCALES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9}
#: Distributions with a counterpart, by name; others become the second, and it is said.
_NEAR = {"UNIFORM": "uniform", "SEQ": "sequential", "FIXED": "uniform"}
_SKEWED = {"EXP": "exponential", "EXPONENTIAL": "exponential"}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A distribution of cassandra-stress: its name, and the least and the most that it gives."""

    name: str
    least: int
    most: int
    inverted: bool = False

    @property
    def count(self) -> int:
        """How many numbers it may give."""
        return self.most - self.least + 1


def distribution(text: str, where: str) -> Drawn:
    """Read a distribution such as `gaussian(1..100K,2)` or `fixed(5)`.

    >>> distribution("UNIFORM(1..10K)", "size")
    Drawn(name='UNIFORM', least=1, most=10000, inverted=False)

    Raises InputError for what is none.
    """
    found = _DISTRIBUTION.fullmatch(text.strip())
    bounds = found[3].split(",")[0] if found else ""
    try:
        ends = [_number(end) for end in bounds.split("..")]
        least, most = ends[0], ends[-1]
    except (ValueError, KeyError):
        raise InputError(f"{where}: {text!r} is no distribution; give one such as uniform(1..100)") from None
    assert found is not None  # noqa: S101 - without it there are no numbers
    return Drawn(found[2].upper(), min(least, most), max(least, most), bool(found[1]))


def _number(text: str) -> int:
    digits = re.fullmatch(r"\s*(-?\d+)\s*([kKmMbB]?)\s*", text)
    if digits is None:
        raise ValueError(text)
    return int(digits[1]) * _SCALES[digits[2].upper()]


#: Keys of a profile of ours; a file with several of them is one, whatever else is in it.
_OURS = frozenset({
    "name", "title", "engine", "seed", "cluster", "load", "warm_up", "pure", "mixed", "workloads", "open", "cold",
    "paced", "distance", "faults", "design", "keep_samples",
})  # fmt: skip
_SEVERAL = 2


def is_one(content: Mapping[Any, Any]) -> bool:
    """Whether a file's content is a user profile of cassandra-stress, or a part of one."""
    return not KEYS.isdisjoint(content) and len(_OURS & set(content)) < _SEVERAL


class _Converter:
    """Converts one profile; `left_out` says what of it has no counterpart."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content, self.left_out = content, list[str]()
        self._keyspace = str(content.get("keyspace", ""))
        create = [str(content["table_definition"]), *map(str, content.get("extra_definitions") or ())]
        self.create = list(self._created(create))
        words = [syntax.words(statement) for statement in self.create]
        known = columns.tables(words)
        if not known:
            raise InputError("table_definition: is not CREATE TABLE with its columns in brackets")
        self._table = next(iter(known))
        self._columns = known[self._table]
        statement = next(text for text in words if columns.tables([text]))
        self._partition, self._clustering = columns.primary_key(statement)
        specs = content.get("columnspec") or []
        self._specs = {str(spec.get("name")): spec for spec in specs if isinstance(spec, Mapping)}
        for name in set(self._specs) - set(self._columns):
            raise InputError(f"columnspec: {self._table} has no column {name}; it has {', '.join(self._columns)}")

    def _created(self, statements: list[str]) -> Iterator[str]:
        """Types before tables before indexes, without the keyspace; views are left out."""
        order = ("CREATE TYPE", "CREATE TABLE", "CREATE")
        plain = [re.sub(rf"\b{re.escape(self._keyspace)}\s*\.\s*", "", text) if self._keyspace else text
                 for text in (text.strip().removesuffix(";").strip() for text in statements)]  # fmt: skip
        taken: set[int] = set()
        for begin in order:
            for number, text in enumerate(plain):
                if number in taken or not re.sub(r"\s+", " ", text.upper()).startswith(begin):
                    continue
                taken.add(number)
                if re.match(r"CREATE\s+MATERIALIZED", text, re.IGNORECASE):
                    self.left_out.append(f"extra_definitions: {_short(text)}: tables with views are not measured")
                else:
                    yield text
        for number, text in enumerate(plain):
            if number not in taken:
                self.left_out.append(f"extra_definitions: {_short(text)}: is not CREATE TABLE, TYPE or INDEX")

    def _drawn(self, column: str, what: str, usual: str) -> Drawn:
        spec = self._specs.get(column, {})
        return distribution(str(spec.get(what, usual)), f"columnspec: {column}: {what}")

    def values(self) -> tuple[dict[str, Any], int]:
        """Values of all columns, and how many rows are loaded so that each that is asked for exists."""
        found: dict[str, Any] = {}
        every = 1
        for column in reversed(self._clustering):
            most = max(min(self._drawn(column, "cluster", _CLUSTER).most, _MOST_IN_PARTITION // every), 1)
            if most < self._drawn(column, "cluster", _CLUSTER).most:
                self.left_out.append(f"columnspec: {column}: cluster: {most} rows of a partition at most")
            found[column] = self._key(column, Drawn("UNIFORM", 1, most), every)
            every *= most
        for column in reversed(self._partition):
            drawn = self._drawn(column, "population", _POPULATION)
            most = max(min(drawn.count, _MOST_ROWS // every), 1)
            if most < drawn.count:
                self.left_out.append(
                    f"columnspec: {column}: population: {most:,} of {drawn.count:,} values, for so many rows are "
                    "loaded; raise count and load.rows together"
                )
            found[column] = self._key(column, Drawn(drawn.name, drawn.least, drawn.least + most - 1), every)
            every *= most
        for column, type_ in self._columns.items():
            if column not in found:
                found[column] = self._value(column, type_)
        return {column: found[column] for column in self._columns}, every

    def _key(self, column: str, drawn: Drawn, every: int) -> dict[str, Any]:
        type_ = self._columns[column]
        if type_.name not in BINDABLE[NUMBERS]:
            raise InputError(
                f"{column} is {type_}, which a key of a converted profile cannot be; write the profile by hand"
            )
        if "size" in self._specs.get(column, {}) and type_.name in BINDABLE[CONTENT]:
            self.left_out.append(f"columnspec: {column}: size: a key is as long as its number; give a format")
        return self._numbers(column, drawn) | ({"every": every} if every > 1 else {})

    def _numbers(self, column: str, drawn: Drawn) -> dict[str, Any]:
        name = _NEAR.get(drawn.name) or _SKEWED.get(drawn.name, "uniform")
        if drawn.name in _SKEWED:
            self.left_out.append(f"columnspec: {column}: {drawn.name} prefers low numbers; exponential here high ones")
        elif drawn.name not in _NEAR:
            self.left_out.append(
                f"columnspec: {column}: {drawn.name} has no counterpart; its range is drawn from evenly"
            )
        return {"distribution": name, "count": drawn.count, "first": drawn.least}

    def _value(self, column: str, type_: ColumnType) -> dict[str, Any]:
        """Values of a column that is no key, also of what is within it."""
        size = self._drawn(column, "size", _SIZE)
        if type_.name in BINDABLE[CONTENT]:
            return {"size": _between(size)}
        if type_.known and type_.parts:
            inner = [self._value(column, part) for part in type_.parts]
            length = {"length": _between(size)}
            made: dict[str, dict[str, Any]] = {
                "vector": {"each": {"between": [-1.0, 1.0]}}, "list": {"each": inner[0]} | length,
                "set": {"each": inner[0]} | length, "map": {"keys": inner[0], "each": inner[-1]} | length,
                "tuple": {"parts": inner},
            }  # fmt: skip
            return made.get(type_.name) or {"fields": dict(zip(type_.fields or (), inner, strict=True))}
        drawn = self._drawn(column, "population", _POPULATION)
        most = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31}.get(type_.name, 2**53) - 1
        least = max(drawn.least, 0)
        return self._numbers(column, Drawn(drawn.name, least, max(min(drawn.most, most), least)))

    def operations(self) -> list[dict[str, Any]]:
        """The insert and the queries, each as often as the others."""
        found = [{"kind": "INSERT", "statement": self._insert()}]
        counters = [name for name, type_ in self._columns.items() if type_.name == "counter"]
        if counters:
            found = [{"kind": "UPDATE", "statement": self._count(counters)}]
        for name, query in (self._content.get("queries") or {}).items():
            found += self._query(str(name), query if isinstance(query, Mapping) else {"cql": query})
        share = round(1 / len(found), 6)
        shares = [share] * (len(found) - 1) + [round(1 - share * (len(found) - 1), 6)]
        return [{"kind": one.pop("kind"), "share": part, **one} for one, part in zip(found, shares, strict=True)]

    def _query(self, name: str, query: Mapping[str, Any]) -> list[dict[str, Any]]:
        text = str(query.get("cql", "")).strip().removesuffix(";").strip()
        text = re.sub(rf"\b{re.escape(self._keyspace)}\s*\.\s*", "", text) if self._keyspace else text
        plain = syntax.words(text)
        if re.search(r"\bIF\b", plain, re.IGNORECASE):
            self.left_out.append(f"queries: {name}: lightweight transactions (IF) are not measured here")
            return []
        if "fields" in query:
            self.left_out.append(f"queries: {name}: fields: {query['fields']}: each marker is drawn by itself")
        for level in ("consistencyLevel", "serialConsistencyLevel"):
            if level in query:
                self.left_out.append(f"queries: {name}: {level}: levels are those of `settings`")
        verb = plain.split(None, 1)[0].upper() if plain.strip() else ""
        kinds = {"SELECT": "READ", "INSERT": "INSERT", "UPDATE": "UPDATE", "DELETE": "DELETE", "BEGIN": "BATCH"}
        if verb not in kinds:
            self.left_out.append(f"queries: {name}: {_short(text)}: is not a statement that is measured")
            return []
        asked = {marker.column for marker in columns.markers(plain, {self._table: self._columns})}
        sure = asked <= {*self._partition, *self._clustering}
        return [{"kind": kinds[verb], "statement": text} | ({} if verb != "SELECT" or sure else {"rows": "any"})]

    def _insert(self) -> str:
        names = ", ".join(map(_quoted, self._columns))
        return f"INSERT INTO {_quoted(self._table)} ({names}) VALUES ({', '.join('?' * len(self._columns))})"

    def _count(self, counters: list[str]) -> str:
        added = ", ".join(f"{_quoted(name)} = {_quoted(name)} + ?" for name in counters)
        where = " AND ".join(f"{_quoted(name)} = ?" for name in (*self._partition, *self._clustering))
        return f"UPDATE {_quoted(self._table)} SET {added} WHERE {where}"

    def rest(self) -> None:
        """Say what is left out of the parts that have no counterpart at all."""
        insert = self._content.get("insert") or {}
        for key, value in insert.items() if isinstance(insert, Mapping) else ():
            what = "inserts are not conditional" if key == "condition" else "one row in each request"
            self.left_out.append(f"insert: {key}: {value}: {what}")
        for name in self._content.get("token_range_queries") or {}:
            self.left_out.append(f"token_range_queries: {name}: scans of token ranges are not measured")
        if self._content.get("keyspace_definition"):
            own = "the keyspace is the laboratory's; give cluster.replication_factor"
            self.left_out.append(f"keyspace_definition: {own}")
        ops = "is not in the file: all operations are equally frequent; set share"
        self.left_out.append(f"ops(...) of the command line {ops}")


def _between(drawn: Drawn) -> int | list[int]:
    least, most = max(drawn.least, 1), max(min(drawn.most, 1 << 20), 1)
    return least if least == most else [least, most]


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[a-z]\w*", name) else f'"{name}"'


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."  # noqa: PLR2004 - fits a line


def converted(content: Mapping[str, Any], name: str) -> tuple[dict[str, Any], list[str]]:
    """Return the profile, as YAML has it, that a user profile of cassandra-stress becomes, and what is left out.

    Parameters
    ----------
    content : mapping
        Of the file, as read from YAML.
    name : str
        Of the workload and the profile, if the file gives none.

    Raises
    ------
    InputError
        For a table or a distribution that cannot be read, with its place in the file.
    """
    if not content.get("table_definition"):
        raise InputError("table_definition: is missing; a user profile of cassandra-stress creates its table with it")
    one = _Converter(content)
    values, rows = one.values()
    operations = one.operations()
    one.rest()
    asked = {marker for operation in operations for marker in _markers(operation["statement"], values)}
    loading = operations[0]["statement"]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(content.get("specname") or name)).strip("-_") or "stress"
    workload = {
        "name": name, "create": one.create, "load": {"statement": loading, "rows": rows},
        "values": {column: value for column, value in values.items() if column in asked}, "operations": operations,
    }  # fmt: skip
    minutes = math.ceil(rows / 5_000 / 60)
    if minutes > 1:
        one.left_out.append(f"load: {rows:,} rows take about {minutes} minutes in each block")
    return {
        "name": name, "title": f"{name}, from a user profile of cassandra-stress",
        "load": {"coordinator": "token_aware", "steady_s": 3.0}, "warm_up": {"threads": 32, "cap_s": 20},
        "workloads": {"threads": [16, 64], "own": [workload]},
    }, one.left_out  # fmt: skip


def _markers(statement: str, values: Mapping[str, Any]) -> list[str]:
    return [name for name in values if re.search(rf'(?<![\w"]){re.escape(name)}(?!\w)|"{re.escape(name)}"', statement)]
