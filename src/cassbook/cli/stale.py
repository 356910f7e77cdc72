"""`cassbook stale`."""

from __future__ import annotations

import click

from cassbook.cli.options import NumberRange, Renamed, format_option


@click.command()
@click.option("--run", "name", required=True, metavar="RUN", help="Record of staleness, or any run.")
@click.option("--r", required=True, type=click.IntRange(1), help="Replicas that a read waits for.")
@click.option("--w", required=True, type=click.IntRange(1), help="Replicas that a write waits for.")
@click.option("--t", "t_ms", required=True, type=NumberRange(0), help="Milliseconds after the acknowledgement.")
@click.option("--setup", help="Set-up of the record: where the nodes were. Default: its first.")
@click.option(
    "--concurrency", "--threads", "threads", cls=Renamed, type=click.IntRange(0),
    help="Requests in flight. Default: the most of the run, which the answer names with the others.",
)  # fmt: skip
@click.option("--workload", help="Workload whose reads and writes at ALL are taken, of a run without staleness.")
@click.option(
    "--target", type=NumberRange(0, 1, min_open=True, max_open=True), default=1e-4, show_default=True,
    help="Share of stale reads to show: how many more reads that would take.",
)  # fmt: skip
@format_option("text", "json")
def stale(
    name: str, r: int, w: int, t_ms: float, setup: str | None, threads: int | None, workload: str | None,
    target: float, form: str,
) -> None:  # fmt: skip
    """Estimate how likely a read misses the last write, and what certainty costs."""
    from cassbook.advisor.freshness import of_run
    from cassbook.cli.answers import stale as answer

    shown = answer.as_json if form == "json" else answer.text
    click.echo(shown(of_run(name, setup, threads, workload), r, w, t_ms, target))
