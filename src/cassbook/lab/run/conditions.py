"""Cells that need something done first, or meanwhile: cold starts, fixed rates, a node that hangs.

They are what the sections in `profile.conditions` ask for.

They come at the end of each block, for they disturb it: the paced cells first, in random order, then the cold ones,
each condition leaving the cluster further from warm than the one before.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from cassbook.core.errors import LaboratoryError
from cassbook.core.schema import Mark
from cassbook.core.threads import meanwhile
from cassbook.lab.engine import pages
from cassbook.lab.engine.any_cluster import AnyCluster
from cassbook.lab.load.arrivals import even
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.recorder import Window
from cassbook.lab.run.cell import Cell, Group
from cassbook.profile.conditions import COLD_CONDITIONS, PauseSection
from cassbook.profile.open import BY_HAND, PROBED
from cassbook.profile.profile import Profile

KINDS = frozenset({"cold", "paced"})
_POLL_S = 0.002
#: Conditions that do nothing to the nodes, so that an existing cluster can have them.
_OF_THE_CLIENT = frozenset({"warm", "restarted_client"})
#: What a cold cell costs on top of its own time, by condition; for forecasts only.
_COST_S = {"warm": 1.0, "restarted_client": 2.0, "cold_pages": 2.0, "restarted_server": 25.0}
_SHARES = {"READ": 1.0, "UPDATE": 0.0}

#: A block of code around the run of a cell's loop, given its window.
During = Callable[[Window], Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """What a block offers to the cells of this module."""

    profile: Profile
    cluster: AnyCluster
    notes: dict[str, Any]  # the manifest
    epoch: float  # monotonic time at which the run began
    table: str  # "keyspace.name"
    flush: Callable[[], None]  # writes what memory holds of the table to SSTables, on every node
    reconnect: Callable[[], None]  # opens new connections and prepares every statement anew
    renew_client: Callable[[], None]  # has the next cell run by a client that has just been started
    #: Runs and records a group, with its bound, its marks and what happens during it.
    run: Callable[[Group, Bound, list[str], During | None], Any]


def cells(profile: Profile, block: int, place: int) -> list[Cell]:
    """Cells of kind paced, then cold, of one block (from 1), in the order they are measured; `place` is the first's
    `order`.
    """
    paced = _paced(profile, block, place)
    return paced + _cold(profile, block, place + len(paced))


def _paced(profile: Profile, block: int, place: int) -> list[Cell]:
    """Each level and condition at each rate and in the closed loop (rate NaN), in an order drawn from the seed."""
    part = profile.paced
    if part is None:
        return []
    points = [
        (level, condition, rate_per_s)
        for level in part.levels
        for condition in ("healthy", *(["paused_node"] if part.pause else []))
        for rate_per_s in (math.nan, *part.rates_per_s)
    ]
    order = np.random.default_rng([profile.seed, block, 2]).permutation(len(points))
    return [
        Cell(
            f"b{block}-{'closed' if math.isnan(rate_per_s) else f'paced{rate_per_s:g}'}-{level}-{condition}",
            "paced", part.threads, level, level, part.read_share, block, block, place + i,
            condition=condition, rate_per_s=rate_per_s, arrivals="" if math.isnan(rate_per_s) else "even",
        )
        for i, (level, condition, rate_per_s) in enumerate(points[k] for k in order)
    ]  # fmt: skip


def _cold(profile: Profile, block: int, place: int) -> list[Cell]:
    part = profile.cold
    if part is None:
        return []
    points = [
        (condition, operation, level)
        for condition in COLD_CONDITIONS
        if condition in part.conditions
        for operation in part.operations
        for level in part.levels
    ]
    return [
        Cell(
            f"b{block}-cold-{operation.lower()}-{level}-{condition}",
            "cold", part.threads, level, level, _SHARES[operation], block, block, place + i, condition=condition,
        )
        for i, (condition, operation, level) in enumerate(points)
    ]  # fmt: skip


def seconds(profile: Profile, cell: Cell) -> float:
    """About how long such a cell takes on 2 cores, its condition included."""
    if cell.kind == "cold":
        assert profile.cold is not None  # noqa: S101 - the cell comes from it
        return profile.cold.steady_s + _COST_S[cell.condition]
    assert profile.paced is not None  # noqa: S101 - the cell comes from it
    return profile.load.ramp_s + profile.paced.steady_s + 1.0


def for_existing(profile: Profile) -> tuple[Profile, list[str]]:
    """Leave out what would restart, pause or look into the nodes of a cluster that somebody else runs.

    Returns the profile without it, and what was left out, one line each.
    """
    cold, paced = profile.cold, profile.paced
    left_out = []
    if cold and (lost := [name for name in cold.conditions if name not in _OF_THE_CLIENT]):
        left_out.append(f"left out: cold starts of kind {', '.join(lost)}; the nodes are not this laboratory's")
        kept = [name for name in cold.conditions if name in _OF_THE_CLIENT]
        cold = cold.model_copy(update={"conditions": kept}) if kept else None
    if paced and paced.pause:
        left_out.append("left out: cells with a paused node; the nodes are not this laboratory's")
        paced = paced.model_copy(update={"pause": None})
    fit = {"", PROBED, BY_HAND}
    changed = sorted({section.condition for section in profile.open} - fit)
    if changed:
        left_out.append(f"left out: open with {', '.join(changed)}; the nodes are not this laboratory's")
    opened = [section for section in profile.open if section.condition in fit]
    return profile.model_copy(update={"cold": cold, "paced": paced, "open": opened}), left_out


def measure(cell: Cell, bench: Bench, previous: Group, marks: list[str]) -> None:
    """Make the condition of a cold or paced cell and measure it, with the marks it has already.

    `previous` was measured before it in this block. LaboratoryError if the condition cannot be made.
    """
    if cell.kind == "cold":
        part = bench.profile.cold
        assert part is not None  # noqa: S101 - the cell comes from it
        _flush_once(bench, previous)
        marks = [*marks, *_MAKE[cell.condition](cell, bench)]
        bench.run([cell], Bound(0.0, part.steady_s), marks, None)
        return
    paced = bench.profile.paced
    assert paced is not None  # noqa: S101 - the cell comes from it
    pause = paced.pause if cell.condition == "paused_node" else None
    bound = Bound(bench.profile.load.ramp_s, paced.steady_s, arrivals=even(cell.rate_per_s))
    bench.run([cell], bound, marks, (lambda window: pausing(bench, pause, cell, window)) if pause else None)


def _flush_once(bench: Bench, previous: Group) -> None:
    """See to it that all conditions find the same SSTables, and no row in a memtable."""
    if not previous or any(cell.kind != "cold" or cell.read_share < 1 for cell in previous):
        bench.flush()


def _warm(cell: Cell, bench: Bench) -> list[str]:
    return []


def _restarted_client(cell: Cell, bench: Bench) -> list[str]:
    bench.renew_client()
    return []


def _restarted_server(cell: Cell, bench: Bench) -> list[str]:
    bench.cluster.restart()
    bench.reconnect()
    return []


def _cold_pages(cell: Cell, bench: Bench) -> list[str]:
    """Drop the pages under the running nodes; a mark where too many stayed."""
    before, after = pages.drop_pages(bench.cluster.node_folders(), bench.table)
    note(bench.notes, "cold_pages", {
        "cell_id": cell.cell_id, "data_bytes": after.size,
        "resident_before_bytes": before.resident, "resident_after_bytes": after.resident,
    })  # fmt: skip
    return [Mark.PAGES] if after.share > pages.LEFT_TOLERANCE else []


_MAKE: dict[str, Callable[[Cell, Bench], list[str]]] = {
    "warm": _warm,
    "restarted_client": _restarted_client,
    "cold_pages": _cold_pages,
    "restarted_server": _restarted_server,
}


def note(notes: dict[str, Any], kind: str, entry: dict[str, Any]) -> None:
    """Record in the manifest what was done to a cell, in place of what an earlier attempt recorded."""
    others = [other for other in notes.get(kind, []) if other["cell_id"] != entry["cell_id"]]
    notes[kind] = [*others, entry]


@contextmanager
def pausing(bench: Bench, part: PauseSection, cell: Cell, window: Window) -> Iterator[None]:
    """Around the run of a loop: pause a node for a while, counted from the start of the steady window.

    When it hung is recorded under 'pauses' in the manifest, in seconds since the run began. However the block ends, the
    node resumes. LaboratoryError if the node could not be paused, or the loop ended before the pause did.
    """
    pauses: list[tuple[float, float]] = []

    def keep_time(over: threading.Event) -> None:
        while math.isinf(window.steady_from):
            if over.wait(_POLL_S):
                return
        if over.wait(max(window.steady_from + part.after_s - time.perf_counter(), 0.0)):
            return
        with bench.cluster.paused(part.node):
            began = time.perf_counter()
            if not over.wait(part.for_s):
                pauses.append((began, time.perf_counter()))

    with meanwhile(keep_time, f"{cell.cell_id}: node{part.node} could not be paused"):
        yield
    if not pauses:
        raise LaboratoryError(f"{cell.cell_id}: the load ended before the pause of node{part.node} did")
    from_s, to_s = (round(moment - bench.epoch, 6) for moment in pauses[0])
    note(bench.notes, "pauses", {"cell_id": cell.cell_id, "node": part.node, "from_s": from_s, "to_s": to_s})
