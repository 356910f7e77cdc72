"""The ledger as JSON, CSV and Markdown."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import pandas as pd

from cassbook.claims.statement import Finding, Paper, Verdict
from cassbook.core.markdown import markdown

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
#: Columns of the shorter formats, in this order; JSON has all.
COLUMNS = ["id", "paper", "location", "quote", "printed", "recomputed", "verdict", "note"]
#: What CSV has in addition to them.
MORE_COLUMNS = ["kind", "relation", "reading", "function"]


def frame(findings: Sequence[Finding]) -> pd.DataFrame:
    """One row per claim, one column per field of `Finding`, in the order of the ledger."""
    return pd.DataFrame([dataclasses.asdict(finding) for finding in findings])


def as_json(findings: Sequence[Finding]) -> str:
    """JSON list of objects, every field of `Finding`."""
    return json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2, ensure_ascii=False)


def _columns(findings: Sequence[Finding]) -> list[str]:
    return [*COLUMNS, *(["measured"] if any(finding.measured for finding in findings) else [])]


def as_csv(findings: Sequence[Finding]) -> str:
    """CSV, columns `COLUMNS`, `measured` where a run was put to the claims, and `MORE_COLUMNS`."""
    return frame(findings)[[*_columns(findings), *MORE_COLUMNS]].to_csv(index=False, lineterminator="\n").rstrip("\n")


def as_markdown(findings: Sequence[Finding]) -> str:
    """Table in Markdown, columns `COLUMNS`, and `measured` where a run was put to the claims."""
    return markdown(frame(findings)[_columns(findings)])


def as_text(findings: Sequence[Finding]) -> str:
    """One line per claim for a terminal: id, verdict, what was printed and what was recomputed."""
    short = ["id", "verdict", "printed", "recomputed", *_columns(findings)[len(COLUMNS) :]]
    return frame(findings)[short].to_string(index=False, justify="left", max_colwidth=48)


FORMATS = {"json": as_json, "csv": as_csv, "md": as_markdown, "text": as_text}
