"""`cassbook cluster`."""

from __future__ import annotations

import json
import sys

import click

from cassbook.cli.common import engine_option, format_option, log


@click.group()
def cluster() -> None:
    """Keep a local cluster to try things on: up, status, down."""


@cluster.command()
@engine_option()
@click.option("--nodes", default=3, show_default=True, help="Number of nodes.")
@click.option("--replication-factor", default=3, show_default=True, help="Replicas of each row.")
@click.option("--heap-mb", default=1024, show_default=True, help="Heap of each node in MB.")
def up(engine: str, nodes: int, replication_factor: int, heap_mb: int) -> None:
    """Start a cluster that stays until `down`."""
    from cassbook.lab.engine.cluster import Spec
    from cassbook.lab.engine.manual import up as start

    started = start(engine, Spec(nodes, replication_factor, heap_mb), log)
    click.echo("CQL answers on " + ", ".join(f"{address}:9042" for address in started))


@cluster.command()
@format_option("text", "json")
def status(form: str) -> None:
    """List the clusters that run; exit 1 if none does."""
    from cassbook.lab.engine.manual import status as report

    lines = report()
    click.echo(json.dumps(lines, indent=2) if form == "json" else "\n".join(lines) or "no cluster is up")
    sys.exit(0 if lines else 1)


@cluster.command()
def down() -> None:
    """Remove the cluster that `up` started, and what killed processes left."""
    from cassbook.lab.engine.manual import down as stop

    removed = stop()
    click.echo("\n".join(f"removed {name}" for name in removed) or "no cluster was up")
