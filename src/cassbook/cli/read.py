"""`cassbook read`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from cassbook.cli.options import format_option, log, output_option, skip_damaged_option, unit_option
from cassbook.core.signals import Terminated


@click.command()
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True), metavar="FILE...")
@output_option("File to write: CSV if its name ends in .csv, else Parquet.", required=True)
@click.option("--force", is_flag=True, help="Overwrite the output. Default: refuse if it exists.")
@skip_damaged_option
@click.option("--clocks-apart", is_flag=True, help="Count the time of each file from its own first operation.")
@unit_option
@click.option("--dask", metavar="ADDRESS", help="Dask scheduler, tcp://..., whose workers read; writes a folder.")
@format_option("text", "json")
def read(logs: tuple[Path, ...], output: Path, form: str, **how: Any) -> None:
    """Convert logs of YCSB, cassandra-stress, easy-stress or HdrHistogram to Parquet.

    Logs of single operations become samples; several files are the clients of one run. Logs of sums or histograms
    become a table of those. Formats are recognised by content, gzip and Zstandard too. FILE may be a pipe; - is
    standard input. The report of what was read goes to standard output.
    """
    from cassbook.ingest.common import Options
    from cassbook.ingest.merge import read_logs

    try:
        report = read_logs(logs, output, Options(**how))
    except (KeyboardInterrupt, Terminated) as ended:
        log("cassbook: interrupted; nothing was written")
        sys.exit(ended.code if isinstance(ended, Terminated) else 130)
    click.echo(json.dumps(report.content, indent=2, ensure_ascii=False) if form == "json" else "\n".join(report.lines))
