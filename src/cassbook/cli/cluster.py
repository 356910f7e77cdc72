"""`cassbook cluster`."""

from __future__ import annotations

import json
import os
import signal
import sys

import click

from cassbook.cli.options import engine_option, format_option, log

_REPLICAS = 3


@click.group()
def cluster() -> None:
    """Keep a local cluster to try things on: up, status, down, its nodes one by one, and Cassandra's tools."""


@cluster.command()
@engine_option()
@click.option("--nodes", default=3, show_default=True, help="Number of nodes.")
@click.option("--replication-factor", type=int, help="Replicas of each row. Default: 3, or as many as there are nodes.")
@click.option("--heap-mb", default=1024, show_default=True, help="Heap of each node in MB.")
@click.option(
    "--nice", type=click.IntRange(0, 19), default=0, show_default=True,
    help="Priority of the nodes: 0 that of any other program, 19 the lowest, as in a measurement on this machine.",
)  # fmt: skip
@format_option("text", "json")
def up(engine: str, nodes: int, replication_factor: int | None, heap_mb: int, nice: int, form: str) -> None:
    """Start a cluster that stays until `down`."""
    from cassbook.lab.engine.cluster import Spec
    from cassbook.lab.engine.manual import up as start

    replicas = min(_REPLICAS, max(nodes, 1)) if replication_factor is None else replication_factor
    started = start(engine, Spec(nodes, replicas, heap_mb, nice=nice), log)
    points = [f"{address}:9042" for address in started]
    click.echo(
        json.dumps({"engine": engine, "cql": points}) if form == "json" else "CQL answers on " + ", ".join(points)
    )


@cluster.command()
@format_option("text", "json")
def status(form: str) -> None:
    """List the clusters on this machine and the state of each node.

    Exits 0 if all nodes run, 1 if none does or there is no cluster, 3 if some do.
    """
    from cassbook.lab.engine.manual import exit_code
    from cassbook.lab.engine.manual import status as report

    clusters = report()
    if form == "json":
        click.echo(json.dumps([cluster.as_json() for cluster in clusters], indent=2))
    else:
        click.echo("\n".join(line for cluster in clusters for line in cluster.lines()) or "no cluster is up")
    sys.exit(exit_code(clusters))


@cluster.command()
@format_option("text", "json")
def down(form: str) -> None:
    """Remove the cluster that `up` started, and what killed processes left."""
    from cassbook.lab.engine.manual import down as stop

    removed = stop()
    if form == "json":
        click.echo(json.dumps({"removed": removed}))
        return
    click.echo("\n".join(f"removed {name}" for name in removed) or "no cluster was up")


def _node_command(name: str, summary: str, refused: str) -> None:
    """Add a command that does one thing to one node."""

    @cluster.command(name, help=f"{summary}\n\nNODE is node1, 1 or its address. Refused: {refused}.")
    @click.argument("node", metavar="NODE")
    def act(node: str) -> None:
        from cassbook.lab.engine import manual_nodes

        getattr(manual_nodes, name)(node, log)


_node_command("stop", "Stop a node in order (SIGTERM) and wait until it is gone.", "a node that is down or paused")
_node_command("start", "Start a node and wait until it answers and the others see it.", "a node that runs or is paused")
_node_command("restart", "Stop a node in order and start it again, or start it if it is down.", "a node that is paused")
_node_command("kill", "Kill a node (SIGKILL), also a paused one.", "a node that is down")
_node_command("pause", "Pause a node (SIGSTOP): connected, but silent.", "a node that is down or paused")
_node_command("resume", "Let a paused node go on (SIGCONT).", "a node that is not paused")


#: What follows a tool's name is the tool's own, but for --node right behind it.
_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_arguments = click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]...")
_node = click.option(
    "--node", metavar="NODE", help="Node to ask: node1, 1 or its address. Default: the first that runs."
)


def _become(command: list[str]) -> None:
    """Become the tool, so that terminal, signals and exit code are its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the tool would inherit that
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


@cluster.command(context_settings=_PASSED_ON)
@_node
@_arguments
def nodetool(node: str | None, arguments: tuple[str, ...]) -> None:
    """Run nodetool on a node; the exit code is its own.

    Example: `cassbook cluster nodetool status`. Needs a whole Java: those of the Python index lack a module (exit 2).
    """
    from cassbook.lab.engine import tools
    from cassbook.lab.engine.manual_nodes import by_hand

    _become(tools.nodetool(by_hand(), node, arguments))


@cluster.command(context_settings=_PASSED_ON)
@_arguments
def stress(arguments: tuple[str, ...]) -> None:
    """Run the release's cassandra-stress on all nodes that run; the exit code is its own.

    Example: `cassbook cluster stress write n=10000 -rate threads=50`. Not for 5.0.9, which comes without it (exit 2).
    """
    from cassbook.lab.engine import tools
    from cassbook.lab.engine.manual_nodes import by_hand

    _become(tools.stress(by_hand(), arguments))


@cluster.command(context_settings=_PASSED_ON)
@_node
@_arguments
def cqlsh(node: str | None, arguments: tuple[str, ...]) -> None:
    """Run cqlsh on a node; the exit code is its own.

    Example: `cassbook cluster cqlsh -e "SELECT * FROM system.peers"`. Needs `pip install cqlsh` (exit 2).
    """
    from cassbook.lab.engine import tools
    from cassbook.lab.engine.manual_nodes import by_hand

    _become(tools.cqlsh(by_hand(), node, arguments))
