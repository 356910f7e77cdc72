"""What a paper says, what follows from its own numbers, and the verdict on the two."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, log10
from typing import Literal, TypeAlias

from cassbook.claims.interval import Interval, decimals_in, high, low, middle, numbers_in, overlap
from cassbook.core.errors import InputError

Paper = Literal["g20", "pbs", "g21", "thesis", "d16"]
Verdict = Literal["reproduced", "other_reading", "not_reproduced", "untestable"]

#: equals: the printed digits; below, above: a bound that the sentence sets.
Relation = Literal["equals", "below", "above"]

#: text: a sentence; cell: a derived cell of a table; forensic: a question we put to a table.
Kind = Literal["text", "cell", "forensic"]

PAPERS: tuple[Paper, ...] = ("g20", "pbs", "g21", "thesis", "d16")
VERDICTS: tuple[Verdict, ...] = ("reproduced", "other_reading", "not_reproduced", "untestable")


def papers_named(names: Iterable[str]) -> tuple[Paper, ...]:
    """Turn keys of papers into papers, all of them if none is named.

    Raises
    ------
    InputError
        For an unknown key; the message lists those there are.
    """
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
        The number or word that is under test, with its digits as printed ('almost 25%', '2R-2W', 'all').
    relation : str
        How the number is meant: 'equals', or a bound, 'below' or 'above'.
    kind : str
        'text' for a sentence, 'cell' for a derived cell of a table, 'forensic' for a question we put to a table.
    """

    id: str
    location: str
    quote: str
    printed: str
    relation: Relation = "equals"
    kind: Kind = "text"


@dataclass(frozen=True, slots=True)
class Count:
    """In how many of the cases a statement about 'all' or 'each' holds."""

    right: int
    total: int

    def __str__(self) -> str:
        return f"{self.right} of {self.total}"


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
    """

    value: Value | None
    readings: Mapping[str, Value] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Untestable:
    """Why nothing can be computed, e.g. because the figure is lost."""

    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement with its verdict, as `cassbook claims` lists it.

    Of a bound, `printed_low` and `printed_high` both are the bound. For a question of ours (kind 'forensic') `printed`
    is what is asked, which no paper need print.

    `printed_low` to `recomputed_high` are None where the claim is not one number. `reading` names the other reading
    that agrees; `function` is the dotted name of what recomputes; `measured` what the same function gives for a run.
    """

    id: str
    paper: Paper
    location: str
    quote: str
    printed: str
    recomputed: str
    verdict: Verdict
    note: str
    kind: Kind
    relation: Relation
    function: str
    reading: str = ""
    printed_low: float | None = None
    printed_high: float | None = None
    recomputed_low: float | None = None
    recomputed_high: float | None = None
    measured: str = ""


def agrees(statement: Statement, value: Value) -> bool:
    """Whether a value can be what was printed, by the precision of the print.

    Raises
    ------
    InputError
        If the phrase has more or fewer numbers than the value.
    """
    if isinstance(value, Count):
        return value.right == value.total
    if isinstance(value, str):
        return value == statement.printed
    values = value if isinstance(value, tuple) else (value,)
    printed = numbers_in(statement.printed)
    if len(printed) != len(values):
        raise InputError(f"{statement.id}: {statement.printed!r} has {len(printed)} numbers, recomputed {len(values)}")
    if statement.relation == "below":
        return all(low(v) < middle(p) for v, p in zip(values, printed, strict=True))
    if statement.relation == "above":
        return all(high(v) > middle(p) for v, p in zip(values, printed, strict=True))
    return all(overlap(v, p) for v, p in zip(values, printed, strict=True))


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


def judge(statement: Statement, paper: Paper, answer: Answer | Untestable, function: str) -> Finding:
    """Give the verdict: the plain reading, else the first other reading that agrees, else not reproduced."""

    def finding(verdict: Verdict, recomputed: str, note: str) -> Finding:
        common = (statement.id, paper, statement.location, statement.quote, statement.printed)
        return Finding(*common, recomputed, verdict, note, statement.kind, statement.relation, function)

    if isinstance(answer, Untestable):
        return finding("untestable", "", answer.why)
    plain = answer.value if answer.value is not None else next(iter(answer.readings.values()))
    judged = finding("not_reproduced", spell(plain, statement.printed), answer.note)
    if answer.value is not None and agrees(statement, answer.value):
        judged = dataclasses.replace(judged, verdict="reproduced")
    else:
        for reading, other in answer.readings.items():
            if agrees(statement, other):
                note = f"Agrees if read as: {reading} ({spell(other, statement.printed)}). {answer.note}".strip()
                judged = dataclasses.replace(judged, verdict="other_reading", reading=reading, note=note)
                break
    numbers = numbers_in(statement.printed)
    if isinstance(plain, str | Count | tuple) or len(numbers) != 1:
        return judged
    bound = middle(numbers[0])
    return dataclasses.replace(
        judged,
        printed_low=bound if statement.relation != "equals" else low(numbers[0]),
        printed_high=bound if statement.relation != "equals" else high(numbers[0]),
        recomputed_low=low(plain),
        recomputed_high=high(plain),
    )
