"""Printed numbers as intervals, and arithmetic through them.

A number printed as 13 % may have been anything that rounds to 13: it is the interval 12.5 to 13.5. Whether two
printed numbers agree is decided by sending such intervals through the computation (mpmath's interval arithmetic,
rounded outwards) and asking whether the ends overlap. No tolerance is chosen by anybody.

Write formulas so that each printed number stands in them once (`1 - 1 / (b / a)` rather than `(b - a) / b`):
interval arithmetic takes two mentions of one number for two numbers, and its answer would be too wide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, TypeAlias

from mpmath import iv

from cassbook.core.errors import InputError

#: An `mpmath.iv` interval; the library is untyped.
Interval: TypeAlias = Any

#: Words by which a sentence gives up the precision of trailing zeros.
HEDGES = ("around", "about", "approximately")
#: The word by which it says that the number was not quite reached.
SHORT_OF = "almost"

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:E[-+]?\d+)?", re.IGNORECASE)


def interval(low: float | str, high: float | str) -> Interval:
    """Interval from `low` to `high`, both included."""
    return iv.mpf([str(low), str(high)])


def exactly(value: float | str) -> Interval:
    """Interval of one number that carries no rounding (a count of threads, a share)."""
    return iv.mpf(str(value))


@cache  # a search for slips asks for the same few numbers tens of thousands of times
def as_printed(text: str, hedged: bool = False) -> Interval:
    """All numbers that round to a printed one: half a unit of its last digit either way.

    `text` is one number ('17', '-3.4', '0.9982', '9E-08'), else an InputError. Where the sentence is `hedged` ('around'
    or the like), trailing zeros of a whole number are no digits: 'around 13000' is 12500 to 13500.

    >>> low(as_printed("17")), high(as_printed("17"))
    (16.5, 17.5)
    """
    number, unit = _number_and_unit(text, hedged)
    return iv.mpf([str(number - unit / 2), str(number + unit / 2)])


def _number_and_unit(text: str, hedged: bool) -> tuple[Decimal, Decimal]:
    """Return a printed number and the unit of its last digit."""
    try:
        number = Decimal(text)
        place = number.as_tuple().exponent
    except InvalidOperation:
        raise InputError(f"{text!r} is not a printed number such as 17, -3.4 or 9E-08") from None
    if not isinstance(place, int):
        raise InputError(f"{text!r} is not finite")
    if hedged and place == 0 and number:
        place = len(text) - len(text.rstrip("0"))
    return number, Decimal(1).scaleb(place)


def short_of(text: str) -> Interval:
    """What 'almost 25' can be: up to one unit of the last digit below it, and no more than it.

    >>> low(short_of("25")), high(short_of("25"))
    (24.0, 25.0)
    """
    number, unit = _number_and_unit(text, hedged=True)
    return iv.mpf([str(number - unit), str(number)])


def numbers_in(text: str) -> list[Interval]:
    """Every number of a printed phrase as an interval; 'around' or 'almost' in the phrase holds for all of them."""
    numbers = _NUMBER.findall(text)
    if SHORT_OF in text:
        return [short_of(number) for number in numbers]
    return [as_printed(number, any(word in text for word in HEDGES)) for number in numbers]


def cut_numbers(text: str) -> list[Interval]:
    """Every number of a printed phrase as what it can be if its last digit was cut: up to a unit farther from zero.

    Empty where the phrase says 'around' or 'almost': what is rounded on purpose was not cut.

    >>> [(low(x), high(x)) for x in cut_numbers("66% of -3")]
    [(66.0, 67.0), (-4.0, -3.0)]
    """
    if SHORT_OF in text or any(word in text for word in HEDGES):
        return []
    cut = []
    for printed in _NUMBER.findall(text):
        number, unit = _number_and_unit(printed, hedged=False)
        ends = sorted((number, number + (-unit if printed.startswith("-") else unit)))
        cut.append(iv.mpf([str(end) for end in ends]))
    return cut


def decimals_in(text: str) -> int:
    """Decimals of the most precise number of a printed phrase, 0 if it has none.

    >>> decimals_in("0.9980"), decimals_in("34 and 50%"), decimals_in("9E-08")
    (4, 0, 8)
    """
    places = [Decimal(number).as_tuple().exponent for number in _NUMBER.findall(text)]
    return max((-place for place in places if isinstance(place, int)), default=0)


def low(x: Interval | float) -> float:
    """Lower end of an interval."""
    return float(iv.mpf(x).a)


def high(x: Interval | float) -> float:
    """Upper end of an interval."""
    return float(iv.mpf(x).b)


def middle(x: Interval | float) -> float:
    """Centre of an interval."""
    return (low(x) + high(x)) / 2


def overlap(a: Interval | float, b: Interval | float) -> bool:
    """Whether two intervals have a number in common, that is, whether they can be the same number."""
    return low(a) <= high(b) and low(b) <= high(a)


def possibly_at_most(a: Interval | float, b: Interval | float) -> bool:
    """Whether `a` can be at most `b` within their rounding: the rule for statements on an order."""
    return low(a) <= high(b)


def mean(values: Iterable[Interval]) -> Interval:
    """Arithmetic mean; an InputError where there is nothing."""
    listed = list(values)
    if not listed:
        raise InputError("the mean of no numbers")
    return sum(listed, exactly(0)) / len(listed)


def largest(values: Iterable[Interval]) -> Interval:
    """Interval of the maximum."""
    listed = list(values)
    return interval(max(map(low, listed)), max(map(high, listed)))


def least(values: Iterable[Interval]) -> Interval:
    """Interval of the minimum."""
    listed = list(values)
    return interval(min(map(low, listed)), min(map(high, listed)))


def magnitude(x: Interval) -> Interval:
    """Absolute value of an interval."""
    return abs(x)


def percent_above(x: Interval, base: Interval) -> Interval:
    """By how many percent of `base` is `x` above it; each stands in the formula once."""
    return (x / base - 1) * 100


def percent_below(x: Interval, base: Interval) -> Interval:
    """By how many percent of `base` is `x` below it."""
    return (1 - x / base) * 100
