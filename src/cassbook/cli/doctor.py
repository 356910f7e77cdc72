"""`cassbook doctor`."""

from __future__ import annotations

import json
import sys

import click

from cassbook.cli.options import engine_option, format_option, log


@click.command()
@engine_option()
@format_option("text", "json")
def doctor(engine: str, form: str) -> None:
    """Report what a cluster needs, what is missing and how to get it.

    Exits 1 if a cluster of the engine cannot start.
    """
    from cassbook.core.releases import release
    from cassbook.lab.doctor import examine

    findings, can_start = examine(release(engine).version)
    if form == "json":
        rows = [{"status": f.status.strip(), "subject": f.subject, "detail": f.detail} for f in findings]
        click.echo(json.dumps({"engine": engine, "can_start": can_start, "findings": rows}, indent=2))
    else:
        for finding in findings:
            click.echo(f"{finding.status:8}{finding.subject:22}{finding.detail}")
    if not can_start:
        log(f"a cluster of Cassandra {engine} cannot start here")
        sys.exit(1)
