"""The command line: `cassbook doctor`, `run`, `cluster`, `read`, `compare`, `export`, `claims`, `advise`,
`demonstrate`, `deploy`, `book`, `reproduce`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from cassbook import __version__
from cassbook.cli.hosts import asked_hosts, confirm, host_options, look
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.releases import DEFAULT_ENGINE, RELEASES

P = ParamSpec("P")
R = TypeVar("R")
_say = functools.partial(click.echo, err=True)
_engine_help = f"Cassandra version: {', '.join(RELEASES)}."


def _plainly(command: Callable[P, R]) -> Callable[P, R]:
    """Turn our own errors into one message and an exit code: 2 for what was asked, 1 for what happened."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except InputError as error:
            _say(f"cassbook: {error}")
            sys.exit(2)
        except LaboratoryError as error:
            _say(f"cassbook: {error}")
            sys.exit(1)
        except KeyboardInterrupt:
            _say("cassbook: interrupted; what was finished is kept, and the same command goes on (`run` with --resume)")
            sys.exit(130)

    return wrapped


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Measure what consistency costs in Apache Cassandra, and render the book that says so."""


@main.command()
@click.option("--engine", default=DEFAULT_ENGINE, help=_engine_help)
@_plainly
def doctor(engine: str) -> None:
    """Say what is found, what is missing and how to get it; exit 1 if a cluster cannot start."""
    from cassbook.core.releases import release
    from cassbook.lab.doctor import examine

    findings, can_start = examine(release(engine).version)
    for finding in findings:
        click.echo(f"{finding.status:8}{finding.subject:22}{finding.detail}")
    if not can_start:
        _say(f"a cluster of Cassandra {engine} cannot start here")
        sys.exit(1)


@main.command()
@click.option("--profile", required=True, help="quick, standard, paper, or the path of a .yaml file.")
@click.option("--engine", help=_engine_help + " Default: the profile's.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder. Default: _build/runs/PROFILE-ENGINE.")
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
@click.option("--dry-run", is_flag=True, help="Say how many cells and about how long, and stop.")
@host_options
@_plainly
def run(profile: str, engine: str | None, out: Path | None, resume: bool, dry_run: bool, **existing: Any) -> None:
    """Measure a profile on a local cluster, or with --hosts on yours; finished cells are kept whatever happens."""
    from cassbook.core.paths import project_root
    from cassbook.lab.run.measure import measure
    from cassbook.lab.run.plan import forecast_s, plan
    from cassbook.profile.profile import load_profile

    hosts = asked_hosts(existing, engine)
    asked = load_profile(profile, engine=engine)
    if dry_run:
        cells = [cell for block in plan(asked) for cell in block]
        click.echo(f"{len(cells)} cells in {asked.blocks} blocks, about {forecast_s(asked, cells) / 60:.0f} min")
        return

    runs = project_root() / "_build" / "runs"
    if hosts is None:
        measure(asked, out or runs / f"{asked.name}-{asked.engine}", resume=resume, say=_say)
    else:
        asked, there = look(hosts, asked, _say)
        folder = out or runs / f"{asked.name}-existing-{asked.engine}"
        confirm(there, asked, folder, resume, existing, _say)
        measure(asked, folder, resume=resume, say=_say, existing=there)


@main.group()
def cluster() -> None:
    """Keep a cluster by hand."""


@cluster.command()
@click.option("--engine", default=DEFAULT_ENGINE, help=_engine_help)
@click.option("--nodes", default=3, show_default=True)
@click.option("--replication-factor", default=3, show_default=True)
@click.option("--heap-mb", default=1024, show_default=True)
@_plainly
def up(engine: str, nodes: int, replication_factor: int, heap_mb: int) -> None:
    """Start a cluster that stays until `down`."""
    from cassbook.lab.engine.cluster import Spec
    from cassbook.lab.engine.manual import up as start

    started = start(engine, Spec(nodes, replication_factor, heap_mb), _say)
    click.echo("CQL answers on " + ", ".join(f"{address}:9042" for address in started))


@cluster.command()
@_plainly
def status() -> None:
    """List the clusters that run; exit 1 if none does."""
    from cassbook.lab.engine.manual import status as report

    lines = report()
    click.echo("\n".join(lines) or "no cluster is up")
    sys.exit(0 if lines else 1)


@cluster.command()
@_plainly
def down() -> None:
    """Remove the cluster that `up` started, and what killed processes left."""
    from cassbook.lab.engine.manual import down as stop

    removed = stop()
    click.echo("\n".join(f"removed {name}" for name in removed) or "no cluster was up")


@main.command()
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--to", required=True, type=click.Path(path_type=Path), help="The Parquet file to be.")
@click.option(
    "--skip-damaged", is_flag=True, help="Leave damaged lines out and count them; else the first is an error."
)
@click.option("--clocks-apart", is_flag=True, help="Count the time of each file from its own first operation.")
@click.option("--unit", type=click.Choice(["ns", "us", "ms"]), help="What an HdrHistogram log counts in. Default: us.")
@click.option(
    "--dask", metavar="ADDRESS", help="Let the workers of this Dask scheduler read, tcp://...; makes a folder."
)
@_plainly
def read(logs: tuple[Path, ...], to: Path, **how: Any) -> None:
    """Turn logs of YCSB, cassandra-stress, cassandra-easy-stress or HdrHistogram into one Parquet file.

    Logs of single operations become samples; many files are the clients of one run. Logs of sums or histograms become a
    table of those. Formats are recognised by content, gzip and Zstandard too.
    """
    from cassbook.ingest.merge import Options, read_logs

    try:
        report = read_logs(logs, to, Options(**how))
    except KeyboardInterrupt:
        _say("cassbook: interrupted; nothing was written")
        sys.exit(130)
    click.echo("\n".join(report))


@main.command()
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@click.option("--format", "form", type=click.Choice(["md", "csv", "json"]), default="md", show_default=True)
@_plainly
def compare(first: str, second: str, form: str) -> None:
    """Put two runs beside each other, cell by cell: ratios of latency and throughput with 95 % intervals.

    RUN is the name of a run in data/runs, a run's folder, or a folder of logs; engines and machines may differ. The
    intervals are over blocks (cluster starts); where a run has one, they are within that start, and nothing is called
    distinguishable.
    """
    from cassbook.ingest.folder import open_run
    from cassbook.records.compare import FORMATS
    from cassbook.records.compare import compare as beside

    click.echo(FORMATS[form](beside(open_run(first), open_run(second))))


@main.command()
@click.argument("name", metavar="RUN")
@click.option("--to", required=True, type=click.Path(path_type=Path), help="Folder to be made; refused if not empty.")
@click.option("--format", "form", type=click.Choice(["csv", "latex", "both"]), default="both", show_default=True)
@_plainly
def export(name: str, to: Path, form: str) -> None:
    """Write the tables of a run: the papers' Tables I to V from its cells, and tidy ones with units in their columns.

    RUN is the name of a run in data/runs, a run's folder, or a folder of logs. LaTeX needs the package booktabs.
    """
    from cassbook.book.export import export as write
    from cassbook.ingest.folder import open_run

    for path in write(open_run(name), to, form):
        click.echo(path)


@main.command()
@click.option("--run", "folder", type=click.Path(path_type=Path), help="Also put this run to the claims it can test.")
@click.option("--format", "form", type=click.Choice(["json", "csv", "md"]), default="md", show_default=True)
@click.option("--paper", multiple=True, help="Only this paper's: g20, pbs, g21, thesis or d16. May be repeated.")
@click.option("--id", "identity", multiple=True, help="Only the claim of this id. May be repeated.")
@_plainly
def claims(folder: Path | None, form: str, paper: tuple[str, ...], identity: tuple[str, ...]) -> None:
    """List every quantitative claim of the five texts, recomputed, with a verdict.

    \b
    reproduced      it follows from the paper's own numbers, to the digits printed
    other_reading   it follows in a reading that the note names
    not_reproduced  it follows in no reading we could think of
    untestable      nothing is left to compute with; the note says what is lost
    """  # noqa: D301 - click wants the character itself
    from cassbook.claims.registry import ledger, with_ids
    from cassbook.claims.report import FORMATS
    from cassbook.claims.statement import papers_named
    from cassbook.claims.study import Study
    from cassbook.ingest.folder import open_run
    from cassbook.latency.summaries import level_stats

    asked = papers_named(paper)
    run = None if folder is None else Study.of(level_stats(open_run(folder).statistics))
    findings = ledger(run, asked, progress=sys.stderr.isatty())
    click.echo(FORMATS[form](with_ids(findings, identity) if identity else findings))


@main.command()
@click.option("--run", "name", required=True, metavar="RUN", help="A run in data/runs, a run's folder, or one of logs.")
@click.option("--threads", type=float, help="Requests in flight.")
@click.option("--reads", type=float, help="Part of them that reads, 0 to 1.")
@click.option("--map", "whole", is_flag=True, help="The whole domain that the run measured, in place of a point.")
@click.option("--nodes", type=click.IntRange(1), help="Foretell so many, RUN being a record of `cassbook calibrate`.")
@click.option("--format", "form", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
@_plainly
def advise(
    name: str, threads: float | None, reads: float | None, whole: bool, nodes: int | None, form: str
) -> None:  # fmt: skip
    """Name the best strong setting for a load, its latency with interval, and the runner-up, as a run measured them.

    Between measured points latencies are interpolated; outside them there is no answer. With --nodes they are not
    measured but foretold by a calibrated queueing network, for a cluster that need not have been started.
    """
    from cassbook.advisor import from_calibration
    from cassbook.advisor.latency_map import LatencyMap
    from cassbook.cli import advise
    from cassbook.records.calibration import CalibrationRun

    if whole != (threads is None and reads is None) or (threads is None) != (reads is None):
        raise InputError("give both --threads and --reads, or --map alone")
    latency_map = from_calibration.latency_map(CalibrationRun(name), nodes) if nodes else LatencyMap.of_run(name)
    if threads is None or reads is None:
        click.echo(advise.domain(latency_map, form))
    else:
        click.echo(advise.point(latency_map, threads, reads, form))


@main.command()
@click.argument("what", type=click.Choice(["shift", "switches"]))
@click.option("--map", "name", required=True, metavar="RUN", help="The run that says which setting is fastest.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder, or .json file. Default: in _build/rides.")
@click.option("--engine", default=DEFAULT_ENGINE, show_default=True, help=_engine_help)
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True, help="Clusters, or switches of a kind."
)
@_plainly
def demonstrate(what: str, name: str, out: Path | None, engine: str, repeats: int) -> None:
    """Record the adviser at work on a local cluster.

    \b
    shift     ten minutes of shifting load under the adviser, each fixed setting and the paper's switching
              (50 minutes a cluster; an interrupted recording goes on with what is missing)
    switches  every switch of setting, the paper's and the safe one, with a late replica (10 minutes)
    """  # noqa: D301 - click wants the character itself
    from cassbook.advisor.latency_map import LatencyMap
    from cassbook.core.paths import project_root
    from cassbook.lab.experiments.adviser import record, switches

    latency_map = LatencyMap.of_run(name)
    rides = project_root() / "_build" / "rides"
    if what == "shift":
        click.echo(record.record(out or rides / f"shift-{engine}", latency_map, engine, repeats, say=_say))
    else:
        click.echo(switches.record(out or rides / f"switches-{engine}.json", latency_map, engine, repeats, say=_say))


@main.command()
@click.argument("notation")
@click.option(
    "--rtt", type=click.Path(path_type=Path), help="CSV of round-trip times. Default: the 2021 paper's table."
)
@click.option("--regions", help="Names of its regions, the client's first: A,B,... Default: the table's first ones.")
@click.option("--level", default="QUORUM", show_default=True, help="ONE, QUORUM, ALL, LOCAL_QUORUM, ...")
@click.option("--threads", type=click.IntRange(1), default=100, show_default=True, help="Requests in flight.")
@click.option("--coordinator", default="nearest_dc", show_default=True, help="Or nearest, round_robin, a node: R2.")
@click.option("--replication", type=click.IntRange(1), help="Replicas of a row. Default: every node holds it.")
@click.option("--run", "name", default="standard-2.1.20", show_default=True, help="Run that says what is not distance.")
@click.option("--measure", is_flag=True, help="Also measure it on a local cluster, behind a relay.")
@click.option("--netem", is_flag=True, help="Have the kernel delay in place of the relay, where it can and we may.")
@click.option("--engine", default=DEFAULT_ENGINE, show_default=True, help=_engine_help)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_plainly
def deploy(
    notation: str, rtt: Path | None, regions: str | None, level: str, threads: int, coordinator: str,
    replication: int | None, name: str, measure: bool, netem: bool, engine: str, form: str,
) -> None:  # fmt: skip
    """Predict latency and throughput of a deployment, as "{[C], ([R1]}, {R2}, {R3})".

    \b
    ()  the cluster    {}  a region    []  a zone    C  the client    R1, R2, ...  nodes
    """  # noqa: D301 - click wants the character itself
    from cassbook.cli import deploy
    from cassbook.core.paths import project_root

    level = level.upper()
    placement = deploy.place(notation, rtt, regions)
    found = deploy.predict(placement, level, threads, name, coordinator, replication)
    measured = None
    if form == "text":
        click.echo(deploy.text(found, name))
    if measure:
        folder = project_root() / "_build" / "runs" / deploy.folder_name(placement, level, threads)
        means = "netem" if netem else "relay"
        measured = deploy.measure(placement, level, threads, engine, coordinator, folder, _say, means)
        if form == "text":
            click.echo(f"measured, {folder.name}:\n{measured.to_string(index=False, float_format='{:.1f}'.format)}")
    if form == "json":
        click.echo(deploy.as_json(found, measured))


@main.command()
@click.argument("name", metavar="NAME")
@click.option("--out", type=click.Path(path_type=Path), help="Folder. Default: in _build/trials.")
@click.option("--engine", default=DEFAULT_ENGINE, show_default=True, help=_engine_help)
@click.option("--starts", type=click.IntRange(1), default=3, show_default=True, help="Of each of its clusters.")
@_plainly
def trial(name: str, out: Path | None, engine: str, starts: int) -> None:
    """Record an experiment on what distance does; an interrupted one goes on with what is missing.

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

    folder = out or project_root() / "_build" / "trials" / f"{name}-{engine}"
    click.echo(record(name, folder, engine, starts, say=_say))


@main.command()
@click.option("--run", "run_name", required=True, metavar="DIR", help="A record of `cassbook probe`, or any run.")
@click.option("--r", required=True, type=click.IntRange(1), help="Replicas that a read waits for.")
@click.option("--w", required=True, type=click.IntRange(1), help="Replicas that a write waits for.")
@click.option("--t", "t_ms", required=True, type=click.FloatRange(0), help="Milliseconds after the acknowledgement.")
@click.option("--setup", help="Where the nodes were, in a record of the probe. Default: its first.")
@click.option("--threads", type=click.IntRange(0), help="The load. Default: the least that the run has.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_plainly
def stale(run_name: str, r: int, w: int, t_ms: float, setup: str | None, threads: int | None, form: str) -> None:
    """Say how likely a read is to see the last write, and what the next stronger setting costs."""
    from cassbook.advisor.freshness import of_run
    from cassbook.cli import stale

    say = stale.as_json if form == "json" else stale.text
    click.echo(say(of_run(run_name, setup, threads), r, w, t_ms))


@main.command()
@click.argument("name", metavar="NAME")
@click.option("--out", type=click.Path(path_type=Path), help="Folder. Default: in _build/runs.")
@click.option("--engine", default=DEFAULT_ENGINE, show_default=True, help=_engine_help)
@click.option("--starts", type=click.IntRange(1), default=3, show_default=True, help="Of each of its clusters.")
@_plainly
def probe(name: str, out: Path | None, engine: str, starts: int) -> None:
    """Measure how stale reads are; an interrupted record goes on with what is missing.

    \b
    three  replication 3, side by side and far apart, alone and under load
    five   the same with replication 5, alone only
    study  the ccm study's own: latency on eight nodes with three replicas
    oracle Cassandra 1.2's own predictor, and its reads (--engine 1.2.0)
    """  # noqa: D301 - click wants the character itself
    from cassbook.core.paths import project_root
    from cassbook.lab.experiments.recording import record
    from cassbook.lab.experiments.staleness.catalogue import PROBES

    folder = out or project_root() / "_build" / "runs" / f"stale-{name}-{engine}"
    click.echo(record(name, folder, engine, starts, say=_say, catalogue=PROBES))


@main.command()
@click.option("--out", type=click.Path(path_type=Path), help="Folder. Default: in _build/runs.")
@click.option("--engine", default=DEFAULT_ENGINE, show_default=True, help=_engine_help)
@click.option("--starts", type=click.IntRange(1), default=3, show_default=True, help="Of each of its clusters.")
@_plainly
def calibrate(out: Path | None, engine: str, starts: int) -> None:
    """Measure what requests cost on this machine, to predict other clusters (about 45 minutes)."""
    from cassbook.core.paths import project_root
    from cassbook.lab.experiments.calibration.catalogue import CALIBRATIONS
    from cassbook.lab.experiments.recording import record

    folder = out or project_root() / "_build" / "runs" / f"calibration-{engine}"
    click.echo(record("calibration", folder, engine, starts, say=_say, catalogue=CALIBRATIONS))


@main.command()
@click.option("--run", "run_name", required=True, metavar="DIR", help="A record of `cassbook calibrate`.")
@click.option("--nodes", default=4, show_default=True, type=click.IntRange(1))
@click.option("--replication", default=3, show_default=True, type=click.IntRange(1))
@click.option("--level", default="ONE", show_default=True, help="Consistency level.")
@click.option("--operation", type=click.Choice(["READ", "UPDATE"]), default="READ", show_default=True)
@click.option("--jobs", default="1..200", show_default=True, help="Requests at a time: 45, 1,8,32 or 1..200.")
@click.option("--ask-all", is_flag=True, help="Reads with speculative retry ALWAYS: one more replica is asked.")
@click.option("--length", default=100, show_default=True, help="Bytes of each of a row's ten fields.")
@click.option("--cores", type=click.IntRange(1), help="Of the machine. Default: of the one that was measured.")
@click.option("--disk-ms", default=0.0, type=click.FloatRange(0), help="That a replica's disk takes. Default: none.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_plainly
def predict(
    run_name: str, nodes: int, replication: int, level: str, operation: str, jobs: str, ask_all: bool, length: int,
    cores: int | None, disk_ms: float, form: str,
) -> None:  # fmt: skip
    """Predict throughput and response time of a cluster from one that was measured (a queueing network)."""
    from cassbook.cli import predict
    from cassbook.queueing.calibration import Question
    from cassbook.records.calibration import CalibrationRun

    question = Question(operation, level, nodes, replication, ask_all)
    found = CalibrationRun(run_name).predict(question, predict.jobs_of(jobs), length, cores or 0, disk_ms)
    click.echo((predict.as_json if form == "json" else predict.text)(question, found))


@main.command()
@click.option("--recorded", help="Run in data/runs of the papers' Cassandra. Default: the notebooks' own.")
@click.option("--today", help="Run in data/runs of today's Cassandra. Default: the notebooks' own.")
@click.option("--fresh", type=click.Path(path_type=Path), help="A run to show beside them.")
@_plainly
def book(recorded: str | None, today: str | None, fresh: Path | None) -> None:
    """Render the book from recorded runs; needs neither Java nor a cluster."""
    from cassbook.book.build import build

    click.echo(build(recorded=recorded, today=today, fresh=fresh, say=_say))


@main.command()
@click.option("--profile", default="quick", show_default=True)
@click.option("--engine", help=_engine_help + " Default: the profile's.")
@_plainly
def reproduce(profile: str, engine: str | None) -> None:
    """Measure a profile through its notebook, then render the book with it; ends with the path of index.html."""
    from cassbook.book.build import reproduce as everything

    click.echo(everything(profile, engine, _say))


if __name__ == "__main__":
    main()
