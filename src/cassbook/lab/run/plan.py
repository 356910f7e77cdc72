"""The cells of a profile, in the order they are measured, and how long that takes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import groupby

import numpy as np

from cassbook.core.consistency import READ_LEVELS, WRITE_LEVELS
from cassbook.core.time_left import START, Part
from cassbook.lab.load.statements import own_shares
from cassbook.lab.load.workloads import PRESETS, read_share
from cassbook.lab.run import conditions
from cassbook.lab.run.cell import Cell
from cassbook.profile.profile import Profile

#: What 2 cores with three nodes on them deliver; used for forecasts only.
_OPERATIONS_PER_S = 4000
_CLUSTER_START_S = 25
_CELL_OVERHEAD_S = 0.35


def plan(profile: Profile) -> list[list[Cell]]:
    """Return the cells of each block, in an order drawn from the profile's seed and the block's number."""
    return [_block(profile, block) for block in range(1, profile.blocks + 1)]


def left_out(profile: Profile) -> list[str]:
    """Return, in sentences, what a profile names and Cassandra has not: reads or writes at a level for the other."""
    levels = profile.pure.levels if profile.pure else []
    reads = [level for level in levels if level not in READ_LEVELS]
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
    ]


def _block(profile: Profile, block: int) -> list[Cell]:
    if profile.distance is None:
        cells = _pure_and_mixed(profile, block, [profile.seed, block], "")
        cells += _workload_cells(profile, block, len(cells))
        return cells + conditions.cells(profile, block, len(cells))
    names = list(profile.distance.deployments)
    order = np.random.default_rng([profile.seed, block, 2]).permutation(len(names))
    return [
        cell
        for place in order
        for cell in _pure_and_mixed(profile, block, [profile.seed, block, 3, place], names[place])
    ]


def _pure_and_mixed(profile: Profile, block: int, seed: list[int], deployment: str) -> list[Cell]:
    points: list[tuple[str, int, str, str, float, str]] = []
    if profile.pure and block <= profile.pure.repeats:
        for threads in profile.pure.threads:
            for level in profile.pure.levels:
                if level in READ_LEVELS:
                    points.append(("pure", threads, level, level, 1.0, f"read-{level}"))
                if level in WRITE_LEVELS:
                    points.append(("pure", threads, level, level, 0.0, f"write-{level}"))
    if profile.mixed and block <= profile.mixed.repeats:
        for threads in profile.mixed.threads:
            for share in profile.mixed.read_shares:
                for name in profile.mixed.settings:
                    pair = profile.setting(name)
                    points.append(
                        (
                            "mixed",
                            threads,
                            pair.read_cl,
                            pair.write_cl,
                            share,
                            f"mix{100 * share:02g}-{name.replace('/', '+')}",
                        )
                    )
    order = np.random.default_rng(seed).permutation(len(points))
    name = f"b{block}-{deployment}" if deployment else f"b{block}"
    return [
        Cell(
            f"{name}-t{threads:04d}-{what}", kind, threads, read_cl, write_cl, share, block, block, place,
            deployment=deployment,
        )
        for place, (kind, threads, read_cl, write_cl, share, what) in enumerate(points[i] for i in order)
    ]  # fmt: skip


def _workload_cells(profile: Profile, block: int, place: int) -> list[Cell]:
    """Cells of the workloads, in closed loops and at fixed rates, in random order.

    They come behind all pure and mixed cells, for theirs are more tables to load.
    """
    part = profile.workloads
    if part is None or block > part.repeats:
        return []
    shares: dict[str, tuple[str, float]] = {
        f"ycsb-{name}": (name, read_share(PRESETS[name].shares)) for name in part.presets
    }
    shares |= {f"own-{section.name}": (section.name, read_share(own_shares(section))) for section in part.own}
    loads = [(f"t{threads:04d}", threads, math.nan, list(shares)) for threads in part.threads]
    for what, (workload, _) in shares.items():
        loads += [(f"paced{rate:g}", max(part.threads), rate, [what]) for rate in part.rates_of(workload)]
    points = [
        (load, threads, rate, profile.setting(name), f"{what}-{name.replace('/', '+')}", *shares[what])
        for load, threads, rate, among in loads
        for what in among
        for name in part.settings
    ]
    order = np.random.default_rng([profile.seed, block, 1]).permutation(len(points))
    return [
        Cell(
            f"b{block}-{load}-{what}",
            "workload",
            threads,
            pair.read_cl,
            pair.write_cl,
            share,
            block,
            block,
            i,
            name,
            rate_per_s=rate,
        )
        for i, (load, threads, rate, pair, what, name, share) in enumerate((points[i] for i in order), start=place)
    ]


def cell_seconds(profile: Profile, cell: Cell) -> float:
    """About how long a cell takes here."""
    if cell.kind in conditions.KINDS:
        return conditions.seconds(profile, cell)
    load = profile.load
    if load.steady_s is not None:
        return load.ramp_s + load.steady_s + _CELL_OVERHEAD_S
    assert load.operations_per_thread is not None  # noqa: S101 - the profile has one bound
    return load.ramp_s + cell.threads * load.operations_per_thread / _OPERATIONS_PER_S


def parts(profile: Profile, cells: Iterable[Cell], starts: bool = True) -> list[Part]:
    """Forecast what measuring takes on 2 cores, in the order in which it is done.

    Parameters
    ----------
    profile : Profile
    cells : iterable of Cell
        Those that are left to measure, in order.
    starts : bool
        Whether clusters are started, or there is one already.

    Returns
    -------
    list of Part
        Before the cells of each block (and deployment) one of kind `time_left.START`: the cluster, its table, the
        warm-up. A cell with which the tables of its workload are loaded has a kind of its own.
    """
    before_s = profile.table.record_count / _OPERATIONS_PER_S + profile.warm_up.cap_s / 2 + 8
    before_s += _CLUSTER_START_S if starts else 0
    forecast: list[Part] = []
    for _, of_start in groupby(cells, key=lambda cell: (cell.block, cell.deployment)):
        forecast.append(Part(START, before_s))
        loaded: set[str] = set()
        for cell in of_start:
            rows = 0 if cell.workload in loaded else rows_to_load(profile, cell.workload)
            loaded.add(cell.workload)
            kind = f"{cell.kind} {cell.condition}" + (" and its table" if rows else "")
            forecast.append(Part(kind, cell_seconds(profile, cell) + rows / _OPERATIONS_PER_S))
    return forecast


def forecast_s(profile: Profile, cells: Iterable[Cell], starts: bool = True) -> float:
    """About how long `cells` take on 2 cores, cluster starts, loading and warm-up included."""
    return sum(part.seconds for part in parts(profile, cells, starts))


def rows_to_load(profile: Profile, workload: str) -> int:
    """How many rows a workload's own table has at first; 0 where it uses the block's."""
    if workload in PRESETS:
        return profile.table.record_count if PRESETS[workload].inserts else 0
    part = profile.workloads
    rows = [section.load.rows for section in (part.own if part else ()) if section.name == workload and section.load]
    return sum(rows)
