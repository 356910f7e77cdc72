"""The adviser on a cluster that was not measured: latency of each strong setting as the calibrated network has it.

A predicted map is held against mixes that were measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.consistency import STRONG_SETTINGS, Setting
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.types import Floats
from cassbook.core.units import PERCENT, US_PER_MS
from cassbook.latency import mix_excess, mixing, policies
from cassbook.latency.mixing import WORKLOAD
from cassbook.queueing.calibration import Calibrated, Question
from cassbook.queueing.mva import analyse
from cassbook.queueing.paper import FIELD_LENGTH
from cassbook.records.calibration import FITTED_NODES, CalibrationRun
from cassbook.shown.calibration import beyond

#: What strong settings are strong at.
REPLICATION = 3
_READ_SHARES = tuple(k / 10 for k in range(11))
_MIX = ["setting", *WORKLOAD]
_READS, _WRITES = 1.0, 0.0


def latency_map(run: CalibrationRun, nodes: int = FITTED_NODES) -> LatencyMap:
    """Predict what `LatencyMap.of_run` takes from measured cells: a block for each cluster start of the calibration.

    Clients choose coordinators in turn and know nothing of replicas, as in the calibration. It reaches from one job to
    as many as were measured.

    `nodes`: of the cluster that is asked for; with replication 3.

    Raises InputError for fewer nodes than were measured, or more.
    """
    if outside := run.outside(Question("READ", "ALL", nodes, REPLICATION), jobs=1):
        raise InputError("; ".join(map(beyond, outside)))
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


def compared(predicted: LatencyMap, cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Return the latency of each mix, measured and predicted.

    `predicted`: of `from_calibration.latency_map`. `cell_stats`: from `cell_statistics`: mixed cells, measured on as
    many nodes.

    Columns: setting, read_share, threads; measured_ms (`Estimate` over blocks), predicted_ms, parts_ms (the map's
    weighted mean of the two pure workloads), off_percent (predicted over measured, less 100 %), within (whether the
    measured interval holds it).
    """
    measured = policies.by_block(cell_stats).melt(ignore_index=False, value_name="latency_us").reset_index()
    groups = measured.groupby(_MIX)["latency_us"]
    measured_ms = [(*key, Estimate.positive(group / US_PER_MS)) for key, group in groups]
    rows = pd.DataFrame(measured_ms, columns=[*_MIX, "measured_ms"])
    predicted_ms = _at(predicted, rows)
    means_ms = np.array([each.value for each in rows["measured_ms"]])
    return rows.assign(
        predicted_ms=predicted_ms, parts_ms=_parts(predicted, rows),
        off_percent=PERCENT * (predicted_ms / means_ms - 1),
        within=[e.low <= ms <= e.high for e, ms in zip(rows["measured_ms"], predicted_ms, strict=True)],
    )  # fmt: skip


def by_setting(predicted: LatencyMap, cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Return how far off a map is on mixes and on their parts, and how much a mix takes above its parts.

    `cell_stats`: mixed cells, and the pure ones that are their parts.

    Index setting, 'all' last; parts_off, mixes_off (predicted over measured) and above (a measured mix over
    its parts): `Estimate` in percent above 1, of geometric means over cells, over blocks.
    """
    cells = mix_excess.against_parts(cell_stats)
    mix_us, parts_us = US_PER_MS * _at(predicted, cells), US_PER_MS * _parts(predicted, cells)
    ratios = {
        "parts_off": parts_us / cells["mean_us"], "mixes_off": mix_us / cells["mix_us"],
        "above": cells["mix_us"] / cells["mean_us"],
    }  # fmt: skip
    groups = [*cells.groupby("setting"), ("all", cells)]
    return pd.DataFrame({
        name: {key: _percent(ratio[group.index], group["block"]) for key, group in groups}
        for name, ratio in ratios.items()
    })  # fmt: skip


def _percent(ratios: pd.Series, blocks: pd.Series) -> Estimate:
    """Geometric mean of ratios over cells, in percent above 1, over blocks."""
    ratio = Estimate.ratio(np.exp(np.log(ratios).groupby(blocks).mean()))
    value, low, high = (PERCENT * (bound - 1) for bound in (ratio.value, ratio.low, ratio.high))
    return Estimate(value, low, high, ratio.n)


def regrets(choosers: Mapping[str, LatencyMap], cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Return what it costs to choose the setting that a map has as the fastest; next to fixed settings and rules of
    thumb.

    The same columns as `policies.regrets`.
    """
    measured = policies.by_block(cell_stats)
    workloads = policies.workloads_of(measured)
    chosen = {name: _chosen(latency_map, workloads) for name, latency_map in choosers.items()}
    return policies.regrets(measured, chosen | policies.fixed_choices(workloads))


def _at(latency_map: LatencyMap, mixes: pd.DataFrame) -> Floats:
    """Mean latency of a map at the setting, read_share and threads of each row, ms."""
    shares, threads = (pd.Index(sorted(mixes[name].unique())) for name in WORKLOAD)
    names = pd.Index([setting.name for setting in latency_map.settings])
    places = zip(_MIX, (names, shares, threads), strict=True)
    at = tuple(index.get_indexer(mixes[name]) for name, index in places)
    return np.asarray(latency_map.means_us(threads, shares)[at]) / US_PER_MS


def _parts(latency_map: LatencyMap, mixes: pd.DataFrame) -> Floats:
    """Weighted mean of a map's two pure workloads for each row, ms."""
    reads_ms, writes_ms = (_at(latency_map, mixes.assign(read_share=share)) for share in (_READS, _WRITES))
    return np.asarray(mixing.mixed(reads_ms, writes_ms, mixes["read_share"].to_numpy()))


def _chosen(latency_map: LatencyMap, workloads: pd.MultiIndex) -> policies.Choices:
    """What a map has as the fastest."""
    shares, threads = (workloads.unique(level).sort_values() for level in WORKLOAD)
    return latency_map.domain(threads, shares).set_index(WORKLOAD)["best"].reindex(workloads)
