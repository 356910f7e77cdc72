"""`cassbook demonstrate`, `trial`, `probe` and `calibrate`: experiments on a local cluster."""

from __future__ import annotations

from pathlib import Path

import click

from cassbook.cli.common import blocks_option, engine_option, log, output_option


@click.command()
@click.argument("what", type=click.Choice(["shift", "switches"]))
@click.option("--map", "name", required=True, metavar="RUN", help="Run that says which setting is fastest.")
@output_option("Folder, or .json file. Default: in _build/rides.")
@engine_option()
@blocks_option("Clusters, or switches of a kind.")
def demonstrate(what: str, name: str, output: Path | None, engine: str, blocks: int) -> None:
    """Record the adviser at work on a local cluster.

    \b
    shift     ten minutes of shifting load under the adviser, each fixed setting and the paper's switching
              (50 minutes a cluster; an interrupted recording resumes)
    switches  every switch of setting, the paper's and the safe one, with a late replica (10 minutes)
    """  # noqa: D301 - click wants the character itself
    from cassbook.advisor.latency_map import LatencyMap
    from cassbook.core.paths import project_root
    from cassbook.lab.experiments.adviser import record, switches

    latency_map = LatencyMap.of_run(name)
    rides = project_root() / "_build" / "rides"
    if what == "shift":
        click.echo(record.record(output or rides / f"shift-{engine}", latency_map, engine, blocks, say=log))
    else:
        click.echo(switches.record(output or rides / f"switches-{engine}.json", latency_map, engine, blocks, say=log))


@click.command()
@click.argument("name", metavar="NAME")
@output_option("Folder. Default: in _build/trials.")
@engine_option()
@blocks_option()
def trial(name: str, output: Path | None, engine: str, blocks: int) -> None:
    """Record an experiment on what distance does; an interrupted one resumes.

    \b
    coordinators  one coordinator against three, and what it can hold     (21 minutes)
    uplinks       slow uplinks against slow downlinks                     (12 minutes)
    asynchronous  more requests in flight                                 (17 minutes)
    proxy         a proxy near the cluster                                (6 minutes)
    two-centres   LOCAL_ONE, LOCAL_QUORUM, EACH_QUORUM                    (14 minutes)
    speculation   speculative retry                                       (13 minutes)
    timeouts      time-outs fixed and set at run time                     (10 minutes)
    """  # noqa: D301 - click wants the character itself
    from cassbook.core.paths import project_root
    from cassbook.lab.experiments.recording import record

    folder = output or project_root() / "_build" / "trials" / f"{name}-{engine}"
    click.echo(record(name, folder, engine, blocks, say=log))


@click.command()
@click.argument("name", metavar="NAME")
@output_option("Folder. Default: in _build/runs.")
@engine_option()
@blocks_option()
def probe(name: str, output: Path | None, engine: str, blocks: int) -> None:
    """Measure how stale reads are; an interrupted record resumes.

    \b
    three  replication 3, side by side and far apart, alone and under load
    five   the same with replication 5, alone only
    study  the ccm study's own: latency on eight nodes with three replicas
    oracle Cassandra 1.2's own predictor, and its reads (--engine 1.2.0)
    """  # noqa: D301 - click wants the character itself
    from cassbook.core.paths import project_root
    from cassbook.lab.experiments.recording import record
    from cassbook.lab.experiments.staleness.catalogue import PROBES

    folder = output or project_root() / "_build" / "runs" / f"stale-{name}-{engine}"
    click.echo(record(name, folder, engine, blocks, say=log, catalogue=PROBES))


@click.command()
@output_option("Folder. Default: in _build/runs.")
@engine_option()
@blocks_option()
def calibrate(output: Path | None, engine: str, blocks: int) -> None:
    """Measure what requests cost on this machine, to predict other clusters (about 45 minutes)."""
    from cassbook.core.paths import project_root
    from cassbook.lab.experiments.calibration.catalogue import CALIBRATIONS
    from cassbook.lab.experiments.recording import record

    folder = output or project_root() / "_build" / "runs" / f"calibration-{engine}"
    click.echo(record("calibration", folder, engine, blocks, say=log, catalogue=CALIBRATIONS))
