"""`cassbook run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cassbook.cli.common import engine_option, format_option, log, output_option
from cassbook.cli.hosts import announce, asked_clients, asked_hosts, confirm, host_options, look, placed_clients

if TYPE_CHECKING:
    from cassbook.profile.profile import Profile


@click.command()
@click.option(
    "--profile", required=True, help="Profile: quick, standard, paper, workloads, or the path of a .yaml file."
)
@engine_option(default=None)
@output_option("Run folder. Default: _build/runs/PROFILE-ENGINE.")
@click.option("--resume", is_flag=True, help="Resume an interrupted run.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Number of cells and estimated minutes only. Nothing is started or written; with --hosts they are looked at.",
)
@format_option("text", "json", "csv", "md")
@host_options
def run(
    profile: str, engine: str | None, output: Path | None, resume: bool, dry_run: bool, form: str, **existing: Any
) -> None:
    """Measure a profile on a local cluster or, with --hosts, on yours.

    Finished cells are kept however the run ends. When it is complete, its results are printed, as by `cassbook show`.
    """
    from cassbook.core.errors import LaboratoryError
    from cassbook.core.paths import project_root
    from cassbook.profile.profile import load_profile

    hosts, there = asked_hosts(existing, engine), None
    wanted = load_profile(profile, engine=engine)
    scheduler = asked_clients(existing, wanted)
    if hosts is not None:
        try:
            wanted, there = look(hosts, wanted, log)
        except LaboratoryError as error:
            if not dry_run:
                raise
            log(f"{error}; whether the profile fits the cluster is not known")
    where = "" if there is None else "existing-"
    folder = output or project_root() / "_build" / "runs" / f"{wanted.name}-{where}{wanted.engine}"
    with placed_clients(scheduler, there, wanted, folder, resume, log) as (placed, clients):
        if there is not None:
            amount = announce(there, placed, folder, resume, log)
            if not dry_run:
                confirm(amount, existing)
        if dry_run:
            _forecast(placed, hosts is None, form)
            return

        from cassbook.lab.run.measure import measure

        measure(placed, folder, resume=resume, log=log, existing=there, clients=clients)
    _show(folder, form)


def _show(folder: Path, form: str) -> None:
    """Print the results of a run that is complete."""
    from cassbook.records.result_tables import FORMATS
    from cassbook.records.run import RecordedRun

    click.echo(FORMATS[form](RecordedRun(folder)))


def _forecast(wanted: Profile, starts: bool, form: str) -> None:
    """Print how much is to be measured and how long it takes about."""
    from cassbook.lab.run.plan import forecast_s, left_out, plan

    cells = [cell for block in plan(wanted) for cell in block]
    minutes = forecast_s(wanted, cells, starts=starts) / 60
    if form == "json":
        content = {"profile": wanted.name, "cells": len(cells), "blocks": wanted.blocks, "minutes": round(minutes, 1)}
        click.echo(json.dumps(content | {"left_out": list(left_out(wanted))}, indent=2))
    else:
        click.echo(f"{len(cells)} cells in {wanted.blocks} block{'s' * (wanted.blocks > 1)}, about {minutes:.0f} min")
        for sentence in left_out(wanted):
            click.echo(sentence)
    if wanted.workloads and wanted.workloads.own:
        log("statements of own workloads are checked by the server when the run begins, before anything is loaded")
