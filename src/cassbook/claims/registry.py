"""The ledger: every claim meets the function that recomputes it.

A function is registered under the words it tests. It returns an `Answer`, a bare value, or `Untestable`. A function
with a parameter `study` tests what a cluster does, so that a run of our own can be put to it as well.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

from tqdm import tqdm

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
from cassbook.claims.study import Study
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
    "g20.cells",
    "g20.slowdowns",
    "pbs.text",
    "pbs.metrics",
    "pbs.forensics",
    "g21.abstract",
    "g21.text",
    "g21.latency",
    "g21.conclusions",
    "g21.cells",
    "thesis.text",
    "thesis.benchmarks",
    "thesis.results",
    "thesis.regressions",
    "thesis.commands",
    "d16.model",
    "d16.evaluation",
    "d16.forensics",
)


@dataclass(frozen=True, slots=True)
class _Entry:
    paper: Paper
    statement: Statement | None  # None: the function yields cells
    function: Callable[..., Any] | None  # None: untestable
    module: str
    why: str = ""

    @property
    def name(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}" if self.function else ""


_entries: list[_Entry] = []


def _key_of(identity: str) -> str:
    return identity.partition("-")[0]


def _paper_of(identity: str) -> Paper:
    return papers_named([_key_of(identity)])[0]


def papers_of(ids: Iterable[str]) -> tuple[Paper, ...]:
    """Papers whose claims these are, by how they begin; all papers where there is none, or one begins with none."""
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
        _entries.append(_Entry(paper, statement, function, function.__module__))
        return function

    return register


def cells(paper: Paper) -> Callable[[F], F]:
    """Register the function below as one that yields the derived cells of a table, each a `Cell`."""

    def register(function: F) -> F:
        _entries.append(_Entry(paper, None, function, function.__module__))
        return function

    return register


def untestable_in(module: str) -> Callable[[str, str, str, str, str], None]:
    """Return how `module`, by its `__name__`, registers a statement that nothing can be computed for, and why.

    What it returns takes identity, location, quote and printed as in `Statement`, and why the texts at hand do not
    suffice. The module is asked for because the ledger is in the order of its modules.
    """

    def register(identity: str, location: str, quote: str, printed: str, why: str) -> None:
        statement = Statement(identity, location, quote, printed)
        _entries.append(_Entry(_paper_of(identity), statement, None, module, why))

    return register


def _call(function: Callable[..., Any], study: Study) -> Any:
    return function(study) if "study" in inspect.signature(function).parameters else function()


def _answer(result: Answer | Untestable | Value) -> Answer | Untestable:
    return result if isinstance(result, Answer | Untestable) else Answer(result)


def about_measurements() -> Iterator[tuple[Statement, Callable[[Study], Answer | Untestable]]]:
    """Return claims about what a cluster does, with the functions that a run can be put to as well."""
    _load()
    for entry in _entries:
        if entry.function is not None and "study" in inspect.signature(entry.function).parameters:
            assert entry.statement is not None  # noqa: S101 - cells take no study
            yield entry.statement, partial(_put_to, entry.function)


def _put_to(function: Callable[..., Any], study: Study) -> Answer | Untestable:
    return _answer(function(study))


def _findings(entry: _Entry, printed: Study) -> Iterator[Finding]:
    if entry.statement is None:
        assert entry.function is not None  # noqa: S101 - by construction of `cells`
        for statement, answer in entry.function():
            yield judge(statement, entry.paper, answer, entry.name)
    else:
        answer = Untestable(entry.why) if entry.function is None else _answer(_call(entry.function, printed))
        yield judge(entry.statement, entry.paper, answer, entry.name)


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
        What records of ours say, by the id of the claim, as from `measured.by_run`.
    papers : iterable of str, optional
        Only these.
    progress : bool
        Show a bar on standard error.

    Raises
    ------
    InputError
        If two claims have one id, a claim rests on one that there is not, or a printed table is missing.
    LaboratoryError
        If a claim cannot be recomputed, e.g. because a printed table is cut short; it names the function.
    """
    _load()
    wanted = set(papers) if papers is not None else set(PAPERS)
    # one module may have been imported by another, or by a test, so the order of registration is not that of the list
    place = {f"cassbook.claims.{module}": number for number, module in enumerate(_MODULES)}
    entries = sorted((e for e in _entries if e.paper in wanted), key=lambda e: place.get(e.module, len(place)))
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
                f"{entry.name or entry.module} cannot be recomputed ({what}); is a table in data/published damaged?"
            ) from error
        for finding in findings:
            if finding.id in by_id:
                raise InputError(f"claim {finding.id!r} is made twice")
            by_id[finding.id] = finding
    return [_joined(finding, by_id, evidence or {}) for finding in by_id.values()]


#: From the worst on.
_WORST: tuple[Verdict, ...] = ("not_reproduced", "other_reading", "untestable", "reproduced")


def _joined(finding: Finding, by_id: Mapping[str, Finding], evidence: Mapping[str, Evidence]) -> Finding:
    """Put to a finding the verdicts that are not its own: of what it rests on, and of our records."""
    rests_on = finding.rests_on.split(", ") if finding.rests_on else []
    if missing := [identity for identity in rests_on if identity not in by_id]:
        raise InputError(f"claim {finding.id!r} rests on {missing[0]!r}, which there is not")
    if rests_on:
        worst = min((by_id[identity].verdict for identity in rests_on), key=_WORST.index)
        finding = dataclasses.replace(finding, rests_verdict=worst)
    if seen := evidence.get(finding.id):
        finding = dataclasses.replace(
            finding, measured=seen.measured, measured_verdict=seen.verdict, measured_by=f"{seen.engine}, {seen.run}"
        )
    return finding


def with_ids(findings: Iterable[Finding], ids: Iterable[str]) -> list[Finding]:
    """Those of the findings that are asked for by id.

    Raises
    ------
    InputError
        For an id that is not among them; the message names the nearest.
    """
    known = {finding.id: finding for finding in findings}
    wanted = list(ids)
    for identity in wanted:
        if identity not in known:
            near = get_close_matches(identity, known, 3, 0.4)
            raise InputError(f"claim: there is no {identity!r}; the nearest are {', '.join(near) or 'none'}")
    return [known[identity] for identity in wanted]
