"""Types of the columns that a user's own statements bind, as far as `create` says them: what can be seen before a run.

Only what is certain is said. A marker whose column, table or type is not plain from the text is left to the server,
which sees it when the run begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cassbook.profile.syntax import came_with, misnamed, version_of

#: Releases of Cassandra that types came with.
_SINCE = {
    "tinyint": (2, 2), "smallint": (2, 2), "date": (2, 2), "time": (2, 2), "duration": (3, 10), "vector": (5, 0),
}  # fmt: skip
#: From this release on a column's type of one's own need not be frozen (CASSANDRA-7423).
_NOT_FROZEN = (3, 6)

_NAME = r'(?:"(?:[^"]|"")+"|\w+)'
_TABLE = re.compile(rf"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?({_NAME})\s*\(", re.IGNORECASE)
_TYPE = re.compile(rf"CREATE\s+TYPE\s+(?:IF\s+NOT\s+EXISTS\s+)?({_NAME})\s*\(", re.IGNORECASE)
_COLUMN = re.compile(rf"\s*({_NAME})\s+(.+)", re.DOTALL)
_BEHIND_TYPE = re.compile(r"\s+(?:PRIMARY\s+KEY|STATIC|MASKED\s+WITH|CHECK)\b.*", re.IGNORECASE | re.DOTALL)
_OF_TABLE = re.compile(rf"\b(?:INTO|UPDATE|FROM)\s+({_NAME})", re.IGNORECASE)
_INSERT = re.compile(rf"INSERT\s+INTO\s+{_NAME}\s*\(([^()]*)\)\s*VALUES\s*\(", re.IGNORECASE)
_MARKER = r"(\?|:\w+)"
_COMPARED = re.compile(rf"(?<![.\w\"])({_NAME})\s*(?:=|!=|<=|>=|<|>)\s*{_MARKER}")
_ADDED = re.compile(rf"({_NAME})\s*=\s*({_NAME})\s*[+-]\s*{_MARKER}")
_IN = re.compile(rf"({_NAME})\s+IN\s*\(([^()]*)\)", re.IGNORECASE)
_OPTION = re.compile(rf"\b(TTL|TIMESTAMP|LIMIT)\s+{_MARKER}", re.IGNORECASE)
#: Types of what is bound to parts of a statement that are no column.
_OF_OPTION = {"ttl": "int", "timestamp": "bigint", "limit": "int"}
_IN_LIST = re.compile(rf"({_NAME})\s+IN\s*{_MARKER}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type of CQL, without what is frozen of it.

    Attributes
    ----------
    name : str
        int, list, vector; or what a type of one's own is called.
    parts : tuple of ColumnType
        What is within it: elements, keys and elements, parts of a tuple, fields of a type of one's own.
    fields : tuple of str, optional
        Names of the fields of a type of one's own.
    size : int
        Elements of a vector.
    known : bool
        Whether it is one of Cassandra's or was created here.
    """

    name: str
    parts: tuple[ColumnType, ...] = ()
    fields: tuple[str, ...] | None = None
    size: int = 0
    known: bool = True

    def __str__(self) -> str:
        """As it is written.

        >>> str(column_type("frozen<map<text, list<int>>>"))
        'map<text, list<int>>'
        """
        if self.fields is not None or not self.parts:
            return self.name
        inner = [*map(str, self.parts), *([str(self.size)] if self.size else [])]
        return f"{self.name}<{', '.join(inner)}>"


_PLAIN = frozenset({
    "ascii", "bigint", "blob", "boolean", "counter", "date", "decimal", "double", "duration", "float", "inet", "int",
    "smallint", "text", "time", "timestamp", "timeuuid", "tinyint", "uuid", "varchar", "varint",
})  # fmt: skip
_COMPOSED = {"list": 1, "set": 1, "map": 2, "vector": 2, "tuple": None}


def column_type(text: str, own: Mapping[str, Mapping[str, str]] | None = None) -> ColumnType:
    """Read a type; `own` are the types that statements create, by name, with the types of their fields.

    >>> str(column_type("vector<float, 3>")), column_type("place", {"place": {"street": "text"}}).fields
    ('vector<float, 3>', ('street',))
    """
    text = text.strip()
    own = own or {}
    outer, bracket, inner = text.partition("<")
    name = _plain(outer.strip())
    parts = _split(inner.strip().removesuffix(">")) if bracket else []
    if name == "frozen" and len(parts) == 1:
        return column_type(parts[0], own)
    if name in own and not parts:
        fields = own[name]
        return ColumnType(name, tuple(column_type(each, own) for each in fields.values()), tuple(fields))
    if name in _PLAIN and not parts:
        return ColumnType(name)
    if name not in _COMPOSED or not parts or _COMPOSED[name] not in {None, len(parts)}:
        return ColumnType(text, known=False)
    if name == "vector":
        return ColumnType(name, (column_type(parts[0], own),), size=int(parts[1]) if parts[1].isdecimal() else 0)
    return ColumnType(name, tuple(column_type(each, own) for each in parts))


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker of a statement: the name that its values go by, its column, and the type of what is bound."""

    name: str
    column: str
    type: ColumnType


def tables(create: Iterable[str]) -> dict[str, dict[str, ColumnType]]:
    """Return the type of each column of each table that statements create."""
    create = list(create)
    own = {name: fields for statement in create for name, fields in _created(_TYPE, statement)}
    return {
        name: {column: column_type(text, own) for column, text in columns.items()}
        for statement in create for name, columns in _created(_TABLE, statement)
    }  # fmt: skip


def lacking(create: Iterable[str], engine: str) -> list[str]:
    """Say which types and names in statements a release does not take, and what works."""
    create = list(create)
    own = {name for statement in create for name, _ in _created(_TYPE, statement)}
    version, said, names = version_of(engine), dict[str, str](), list[str]()
    for statement in create:
        for kind in (_TABLE, _TYPE):
            if begun := kind.match(statement.strip()):
                names += [begun[1], *_names(statement.strip(), begun)]
            for table, columns in _created(kind, statement):
                for column, typename in columns.items():
                    for used in set(re.findall(r"\w+", typename.lower())) & (set(_SINCE) - own):
                        if version and version < _SINCE[used]:
                            lacks = came_with(_SINCE[used], used, engine, ", or another type")
                            said[f"{table}.{column}"] = f"{table}.{column} is {typename}; {lacks}"
                    if kind is _TABLE and version and version < _NOT_FROZEN and typename.lower() in own:
                        lacks = came_with(_NOT_FROZEN, "types of your own that are not frozen", engine)
                        said[f"{table}.{column}"] = f"{table}.{column} is {typename}; {lacks}, or frozen<{typename}>"
    return [*said.values(), *misnamed(names, engine, _plain)]


def _names(statement: str, begun: re.Match[str]) -> Iterator[str]:
    """Names of columns or fields as they are written."""
    for part in _split(_within(statement, begun.end())):
        column = _COLUMN.fullmatch(part)
        if column and not re.match(r"PRIMARY\s+KEY\b", part, re.IGNORECASE):
            yield column[1]


def table_of(statement: str) -> str:
    """Return the table that a statement is about; '' where that is not plain."""
    table = _OF_TABLE.search(statement)
    return _plain(table[1]) if table else ""


def markers(statement: str, known: Mapping[str, Mapping[str, ColumnType]]) -> list[Marker]:
    """Return the markers of a statement without texts and comments, whose columns and types are certain."""
    columns = known.get(table_of(statement))
    if not columns:
        return []
    found = [
        Marker(_bound(column, marker), column, columns[column])
        for name, marker in _pairs(statement)
        if (column := _plain(name)) in columns
    ]
    found += [
        Marker(_bound(f"in({column})", marker), f"{column} IN ?", ColumnType("list", (columns[column],)))
        for name, marker in _IN_LIST.findall(statement)
        if (column := _plain(name)) in columns
    ]
    return found + [
        Marker(_bound(f"[{word.lower()}]", marker), word.upper(), ColumnType(_OF_OPTION[word.lower()]))
        for word, marker in _OPTION.findall(statement)
    ]


def strangers(statement: str, known: Mapping[str, Mapping[str, ColumnType]]) -> list[str]:
    """Say which table or columns of a statement without texts and comments nothing creates."""
    name = table_of(statement)
    if not name or not known or name.startswith("usertable"):  # YCSB's is the laboratory's own
        return []
    if name not in known:
        return [f"no statement under create makes the table {name}; there is {', '.join(known)}"]
    columns, insert = known[name], _INSERT.search(statement)
    named = [*(_split(insert[1]) if insert else []), *(column for column, _ in _COMPARED.findall(statement))]
    unknown = [column for column in dict.fromkeys(map(_plain, named)) if column not in columns]
    return [f"{name} has no column {column}; it has {', '.join(columns)}" for column in unknown]


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


def primary_key(statement: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of the partition key and of the clustering key of a CREATE TABLE without texts and comments.

    >>> primary_key("CREATE TABLE t (a int, b int, c int, PRIMARY KEY ((a, b), c))")
    (('a', 'b'), ('c',))
    >>> primary_key("CREATE TABLE t (a int PRIMARY KEY, b int)")
    (('a',), ())
    """
    begun = _TABLE.match(statement.strip())
    for part in _split(_within(statement.strip(), begun.end())) if begun else ():
        if whole := re.match(r"PRIMARY\s+KEY\s*\(", part, re.IGNORECASE):
            keys = _split(_within(part, whole.end()))
            first = _split(keys[0][1:-1]) if keys[0].startswith("(") else keys[:1]
            return tuple(map(_plain, first)), tuple(map(_plain, keys[1:]))
        column = _COLUMN.fullmatch(part)
        if column and re.search(r"\bPRIMARY\s+KEY\b", column[2], re.IGNORECASE):
            return (_plain(column[1]),), ()
    return (), ()
