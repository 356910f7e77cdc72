"""What `cassbook capacity` prints: the rate that keeps a bound, setting by setting."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cassbook.core.consistency import replicas_waited_for, survival
from cassbook.core.errors import InputError
from cassbook.latency.capacity import AT_LEAST, FOUND, NONE, Capacity
from cassbook.latency.capacity import capacities as estimated
from cassbook.latency.percentiles import needed, with_tails

if TYPE_CHECKING:
    from cassbook.records.run import RecordedRun

_REPLICAS = 3


def capacities(run: RecordedRun, bound_ms: float, by: str, workload: str | None, form: str) -> str:
    """Answer for every setting of a run that was measured at fixed rates.

    Raises
    ------
    InputError
        If there are no such cells, or none of the workload.
    """
    statistics = run.statistics
    if workload is not None:
        known = sorted(set(statistics.loc[statistics["rate_per_s"].notna(), "workload"]) - {""})
        if workload not in known:
            listed = ", ".join(known) or "none"
            raise InputError(f"workload: {run.name} has no cells of {workload!r} at fixed rates; there are {listed}")
        statistics = statistics[statistics["workload"] == workload]
    if by == "p99.9":
        statistics = with_tails(statistics, run.histograms)
    found = estimated(statistics, bound_ms, by, run.name)
    replicas = run.manifest.get("profile", {}).get("cluster", {}).get("replication_factor") or _REPLICAS
    if form == "text":
        return "\n".join(_lines(run.name, found, bound_ms, by, replicas))
    rows = [_row(one, replicas) for one in found]
    if form == "csv":
        lists = ["by_block", "rates_per_s", "left_out_per_s"]
        return pd.DataFrame(rows).drop(columns=lists).to_csv(index=False).rstrip()
    return json.dumps({"run": run.name, "bound_ms": bound_ms, "by": by, "capacities": rows}, indent=2)


def _lines(name: str, found: list[Capacity], bound_ms: float, by: str, replicas: int) -> list[str]:
    lines = [f"{name}: highest rate whose {by} response time keeps {bound_ms:g} ms"]
    for one in found:
        lines.append(f"  {_what(one):32} {_verdict(one, by)}; {survival(*_survives(one, replicas))}")
        if one.marks:
            lines.append(f"  {'':32} marked {one.marks.replace(';', ', ')}")
        if one.left_out_per_s:
            rates = ", ".join(f"{rate:g}" for rate in one.left_out_per_s)
            lines.append(f"  {'':32} without {rates} a second: {by} needs {needed(by):,} operations per cell")
    if any(one.per_s.n == 1 for one in found):
        lines.append("  one cluster start: what another would give is not known")
    return lines


def _what(one: Capacity) -> str:
    if one.workload:
        return f"workload {one.workload}, {one.read_cl}/{one.write_cl}"
    if one.read_share in {0.0, 1.0}:
        return f"reads, {one.read_cl}" if one.read_share else f"writes, {one.write_cl}"
    return f"{one.read_share:.0%} reads, {one.read_cl}/{one.write_cl}"


def _verdict(one: Capacity, by: str) -> str:
    if one.verdict == NONE:
        missed = sum(np.isnan(rate) for rate in one.by_block)
        where = "" if missed == len(one.by_block) else f" in {missed} of {len(one.by_block)} cluster starts"
        return f"none{where}; nearest is {one.nearest_per_s:g} a second with {by} {one.nearest_ms:.1f} ms"
    if one.verdict == AT_LEAST:
        return f"at least {one.per_s.value:.0f} a second; measure higher rates"
    return f"{one.per_s:.0f} a second"


def _survives(one: Capacity, replicas: int) -> tuple[int, int]:
    reads, writes = (replicas - replicas_waited_for(level, replicas) for level in (one.read_cl, one.write_cl))
    return reads, writes


def _number(value: float) -> float | None:
    return float(f"{value:.4g}") if np.isfinite(value) else None


def _row(one: Capacity, replicas: int) -> dict[str, Any]:
    reads, writes = _survives(one, replicas)
    return {
        "workload": one.workload,
        "read_share": one.read_share,
        "read_cl": one.read_cl,
        "write_cl": one.write_cl,
        "threads": one.threads,
        "verdict": one.verdict,
        "capacity_per_s": _number(one.per_s.value),
        "capacity_low_per_s": _number(one.per_s.low) if one.verdict == FOUND else None,
        "capacity_high_per_s": _number(one.per_s.high) if one.verdict == FOUND else None,
        "blocks": one.per_s.n,
        "by_block": [_number(rate) for rate in one.by_block],
        "nearest_per_s": _number(one.nearest_per_s),
        "nearest_ms": _number(one.nearest_ms),
        "rates_per_s": list(one.rates_per_s),
        "left_out_per_s": list(one.left_out_per_s),
        "survives_reads": reads,
        "survives_writes": writes,
        "marks": one.marks,
    }
