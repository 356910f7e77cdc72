"""Entry point of `make bench`: all comparisons, or those that are named."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from cassbook.bench import (
    adviser,
    clients,
    generator,
    library,
    logs,
    open_sender,
    own_error,
    queueing,
    relay,
    samples,
    staleness,
)
from cassbook.core.signals import Terminated, heeded

_COMPARISONS: dict[str, Callable[[], None]] = {
    "library": library.main,
    "logs": logs.main,
    "samples": samples.main,
    "own-error": own_error.main,
    "open-sender": open_sender.main,
    "adviser": adviser.main,
    "relay": relay.main,
    "staleness": staleness.main,
    "queueing": queueing.main,
    "clients": clients.main,
    "generator": generator.main,
}


@click.command()
@click.argument("what", nargs=-1, type=click.Choice(list(_COMPARISONS)))
def main(what: tuple[str, ...]) -> None:
    """Compare the library with what bounds it; all of it takes about 50 minutes, most of it `generator`."""
    try:
        with heeded(last=True):
            for name in what or _COMPARISONS:
                click.echo(f"--- {name}")
                _COMPARISONS[name]()
    except (KeyboardInterrupt, Terminated) as ended:
        click.echo("cassbook.bench: interrupted; what it had started is removed", err=True)
        sys.exit(ended.code if isinstance(ended, Terminated) else 130)


if __name__ == "__main__":
    main()
