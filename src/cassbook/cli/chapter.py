"""`cassbook chapter`."""

from __future__ import annotations

import click

from cassbook.cli.options import log
from cassbook.core.errors import InputError
from cassbook.core.paths import checkout


@click.command()
@click.argument("slug", metavar="SLUG")
@click.option("-p", "--parameter", "given", multiple=True, metavar="NAME=VALUE", help="Parameter; may be repeated.")
def chapter(slug: str, given: tuple[str, ...]) -> None:
    """Execute one chapter of the book and print the path of its page.

    SLUG is the name of its notebook in notebooks/analyse, such as latency. A chapter whose data, code and parameters
    are unchanged is not executed again.
    """
    checkout()
    parameters = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"-p {text}: must be NAME=VALUE, as in -p recorded=standard-2.1.20")
        parameters[name] = value
    from cassbook.book.build import chapter as build_chapter

    click.echo(build_chapter(slug, parameters, log))
