"""The ledger in words: as JSON, CSV and Markdown, and as the tables of the book's pages."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Sequence

import itables
import pandas as pd
from IPython.display import HTML

from cassbook.claims.statement import PAPERS, VERDICTS, Finding, Kind, Paper, Verdict
from cassbook.errors import InputError

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
#: What CSV has beside them.
MORE_COLUMNS = ["kind", "relation", "reading", "function"]


def frame(findings: Sequence[Finding]) -> pd.DataFrame:
    """One row a claim, one column a field of `Finding`, in the order of the ledger."""
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

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    columns = _columns(findings)
    rows = frame(findings)[columns].astype(str).itertuples(index=False)
    return "\n".join([line(columns), line(["---"] * len(columns)), *(line(row) for row in rows)])


FORMATS = {"json": as_json, "csv": as_csv, "md": as_markdown}


def counts(findings: Sequence[Finding], kinds: Sequence[Kind] = ("text", "cell")) -> pd.DataFrame:
    """Claims by paper and verdict, with totals.

    Parameters
    ----------
    findings : sequence of Finding
    kinds : sequence of str
        Sentences and derived cells unless told otherwise: our own questions are no claims of an author.

    Returns
    -------
    DataFrame
        One row a paper and a last row 'all'; one column a verdict and a last one 'all'.
    """
    df = frame(findings)
    df = df[df["kind"].isin(list(kinds))]
    table = pd.crosstab(df["paper"], df["verdict"]).reindex(index=PAPERS, columns=VERDICTS, fill_value=0)
    table.loc["all"] = table.sum()
    table["all"] = table.sum(axis=1)
    table.index = pd.Index([*(PAPER_NAMES[paper] for paper in PAPERS), "all"], name="paper")
    return table.rename(columns=VERDICT_WORDS).rename_axis(columns=None)


def source_page(function: str) -> str:
    """Address, from a chapter's page, of the lines of code that recompute a claim; '' for an untestable one."""
    if not function:
        return ""
    module, _, name = function.rpartition(".")
    return f"../../_modules/{module.replace('.', '/')}.html#{name}"


def _linked(df: pd.DataFrame) -> pd.Series:
    """Identities of claims, each a link to what recomputes it."""
    addresses = df["function"].map(source_page)
    plain = df["id"].map(html.escape)
    return plain.where(addresses == "", '<a href="' + addresses + '">' + plain + "</a>")


def table(findings: Sequence[Finding], notes: bool = True) -> HTML:
    """Claims as a table for a page, each linked to what recomputes it.

    Parameters
    ----------
    findings : sequence of Finding
        Those to show.
    notes : bool
        Show the notes.

    Raises
    ------
    InputError
        If there are none: a page must not show an empty table without saying so.
    """
    if not findings:
        raise InputError("there is no claim to show in this table")
    df = frame(findings)
    escaped = df.map(lambda cell: html.escape(str(cell)))
    columns = {
        "claim": _linked(df),
        "where": escaped["location"],
        "words": escaped["quote"],
        "printed": escaped["printed"],
        "recomputed": escaped["recomputed"],
    }
    if set(df["kind"]) == {"forensic"}:
        # what is put to a table is not always a number that it prints
        columns = {("printed, or asked" if name == "printed" else name): column for name, column in columns.items()}
        columns["verdict"] = df["verdict"].map(VERDICT_WORDS)
    if set(df["verdict"]) == {"untestable"}:
        del columns["recomputed"]
    if notes:
        columns["note"] = escaped["note"]
    with pd.option_context("display.max_colwidth", None):
        return HTML(
            pd.DataFrame(columns).to_html(index=False, escape=False, justify="left", classes="claims", border=0)
        )


def verdict_table(findings: Sequence[Finding], verdict: Verdict, notes: bool = True) -> HTML:
    """Sentences of a paper with one verdict, as `table`; says so where there is none."""
    chosen = [f for f in findings if f.verdict == verdict and f.kind == "text"]
    return table(chosen, notes) if chosen else HTML("<p>No sentence.</p>")


def scorecard(findings: Sequence[Finding]) -> HTML:
    """Build the whole ledger as a table to search, sort and filter in the browser; works without a network."""
    df = frame(findings)
    columns = {
        "paper": df["paper"].map(PAPER_NAMES),
        "verdict": df["verdict"].map(VERDICT_WORDS),
        "kind": df["kind"],
        "where": df["location"].map(html.escape),
        "words": df["quote"].map(html.escape),
        "printed": df["printed"].map(html.escape),
        "recomputed": df["recomputed"].map(html.escape),
        "note": df["note"].map(html.escape),
        "claim": _linked(df),
    }
    if df["measured"].any():
        columns["our run"] = df["measured"].map(html.escape)
    return HTML(
        itables.to_html_datatable(
            pd.DataFrame(columns),
            connected=False,
            showIndex=False,
            allow_html=True,
            maxBytes=0,
            classes="display compact claims",
            layout={"top1": "searchPanes", "topStart": "pageLength", "topEnd": "search"},
            searchPanes={"layout": "columns-3", "cascadePanes": True, "columns": [0, 1, 2], "initCollapsed": False},
            lengthMenu=[10, 25, 100, 1000],
            pageLength=25,
            display_logo_when_loading=False,
            text_in_header_can_be_selected=False,  # a click on a header sorts
            table_id="every-claim-table",
        )
    )
