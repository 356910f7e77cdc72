"""Values for a user's own statements, drawn as a profile says and encoded by the column's type before any is sent."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
from cassandra.util import Date, Time, uuid_from_time

from cassbook.core.errors import InputError
from cassbook.lab.load import keys, wire
from cassbook.profile.columns import misfit, together
from cassbook.profile.workloads import Values

#: Random contents in use, as for the usertable's fields.
_CONTENTS = 4096
_PRINTABLE = bytes(32 + i % 95 for i in range(256))
_NODE, _CLOCK = 0x010000000000, 0x80  # of a time-based UUID; the multicast bit says that it is no real address

Drawn = npt.NDArray[np.int64] | npt.NDArray[np.float64] | list[bytes]

#: What a number becomes in a column of each type.
_FROM_NUMBER: dict[str, Callable[[int, str], Any]] = {
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


def draw(values: Values, size: int, rng: np.random.Generator) -> Drawn:
    """Draw `size` values: numbers of the population, numbers of the range, or contents."""
    if values.between is not None:
        return rng.uniform(*values.between, size)
    if values.size is not None:
        least, most = values.size if isinstance(values.size, tuple) else (values.size, values.size)
        contents = [rng.bytes(n) for n in rng.integers(least, most + 1, _CONTENTS).tolist()]
        return [contents[i] for i in rng.integers(_CONTENTS, size=size).tolist()]
    assert values.distribution is not None  # noqa: S101 - the profile has one of the three
    assert values.count is not None  # noqa: S101 - a distribution has one
    return _numbers(values, keys.draw(values.distribution, values.count, size, rng))


def go_through(values: Values, begin: int, size: int, rng: np.random.Generator) -> Drawn:
    """Values of rows `begin` to `begin + size` as they are loaded: a population is gone through in order."""
    if values.count is None:
        return draw(values, size, rng)
    return _numbers(values, np.arange(begin, begin + size, dtype=np.int64) // values.every % values.count)


def _numbers(values: Values, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    numbers = numbers + values.first
    return keys.fnv64(numbers) if values.hashed else numbers


def encode(values: Values, drawn: Drawn, column: Any, protocol: int, where: str) -> list[bytes]:
    """Encode drawn values for a bound column, each as a [bytes] value of a version of the native protocol.

    InputError, naming `where`, if the column's type is not one that these values can have, or a value is too large for
    it.
    """
    typename = column.type.typename
    makers: dict[str, Any] = _FROM_NUMBER if values.count else _FROM_CONTENT if values.size else _FROM_RANGE
    if wrong := together([misfit(values.sort, column.name, typename)]):
        raise InputError(f"{where}: {wrong}")
    make = makers[typename]
    if values.count:
        form = values.format
        make = lambda n: _FROM_NUMBER[typename](n, form)  # noqa: E731 - one of three that go the same way
    once: dict[Any, bytes] = {}
    encoded = []
    for one in drawn if isinstance(drawn, list) else drawn.tolist():
        if one not in once:
            try:
                once[one] = wire.value(column.type.to_binary(make(one), protocol))
            except (struct.error, ValueError, TypeError, OverflowError) as error:
                raise InputError(f"{where}: {one!r} is no value for {column.name}, a {typename} ({error})") from None
        encoded.append(once[one])
    return encoded
