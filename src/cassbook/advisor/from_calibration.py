"""The adviser on a cluster that was not measured: latency of each strong setting as the calibrated network has it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.consistency import STRONG_SETTINGS, Setting
from cassbook.core.errors import InputError
from cassbook.core.units import PERCENT, US_PER_MS
from cassbook.queueing.calibration import Calibrated, Question
from cassbook.queueing.mva import analyse
from cassbook.queueing.paper import FIELD_LENGTH
from cassbook.records.calibration import FITTED_NODES, CalibrationRun

#: What strong settings are strong at.
REPLICATION = 3
_READ_SHARES = tuple(k / 10 for k in range(11))


def latency_map(run: CalibrationRun, nodes: int = FITTED_NODES) -> LatencyMap:
    """Predict what `LatencyMap.of_run` takes from measured cells: a block for each cluster start of the calibration.

    Clients choose coordinators in turn and know nothing of replicas, as in the calibration. It reaches from one job to
    as many as were measured.

    `nodes`: of the cluster that is asked for; with replication 3.

    Raises InputError for fewer nodes than were measured, or more.
    """
    if outside := run.outside(Question("READ", "ALL", nodes, REPLICATION), jobs=1):
        raise InputError("; ".join(outside))
    cells = [
        cell.assign(block=block)
        for block, fit in enumerate(run.calibrated(), start=1)
        for cell in _cells(fit, nodes, int(run.cells["jobs"].max()))
    ]
    return LatencyMap(pd.concat(cells, ignore_index=True), f"{run.name}, predicted for {nodes} nodes")


def pure_map(run: CalibrationRun, nodes: int = FITTED_NODES) -> LatencyMap:
    """Return the calibration's own cells of a cluster as a map, those held out included.

    Between pure workloads it takes the weighted mean (eq. 8-10 of Gorbenko 2020), and it needs such cells of the very
    cluster that is asked for.
    """
    rule = f"nodes == {nodes} and replication == {REPLICATION} and field_length == {FIELD_LENGTH} and not ask_all"
    cells = run.cells.query(rule)
    return LatencyMap(pd.DataFrame({
        "kind": "pure", "read_cl": cells["level"], "write_cl": cells["level"], "block": cells["start"],
        "read_share": np.where(cells["operation"] == "READ", 1.0, 0.0), "threads": cells["jobs"],
        "latency_us": US_PER_MS * cells["latency_ms"], "cell_id": cells.index,
    }), run.name)  # fmt: skip


def turns_at(latency_map: LatencyMap, threads: float) -> float:
    """Percent of reads from which on the setting that reads one replica is the fastest; NaN where it never is."""
    shares = np.linspace(0, 1, 101)
    fastest = latency_map.domain([threads], shares)
    others = fastest[fastest["best"] != STRONG_SETTINGS[0].name]
    beyond = shares[shares > others["read_share"].max()] if len(others) else shares
    return PERCENT * float(beyond[0]) if beyond.size else float("nan")


def _cells(fit: Calibrated, nodes: int, most_jobs: int) -> Iterator[pd.DataFrame]:
    """A mix of a setting each, with 1, 2, 3, ... jobs, in the form of `cell_statistics`."""
    for setting in STRONG_SETTINGS:
        for share in _READ_SHARES:
            analysis = analyse(fit.mixed(_shares(setting, share, nodes)), most_jobs)
            yield pd.DataFrame({
                "kind": "mixed", "read_cl": setting.read_cl, "write_cl": setting.write_cl, "read_share": share,
                "threads": analysis.jobs, "latency_us": US_PER_MS * analysis.response_ms,
                "cell_id": np.arange(most_jobs),
            })  # fmt: skip


def _shares(setting: Setting, read_share: float, nodes: int) -> dict[Question, float]:
    both = {
        Question("READ", setting.read_cl, nodes, REPLICATION): read_share,
        Question("UPDATE", setting.write_cl, nodes, REPLICATION): 1 - read_share,
    }
    return {question: share for question, share in both.items() if share > 0}
