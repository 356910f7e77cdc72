"""The ledger: every claim meets the function that recomputes it.

A function is registered under the words it tests. It returns an `Answer`, a bare value, or `Untestable`. A function
with a parameter `study` tests what a cluster does, so that a run of our own can be put to it as well. Statements for
which nothing can be computed have no function: they are the rows of untestable.csv.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from cassbook.claims.level_means import Study
from cassbook.claims.statement import (
    PAPERS,
    Answer,
    Evidence,
    Finding,
    Kind,
    Paper,
    Relation,
    Statement,
    Untestable,
    Value,
    Verdict,
    judge,
    papers_named,
)
from cassbook.core.errors import InputError, LaboratoryError

F = TypeVar("F", bound=Callable[..., Any])

#: A derived cell: its statement, and what follows.
Cell = tuple[Statement, Answer | Untestable]

#: Where the claims of each paper are; imported on first use.
_MODULES = (
    "g20.text",
    "g20.statistics",
    "g20.throughput",
    "g20.settings",
    "g20.verification",
    "g20.slips",
    "g20.equations",
    "g20.origin",
    "g20.choices",
    "g20.fits",
    "g20.little",
    "g20.derived",
    "g20.slowdowns",
    "pbs.text",
    "pbs.metrics",
    "pbs.forensics",
    "g21.abstract",
    "g21.text",
    "g21.latency",
    "g21.conclusions",
    "g21.derived",
    "thesis.text",
    "thesis.benchmarks",
    "thesis.levels_and_settings",
    "thesis.regressions",
    "thesis.commands",
    "d16.text",
    "d16.evaluation",
    "d16.forensics",
)


@dataclass(frozen=True, slots=True)
class _Entry:
    paper: Paper
    statement: Statement | None  # None: the function yields cells
    function: Callable[..., Any]

    @property
    def name(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"


_entries: list[_Entry] = []


def _key_of(identity: str) -> str:
    return identity.partition("-")[0]


def _paper_of(identity: str) -> Paper:
    return papers_named([_key_of(identity)])[0]


def papers_of(ids: Iterable[str]) -> tuple[Paper, ...]:
    """Return the papers whose claims these are, by how ids begin; all papers where there is no id, or one begins with
    none.
    """
    keys = {_key_of(identity) for identity in ids}
    return papers_named(keys if keys <= set(PAPERS) else ())


def claim(
    identity: str, location: str, quote: str, printed: str, relation: Relation = "equals", kind: Kind = "text",
    asked: str = "", rests_on: tuple[str, ...] = (),
) -> Callable[[F], F]:  # fmt: skip
    """Register the function below as what recomputes one statement; parameters as in `Statement`."""
    statement = Statement(identity, location, quote, printed, relation, kind, asked, rests_on)
    paper = _paper_of(identity)

    def register(function: F) -> F:
        _entries.append(_Entry(paper, statement, function))
        return function

    return register


def cells(paper: Paper) -> Callable[[F], F]:
    """Register the function below as one that yields the derived cells of a table, each a `Cell`."""

    def register(function: F) -> F:
        _entries.append(_Entry(paper, None, function))
        return function

    return register


@cache
def untestable() -> dict[str, list[Cell]]:
    """Read the statements that nothing can be computed for, and why, from untestable.csv.

    The keys are its column `after`: the claim that each statement follows in the text, which is the ledger's order.
    """
    following: dict[str, list[Cell]] = {}
    with Path(__file__).with_name("untestable.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            statement = Statement(row["id"], row["location"], row["quote"], row["printed"])
            following.setdefault(row["after"], []).append((statement, Untestable(row["why"])))
    return following


def _call(function: Callable[..., Any], study: Study) -> Any:
    return function(study) if "study" in inspect.signature(function).parameters else function()


def _answer(result: Answer | Untestable | Value) -> Answer | Untestable:
    return result if isinstance(result, Answer | Untestable) else Answer(result)


def about_measurements() -> Iterator[tuple[Statement, Callable[[Study], Answer | Untestable]]]:
    """Return the claims about what a cluster does, with the functions that take a run as well."""
    _load()
    for entry in _entries:
        if "study" in inspect.signature(entry.function).parameters:
            assert entry.statement is not None  # noqa: S101 - cells take no study
            yield entry.statement, partial(_put_to, entry.function)


def _put_to(function: Callable[..., Any], study: Study) -> Answer | Untestable:
    return _answer(function(study))


def _findings(entry: _Entry, printed: Study) -> Iterator[Finding]:
    if entry.statement is None:
        for statement, answer in entry.function():
            yield judge(statement, entry.paper, answer, entry.name)
    else:
        yield judge(entry.statement, entry.paper, _answer(_call(entry.function, printed)), entry.name)
        for statement, why in untestable().get(entry.statement.id, ()):
            yield judge(statement, entry.paper, why, "")


def _load() -> None:
    for module in _MODULES:
        importlib.import_module(f"cassbook.claims.{module}")


def ledger(
    evidence: Mapping[str, Evidence] | None = None, papers: Iterable[Paper] | None = None, progress: bool = False
) -> list[Finding]:
    """Recompute every claim, in the order of the papers and of their text.

    Parameters
    ----------
    evidence : mapping of str to Evidence, optional
        What records of ours say, by the id of the claim, as from `run_evidence.by_run`.
    papers : iterable of str, optional
        Only these.
    progress : bool
        Show a bar on standard error.

    Raises
    ------
    InputError
        If two claims have one id, a claim rests on one that does not exist, or a printed table is missing.
    LaboratoryError
        If a claim cannot be recomputed, e.g. because a printed table is cut short; it names the function.
    """
    _load()
    wanted = set(papers) if papers is not None else set(PAPERS)
    # one module may have been imported by another, or by a test, so the order of registration is not that of the list
    place = {f"cassbook.claims.{module}": number for number, module in enumerate(_MODULES)}
    entries = sorted(
        (e for e in _entries if e.paper in wanted), key=lambda e: place.get(e.function.__module__, len(place))
    )
    printed = Study.printed()
    by_id: dict[str, Finding] = {}
    for entry in tqdm(entries, desc="claims", disable=not progress):
        try:
            findings = list(_findings(entry, printed))
        except (ArithmeticError, LookupError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            what = f"{type(error).__name__}: {error}"
            raise LaboratoryError(
                f"{entry.name} cannot be recomputed ({what}); is a table in data/published damaged?"
            ) from error
        for finding in findings:
            if finding.id in by_id:
                raise InputError(f"claim {finding.id!r} is made twice")
            by_id[finding.id] = finding
    return [_joined(finding, by_id, evidence or {}) for finding in by_id.values()]


#: From the worst on.
_WORST: tuple[Verdict, ...] = ("not_reproduced", "other_reading", "untestable", "reproduced")


def _joined(finding: Finding, by_id: Mapping[str, Finding], evidence: Mapping[str, Evidence]) -> Finding:
    """Add to a finding the verdicts that are not its own: of what it rests on, and of our records."""
    rests_on = finding.rests_on.split(", ") if finding.rests_on else []
    if missing := [identity for identity in rests_on if identity not in by_id]:
        raise InputError(f"claim {finding.id!r} rests on {missing[0]!r}, which there is not")
    if rests_on:
        worst = min((by_id[identity].verdict for identity in rests_on), key=_WORST.index)
        finding = dataclasses.replace(finding, rests_verdict=worst)
    if seen := evidence.get(finding.id):
        finding = dataclasses.replace(
            finding, measured=seen.measured, measured_verdict=seen.verdict,
            measured_by=f"{seen.engine}, {seen.run}", measured_price=seen.price,
        )  # fmt: skip
    return finding


def with_ids(findings: Iterable[Finding], ids: Iterable[str]) -> list[Finding]:
    """Select the findings with these ids; for one that is not among them an InputError names the nearest."""
    known = {finding.id: finding for finding in findings}
    wanted = list(ids)
    for identity in wanted:
        if identity not in known:
            near = get_close_matches(identity, known, 3, 0.4)
            raise InputError(f"claim: there is no {identity!r}; the nearest are {', '.join(near) or 'none'}")
    return [known[identity] for identity in wanted]
