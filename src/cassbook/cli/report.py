"""`cassbook report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cassbook.cli.options import check_page, logs_options, output_option

if TYPE_CHECKING:
    from cassbook.ingest.common import Options


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="RUN...")
@output_option("HTML file to write.", required=True)
@click.option("--force", is_flag=True, help="Overwrite the output. Default: refuse if it exists.")
@logs_options
def report(names: tuple[str, ...], output: Path, force: bool, options: Options) -> None:
    """Write what runs measured as one HTML page to send to a colleague.

    It holds figures, tables, what settings survive, marks and the manifest, and needs no network. Each RUN after the
    first is compared with the first. RUN is the name of a recorded run, a run's folder, a folder of logs or a log, or a
    record of `cassbook experiment faults`, which stands by itself.
    """
    from cassbook.core.files import write_text

    check_page(output, force)

    from cassbook.book.report import page
    from cassbook.ingest.folder import open_all
    from cassbook.records import faults

    failing = {name: record for name in names if (record := faults.opened(name)) is not None}
    runs = iter(open_all([name for name in names if name not in failing], options))
    write_text(output, page([failing[name] if name in failing else next(runs) for name in names]))
    click.echo(output)
