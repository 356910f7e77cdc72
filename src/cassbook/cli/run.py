"""`cassbook run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cassbook.cli.common import engine_option, log, output_option
from cassbook.cli.hosts import announce, asked_hosts, confirm, host_options, look


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
@host_options
def run(profile: str, engine: str | None, output: Path | None, resume: bool, dry_run: bool, **existing: Any) -> None:
    """Measure a profile on a local cluster or, with --hosts, on yours.

    Finished cells are kept however the run ends.
    """
    from cassbook.core.errors import LaboratoryError
    from cassbook.core.paths import project_root
    from cassbook.profile.profile import load_profile

    hosts, there = asked_hosts(existing, engine), None
    wanted = load_profile(profile, engine=engine)
    if hosts is not None:
        try:
            wanted, there = look(hosts, wanted, log)
        except LaboratoryError as error:
            if not dry_run:
                raise
            log(f"{error}; whether the profile fits the cluster is not known")
    where = "" if there is None else "existing-"
    folder = output or project_root() / "_build" / "runs" / f"{wanted.name}-{where}{wanted.engine}"
    if there is not None:
        amount = announce(there, wanted, folder, resume, log)
        if not dry_run:
            confirm(amount, existing)
    if dry_run:
        from cassbook.lab.run.plan import forecast_s, left_out, plan

        cells = [cell for block in plan(wanted) for cell in block]
        minutes = forecast_s(wanted, cells, starts=hosts is None) / 60
        click.echo(f"{len(cells)} cells in {wanted.blocks} blocks, about {minutes:.0f} min")
        for sentence in left_out(wanted):
            click.echo(sentence)
        if wanted.workloads and wanted.workloads.own:
            log("statements of own workloads are checked by the server when the run begins, before anything is loaded")
        return

    from cassbook.lab.run.measure import measure

    measure(wanted, folder, resume=resume, log=log, existing=there)
