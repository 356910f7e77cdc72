"""`cassbook claims`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cassbook.cli.options import format_option


@click.command()
@click.option("--run", "folder", type=click.Path(path_type=Path), help="Run to test the claims on as well.")
@click.option("--records", is_flag=True, help="Say too what cassbook's own records show of the claims (half a minute).")
@format_option("text", "md", "json", "csv")
@click.option("--paper", multiple=True, help="Paper: g20, pbs, g21, thesis or d16; repeatable. Default: all.")
@click.option("--id", "identity", multiple=True, help="Id of a claim; repeatable. Default: all.")
def claims(folder: Path | None, records: bool, form: str, paper: tuple[str, ...], identity: tuple[str, ...]) -> None:
    """List the quantitative claims of the five texts, recomputed, with a verdict.

    \b
    reproduced      it follows from the paper's own numbers, to the digits printed
    other_reading   it follows in a reading that the note names
    not_reproduced  it follows in no reading we could think of
    untestable      nothing is left to compute with; the note says what is lost
    """  # noqa: D301 - click wants the character itself
    from cassbook.claims.ledger_text import FORMATS, in_full
    from cassbook.claims.registry import ledger, papers_of, with_ids
    from cassbook.claims.run_evidence import by_run
    from cassbook.claims.statement import papers_named
    from cassbook.ingest.folder import open_run

    papers = papers_named(paper) if paper else papers_of(identity)
    run = None if folder is None else open_run(folder)
    evidence = {} if run is None else by_run(run.statistics, run.manifest["engine"], run.name)
    if records:
        from cassbook.shown.claim_evidence import by_records

        evidence = by_records(papers) | evidence
    findings = ledger(evidence, papers, progress=sys.stderr.isatty())
    if identity:
        findings = with_ids(findings, identity)
    click.echo((in_full if identity and form == "text" else FORMATS[form])(findings))
