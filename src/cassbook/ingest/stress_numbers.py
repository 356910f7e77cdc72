"""Numbers as cassandra-stress prints them: by Java's `String.format`, in the locale of the machine that it ran on.

Latencies have one decimal (`%,.1f`), rates and counts none (`%,.0f`, `%,d`), memory three (`%.3f`). So 4.658 op/s are
four thousand, where 4.658 GiB are less than five. Which sign is which is settled by the whole log: the last separator
before exactly one digit of a latency is the decimal sign. Lines of intervals group no thousands, but where the decimal
sign is a comma they have a comma within numbers and between them; their headings say which numbers have decimals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from cassbook.core.errors import InputError
from cassbook.ingest.summary import number_of

#: What groups thousands besides comma and full stop: apostrophes, blanks of all kinds, and what becomes of a blank that
#: the console's encoding lacks.
_OTHER_GROUPS = "'\u2019 \u00a0\u2009\u202f?\ufffd"
_SEPARATOR = f"[.,{_OTHER_GROUPS}]"
TOKEN = rf"NaN|Infinity|[+-]?\d+(?:{_SEPARATOR}\d+)*"
_GROUPED = re.compile(rf"[1-9]\d{{0,2}}(?:({_SEPARATOR})\d{{3}})(?:\1\d{{3}})*", re.ASCII)
_SIGNS = {".": ",", ",": "."}
_NO_NUMBER = ("NaN", "Infinity")
_THOUSANDTHS = 3
WORDS = {".": "full stop", ",": "comma"}


def _form(decimal: str) -> re.Pattern[str]:
    groups = f"[{_SIGNS[decimal]}{_OTHER_GROUPS}]"
    return re.compile(
        rf"([+-]?(?:\d+|\d{{1,3}}({groups})\d{{3}}(?:\2\d{{3}})*))(?:{re.escape(decimal)}(\d+))?", re.ASCII
    )


_FORMS = {decimal: _form(decimal) for decimal in _SIGNS}


@dataclass(slots=True)
class Notation:
    """The decimal sign of a log, settled by what is seen of it."""

    decimal: str = "."
    seen: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    grouped_by: dict[str, tuple[int, str]] = field(default_factory=dict)

    def see(self, line: int, token: str, decimals: int) -> None:
        """Take what a number with so many decimals shows of the signs."""
        if token in _NO_NUMBER:
            return
        *_, sign, rest = ("", *re.split(f"({_SEPARATOR})", token))
        if decimals and sign in _SIGNS and len(rest) == decimals:
            self._decimal(line, sign)
        elif not decimals and (grouped := _GROUPED.fullmatch(token)) is not None:
            self.grouped_by.setdefault(grouped[1], (line, token))

    def see_row(self, line: int, texts: Sequence[str], decimals: Sequence[int]) -> None:
        """Take what a line of an interval shows of the decimal sign."""
        if len(texts) == len(decimals):
            if any("." in text for text, places in zip(texts, decimals, strict=True) if places):
                self._decimal(line, ".")
        elif _joined(texts, decimals) is not None:
            self._decimal(line, ",")

    def _decimal(self, line: int, sign: str) -> None:
        self.seen[sign] += 1
        self.first.setdefault(sign, line)

    def settle(self, path: object) -> None:
        """Settle the decimal sign.

        Raise InputError if the log shows both or, where it has a full stop before three digits, neither.
        """
        remedy = "run it with LC_ALL=C, or Java with -Duser.language=en, and read that log"
        if self.seen["."] == self.seen[","]:
            if self.seen["."]:
                point, comma = self.first["."], self.first[","]
                raise InputError(
                    f"{path}, line {max(point, comma)}: has a decimal {WORDS['.' if point > comma else ',']}, line "
                    f"{min(point, comma)} the other sign, so numbers could be wrong by a factor of 1000; {remedy}"
                )
            if "." in self.grouped_by:
                line, token = self.grouped_by["."]
                raise InputError(
                    f"{path}, line {line}: {token} may be thousands or a decimal, and no latency in the log shows its "
                    f"decimal sign; {remedy}"
                )
        self.decimal = "," if self.seen[","] > self.seen["."] else "."

    def value(self, token: str, decimals: int) -> float | None:
        """Return the number that a token of the results is; None if it is none, or not in this notation."""
        if token in _NO_NUMBER:
            return float(token)
        parts = _FORMS[self.decimal].fullmatch(token)
        # Three digits behind the decimal sign of a number that has no decimals are thousands of another notation.
        if parts is None or (not decimals and len(parts[3] or "") == _THOUSANDTHS):
            return None
        whole = re.sub(_SEPARATOR, "", parts[1])
        return float(f"{whole}.{parts[3] or 0}")

    def row(self, texts: Sequence[str], decimals: Sequence[int]) -> list[float] | None:
        """Return the numbers of an interval's line, one for each heading; None if it has not one under each."""
        whole = list(texts) if self.decimal == "." else _joined(texts, decimals)
        numbers = [number_of(text) for text in whole or ()]
        if len(numbers) != len(decimals):
            return None
        known = [number for number in numbers if number is not None]
        return known if len(known) == len(numbers) else None


def _joined(texts: Sequence[str], decimals: Sequence[int]) -> list[str] | None:
    """Put numbers together that a decimal comma cut in two; None if they are not such a line's."""
    left, numbers = list(reversed(texts)), []
    for places in decimals:
        if not left:
            return None
        number = left.pop()
        if places and number not in _NO_NUMBER:
            rest = left.pop() if left else ""
            if not re.fullmatch(rf"\d{{{places}}}", rest, re.ASCII) or not re.fullmatch(r"[+-]?\d+", number, re.ASCII):
                return None
            number = f"{number}.{rest}"
        elif "." in number:
            return None
        numbers.append(number)
    return numbers if not left else None
