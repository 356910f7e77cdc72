"""Write what a run says as the file that the small adviser reads: a grid of latencies by setting, and limits.

`cassbook_advisor.latencies` reads it; its schema is the package's `map.schema.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from cassbook.core.errors import LackingError
from cassbook.latency.capacity import AT_LEAST, FOUND, NONE
from cassbook.latency.open_choices import Mix, OpenAdvice, OpenChoice
from cassbook.latency.open_loads import OpenLoads

if TYPE_CHECKING:
    from cassbook.advisor.latency_map import LatencyMap
    from cassbook.records.run import RecordedRun

#: As `cassbook_advisor.latencies` has them, which needs the driver; a test holds them together.
SCHEMA, VERSION = "cassbook-advisor", 1
IN_FLIGHT, RATE = "in flight", "rate"
#: Rates at which curves are written, equal factors apart.
_RATES = 12
_DIGITS = 5
#: In several data centres, levels whose replicas are counted in the clients' own; ALL waits for those too.
_LOCAL = frozenset({"LOCAL_ONE", "LOCAL_QUORUM", "ALL"})


def of_map(latency_map: LatencyMap, points: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return a map over requests in flight; `points` are what `advise --map` says of each, for people."""
    shares = latency_map.grid_shares if latency_map.by != "mean" else [float(x) for x in latency_map.read_shares]
    loads = [float(x) for x in latency_map.threads]
    figures = latency_map.latencies_us(loads, shares)
    settings = [
        {"name": setting.name, "read_cl": setting.read_cl, "write_cl": setting.write_cl, "latency_us": _listed(own)}
        for setting, own in zip(latency_map.settings, figures, strict=True)
    ]
    head = _head(latency_map.name, latency_map.engine, latency_map.measured, latency_map.replicas, latency_map.by)
    return head | {
        "workloads": list(latency_map.workloads), "load": IN_FLIGHT, "loads": loads, "read_shares": shares,
        "settings": settings, "points": list(points),
    }  # fmt: skip


def of_loads(
    run: RecordedRun, loads: OpenLoads, mixes: Sequence[Mix], bound_ms: float | None = None,
    points: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return curves over the rate under open arrivals; with a bound also to which rate each setting keeps it.

    Of a run in several data centres it has the settings of LOCAL levels, and the replicas of the clients' own.

    Raises LackingError for mixes whose blocks have no rate in common, and for a run without such settings.
    """
    ordered = sorted(mixes, key=lambda mix: mix.read_share)
    ranges = [loads.range_per_s(mix) for mix in ordered]
    low, high = max(least for least, _ in ranges), min(most for _, most in ranges)
    if not low < high:
        raise LackingError(
            f"{run.name}: its blocks and mixes have no rates in common; measure rates_per_s, the same in all"
        )
    rates = [float(f"{rate:.4g}") for rate in np.geomspace(low, high, _RATES)[1:-1]]
    rates = [low, *rates, high]
    advice = [[loads.advise(mix, rate_per_s=rate, bound_ms=bound_ms) for rate in rates] for mix in ordered]
    settings = []
    pairs = dict.fromkeys(choice.setting for row in advice for one in row for choice in one.choices)
    if len(loads.by_centre) > 1:
        pairs = {pair: None for pair in pairs if {pair.read_cl, pair.write_cl} <= _LOCAL}
    if not pairs:
        raise LackingError(
            f"{run.name}: has no setting that the adviser could choose; in several data centres measure "
            "LOCAL_QUORUM/LOCAL_QUORUM, in one QUORUM/QUORUM"
        )
    for pair in pairs:
        own = np.array([[_by_block(one, pair.name) for one in row] for row in advice])  # (share, rate, block)
        setting: dict[str, Any] = {"name": pair.name, "read_cl": pair.read_cl, "write_cl": pair.write_cl,
                   "latency_us": _listed(np.moveaxis(own, 2, 0))}  # fmt: skip
        if bound_ms is not None:
            limits = [_limit(choice, loads.by) for row in advice for choice in row[0].choices if choice.setting == pair]
            setting["limit"] = min(limits, key=lambda limit: limit["to_per_s"] or 0.0)
        settings.append(setting)
    begun = str(run.manifest.get("begun", ""))
    head = _head(run.name, str(run.manifest.get("engine", "")), begun, loads.by_centre[0], loads.by)
    return head | {
        "workloads": [mix.workload for mix in ordered if mix.workload], "load": RATE, "loads": rates,
        "read_shares": [mix.read_share for mix in ordered], "settings": settings, "points": list(points),
    }  # fmt: skip


def _head(run: str, engine: str, measured: str, replicas: int, by: str) -> dict[str, Any]:
    written = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "schema": SCHEMA, "version": VERSION, "run": run, "engine": engine, "measured": measured or written,
        "written": written, "replication": replicas, "data_centre": None, "by": by,
    }  # fmt: skip


def _listed(figures: np.ndarray) -> list[Any]:
    """Return numbers of five digits, None for what is not known, in lists by block, share of reads and load."""
    return [
        [[float(f"{x:.{_DIGITS}g}") if np.isfinite(x) else None for x in row] for row in block] for block in figures
    ]


def _by_block(advice: OpenAdvice, name: str) -> list[float]:
    found = [choice.by_block_us for choice in advice.choices if choice.setting.name == name]
    return list(found[0]) if found else [np.nan] * advice.cluster_starts


def _limit(choice: OpenChoice, by: str) -> dict[str, Any]:
    """Return to which rate a setting is known to keep the bound: the lower end of the interval, or the least block."""
    what = f"{by} within {choice.bound_ms:g} ms"
    known = choice.capacity
    if known is None or known.verdict not in {FOUND, AT_LEAST, NONE}:
        return {"keeps": None, "to_per_s": None, "why": f"{what} is not known"}
    if known.verdict == NONE:
        return {"keeps": False, "to_per_s": None, "why": f"{what} at no rate that was measured"}
    least = np.min(np.minimum(known.by_block, known.top_by_block))
    to_per_s = known.per_s.low if np.isfinite(known.per_s.low) else least
    return {"keeps": True, "to_per_s": float(f"{to_per_s:.4g}"), "why": f"{what} to {to_per_s:.0f} a second"}
