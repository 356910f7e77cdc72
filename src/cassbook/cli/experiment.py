"""`cassbook experiment`, the catalogue of live experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cassbook.cli.options import blocks_option, engine_option, format_option, log, output_option
from cassbook.core.words import counted

if TYPE_CHECKING:
    from cassbook.lab.experiments.catalogue import Catalogue
    from cassbook.profile.profile import Profile


@click.command()
@click.argument("name", metavar="[NAME]", required=False)
@output_option("Folder of the record. Default: _build/experiments/NAME-ENGINE.")
@click.option("--resume", is_flag=True, help="Resume an interrupted record with the cluster starts it lacks.")
@engine_option(default=None, otherwise="the experiment's usual one")
@blocks_option()
@click.option("--map", "map_run", metavar="RUN", help="Run that says which setting is fastest, for adviser-*.")
@click.option(
    "--profile",
    "profiles",
    metavar="PROFILE",
    multiple=True,
    help="Profile of faults, by name or path, for `faults`; may be given several times.",
)
@format_option("text", "json")
def experiment(
    name: str | None, output: Path | None, resume: bool, engine: str | None, blocks: int, map_run: str | None,
    profiles: tuple[str, ...], form: str,
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
    path = _record(name, output, engine, blocks, resume, map_run, profiles)
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
    name: str, output: Path | None, engine: str | None, blocks: int, resume: bool, map_run: str | None,
    profiles: tuple[str, ...],
) -> Path:  # fmt: skip
    """Record an experiment into a folder, by default one of its name, or its profiles', and engine."""
    from cassbook.core.paths import project_root
    from cassbook.lab.experiments.catalogue import named, usual_engine
    from cassbook.lab.experiments.writer import record

    entry, called = named(name), name
    needed: dict[str, Any] = {}
    if map_run is not None:
        from cassbook.advisor.latency_map import LatencyMap

        needed["map"] = LatencyMap.of_run(map_run)
    if profiles:
        from cassbook.profile.profile import load_profile

        needed["profile"] = loaded = [load_profile(profile) for profile in profiles]
        called, engine = "+".join(one.name for one in loaded), engine or _engine_of(loaded)
    engine = engine or usual_engine(entry)
    folder = output or project_root() / "_build" / "experiments" / f"{called}-{engine}"
    return record(name, folder, engine, blocks, resume, needed, log)


def _engine_of(profiles: list[Profile]) -> str:
    """Return the version that all profiles name."""
    from cassbook.core.errors import InputError

    engines = {profile.engine: profile.name for profile in profiles}
    if len(engines) > 1:
        said = ", ".join(f"{name} is of {engine}" for engine, name in engines.items())
        raise InputError(f"profile: {said}; name one version with --engine")
    return profiles[0].engine


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
