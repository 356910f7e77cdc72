"""Advice by rate as text, JSON and CSV: for one load, and for all that were measured."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.core.schema import explained
from cassbook.core.words import counted, plural
from cassbook.latency.capacity import AT_LEAST, CLIENT, EMPTY, FAILED, FOUND, NOT_CARRIED, UNSENT
from cassbook.latency.open_choices import (
    BREAKS,
    CARRIES_LESS,
    KEEPS,
    NOT_KNOWN,
    OUTSIDE,
    TOO_FEW,
    OpenAdvice,
    OpenChoice,
    alike,
    times_as_slow,
)
from cassbook.latency.percentiles import needed
from cassbook.shown import tables
from cassbook.shown.capacities import number, verdict
from cassbook.shown.dead_replicas import dead_replicas, stops, survival
from cassbook.shown.rankings import percent_apart, significance

_MARGIN = " " * 15
#: What a setting that is not strong does.
STALE = "may return stale reads"
_WHY = {
    NOT_CARRIED: "not carried",
    UNSENT: "fewer requests were sent",
    FAILED: "too many requests failed",
    EMPTY: "no request was answered",
    CLIENT: "the client could do no more",
}
#: Behind a figure of a map: what its setting does at the load.
_SIGNS = {BREAKS: " !", CARRIES_LESS: " !", KEEPS: "", "": ""}


def point(advice: OpenAdvice, form: str, weak: bool = False) -> str:
    """Advice for one load, as 'text', 'json' or 'csv'; with settings that are not strong where `weak`."""
    if form == "text":
        return "\n".join(lines(advice, weak))
    found = as_dict(advice, weak)
    return json.dumps(found, indent=2) if form == "json" else _csv(pd.DataFrame(found["settings"]))


def _csv(table: pd.DataFrame) -> str:
    lists = [name for name in table if table[name].map(lambda value: isinstance(value, list)).any()]
    return table.drop(columns=lists).to_csv(index=False).rstrip()


def lines(advice: OpenAdvice, weak: bool = False) -> list[str]:
    """Advice for one load as lines of a terminal."""
    said = [
        f"{advice.name}, {advice.mix.name}, {_load(advice)}, by {advice.by} of the response time, "
        f"{counted(advice.cluster_starts, 'cluster start')}, replication {advice.replicas}, {advice.arrivals} arrivals"
    ]
    chosen = advice.recommended or advice.perhaps
    shown = [] if chosen is None else [chosen]
    shown += [choice for choice in advice.choices if choice is not chosen]
    for choice in (*shown, *(advice.weak if weak else ())):
        said.append(f"  {_role(advice, choice):12} {_figure(advice, choice)}")
        said += [f"{_MARGIN}{more}" for more in _details(advice, choice)]
    said += [f"  {line}" for line in (*_verdicts(advice), *_notes(advice, weak))]
    return [part for line in said for part in textwrap.wrap(line, tables.WIDTH, subsequent_indent=_indent(line))]


def _indent(line: str) -> str:
    if not line.startswith("  "):
        return "    "
    return f"{_MARGIN}  " if line.startswith(_MARGIN) else _MARGIN


def _load(advice: OpenAdvice) -> str:
    """Name the load, as a share and as a rate, of which one differs from block to block."""
    if advice.of_capacity is not None:
        return f"{advice.of_capacity:g} of what the weakest setting carries ({_range(advice.rates_per_s)} a second)"
    shares = [share for share in advice.load_shares if np.isfinite(share)]
    of = f" ({_range(shares, '.2f')} of what the weakest setting carries)" if shares else ""
    return f"{advice.rate_per_s:g} a second{of}"


def _range(values: Sequence[float], form: str = ".0f") -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _role(advice: OpenAdvice, choice: OpenChoice) -> str:
    if not choice.strong:
        return "weak"
    if choice is advice.recommended:
        return "recommended"
    if choice is advice.perhaps:
        return "perhaps"
    return "fastest" if choice is advice.fastest else ""


def _figure(advice: OpenAdvice, choice: OpenChoice) -> str:
    """Say the response time, or why it is not known, and what that means for the bound."""
    name = choice.setting.name
    if not choice.known:
        return f"{name}  {_unknown(advice, choice)}"
    bound = f"  {_bound(choice)}" if choice.bound_ms is not None else ""
    return f"{name}  {choice.response_us.times(1e-3):.2f} ms{bound}"


def _unknown(advice: OpenAdvice, choice: OpenChoice) -> str:
    starts = len(choice.blocks)
    if choice.not_carried:
        what = "does not carry " + (f"{advice.rate_per_s:g} a second" if advice.rate_per_s is not None else "it")
        some = "" if choice.not_carried == starts else f" in {choice.not_carried} of {starts} cluster starts"
        known = "" if np.isnan(choice.carried_per_s.value) else f" (carried {choice.carried_per_s:.0f} a second)"
        return what + some + known
    some = _some(sum(not np.isfinite(figure) for figure in choice.by_block_us), starts)
    if TOO_FEW in choice.lacking:
        return f"not known: {advice.by} needs {needed(advice.by):,} operations per cell, and there are fewer{some}"
    if OUTSIDE in choice.lacking:
        low, high = choice.measured_per_s
        there = f"{low:.0f} to {high:.0f} a second in every cluster start" if low <= high else "no rate in common"
        ended = "; its curve ends by the client" if choice.ended_by else ""
        return f"not known{some.replace(',', '')}: it has {there}{ended}"
    why = " or ".join(_WHY[reason] for reason in choice.lacking)
    return f"{'breaks it' if choice.verdict == BREAKS else 'not known'}: {why}{some}"


def _some(count: int, starts: int) -> str:
    return "" if count == starts else f", in {count} of {starts} cluster starts"


def _bound(choice: OpenChoice) -> str:
    """Say whether the bound is kept, and how far that can be trusted."""
    bound, figure = f"{choice.bound_ms:g} ms", choice.response_us
    over = f"; over it in {choice.over_bound} of {len(choice.blocks)} cluster starts" if choice.over_bound else ""
    if np.isnan(figure.low):
        starts = counted(figure.n or 0, "cluster start")
        what = choice.verdict if choice.verdict in {KEEPS, BREAKS} else "not known to keep"
        return f"{what} {bound} (no interval: {starts}){over}"
    if choice.verdict == KEEPS:
        return f"keeps {bound} with its whole interval{over if choice.over_bound else ''}"
    if choice.verdict == BREAKS:
        return f"breaks {bound}"
    if figure.high <= (choice.bound_ms or 0) * 1e3:
        return f"not known to keep {bound}: a lower rate breaks it"
    if figure.low > (choice.bound_ms or 0) * 1e3:
        return f"not known to break {bound}: the client is a part of it"
    return f"not known at 95 % to keep {bound}: more blocks would tell{over}"


def _details(advice: OpenAdvice, choice: OpenChoice) -> list[str]:
    pair = choice.setting
    said = []
    if choice.capacity is not None and advice.bound_ms is not None:
        said.append(f"within {advice.bound_ms:g} ms: {verdict(choice.capacity, advice.by, advice.bound_ms)}"
                    f"{_headroom(choice)}")  # fmt: skip
    if not np.isnan(choice.own_share.value):
        said.append(f"the load is {choice.own_share:.2f} of what it carries itself")
    if choice.ended_by and OUTSIDE not in choice.lacking:
        said.append("its curve ends by the client, which could do no more")
    stale = "" if choice.strong else f"{STALE}; "
    said.append(f"{stale}reads at {pair.read_cl}, writes at {pair.write_cl}; {survival(*choice.survives)}")
    return said


def _headroom(choice: OpenChoice) -> str:
    if np.isnan(choice.headroom.value):
        return ""
    least = "at least " if choice.capacity is not None and choice.capacity.verdict == AT_LEAST else ""
    return f"; headroom {least}{choice.headroom:.2f} times the load"


def _verdicts(advice: OpenAdvice) -> list[str]:
    """Compare the recommended setting with the fastest and with the next that survives as much."""
    chosen, surviving = advice.recommended, advice.surviving
    if chosen is None:
        return [_nothing(advice)]
    said, fastest = [], advice.fastest
    if fastest is not None and fastest is not chosen:
        ratio = times_as_slow(chosen, fastest)
        faster = percent_apart(ratio, -100)
        if fastest.survives_both < advice.survive:
            why = f"but {stops(*fastest.survives, advice.survive)}: --survive {fastest.survives_both}"
        else:
            why = "but is not known to keep the bound"
        said.append(f"{fastest.setting.name} is {faster:.1f} % faster ({significance(alike(chosen, fastest))}), {why}")
    second = next((one for one in surviving if one.known and one is not chosen and one is not fastest), None)
    if second is not None:
        p_value = alike(chosen, second)
        slower = percent_apart(times_as_slow(chosen, second), 100)
        said.append(
            f"{second.setting.name} is {slower:.1f} % slower than {chosen.setting.name} ({significance(p_value)})"
        )
    return said


def _nothing(advice: OpenAdvice) -> str:
    """Say why nothing is recommended, and what is nearest to it."""
    survivors = f"survives {dead_replicas(advice.survive)} for reads and writes both"
    if not advice.surviving:
        return f"nothing is recommended: no strong setting that was measured {survivors}"
    if advice.perhaps is not None:
        name = advice.perhaps.setting.name
        return (
            f"nothing is recommended: none that {survivors} keeps {advice.bound_ms:g} ms with its whole interval; "
            f"{name} may, more blocks would tell"
        )
    if not any(choice.known for choice in advice.surviving):
        if all(choice.verdict == CARRIES_LESS for choice in advice.surviving):
            return f"nothing is recommended: no strong setting that {survivors} carries the load"
        return f"nothing is recommended: no strong setting that {survivors} has a known response time at this load"
    best = next(choice for choice in advice.surviving if choice.known)
    undecided = any(choice.verdict == NOT_KNOWN for choice in advice.surviving)
    keeps = "is known at 95 % to keep" if undecided else "keeps"
    return (
        f"nothing is recommended: none that {survivors} {keeps} {advice.bound_ms:g} ms; nearest is {best.setting.name} "
        f"with {best.response_us.value / 1e3:.2f} ms"
    )


def _notes(advice: OpenAdvice, weak: bool) -> list[str]:
    said = []
    if advice.weak and not weak:
        count = len(advice.weak)
        said.append(f"{count} weak {plural('setting', count)} {'was' if count == 1 else 'were'} measured: --weak")
    if advice.cluster_starts < 3:  # noqa: PLR2004 - `estimate.FEWEST`, in words
        said.append(f"{counted(advice.cluster_starts, 'cluster start')}: what another would give is not known")
    shown = {choice.setting.name for choice in (*advice.choices, *(advice.weak if weak else ()))}
    for mark, names in advice.marks.items():
        if there := [name for name in names if name in shown]:
            said.append(f"marked {mark} ({', '.join(there)}): {explained(mark)}")
    return said


def as_dict(advice: OpenAdvice, weak: bool = False) -> dict[str, Any]:
    """Advice for programs; `settings` has a row for each setting, and the other keys name one or what was asked."""
    shown = (*advice.choices, *(advice.weak if weak else ()))
    chosen = advice.recommended
    second = next((choice for choice in advice.surviving if choice is not chosen and choice.known), None)

    def row(choice: OpenChoice | None) -> dict[str, Any] | None:
        return None if choice is None else _row(advice, choice)

    return {
        "run": advice.name,
        "workload": advice.mix.workload,
        "read_share": advice.mix.read_share,
        "arrivals": advice.arrivals,
        "of_capacity": advice.of_capacity,
        "rate_per_s": advice.rate_per_s,
        "rates_by_block": [number(rate) for rate in advice.rates_per_s],
        "load_shares_by_block": [number(share) for share in advice.load_shares],
        "by": advice.by,
        "bound_ms": advice.bound_ms,
        "survive": advice.survive,
        "replication": advice.replicas,
        "blocks": advice.cluster_starts,
        "setting": row(chosen),
        "survives": None if chosen is None else dict(zip(("reads", "writes"), chosen.survives, strict=True)),
        "perhaps": row(advice.perhaps),
        "fastest": row(advice.fastest),
        "runner_up": None if chosen is None else row(second),
        "weak_measured": len(advice.weak),
        "settings": [_row(advice, choice) for choice in shown],
        "marks": {mark: explained(mark) for mark in sorted(frozenset().union(*(choice.marks for choice in shown)))},
    }


def _row(advice: OpenAdvice, choice: OpenChoice) -> dict[str, Any]:
    one, chosen = choice.capacity, advice.recommended
    p_value = np.nan
    if chosen is not None and choice is not chosen and choice.known:
        p_value = alike(chosen, choice)
    return {
        "setting": choice.setting.name,
        "read_cl": choice.setting.read_cl,
        "write_cl": choice.setting.write_cl,
        "strong": choice.strong,
        **_bounds("response", choice.response_us, "_us"),
        "response_by_block_us": [number(figure) for figure in choice.by_block_us],
        "verdict": choice.verdict,
        "blocks_over_bound": choice.over_bound,
        "lacking": ";".join(choice.lacking),
        "blocks_not_carried": choice.not_carried,
        "carried_per_s": number(choice.carried_per_s.value),
        "own_share": number(choice.own_share.value),
        "own_share_by_block": [number(share) for share in choice.own_shares],
        "capacity_verdict": "" if one is None else one.verdict,
        **_bounds("capacity", one.per_s if one else None, "_per_s", one is not None and one.verdict == FOUND),
        **_bounds("capacity_share", one.share if one else None, ""),
        **_bounds("headroom", choice.headroom, ""),
        "ended_by": choice.ended_by,
        "measured_from_per_s": number(choice.measured_per_s[0]),
        "measured_to_per_s": number(choice.measured_per_s[1]),
        "survives_reads": choice.survives[0],
        "survives_writes": choice.survives[1],
        "p_value_to_recommended": None if np.isnan(p_value) else round(p_value, 4),
        "marks": ";".join(sorted(choice.marks)),
    }


def _bounds(what: str, estimate: Estimate | None, unit: str, interval: bool = True) -> dict[str, float | None]:
    """A figure and the bounds of its interval, as columns."""
    nothing = float("nan")
    known = estimate or Estimate(nothing, nothing, nothing)
    low, high = (known.low, known.high) if interval else (nothing, nothing)
    return {f"{what}{side}{unit}": number(value)
            for side, value in (("", known.value), ("_low", low), ("_high", high))}  # fmt: skip


def load_map(points: Sequence[OpenAdvice], form: str, weak: bool = False) -> str:
    """Advice for all loads of each mix: settings down, loads across; as 'text' or 'csv'."""
    if form == "text":
        mixes = dict.fromkeys(advice.mix for advice in points)
        return "\n\n".join("\n".join(_grid([one for one in points if one.mix == mix], weak)) for mix in mixes)
    return _csv(pd.DataFrame(load_rows(points, weak)))


def load_rows(points: Sequence[OpenAdvice], weak: bool = False) -> list[dict[str, Any]]:
    """Return a row for each load and setting, for programs."""
    return [
        {"mix": one.mix.name, "workload": one.mix.workload, "read_share": one.mix.read_share,
         "of_capacity": one.of_capacity, "rate_per_s": one.rate_per_s, "recommended": choice is one.recommended}
        | _row(one, choice)
        for one in points for choice in (*one.choices, *(one.weak if weak else ()))
    ]  # fmt: skip


def _grid(points: Sequence[OpenAdvice], weak: bool) -> list[str]:
    """Draw one mix: the response time in ms with its interval, and what it means for the bound."""
    first = points[0]
    at_shares = first.of_capacity is not None
    columns: dict[str, dict[str, str]] = {}
    for advice in points:
        load = f"{advice.of_capacity:g}" if at_shares else f"{advice.rate_per_s:g}"
        shown = (*advice.choices, *(advice.weak if weak else ()))
        columns[load] = {choice.setting.name: _cell(advice, choice) for choice in shown}
    order = [choice.setting.name for choice in (*first.choices, *(first.weak if weak else ()))]
    table = pd.DataFrame(columns).reindex(order)
    across = "shares of what the weakest setting carries" if at_shares else "requests a second"
    bound = "" if first.bound_ms is None else "  !  breaks the bound;  ?  not known at 95 % to keep it;"
    said = [
        f"{first.name}, {first.mix.name}: {first.by} of the response time in ms, over {across} (across)",
        f"*  recommended: the fastest strong setting that survives {dead_replicas(first.survive)}"
        + ("" if first.bound_ms is None else f" and keeps {first.bound_ms:g} ms") + f";{bound}  -  not known.",
        *(f"  {choice.setting.name}: {'' if choice.strong else f'{STALE}; '}{survival(*choice.survives)}"
          for choice in (*first.choices, *(first.weak if weak else ()))),
        *(f"  {line}" for line in _notes_of_all(points, weak)),
    ]  # fmt: skip
    return [table.to_string(), *(part for line in said for part in textwrap.wrap(line, tables.WIDTH,
            subsequent_indent="   "))]  # fmt: skip


def _cell(advice: OpenAdvice, choice: OpenChoice) -> str:
    if not choice.known:
        return "not carried" if choice.not_carried else "-"
    star = "*" if choice is advice.recommended else ""
    return f"{choice.response_us.times(1e-3):.2f}{_SIGNS.get(choice.verdict, ' ?')}{star}"


def _notes_of_all(points: Sequence[OpenAdvice], weak: bool) -> list[str]:
    return list(dict.fromkeys(note for advice in points for note in _notes(advice, weak)))
