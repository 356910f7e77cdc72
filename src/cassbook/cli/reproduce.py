"""`cassbook reproduce`."""

from __future__ import annotations

import click

from cassbook.cli.options import engine_option, log
from cassbook.core.paths import checkout


@click.command()
@click.option("--profile", default="quick", show_default=True, help="Profile, or the path of a .yaml file.")
@engine_option(default=None)
def reproduce(profile: str, engine: str | None) -> None:
    """Measure a profile through its notebook, then render the book with it.

    The last line printed is the path of index.html.
    """
    checkout()
    from cassbook.book.build import reproduce as everything

    click.echo(everything(profile, engine, log))
