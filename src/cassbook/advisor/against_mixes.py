"""A predicted latency map held against mixes that were measured."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.estimate import Estimate
from cassbook.core.types import Floats
from cassbook.core.units import PERCENT, US_PER_MS
from cassbook.latency import mix_excess, mixing, policies
from cassbook.latency.mixing import WORKLOAD

_MIX = ["setting", *WORKLOAD]
_READS, _WRITES = 1.0, 0.0


def compared(predicted: LatencyMap, cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Return the latency of each mix, measured and predicted.

    `predicted`: of `from_calibration.latency_map`. `cell_stats`: from `cell_statistics`: mixed cells, measured on as
    many nodes.

    The table: setting, read_share, threads; measured_ms (`Estimate` over blocks), predicted_ms, parts_ms (the map's
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

    The table: index setting, 'all' last; parts_off, mixes_off (predicted over measured) and above (a measured mix over
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

    The table: as `policies.regrets`.
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
