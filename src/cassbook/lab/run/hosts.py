"""Measuring what `--hosts` names: the profile that fits it, how much is written to it, and that it is the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from cassbook.core.errors import InputError
from cassbook.core.schema import OPEN
from cassbook.core.words import counted
from cassbook.lab.engine.existing_cluster import ExistingCluster
from cassbook.lab.run import conditions, open_cells
from cassbook.lab.run.plan import Cell, rows_to_load
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import Profile, TableSection

#: What one client process cannot exceed: the light path takes 22 us of processor time per operation at least.
_MOST_PER_S = 60_000
#: Besides its value a cell stores its column's name, a time stamp and lengths; a row its key. Before compression.
_CELL_BYTES, _ROW_BYTES = 40, 64
_NUMBER_BYTES = 64  # of a number, also within a text
_MB = 1e6
_NOTES = "existing_cluster"


@dataclass(frozen=True, slots=True)
class Written:
    """What a measurement writes at most, in MB over all replicas, before compression."""

    table_mb: float  # the rows that each block loads
    updates_mb: float  # writes of warm-ups and cells, at a rate that one client process cannot exceed

    @property
    def total_mb(self) -> float:
        """Rows loaded and updates."""
        return self.table_mb + self.updates_mb


def written(profile: Profile, cells: Iterable[Cell]) -> Written:
    """Estimate at most what measuring `cells`, those that are left, writes; each block loads its tables once."""
    cells = list(cells)
    table, replicas = profile.table, profile.cluster.replication_factor
    blocks = len({cell.block for cell in cells})
    loaded = blocks * table.record_count * _row_bytes(table)
    for _, workload in {(cell.block, cell.workload) for cell in cells if cell.workload}:
        loaded += rows_to_load(profile, workload) * _most_bytes(profile, workload)
    warm_ups = blocks * profile.warm_up.cap_s * _MOST_PER_S / 2 * _update_bytes(table)
    updates = sum(_operations(profile, cell) * _bytes_an_operation(profile, cell) for cell in cells)
    updates += _trials(profile, cells)
    processes = profile.load.client_processes
    return Written(loaded * replicas / _MB, (warm_ups + updates) * processes * replicas / _MB)


def _row_bytes(table: TableSection) -> int:
    return _ROW_BYTES + table.field_count * (table.field_length + _CELL_BYTES)


def _update_bytes(table: TableSection) -> int:
    return _row_bytes(table) if table.update_all_fields else _ROW_BYTES + table.field_length + _CELL_BYTES


def _bytes_an_operation(profile: Profile, cell: Cell) -> float:
    """Most bytes that an operation of a cell writes on one replica, on average over its mix."""
    if cell.workload:
        return _most_bytes(profile, cell.workload)  # what reads is counted as if it wrote
    return (1 - cell.read_share) * _update_bytes(profile.table)


def _most_bytes(profile: Profile, workload: str) -> int:
    """Most bytes that one statement of a workload writes: a row of the usertable, or all values an own one names."""
    part = profile.workloads
    for section in part.own if part else ():
        if section.name == workload:
            values = [*section.values.values(), *(v for o in section.operations for v in o.values.values())]
            sizes = [v.size if isinstance(v.size, int) else max(v.size or (_NUMBER_BYTES,)) for v in values]
            statements = [s for o in section.operations for s in (o.statement, o.then or "")]
            return _ROW_BYTES + sum(size + _CELL_BYTES for size in sizes) + max(map(len, statements))
    return _row_bytes(profile.table)


def _trials(profile: Profile, cells: Iterable[Cell]) -> float:
    """Most bytes that the search for what open cells' settings carry writes on one replica."""
    ladders: dict[tuple[int, str, float], list[Cell]] = {}
    for cell in cells:
        if cell.kind == OPEN:
            ladders.setdefault((cell.block, cell.workload, cell.read_share), []).append(cell)
    return sum(
        open_cells.ladder_seconds(profile, ladder) * _MOST_PER_S * _bytes_an_operation(profile, ladder[0])
        for ladder in ladders.values()
    )


def _operations(profile: Profile, cell: Cell) -> float:
    """Most operations that a cell can do with one client process."""
    if cell.kind == OPEN:
        return open_cells.most_requests(profile, cell, _MOST_PER_S)
    load = profile.load
    part = {"cold": profile.cold, "paced": profile.paced}.get(cell.kind)
    steady_s = part.steady_s if part else load.steady_s
    if steady_s is None:
        assert load.operations_per_thread is not None  # noqa: S101 - the profile has one bound
        return cell.threads * load.operations_per_thread + _MOST_PER_S * load.ramp_s
    most_per_s = _MOST_PER_S if math.isnan(cell.rate_per_s) else min(cell.rate_per_s, _MOST_PER_S)
    return most_per_s * (load.ramp_s + steady_s)


def profile_for(
    profile: Profile, cluster: ExistingCluster, log: Callable[[str], None], find_capacity: bool = False
) -> Profile:
    """Return `profile` with the release and the number of coordinators that were found, without what cannot be made.

    `find_capacity`: whether what the cluster carries under open arrivals may be looked for, which loads it fully.

    InputError if it asks for what a cluster that somebody else runs cannot give.
    """
    profile = careful(profile, find_capacity)
    if profile.cluster.options:
        given = ", ".join(sorted(profile.cluster.options))
        raise InputError(f"--hosts: cluster.options ({given}) cannot be set on an existing cluster; take them out")
    profile, left_out = conditions.for_existing(profile)
    for line in left_out:
        log(line)
    part = profile.cluster.model_dump() | {"nodes": len(cluster.addresses)}
    try:
        fitting = Profile.model_validate(profile.model_dump() | {"cluster": part})
    except ValidationError as error:
        messages = "; ".join(e["msg"].removeprefix("Value error, ") for e in error.errors())
        raise InputError(
            f"--hosts: the profile does not fit {counted(len(cluster.addresses), 'node')}: {messages}"
        ) from None
    return fitting.model_copy(update={"engine": cluster.release.version})


def careful(profile: Profile, find_capacity: bool) -> Profile:
    """Return `profile` as it is measured on a cluster that people depend on: open arrivals at rising rates.

    InputError where it needs to know what the cluster carries, and that may not be looked for.
    """
    if not profile.open and find_capacity:
        raise InputError("--find-capacity: the profile has no section `open`; leave it out")
    for part in profile.open:
        if part.load_shares is not None and not find_capacity:
            shares = ", ".join(f"{share:g}" for share in part.load_shares)
            raise InputError(
                f"--hosts: open.load_shares ({shares}) are shares of what the cluster carries, and to find that loads "
                "it fully; give rates_per_s in their place, or --find-capacity"
            )
    as_asked = {"rising": True, "find_capacity": find_capacity}
    return profile.model_copy(update={"open": [part.model_copy(update=as_asked) for part in profile.open]})


def open_load(profile: Profile) -> list[str]:
    """Say in lines what open arrivals ask of a cluster at most, and what ends them; nothing without the section."""
    if not profile.open:
        return []
    part = profile.open[0]
    shares = sorted({share for part in profile.open for share in part.load_shares or []})
    per_s = [rate for part in profile.open for rate in part.rates_per_s or []]
    rates = f"at {', '.join(f'{share:g}' for share in shares)} of what it carries"
    if per_s:
        low, high = min(per_s), max(per_s)
        given = f"at {f'{low:g} to ' if low < high else ''}{high:g} requests a second"
        rates = f"{rates}, and {given}" if shares else given
    beyond = "" if part.find_capacity else ", never above"
    bound = "" if part.bound_ms is None else f", or at a p99 above {open_cells.MOST_BOUNDS * part.bound_ms:g} ms"
    ends = f"a mix ends at {open_cells.MOST_FAILED:.0%} failed requests{bound}"
    lasting, of_mix = f"at most {profile.warm_up.cap_s:g} s", f"{open_cells.most_warm_up_s(profile, part):g} s"
    warm_ups = f"closed loops of {lasting} in each block, and of at most {of_mix} before each mix"
    if profile.rates_bound:
        warm_ups = f"{lasting} before each mix, at the lowest of these rates"
    lines = [f"open arrivals: {rates}, in rising order{beyond}; {ends}", f"warm-ups: {warm_ups}"]
    if part.find_capacity:
        lines.append("--find-capacity: each setting is loaded until it carries no more, before the rates and after")
    return lines


def same_place(store: RunStore, cluster: ExistingCluster | None) -> None:
    """Note in the manifest where the run is measured; InputError if a resumed one was begun on another cluster."""
    begun = store.notes.get(_NOTES)
    if cluster is None:
        if begun:
            raise InputError(f"{store.folder}: was begun on an existing cluster; give --hosts again")
        return
    now = cluster.description()
    if not begun and store.notes["cluster_starts"]:
        raise InputError(f"{store.folder}: was begun on a local cluster; leave --hosts out, or name another folder")
    if begun and begun["cluster"] != now["cluster"]:
        raise InputError(f"{store.folder}: was begun on another cluster, or its nodes have changed; name a new folder")
    store.notes[_NOTES] = now
    store.save_notes()


def same_clients(store: RunStore, placed: bool) -> None:
    """Refuse (InputError) to resume a run whose load came from elsewhere: this machine, or workers (`placed`)."""
    starts = store.notes["cluster_starts"]
    if starts and ("clients" in starts[0]) != placed:
        how = (
            "from this machine; leave --clients out" if placed else "from the workers of a Dask cluster; give --clients"
        )
        raise InputError(f"{store.folder}: its load came {how}, or name another folder")
