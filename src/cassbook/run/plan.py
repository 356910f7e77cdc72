"""The cells of a profile, in the order they are measured, and how long that takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cassbook.consistency import READ_LEVELS, WRITE_LEVELS, setting
from cassbook.profile import Profile

#: What 2 cores with three nodes on them deliver; used for forecasts only.
_OPERATIONS_PER_S = 4000
_CLUSTER_START_S = 25
_CELL_OVERHEAD_S = 0.35


@dataclass(frozen=True, slots=True)
class Cell:
    """One (threads, read CL, write CL, read share) in one block.

    Attributes
    ----------
    kind : str
        'pure' (reads only or writes only) or 'mixed'.
    repeat : int
        Equal to the block today: a repeat is a block of its own.
    order : int
        Place in the block's random order.
    """

    cell_id: str
    kind: str
    threads: int
    read_cl: str
    write_cl: str
    read_share: float
    block: int
    repeat: int
    order: int


def plan(profile: Profile) -> list[list[Cell]]:
    """Return the cells of each block, in an order drawn from the profile's seed and the block's number."""
    return [_block(profile, block) for block in range(1, profile.blocks + 1)]


def _block(profile: Profile, block: int) -> list[Cell]:
    points: list[tuple[str, int, str, str, float, str]] = []
    if block <= profile.pure.repeats:
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
                    pair = setting(name)
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
    order = np.random.default_rng([profile.seed, block]).permutation(len(points))
    return [
        Cell(f"b{block}-t{threads:04d}-{what}", kind, threads, read_cl, write_cl, share, block, block, place)
        for place, (kind, threads, read_cl, write_cl, share, what) in enumerate(points[i] for i in order)
    ]


def cell_seconds(profile: Profile, cell: Cell) -> float:
    """About how long a cell takes here."""
    load = profile.load
    if load.steady_s is not None:
        return load.ramp_s + load.steady_s + _CELL_OVERHEAD_S
    assert load.operations_per_thread is not None  # noqa: S101 - the profile has one bound
    return load.ramp_s + cell.threads * load.operations_per_thread / _OPERATIONS_PER_S


def forecast_s(profile: Profile, cells: list[Cell]) -> float:
    """About how long `cells` take on 2 cores, cluster starts, loading and warm-up included."""
    blocks = len({cell.block for cell in cells})
    each = _CLUSTER_START_S + profile.table.record_count / _OPERATIONS_PER_S + profile.warm_up.cap_s / 2 + 8
    return blocks * each + sum(cell_seconds(profile, cell) for cell in cells)
