"""The cells of a profile, in the order they are measured, and how long that takes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

import numpy as np

from cassbook.core.consistency import WRITE_LEVELS, Setting, refuses_reads
from cassbook.core.errors import InputError
from cassbook.core.progress import START, Part
from cassbook.core.schema import OPEN
from cassbook.lab.load.core_workloads import PRESETS, read_share
from cassbook.lab.load.slices import LEAST_PILOT_S, Alternation
from cassbook.lab.load.statements import own_shares
from cassbook.lab.run import conditions, open_cells
from cassbook.lab.run.cell import Cell, Group, groups
from cassbook.profile.profile import Profile

#: What 2 cores with three nodes on them deliver; used for forecasts only.
_OPERATIONS_PER_S = 4000
_CLUSTER_START_S = 25
#: How long a run takes, least and most likely, as parts of its forecast: the same profile took from 9 to 14.5 minutes
#: on fast and slow days of a machine with two cores, and forecasts have warm-ups end by their cap.
_LIKELY = (0.8, 1.5)
_CELL_OVERHEAD_S = 0.35
#: The 95th percentile of latency over its mean, about.
_TAIL = 2.0


def plan(profile: Profile) -> list[list[Cell]]:
    """Return the cells of each block, in an order drawn from the profile's seed and the block's number.

    InputError for a profile of faults, which has no cells.
    """
    if profile.faults is not None:
        raise InputError(
            f"profile: {profile.name} is a schedule of faults; `cassbook experiment faults --profile` records it"
        )
    return [_block(profile, block) for block in range(1, profile.blocks + 1)]


def left_out(profile: Profile) -> list[str]:
    """Return, in sentences, what a profile names and Cassandra has not: reads or writes at a level for the other."""
    levels = profile.pure.levels if profile.pure else []
    reads = [level for level in levels if refuses_reads(level, profile.engine)]
    writes = [level for level in levels if level not in WRITE_LEVELS]
    why = {
        "ANY": "it is for writes",
        "EACH_QUORUM": "releases before 3.0 refuse them",
        "SERIAL": "it is for lightweight transactions",
        "LOCAL_SERIAL": "it is for lightweight transactions",
    }
    return [
        f"pure.levels: {level} is measured with {kept} only, no {left} at it: {why[level]}"
        for kept, left, wrong in (("writes", "reads", reads), ("reads", "writes", writes))
        for level in wrong
    ] + open_cells.left_out(profile)


def rates_apart(profile: Profile) -> list[str]:
    """Say how cells at fixed rates are measured where the profile's design does not; nothing where it does."""
    part, in_turn = profile.workloads, open_cells.in_turn(profile)
    if profile.design == "sequential" or part is None or not part.has_rates or len(part.settings) == 1:
        return in_turn
    return [
        "workloads.rates_per_s: at a fixed rate each setting is measured by itself; closed loops alternate",
        *in_turn,
    ]


def _block(profile: Profile, block: int) -> list[Cell]:
    if profile.distance is None:
        cells = _pure_and_mixed(profile, block, [profile.seed, block], "")
        cells += _workload_cells(profile, block, len(cells))
        cells += open_cells.cells(profile, block, len(cells))
        return cells + conditions.cells(profile, block, len(cells))
    names = list(profile.distance.deployments)
    order = np.random.default_rng([profile.seed, block, 2]).permutation(len(names))
    return [
        cell for place in order for cell in _at_distance(profile, block, [profile.seed, block, 3, place], names[place])
    ]


def _at_distance(profile: Profile, block: int, seed: list[int], deployment: str) -> list[Cell]:
    """Cells of one deployment, each of which has a cluster start of its own."""
    cells = _pure_and_mixed(profile, block, seed, deployment)
    cells += _workload_cells(profile, block, len(cells), deployment)
    return cells + open_cells.cells(profile, block, len(cells), deployment)


def _pure_and_mixed(profile: Profile, block: int, seed: list[int], deployment: str) -> list[Cell]:
    name = f"b{block}-{deployment}" if deployment else f"b{block}"
    cells = []
    if profile.pure and block <= profile.pure.repeats:
        for threads in profile.pure.threads:
            for level in profile.pure.levels:
                accepted = {"read": not refuses_reads(level, profile.engine), "write": level in WRITE_LEVELS}
                for what, share in (("read", 1.0), ("write", 0.0)):
                    if accepted[what]:
                        start = f"{name}-t{threads:04d}-{what}"
                        cells.append(Cell(f"{start}-{level}", "pure", threads, level, level, share, block, block, 0,
                                          deployment=deployment, cell_group=start))  # fmt: skip
    if profile.mixed and block <= profile.mixed.repeats:
        for threads in profile.mixed.threads:
            for share in profile.mixed.read_shares:
                for setting in profile.mixed.settings:
                    pair, start = profile.setting(setting), f"{name}-t{threads:04d}-mix{100 * share:02g}"
                    cells.append(Cell(f"{start}-{setting.replace('/', '+')}", "mixed", threads, *_levels(pair), share,
                                      block, block, 0, deployment=deployment, cell_group=start))  # fmt: skip
    return _drawn(profile, cells, seed)


def _levels(setting: Setting) -> tuple[str, str]:
    """Return the levels of a setting."""
    return setting.read_cl, setting.write_cl


def _drawn(profile: Profile, cells: list[Cell], seed: list[int], start: int = 0) -> list[Cell]:
    """Put cells into random order: all of them, or, where those of a group alternate, the groups.

    Each comes with the group that it would belong to, if cells of its load may alternate; `start` is the first's place.
    """
    if profile.design == "sequential":
        units = [[replace(cell, cell_group="")] for cell in cells]
    else:
        units = list(_grouped(cells).values())
    order = np.random.default_rng(seed).permutation(len(units))
    drawn = [cell for place in order for cell in units[place]]
    return [replace(cell, order=place) for place, cell in enumerate(drawn, start=start)]


def _grouped(cells: list[Cell]) -> dict[str, list[Cell]]:
    """Return cells by group; one that has none, or is alone in its group, is a cell of its own."""
    grouped: dict[str, list[Cell]] = {}
    for cell in cells:
        grouped.setdefault(cell.cell_group or cell.cell_id, []).append(cell)
    return {name: of if len(of) > 1 else [replace(of[0], cell_group="")] for name, of in grouped.items()}


def _workload_cells(profile: Profile, block: int, place: int, deployment: str = "") -> list[Cell]:
    """Cells of the workloads, in closed loops and at fixed rates, in random order.

    They follow all pure and mixed cells, for theirs are more tables to load. Those at fixed rates never alternate: what
    one setting does not carry is sent in the slices of the others, and each would have the capacity of them all.
    """
    part = profile.workloads
    if part is None or block > part.repeats:
        return []
    named = {f"ycsb-{name}": str(name) for name in part.presets} | {f"own-{own.name}": own.name for own in part.own}
    shares = {what: (name, share_of_reads(profile, name)) for what, name in named.items()}
    loads = [(f"t{threads:04d}", threads, math.nan, list(shares)) for threads in part.threads]
    for what, (workload, _) in shares.items():
        loads += [(f"paced{rate:g}", max(part.threads), rate, [what]) for rate in part.rates_of(workload)]
    cells, at = [], f"b{block}-{deployment}" if deployment else f"b{block}"
    for load, threads, rate, among in loads:
        for what in among:
            for name in part.settings:
                pair, start = profile.setting(name), f"{at}-{load}-{what}"
                workload, share = shares[what]
                cell_id = f"{start}-{name.replace('/', '+')}"
                cells.append(Cell(cell_id, "workload", threads, *_levels(pair), share, block, block, 0, workload,
                                  rate_per_s=rate, cell_group=start if math.isnan(rate) else "",
                                  deployment=deployment,
                                  arrivals="" if math.isnan(rate) else "even"))  # fmt: skip
    names = list(profile.distance.deployments) if profile.distance else []
    of_place = [names.index(deployment)] if names else []
    return _drawn(profile, cells, [profile.seed, block, 1, *of_place], place)


def share_of_reads(profile: Profile, workload: str) -> float:
    """Return the share of reads of a preset, or of a workload of the profile's own."""
    if workload in PRESETS:
        return read_share(PRESETS[workload].shares)
    own = profile.workloads.own if profile.workloads else ()
    return next(read_share(own_shares(section)) for section in own if section.name == workload)


def alternation(profile: Profile, group: Group) -> Alternation | None:
    """Return how the cells of a group alternate; None for a cell of its own, and for settings under open arrivals."""
    first = group[0]
    if len(group) == 1 or first.kind == OPEN:
        return None
    assert math.isnan(first.rate_per_s)  # noqa: S101 - see `_workload_cells`
    assert profile.load.steady_s is not None  # noqa: S101 - the profile was checked
    return Alternation(len(group), profile.load.steady_s, (profile.seed, first.block, 4, first.order))


def group_seconds(profile: Profile, group: Group) -> float:
    """About how long a group takes here."""
    cell, load = group[0], profile.load
    if cell.kind in conditions.KINDS:
        return conditions.seconds(profile, cell)
    if cell.kind == OPEN:
        return open_cells.seconds(profile, group)
    if turns := alternation(profile, group):
        latency_s = _TAIL * cell.threads / _OPERATIONS_PER_S
        pilot_s = max(LEAST_PILOT_S, 2 * latency_s) * len(group)
        return load.ramp_s + pilot_s + turns.forecast_s(latency_s) + _CELL_OVERHEAD_S
    if load.steady_s is not None:
        return load.ramp_s + load.steady_s + _backlog_s(cell, load.ramp_s, load.steady_s) + _CELL_OVERHEAD_S
    assert load.operations_per_thread is not None  # noqa: S101 - the profile has one bound
    return load.ramp_s + cell.threads * load.operations_per_thread / _OPERATIONS_PER_S


def _backlog_s(cell: Cell, ramp_s: float, steady_s: float) -> float:
    """About how long requests are sent that a rate made due and the cluster could not serve; see `PacedLoop`."""
    if math.isnan(cell.rate_per_s):
        return 0.0
    return min(max(cell.rate_per_s / _OPERATIONS_PER_S - 1, 0.0) * (ramp_s + steady_s), steady_s)


def parts(profile: Profile, cells: Iterable[Cell], starts: bool = True) -> list[Part]:
    """Forecast what measuring the `cells` that are left, in order, takes on 2 cores, in the order in which it is done.

    Before the groups of each block (and deployment) comes a part of kind `progress.START`: the cluster (if it
    `starts`), its table, the warm-up. A group with which the tables of its workload are loaded has a kind of its own,
    and so has one next to which trials find what the settings carry.
    """
    rows_first = profile.table.record_count if profile.uses_table else rows_to_load(profile, profile.first_workload)
    before_s = rows_first / _OPERATIONS_PER_S + profile.warm_up.cap_s + 8
    before_s += _CLUSTER_START_S if starts else 0
    forecast: list[Part] = []
    for _, of_start in groupby(cells, key=lambda cell: (cell.block, cell.deployment)):
        forecast.append(Part(START, before_s))
        loaded = set() if profile.uses_table else {profile.first_workload}
        measured = groups(of_start)
        for group, trials_s in zip(measured, open_cells.trial_seconds(profile, measured), strict=True):
            cell = group[0]
            rows = 0 if cell.workload in loaded else rows_to_load(profile, cell.workload)
            loaded.add(cell.workload)
            kind = f"{cell.kind} {cell.condition}" + (" and its table" if rows else "") + " and trials" * (trials_s > 0)
            forecast.append(Part(kind, group_seconds(profile, group) + trials_s + rows / _OPERATIONS_PER_S))
    return forecast


def forecast_s(profile: Profile, cells: Iterable[Cell], starts: bool = True) -> float:
    """About how long `cells` take on 2 cores, cluster starts, loading and warm-up included."""
    return sum(part.seconds for part in parts(profile, cells, starts))


def minutes(seconds: float) -> str:
    """Return a forecast as a range: from warm-ups that end early on a quiet machine, to a slow or busy one.

    >>> minutes(30), minutes(600)
    ('1 min', '8 to 15 min')
    """
    low, high = (max(1, round(part * seconds / 60)) for part in _LIKELY)
    return f"{low} min" if low == high else f"{low} to {high} min"


def rows_to_load(profile: Profile, workload: str) -> int:
    """How many rows a workload's own table has at first; 0 where it uses the block's."""
    if workload in PRESETS:
        return profile.table.record_count if PRESETS[workload].inserts else 0
    part = profile.workloads
    rows = [section.load.rows for section in (part.own if part else ()) if section.name == workload and section.load]
    return sum(rows)
