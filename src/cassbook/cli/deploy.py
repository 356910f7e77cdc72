"""`cassbook deploy`."""

from __future__ import annotations

from pathlib import Path

import click

from cassbook.cli.options import Renamed, engine_option, format_option, log, output_option


@click.command()
@click.argument("notation")
@click.option("--rtt", type=click.Path(path_type=Path), help="CSV of round-trip times, ms. Default: the 2021 paper's.")
@click.option("--regions", help="Names of its regions, the client's first: A,B,... Default: the first of the table.")
@click.option("--level", default="QUORUM", show_default=True, help="Consistency level: ONE, QUORUM, LOCAL_QUORUM, ...")
@click.option(
    "--concurrency", "--threads", "threads", cls=Renamed, type=click.IntRange(1), default=100, show_default=True,
    help="Requests in flight.",
)  # fmt: skip
@click.option(
    "--coordinator",
    default="nearest_dc",
    show_default=True,
    help="Coordinator: nearest_dc, nearest, round_robin or R2.",
)
@click.option(
    "--replication",
    "replicas",
    metavar="N|A=N,B=N",
    help="Replicas of each row: 3, or by data centre eu=3,us=3. Default: every node.",
)
@click.option("--run", "name", default="standard-2.1.20", show_default=True, help="Baseline run without distance.")
@click.option("--matrix", is_flag=True, help="Round trips between all hosts, not only between zones or regions.")
@click.option("--measure", is_flag=True, help="Also measure it on a local cluster, behind a relay.")
@click.option("--netem", is_flag=True, help="Delay in the kernel instead of the relay, where that is possible.")
@engine_option()
@output_option("Run folder of --measure. Default: in _build/runs.")
@format_option("text", "json")
def deploy(
    notation: str, rtt: Path | None, regions: str | None, level: str, threads: int, coordinator: str,
    replicas: str | None, name: str, matrix: bool, measure: bool, netem: bool, engine: str,
    output: Path | None, form: str,
) -> None:  # fmt: skip
    """Predict latency and throughput of a deployment across regions.

    \b
    NOTATION is such as "{[C], ([R1]}, {R2}, {R3})":
    ()  the cluster    {}  a region    []  a zone    C  the client    R1, R2, ...  nodes; R1..R6 six of them

    Throughput that processors bound is that of the baseline run's machine.
    """  # noqa: D301 - click wants the character itself
    from cassbook.cli.answers import deploy as answer
    from cassbook.core.paths import project_root
    from cassbook.deployment.replication import read

    level = level.upper()
    placement = answer.place(notation, rtt, regions)
    placement, replication = read(replicas, placement) if replicas is not None else (placement, None)
    if measure:
        answer.measurable(placement, replication)
    predictions, known = answer.predict(placement, level, threads, name, coordinator, replication)
    measured = None
    if form == "text":
        click.echo(answer.text(predictions, known, matrix))
    if measure:
        folder = output or project_root() / "_build" / "runs" / answer.folder_name(placement, level, threads)
        means = "netem" if netem else "relay"
        measured = answer.measure(placement, level, threads, engine, coordinator, folder, log, means, replication)
        if form == "text":
            click.echo(f"measured, {folder.name}:\n{measured.to_string(index=False, float_format='{:.1f}'.format)}")
    if form == "json":
        click.echo(answer.as_json(predictions, known, measured))
