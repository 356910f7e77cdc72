"""`cassbook compare`."""

from __future__ import annotations

import click

from cassbook.cli.common import format_option


@click.command()
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@format_option("md", "text", "json", "csv")
def compare(first: str, second: str, form: str) -> None:
    """Compare two runs cell by cell: ratios with 95 % intervals.

    RUN is the name of a recorded run, a run's folder, or a folder of logs; engines and machines may differ. The
    intervals are over blocks (cluster starts); where a run has only one, they are within that start, and nothing is
    called distinguishable.
    """
    from cassbook.ingest.folder import open_run
    from cassbook.records.compare import FORMATS
    from cassbook.records.compare import compare as ratios

    click.echo(FORMATS[form](ratios(open_run(first), open_run(second))))
