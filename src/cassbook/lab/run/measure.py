"""Measure a profile: block by block, each on a cluster of its own, cell by cell in random order."""

from __future__ import annotations

from contextlib import closing
from itertools import groupby
from pathlib import Path

from cassbook.core.errors import InputError
from cassbook.core.progress import WeighedBar
from cassbook.core.time_left import TimeLeft
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.engine.existing import ExistingCluster
from cassbook.lab.run.block import Block, Log
from cassbook.lab.run.cell import Cell, groups
from cassbook.lab.run.hosts import same_clients, same_place
from cassbook.lab.run.plan import left_out, parts, plan
from cassbook.lab.run.remote import Clients
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import Profile

_QUIET_PERCENT = 10.0


def measure(
    profile: Profile,
    folder: Path,
    resume: bool = False,
    log: Log = print,
    existing: ExistingCluster | None = None,
    clients: Clients | None = None,
) -> Path:
    """Measure every cell of `profile` that `folder` does not hold yet.

    Parameters
    ----------
    profile : Profile
    folder : Path
        The run folder; new, or one to continue where `resume` is true.
    log : callable
        Takes each line of progress.
    existing : ExistingCluster, optional
        Measure there, with a profile from `run.hosts.profile_for`, instead of starting a cluster for each block.
    clients : Clients, optional
        Other machines that the load comes from; with `existing` only.

    Returns
    -------
    Path
        The folder, complete.

    Raises
    ------
    InputError
        Before anything is started, if the folder cannot be used; before anything is loaded, if the server refuses a
        statement of a workload. A folder that was made for the run and holds no finished cell is removed.
    LaboratoryError
        If a cluster does not start or the table cannot be loaded; finished cells are kept.
    """
    store = RunStore.resume(folder, profile) if resume else RunStore.create(folder, profile)
    with closing(store):
        same_place(store, existing)
        same_clients(store, clients is not None)
        try:
            _measure(profile, store, log, existing, clients)
        except InputError:
            if not resume and not store.done:
                store.remove()  # it would stand in the way of the profile that is put right
            raise
    log(f"run complete: {folder}")
    return folder


def _measure(
    profile: Profile, store: RunStore, log: Log, existing: ExistingCluster | None, clients: Clients | None
) -> None:
    blocks = plan(profile)
    todo = [cell for cells in blocks for cell in cells if cell.cell_id not in store.done]
    total, forecast = sum(map(len, blocks)), parts(profile, todo, starts=existing is None)
    log(
        f"profile {profile.name}: {total} cells in {len(blocks)} block{'s' * (len(blocks) > 1)}, "
        f"{len(todo)} to measure, about {sum(part.seconds for part in forecast) / 60:.0f} min on 2 cores"
    )
    for sentence in left_out(profile):
        log(sentence)
    _warn_if_busy(store.notes["busy_before_percent"], log)
    with WeighedBar(TimeLeft(forecast), total, total - len(todo), "cell") as progress:
        for number, cells in enumerate(blocks, start=1):
            left = [cell for cell in cells if cell.cell_id not in store.done]
            for deployment, of_deployment in groupby(left, key=lambda cell: cell.deployment):
                cluster = existing or _cluster(profile, deployment, log)
                _measure_cells(profile, store, number, list(of_deployment), log, progress, cluster, clients)
            store.finish_block(number)
    store.complete()


def _warn_if_busy(busy_percent: float, log: Log) -> None:
    """Say so if something else uses the processors; it would show in every figure."""
    if busy_percent > _QUIET_PERCENT:
        log(f"something else uses {busy_percent:.0f} % of this machine's processors: the figures will show it")


def _cluster(profile: Profile, deployment: str, log: Log) -> CassandraCluster:
    part = profile.cluster
    spec = Spec(part.nodes, part.replication_factor, part.heap_mb, part.options)
    if profile.distance is None:
        return CassandraCluster(profile.engine, spec, name=profile.name, log=log)
    placement = profile.distance.placements()[deployment]
    log(f"deployment {deployment}: {placement.deployment} in {', '.join(placement.regions)}")
    return DistantCluster(profile.engine, placement, spec, name=profile.name, log=log, means=profile.distance.means)


def _measure_cells(
    profile: Profile,
    store: RunStore,
    number: int,
    cells: list[Cell],
    log: Log,
    progress: WeighedBar,
    ready: CassandraCluster | ExistingCluster,
    clients: Clients | None,
) -> None:
    with ready as cluster:
        block = Block(profile, store, number, cluster, log, clients)
        try:
            block.load()
            block.warm_up()
            progress.part_done()
            for group in groups(cells):
                block.measure(group)
                progress.part_done(len(group))
        finally:
            block.close()
