"""What a run says of a cluster that goes on running: response times by segment, and staleness of its own tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassbook.advisor.decision import Live
from cassbook.core.schema import OPEN
from cassbook.latency import verdicts
from cassbook.latency.in_segments import InSegments

if TYPE_CHECKING:
    import pandas as pd

    from cassbook.latency.open_loads import Mix
    from cassbook.records.run import RecordedRun

_SAMPLES = ["phase", "outcome", "latency_us", "started_s", "intended_s", "slice"]


def live_of(run: RecordedRun, mix: Mix, rate_per_s: float | None, after_ms: float | None) -> Live | None:
    """Return what a run of `cassbook decide --profile` says; None of other runs.

    Parameters
    ----------
    run : RecordedRun
    mix : Mix
    rate_per_s : float, optional
        The load; segments are those of its cells on a cluster that was measured as it ran.
    after_ms : float, optional
        The age of a write; what was probed at another does not count.
    """
    cells = run.cells[(run.cells["kind"] == OPEN) & (run.cells["workload"] == mix.workload)]
    segments, looks = dict[str, InSegments](), 1
    if run.manifest.get("existing_cluster") and rate_per_s is not None:
        at_rate = cells[(cells["condition"] == "") & (cells["rate_per_s"] == rate_per_s) & (cells["slices"] > 0)]
        for cell in at_rate.itertuples():
            samples = run.samples(_SAMPLES, [str(cell.cell_id)])
            segments[f"{cell.read_cl}/{cell.write_cl}"] = InSegments.of_samples(samples)
        looks = _looks(run.manifest["profile"], mix.workload)
    stale = _stale(run.manifest.get("staleness", []), cells, after_ms)
    return Live(segments=segments, stale=stale, looks=looks) if segments or stale else None


def _looks(profile: Mapping[str, Any], workload: str) -> int:
    """How often the measurement asked whether it may end."""
    for part in profile["open"]:
        if workload in part["workloads"] and part.get("until_known"):
            return len(verdicts.looks(math.ceil(part["measured_s"] / part["segment_s"])))
    return 1


def _stale(
    noted: Sequence[Mapping[str, Any]], cells: pd.DataFrame, after_ms: float | None
) -> dict[str, list[tuple[int, int]]]:
    """Return the counts of each turn: through another coordinator than the write's, or the only one there is."""
    found: dict[str, list[tuple[int, int]]] = {}
    by_cell = cells.set_index("cell_id")
    for entry in noted:
        if entry["after_ms"] != after_ms or entry["cell_id"] not in by_cell.index:
            continue
        cell = by_cell.loc[entry["cell_id"]]
        turns = list(entry["turns"].values())
        way = "other" if any(turn["other"][1] for turn in turns) else "same"
        own = found.setdefault(f"{cell['read_cl']}/{cell['write_cl']}", [])
        own += [(int(turn[way][0]), int(turn[way][1])) for turn in turns if turn[way][1]]
    return found
