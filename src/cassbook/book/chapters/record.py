"""The ledger's chapters: claims counted by verdict, listed with what recomputes them, and all to search."""

from __future__ import annotations

import html
from collections.abc import Sequence

import itables
import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.claims.d16 import source as d16_source
from cassbook.claims.g20 import choices as g20_choices
from cassbook.claims.interval import high, low, middle
from cassbook.claims.ledger_text import FINDING_WORDS, PAPER_NAMES, VERDICT_WORDS, frame, measured_words
from cassbook.claims.pbs import forensics as pbs_forensics
from cassbook.claims.pbs import text as pbs
from cassbook.claims.statement import MATTERS, PAPERS, VERDICTS, Finding, Kind, Verdict
from cassbook.claims.thesis import text as thesis
from cassbook.core.errors import InputError
from cassbook.latency.regression import MODEL_TITLES


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
    words = map(measured_words, df["measured_verdict"], df["measured_price"])
    return {"measured here": escaped["measured"] + by, "verdict here": pd.Series(list(words), df.index)}


def _below(texts: pd.Series) -> pd.Series:
    """What stands below a cell's first line; nothing where there is no text."""
    return ("<small>" + texts + "</small>").where(texts != "", "")


def verdict_table(findings: Sequence[Finding], verdict: Verdict, notes: bool = True) -> HTML:
    """Return the sentences of a paper with one verdict, as `table`; says so where there is none."""
    chosen = [f for f in findings if f.verdict == verdict and f.kind == "text"]
    return table(chosen, notes) if chosen else HTML("<p>No such claim.</p>")


def scorecard(findings: Sequence[Finding]) -> HTML:
    """Build the whole ledger as a table to search, sort and filter in the browser; works without a network.

    What belongs to a figure stands below it in its cell, so that a row is seen whole: notes and the place under the
    claim's words, the reading and what it rests on under the recomputed number.
    """
    df = frame(findings)
    escaped = df.map(lambda cell: html.escape(str(cell)))
    rests = escaped["rests_on"] + ": " + df["rests_verdict"].map(VERDICT_WORDS).fillna("")
    measured = _measured(df, escaped)
    columns = {
        "paper": df["paper"].map(PAPER_NAMES),
        "verdict": df["verdict"].map(VERDICT_WORDS) + _below(df["finding"].map(FINDING_WORDS)),
        "verdicts": df["verdict"].map(VERDICT_WORDS),
        "finding": df["finding"].map(FINDING_WORDS),
        "kind": df["kind"],
        "claim": escaped["quote"] + _below(escaped["location"] + ", " + _linked(df)) + _below(escaped["note"]),
        "printed": escaped["printed"],
        "recomputed": escaped["recomputed"]
        + _below(escaped["asked"])
        + _below(("rests on " + rests).where(df["rests_on"] != "", "")),
    } | ({"measured here": measured["measured here"] + _below(measured["verdict here"])} if measured else {})
    return HTML(
        itables.to_html_datatable(
            pd.DataFrame(columns),
            connected=False,
            showIndex=False,
            allow_html=True,
            maxBytes=0,
            classes="display compact claims",
            layout={"top1": "searchPanes", "topStart": "pageLength", "topEnd": "search"},
            searchPanes={"layout": "columns-4", "cascadePanes": True, "columns": [0, 2, 3, 4], "initCollapsed": True},
            columnDefs=[{"visible": False, "targets": [2, 3, 4]}],  # to filter by
            lengthMenu=[10, 25, 100, 1000],
            pageLength=25,
            display_logo_when_loading=False,
            text_in_header_can_be_selected=False,  # a click on a header sorts
            table_id="every-claim-table",
        )
    )


#: The same in every figure; distinguishable for the colour-blind.
_KIND_TITLES: dict[Kind, str] = {
    "text": "sentences",
    "cell": "derived cells of tables",
    "forensic": "questions to the tables",
}


def verdicts(findings: Sequence[Finding]) -> Figure:
    """Draw the share of each verdict by paper: sentences, derived cells, and the questions asked of the tables."""
    figure, axes = panels(1, 3, width=3.6, height=2.8, sharey=True)
    for panel, (kind, title) in zip(axes[0], _KIND_TITLES.items(), strict=True):
        table = counts(findings, [kind]).drop(index="all").drop(columns="all").iloc[::-1]
        left = pd.Series(0.0, index=table.index)
        total = table.sum(axis=1)
        for verdict in VERDICT_WORDS.values():
            part = 100 * table[verdict] / total.where(total > 0, 1)
            panel.barh(table.index, part, left=left, color=palette.VERDICTS[verdict], label=verdict)
            left = left + part
        for place, count in enumerate(total):
            panel.text(101, place, f"{count}", va="center", fontsize=9)
        panel.set(title=title, xlabel="% of claims", xlim=(0, 112))
        panel.grid(visible=False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return done(figure)


def _centres(df: pd.DataFrame) -> pd.DataFrame:
    return df.assign(
        said=(df["printed_low"] + df["printed_high"]) / 2, found=(df["recomputed_low"] + df["recomputed_high"]) / 2
    )


def agreement(findings: Sequence[Finding], prefix: str, unit: str) -> Figure:
    """Draw recomputed against printed, one dot per cell whose id begins with `prefix`, on the line of equality."""
    df = frame(findings)
    table = _centres(df[df["id"].str.startswith(prefix) & df["recomputed_low"].notna()])
    figure, axes = panels(1, 1, width=4.6, height=4.2)
    panel = axes[0, 0]
    ends = [min(table["said"].min(), table["found"].min()), max(table["said"].max(), table["found"].max())]
    panel.plot(ends, ends, color="grey", linewidth=0.8)
    for verdict, rows in table.groupby("verdict"):
        word = VERDICT_WORDS[verdict]  # type: ignore[index]
        panel.plot(rows["said"], rows["found"], "o", markersize=3.5, color=palette.VERDICTS[word], label=word)
    panel.set(xlabel=f"printed, {unit}", ylabel=f"recomputed, {unit}")
    panel.legend()
    return done(figure)


def in_flight(findings: Sequence[Finding], papers: Sequence[str] = ("g20", "g21")) -> Figure:
    """Draw the throughput times latency as a share of the threads, one dot per row of a table; above 1 is
    impossible.
    """
    df = frame(findings)
    table = _centres(df[df["id"].str.contains("-little-") & df["recomputed_low"].notna() & df["paper"].isin(papers)])
    figure, axes = panels(1, 1, width=6.5, height=3.0)
    panel = axes[0, 0]
    names = table["paper"].map(PAPER_NAMES) + ", " + table["location"].str.partition(",")[0]
    groups = list(dict.fromkeys(names))
    for place, name in enumerate(groups):
        ratios = (table["found"] / table["said"])[names == name]
        spread = [place + 0.35 * (k / max(len(ratios) - 1, 1) - 0.5) for k in range(len(ratios))]
        panel.plot(spread, ratios, "o", markersize=3.5, color=palette.BLUE)
    panel.axhline(1, color="grey", linewidth=0.8)
    panel.set(xticks=range(len(groups)), xticklabels=groups, ylabel="in flight / threads")
    panel.set_ylim(bottom=0)
    return done(figure)


def choices(findings: Sequence[Finding]) -> Figure:
    """Draw the share of workloads at which regressions and simpler policies name the underlined setting of Table V."""
    df = frame(findings).set_index("id")
    rows = {}
    for order, word in MODEL_TITLES.items():
        rows[f"{word}, all points"] = f"g20-forensic-in-sample-order{order}"
        rows[f"{word}, point left out"] = f"g20-forensic-leave-one-out-order{order}"
    rows |= {words: f"g20-forensic-policy-{name}" for name, (words, _) in g20_choices.simple_policies().items()}
    scores = {name: df.loc[identity, ["recomputed_low", "recomputed_high"]].mean() for name, identity in rows.items()}
    figure, axes = panels(1, 1, width=7.5, height=4.2)
    panel = axes[0, 0]
    colours = [
        palette.ORANGE if "left out" in name else palette.BLUE if "points" in name else palette.GREY for name in scores
    ]
    panel.barh(list(scores)[::-1], list(scores.values())[::-1], color=colours[::-1])
    panel.axvline(92, color=palette.VERMILION, linewidth=1)
    panel.set(xlabel="right choices, % of 48 workloads (line: the printed 92 %)", xlim=(0, 100))
    panel.grid(visible=False, axis="y")
    return done(figure)


def station_capacities() -> Figure:
    """Draw reads per second that each kind of station of the 2016 model can serve at most, by level; the line is
    6800/s.
    """
    figure, axes = panels(1, 1, width=7.0, height=3.2)
    panel = axes[0, 0]
    for shift, (level, colour) in zip((0.2, 0, -0.2), palette.LEVELS.items(), strict=True):  # three dots may coincide
        stations = d16_source.stations(level)
        ends = [(low(s.capacity_per_s), high(s.capacity_per_s)) for s in stations]
        centres = [(a + b) / 2 for a, b in ends]
        half = [(b - a) / 2 for a, b in ends]
        places = [place + shift for place in range(len(stations))]
        panel.errorbar(centres, places, xerr=half, fmt="o", markersize=5, capsize=3, color=colour, label=level)
    panel.axvline(middle(d16_source.rate_per_s()), color="grey", linewidth=0.8)
    names = [s.name for s in d16_source.stations("ONE")]
    panel.set(yticks=range(len(names)), yticklabels=names, xscale="log")
    panel.set_xlabel("reads per second at most (log scale; line: the printed 6800)")
    ticks = [3000, 5000, 10_000, 20_000, 50_000]
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    panel.xaxis.set_minor_locator(NullLocator())
    figure.legend(title="level", loc="outside right upper")
    return done(figure)


def waiting_ratios() -> Figure:
    """Draw the latency over that of one replica: printed, by exponential answers, by the Weibull law fitted to two
    replicas.
    """
    figure, axes = panels(1, 2, width=3.8, height=3.0, sharex=True)
    for panel, (operation, letter) in zip(axes[0], (("WRITE", "W"), ("READ", "R")), strict=True):
        replicas = [1, 2, 3]
        printed = [pbs.slowdown(operation, n) for n in replicas]
        exponential = [pbs_forensics.answer_ratio(operation, n, 1) for n in replicas]
        shape = middle(pbs_forensics.shapes(operation))
        weibull = [pbs_forensics.answer_ratio(operation, n, shape) for n in replicas]
        centres, half = [middle(x) for x in printed], [(high(x) - low(x)) / 2 for x in printed]
        panel.errorbar(replicas, centres, yerr=half, fmt="o", capsize=3, color=palette.BLUE, label="printed")
        panel.plot(replicas, exponential, "--", color=palette.GREY, label="exponential answers")
        panel.plot(replicas, weibull, "-", color=palette.VERMILION, linewidth=1.2, label="Weibull, fitted to two")
        panel.set(title=f"{operation.lower()}s", xlabel=f"replicas waited for ({letter})", xticks=replicas)
        panel.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("latency / latency of one")
    axes[0, 0].legend()
    return done(figure)


def thesis_rates() -> Figure:
    """Draw the highest throughputs that the thesis names, by level, as a share of ONE."""
    figure, axes = panels(1, 1, width=5.0, height=2.8)
    panel = axes[0, 0]
    for operation, marker in (("READ", "o"), ("WRITE", "s")):
        rates = thesis.rates(operation)
        shares = [middle(x) / middle(rates["ONE"]) for x in rates.values()]
        panel.plot(
            list(rates), shares, marker + "-", color=palette.OPERATIONS[operation], label=f"{operation.lower()}s"
        )
    panel.set(xlabel="level", ylabel="throughput / throughput at ONE")
    panel.set_ylim(bottom=0)
    panel.legend()
    return done(figure)
