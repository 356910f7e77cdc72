"""What `cassbook stale` prints: how likely a read is to miss the last write, and what more certainty costs."""

from __future__ import annotations

import json
from math import ceil
from typing import Any

import numpy as np

from cassbook.advisor.freshness import Freshness, Known, stronger
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import reads_to_show
from cassbook.shown import outages
from cassbook.shown.dead_replicas import survival
from cassbook.shown.tables import spread

#: Share of stale reads that an answer is held against unless another is given.
TARGET = 1e-4
_SMALL = 0.01
SHOWN, EXCEEDED, UNKNOWN = "shown", "exceeded", "not known"


def text(known: Known, r: int, w: int, t_ms: float, target: float = TARGET) -> str:
    """Return how stale reads may be, what they take, and what the next stronger settings change."""
    fresh, more = known.at(r, w, t_ms), stronger(known, r, w, t_ms)
    lines = [
        known.basis,
        f"{r} of {known.n} replicas read, {w} written, {t_ms:g} ms after the write was acknowledged:",
        *(f"  {line}" for line in _stale(fresh, known.n, t_ms)),
        *(f"  {line}" for line in _held_against(fresh, known.n, target)),
        *(f"  {line}" for line in _taken(fresh)),
        f"  {survival(known.n - r, known.n - w)}",
    ]
    lines += [f"  {line}" for line in _failing(known, [fresh, *more])]
    if more:
        lines.append("next stronger:")
    for other in more:
        chance = "; ".join(_stale(other, known.n, t_ms))
        lines.append(
            f"  {other.r} read, {other.w} written: {chance}; reads {_change(fresh, other, 'read')}, "
            f"writes {_change(fresh, other, 'write')}; {survival(known.n - other.r, known.n - other.w)}"
        )
    return "\n".join(lines)


def _failing(known: Known, settings: list[Freshness]) -> list[str]:
    return outages.recorded([(fresh.r, fresh.w) for fresh in settings], known.n, known.engine)


def _meet(fresh: Freshness, n: int) -> bool:
    return fresh.r + fresh.w > n


def _stale(fresh: Freshness, n: int, t_ms: float) -> list[str]:
    """Say what was counted, what follows at t, and what traces predict."""
    if _meet(fresh, n):
        probed = f" (probed: {_counted(fresh)}; {_at_most(fresh)})" if fresh.waits else ""
        return [f"while all is well not stale, whatever t: the quorums meet{probed}"]
    if not fresh.waits:
        trials = fresh.stale.n
        return [f"predicted stale: {_share(fresh.stale)}, bounds of {trials:,} simulated reads alone"]
    place = "" if len(fresh.waits) == 1 else f", between the two at {t_ms:g} ms"
    lines = [f"stale {_counted(fresh)}{place}: {_share(fresh.stale)} (95 %)"]
    if fresh.predicted_stale:
        none = f"none of {fresh.pairings:,} pairings of traced requests, " if not fresh.predicted_stale.value else ""
        lines.append(f"its traces predict {none}{_share(fresh.predicted_stale)}")
    else:
        lines.append("its requests were not traced")
    return lines


def _at_most(fresh: Freshness) -> str:
    """Bound what was counted of quorums that meet: their share is known to be none while no node fails."""
    stale, reads = (sum(getattr(wait, name) for wait in fresh.waits) for name in ("stale", "reads"))
    return _share(Estimate.share(stale, reads))


def _counted(fresh: Freshness) -> str:
    return " and ".join(f"{wait.stale:,} of {wait.reads:,} reads after {wait.asked_ms:g} ms" for wait in fresh.waits)


def _share(stale: Estimate) -> str:
    """A share of stale reads with its bounds; at none the upper one alone."""
    if stale.value <= 0:
        return f"at most {_number(stale.high)}"
    return f"{_number(stale.value)} [{_number(stale.low)}, {_number(stale.high)}]"


def _number(share: float) -> str:
    """Four decimals, or two digits and a power of ten where these would show nothing: 0.0196, 3.0e-3, 0."""
    if share <= 0:
        return "0"
    if share >= _SMALL:
        return f"{share:.4f}" if share < 1 - _SMALL else _near_all(share)
    mantissa, exponent = f"{share:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _near_all(share: float) -> str:
    """A share close to 1, with as many digits as keep it from looking like 1."""
    return "1" if share >= 1 else f"1-{_number(1 - share)}" if share > 1 - 1e-4 else f"{share:.4f}"


def _held_against(fresh: Freshness, n: int, target: float) -> list[str]:
    """Say whether the target is kept, and how many more reads would show it."""
    against = _against(fresh, n, target)
    if against is None:
        return []
    goal = f"at most {_number(target).replace('.0e', 'e')} stale"
    if against["verdict"] == SHOWN:
        return [f"{goal}: shown"]
    if against["verdict"] == EXCEEDED:
        return [f"{goal}: no, at least {_number(fresh.stale.low)} are"]
    if against["more_reads"] is None:
        return [f"{goal}: not known, and more than that were stale; no number of such reads shows it"]
    return [f"{goal}: not known; {against['more_reads']:,} more reads would show it, if none of them were stale"]


def _against(fresh: Freshness, n: int, target: float) -> dict[str, Any] | None:
    """Hold what was counted against a target; None where nothing was counted, or nothing can be stale."""
    if _meet(fresh, n) or not fresh.waits:
        return None
    stale, wait = fresh.stale, fresh.waits[0]
    verdict = SHOWN if stale.high <= target else EXCEEDED if stale.low > target else UNKNOWN
    more = None
    if verdict == UNKNOWN and stale.value <= target:
        independent = reads_to_show(target, round(stale.value * wait.worth))
        more = max(1, ceil((independent - wait.worth) * wait.reads / wait.worth))
    return {"share": target, "verdict": verdict, "more_reads": more}


def _taken(fresh: Freshness) -> list[str]:
    """Say how long reads and writes take; of a few cluster starts, the median with their range."""
    if not fresh.reads_ms:
        return [f"reads take {_ms(fresh.read_ms)} ms, writes {_ms(fresh.write_ms)} ms"]
    reads, writes = (spread(starts, "{:.2f}".format) for starts in (fresh.reads_ms, fresh.writes_ms))
    starts = len(fresh.reads_ms)
    of = f"median of {starts} cluster starts, with their range" if starts > 1 else "of one cluster start"
    return [
        f"reads that follow their write take {reads} ms, writes {writes} ms ({of})",
        "such reads of 2 or more replicas may wait for a blocking read repair",
    ]


def _ms(value: Estimate) -> str:
    if np.isnan(value.value):
        return "an unknown number of"
    return f"{value:.2f}"


def _change(fresh: Freshness, other: Freshness, side: str) -> str:
    before, after = (of.middle_ms(side) for of in (fresh, other))
    if np.isnan(before) or np.isnan(after):
        return "unknown"
    return f"{after - before:+.2f} ms (times {after / before:.2f})"


def as_json(known: Known, r: int, w: int, t_ms: float, target: float = TARGET) -> str:
    """Return the same for programs; nothing is rounded."""
    fresh, more = known.at(r, w, t_ms), stronger(known, r, w, t_ms)
    load = {"threads": known.load.threads, "recorded": list(known.load.recorded), "asked": known.load.asked}
    answer = {
        "basis": known.basis, "replicas": known.n, "t_ms": t_ms, "load": load, **_as_dict(fresh, known.n, target),
        "stronger": [_as_dict(other, known.n, target) for other in more], "failing": _failing(known, [fresh, *more]),
    }  # fmt: skip
    return json.dumps(answer, indent=2)


def _as_dict(fresh: Freshness, n: int, target: float) -> dict[str, Any]:
    return {
        "r": fresh.r, "w": fresh.w, "stale": fresh.stale.as_dict(),
        "predicted_stale": fresh.predicted_stale.as_dict() if fresh.predicted_stale else None,
        "quorums_meet": _meet(fresh, n),
        "counted": [
            {"wait_ms": wait.asked_ms, "wait_was_ms": wait.t_ms, "stale": int(wait.stale), "total": int(wait.reads),
             "independent": wait.worth} for wait in fresh.waits
        ],
        "target": _against(fresh, n, target),
        "p_consistent": fresh.p_consistent.as_dict(),
        "predicted": fresh.predicted.as_dict() if fresh.predicted else None,
        "read_ms": fresh.read_ms.as_dict(5), "write_ms": fresh.write_ms.as_dict(5),
        "read_ms_by_start": list(fresh.reads_ms), "write_ms_by_start": list(fresh.writes_ms),
        "survives": {"reads": n - fresh.r, "writes": n - fresh.w},
    }  # fmt: skip
