"""`cassbook capacity`."""

from __future__ import annotations

import click

from cassbook.cli.options import Number, format_option


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--bound-ms", type=Number(), required=True, help="Longest response time to keep, in ms.")
@click.option(
    "--by",
    default="p99",
    show_default=True,
    type=click.Choice(["mean", "p50", "p95", "p99", "p99.9"]),
    help="Figure of the response time that has to keep the bound.",
)
@click.option("--workload", metavar="NAME", help="Only this workload of the run.")
@format_option("text", "json", "csv")
def capacity(name: str, bound_ms: float, by: str, workload: str | None, form: str) -> None:
    """Estimate the highest rate at which response times keep a bound, from a ladder of rates.

    RUN was measured at fixed rates (`rates_per_s` in its profile). Response time counts from when a request should have
    started. Intervals are over blocks; a bound that no rate keeps is an answer.
    """
    from cassbook.cli.answers import capacity as answer
    from cassbook.ingest.folder import open_run

    click.echo(answer.capacities(open_run(name), bound_ms, by, workload, form))
