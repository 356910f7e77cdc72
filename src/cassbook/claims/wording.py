"""Numbers as the papers' sentences and our notes spell them."""

from __future__ import annotations

from cassbook.claims.interval import Interval, high, low

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def in_words(number: int) -> str:
    """A small whole number as a word, in digits beyond twelve.

    >>> in_words(6)
    'six'
    """
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def figure(x: Interval | float, digits: int = 1) -> str:
    """An interval for a note: one number if both ends round to it, else 'a to b'.

    >>> figure(0.25, 2)
    '0.25'
    """
    ends = (f"{low(x):.{digits}f}", f"{high(x):.{digits}f}")
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)
