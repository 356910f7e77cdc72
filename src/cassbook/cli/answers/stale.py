"""What `cassbook stale` prints: how likely a read is to see the last write, and what more certainty costs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cassbook.advisor.freshness import Freshness, Known, stronger
from cassbook.core.consistency import survival
from cassbook.core.estimate import Estimate
from cassbook.records import fault_costs


def text(known: Known, r: int, w: int, t_ms: float) -> str:
    """For people."""
    fresh, more = known.at(r, w, t_ms), stronger(known, r, w, t_ms)
    lines = [
        known.basis,
        f"{r} of {known.n} replicas read, {w} written, {t_ms:g} ms after the write was acknowledged:",
        f"  {_chance(fresh)}",
        f"  reads take {_ms(fresh.read_ms)} ms, writes {_ms(fresh.write_ms)} ms",
        f"  {survival(known.n - r, known.n - w)}",
    ]
    if r + w > known.n:
        lines.append("  the quorums meet: always consistent, whatever t")
    lines += [f"  {line}" for line in _failing(known, [fresh, *more])]
    if more:
        lines.append("next stronger:")
    for other in more:
        lines.append(
            f"  {other.r} read, {other.w} written: {_chance(other)}; reads {_change(fresh.read_ms, other.read_ms)}, "
            f"writes {_change(fresh.write_ms, other.write_ms)}; {survival(known.n - other.r, known.n - other.w)}"
        )
    return "\n".join(lines)


def _failing(known: Known, settings: list[Freshness]) -> list[str]:
    return fault_costs.said([(fresh.r, fresh.w) for fresh in settings], known.n, known.engine)


def _chance(fresh: Freshness) -> str:
    predicted = f" (its traces predict {fresh.predicted:.4f})" if fresh.predicted else ""
    return f"consistent with probability {fresh.p_consistent:.4f}{predicted}"


def _ms(value: Estimate) -> str:
    if np.isnan(value.value):
        return "an unknown number of"
    return f"{value:.2f}"


def _change(before: Estimate, after: Estimate) -> str:
    if np.isnan(before.value) or np.isnan(after.value):
        return "unknown"
    return f"{after.value - before.value:+.2f} ms (times {after.value / before.value:.2f})"


def as_json(known: Known, r: int, w: int, t_ms: float) -> str:
    """For programs."""
    fresh, more = known.at(r, w, t_ms), stronger(known, r, w, t_ms)
    answer = {
        "basis": known.basis, "replicas": known.n, "t_ms": t_ms, **_as_dict(fresh, known.n),
        "stronger": [_as_dict(other, known.n) for other in more], "failing": _failing(known, [fresh, *more]),
    }  # fmt: skip
    return json.dumps(answer, indent=2)


def _as_dict(fresh: Freshness, n: int) -> dict[str, Any]:
    return {
        "r": fresh.r, "w": fresh.w, "p_consistent": fresh.p_consistent.as_dict(5),
        "predicted": fresh.predicted.as_dict(5) if fresh.predicted else None,
        "read_ms": fresh.read_ms.as_dict(5), "write_ms": fresh.write_ms.as_dict(5),
        "survives": {"reads": n - fresh.r, "writes": n - fresh.w},
    }  # fmt: skip
