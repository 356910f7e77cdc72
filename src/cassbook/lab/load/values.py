"""Values for a user's own statements, drawn as a profile says and encoded by the column's type before any is sent."""

from __future__ import annotations

import ipaddress
import struct
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
from cassandra.cqltypes import UserType
from cassandra.util import Date, Duration, Time, uuid_from_time

from cassbook.core.errors import InputError
from cassbook.lab.load import keys, wire
from cassbook.profile.columns import ColumnType, column_type
from cassbook.profile.values import CONTENT, NUMBERS, RANGE, Values

#: Random contents in use, as for the usertable's fields.
_CONTENTS = 4096
_PRINTABLE = bytes(32 + i % 95 for i in range(256))
_NODE, _CLOCK = 0x010000000000, 0x80  # of a time-based UUID; the multicast bit says that it is no real address

#: What is drawn for each request: a number, a content, or a tuple of what is within a composed value.
Drawn = npt.NDArray[np.int64] | npt.NDArray[np.float64] | list[Any]

#: What a number becomes in a column of each type.
FROM_NUMBER: dict[str, Callable[[int, str], Any]] = {
    **dict.fromkeys(("text", "varchar", "ascii"), lambda n, form: form.replace("{}", str(n))),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "varint", "counter"), lambda n, form: n),
    **dict.fromkeys(("float", "double"), lambda n, form: float(n)),
    "decimal": lambda n, form: Decimal(n),
    "boolean": lambda n, form: bool(n % 2),
    "uuid": lambda n, form: uuid.UUID(int=n),
    "timeuuid": lambda n, form: uuid_from_time(n / 1000, _NODE, _CLOCK),
    "timestamp": lambda n, form: n,  # milliseconds since 1970
    "date": lambda n, form: Date(n),  # days since 1970
    "time": lambda n, form: Time(n),  # nanoseconds since midnight
    "duration": lambda n, form: Duration(0, 0, n),  # nanoseconds
    "inet": lambda n, form: str(ipaddress.ip_address(n)),  # IPv4 below 2**32
    "blob": lambda n, form: struct.pack(">q", n),
}
_FROM_CONTENT: dict[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("text", "varchar", "ascii"), lambda content: content.translate(_PRINTABLE).decode("ascii")),
    "blob": lambda content: content,
}
_FROM_RANGE: dict[str, Callable[[float], Any]] = {
    **dict.fromkeys(("float", "double"), float),
    "decimal": lambda x: Decimal(str(x)),
}


_MAKERS: dict[str, dict[str, Callable[..., Any]]] = {
    NUMBERS: FROM_NUMBER, CONTENT: _FROM_CONTENT, RANGE: _FROM_RANGE
}  # fmt: skip


def type_of(driver_type: Any) -> ColumnType:
    """Return a type of the driver's as a profile's statements have it."""
    name = driver_type.typename
    if issubclass(driver_type, UserType):
        return ColumnType(name, tuple(map(type_of, driver_type.subtypes)), tuple(driver_type.fieldnames))
    if size := getattr(driver_type, "vector_size", 0):
        return ColumnType("vector", (type_of(driver_type.subtype),), size=int(size))
    inner = tuple(map(type_of, driver_type.subtypes))
    if name == "frozen" or name.endswith("ReversedType"):
        return inner[0]
    return ColumnType(name, inner) if inner else column_type(name)


def draw(values: Values, size: int, rng: np.random.Generator, type_: ColumnType) -> Drawn:
    """Draw `size` values of a type: numbers of a population, numbers of a range, contents, or what is made of them."""
    if values.between is not None:
        return rng.uniform(*values.between, size)
    if values.size is not None:
        least, most = values.size if isinstance(values.size, tuple) else (values.size, values.size)
        contents = [rng.bytes(n) for n in rng.integers(least, most + 1, _CONTENTS).tolist()]
        return [contents[i] for i in rng.integers(_CONTENTS, size=size).tolist()]
    if values.distribution is None:
        return _composed(values, size, rng, type_)
    assert values.count is not None  # noqa: S101 - a distribution has one
    return _numbers(values, keys.draw(values.distribution, values.count, size, rng))


def _composed(values: Values, size: int, rng: np.random.Generator, type_: ColumnType) -> Drawn:
    """Draw what is within each value: elements, pairs of a key and an element, parts, or fields."""
    if values.each is None:
        inner = [
            [None] * size if part is None else _listed(draw(part, size, rng, of)) for part, of in _inner(values, type_)
        ]
        return list(zip(*inner, strict=True))
    least, most = (type_.size, type_.size) if type_.size else _ends(values.length)
    lengths = rng.integers(least, most + 1, size)
    ends = np.cumsum(lengths).tolist()
    elements = _listed(draw(values.each, int(ends[-1]) if ends else 0, rng, type_.parts[-1]))
    if values.keys is not None:
        elements = list(zip(_listed(draw(values.keys, len(elements), rng, type_.parts[0])), elements, strict=True))
    return [tuple(elements[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]


def _inner(values: Values, type_: ColumnType) -> list[tuple[Values | None, ColumnType]]:
    """Return what is given for each part of a tuple or field of a type of one's own; None for a field that is null."""
    fields = values.fields or {}
    given: Sequence[Values | None] = values.parts or [fields.get(name) for name in type_.fields or ()]
    return list(zip(given, type_.parts, strict=True))


def _ends(length: int | tuple[int, int] | None) -> tuple[int, int]:
    return length if isinstance(length, tuple) else (length or 0, length or 0)


def _listed(drawn: Drawn) -> list[Any]:
    return drawn if isinstance(drawn, list) else drawn.tolist()


def go_through(values: Values, begin: int, size: int, rng: np.random.Generator, type_: ColumnType) -> Drawn:
    """Values of rows `begin` to `begin + size` as they are loaded: a population is gone through in order."""
    if values.count is None:
        return draw(values, size, rng, type_)
    return _numbers(values, np.arange(begin, begin + size, dtype=np.int64) // values.every % values.count)


def _numbers(values: Values, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    numbers = numbers + values.first
    return keys.fnv64(numbers) if values.hashed else numbers


def maker(values: Values, type_: ColumnType) -> Callable[[Any], Any]:
    """Return what makes a value that the driver encodes of one that was drawn; they fit: `Values.misfits`."""
    if values.each is not None:
        each = maker(values.each, type_.parts[-1])
        if values.keys is not None:
            key = maker(values.keys, type_.parts[0])
            return lambda drawn: {key(k): each(v) for k, v in drawn}
        return lambda drawn: [each(one) for one in drawn]
    if values.parts is not None or values.fields is not None:
        made = [None if part is None else maker(part, of) for part, of in _inner(values, type_)]
        return lambda drawn: tuple(make and make(one) for make, one in zip(made, drawn, strict=True))
    make = _MAKERS[values.sort][type_.name]
    if values.sort != NUMBERS:
        return make
    form = values.format
    return lambda n: make(n, form)


def encode(values: Values | None, drawn: Drawn, column: Any, protocol: int, where: str) -> list[bytes]:
    """Encode drawn values for a bound column, each as a [bytes] value of a version of the native protocol.

    Without `values` what was drawn is what the driver read, as of keys that were sampled.

    InputError, naming `where`, if the column's type is not one that these values can have, or a value is too large for
    it.
    """
    type_ = type_of(column.type)
    if not type_.known:
        raise InputError(f"{where}: {column.name} is {type_}, for which no values are made; write a literal into it")
    if wrong := "; ".join(values.misfits(column.name, type_)) if values else "":
        raise InputError(f"{where}: {wrong}")
    make = maker(values, type_) if values else lambda one: one
    once: dict[Any, bytes] = {}
    encoded = []
    for one in _listed(drawn):
        if one not in once:
            try:
                once[one] = wire.value(column.type.to_binary(make(one), protocol))
            except (struct.error, ValueError, TypeError, OverflowError) as error:
                raise InputError(f"{where}: {one!r} is no value for {column.name}, a {type_} ({error})") from None
        encoded.append(once[one])
    return encoded
