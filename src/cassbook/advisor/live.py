"""What a run says of a cluster that goes on running: response times by segment, and staleness of its own tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassbook.advisor.decision import Live, Predicted
from cassbook.core.schema import OPEN
from cassbook.latency import histograms, verdicts
from cassbook.latency.in_segments import CountedSegments, InSegments, Segments
from cassbook.profile.open import BROKEN

if TYPE_CHECKING:
    import pandas as pd

    from cassbook.latency.open_choices import Mix
    from cassbook.records.run import RecordedRun

_SAMPLES = ["phase", "outcome", "latency_us", "started_s", "intended_s", "slice"]


def live_of(
    run: RecordedRun, mix: Mix, rate_per_s: float | None, after_ms: float | None, block: int | None = None
) -> Live | None:
    """Return what a run of `cassbook decide --profile` says; None of other runs.

    Parameters
    ----------
    run : RecordedRun
    mix : Mix
    rate_per_s : float, optional
        The load; segments are those of its cells on a cluster that was measured as it ran.
    after_ms : float, optional
        The age of a write; what was probed at another does not count.
    block : int, optional
        Only of this cluster start, whose turns then count by themselves.
    """
    cells = run.cells[(run.cells["kind"] == OPEN) & (run.cells["workload"] == mix.workload)]
    cells = cells if block is None else cells[cells["block"] == block]
    segments, looks = dict[str, Segments](), 1
    running = bool(run.manifest.get("existing_cluster"))
    if running and rate_per_s is not None:
        at_rate = cells[(cells["condition"] == "") & (cells["rate_per_s"] == rate_per_s) & (cells["slices"] > 0)]
        for cell in at_rate.itertuples():
            segments[f"{cell.read_cl}/{cell.write_cl}"] = segments_of(run, str(cell.cell_id))
        looks = _looks(run.manifest["profile"], mix.workload)
    probed = _probed(run.manifest.get("staleness", []), cells, after_ms)
    by_turn = running or block is not None
    others = any(turn["other"][1] for cells in probed.values() for turns in cells for turn in turns)
    way = "other" if others else "same"
    stale = {levels: _counts(cells, by_turn, way) for levels, cells in probed.items()}
    predicted = {levels: one for levels, cells in probed.items() if (one := _predicted(cells)) is not None}
    found = Live(segments=segments, stale=stale, predicted=predicted, looks=looks, alone=not others)
    return found if segments or stale else None


def segments_of(run: RecordedRun, cell_id: str) -> Segments:
    """Return the segments of a cell, from its samples or from histograms of each.

    Raises InputError where neither were kept.
    """
    if not run.segments:
        return InSegments.of_samples(run.samples(_SAMPLES, [cell_id]))
    own = run.slices[run.slices["cell_id"] == cell_id]
    counted = [run.segments.get(f"{cell_id}.{number}", histograms.empty()) for number in own["slice"]]
    return CountedSegments.of_histograms(counted, own["n_errors"].astype(int).tolist())


def _looks(profile: Mapping[str, Any], workload: str) -> int:
    """How often the measurement asked whether it may end."""
    for part in profile["open"]:
        if workload in part["workloads"] and part.get("until_known") not in {None, BROKEN}:
            return len(verdicts.looks(math.ceil(part["measured_s"] / part["segment_s"])))
    return 1


#: What one cell showed, turn by turn.
_Turns = Sequence[Mapping[str, Any]]


def _probed(noted: Sequence[Mapping[str, Any]], cells: pd.DataFrame, after_ms: float | None) -> dict[str, list[_Turns]]:
    """Return what was probed at an age, by levels and cell; each cell is of one cluster start."""
    found: dict[str, list[_Turns]] = {}
    by_cell = cells.set_index("cell_id")
    for entry in noted:
        if entry["after_ms"] == after_ms and entry["cell_id"] in by_cell.index:
            cell = by_cell.loc[entry["cell_id"]]
            found.setdefault(f"{cell['read_cl']}/{cell['write_cl']}", []).append(list(entry["turns"].values()))
    return found


def _counts(cells: Sequence[_Turns], by_turn: bool, way: str) -> list[tuple[int, int]]:
    """Return counts of each turn, or of each cluster start where they were started for it.

    `way`: those through another coordinator than the write's count (other), or through the only one there is (same).
    """
    groups = [[turn] for turns in cells for turn in turns] if by_turn else cells
    sums = [(sum(int(turn[way][0]) for turn in group), sum(int(turn[way][1]) for turn in group)) for group in groups]
    return [(stale, reads) for stale, reads in sums if reads]


def _predicted(cells: Sequence[_Turns]) -> Predicted | None:
    """Return what traces of all turns predict together; None without any."""
    traced = [turn["predicted"] for turns in cells for turn in turns if turn.get("predicted")]
    pairings = sum(int(one["pairings"]) for one in traced)
    if not pairings:
        return None
    stale = sum(one["stale"] * one["pairings"] for one in traced) / pairings
    return Predicted(stale, pairings, sum(int(one["requests"]) for one in traced))
