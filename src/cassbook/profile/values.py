"""What a profile says of the values that its statements bind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from cassbook.profile.columns import ColumnType
from cassbook.profile.fields import Positive, Section

Distribution = Literal["zipfian", "uniform", "hotspot", "exponential", "sequential"]

NUMBERS, CONTENT, RANGE = "distribution and count", "size", "between"
#: Types of columns for which each sort of plain values is made.
BINDABLE = {
    NUMBERS: (
        "text", "varchar", "ascii", "tinyint", "smallint", "int", "bigint", "varint", "counter", "float", "double",
        "decimal", "boolean", "uuid", "timeuuid", "timestamp", "date", "time", "duration", "inet", "blob",
    ),
    CONTENT: ("text", "varchar", "ascii", "blob"),
    RANGE: ("float", "double", "decimal"),
}  # fmt: skip
#: How values of a composed type are given, by what `Values.sort` calls them.
_LIST, _MAP, _TUPLE, _USER = "each", "keys and each", "parts", "fields"
_WRITTEN = {
    "list": "{each: {...}, length: [1, 5]}", "set": "{each: {...}, length: [1, 5]}",
    "map": "{keys: {...}, each: {...}, length: [1, 5]}", "tuple": "{parts: [{...}, {...}]}", "vector": "{each: {...}}",
}  # fmt: skip
_SORTS = {"list": _LIST, "set": _LIST, "vector": _LIST, "map": _MAP, "tuple": _TUPLE}
#: What goes with the key that says the sort.
_WITH = {
    "distribution": {"count", "first", "every", "hashed", "format"}, "size": set[str](), "between": set[str](),
    "each": {"keys", "length"}, "parts": set[str](), "fields": set[str](),
}  # fmt: skip


class Values(Section):
    """What is bound to a marker: numbers of a population, random content of a size, or random numbers of a range.

    Or, of collections, tuples, vectors and types of one's own, values of what is in them.
    """

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
    each: Values | None = None  # of elements of a list, set or vector, or of what the keys of a map lead to
    keys: Values | None = None  # of a map
    #: elements of a list, set or map, fixed or from the least to the most
    length: int | tuple[int, int] | None = Field(default=None)
    parts: list[Values] | None = None  # of a tuple, in order
    fields: dict[str, Values] | None = None  # of a type of one's own; those that are not named are null

    @property
    def sort(self) -> str:
        """Which sort it is, as messages call it."""
        if self.distribution is not None:
            return NUMBERS
        if self.each is not None:
            return _LIST if self.keys is None else _MAP
        return next(name for name in ("size", "between", "parts", "fields") if getattr(self, name) is not None)

    def mean_bytes(self, type_: ColumnType | None = None) -> float:
        """Bytes of such a value on average, about; `type_` says how many elements a vector has."""
        parts = type_.parts if type_ else ()
        if self.size is not None:
            return sum(_ends(self.size)) / 2
        if self.each is not None:
            kinds = (self.each,) if self.keys is None else (self.keys, self.each)
            inner = [each.mean_bytes(of) for each, of in zip_longest(kinds, parts[: len(kinds)]) if each]
            count = type_.size if type_ and type_.size else sum(_ends(self.length or 1)) / 2
            return count * sum(each + _LENGTH_BYTES for each in inner)
        if self.parts or self.fields:
            return sum(part.mean_bytes() + _LENGTH_BYTES for part in self.parts or (self.fields or {}).values())
        return _NUMBER_BYTES + len(self.format) - 2

    @field_validator("format")
    @classmethod
    def _one_place(cls, value: str) -> str:
        if value.count("{}") != 1 or "{" in value.replace("{}", "") or "}" in value.replace("{}", ""):
            raise ValueError("has not exactly one {} where the number goes")
        return value

    @field_validator("length")
    @classmethod
    def _some(cls, value: int | tuple[int, int] | None) -> int | tuple[int, int] | None:
        if value is not None and _ends(value)[0] < 0:
            raise ValueError("is below 0; give how many elements, such as 3 or [1, 5]")
        return value

    @model_validator(mode="after")
    def _of_one_sort(self) -> Self:
        given = [name for name in _WITH if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give one of distribution, size, between, each, parts or fields")
        if (self.distribution is None) != (self.count is None):
            raise ValueError("distribution and count go together")
        if self.keys is not None and self.length is None:
            raise ValueError("keys and each need length: how many there are in a map, such as [1, 5]")
        # A default that is written out goes with anything: what a profile's dump says is the same profile.
        said = {name for name, field in type(self).model_fields.items() if getattr(self, name) != field.default}
        if strays := said - {given[0]} - _WITH[given[0]]:
            raise ValueError(f"{', '.join(sorted(strays))} does not go with {given[0]}")
        for bounds in (self.size, self.between, self.length):
            if isinstance(bounds, tuple) and bounds[0] > bounds[1]:
                raise ValueError(f"{bounds[0]} is more than {bounds[1]}")
        return self

    def misfits(self, column: str, type_: ColumnType) -> Iterator[str]:
        """Say why it cannot be bound to a column of a type, and what works; nothing if it can.

        >>> list(Values(size=8).misfits("age", ColumnType("int")))
        ['age is int; use distribution and count']
        >>> list(Values(size=8).misfits("tags", ColumnType("set", (ColumnType("text"),))))
        ['tags is set<text>; use {each: {...}, length: [1, 5]}']
        """
        if not type_.known:
            return
        if type_.fields is not None:
            yield from self._as_user_type(column, type_, dict(zip(type_.fields, type_.parts, strict=True)))
        elif type_.name not in _SORTS:
            fit = [name for name, types in BINDABLE.items() if type_.name in types]
            if self.sort not in fit:
                yield f"{column} is {type_}; use {' or '.join(fit)}"
        elif self.sort != _SORTS[type_.name]:
            yield f"{column} is {type_}; use {_WRITTEN[type_.name]}"
        else:
            yield from self._as_composed(column, type_)

    def _as_composed(self, column: str, type_: ColumnType) -> Iterator[str]:
        if type_.name == "tuple":
            parts = self.parts or []
            if len(parts) != len(type_.parts):
                yield f"{column} is {type_}, with {len(type_.parts)} parts; {len(parts)} are given"
                return
            for number, (part, inner) in enumerate(zip(parts, type_.parts, strict=True), 1):
                yield from part.misfits(f"part {number} of {column}", inner)
            return
        if type_.name == "vector" and self.length is not None:
            yield f"{column} is {type_}, which says how many there are; leave length out"
        if type_.name != "vector" and self.length is None:
            yield f"{column} is {type_}; say how many with length, as in {_WRITTEN[type_.name]}"
        if self.keys is not None:
            yield from self.keys.misfits(f"a key of {column}", type_.parts[0])
        assert self.each is not None  # noqa: S101 - so the sort says
        yield from self.each.misfits(f"an element of {column}", type_.parts[-1])

    def _as_user_type(self, column: str, type_: ColumnType, known: dict[str, ColumnType]) -> Iterator[str]:
        if self.sort != _USER:
            yield f"{column} is {type_}; use {{fields: {{{', '.join(f'{name}: {{...}}' for name in known)}}}}}"
            return
        for name, part in (self.fields or {}).items():
            if name not in known:
                yield f"{type_} has no field {name}; it has {', '.join(known)}"
            else:
                yield from part.misfits(f"{column}.{name}", known[name])


_NUMBER_BYTES, _LENGTH_BYTES = 8, 4


def _ends(value: int | tuple[int, int]) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)
