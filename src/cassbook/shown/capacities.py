"""At which rate a setting breaks a bound, in words."""

from __future__ import annotations

import numpy as np

from cassbook.latency.capacity import CLIENT, EMPTY, FAILED, FOUND, LATE, NOT_CARRIED, UNSENT, Capacity

_WHY = {
    NOT_CARRIED: "the backlog grew",
    UNSENT: "fewer requests were sent",
    FAILED: "too many requests failed",
    EMPTY: "no request was answered",
    LATE: "responses took longer",
    CLIENT: "the client could do no more",
}


def verdict(one: Capacity, by: str, bound_ms: float) -> str:
    """Say the rate at which a setting breaks a bound, or what is known of it; where starts differ they are counted."""
    if one.verdict == FOUND:
        return f"{one.per_s:.0f} a second{_share(one)}"
    starts = len(one.by_block)
    missed, above = sum(np.isnan(one.by_block)), sum(np.isinf(one.by_block))
    higher = "the client carries no more" if one.ended_by else "measure higher rates"
    if above == starts:
        return f"at least {one.per_s.value:.0f} a second{_share(one)}; {higher}"
    if missed == starts:
        return f"none; {_nearest(one, by, bound_ms)}"
    between = [rate for rate in one.by_block if np.isfinite(rate)]
    tops = [top for rate, top in zip(one.by_block, one.top_by_block, strict=True) if np.isinf(rate)]
    least = f"at least {min(tops):.0f}" if tops else ""
    parts = [(least, above), (_range(between), len(between)), ("none", missed)]
    (first, count), *others = [(what, count) for what, count in parts if count]
    said = [f"{first} a second in {count} of {starts} cluster starts", *(f"{what} in {_few(n)}" for what, n in others)]
    return ", ".join(said) + (f" ({_nearest(one, by, bound_ms)})" if missed else f"; {higher}")


def _range(rates: list[float]) -> str:
    if not rates:
        return ""
    return f"{min(rates):.0f}" + (f" to {max(rates):.0f}" if len(rates) > 1 else "")


def _share(one: Capacity) -> str:
    """Say which share of the weakest setting's capacity that is, where the ladder has shares."""
    return "" if np.isnan(one.share.value) else f", {one.share:.2f} of what the weakest setting carries"


def _few(count: int) -> str:
    return "one" if count == 1 else str(count)


def _nearest(one: Capacity, by: str, bound_ms: float) -> str:
    """Say how near the bound is where the lowest rate misses it; where that is within the bound, why it was missed."""
    reasons = one.missed_by.split(";")
    if one.nearest_ms > bound_ms and CLIENT not in reasons:
        return f"nearest is {one.nearest_per_s:.4g} a second with {by} {one.nearest_ms:.1f} ms"
    why = " or ".join(_WHY[reason] for reason in reasons)
    return f"at {one.rates_per_s[0]:.4g} a second, the lowest rate, {why}"


def number(value: float) -> float | None:
    """Return a rate or a share as answers for programs give it: four digits, None for what is not finite."""
    return float(f"{value:.4g}") if np.isfinite(value) else None
