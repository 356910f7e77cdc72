"""What a paper says, what follows from its own numbers, and the verdict on the two."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, log10
from typing import Literal, TypeAlias

from cassbook.claims.interval import (
    Interval,
    cut_numbers,
    decimals_in,
    high,
    interval,
    low,
    middle,
    numbers_in,
    overlap,
)
from cassbook.core.errors import InputError

Paper = Literal["g20", "pbs", "g21", "thesis", "d16"]
Verdict = Literal["reproduced", "other_reading", "not_reproduced", "untestable"]
#: What is the matter with a claim that does not hold as it stands; '' where nothing is.
#: not_measured: said to be measured, it follows from other tables; contradicted: the paper's own numbers say otherwise;
#: overstated: it holds in some of the cases that it speaks of; misprint: a digit, sign, letter or word slipped; base:
#: right of another base, average or definition; wording: right in another sense of its words; digits: its last digit
#: is off: cut, or rounded otherwise.
Matter = Literal["", "not_measured", "contradicted", "overstated", "misprint", "base", "wording", "digits"]

#: equals: the printed digits; below, above: a bound that the sentence sets; near: within a tenth, as the requests in
#: flight of a closed loop and its threads.
Relation = Literal["equals", "below", "above", "near"]

#: text: a sentence; cell: a derived cell of a table; forensic: a question we put to a table.
Kind = Literal["text", "cell", "forensic"]

PAPERS: tuple[Paper, ...] = ("g20", "pbs", "g21", "thesis", "d16")
VERDICTS: tuple[Verdict, ...] = ("reproduced", "other_reading", "not_reproduced", "untestable")
#: From the gravest on.
MATTERS: tuple[Matter, ...] = (
    "not_measured", "contradicted", "overstated", "misprint", "base", "wording", "digits",
)  # fmt: skip
_A_TENTH = interval("0.9", "1.1")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
#: How a number agrees whose last digit was cut.
CUT = "its last digit is cut instead of rounded"


def papers_named(names: Iterable[str]) -> tuple[Paper, ...]:
    """Turn keys of papers into papers, all of them if none is named; an InputError lists them for an unknown one."""
    keys = tuple(names)
    unknown = [name for name in keys if name not in PAPERS]
    if unknown:
        raise InputError(f"paper: {unknown[0]!r} is unknown; use one of {', '.join(PAPERS)}")
    return tuple(paper for paper in PAPERS if not keys or paper in keys)


@dataclass(frozen=True, slots=True)
class Statement:
    """One quantitative claim as it stands in a paper.

    Attributes
    ----------
    id : str
        Unique, begins with the paper's key.
    location : str
        Where it stands: section, table and row.
    quote : str
        The claim's own words, shortened.
    printed : str
        The number or word that is under test, as the paper prints it, with its digits ('almost 25%', '2R-2W'); '' for a
        question of ours about something that it does not print.
    relation : str
        How the number is meant: 'equals'; a bound, 'below' or 'above'; or 'near', within a tenth.
    kind : str
        'text' for a sentence, 'cell' for a derived cell of a table, 'forensic' for a question we put to a table.
    asked : str
        What a value is held against, where that is not what is printed ('all 24 rows', 'one factor').
    rests_on : tuple of str
        Ids of claims on which this one rests: what they show to be wrong, this one cannot show to be right.
    """

    id: str
    location: str
    quote: str
    printed: str
    relation: Relation = "equals"
    kind: Kind = "text"
    asked: str = ""
    rests_on: tuple[str, ...] = ()

    @property
    def tested(self) -> str:
        """What a value is compared with."""
        return self.asked or self.printed


@dataclass(frozen=True, slots=True)
class Count:
    """Cases in which a statement about 'all' or 'each' holds, of how many; `which` names them where it matters."""

    right: int
    total: int
    which: str = ""

    def __str__(self) -> str:
        return f"{self.right} of {self.total}" + (f": {self.which}" if self.which else "")


#: A number, several numbers for a phrase with several, a word, or a count of cases.
Value: TypeAlias = "Interval | float | str | Count | tuple[Interval | float, ...]"


@dataclass(frozen=True, slots=True)
class Answer:
    """What follows from the paper's own numbers.

    Attributes
    ----------
    value : Value
        By the plain reading of the sentence; None if that needs a number which is not printed.
    readings : mapping
        Other readings, most plausible first: their description to their value. Consulted in this order only if the
        plain one disagrees.
    note : str
        What a reader should know: the likeliest innocent explanation, the computed context.
    finding : str
        What is the matter where the plain reading does not agree, if `judge` cannot see it.
    """

    value: Value | None
    readings: Mapping[str, Value] = field(default_factory=dict)
    note: str = ""
    finding: Matter = ""


@dataclass(frozen=True, slots=True)
class Untestable:
    """Reason why nothing can be computed, e.g. because the figure is lost."""

    why: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a record of ours says of a claim."""

    measured: str  # with its interval
    verdict: Verdict  # 'untestable' where the record cannot tell
    engine: str  # version of Cassandra
    run: str  # name of the record
    price: str = ""  # 'capacity' of what a busy closed loop shows: there a ratio of latencies is one of throughputs


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement with its verdicts, as `cassbook claims` lists it.

    There are up to three, which are kept apart: `verdict`, by the paper's own numbers; `rests_verdict`, the worst of
    those of the claims that it rests on; `measured_verdict`, by a record of ours.

    Of a bound, `printed_low` and `printed_high` both are the bound. `printed_low` to `recomputed_high` are None where
    the claim is not one number. `reading` names the other reading that agrees; `function` is the dotted name of what
    recomputes; `measured_by` names engine and record, `measured_price` is as in `Evidence`.
    """

    id: str
    paper: Paper
    location: str
    quote: str
    printed: str
    asked: str
    recomputed: str
    verdict: Verdict
    finding: Matter
    note: str
    kind: Kind
    relation: Relation
    function: str
    reading: str = ""
    printed_low: float | None = None
    printed_high: float | None = None
    recomputed_low: float | None = None
    recomputed_high: float | None = None
    rests_on: str = ""
    rests_verdict: Verdict | Literal[""] = ""
    measured: str = ""
    measured_verdict: Verdict | Literal[""] = ""
    measured_by: str = ""
    measured_price: str = ""


def agrees(statement: Statement, value: Value) -> bool:
    """Whether a value can be what was printed, by the precision of the print.

    An InputError says that the phrase has more or fewer numbers than the value.
    """
    if isinstance(value, Count):
        return value.right == value.total
    if isinstance(value, str):
        return value == statement.tested
    values, printed = _paired(statement, value, numbers_in(statement.tested))
    if statement.relation == "below":
        return all(low(v) < middle(p) for v, p in zip(values, printed, strict=True))
    if statement.relation == "above":
        return all(high(v) > middle(p) for v, p in zip(values, printed, strict=True))
    if statement.relation == "near":
        return all(overlap(v, middle(p) * _A_TENTH) for v, p in zip(values, printed, strict=True))
    return all(overlap(v, p) for v, p in zip(values, printed, strict=True))


def agrees_if_cut(statement: Statement, value: Value) -> bool:
    """Whether a value, or each of several, agrees with what was printed if last digits were cut and not rounded."""
    if isinstance(value, str | Count) or statement.relation != "equals":
        return False
    cut = cut_numbers(statement.tested)
    # what is a whole unit larger is another number, so that the ends themselves do not count
    pairs = zip(*_paired(statement, value, cut), strict=True) if cut else ()
    return bool(cut) and all(low(v) < high(p) and high(v) > low(p) for v, p in pairs)


def nearly_agrees(statement: Statement, value: Value) -> bool:
    """Whether a value, or each of several, is within one and a half units of the last digit printed.

    Not a whole number that was counted: one more or less is another count.
    """
    if isinstance(value, str | Count) or statement.relation != "equals" or counted(value):
        return False
    near = [interval(low(p) - (high(p) - low(p)), high(p) + (high(p) - low(p))) for p in numbers_in(statement.tested)]
    return all(overlap(v, p) for v, p in zip(*_paired(statement, value, near), strict=True))


def counted(value: Interval | float | tuple[Interval | float, ...]) -> bool:
    """Whether a value, or each of several, is a whole number without rounding."""
    values = value if isinstance(value, tuple) else (value,)
    return all(low(v) == high(v) == round(low(v)) for v in values)


def _paired(
    statement: Statement, value: Interval | float | tuple[Interval | float, ...], printed: list[Interval]
) -> tuple[tuple[Interval | float, ...], list[Interval]]:
    values = value if isinstance(value, tuple) else (value,)
    if len(printed) != len(values):
        raise InputError(f"{statement.id}: {statement.tested!r} has {len(printed)} numbers, recomputed {len(values)}")
    return values, printed


def spell(value: Value, printed: str) -> str:
    """Write a value with its unit: two decimals more than printed, but none that rounding makes meaningless."""
    if isinstance(value, str | Count):
        return str(value)
    values = value if isinstance(value, tuple) else (value,)
    unit = "%" if "%" in printed else ""
    return ", ".join(_spell_one(v, decimals_in(printed)) + unit for v in values)


def _spell_one(x: Interval | float, decimals: int) -> str:
    width, size = high(x) - low(x), abs(middle(x))
    if width == 0 and middle(x).is_integer():
        return f"{middle(x):.0f}"
    if 0 < size < 0.001:  # noqa: PLR2004 - as the papers print coefficients
        return f"{middle(x):.2E}"
    meaningful = ceil(-log10(width)) if width else decimals + 2
    return f"{middle(x):.{max(min(decimals + 2, meaningful), 0)}f}"


def in_words(number: int) -> str:
    """Spell a small whole number as a word, in digits beyond twelve.

    >>> in_words(6)
    'six'
    """
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def figure(x: Interval | float, digits: int = 1) -> str:
    """Spell an interval for a note: one number if both ends round to it, else 'a to b'.

    >>> figure(0.25, 2)
    '0.25'
    """
    ends = (f"{low(x):.{digits}f}", f"{high(x):.{digits}f}")
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def judge(statement: Statement, paper: Paper, answer: Answer | Untestable, function: str) -> Finding:
    """Give the verdict by the rules of agreement.

    The plain reading, to the digits printed; else the same with its last digit cut; else the first other reading that
    agrees; else it is not reproduced.
    """
    plain = _plain(answer)
    judged = Finding(
        statement.id, paper, statement.location, statement.quote, statement.printed, statement.asked,
        "" if plain is None else spell(plain, statement.tested), "untestable", "", "", statement.kind,
        statement.relation, function, rests_on=", ".join(statement.rests_on),
    )  # fmt: skip
    if isinstance(answer, Untestable):
        return dataclasses.replace(judged, note=answer.why)
    verdict, reading, value = _reading(statement, answer)
    note = f"Agrees if read as: {reading} ({spell(value, statement.tested)}). {answer.note}" if reading else answer.note
    judged = dataclasses.replace(
        judged,
        verdict=verdict,
        reading=reading,
        note=note.strip(),
        finding=_matter(statement, verdict, reading, answer),
    )
    numbers = numbers_in(statement.tested)
    if plain is None or isinstance(plain, str | Count | tuple) or len(numbers) != 1:
        return judged
    bound = middle(numbers[0])
    return dataclasses.replace(
        judged,
        printed_low=bound if statement.relation != "equals" else low(numbers[0]),
        printed_high=bound if statement.relation != "equals" else high(numbers[0]),
        recomputed_low=low(plain),
        recomputed_high=high(plain),
    )


def _plain(answer: Answer | Untestable) -> Value | None:
    """Value that is shown as recomputed: of an answer with other readings only, the first of them."""
    if isinstance(answer, Untestable):
        return None
    return answer.value if answer.value is not None else next(iter(answer.readings.values()))


def _reading(statement: Statement, answer: Answer) -> tuple[Verdict, str, Value]:
    """Return the verdict, the reading under which it agrees ('' for the plain one), and the value by it."""
    if (plain := answer.value) is not None:
        if agrees(statement, plain):
            return "reproduced", "", plain
        if agrees_if_cut(statement, plain):
            return "other_reading", CUT, plain
    for reading, value in answer.readings.items():
        if agrees(statement, value):
            return "other_reading", reading, value
        if agrees_if_cut(statement, value):
            return "other_reading", f"{reading}; {CUT}", value
    return "not_reproduced", "", "" if plain is None else plain


def _matter(statement: Statement, verdict: Verdict, reading: str, answer: Answer) -> Matter:
    """Say what is the matter with a claim that does not hold as it stands."""
    if verdict in ("reproduced", "untestable"):
        return ""
    if reading == CUT:
        return "digits"
    if answer.finding:
        return answer.finding
    if verdict == "other_reading":
        return "wording"
    if answer.value is not None and nearly_agrees(statement, answer.value):
        return "digits"
    return "overstated" if isinstance(answer.value, Count) and answer.value.right else "contradicted"
