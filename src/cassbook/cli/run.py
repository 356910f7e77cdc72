"""`cassbook run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cassbook.cli.hosts import announce, asked_clients, asked_hosts, confirm, host_options, look, placed_clients
from cassbook.cli.options import format_option, log, output_option
from cassbook.core.releases import RELEASES
from cassbook.core.words import counted

if TYPE_CHECKING:
    from cassbook.lab.engine.existing_cluster import ExistingCluster
    from cassbook.profile.profile import Profile


@click.command()
@click.option(
    "--profile", required=True, help="Profile: quick, standard, paper, workloads, or the path of a .yaml file."
)
@click.option(
    "--engine",
    help=f"Cassandra version: {', '.join(RELEASES)}. Several, with commas between them, are measured block by block in "
    "turn, each into a folder of its own. Default: the profile's.",
)
@output_option("Run folder; of several versions, without their -ENGINE. Default: _build/runs/PROFILE-ENGINE.")
@click.option("--resume", is_flag=True, help="Resume an interrupted run.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Number of cells and estimated minutes only. Nothing is started or written. With --hosts the cluster is "
    "looked at, and takes the statements of own workloads in the run's keyspace, which is made and dropped; exit code "
    "1 if it cannot be reached.",
)
@click.option("--convert", type=click.Path(path_type=Path), metavar="FILE", help="With a user profile of "
              "cassandra-stress: write the profile that it becomes, and measure nothing.")  # fmt: skip
@format_option("text", "json", "csv", "md")
@host_options
def run(
    profile: str, engine: str | None, output: Path | None, resume: bool, dry_run: bool, convert: Path | None,
    form: str, **existing: Any,
) -> None:  # fmt: skip
    """Measure a profile on a local cluster or, with --hosts, on yours.

    Finished cells are kept however the run ends. When it is complete, its results are printed, as by `cassbook show`.
    """
    from cassbook.core.errors import LaboratoryError
    from cassbook.core.paths import project_root

    scratch = {"keep_keyspace": False} if dry_run and existing["hosts"] else {}
    hosts, there, reached = asked_hosts(existing | scratch, engine), None, True
    if engine and "," in engine:
        _in_turn(profile, engine.split(","), output, resume, dry_run, form)
        return
    wanted, became = _read(profile, engine, shown=dry_run and form == "text" and convert is None)
    if convert is not None:
        _convert(profile, became, convert)
        return
    scheduler = asked_clients(existing, wanted)
    where = "" if hosts is None else "existing-"

    def folder_of(version: str) -> Path:
        return output or project_root() / "_build" / "runs" / f"{wanted.name}-{where}{version}"

    def find_capacity(version: str) -> bool:
        return existing["find_capacity"] or (resume and _finds_capacity(folder_of(version)))

    if hosts is not None:
        try:
            wanted, there = look(hosts, wanted, log, find_capacity)
        except LaboratoryError as error:
            if not dry_run:
                raise
            from cassbook.lab.run.hosts import careful

            log(f"{error}; whether the profile fits the cluster is not known")
            newest = list(RELEASES)[-1]  # the one with most in it
            wanted = careful(wanted, find_capacity(newest)).model_copy(update={"engine": newest})
            reached = False
    folder = folder_of(wanted.engine)
    allowed_mb: float | None = None
    with placed_clients(scheduler, there, wanted, folder, resume, log) as (placed, clients):
        if there is not None:
            resume = resume or _left_without_cells(folder, placed)
            amount = announce(there, placed, folder, resume, log)
            allowed_mb = None if dry_run else confirm(amount, existing)
        if dry_run:
            checked = there is not None and _checked(placed, there, resume)
            _forecast([placed], hosts is None, form, checked)
            if not reached:
                sys.exit(1)
            return

        from cassbook.lab.run.measure import measure

        measure(placed, folder, resume=resume, log=log, existing=there, clients=clients, allowed_mb=allowed_mb)
    _show([folder], form)


def _read(name: str, engine: str | None, shown: bool) -> tuple[Profile, str]:
    """Read a profile; of cassandra-stress's also the YAML of ours that it becomes, and log what is left out.

    `shown`: print that YAML.
    """
    from cassbook.core.errors import InputError
    from cassbook.profile import stress
    from cassbook.profile.profile import profile_of, read_yaml

    path, content = read_yaml(name)
    if not stress.is_one(content):
        return profile_of(content, path, engine=engine), ""
    try:
        ours, left_out = stress.converted(content, path.stem)
    except InputError as error:
        raise InputError(f"{path}: a user profile of cassandra-stress: {error}") from None
    for line in (f"{path} is a user profile of cassandra-stress; left out of it:", *(f"  {each}" for each in left_out)):
        log(line)
    became = _as_yaml(ours)
    if shown:
        click.echo(became)
    return profile_of(ours, path, engine=engine), became


def _as_yaml(content: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(content, sort_keys=False, width=120, allow_unicode=True).rstrip()


def _convert(name: str, became: str, path: Path) -> None:
    """Write the profile that one of cassandra-stress becomes.

    Raises InputError if it is none, or the file is there already.
    """
    from cassbook.core.errors import InputError
    from cassbook.core.files import write_text

    if not became:
        raise InputError(f"--convert: {name} is no user profile of cassandra-stress; it is a profile already")
    if path.exists():
        raise InputError(f"--convert: {path} is there already; name another file")
    write_text(path, became + "\n")
    click.echo(f"written: {path}; set threads, settings and share, then: cassbook run --profile {path} --dry-run")


def _checked(profile: Profile, cluster: ExistingCluster, resume: bool) -> bool:
    """Have the cluster take the statements of own workloads; not where a run that is resumed has its keyspace there."""
    from cassbook.lab.run.hosts import check_statements

    if resume or not check_statements(profile, cluster):
        return False
    log("the cluster takes all statements of own workloads")
    return True


def _left_without_cells(folder: Path, profile: Profile) -> bool:
    """Whether a folder's run of this very profile ended before its first cell: its keyspace may still be there."""
    from cassbook.lab.run.store import begun_without_cells
    from cassbook.records import manifest
    from cassbook.records.kinds import RUN

    return begun_without_cells(folder) and manifest.read(folder, RUN)["profile"] == profile.model_dump(mode="json")


def _finds_capacity(folder: Path) -> bool:
    """Whether a folder's run was begun with --find-capacity, which its --resume need not repeat."""
    from cassbook.records import manifest
    from cassbook.records.kinds import RUN

    if not folder.exists():
        return False
    sections = manifest.read(folder, RUN)["profile"].get("open") or []
    return any(section.get("find_capacity") for section in ([sections] if isinstance(sections, dict) else sections))


def _in_turn(profile: str, engines: list[str], output: Path | None, resume: bool, dry_run: bool, form: str) -> None:
    """Measure one profile on several versions, block by block in turn."""
    from cassbook.core.errors import InputError
    from cassbook.core.paths import project_root
    from cassbook.profile.profile import load_profile

    if len(set(engines)) < len(engines):
        raise InputError(f"--engine: {','.join(engines)} names a version twice")
    profiles = [load_profile(profile, engine=engine) for engine in engines]
    if dry_run:
        _forecast(profiles, True, form)
        return
    from cassbook.lab.run.measure import measure_in_turn

    base = output or project_root() / "_build" / "runs" / profiles[0].name
    folders = {base.with_name(f"{base.name}-{wanted.engine}"): wanted for wanted in profiles}
    _show(measure_in_turn(folders, resume=resume, log=log), form)


def _show(folders: list[Path], form: str) -> None:
    """Print the results of runs that are complete; several in JSON are a list."""
    from cassbook.records.run import RecordedRun
    from cassbook.shown.results import FORMATS

    texts = [FORMATS[form](RecordedRun(folder)) for folder in folders]
    click.echo("[" + ",\n".join(texts) + "]" if form == "json" and len(texts) > 1 else "\n\n".join(texts))


def _forecast(profiles: list[Profile], starts: bool, form: str, checked: bool = False) -> None:
    """Print how much is to be measured and how long it takes about; whether a cluster `checked` the statements."""
    from cassbook.lab.run.plan import forecast_s, left_out, minutes, plan, rates_apart

    cells = [(wanted, [cell for block in plan(wanted) for cell in block]) for wanted in profiles]
    seconds = sum(forecast_s(wanted, planned, starts=starts) for wanted, planned in cells)
    count, blocks = sum(len(planned) for _, planned in cells), sum(wanted.blocks for wanted in profiles)
    sentences = list(dict.fromkeys(sentence for wanted in profiles for sentence in left_out(wanted)))
    if form == "json":
        content = {"profile": profiles[0].name, "cells": count, "blocks": blocks, "minutes": round(seconds / 60, 1)}
        content |= {"design": profiles[0].design, "fixed_rates": profiles[0].fixed_rates}
        click.echo(json.dumps(content | {"left_out": sentences}, indent=2))
    else:
        click.echo(f"{counted(count, 'cell')} in {counted(blocks, 'block')}, about {minutes(seconds)}")
        for sentence in (*sentences, *rates_apart(profiles[0])):
            click.echo(sentence)
    if not checked and any(wanted.workloads and wanted.workloads.own for wanted in profiles):
        log("statements of own workloads are checked by the server when the run begins, before anything is loaded")
