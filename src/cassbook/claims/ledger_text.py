"""The ledger as JSON, CSV, Markdown and text."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal

import pandas as pd

from cassbook.claims.statement import Finding, Matter, Paper, Verdict
from cassbook.core.words import markdown

#: What each paper is called in a table.
PAPER_NAMES: dict[Paper, str] = {
    "g20": "Gorbenko 2020",
    "pbs": "ccm study",
    "g21": "Gorbenko 2021",
    "thesis": "Vyas 2022",
    "d16": "Dipietro 2016",
}
#: What a verdict is called in a sentence.
VERDICT_WORDS: dict[Verdict, str] = {
    "reproduced": "reproduced",
    "other_reading": "other reading",
    "not_reproduced": "not reproduced",
    "untestable": "untestable",
}
#: What a verdict by our own records is called: one machine is no judge of what another measured.
MEASURED_WORDS: dict[Verdict, str] = VERDICT_WORDS | {"reproduced": "same here", "not_reproduced": "differs here"}


def measured_words(verdict: Verdict | Literal[""], price: str = "") -> str:
    """Say the verdict by a record of ours, and which price was measured: 'differs here, in capacity'.

    >>> measured_words("not_reproduced", "capacity"), measured_words("untestable", "capacity"), measured_words("")
    ('differs here, in capacity', 'untestable', '')
    """
    words = MEASURED_WORDS[verdict] if verdict else ""
    return f"{words}, in {price}" if price and verdict == "not_reproduced" else words


#: What the matter is with a claim that does not hold as it stands, in a sentence.
FINDING_WORDS: dict[Matter, str] = {
    "not_measured": "not a measurement",
    "contradicted": "contradicted",
    "overstated": "overstated",
    "misprint": "misprint",
    "base": "another base",
    "wording": "another sense",
    "digits": "last digit cut",
    "": "",
}
#: Columns of the shorter formats, in this order; JSON has all.
COLUMNS = [
    "id", "paper", "kind", "location", "quote", "printed", "asked", "recomputed", "verdict", "finding", "note",
]  # fmt: skip
#: What our records say, where some were put to the claims.
_MEASURED = ["measured", "measured_verdict", "measured_by"]
#: What CSV has in addition to them.
MORE_COLUMNS = ["relation", "reading", "rests_on", "rests_verdict", "function"]

#: Fields that tell a claim in full.
_IN_FULL = [
    "location", "quote", "printed", "asked", "recomputed", "note", "rests_on", "rests_verdict", *_MEASURED, "function",
]  # fmt: skip


def frame(findings: Sequence[Finding]) -> pd.DataFrame:
    """One row per claim, one column per field of `Finding`, in the order of the ledger."""
    return pd.DataFrame([dataclasses.asdict(finding) for finding in findings])


def as_json(findings: Sequence[Finding]) -> str:
    """JSON list of objects, every field of `Finding`."""
    return json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2, ensure_ascii=False)


def _columns(findings: Sequence[Finding]) -> list[str]:
    return [*COLUMNS, *(_MEASURED if any(finding.measured for finding in findings) else [])]


def as_csv(findings: Sequence[Finding]) -> str:
    """CSV, columns `COLUMNS`, what was measured where records were put to the claims, and `MORE_COLUMNS`."""
    return frame(findings)[[*_columns(findings), *MORE_COLUMNS]].to_csv(index=False, lineterminator="\n").rstrip("\n")


def as_markdown(findings: Sequence[Finding]) -> str:
    """Table in Markdown, columns `COLUMNS`, and what was measured where records were put to the claims."""
    return markdown(frame(findings)[_columns(findings)])


def as_text(findings: Sequence[Finding]) -> str:
    """One line per claim for a terminal: id, verdict, what was printed and what was recomputed."""
    short = ["id", "verdict", "printed", "recomputed", *_columns(findings)[len(COLUMNS) :]]
    return frame(findings)[short].to_string(index=False, justify="left", max_colwidth=48)


def in_full(findings: Sequence[Finding]) -> str:
    """Write all that is known of each claim for a terminal: its verdict, and a paragraph per field with content."""
    return "\n\n".join("\n".join(_in_full(finding)) for finding in findings)


def _in_full(finding: Finding) -> Iterator[str]:
    words = (VERDICT_WORDS[finding.verdict], FINDING_WORDS[finding.finding])
    yield f"{finding.id}: {', '.join(filter(None, words))}"
    said = {name.replace("_", " "): str(text) for name in _IN_FULL if (text := getattr(finding, name))}
    said["location"] = f"{PAPER_NAMES[finding.paper]}, {finding.location}"
    wide = max(map(len, said)) + 2
    for name, text in said.items():
        yield textwrap.fill(f"  {name:<{wide}}{text}", 100, subsequent_indent=" " * (wide + 2))


FORMATS = {"json": as_json, "csv": as_csv, "md": as_markdown, "text": as_text}
