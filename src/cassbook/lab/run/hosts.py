"""Measuring what `--hosts` names: the profile that fits it, how much is written to it, and that it is the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from pydantic import ValidationError

from cassbook.core.errors import InputError
from cassbook.core.schema import OPEN
from cassbook.core.words import counted
from cassbook.lab.engine.existing_cluster import ExistingCluster
from cassbook.lab.load.core_workloads import PRESETS
from cassbook.lab.load.existing_keys import keys_of
from cassbook.lab.load.statements import Prepared
from cassbook.lab.load.ycsb import INSERT, RMW, UPDATE
from cassbook.lab.run import conditions, open_cells
from cassbook.lab.run.cell import groups
from cassbook.lab.run.plan import Cell, rows_to_load
from cassbook.lab.run.store import RunStore
from cassbook.latency import verdicts
from cassbook.profile import columns, syntax
from cassbook.profile.open import PROBED, OpenSection
from cassbook.profile.profile import Profile, TableSection
from cassbook.profile.values import Values
from cassbook.profile.workloads import OwnWorkload

#: Requests a second that a cluster is taken to answer until its warm-up shows what it does.
GUESSED_PER_S = 6_000
#: Besides its value a cell stores its column's name, a time stamp and lengths; a row its key. Before compression.
_CELL_BYTES, _ROW_BYTES = 40, 64
#: What Cassandra writes of a traced request, about: events, in rows of `_EVENT_BYTES`.
_EVENTS, _EVENT_BYTES = 20, 200
#: Of its cap, what a warm-up takes as a rule.
_WARM_UP = 0.6
_MB = 1e6
_NOTES = "existing_cluster"


@dataclass(frozen=True, slots=True)
class Written:
    """What a measurement is expected to write, in MB over all replicas, before compression."""

    table_mb: float  # the rows that each block loads
    updates_mb: float  # writes of warm-ups and cells
    per_s: float = 0.0  # requests a second that it assumes where nothing bounds them; 0 where rates bound all of them

    @property
    def total_mb(self) -> float:
        """Rows loaded and updates."""
        return self.table_mb + self.updates_mb


def written(profile: Profile, cells: Iterable[Cell], per_s: float = GUESSED_PER_S) -> Written:
    """Estimate what measuring `cells`, those that are left, writes; each block loads its tables once.

    `per_s`: requests a second that the cluster answers where nothing bounds them.
    """
    cells = list(cells)
    replicas = profile.replicas.total
    blocks = len({cell.block for cell in cells})
    loaded = blocks * profile.table.record_count * _row_bytes(profile.table) if profile.uses_table else 0.0
    for _, workload in {(cell.block, cell.workload) for cell in cells if cell.workload}:
        loaded += rows_to_load(profile, workload) * _load_bytes(profile, workload)
    first = "" if profile.uses_table else profile.first_workload
    of_warm_up = _bytes_of_workload(profile, first) if first else _update_bytes(profile.table) / 2
    updates = 0.0 if profile.rates_bound else blocks * _WARM_UP * profile.warm_up.cap_s * per_s * of_warm_up
    updates += sum(_operations(profile, cell, per_s) * _bytes_an_operation(profile, cell) for cell in cells)
    updates += _searches(profile, cells, per_s) + sum(_probed(profile, cell) for cell in cells)
    return Written(loaded * replicas / _MB, updates * replicas / _MB, 0.0 if profile.rates_bound else per_s)


def check_written(profile: Profile, left: Iterable[Cell], per_s: float, allowed_mb: float | None) -> str:
    """Say what is written by what the warm-up got done; refuse (InputError) to go on where that is not allowed.

    `allowed_mb`: None without a bound.
    """
    amount = written(profile, left, per_s)
    said = (
        f"in its warm-up the cluster answered {per_s:,.0f} requests a second, by which what is left writes about "
        f"{amount.table_mb:.0f} MB of tables and {amount.updates_mb:.1f} MB of updates over all replicas"
    )
    if allowed_mb is not None and amount.total_mb > allowed_mb:
        raise InputError(
            f"{said}, more than the {allowed_mb:.0f} MB that are allowed; go on "
            f"with --resume and --at-most-mb {math.ceil(amount.total_mb) + 1}, or --yes"
        )
    return said


def _row_bytes(table: TableSection) -> int:
    return _ROW_BYTES + table.field_count * (table.field_length + _CELL_BYTES)


def _update_bytes(table: TableSection) -> int:
    return _row_bytes(table) if table.update_all_fields else _ROW_BYTES + table.field_length + _CELL_BYTES


def _bytes_an_operation(profile: Profile, cell: Cell) -> float:
    """Bytes that an operation of a cell writes on one replica, on average over its mix."""
    if cell.workload:
        return _bytes_of_workload(profile, cell.workload)
    return (1 - cell.read_share) * _update_bytes(profile.table)


def _own(profile: Profile, workload: str) -> OwnWorkload | None:
    owned = profile.workloads.own if profile.workloads else ()
    return next((section for section in owned if section.name == workload), None)


def _bytes_of_workload(profile: Profile, workload: str) -> float:
    """Bytes that an operation of a workload writes on one replica, on average over its mix."""
    section = _own(profile, workload)
    if section is None:
        shares = PRESETS[workload].shares
        whole = shares.get(INSERT, 0.0) * _row_bytes(profile.table)
        return whole + (shares.get(UPDATE, 0.0) + shares.get(RMW, 0.0)) * _update_bytes(profile.table)
    return sum(
        operation.share * _statement_bytes(statement, section.values | operation.values, section)
        for operation in section.operations
        for statement in operation.statements
        if not statement.lstrip().upper().startswith("SELECT")
    )


def _load_bytes(profile: Profile, workload: str) -> float:
    section = _own(profile, workload)
    if section is None or section.load is None:
        return _row_bytes(profile.table)
    return _statement_bytes(section.load.statement, section.values, section)


def _statement_bytes(statement: str, values: Mapping[str, Values], section: OwnWorkload) -> float:
    """Bytes that a statement writes: those of what is bound, as far as that is plain, and of each row's key."""
    tables = columns.tables(map(syntax.words, section.create))
    total = 0.0
    for part in syntax.parts(statement):
        bound = [marker for marker in columns.markers(syntax.words(part), tables) if marker.name in values]
        total += _ROW_BYTES + sum(values[one.name].mean_bytes(one.type) + _CELL_BYTES for one in bound)
    return total


def _searches(profile: Profile, cells: Sequence[Cell], per_s: float) -> float:
    """Bytes that warm-ups of ladders and the search for what settings carry write on one replica."""
    total = 0.0
    for _, of_block in groupby(cells, key=lambda cell: (cell.block, cell.deployment)):
        measured = groups(of_block)
        for group, seconds in zip(measured, open_cells.trial_seconds(profile, measured), strict=True):
            if seconds:
                lowest = min((cell.rate_per_s for cell in group), default=math.nan)
                rate = lowest if profile.rates_bound and lowest > 0 else per_s
                total += seconds * rate * _bytes_an_operation(profile, group[0])
    return total


def _probed(profile: Profile, cell: Cell) -> float:
    """Bytes that a probe of staleness beside a cell writes on one replica: one small column at a time."""
    if cell.condition != PROBED:
        return 0.0
    part = open_cells.section_of(profile, cell)
    seconds = open_cells.rounds(part) * (part.lead_in_s + part.segment_s)
    probes = part.probes_per_s * seconds * (_ROW_BYTES + _CELL_BYTES)
    return probes + part.traced_per_s * seconds * _EVENTS * _EVENT_BYTES


def _operations(profile: Profile, cell: Cell, per_s: float) -> float:
    """Operations that a cell does, about."""
    if cell.kind == OPEN:
        return open_cells.requests(profile, cell, per_s)
    load = profile.load
    part = {"cold": profile.cold, "paced": profile.paced}.get(cell.kind)
    steady_s = part.steady_s if part else load.steady_s
    if steady_s is None:
        assert load.operations_per_thread is not None  # noqa: S101 - the profile has one bound
        return cell.threads * load.operations_per_thread + per_s * load.ramp_s
    return (per_s if math.isnan(cell.rate_per_s) else cell.rate_per_s) * (load.ramp_s + steady_s)


def profile_for(
    profile: Profile, cluster: ExistingCluster, log: Callable[[str], None], find_capacity: bool = False
) -> Profile:
    """Return `profile` with the release and the number of coordinators that were found, without what cannot be made.

    `find_capacity`: whether what the cluster carries under open arrivals may be looked for, which loads it fully.

    InputError if it asks for what a cluster that somebody else runs cannot give.
    """
    profile = careful(profile, find_capacity)
    if cluster.read:
        _check_reads(profile, cluster.read)
    if profile.cluster.options:
        given = ", ".join(sorted(profile.cluster.options))
        raise InputError(f"--hosts: cluster.options ({given}) cannot be set on an existing cluster; take them out")
    profile, left_out = conditions.for_existing(profile)
    for line in left_out:
        log(line)
    centres = 1 + len(cluster.asked.other_centres)
    part = profile.cluster.model_dump() | {"nodes": len(cluster.addresses), "data_centres": centres}
    try:
        fitting = Profile.model_validate(profile.model_dump() | {"cluster": part})
    except ValidationError as error:
        messages = "; ".join(e["msg"].removeprefix("Value error, ") for e in error.errors())
        raise InputError(
            f"--hosts: the profile does not fit {counted(len(cluster.addresses), 'node')}: {messages}"
        ) from None
    return fitting.model_copy(update={"engine": cluster.release.version})


def _check_reads(profile: Profile, tables: Sequence[str]) -> None:
    """Refuse (InputError) a profile that would write, or ask something of another table than those that exist."""
    if profile.uses_table or profile.workloads is None or not profile.workloads.own:
        raise InputError(
            "--read-existing: measures the SELECTs of workloads.own; take pure, mixed, presets, read_shares, cold and "
            "paced out of the profile, whose table would have to be made"
        )
    for section in profile.workloads.own:
        where = f"--read-existing: workloads.own.{section.name}"
        for given in ("create", "load"):
            if getattr(section, given):
                raise InputError(f"{where}.{given}: would write; take it out, the tables exist")
        for operation in section.operations:
            if operation.kind not in {"READ", "SCAN"}:
                raise InputError(f"{where}: {operation.statement!r} is {operation.kind}; only SELECTs are sent")
            if (name := columns.table_of(syntax.words(operation.statement))) not in tables:
                raise InputError(f"{where}: {operation.statement!r} asks {name}; name it with --read-existing too")


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
    bound = "" if part.bound_ms is None else f", or at a p99 above {verdicts.MOST_BOUNDS * part.bound_ms:g} ms"
    ends = f"a mix ends at {verdicts.MOST_FAILED:.0%} failed requests{bound}"
    lasting, of_mix = f"at most {profile.warm_up.cap_s:g} s", f"{open_cells.most_warm_up_s(profile, part):g} s"
    warm_ups = f"closed loops of {lasting} in each block, and of at most {of_mix} before each mix"
    if profile.rates_bound:
        warm_ups = f"{lasting} before each mix, at the lowest of these rates"
    lines = [f"open arrivals: {rates}, in rising order{beyond}; {ends}", f"warm-ups: {warm_ups}"]
    if traced := sum(map(_traced, profile.open)):
        lines.append(
            f"traces: about {traced:.0f} requests, each a row in system_traces.sessions and about {_EVENTS} in "
            "system_traces.events, which expire after a day; the replication of that keyspace is not changed"
        )
    if part.find_capacity:
        lines.append("--find-capacity: each setting is loaded until it carries no more, before the rates and after")
    return lines


def _traced(part: OpenSection) -> float:
    """How many requests of a section are traced, about."""
    seconds = open_cells.rounds(part) * (part.lead_in_s + part.segment_s)
    return part.traced_per_s * seconds * len(part.settings) * len(part.rates_per_s or ()) * len(part.mixes)


def check_statements(profile: Profile, cluster: ExistingCluster) -> bool:
    """Have a cluster make the tables of a profile's own workloads and prepare their statements; all is dropped again.

    Returns whether there were any. InputError with all that is wrong in all of them.
    """
    own = profile.workloads.own if profile.workloads else []
    if not own:
        return False
    wrong = []
    with cluster:
        session = cluster.connect()
        try:
            known = keys_of(session, cluster.keyspace, cluster.read, np.random.default_rng(profile.seed))
            for section in own:
                try:
                    Prepared(session, section, cluster.keyspace, known=known)
                except InputError as error:
                    wrong.append(str(error))
        finally:
            session.cluster.shutdown()
    if wrong:
        raise InputError("; ".join(wrong))
    return True


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
