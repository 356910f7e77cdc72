"""`cassbook compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cassbook.cli.options import by_option, format_option, logs_options

if TYPE_CHECKING:
    from cassbook.ingest.common import Options


@click.command()
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Number of figures shown, largest differences first.")
@click.option("--only-different", is_flag=True, help="Only distinguishable figures, largest differences first.")
@by_option("Figure of the latency to compare by; with a percentile only that is compared.")
@logs_options
@format_option("md", "text", "json", "csv")
def compare(
    first: str, second: str, top: int | None, only_different: bool, by: str, form: str, options: Options
) -> None:
    """Compare two runs cell by cell: ratios with 95 % intervals.

    RUN is the name of a recorded run, a run's folder, a folder of logs, or a log; engines and machines may differ. The
    intervals are over blocks (cluster starts); where a run has only one, they are within that start, and nothing is
    called distinguishable.
    """
    from cassbook.ingest.folder import open_all
    from cassbook.latency.comparison import choose
    from cassbook.latency.comparison import compare as ratios
    from cassbook.shown.comparison import FORMATS

    one, other = open_all([first, second], options)
    comparison = ratios(one, other, by)
    click.echo(FORMATS[form](choose(comparison, top, only_different)))
