"""Tables of the ledger's chapters: claims counted by verdict, listed with what recomputes them, and all to search."""

from __future__ import annotations

import html
from collections.abc import Sequence

import itables
import pandas as pd
from IPython.display import HTML

from cassbook.claims.ledger_text import FINDING_WORDS, MEASURED_WORDS, PAPER_NAMES, VERDICT_WORDS, frame
from cassbook.claims.statement import MATTERS, PAPERS, VERDICTS, Finding, Kind, Verdict
from cassbook.core.errors import InputError


def counts(findings: Sequence[Finding], kinds: Sequence[Kind] = ("text", "cell")) -> pd.DataFrame:
    """Return claims by paper and verdict, with totals.

    Parameters
    ----------
    findings : sequence of Finding
    kinds : sequence of str
        Sentences and derived cells by default: our own questions are no claims of an author.

    Returns
    -------
    DataFrame
        One row per paper and a last row 'all'; one column per verdict and a last one 'all'.
    """
    df = frame(findings)
    df = df[df["kind"].isin(list(kinds))]
    table = pd.crosstab(df["paper"], df["verdict"]).reindex(index=PAPERS, columns=VERDICTS, fill_value=0)
    table.loc["all"] = table.sum()
    table["all"] = table.sum(axis=1)
    table.index = pd.Index([*(PAPER_NAMES[paper] for paper in PAPERS), "all"], name="paper")
    return table.rename(columns=VERDICT_WORDS).rename_axis(columns=None)


def matters(findings: Sequence[Finding], kinds: Sequence[Kind] = ("text", "cell")) -> pd.DataFrame:
    """Return claims that do not hold as they stand by paper and by what the matter is, from the gravest on.

    Returns
    -------
    DataFrame
        One row per paper and a last row 'all'; one column per finding that occurs, and a last one 'all'.
    """
    df = frame(findings)
    df = df[df["kind"].isin(list(kinds)) & (df["finding"] != "")]
    table = pd.crosstab(df["paper"], df["finding"]).reindex(index=PAPERS, columns=MATTERS, fill_value=0)
    table = table.loc[:, table.sum() > 0]
    table.loc["all"] = table.sum()
    table["all"] = table.sum(axis=1)
    table.index = pd.Index([*(PAPER_NAMES[paper] for paper in PAPERS), "all"], name="paper")
    return table.rename(columns=FINDING_WORDS).rename_axis(columns=None)


def matters_values(findings: Sequence[Finding]) -> dict[str, int]:
    """Return what the prose quotes of `matters`: by the finding's key, how many claims of all texts have it."""
    everywhere = matters(findings).loc["all"].to_dict()
    return {matter: int(everywhere.get(FINDING_WORDS[matter], 0)) for matter in MATTERS if matter}


def source_page(function: str) -> str:
    """Return the address, from a chapter's page, of the lines of code that recompute a claim; '' for an untestable
    one.
    """
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
    """Return claims as a table for a page, each linked to what recomputes it.

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
        "asked": escaped["asked"],
        "recomputed": escaped["recomputed"],
    }
    if set(df["kind"]) == {"forensic"}:
        columns["verdict"] = df["verdict"].map(VERDICT_WORDS)
    if df["finding"].any():
        columns["finding"] = df["finding"].map(FINDING_WORDS)
    columns = {name: column for name, column in columns.items() if column.any()}
    columns |= _measured(df, escaped)
    if notes:
        columns["note"] = escaped["note"]
    with pd.option_context("display.max_colwidth", None):
        return HTML(
            pd.DataFrame(columns).to_html(index=False, escape=False, justify="left", classes="claims", border=0)
        )


def _measured(df: pd.DataFrame, escaped: pd.DataFrame) -> dict[str, pd.Series]:
    """What our records say, in columns, where they say anything."""
    if not df["measured"].any():
        return {}
    by = ("<br><small>" + escaped["measured_by"] + "</small>").where(df["measured"] != "", "")
    return {"measured here": escaped["measured"] + by, "by that": df["measured_verdict"].map(MEASURED_WORDS).fillna("")}


def verdict_table(findings: Sequence[Finding], verdict: Verdict, notes: bool = True) -> HTML:
    """Return the sentences of a paper with one verdict, as `table`; says so where there is none."""
    chosen = [f for f in findings if f.verdict == verdict and f.kind == "text"]
    return table(chosen, notes) if chosen else HTML("<p>No sentence.</p>")


def scorecard(findings: Sequence[Finding]) -> HTML:
    """Build the whole ledger as a table to search, sort and filter in the browser; works without a network."""
    df = frame(findings)
    escaped = df.map(lambda cell: html.escape(str(cell)))
    columns = {
        "paper": df["paper"].map(PAPER_NAMES),
        "verdict": df["verdict"].map(VERDICT_WORDS),
        "finding": df["finding"].map(FINDING_WORDS),
        "kind": df["kind"],
        **escaped[["location", "quote", "printed", "asked", "recomputed", "note"]].rename(
            columns={"location": "where", "quote": "words"}
        ),
        "claim": _linked(df),
        "rests on": (escaped["rests_on"] + ": " + df["rests_verdict"].map(VERDICT_WORDS).fillna("")).where(
            df["rests_on"] != "", ""
        ),
    } | _measured(df, escaped)
    return HTML(
        itables.to_html_datatable(
            pd.DataFrame(columns),
            connected=False,
            showIndex=False,
            allow_html=True,
            maxBytes=0,
            classes="display compact claims",
            layout={"top1": "searchPanes", "topStart": "pageLength", "topEnd": "search"},
            searchPanes={"layout": "columns-4", "cascadePanes": True, "columns": [0, 1, 2, 3], "initCollapsed": False},
            lengthMenu=[10, 25, 100, 1000],
            pageLength=25,
            display_logo_when_loading=False,
            text_in_header_can_be_selected=False,  # a click on a header sorts
            table_id="every-claim-table",
        )
    )
