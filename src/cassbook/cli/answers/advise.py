"""What `cassbook advise` prints: an `Advice` or an `AdviceMap` as text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from cassbook.advisor.advice import Advice, AdviceMap, Basis, Bound, Choice, alike, differ, times_as_slow
from cassbook.core.consistency import without_levels
from cassbook.core.schema import explained
from cassbook.core.words import counted, plural
from cassbook.latency import percentiles
from cassbook.latency.percentile_validation import NEIGHBOURS, PURE
from cassbook.latency.uncertainty import ONE_START
from cassbook.shown import outages
from cassbook.shown.dead_replicas import dead_replicas, stops, survival
from cassbook.shown.rankings import ALIKE, UNKNOWN, percent_apart, significance

#: Behind the winner of a point on the map.
_SIGNS = {True: "", False: ALIKE.rstrip(), None: UNKNOWN.rstrip()}
_POINT = ["read_share", "threads"]
#: Points of a map that are named for a mark.
_MOST_POINTS = 3


def point(advice: Advice, form: str, bound_ms: float | None = None) -> str:
    """Advice for one load, as 'text', 'json' or 'csv'; with a bound in ms, which settings keep it."""
    bound = None if bound_ms is None else advice.within(bound_ms)
    if form == "text":
        return "\n".join(_lines(advice, bound))
    found = as_dict(advice, bound)
    return json.dumps(found, indent=2) if form == "json" else _csv(pd.DataFrame(found["settings"]))


def domain(advice: AdviceMap, form: str) -> str:
    """Advice for all loads that were measured.

    As 'text' two maps: of the settings that survive as many dead replicas as asked for, and of all by speed alone. As
    'csv' one table (see `map_table`).
    """
    if form == "text":
        maps = [*_recommended_map(advice), _fastest_map(advice)]
        on_figure = [line.strip() for line in (*_map_support(advice), *_accuracy(advice))]
        return "\n\n".join([*maps, *(["\n".join(on_figure)] if on_figure else [])])
    return _csv(map_table(advice), "%.6g")


def points(advice: AdviceMap) -> list[dict[str, Any]]:
    """Advice for all loads that were measured, for programs: the rows of `map_table`."""
    rows: list[dict[str, Any]] = json.loads(map_table(advice).to_json(orient="records"))  # NaN as null
    return rows


def _csv(table: pd.DataFrame, form: str | None = None) -> str:
    return table.to_csv(index=False, float_format=form).rstrip()


def _lines(advice: Advice, bound: Bound | None) -> list[str]:
    chosen = advice.recommended
    others = [choice for choice in advice.choices if choice is not chosen]
    lines = [
        f"{_run(advice)}, {counted(advice.threads, 'thread')}, {advice.read_share:.0%} reads, "
        f"{counted(advice.cluster_starts, 'cluster start')}, replication {advice.replicas}{_by(advice)}",
        *(f"  {_role(advice, one):12} {_line(one)}" for one in ([] if chosen is None else [chosen]) + others),
        *_verdicts(advice),
    ]
    if bound is not None:
        lines.append(_bound_line(advice, bound))
    if not advice.mixed and 0 < advice.read_share < 1:
        made = "weighted means" if advice.by == "mean" else "mixed from the distributions"
        lines.append(f"  {made} of reads and writes alone: no mix was measured there, and mixes may be slower")
    lines += [*_support(advice), *_one_start(advice), *_accuracy(advice)]
    lines += [f"  marked {mark} ({', '.join(names)}): {explained(mark)}" for mark, names in advice.marks.items()]
    lines += [f"  {line}" for line in _failing(advice)]
    return lines + _left_out(advice)


def _run(advice: Basis) -> str:
    """Name the run, and the workloads that an answer is about."""
    names = advice.workloads
    return f"{advice.name}, {plural('workload', len(names))} {', '.join(names)}" if names else advice.name


def _by(advice: Basis) -> str:
    return "" if advice.by == "mean" else f", by {advice.by}"


def _failing(advice: Advice) -> list[str]:
    return [] if advice.failing is None else [outages.sentence(advice.failing)]


def _left_out(advice: Basis) -> list[str]:
    """Name the workloads that an answer for YCSB's table leaves out, and the strong settings that have no levels."""
    lines = []
    if advice.other_workloads and not advice.workloads:
        listed = ", ".join(advice.other_workloads)
        lines.append(f"  of reads and updates of YCSB's table; the run measured workloads too: --workload {listed}")
    if missing := ", ".join(without_levels(advice.replicas)):
        lines.append(f"  {missing} would be strong too, but Cassandra has no levels that wait for so many replicas")
    return lines


def _role(advice: Advice, choice: Choice) -> str:
    if choice is advice.recommended:
        return "recommended"
    if choice is advice.nearest and not advice.surviving and not advice.unknown:
        return "nearest"
    if any(choice is second for second in advice.surviving[1:2]):
        return "runner-up"
    return "fastest" if choice is advice.fastest else ""


def _line(choice: Choice) -> str:
    pair = choice.setting
    return (
        f"{pair.name}  {choice.latency_us.times(1e-3):.2f} ms  reads at {pair.read_cl}, writes at {pair.write_cl}; "
        f"{survival(*choice.survives)}"
    )


def _verdicts(advice: Advice) -> list[str]:
    """Compare the recommended setting with the fastest, and with the next that survives as much."""
    surviving, fastest = advice.surviving, advice.fastest
    if not surviving and advice.unknown:
        return [f"  nothing is recommended: {advice.by} of {_names(advice.unknown)} is not known"]
    if not surviving:
        nearest = advice.nearest
        return [f"  {_none(advice)}; nearest is {nearest.setting.name}: --survive {nearest.survives_both}"]
    chosen, lines = surviving[0], []
    if fastest is not chosen:
        faster = percent_apart(times_as_slow(chosen, fastest), -100)
        lines.append(
            f"  {fastest.setting.name} is {faster:.1f} % faster ({_significance(chosen, fastest)}), but "
            f"{_stopping(fastest, advice)}"
        )
    if len(surviving) > 1:
        second = surviving[1]
        slower = percent_apart(times_as_slow(chosen, second), 100)
        both = f"  {second.setting.name} is {slower:.1f} % slower than {chosen.setting.name} ("
        same = second.survives == chosen.survives
        end = {True: "", False: ": either will do" if same else ": choose by what they survive", None: ""}
        lines.append(f"{both}{_significance(chosen, second)}){end[differ(alike(chosen, second))]}")
    return lines


def _stopping(choice: Choice, advice: Advice) -> str:
    return f"{stops(*choice.survives, advice.survive)}: --survive {choice.survives_both}"


def _none(advice: Basis) -> str:
    return f"none of the measured settings survives {dead_replicas(advice.survive)} for reads and writes both"


def _significance(first: Choice, second: Choice) -> str:
    return significance(alike(first, second))


def _names(settings: Any) -> str:
    return ", ".join(setting.name for setting in settings)


def _bound_line(advice: Advice, bound: Bound) -> str:
    """Say which settings keep the bound; that none does is an answer."""
    by = "mean latency" if advice.by == "mean" else advice.by
    head = f"  {by} within {bound.bound_ms:g} ms: "
    if bound.kept:
        return head + ", ".join(f"{choice.setting.name} ({_interval(choice, bound)})" for choice in bound.kept)
    who = f"none that survives {dead_replicas(advice.survive)}" if advice.survive else "none"
    if advice.unknown:
        who += f" is known to; {_names(advice.unknown)} is not known"
    if bound.nearest is not None:
        who += f"; nearest is {bound.nearest.setting.name} with {bound.nearest.latency_us.value / 1e3:.2f} ms"
    others = [f"{choice.setting.name} keeps it, but {_stopping(choice, advice)}" for choice in bound.survive_less]
    return "; ".join([head + who, *others])


def _interval(choice: Choice, bound: Bound) -> str:
    high = choice.latency_us.high
    if np.isnan(high):
        return "no interval: one cluster start"
    return "all of its interval" if bound.keeps(high) else f"its interval reaches {high / 1e3:.2f} ms"


def _support(advice: Advice) -> list[str]:
    """Name the settings that have too few operations for the percentile, and how many more they need."""
    return [
        f"  {advice.by} of {setting.name} is not shown: it "
        f"{percentiles.lacking(advice.by, least, 'a cell there has {}')}; it may be faster than those above"
        for setting, least in advice.too_few.items()
    ]


def _one_start(advice: Advice) -> list[str]:
    if advice.by == "mean" or all(choice.interval != ONE_START for choice in advice.choices):
        return []
    return ["  intervals are within one cluster start, by order statistics: what another start would give is not known"]


def _accuracy(advice: Basis) -> list[str]:
    """Say how far percentiles of mixes made from other cells were off, on this run."""
    rows = advice.mix_accuracy.set_index("made_from")
    off = [
        f"{what} by {mean:.0f} % on average, {worst:.0f} % at worst"
        for kind, what in ((PURE, "from pure cells"), (NEIGHBOURS, "from neighbouring mixes"))
        for mean, worst in rows.loc[rows.index == kind, ["mean_percent", "worst_percent"]].to_numpy()
    ]
    if not off:
        return []
    first = off[0].replace(" by ", " was off by ", 1)
    return ["; ".join([f"  {advice.by} of mixes made {first}, on this run", *off[1:]])]


def as_dict(advice: Advice, bound: Bound | None = None) -> dict[str, Any]:
    """Advice for programs; `settings` has a row for each setting, and the other keys name the row of one."""
    rows = {choice.setting.name: _row(advice, choice, bound) for choice in advice.choices}

    def row(choice: Choice | None) -> dict[str, Any] | None:
        return None if choice is None else rows[choice.setting.name]

    chosen = advice.recommended
    return {
        "run": advice.name,
        "workloads": list(advice.workloads),
        "threads": advice.threads,
        "read_share": advice.read_share,
        "replication": advice.replicas,
        "survive": advice.survive,
        "setting": row(chosen),
        "survives": None if chosen is None else dict(zip(("reads", "writes"), chosen.survives, strict=True)),
        "nearest": row(advice.nearest) if chosen is None and not advice.unknown else None,
        "fastest": row(advice.fastest),
        "runner_up": row(advice.runner_up),
        **_margin(advice),
        "p_value": _number(advice.p_value, 4),
        "distinguishable": advice.distinguishable,
        "from_mixes": advice.mixed,
        "without_levels": without_levels(advice.replicas),
        "settings": list(rows.values()),
        "failing": _failing(advice),
        "marks": {mark: explained(mark) for mark in advice.marks},
        **_on_figure(advice),
        **({} if bound is None else {"bound": _bound(bound, rows)}),
    }


def _row(advice: Advice, choice: Choice, bound: Bound | None) -> dict[str, Any]:
    return {
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
        **({"interval": choice.interval} if advice.by != "mean" else {}),
        **({"keeps_bound": bound.keeps(choice.latency_us.value)} if bound is not None else {}),
    }


def _bound(bound: Bound, rows: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "bound_ms": bound.bound_ms,
        "kept_by": [choice.setting.name for choice in bound.kept],
        "kept_by_whole_interval": [c.setting.name for c in bound.kept if bound.keeps(c.latency_us.high)],
        "kept_but_survives_less": [choice.setting.name for choice in bound.survive_less],
        "nearest": None if bound.nearest is None else rows[bound.nearest.setting.name],
    }


def _margin(advice: Advice) -> dict[str, Any]:
    """By how many percent the runner-up is slower than the fastest, with its interval."""
    second = advice.runner_up
    if second is None:
        return dict.fromkeys(("margin_percent", "margin_low_percent", "margin_high_percent"))
    margin = percent_apart(times_as_slow(advice.fastest, second), 100)
    return {f"margin_{of}percent": _number(bound) for of, bound in
            (("", margin.value), ("low_", margin.low), ("high_", margin.high))}  # fmt: skip


def _on_figure(advice: Advice) -> dict[str, Any]:
    """What an answer by a percentile has besides."""
    if advice.by == "mean":
        return {}
    accuracy = advice.mix_accuracy.round({"mean_percent": 1, "worst_percent": 1, "bias_percent": 1})
    few = {setting.name: least for setting, least in advice.too_few.items()}
    return {"by": advice.by, "too_few_operations": few, "mix_accuracy": accuracy.to_dict("records")}


def _number(value: float, digits: int = 1) -> float | None:
    return None if np.isnan(value) else round(value, digits)


def map_table(advice: AdviceMap) -> pd.DataFrame:
    """One row per point: `recommended`, and `best`, the fastest.

    By a percentile the table has the points too at which neither is known, with the settings that have too few
    operations there as `not_known`.
    """
    fastest, surviving, by_mean = advice.fastest, advice.recommended, advice.by == "mean"
    alike = ("latency_us", "distinguishable", "marks")
    names = {"best": "recommended"} | {name: f"recommended_{name}" for name in alike}
    table = fastest.rename(columns={"marks": "best_marks"})
    if not by_mean:  # then a point may have a recommended setting and no fastest, or neither
        points = pd.concat([of[_POINT].astype(float) for of in (fastest, surviving, advice.unknown)]).drop_duplicates()
        table = points.sort_values(_POINT, ignore_index=True).merge(table, "left", _POINT)
    table = table.merge(surviving[[*_POINT, *names]].rename(columns=names), "left", _POINT)
    for name in ("recommended", "best"):
        for place, operation in enumerate(("reads", "writes")):
            table[f"{name}_survives_{operation}"] = [
                advice.survives[pair][place] if pair in advice.survives else None for pair in table[name]
            ]
    if not by_mean:
        table["by"] = advice.by
        lacking = advice.unknown.groupby(_POINT)["setting"].agg(";".join).rename("not_known").reset_index()
        table = table.merge(lacking.astype(dict.fromkeys(_POINT, float)), "left", _POINT)
        table["not_known"] = table["not_known"].fillna("")
    for name in ("recommended_marks", "best_marks"):
        table[name] = table.pop(name).fillna("")
    return table


def _map_support(advice: AdviceMap) -> list[str]:
    """Name the settings that a map of a percentile lacks at some points, for want of operations."""
    return [
        f"{advice.by} of {name} is not known at {counted(len(few), 'point')}: it "
        + percentiles.lacking(advice.by, few.min(), "the fewest there are {}")
        for name, few in advice.unknown.groupby("setting", sort=False)["operations"]
    ]


def _recommended_map(advice: AdviceMap) -> list[str]:
    """Draw the map of the settings that survive enough, unless speed alone is asked for."""
    if not advice.survive:
        return []
    enough = [name for name, survives in advice.survives.items() if min(survives) >= advice.survive]
    if enough:
        lines = [
            _grid(advice, advice.recommended),
            f"{_run(advice)}: fastest strong setting that survives {dead_replicas(advice.survive)}, over threads "
            f"(across) and share of reads (down){_by(advice)}.",
            *_survivals(advice, enough),
            *_map_marks(advice.recommended),
        ]
    else:
        nearest = max(advice.survives, key=lambda name: min(advice.survives[name]))
        count = min(advice.survives[nearest])
        lines = [f"{_run(advice)}: {_none(advice)}; nearest is {nearest}: --survive {count}"]
    return ["\n".join(lines + _left_out(advice))]


def _fastest_map(advice: AdviceMap) -> str:
    table = advice.fastest
    empty = "not measured." if advice.by == "mean" else "not measured, or not known."
    lines = [
        _grid(advice, table),
        f"{_run(advice)}: fastest strong setting by speed alone, over threads (across) and share of reads "
        f"(down){_by(advice)}.",
        f"~  not distinguishable from the next by the run's cluster starts;  ?  one start only;  empty: {empty}",
        *_survivals(advice, [name for name in advice.survives if name in set(table["best"])]),
        *_map_marks(table),
    ]
    return "\n".join(lines)


def _survivals(advice: AdviceMap, names: list[str]) -> list[str]:
    return [f"  {name}: {survival(*advice.survives[name])}" for name in names]


def _map_marks(table: pd.DataFrame) -> list[str]:
    """Name the marks on a map, how many points have each, and some of them."""
    own = [set(one.split(";")) - {""} for one in table["marks"]]
    lines = []
    for mark in sorted(set().union(*own)):
        there = table[[mark in one for one in own]]
        points = [f"{counted(t, 'thread')}, {s:.0%} reads" for s, t in there[_POINT].to_numpy(float)]
        more = [f"and {len(points) - _MOST_POINTS} more"] if len(points) > _MOST_POINTS else []
        at = f"at {len(points)} of {counted(len(table), 'point')} ({'; '.join([*points[:_MOST_POINTS], *more])})"
        lines.append(f"*  marked {mark} {at}: {explained(mark)}")
    return lines


def _grid(advice: AdviceMap, table: pd.DataFrame) -> str:
    """Draw the winners over threads and share of reads; one that wins everywhere is named in a line."""
    signs = [
        "" if second == "" else _SIGNS[differs]
        for second, differs in zip(table["runner_up"], table["distinguishable"], strict=True)
    ]
    labels = table["best"] + pd.Series(signs, table.index, dtype=object)
    rows, columns = [f"{share:.0%}" for share in advice.read_shares], [f"{count:g}" for count in advice.threads]
    if len(rows) > 1 and len(set(labels)) == 1 and len(table) == len(rows) * len(columns):
        return f"{labels.iloc[0]} at every point: {columns[0]} to {columns[-1]} threads, {rows[0]} to {rows[-1]} reads"
    shown = table.assign(
        best=labels + table["marks"].map(lambda marks: "*" if marks else ""),
        reads=table["read_share"].map("{:.0%}".format),
        threads=table["threads"].map("{:g}".format),
    )
    wide = shown.pivot_table("best", "reads", "threads", aggfunc="first", sort=False).reindex(rows).fillna("")
    return wide[[count for count in columns if count in wide.columns]].to_string()
