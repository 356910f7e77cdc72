"""What `cassbook advise` prints: a point, or a map of the whole domain."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from cassbook.advisor.advice import SURVIVE, Advice, Choice, alike, differ, times_as_slow
from cassbook.advisor.latency_map import LatencyMap
from cassbook.cli.answers import advise_notes as notes
from cassbook.core.consistency import dead_replicas, stops, survival, without_levels
from cassbook.core.estimate import Estimate
from cassbook.core.words import counted, plural
from cassbook.latency.ranking import ALIKE, UNKNOWN
from cassbook.records import fault_costs

FORMATS = ("text", "json", "csv")
#: Behind the winner of a point on the map.
_SIGNS = {True: "", False: ALIKE.rstrip(), None: UNKNOWN.rstrip()}
_POINT = ["read_share", "threads"]
#: A smaller p-value is not told.
_LEAST_P = 0.001
_SHARES = [k / 10 for k in range(11)]


def _shares(latency_map: LatencyMap) -> list[float]:
    """Shares of reads on a map: tenths; of workloads those that were measured, and the tenths between."""
    if not latency_map.workloads:
        return _SHARES
    measured = [float(share) for share in latency_map.read_shares]
    between = [share for share in _SHARES if min(measured) < share < max(measured)]
    return sorted({round(share, 6) for share in between} - {round(share, 6) for share in measured} | set(measured))


def _of_what(latency_map: LatencyMap) -> str:
    """Name the run, and the workloads that the map is of."""
    if not latency_map.workloads:
        return latency_map.name
    return f"{latency_map.name}, {plural('workload', len(latency_map.workloads))} {', '.join(latency_map.workloads)}"


def point(
    latency_map: LatencyMap,
    threads: float,
    read_share: float,
    form: str,
    survive: int = SURVIVE,
    bound_ms: float | None = None,
) -> str:
    """Advice for one point.

    Raises
    ------
    InputError
        Outside what the run measured, and for a bound that is not above 0.
    """
    notes.check_bound(bound_ms)
    advice = latency_map.advise(threads, read_share, survive)
    bound = None if bound_ms is None else notes.Bound(advice, bound_ms)
    if form == "json":
        return json.dumps(_as_dict(latency_map, advice, bound), indent=2)
    if form == "csv":
        return pd.DataFrame(_as_dict(latency_map, advice, bound)["settings"]).to_csv(index=False).rstrip()
    return "\n".join(_lines(latency_map, advice, bound))


def _lines(latency_map: LatencyMap, advice: Advice, bound: notes.Bound | None) -> list[str]:
    starts = len(latency_map.blocks)
    lines = [
        f"{_of_what(latency_map)}, {counted(advice.threads, 'thread')}, {advice.read_share:.0%} reads, "
        f"{counted(starts, 'cluster start')}, replication {advice.replicas}{_by(latency_map)}"
    ]
    chosen, others = advice.recommended, list(advice.choices)
    if chosen is not None:
        others.remove(chosen)
        others.insert(0, chosen)
    lines += [f"  {_part(advice, choice):12} {_line(choice)}" for choice in others]
    lines += _verdicts(advice)
    if bound is not None:
        lines += bound.lines()
    if not advice.mixed and 0 < advice.read_share < 1:
        made = "weighted means" if advice.by == "mean" else "mixed from the distributions"
        lines.append(f"  {made} of reads and writes alone: no mix was measured there, and mixes may be slower")
    lines += [*notes.on_support(advice), *notes.on_one_start(advice), *notes.on_accuracy(latency_map)]
    lines += [*notes.on_marks(advice), *(f"  {line}" for line in _failing(latency_map, advice))]
    return lines + _other_workloads(latency_map) + _gaps(advice.replicas)


def _by(latency_map: LatencyMap) -> str:
    return "" if latency_map.by == "mean" else f", by {latency_map.by}"


def _failing(latency_map: LatencyMap, advice: Advice) -> list[str]:
    """What the setting recommended and the fastest leave unanswered while a node is dead."""
    named = [choice.setting for choice in (advice.recommended, advice.best) if choice is not None]
    return fault_costs.said([setting.waits(advice.replicas) for setting in named], advice.replicas, latency_map.engine)


def _other_workloads(latency_map: LatencyMap) -> list[str]:
    """Name the workloads that an answer for reads and updates of YCSB's table leaves out."""
    if latency_map.workloads or not latency_map.other_workloads:
        return []
    listed = ", ".join(latency_map.other_workloads)
    return [f"  of reads and updates of YCSB's table; the run measured workloads too: --workload {listed}"]


def _part(advice: Advice, choice: Choice) -> str:
    """Say what a setting is among the others."""
    surviving = advice.surviving
    names = {id(advice.best): "fastest", **{id(choice): "runner-up" for choice in surviving[1:2]}}
    if surviving:
        names |= {id(advice.recommended): "recommended"}
    elif not advice.unknown:
        names |= {id(advice.nearest): "nearest"}
    return names.get(id(choice), "")


def _line(choice: Choice) -> str:
    pair = choice.setting
    return (
        f"{pair.name}  {choice.latency_us.times(1e-3):.2f} ms  reads at {pair.read_cl}, writes at {pair.write_cl}; "
        f"{survival(*choice.survives)}"
    )


def _verdicts(advice: Advice) -> list[str]:
    """Compare the recommended setting with the fastest, and with the next that survives as much."""
    surviving, fastest = advice.surviving, advice.best
    if not surviving and advice.unknown:
        listed = ", ".join(setting.name for setting in advice.unknown)
        return [f"  nothing is recommended: {advice.by} of {listed} is not known"]
    if not surviving:
        nearest = advice.nearest
        return [f"  {_none(advice.survive)}; nearest is {nearest.setting.name}: --survive {nearest.survives_both}"]
    chosen, lines = surviving[0], []
    if fastest is not chosen:
        faster = _percent(times_as_slow(chosen, fastest), -100)
        lines.append(
            f"  {fastest.setting.name} is {faster:.1f} % faster ({_significance(chosen, fastest)}), but "
            f"{stops(*fastest.survives, advice.survive)}: --survive {fastest.survives_both}"
        )
    if len(surviving) > 1:
        second = surviving[1]
        slower = _percent(times_as_slow(chosen, second), 100)
        both = f"  {second.setting.name} is {slower:.1f} % slower than {chosen.setting.name} ("
        same = second.survives == chosen.survives
        end = {True: "", False: ": either will do" if same else ": choose by what they survive", None: ""}
        lines.append(f"{both}{_significance(chosen, second)}){end[differ(alike(chosen, second))]}")
    return lines


def _none(survive: int) -> str:
    return f"none of the measured settings survives {dead_replicas(survive)} for reads and writes both"


def _percent(ratio: Estimate, times: float) -> Estimate:
    """Return by how many percent a ratio is above 1, or below it where `times` is negative."""
    low, high = sorted(times * (bound - 1) for bound in (ratio.low, ratio.high))
    return Estimate(times * (ratio.value - 1), low, high, ratio.n)


def _significance(first: Choice, second: Choice) -> str:
    p_value = alike(first, second)
    shown = f"p = {p_value:.3f}" if p_value >= _LEAST_P else f"p < {_LEAST_P}"
    return {
        True: f"significant, {shown}",
        False: f"not significant, {shown}",
        None: "one cluster start cannot show whether they differ",
    }[differ(p_value)]


def _gaps(replicas: int) -> list[str]:
    """Name the strong settings of so many replicas that cannot be asked for."""
    missing = without_levels(replicas)
    if not missing:
        return []
    return [f"  {', '.join(missing)} would be strong too, but Cassandra has no levels that wait for so many replicas"]


def _as_dict(latency_map: LatencyMap, advice: Advice, bound: notes.Bound | None) -> dict[str, Any]:
    rows = {
        choice.setting.name: {
            "setting": choice.setting.name,
            "read_cl": choice.setting.read_cl,
            "write_cl": choice.setting.write_cl,
            "latency_us": round(choice.latency_us.value, 1),
            "latency_low_us": _number(choice.latency_us.low),
            "latency_high_us": _number(choice.latency_us.high),
            "blocks": choice.latency_us.n,
            "survives_reads": choice.survives[0],
            "survives_writes": choice.survives[1],
            "marks": ";".join(sorted(choice.marks)),
        }
        | ({"interval": choice.interval} if advice.by != "mean" else {})
        | ({"keeps_bound": bound.keeps(choice)} if bound is not None else {})
        for choice in advice.choices
    }

    def row(choice: Choice | None) -> dict[str, Any] | None:
        return None if choice is None else rows[choice.setting.name]

    chosen = advice.recommended
    survives = None if chosen is None else dict(zip(("reads", "writes"), chosen.survives, strict=True))
    return (
        {
            "run": latency_map.name,
            "workloads": list(latency_map.workloads),
            "threads": advice.threads,
            "read_share": advice.read_share,
            "replication": advice.replicas,
            "survive": advice.survive,
            "setting": row(chosen),
            "survives": survives,
            "nearest": row(advice.nearest) if chosen is None and not advice.unknown else None,
            "fastest": row(advice.best),
            "best": row(advice.best),
            "runner_up": row(advice.runner_up),
            **_margin(advice),
            "p_value": _number(advice.p_value, 4),
            "distinguishable": advice.told,
            "from_mixes": advice.mixed,
            "without_levels": without_levels(advice.replicas),
            "settings": list(rows.values()),
            "failing": _failing(latency_map, advice),
            "marks": notes.marks_as_dict(advice),
        }
        | _on_figure(latency_map, advice)
        | ({} if bound is None else {"bound": bound.as_dict(rows)})
    )


def _margin(advice: Advice) -> dict[str, Any]:
    """By how many percent the runner-up is slower than the best, with its interval."""
    second = advice.runner_up
    if second is None:
        return dict.fromkeys(("margin_percent", "margin_low_percent", "margin_high_percent"))
    margin = _percent(times_as_slow(advice.best, second), 100)
    return {f"margin_{of}percent": _number(bound) for of, bound in
            (("", margin.value), ("low_", margin.low), ("high_", margin.high))}  # fmt: skip


def _on_figure(latency_map: LatencyMap, advice: Advice) -> dict[str, Any]:
    """What is said of an answer by a percentile alone."""
    if advice.by == "mean":
        return {}
    accuracy = latency_map.mix_accuracy.round({"mean_percent": 1, "worst_percent": 1, "bias_percent": 1})
    few = {setting.name: least for setting, least in advice.too_few.items()}
    return {"by": advice.by, "too_few_operations": few, "mix_accuracy": accuracy.to_dict("records")}


def _number(value: float, digits: int = 1) -> float | None:
    return None if np.isnan(value) else round(value, digits)


def domain(latency_map: LatencyMap, form: str, survive: int = SURVIVE) -> str:
    """Settings at every measured thread count and at reads from 0 to 100 % in steps of 10.

    Two maps: of the settings that survive as many dead replicas as asked for, and of all by speed alone. As JSON and
    CSV they are one table: `recommended`, and `best`, the fastest. By a percentile it has the points too at which
    neither is known, with the settings that have too few operations there as `not_known`.
    """
    table, surviving = (latency_map.domain(read_shares=_shares(latency_map), survive=count) for count in (0, survive))
    if form == "text":
        maps = [*_survivors(latency_map, surviving, survive), _fastest(latency_map, table)]
        return "\n\n".join([*maps, *_on_map(latency_map)])
    survives = {s.name: s.survives(latency_map.replicas) for s in latency_map.settings}
    unknown = notes.unknown_at(latency_map, _shares(latency_map))
    renamed = surviving[["read_share", "threads", "best", "latency_us", "told"]].rename(
        columns={"best": "recommended", "latency_us": "recommended_latency_us", "told": "recommended_told"}
    )
    if latency_map.by != "mean":  # then a point may have a recommended setting and no fastest, or neither
        points = pd.concat([of[_POINT].astype(float) for of in (table, surviving, unknown)]).drop_duplicates()
        table = points.sort_values(_POINT, ignore_index=True).merge(table, "left", _POINT)
    table = table.merge(renamed, "left", _POINT)
    for name in ("recommended", "best"):
        for place, operation in enumerate(("reads", "writes")):
            table[f"{name}_survives_{operation}"] = [
                survives[pair][place] if pair in survives else None for pair in table[name]
            ]
    if latency_map.by != "mean":
        table["by"] = latency_map.by
        table["not_known"] = (
            table.merge(unknown.astype({name: float for name in _POINT}), "left", _POINT)["not_known"]
            .fillna("")
            .to_numpy()
        )
    for name in ("recommended", "best"):
        table[f"{name}_marks"] = notes.marks_at(latency_map, table, name)
    if form == "csv":
        return table.to_csv(index=False, float_format="%.6g").rstrip()
    # pandas writes NaN as null
    return json.dumps(json.loads(table.to_json(orient="records")), indent=2)


def _on_map(latency_map: LatencyMap) -> list[str]:
    """What a map of a percentile rests on."""
    lines = [*notes.on_map_support(latency_map, _shares(latency_map)), *notes.on_accuracy(latency_map)]
    return ["\n".join(line.strip() for line in lines)] if lines else []


def _survivors(latency_map: LatencyMap, table: pd.DataFrame, survive: int) -> list[str]:
    """Draw the map of the settings that survive enough, unless speed alone is asked for."""
    settings = latency_map.surviving(survive)
    if not survive:
        return []
    if not settings:
        nearest = max(latency_map.settings, key=lambda pair: min(pair.survives(latency_map.replicas)))
        count = min(nearest.survives(latency_map.replicas))
        lines = [f"{_of_what(latency_map)}: {_none(survive)}; nearest is {nearest.name}: --survive {count}"]
    else:
        lines = [
            f"{_of_what(latency_map)}: fastest strong setting that survives {dead_replicas(survive)}, over threads "
            f"(across) and share of reads (down){_by(latency_map)}.",
            *(f"  {pair.name}: {survival(*pair.survives(latency_map.replicas))}" for pair in settings),
        ]
        lines = [_grid(latency_map, table), *lines, *notes.on_map_marks(table, notes.marks_at(latency_map, table))]
    return ["\n".join(lines + _other_workloads(latency_map) + _gaps(latency_map.replicas))]


def _fastest(latency_map: LatencyMap, table: pd.DataFrame) -> str:
    legend = (
        f"{_of_what(latency_map)}: fastest strong setting by speed alone, over threads (across) and share of reads "
        f"(down){_by(latency_map)}.\n"
        "~  not distinguishable from the next by the run's cluster starts;  ?  one start only;  empty: not measured"
        + ("." if latency_map.by == "mean" else ", or not known.")
    )
    survives = [
        f"  {pair.name}: {survival(*pair.survives(latency_map.replicas))}"
        for pair in latency_map.settings
        if pair.name in set(table["best"])
    ]
    marked = notes.on_map_marks(table, notes.marks_at(latency_map, table))
    return "\n".join([_grid(latency_map, table), legend, *survives, *marked])


def _grid(latency_map: LatencyMap, table: pd.DataFrame) -> str:
    """Draw the winners over threads and share of reads; one that wins everywhere is named in a line."""
    alone = table["runner_up"] == ""
    signs = pd.Series(
        ["" if only else _SIGNS[told] for only, told in zip(alone, table["told"], strict=True)], table.index
    )
    labels = table["best"] + signs
    rows = [f"{share:.0%}" for share in _shares(latency_map)]
    if len(rows) > 1 and len(set(labels)) == 1 and len(table) == len(rows) * len(latency_map.threads):
        low, high = latency_map.threads[[0, -1]]
        return f"{labels.iloc[0]} at every point: {low:g} to {high:g} threads, {rows[0]} to {rows[-1]} reads"
    stars = ["*" if marks else "" for marks in notes.marks_at(latency_map, table)]
    shown = table.assign(
        best=labels + stars,
        reads=table["read_share"].map("{:.0%}".format),
        threads=table["threads"].map("{:g}".format),
    )
    wide = shown.pivot_table("best", "reads", "threads", aggfunc="first", sort=False).reindex(rows).fillna("")
    wide = wide[[f"{count:g}" for count in latency_map.threads if f"{count:g}" in wide.columns]]
    return wide.to_string()
