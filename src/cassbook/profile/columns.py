"""Types of the columns that a user's own statements bind, as far as `create` says them: what can be seen before a run.

Only what is certain is said. A marker whose column, table or type is not plain from the text is left to the server,
which sees it when the run begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cassbook.core.releases import RELEASES

_NUMBERS = (
    "text", "varchar", "ascii", "tinyint", "smallint", "int", "bigint", "varint", "counter", "float", "double",
    "decimal", "boolean", "uuid", "timeuuid", "timestamp", "date", "time", "blob",
)  # fmt: skip
#: Types of columns for which each sort of values is made.
BINDABLE = {
    "distribution and count": _NUMBERS,
    "size": ("text", "varchar", "ascii", "blob"),
    "between": ("float", "double", "decimal"),
}
#: Said of a column of any other type.
_NO_VALUES = ", for which no values are made"
#: How a literal of a type that cannot be bound is written.
_LITERALS = {
    "list": "['a', 'b']", "set": "{'a', 'b'}", "map": "{'a': 1}", "tuple": "(1, 'a')", "inet": "'127.0.0.1'",
    "duration": "1h30m", "vector": "[0.1, 0.2]",
}  # fmt: skip
#: Releases of Cassandra that types came with.
_SINCE = {
    "tinyint": (2, 2), "smallint": (2, 2), "date": (2, 2), "time": (2, 2), "duration": (3, 10), "vector": (5, 0),
}  # fmt: skip

_NAME = r'(?:"(?:[^"]|"")+"|\w+)'
_TABLE = re.compile(rf"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?({_NAME})\s*\(", re.IGNORECASE)
_TYPE = re.compile(rf"CREATE\s+TYPE\s+(?:IF\s+NOT\s+EXISTS\s+)?({_NAME})\s*\(", re.IGNORECASE)
_COLUMN = re.compile(rf"\s*({_NAME})\s+(.+)", re.DOTALL)
_BEHIND_TYPE = re.compile(r"\s+(?:PRIMARY\s+KEY|STATIC|MASKED\s+WITH|CHECK)\b.*", re.IGNORECASE | re.DOTALL)
_OF_TABLE = re.compile(rf"\b(?:INTO|UPDATE|FROM)\s+({_NAME})", re.IGNORECASE)
_INSERT = re.compile(rf"INSERT\s+INTO\s+{_NAME}\s*\(([^()]*)\)\s*VALUES\s*\(", re.IGNORECASE)
_MARKER = r"(\?|:\w+)"
_COMPARED = re.compile(rf"({_NAME})\s*(?:=|!=|<=|>=|<|>)\s*{_MARKER}")
_ADDED = re.compile(rf"({_NAME})\s*=\s*({_NAME})\s*[+-]\s*{_MARKER}")
_IN = re.compile(rf"({_NAME})\s+IN\s*\(([^()]*)\)", re.IGNORECASE)
_IN_LIST = re.compile(rf"({_NAME})\s+IN\s*{_MARKER}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker of a statement: the name that its values go by, its column, the column's type, and if it is a list."""

    name: str
    column: str
    type: str
    listed: bool = False

    def misfit(self, sort: str) -> str:
        """Say why values of a sort cannot be bound to it, and what works; '' if they can."""
        if self.listed:
            return f"{self.column} IN ? takes a list, which cannot be bound; write IN (:a, :b), one marker per value"
        return misfit(sort, self.column, self.type)


def misfit(sort: str, column: str, typename: str) -> str:
    """Say why values of a sort (a key of `BINDABLE`) cannot be bound to a column, and what works; '' if they can.

    >>> misfit("size", "age", "int")
    'age is int; use distribution and count'
    >>> misfit("distribution and count", "age", "int")
    ''
    """
    plain = _outer(typename)
    if plain in BINDABLE[sort]:
        return ""
    fit = [name for name, types in BINDABLE.items() if plain in types]
    if fit:
        return f"{column} is {typename}; use {' or '.join(fit)}"
    literal = _LITERALS.get(plain, "{street: 'a', number: 1}")
    return f"{column} is {typename}{_NO_VALUES}; write a literal into the statement, such as {literal}"


def together(misfits: Iterable[str]) -> str:
    """Join what `misfit` says of several columns; the types that values are made for are listed once, last."""
    said = list(dict.fromkeys(filter(None, misfits)))
    listed = [f"values are made for {', '.join(_NUMBERS)} alone"] if any(_NO_VALUES in each for each in said) else []
    return "; ".join([*said, *listed])


def tables(create: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the type of each column of each table that statements create."""
    return {name: columns for statement in create for name, columns in _created(_TABLE, statement)}


def lacking(create: Iterable[str], engine: str) -> list[str]:
    """Say which types statements name that a release has not, and the releases here that have them."""
    create = list(create)
    own = {name for statement in create for name, _ in _created(_TYPE, statement)}
    version = _version(engine)
    said = {}
    for statement in create:
        for kind in (_TABLE, _TYPE):
            for table, columns in _created(kind, statement):
                for column, typename in columns.items():
                    for used in set(re.findall(r"\w+", typename.lower())) & (set(_SINCE) - own):
                        if version and version < _SINCE[used]:
                            said[f"{table}.{column}"] = f"{table}.{column} is {typename}; {_came_with(used, engine)}"
    return list(said.values())


def _came_with(typename: str, engine: str) -> str:
    since = _SINCE[typename]
    have = [version for version in RELEASES if _version(version) >= since]
    return (
        f"Cassandra has {typename} from {'.'.join(map(str, since))} on, not in {engine}: use --engine "
        f"{' or '.join(have)}, or another type"
    )


def _version(engine: str) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", engine)
    return tuple(map(int, found.groups())) if found else ()


def markers(statement: str, known: Mapping[str, Mapping[str, str]]) -> list[Marker]:
    """Return the markers of a statement without texts and comments, whose columns and types are certain."""
    table = _OF_TABLE.search(statement)
    columns = known.get(_plain(table[1])) if table else None
    if not columns:
        return []
    found = [
        Marker(_bound(column, marker), column, columns[column])
        for name, marker in _pairs(statement)
        if (column := _plain(name)) in columns
    ]
    found += [
        Marker(f"in({column})" if marker == "?" else marker[1:], column, columns[column], listed=True)
        for name, marker in _IN_LIST.findall(statement)
        if (column := _plain(name)) in columns
    ]
    return found


def _pairs(statement: str) -> Iterator[tuple[str, str]]:
    """Column and marker, wherever one stands for the other's value."""
    if insert := _INSERT.search(statement):
        names, values = _split(insert[1]), _split(_within(statement, insert.end()))
        if len(names) == len(values):
            yield from ((name, value) for name, value in zip(names, values, strict=True) if _is_marker(value))
    yield from _COMPARED.findall(statement)
    yield from ((name, marker) for name, other, marker in _ADDED.findall(statement) if name == other)
    for name, listed in _IN.findall(statement):
        yield from ((name, value) for value in _split(listed) if _is_marker(value))


def _is_marker(text: str) -> bool:
    return re.fullmatch(_MARKER, text) is not None


def _bound(column: str, marker: str) -> str:
    return column if marker == "?" else marker[1:]


def _created(kind: re.Pattern[str], statement: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Name of the table or type that a statement creates, and the types of its columns or fields."""
    begun = kind.match(statement.strip())
    if not begun:
        return
    columns = {}
    for part in _split(_within(statement.strip(), begun.end())):
        column = _COLUMN.fullmatch(part)
        if column and not re.match(r"PRIMARY\s+KEY\b", part, re.IGNORECASE):
            columns[_plain(column[1])] = re.sub(r"\s+", "", _BEHIND_TYPE.sub("", column[2]))
    yield _plain(begun[1]), columns


def _within(text: str, begin: int) -> str:
    """Text from `begin`, right behind a bracket, up to the bracket that closes it."""
    depth = 1
    for place in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return text[begin:place]
    return text[begin:]


def _split(text: str) -> list[str]:
    """Parts between commas that no bracket encloses."""
    parts, depth, begin = [], 0, 0
    for place, sign in enumerate(text):
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(sign, 0)
        if sign == "," and not depth:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [*parts, text[begin:].strip()]


def _plain(name: str) -> str:
    """A name as the server has it: in lower case unless it is quoted."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _outer(typename: str) -> str:
    """A type without what is in its brackets, and within frozen<> the one that is."""
    typename = typename.lower()
    if frozen := re.fullmatch(r"frozen<(.*)>", typename):
        return _outer(frozen[1])
    return typename.partition("<")[0]
