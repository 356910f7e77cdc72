"""`cassbook stale`."""

from __future__ import annotations

import click

from cassbook.cli.common import Renamed, format_option


@click.command()
@click.option("--run", "name", required=True, metavar="RUN", help="Record of staleness, or any run.")
@click.option("--r", required=True, type=click.IntRange(1), help="Replicas that a read waits for.")
@click.option("--w", required=True, type=click.IntRange(1), help="Replicas that a write waits for.")
@click.option("--t", "t_ms", required=True, type=click.FloatRange(0), help="Milliseconds after the acknowledgement.")
@click.option("--setup", help="Set-up of the record: where the nodes were. Default: its first.")
@click.option(
    "--concurrency", "--threads", "threads", cls=Renamed, type=click.IntRange(0),
    help="Requests in flight. Default: the fewest of the run.",
)  # fmt: skip
@format_option("text", "json")
def stale(name: str, r: int, w: int, t_ms: float, setup: str | None, threads: int | None, form: str) -> None:
    """Estimate how likely a read sees the last write, and what more certainty costs."""
    from cassbook.advisor.freshness import of_run
    from cassbook.cli.answers import stale as answer

    shown = answer.as_json if form == "json" else answer.text
    click.echo(shown(of_run(name, setup, threads), r, w, t_ms))
