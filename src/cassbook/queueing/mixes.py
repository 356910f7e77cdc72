"""What the calibrated network foretells of mixes, held against mixes that were measured: its calibration holds none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from cassbook.advisor.latency_map import LatencyMap
from cassbook.consistency import STRONG_SETTINGS
from cassbook.estimate import Estimate
from cassbook.latency import policies
from cassbook.latency.mixing import WORKLOAD
from cassbook.queueing.advising import REPLICATION, latency_map
from cassbook.queueing.measuring import FIELD_LENGTH
from cassbook.queueing.recorded import FITTED_NODES, CalibrationRun
from cassbook.run.recorded import RecordedRun

_US, _PERCENT = 1000.0, 100.0
#: Ways of choosing a setting that `regrets` compares, beside fixed ones and rules of thumb.
NETWORK, WEIGHTED = "the network", "the calibration's pure cells, weighted"


def compared(run: CalibrationRun, cell_stats: pd.DataFrame, nodes: int = FITTED_NODES) -> pd.DataFrame:
    """Latency of each mix, measured and foretold.

    Parameters
    ----------
    run : CalibrationRun
    cell_stats : DataFrame
        From `cell_statistics`: mixed cells, measured on so many nodes.
    nodes : int

    Returns
    -------
    DataFrame
        Index setting, read_share, threads; measured_ms (`Estimate` over blocks), foretold_ms, off_percent (foretold
        over measured, less 100 %), within (whether the measured interval holds it).
    """
    measured = policies.by_block(cell_stats).stack() / _US
    rows = measured.groupby(["setting", *WORKLOAD]).apply(Estimate.mean).to_frame("measured_ms")
    foretold = _at(latency_map(run, nodes), rows.index)
    means = np.array([each.value for each in rows["measured_ms"]])
    return rows.assign(
        foretold_ms=foretold, off_percent=_PERCENT * (foretold / means - 1),
        within=[e.low <= ms <= e.high for e, ms in zip(rows["measured_ms"], foretold, strict=True)],
    )  # fmt: skip


def regrets(run: CalibrationRun, cell_stats: pd.DataFrame, nodes: int = FITTED_NODES) -> pd.DataFrame:
    """What it costs to choose the setting by what the network foretells, and otherwise.

    Beside it stand the weighted mean of the calibration's pure cells (eq. 8-10 of Gorbenko 2020, which needs such cells
    of the very cluster), fixed settings and rules of thumb.

    Returns
    -------
    DataFrame
        As `policies.regrets`.
    """
    measured = policies.by_block(cell_stats)
    workloads = pd.MultiIndex.from_frame(measured.groupby(WORKLOAD).mean().index.to_frame(index=False))
    choices = {
        NETWORK: _chosen(latency_map(run, nodes), workloads),
        WEIGHTED: _chosen(_pure(run, nodes), workloads),
    } | policies.fixed_choices(workloads)
    return policies.regrets(measured, choices)


def told(run: CalibrationRun, recorded: RecordedRun) -> dict[str, object]:
    """What the chapter says of both."""
    stats = recorded.statistics
    table, found = compared(run, stats), regrets(run, stats)
    off = table["off_percent"].abs()
    return {
        "mixes": len(table), "mixes_off": off.mean(), "mixes_worst": off.max(), "mixes_within": int(table["within"].sum()),
        "mixes_starts": table["measured_ms"].iloc[0].n,
    } | _named(found)  # fmt: skip


def _named(found: pd.DataFrame) -> Mapping[str, object]:
    own = found.loc[NETWORK]
    return {"right": own["right"].right, "asked": own["right"].total, "regret": own["regret"].value,
            "regret_low": own["regret"].low, "regret_high": own["regret"].high, "regret_worst": own["worst_percent"]}  # fmt: skip


def _at(own: LatencyMap, mixes: pd.MultiIndex) -> np.ndarray:
    """Mean latency of a map at (setting, read_share, threads), ms."""
    threads, shares = mixes.unique("threads").sort_values(), mixes.unique("read_share").sort_values()
    means_ms = own.means_us(threads, shares) / _US
    names = pd.Index([setting.name for setting in own.settings])
    places = (names, shares, threads)
    at = tuple(place.get_indexer(mixes.get_level_values(k)) for k, place in enumerate(places))
    return np.asarray(means_ms[at])


def _chosen(own: LatencyMap, workloads: pd.MultiIndex) -> policies.Choices:
    """What a map has as the fastest."""
    threads, shares = (workloads.unique(level).sort_values() for level in ("threads", "read_share"))
    return own.domain(threads, shares).set_index(WORKLOAD)["best"].reindex(workloads)


def _pure(run: CalibrationRun, nodes: int) -> LatencyMap:
    """The calibration's own cells of the cluster as a map, those held out included."""
    rule = f"nodes == {nodes} and replication == {REPLICATION} and field_length == {FIELD_LENGTH} and not ask_all"
    cells = run.cells.query(rule)
    return LatencyMap(pd.DataFrame({
        "kind": "pure", "read_cl": cells["level"], "write_cl": cells["level"], "block": cells["start"],
        "read_share": (cells["operation"] == "READ").astype(float), "threads": cells["jobs"],
        "latency_us": _US * cells["latency_ms"], "cell_id": cells["panel"],
    }), run.name)  # fmt: skip
