"""`cassbook book`."""

from __future__ import annotations

from pathlib import Path

import click

from cassbook.cli.options import log
from cassbook.core.paths import checkout


@click.command()
@click.option("--recorded", help="Recorded run of Cassandra 2.1.20. Default: the chapters' own.")
@click.option("--today", help="Recorded run of Cassandra 5.0.9. Default: the chapters' own.")
@click.option("--fresh", type=click.Path(path_type=Path), help="A run of yours to show next to them.")
@click.option("--pdf", is_flag=True, help="Print the whole book as one PDF too; needs Chromium.")
def book(recorded: str | None, today: str | None, fresh: Path | None, pdf: bool) -> None:
    """Render the book from recorded runs; needs neither Java nor a cluster."""
    checkout()
    from cassbook.book.build import build

    index = build(recorded=recorded, today=today, fresh=fresh, log=log)
    click.echo(index)
    if pdf:
        from cassbook.book.pdf import write

        log("printing the book")
        click.echo(write(index.parent))
