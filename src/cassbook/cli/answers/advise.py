"""What `cassbook advise` prints: a point, or a map of the whole domain."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from cassbook.advisor.latency_map import Advice, Choice, LatencyMap
from cassbook.latency.ranking import ALIKE, UNKNOWN

FORMATS = ("text", "json", "csv")
#: Behind the winner of a point on the map.
_SIGNS = {True: "", False: ALIKE.rstrip(), None: UNKNOWN.rstrip()}


def point(latency_map: LatencyMap, threads: float, read_share: float, form: str) -> str:
    """Advice for one point.

    Raises
    ------
    InputError
        Outside what the run measured.
    """
    advice = latency_map.advise(threads, read_share)
    if form == "json":
        return json.dumps(_as_dict(latency_map, advice), indent=2)
    if form == "csv":
        return pd.DataFrame(_as_dict(latency_map, advice)["settings"]).to_csv(index=False).rstrip()
    return "\n".join(_lines(latency_map, advice))


def _lines(latency_map: LatencyMap, advice: Advice) -> list[str]:
    starts = len(latency_map.blocks)
    lines = [
        f"{latency_map.name}, {advice.threads:g} threads, {advice.read_share:.0%} reads, {starts} cluster "
        f"start{'s' if starts > 1 else ''}",
        f"  best       {_line(advice.best)}",
    ]
    second = advice.runner_up
    if second is not None:
        lines.append(f"  runner-up  {_line(second)}, {advice.margin_percent:.1f} % slower")
        lines += [f"             {_line(choice)}" for choice in advice.choices[2:]]
        verdict = {
            True: f"the first two differ significantly (p = {advice.p_value:.3f})",
            False: f"the first two do not differ significantly (p = {advice.p_value:.3f}): either will do",
            None: "one cluster start cannot show whether the first two differ",
        }
        lines.append(f"  {verdict[advice.told]}")
    if not advice.mixed and 0 < advice.read_share < 1:
        lines.append("  weighted means of reads and writes alone: no mix was measured there, and mixes may be slower")
    return lines


def _line(choice: Choice) -> str:
    pair = choice.setting
    return f"{pair.name}  {choice.latency_us.times(1e-3):.2f} ms  (reads at {pair.read_cl}, writes at {pair.write_cl})"


def _as_dict(latency_map: LatencyMap, advice: Advice) -> dict[str, Any]:
    settings = [
        {
            "setting": choice.setting.name,
            "read_cl": choice.setting.read_cl,
            "write_cl": choice.setting.write_cl,
            "latency_us": round(choice.latency_us.value, 1),
            "latency_low_us": _number(choice.latency_us.low),
            "latency_high_us": _number(choice.latency_us.high),
            "blocks": choice.latency_us.n,
        }
        for choice in advice.choices
    ]
    return {
        "run": latency_map.name,
        "threads": advice.threads,
        "read_share": advice.read_share,
        "best": settings[0],
        "runner_up": settings[1] if len(settings) > 1 else None,
        "margin_percent": _number(advice.margin_percent),
        "p_value": _number(advice.p_value, 4),
        "distinguishable": advice.told,
        "from_mixes": advice.mixed,
        "settings": settings,
    }


def _number(value: float, digits: int = 1) -> float | None:
    return None if np.isnan(value) else round(value, digits)


def domain(latency_map: LatencyMap, form: str) -> str:
    """Best setting at every measured thread count and at reads from 0 to 100 % in steps of 10."""
    shares = [k / 10 for k in range(11)]
    table = latency_map.domain(read_shares=shares)
    if form == "csv":
        return table.to_csv(index=False, float_format="%.6g").rstrip()
    if form == "json":
        # pandas writes NaN as null
        return json.dumps(json.loads(table.to_json(orient="records")), indent=2)
    signs = pd.Series([_SIGNS[differs] for differs in table["told"]], table.index)
    shown = table.assign(
        best=table["best"] + signs,
        reads=table["read_share"].map("{:.0%}".format),
        threads=table["threads"].map("{:g}".format),
    )
    rows = [f"{share:.0%}" for share in shares]
    wide = shown.pivot_table("best", "reads", "threads", aggfunc="first", sort=False).reindex(rows).fillna("")
    wide = wide[[f"{count:g}" for count in latency_map.threads if f"{count:g}" in wide.columns]]
    legend = (
        f"{latency_map.name}: fastest strong setting over threads (across) and share of reads (down).\n"
        "~  not distinguishable from the next by the run's cluster starts;  ?  one start only;  empty: not measured."
    )
    return f"{wide.to_string()}\n{legend}"
