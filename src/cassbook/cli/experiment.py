"""`cassbook experiment`, the catalogue of live experiments; `demonstrate`, `trial`, `probe` and `calibrate`, older
commands for parts of it, which go on working.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cassbook.cli.options import blocks_option, engine_option, format_option, log, output_option
from cassbook.core.words import counted

if TYPE_CHECKING:
    from cassbook.lab.experiments.catalogue import Catalogue


@click.command()
@click.argument("name", metavar="[NAME]", required=False)
@output_option("Folder of the record. Default: _build/experiments/NAME-ENGINE.")
@click.option("--resume", is_flag=True, help="Resume an interrupted record with the cluster starts it lacks.")
@engine_option(default=None, otherwise="the experiment's usual one")
@blocks_option()
@click.option("--map", "map_run", metavar="RUN", help="Run that says which setting is fastest, for adviser-*.")
@click.option("--profile", metavar="PROFILE", help="Profile of faults, by name or path, for `faults`.")
@format_option("text", "json")
def experiment(
    name: str | None, output: Path | None, resume: bool, engine: str | None, blocks: int, map_run: str | None,
    profile: str | None, form: str,
) -> None:  # fmt: skip
    """Record a live experiment; without a name, list them.

    It runs on a local cluster. A record is one folder: a table of rows per cluster start, and a manifest with the sum
    of each file. Its path is printed; of faults also what each setting made of them, on standard error, as `cassbook
    show` prints it.
    """
    if name is None:
        from cassbook.lab.experiments.catalogue import CATALOGUE

        click.echo(as_json(CATALOGUE) if form == "json" else text(CATALOGUE))
        return
    path = _record(name, output, "_build/experiments/{name}-{engine}", engine, blocks, resume, map_run, profile)
    _summarise(path)
    click.echo(json.dumps({"record": str(path)}) if form == "json" else path)


def _summarise(path: Path) -> None:
    """Print what was recorded of faults, and which commands read a record."""
    from cassbook.records import faults, manifest
    from cassbook.records.kinds import read_by
    from cassbook.shown import faults as shown_faults

    if (failing := faults.opened(str(path))) is not None:
        log(f"\n{shown_faults.as_text(failing)}\n")
    log(read_by(manifest.read(path)["experiment"], str(path)))


def _record(
    name: str, output: Path | None, usual: str, engine: str | None, blocks: int, resume: bool, map_run: str | None,
    profile: str | None = None,
) -> Path:  # fmt: skip
    """Record an experiment into a folder, by default the usual one of its name and engine."""
    from cassbook.core.paths import project_root
    from cassbook.lab.experiments.catalogue import named, usual_engine
    from cassbook.lab.experiments.writer import record

    name, entry = named(name)
    called = name
    needed: dict[str, Any] = {}
    if map_run is not None:
        from cassbook.advisor.latency_map import LatencyMap

        needed["map"] = LatencyMap.of_run(map_run)
    if profile is not None:
        from cassbook.profile.profile import load_profile

        needed["profile"] = loaded = load_profile(profile)
        called, engine = loaded.name, engine or loaded.engine
    engine = engine or usual_engine(entry)
    folder = output or project_root() / usual.format(name=called, engine=engine)
    return record(name, folder, engine, blocks, resume, needed, log)


def text(catalogue: Catalogue) -> str:
    """List the experiments: name, duration, engines, what each needs, and its question."""
    lines = ["Minutes are those of three blocks (cluster starts of each set-up) on two cores.", ""]
    for name, entry in catalogue.items():
        needs = f"; needs {entry.option}" if entry.needs else ""
        lines.append(f"{name}  about {counted(entry.minutes, 'minute')}; Cassandra {', '.join(entry.engines)}{needs}")
        lines.append(f"    {entry.question}")
    return "\n".join(lines)


def as_json(catalogue: Catalogue) -> str:
    """List the experiments as JSON: name, question, minutes, engines, needs."""
    rows = [
        {
            "name": name, "question": entry.question, "minutes": entry.minutes, "engines": list(entry.engines),
            "needs": entry.needs,
        }
        for name, entry in catalogue.items()
    ]  # fmt: skip
    return json.dumps(rows, indent=1)


@click.command()
@click.argument("what", type=click.Choice(["shift", "switches"]))
@click.option("--map", "map_run", required=True, metavar="RUN", help="Run that says which setting is fastest.")
@output_option("Folder. Default: in _build/rides.")
@engine_option()
@blocks_option()
def demonstrate(what: str, map_run: str, output: Path | None, engine: str, blocks: int) -> None:
    """Record the adviser at work: `cassbook experiment adviser-shift` or `adviser-switches`."""
    usual = f"_build/rides/{what}-{{engine}}"
    click.echo(_record(f"adviser-{what}", output, usual, engine, blocks, True, map_run))


@click.command()
@click.argument("name", metavar="NAME")
@output_option("Folder. Default: in _build/trials.")
@engine_option()
@blocks_option()
def trial(name: str, output: Path | None, engine: str, blocks: int) -> None:
    """Record an experiment on what distance does: `cassbook experiment distance-NAME`."""
    usual = f"_build/trials/{name}-{{engine}}"
    click.echo(_record(f"distance-{name}", output, usual, engine, blocks, True, None))


@click.command()
@click.argument("name", metavar="NAME")
@output_option("Folder. Default: in _build/runs.")
@engine_option()
@blocks_option()
def probe(name: str, output: Path | None, engine: str, blocks: int) -> None:
    """Measure how stale reads are: `cassbook experiment staleness-NAME`."""
    usual = f"_build/runs/stale-{name}-{{engine}}"
    click.echo(_record(f"staleness-{name}", output, usual, engine, blocks, True, None))


@click.command()
@output_option("Folder. Default: in _build/runs.")
@engine_option()
@blocks_option()
def calibrate(output: Path | None, engine: str, blocks: int) -> None:
    """Measure what requests cost on this machine: `cassbook experiment calibration`."""
    click.echo(_record("calibration", output, "_build/runs/{name}-{engine}", engine, blocks, True, None))
