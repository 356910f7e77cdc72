"""What `cassbook capacity` prints: the rate that keeps a bound, setting by setting."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cassbook.core.consistency import Replicas
from cassbook.core.errors import InputError
from cassbook.core.schema import OPEN
from cassbook.latency.capacity import AT_LEAST, FOUND, IN_GROUPS, NONE, Capacity
from cassbook.latency.capacity import capacities as estimated
from cassbook.latency.percentiles import needed, with_tails
from cassbook.latency.results import replicas_at
from cassbook.latency.slices import rates_in_groups
from cassbook.records.results import replicas as replicas_of_run
from cassbook.shown.capacities import number, verdict
from cassbook.shown.dead_replicas import survival

if TYPE_CHECKING:
    from cassbook.records.run import RecordedRun

_REPLICAS = 3
_WIDTH, _MARGIN = 125, " " * 35


def capacities(run: RecordedRun, bound_ms: float, by: str, workload: str | None, form: str) -> str:
    """Answer for every setting of a run that was measured at fixed rates.

    Raises InputError if there are no such cells, or none of the workload.
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
    found = estimated(statistics, bound_ms, by, run.name, run.slices)
    grouped = statistics[rates_in_groups(statistics, run.slices)]
    refused = sorted(set(grouped["workload"]))
    replicas = replicas_at(replicas_of_run(run), str(statistics["deployment"].iloc[0])) or Replicas((_REPLICAS,))
    if form == "text":
        left_out = [f"  without workload {name}: {IN_GROUPS}" for name in refused]
        lines = [*_lines(run.name, found, bound_ms, by, replicas), *left_out]
        return "\n".join(part for line in lines for part in textwrap.wrap(line, _WIDTH, subsequent_indent=_MARGIN))
    rows = [_row(one, replicas) for one in found]
    if form == "csv":
        lists = [
            "by_block", "by_block_verdict", "rates_per_s", "load_shares", "share_by_block", "left_out_per_s"
        ]  # fmt: skip
        return pd.DataFrame(rows).drop(columns=lists).to_csv(index=False).rstrip()
    content = {"run": run.name, "bound_ms": bound_ms, "by": by, "capacities": rows}
    if refused:
        content |= {"refused_workloads": refused, "refused_because": IN_GROUPS}
    return json.dumps(content, indent=2)


def _lines(name: str, found: list[Capacity], bound_ms: float, by: str, replicas: Replicas) -> list[str]:
    lines = [f"{name}: highest rate whose {by} response time keeps {bound_ms:g} ms"]
    for one in found:
        lines.append(f"  {_what(one):32} {verdict(one, by, bound_ms)}; {survival(*_survives(one, replicas))}")
        if one.marks:
            lines.append(f"{_MARGIN}marked {one.marks.replace(';', ', ')}")
        if one.left_out_per_s:
            rates = ", ".join(f"{rate:.4g}" for rate in one.left_out_per_s)
            lines.append(f"{_MARGIN}without {rates} a second: {by} needs {needed(by):,} operations per cell")
    if any(one.per_s.n == 1 for one in found):
        lines.append("  one cluster start: what another would give is not known")
    return lines


def _what(one: Capacity) -> str:
    if one.kind == OPEN:  # pure reads may stand at several settings
        mix = f"workload {one.workload}" if one.workload else f"{one.read_share:.0%} reads"
        return f"{mix}, {one.read_cl}/{one.write_cl}, open"
    return _mix(one)


def _mix(one: Capacity) -> str:
    if one.workload:
        return f"workload {one.workload}, {one.read_cl}/{one.write_cl}"
    if one.read_share in {0.0, 1.0}:
        return f"reads, {one.read_cl}" if one.read_share else f"writes, {one.write_cl}"
    return f"{one.read_share:.0%} reads, {one.read_cl}/{one.write_cl}"


def _survives(one: Capacity, replicas: Replicas) -> tuple[int, int]:
    return replicas.survived(one.read_cl), replicas.survived(one.write_cl)


def _row(one: Capacity, replicas: Replicas) -> dict[str, Any]:
    reads, writes = _survives(one, replicas)
    verdicts = [NONE if np.isnan(rate) else AT_LEAST if np.isinf(rate) else FOUND for rate in one.by_block]
    return {
        "workload": one.workload,
        "read_share": one.read_share,
        "read_cl": one.read_cl,
        "write_cl": one.write_cl,
        "threads": one.threads,
        "verdict": one.verdict,
        "capacity_per_s": number(one.per_s.value),
        "capacity_low_per_s": number(one.per_s.low) if one.verdict == FOUND else None,
        "capacity_high_per_s": number(one.per_s.high) if one.verdict == FOUND else None,
        "blocks": one.per_s.n,
        "by_block": [number(rate) for rate in one.by_block],
        "by_block_verdict": verdicts,
        **{f"blocks_{name.replace(' ', '_')}": verdicts.count(name) for name in (FOUND, AT_LEAST, NONE)},
        "nearest_per_s": number(one.nearest_per_s),
        "nearest_ms": number(one.nearest_ms),
        "missed_by": one.missed_by,
        "rates_per_s": [] if one.load_shares else list(one.rates_per_s),
        "load_shares": list(one.load_shares),
        "arrivals": "open" if one.kind == OPEN else "fixed",
        "capacity_share": number(one.share.value),
        "capacity_share_low": number(one.share.low),
        "capacity_share_high": number(one.share.high),
        "share_by_block": [number(share) for share in one.share_by_block],
        "ended_by": one.ended_by,
        "left_out_per_s": list(one.left_out_per_s),
        "survives_reads": reads,
        "survives_writes": writes,
        "marks": one.marks,
    }
