"""`cassbook export`."""

from __future__ import annotations

from pathlib import Path

import click

from cassbook.cli.options import output_option


@click.command()
@click.argument("name", metavar="RUN")
@output_option("Folder to make; refused if not empty.", required=True)
@click.option(
    "--format", "form", type=click.Choice(["csv", "latex", "both"]), default="both", show_default=True,
    help="Kind of files.",
)  # fmt: skip
def export(name: str, output: Path, form: str) -> None:
    """Write the tables of a run as CSV and LaTeX.

    They are the papers' Tables I to V from the run's cells, and tidy ones with units in their columns. RUN is the name
    of a recorded run, a run's folder, or a folder of logs. LaTeX needs the package booktabs.
    """
    from cassbook.book.export import export as write
    from cassbook.ingest.folder import open_run

    for path in write(open_run(name), output, form):
        click.echo(path)
