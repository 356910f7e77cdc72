"""`cassbook show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cassbook.cli.options import format_option, logs_options

if TYPE_CHECKING:
    from cassbook.ingest.common import Options


@click.command()
@click.argument("name", metavar="RUN")
@logs_options
@format_option("text", "json", "csv", "md")
def show(name: str, form: str, options: Options) -> None:
    """Show what a run measured: throughput, percentiles, errors and marks by cell.

    RUN is the name of a recorded run, a run's folder, a folder of logs, a log, or the Parquet that `cassbook read`
    wrote. Each cell stands for its repeats in all blocks, with 95 % intervals over blocks; where there is one block,
    they are within it. A percentile that too few requests lie beyond is left out and named.

    RUN may also be a record of `cassbook experiment faults`, of any schedule: then it is what each setting made of each
    fault, who noticed it when, and how requests ended.
    """
    from cassbook.records import faults
    from cassbook.shown import faults as shown_faults

    if (failing := faults.opened(name)) is not None:
        click.echo(shown_faults.FORMATS[form](failing))
        return

    from cassbook.ingest.folder import open_all
    from cassbook.shown.results import FORMATS

    (run,) = open_all([name], options)
    click.echo(FORMATS[form](run))
