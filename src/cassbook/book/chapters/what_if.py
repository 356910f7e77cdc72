"""What the calibrated network predicts of mixes, held against mixes that were measured: its calibration holds none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cassbook.advisor.from_calibration import REPLICATION
from cassbook.advisor.latency_map import LatencyMap
from cassbook.book.chapters.queueing_calibrated import QUORUM_READ, QUORUM_READS
from cassbook.core.estimate import Estimate
from cassbook.latency import mix_excess, mixing, policies
from cassbook.latency.mixing import WORKLOAD
from cassbook.queueing.paper import FIELD_LENGTH
from cassbook.records.calibration import FITTED_NODES, CalibrationRun

_US, _PERCENT = 1000.0, 100.0
_MIX = ["setting", *WORKLOAD]
_READS, _WRITES = 1.0, 0.0
#: Columns of `by_setting`.
PARTS_OFF, MIXES_OFF, ABOVE = "parts: off, %", "mixes: off, %", "mix above its parts, %"
#: Ways of choosing a setting that the chapter compares, besides fixed ones and rules of thumb.
NETWORK, WEIGHTED = "the network", "the calibration's pure cells, weighted"
_QUOTED = {"network": NETWORK, "weighted": WEIGHTED, "others": policies.OTHER_STARTS}


def compared(predicted: LatencyMap, cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Return the latency of each mix, measured and predicted.

    Parameters
    ----------
    predicted : LatencyMap
        Of `from_calibration.latency_map`.
    cell_stats : DataFrame
        From `cell_statistics`: mixed cells, measured on as many nodes.

    Returns
    -------
    DataFrame
        setting, read_share, threads; measured_ms (`Estimate` over blocks), predicted_ms, off_percent (predicted over
        measured, less 100 %), within (whether the measured interval holds it).
    """
    measured = policies.by_block(cell_stats).melt(ignore_index=False, value_name="latency_us").reset_index()
    groups = measured.groupby(_MIX)["latency_us"]
    rows = pd.DataFrame([(*key, Estimate.mean(own / _US)) for key, own in groups], columns=[*_MIX, "measured_ms"])
    predicted_ms = _at(predicted, rows)
    means_ms = np.array([each.value for each in rows["measured_ms"]])
    return rows.assign(
        predicted_ms=predicted_ms, off_percent=_PERCENT * (predicted_ms / means_ms - 1),
        within=[e.low <= ms <= e.high for e, ms in zip(rows["measured_ms"], predicted_ms, strict=True)],
    )  # fmt: skip


def by_setting(predicted: LatencyMap, cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Return how far off the network is on mixes and on their parts, and how much a mix takes above its parts.

    Parameters
    ----------
    predicted : LatencyMap
    cell_stats : DataFrame
        Mixed cells, and the pure ones that are their parts.

    Returns
    -------
    DataFrame
        Index setting, 'all' last; `PARTS_OFF`, `MIXES_OFF` and `ABOVE`: `Estimate` in percent, of geometric means over
        cells, over blocks.
    """
    cells = mix_excess.against_parts(cell_stats)
    mix_us, parts_us = _US * _at(predicted, cells), _US * _parts(predicted, cells)
    ratios = cells.assign(**{
        PARTS_OFF: parts_us / cells["mean_us"], MIXES_OFF: mix_us / cells["mix_us"],
        ABOVE: cells["mix_us"] / cells["mean_us"],
    })  # fmt: skip
    groups = [*ratios.groupby("setting"), ("all", ratios)]
    return pd.DataFrame(
        {name: {key: _percent(own, name) for key, own in groups} for name in (PARTS_OFF, MIXES_OFF, ABOVE)}
    )


def _percent(cells: pd.DataFrame, name: str) -> Estimate:
    """Geometric mean of a ratio over cells, in percent above 1, over blocks."""
    found = Estimate.ratio(np.exp(np.log(cells[name]).groupby(cells["block"]).mean()))
    value, low, high = (_PERCENT * (bound - 1) for bound in (found.value, found.low, found.high))
    return Estimate(value, low, high, found.n)


def regrets(choosers: Mapping[str, LatencyMap], cell_stats: pd.DataFrame) -> pd.DataFrame:
    """Return what it costs to choose the setting that a map has as the fastest; next to fixed settings and rules of
    thumb.

    Returns
    -------
    DataFrame
        As `policies.regrets`.
    """
    measured = policies.by_block(cell_stats)
    workloads = policies.workloads_of(measured)
    chosen = {name: _chosen(own, workloads) for name, own in choosers.items()}
    return policies.regrets(measured, chosen | policies.fixed_choices(workloads))


def pure_map(run: CalibrationRun, nodes: int = FITTED_NODES) -> LatencyMap:
    """Return the calibration's own cells of a cluster as a map, those held out included.

    Between pure workloads it takes the weighted mean (eq. 8-10 of Gorbenko 2020), and it needs such cells of the very
    cluster that is asked for.
    """
    rule = f"nodes == {nodes} and replication == {REPLICATION} and field_length == {FIELD_LENGTH} and not ask_all"
    cells = run.cells.query(rule)
    return LatencyMap(pd.DataFrame({
        "kind": "pure", "read_cl": cells["level"], "write_cl": cells["level"], "block": cells["start"],
        "read_share": np.where(cells["operation"] == "READ", _READS, _WRITES), "threads": cells["jobs"],
        "latency_us": _US * cells["latency_ms"], "cell_id": cells.index,
    }), run.name)  # fmt: skip


def values(predicted: LatencyMap, cell_stats: pd.DataFrame, found: pd.DataFrame) -> dict[str, object]:
    """Return what the chapter says of mixes: how many, from how many starts, how far off; and of `found`, of
    `regrets`.
    """
    rows, every = compared(predicted, cell_stats), by_setting(predicted, cell_stats).loc["all"]
    above, network = every[ABOVE], found.loc[NETWORK]
    return {
        "mixes": len(rows), "mixes_starts": rows["measured_ms"].iloc[0].n, "mixes_within": int(rows["within"].sum()),
        "mixes_off": rows["off_percent"].abs().mean(), "parts_off": -every[PARTS_OFF].value, "above": above.value,
        "above_low": above.low, "above_high": above.high,
        "above_foretold": _PERCENT * float((rows["predicted_ms"] / _parts(predicted, rows) - 1).abs().max()),
        "right": network["right"].right, "asked": network["right"].total, "worst_regret": network["worst_percent"],
    } | {f"{name}_regret": found["regret"][policy].value for name, policy in _QUOTED.items()}  # fmt: skip


def _at(own: LatencyMap, mixes: pd.DataFrame) -> NDArray[np.float64]:
    """Mean latency of a map at the setting, read_share and threads of each row, ms."""
    shares, threads = (pd.Index(sorted(mixes[name].unique())) for name in WORKLOAD)
    names = pd.Index([setting.name for setting in own.settings])
    places = zip(_MIX, (names, shares, threads), strict=True)
    at = tuple(index.get_indexer(mixes[name]) for name, index in places)
    return np.asarray(own.means_us(threads, shares)[at]) / _US


def _parts(own: LatencyMap, mixes: pd.DataFrame) -> NDArray[np.float64]:
    """The same of the mean of the two pure workloads, weighted."""
    reads_ms, writes_ms = (_at(own, mixes.assign(read_share=share)) for share in (_READS, _WRITES))
    return np.asarray(mixing.mixed(reads_ms, writes_ms, mixes["read_share"].to_numpy()))


def _chosen(own: LatencyMap, workloads: pd.MultiIndex) -> policies.Choices:
    """What a map has as the fastest."""
    shares, threads = (workloads.unique(level).sort_values() for level in WORKLOAD)
    return own.domain(threads, shares).set_index(WORKLOAD)["best"].reindex(workloads)


def replication_pays(run: CalibrationRun) -> pd.DataFrame:
    """Return reads at QUORUM that ask all three replicas over those that ask two: measured, and by the model.

    Returns
    -------
    DataFrame
        Index jobs; columns throughput, response (`Estimate` over cluster starts of the ratio), throughput_model,
        response_model.
    """
    own = run.cells.query(QUORUM_READS)
    both = own.pivot_table(["throughput_per_s", "latency_ms"], ["jobs", "start"], "ask_all")
    jobs = sorted(own["jobs"].unique())
    two, three = (
        run.predict(replace(QUORUM_READ, ask_all=ask_all), [int(count) for count in jobs]) for ask_all in (False, True)
    )
    rows = {}
    for place, count in enumerate(jobs):
        ratios = {
            name: Estimate.ratio(both[column][True].loc[count] / both[column][False].loc[count])
            for name, column in (("throughput", "throughput_per_s"), ("response", "latency_ms"))
        }
        rows[int(count)] = ratios | {
            "throughput_model": three.throughput_per_s[place].value / two.throughput_per_s[place].value,
            "response_model": three.response_ms[place].value / two.response_ms[place].value,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("jobs")


def pays_values(run: CalibrationRun, table: pd.DataFrame, prefix: str = "") -> dict[str, object]:
    """Return what asking all three gains of throughput, percent: of all numbers of jobs together, and by the model.

    Returns
    -------
    dict
        gain, gain_low, gain_high (95 % over cluster starts), model_least, model_most; within: numbers of jobs whose
        interval holds what the model says, of how many.
    """
    own = run.cells.query(QUORUM_READS)
    rates = (
        own.groupby(["ask_all", "start", "jobs"])["throughput_per_s"].mean().map(np.log).groupby(level=[0, 1]).mean()
    )
    gain = Estimate.ratio(np.exp(rates[True] - rates[False]))
    model = table["throughput_model"]
    within = [ratio.low <= said <= ratio.high for ratio, said in zip(table["throughput"], model, strict=True)]
    percent = {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high,
               "model_least": model.min(), "model_most": model.max()}  # fmt: skip
    percents = {name: _PERCENT * (float(ratio) - 1) for name, ratio in percent.items()}
    return {prefix + name: value for name, value in percents.items()} | {
        f"{prefix}within": f"{sum(within)} of {len(within)}"
    }


#: Questions of the what-if chapter, each one change from what was measured.
WHAT_IF: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as measured": ({}, {}),
    "six nodes on the same machine": ({"nodes": 6}, {}),
    "two replicas": ({"replication": 2}, {}),
    "all replicas asked": ({"ask_all": True}, {}),
    "four processors": ({}, {"cores": 4}),
    "eight processors": ({}, {"cores": 8}),
    "disks that take 2 ms a look": ({}, {"disk_ms": 2.0}),
    "disks that take 8 ms a look": ({}, {"disk_ms": 8.0}),
}


def what_if(run: CalibrationRun, jobs: int = 64) -> pd.DataFrame:
    """Return reads at QUORUM with one thing changed.

    Returns
    -------
    DataFrame of str
        Index what is changed; columns requests/s, response, ms, busiest, outside (what of it was never measured).
    """
    rows = {}
    for name, (changed, others) in WHAT_IF.items():
        question = replace(QUORUM_READ, **changed)
        found = run.predict(question, [jobs], **others)
        busiest = found.bottleneck(0)
        rows[name] = {
            "requests/s": f"{found.throughput_per_s[0]:±.0f}",
            "response, ms": f"{found.response_ms[0]:±.1f}",
            "busiest": f"{busiest}, {_PERCENT * found.utilisation(0)[busiest].value:.0f} %",
            "outside": "; ".join(said.split(";")[0] for said in found.outside),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("changed")


def what_if_values(run: CalibrationRun, jobs: int = 64) -> dict[str, object]:
    """Return the throughput of some rows of `what_if` over that as measured, and how many there are of its jobs."""
    per_s = {}
    for name, (changed, others) in WHAT_IF.items():
        question = replace(QUORUM_READ, **changed)
        per_s[name] = run.predict(question, [jobs], **others).throughput_per_s[0].value
    first = per_s["as measured"]
    names = {"processors": "four processors", "nodes": "six nodes on the same machine",
             "replicas": "two replicas", "disks": "disks that take 8 ms a look"}  # fmt: skip
    return {"jobs": jobs} | {f"by_{short}": per_s[name] / first for short, name in names.items()}
