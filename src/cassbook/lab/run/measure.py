"""Measure a profile: block by block, each on a cluster of its own, cell by cell in random order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from pathlib import Path

import pandas as pd

from cassbook.core.errors import InputError
from cassbook.core.progress import TimeLeft, WeighedBar
from cassbook.core.schema import CLIENT_MARKS, OPEN, Mark, without_aside
from cassbook.core.words import counted
from cassbook.deployment.notation import labels
from cassbook.lab.engine import processors
from cassbook.lab.engine.any_cluster import AnyCluster
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.distant import DistantCluster
from cassbook.lab.engine.existing_cluster import ExistingCluster
from cassbook.lab.run.block import Block, Log
from cassbook.lab.run.cell import Cell, groups, ladders
from cassbook.lab.run.hosts import check_written, same_clients, same_place
from cassbook.lab.run.plan import left_out, minutes, parts, plan, rates_apart
from cassbook.lab.run.remote import Clients
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import Profile
from cassbook.records import manifest
from cassbook.records.kinds import RUN
from cassbook.shown import prices

_QUIET_PERCENT = 10.0


def measure(
    profile: Profile,
    folder: Path,
    resume: bool = False,
    log: Log = print,
    existing: ExistingCluster | None = None,
    clients: Clients | None = None,
    then_s: float = 0.0,
    allowed_mb: float | None = None,
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
    then_s : float
        Seconds on 2 idle cores of what the caller does afterwards, for the forecast that follows the first block.
    allowed_mb : float, optional
        What may be written over all replicas; a warm-up that shows it would be more ends the run.

    Returns
    -------
    Path
        The folder, complete.

    Raises
    ------
    InputError
        Before anything is started, if the folder cannot be used; before anything is loaded, if the server refuses a
        statement of a workload. A folder that was made for the run and holds no finished cell is removed. After the
        first warm-up, if more would be written than is allowed.
    LaboratoryError
        If a cluster does not start or the table cannot be loaded; finished cells are kept.
    """
    return measure_in_turn({folder: profile}, resume, log, existing, clients, then_s, allowed_mb)[0]


def measure_in_turn(
    profiles: Mapping[Path, Profile],
    resume: bool = False,
    log: Log = print,
    existing: ExistingCluster | None = None,
    clients: Clients | None = None,
    then_s: float = 0.0,
    allowed_mb: float | None = None,
) -> list[Path]:
    """Measure several profiles, as of several versions, block by block in turn; arguments as of `measure`.

    The first block of each is measured, then the second of each, and so on, so that what is compared meets the same
    machine within an hour and not on different days. Each has a run folder of its own, whose manifest names the others
    (`in_turn_with`). Complete runs are left alone where another is not. Returns the folders, complete.
    """
    for profile in profiles.values():
        _check_nodes(profile, existing is None)
    with ExitStack() as opened:
        stores = _stores(profiles, resume)
        for store in stores:
            opened.callback(store.close)
        try:
            for store in stores:
                same_place(store, existing)
                same_clients(store, clients is not None)
            runs = [_Run(profiles[store.folder], store) for store in stores]
            _measure(runs, log, existing, clients, then_s, allowed_mb)
        except InputError:
            if not resume and not any(store.done for store in stores):
                for store in stores:  # they would stand in the way of the profile that is put right
                    store.remove()
            raise
    for store in stores:
        log(f"run complete: {store.folder}")
    return list(profiles)


def _check_nodes(profile: Profile, ours: bool) -> None:
    """Refuse (InputError) data centres, processors of their own, or quotas, that nodes cannot have here."""
    if ours and profile.cluster.data_centres > 1:
        raise InputError(
            "cluster.data_centres: is of an existing cluster; on clusters started here give distance.deployments"
        )
    asked = {section.processors for section in profile.open}
    if "own" in asked:
        processors.check_own(profile.cluster.nodes)
    if "quota" in asked:
        processors.check_quota()


def _stores(profiles: Mapping[Path, Profile], resume: bool) -> list[RunStore]:
    """Create the folders, or open those that are to be resumed; all of them or none."""
    if resume:
        profiles = {folder: profile for folder, profile in profiles.items() if not _is_complete(folder)} or profiles
    stores: list[RunStore] = []
    with ExitStack() as undone:
        for folder, profile in profiles.items():
            store = RunStore.resume(folder, profile) if resume else RunStore.create(folder, profile)
            if not resume:
                undone.callback(store.remove)
            undone.callback(store.close)
            stores.append(store)
            if not resume and len(profiles) > 1:
                store.notes["in_turn_with"] = [other.name for other in profiles if other != folder]
                store.save_notes()
        undone.pop_all()
    return stores


def _is_complete(folder: Path) -> bool:
    return bool(manifest.read(folder, RUN)["complete"])


class _Run:
    """A profile, its store, and what is left to measure."""

    def __init__(self, profile: Profile, store: RunStore) -> None:
        self.profile, self.store = profile, store
        self.blocks = plan(profile)
        self.total = sum(map(len, self.blocks))

    def left(self, number: int) -> list[Cell]:
        """Return the unfinished cells of a block, in order; none of a block beyond the last."""
        cells = self.blocks[number - 1] if number <= len(self.blocks) else []
        return [cell for cell in cells if cell.cell_id not in self.store.done]

    def left_in_all(self) -> int:
        """Return how many cells of all blocks are not finished."""
        return sum(len(self.left(number)) for number in range(1, len(self.blocks) + 1))

    def check_written(self, allowed_mb: float | None, log: Log, per_s: float) -> None:
        """Say what is written by what a warm-up shows; refuse (InputError) to go on where that is more than allowed."""
        if per_s > 0:
            left = [cell for number in range(1, len(self.blocks) + 1) for cell in self.left(number)]
            log(check_written(self.profile, left, per_s, allowed_mb))


def _measure(
    runs: Sequence[_Run], log: Log, existing: ExistingCluster | None, clients: Clients | None, then_s: float,
    allowed_mb: float | None,
) -> None:  # fmt: skip
    turns = [(number, run) for number in range(1, max(len(run.blocks) for run in runs) + 1) for run in runs]
    forecast = [part for number, run in turns for part in parts(run.profile, run.left(number), existing is None)]
    total, left = sum(run.total for run in runs), sum(run.left_in_all() for run in runs)
    for run in runs:
        versions = f" of {run.profile.engine}" if len(runs) > 1 else ""
        amount = f"{counted(run.total, 'cell')} in {counted(len(run.blocks), 'block')}"
        log(f"profile {run.profile.name}{versions}: {amount}, {run.left_in_all()} to measure")
        for sentence in (*left_out(run.profile), *rates_apart(run.profile)):
            log(sentence)
    log(f"about {minutes(sum(part.seconds for part in forecast))} on 2 cores")
    _warn_if_busy(runs[0].store.notes["busy_before_percent"], log, existing, clients)
    time_left, said = TimeLeft(forecast), False
    with WeighedBar(time_left, total, total - left, "cell") as progress:
        for number, run in turns:
            measured = bool(run.left(number))
            for deployment, of_deployment in groupby(run.left(number), key=lambda cell: cell.deployment):
                cluster: AnyCluster = existing or _cluster(run.profile, deployment, log)
                check = partial(run.check_written, allowed_mb, log) if existing and not existing.read else None
                _measure_cells(run, number, list(of_deployment), log, progress, cluster, clients, check)
            if number <= len(run.blocks):
                run.store.finish_block(number)
                if number < len(run.blocks) and (text := prices.as_text(run.store.prices())):
                    log(text)
                if measured and not said and time_left.left_s:
                    log(_forecast(time_left, then_s))
                    said = True
            if number == len(run.blocks):
                for line in unsent(run.store.cells()):
                    log(line)
                run.store.complete()


def unsent(cells: pd.DataFrame) -> list[str]:
    """Name, a line for each limit, the cells whose rate was not sent; `cells`: columns `schema.CELLS`."""
    marks = cells["marks"].str.split(";").map(set)
    missed = without_aside(cells[[Mark.RATE in own or Mark.SLOTS in own for own in marks]])
    of_client = (
        missed["marks"].str.split(";").map(lambda own: bool({*CLIENT_MARKS, Mark.SLOTS} & set(own))).astype(bool)
    )
    limits = {
        "this client could not send its rate in": missed[of_client],
        "the cluster did not answer fast enough for the rate of": missed[~of_client],
    }
    return [
        f"{limit} {counted(len(of), 'cell')}, marked in the record: {', '.join(of['cell_id'])}"
        for limit, of in limits.items()
        if len(of)
    ]


def _forecast(time_left: TimeLeft, then_s: float) -> str:
    """Say how long this machine will take, by what its first block took."""
    gone_s, left_s, then_s = time_left.gone_s, time_left.left_s, then_s * max(time_left.slowness, 1.0)
    after = f", and {then_s / 60:.0f} min for what follows" if then_s else ""
    return (
        f"by its first block, which took {gone_s / 60:.1f} min, this machine needs about {left_s / 60:.0f} min more to "
        f"measure{after}: {(gone_s + left_s + then_s) / 60:.0f} min in all"
    )


def _warn_if_busy(
    busy_percent: float, log: Log, existing: ExistingCluster | None = None, clients: Clients | None = None
) -> None:
    """Say so if something else uses the processors; it would show in every figure.

    Of an existing cluster this machine has the client, or with `clients` only what directs them.
    """
    if busy_percent <= _QUIET_PERCENT:
        return
    whose, then = "this machine's processors", "the figures will show it"
    if existing is not None:
        whose, then = f"{whose}, the client's", "latencies will show it; the cluster's own machines are not looked at"
    if clients is not None:
        then = "it directs the clients, whose machines are not looked at"
    log(f"something else uses {busy_percent:.0f} % of {whose}: {then}")


def _cluster(profile: Profile, deployment: str, log: Log) -> CassandraCluster:
    part = profile.cluster
    spec = Spec(part.nodes, part.replication_factor, part.heap_mb, part.options)
    if profile.distance is None:
        return CassandraCluster(profile.engine, spec, name=profile.name, log=log)
    placement = profile.distance.placements()[deployment]
    log(f"deployment {deployment}: {placement.deployment} in {', '.join(placement.regions)}")
    cluster = DistantCluster(profile.engine, placement, spec, name=profile.name, log=log, means=profile.distance.means)
    cluster.deployment = labels(profile.model_dump()["distance"]["deployments"])[deployment]
    return cluster


def _measure_cells(
    run: _Run,
    number: int,
    cells: list[Cell],
    log: Log,
    progress: WeighedBar,
    ready: AnyCluster,
    clients: Clients | None,
    check: Callable[[float], None] | None,
) -> None:
    with ready as cluster:
        block = Block.begun(run.profile, run.store, number, cluster, log, clients)
        try:
            block.load()
            per_s = block.warm_up()
            if check:
                check(per_s)
            progress.part_done()
            for together in ladders(groups(cells)):
                if together[0][0].kind == OPEN:
                    block.measure_open(together, lambda group: progress.part_done(len(group)))
                    continue
                block.measure(together[0])
                progress.part_done(len(together[0]))
        finally:
            block.close()
