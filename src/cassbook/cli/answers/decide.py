"""A decision as text and JSON: the winner, a row per setting, what would change it, and lines for a service."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cassbook.advisor.decision import (
    FOUND,
    NONE,
    PASS,
    RESPONSE,
    STALE,
    SURVIVE,
    UNKNOWN,
    ZONE,
    Decision,
    Held,
    Limits,
    Live,
    Option,
)
from cassbook.core.estimate import ERROR, Estimate
from cassbook.core.words import counted
from cassbook.latency.capacity import AT_LEAST
from cassbook.shown.capacities import number
from cassbook.shown.dead_replicas import dead_replicas
from cassbook.shown.tables import WIDTH, three_digits, with_bounds

SCHEMA, VERSION = "cassbook-decision", 1
_OUTCOMES = {FOUND: "found", NONE: "none meets the limits"}
#: Where a column says nothing.
_NOT_KNOWN = "?"


def name_of(option: Option) -> str:
    """Name a setting as people do, with the papers' code behind it where it has one."""
    setting = option.choice.setting
    return setting.levels if setting.name == setting.levels else f"{setting.levels} ({setting.name})"


def text(decision: Decision, changes: Sequence[tuple[str, Decision]] = ()) -> str:
    """Return a decision as a terminal shows it."""
    shown = parts(decision, changes)
    said = [*shown["first"], "", table(decision).to_string(), "", *shown["notes"]]
    if shown["changes"]:
        said += ["What would change the answer:", *(f"  {change}" for change in shown["changes"])]
    if shown["lines"]:
        said += ["", *shown["lines"]]
    return "\n".join(_wrapped(said))


def parts(decision: Decision, changes: Sequence[tuple[str, Decision]] = ()) -> dict[str, Any]:
    """Return what a page shows of a decision: first, table, notes, changes and lines for a service."""
    return {
        "first": list(_first(decision)), "table": table(decision).rename_axis("setting").reset_index(),
        "notes": list(_notes(decision, bool(changes))), "changes": list(_changes(changes)),
        "lines": [] if decision.winner is None else lines_for(decision.winner, decision.limits),
    }  # fmt: skip


def _wrapped(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if "\n" in line or len(line) <= WIDTH:
            yield line
        else:
            yield from textwrap.wrap(line, WIDTH, subsequent_indent="    ")


def _first(decision: Decision) -> Iterator[str]:
    """Say which setting wins and why, or why none does."""
    winner, by, limits = decision.winner, decision.advice.by, decision.limits
    if winner is not None:
        figure = winner.held[RESPONSE].figure
        yield (
            f"{name_of(winner)} meets all limits: {by} {_ms(figure)} (at most {limits.bound_ms:g} ms), survives "
            f"{dead_replicas(winner.choice.survives_both)}, {_fresh(winner, decision)}; {_others(decision)}"
        )
        return
    hurting = decision.hurting
    if hurting is not None:
        limit, nearest = hurting
        yield (
            f"no setting meets the limits: {_LIMITS[limit]} hurts; {name_of(nearest)} comes nearest, with "
            f"{by} {_ms(nearest.held[RESPONSE].figure)}, survives {dead_replicas(nearest.choice.survives_both)}, "
            f"{_fresh(nearest, decision)}"
        )
        return
    open_ones = [option for option in decision.options if option.verdict == UNKNOWN]
    yield f"not known: {counted(len(open_ones), 'setting')} may meet the limits, and none is known to"
    for option in open_ones:
        lacking = "; ".join(f"{_LIMITS[limit]}: {held.lacking}" for limit, held in _open(option))
        yield f"  {name_of(option)} lacks {lacking}"


def _others(decision: Decision) -> str:
    """Say which settings besides the winner meet all limits, or may."""
    verdicts = [option.verdict for option in decision.options[1:]]
    able, may = verdicts.count(PASS), verdicts.count(UNKNOWN)
    said = []
    if able:
        does = "does" if able == 1 else "do"
        said.append(f"so {does} {counted(able, 'other')} with a higher {decision.advice.by}")
    if may:
        said.append(f"of {counted(may, 'other')} it is not known")
    return "; ".join(said) or "no other does"


_LIMITS = {RESPONSE: "the bound on the response time", SURVIVE: "the dead replicas to survive", STALE: "staleness"}


def _open(option: Option) -> list[tuple[str, Held]]:
    return [(limit, held) for limit, held in option.held.items() if held.verdict == UNKNOWN]


def _ms(figure: Estimate) -> str:
    return "unknown" if np.isnan(figure.value) else f"{three_digits(figure.value)} ms"


def _fresh(option: Option, decision: Decision) -> str:
    held = option.held[STALE]
    if option.choice.strong:
        return "no read stale while all is well"
    if decision.limits.stale is None or np.isnan(held.figure.value):
        return "reads may be stale"
    return f"at most {held.figure.high:.1g} of reads stale after {decision.limits.after_ms:g} ms"


def table(decision: Decision) -> pd.DataFrame:
    """Return the screen's table: a row per setting, what is known of it, and a verdict per limit."""
    by, limits = decision.advice.by, decision.limits
    rows = {}
    for option in decision.options:
        choice = option.choice
        row = {
            f"{by}, ms": _with_bounds(option.held[RESPONSE].figure, choice.not_carried > 0),
            "most/s": _capacity(option),
            "headroom": _headroom(option),
            "survive": f"{choice.survives[0]}/{choice.survives[1]}",
            "unnoticed": _dead(option, "unnoticed"),
            "noticed": _dead(option, "noticed"),
        }
        if any("hangs" in {*one.dead, *one.dead_times} for one in decision.options):
            row["hangs"] = _dead(option, "hangs")
        if limits.stale is not None:
            row[f"stale after {limits.after_ms:g} ms"] = _stale(option)
        row[f"<= {limits.bound_ms:g} ms"] = _verdict(option.held[RESPONSE])
        row[f"survives {limits.survive}"] = _verdict(option.held[SURVIVE])
        row["fresh" if limits.stale is None else f"stale <= {limits.stale:g}"] = _verdict(option.held[STALE])
        rows[choice.setting.levels] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def _with_bounds(figure: Estimate, not_carried: bool = False) -> str:
    if np.isnan(figure.value):
        return "not carried" if not_carried else _NOT_KNOWN
    return with_bounds(figure)


def _capacity(option: Option) -> str:
    known = option.choice.capacity
    if known is None or np.isnan(known.per_s.value):
        return _NOT_KNOWN
    return f"{'>= ' if known.verdict == AT_LEAST else ''}{known.per_s.value:.0f}"


def _headroom(option: Option) -> str:
    headroom, known = option.choice.headroom, option.choice.capacity
    if np.isnan(headroom.value):
        return _NOT_KNOWN
    least = known is not None and known.verdict == AT_LEAST
    return f"{'>= ' if least else ''}{headroom.value:.2f}"


def _dead(option: Option, when: str) -> str:
    """Say what was measured, or how many times as long it took in our record."""
    figure, times = option.dead.get(when), option.dead_times.get(when)
    if figure is not None and not np.isnan(figure.value):
        return _with_bounds(figure)
    return _NOT_KNOWN if times is None else f"x{_with_bounds(times)} r"


def _stale(option: Option) -> str:
    figure = option.held[STALE].figure
    if option.choice.strong:
        return "0, all well"
    return _NOT_KNOWN if np.isnan(figure.value) else f"<= {figure.high:.1g}"


def _verdict(held: Held) -> str:
    return held.verdict + (" ~" if held.verdict == UNKNOWN and held.near else "")


def _notes(decision: Decision, changes: bool) -> Iterator[str]:
    advice, options = decision.advice, decision.options
    yield (
        f"{advice.name}, {advice.mix.name}, {_load(decision)}, {_evidence(decision)}; all "
        f"verdicts together are wrong with a chance of {ERROR:.0%} at most (each interval {1 - decision.error:.2%})"
    )
    if any(held.near for option in options for _, held in _open(option)):
        yield f"~  within a factor of {ZONE:g} of the limit: more of the same hardly decides it"
    for option in options:
        if option.verdict == UNKNOWN and decision.winner is not None:
            lacking = "; ".join(f"{_LIMITS[limit]}: {held.lacking}" for limit, held in _open(option))
            yield f"{name_of(option)} is not known, for {lacking}"
    yield (
        "most/s: the highest rate that keeps the bound; survive: dead replicas that reads/writes survive; unnoticed, "
        f"noticed: {advice.by} in ms with a replica dead, before and after the other nodes know"
    )
    faults = {figure.n for option in options for figure in option.dead.values()}
    if faults == {1}:
        yield "with a replica dead, or hanging: one fault a setting, and so without an interval"
    if decision.fresh_from:
        yield f"staleness: {decision.fresh_from}"
    for option in options:
        if option.held[STALE].predicted:
            yield f"{name_of(option)}, a prediction, which decides nothing: {option.held[STALE].predicted}"
    if decision.prediction_off:
        yield decision.prediction_off
    if any("QUORUM" in option.choice.setting.levels.split("/") for option in options) and _one_centre(options):
        yield "in one data centre LOCAL_QUORUM waits for the replicas that QUORUM does, and with a second for no more"
    if decision.dead_from:
        yield (
            f"r: recorded in {decision.dead_from}, on other machines and statements: times the figure all well; "
            "--faults measures it"
        )
    elif not any(option.dead for option in options):
        yield "with a replica dead: not measured in this run; ? stands for what is not known"
    if changes:
        yield f"what changes: other limits by the intervals above; other loads by some that share {ERROR:.0%} again"


def _one_centre(options: Sequence[Option]) -> bool:
    return not any("LOCAL_" in option.choice.setting.levels for option in options)


def _evidence(decision: Decision) -> str:
    """Say what stands behind the figures: cluster starts, or what a running cluster did while it was looked at."""
    live = decision.live
    if live is None or not live.segments:
        return counted(decision.advice.cluster_starts, "cluster start")
    counts = [own.count for own in live.segments.values()]
    turns = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"this cluster as it was then, {turns} segments a setting"


def _load(decision: Decision) -> str:
    advice = decision.advice
    low, high = min(advice.rates_per_s), max(advice.rates_per_s)
    rates = f"{low:.0f}" if round(low) == round(high) else f"{low:.0f} to {high:.0f}"
    if advice.of_capacity is not None:
        return f"{advice.of_capacity:g} of what the weakest setting carries ({rates} requests per second)"
    return f"{rates} requests per second"


def _changes(changes: Sequence[tuple[str, Decision]]) -> Iterator[str]:
    """Say what another load or limit changes."""
    for words, other in changes:
        without = "no setting" if other.outcome == NONE else "not known"
        yield f"{words}: {name_of(other.winner) if other.winner is not None else without}"


def lines_for(option: Option, limits: Limits) -> list[str]:
    """Return what to put into cqlsh and into drivers for a setting."""
    read, write = option.choice.setting.read_cl, option.choice.setting.write_cl
    same = read == write
    lines = [
        "In cqlsh:",
        f"  CONSISTENCY {read}"
        if same
        else f"  CONSISTENCY {read}   -- before reads; CONSISTENCY {write} before writes",
        "Python driver:",
        "  from cassandra import ConsistencyLevel",
        "  from cassandra.cluster import Cluster, ExecutionProfile",
        "  Cluster(hosts, execution_profiles={",
        f'      "reads": ExecutionProfile(consistency_level=ConsistencyLevel.{read}),',
        f'      "writes": ExecutionProfile(consistency_level=ConsistencyLevel.{write})}})',
        "Java driver, application.conf:",
        f"  datastax-java-driver.profiles.reads.basic.request.consistency = {read}",
        f"  datastax-java-driver.profiles.writes.basic.request.consistency = {write}",
    ]
    slow = {when: dead for when, dead in option.dead.items() if dead.value > limits.bound_ms}
    return [*lines, *_speculative(option, slow, limits)] if slow else lines


#: With a replica away a figure that is so many times as long is more than the wait of single requests.
_HELD_TIMES = 10
#: What a replica is that does not answer, by what the others know of it.
_AWAY = {"unnoticed": "dead and unnoticed", "noticed": "dead and noticed", "hangs": "hanging"}


def _speculative(option: Option, slow: Mapping[str, Estimate], limits: Limits) -> Iterator[str]:
    """Say how a driver asks a second coordinator, where a replica that is away breaks the bound."""
    when = ", ".join(f"{three_digits(dead.value)} ms while one is {_AWAY[name]}" for name, dead in slow.items())
    delay_ms = max(1, round(option.held[RESPONSE].figure.value))
    yield f"A replica that is away breaks the bound of {limits.bound_ms:g} ms: {when}. A second request may help,"
    yield f"of statements that may be sent twice (no counters, no appending to lists), after the usual {delay_ms} ms:"
    yield "Python driver, in the profiles above:"
    yield f"      speculative_execution_policy=ConstantSpeculativeExecutionPolicy({delay_ms / 1e3:g}, 1)"
    yield "Java driver, application.conf:"
    yield "  datastax-java-driver.advanced.speculative-execution-policy {"
    yield f"    class = ConstantSpeculativeExecutionPolicy, max-executions = 2, delay = {delay_ms} milliseconds }}"
    well = option.held[RESPONSE].figure.value
    if any(dead.value > _HELD_TIMES * well for dead in slow.values()):
        yield f"It took over {_HELD_TIMES} times as long as all well: requests that wait for the replica hold threads"
        yield "of their coordinator, and others queue behind them. In cassandra.yaml, where 128 is the default:"
        yield "  native_transport_max_threads: 1024"
    yield "Between coordinator and replicas, in cqlsh:"
    yield "  ALTER TABLE ... WITH speculative_retry = '99p';   -- from 4.0 on the default; before it '99PERCENTILE'"


def as_json(decision: Decision, changes: Sequence[tuple[str, Decision]], adviser: dict[str, Any]) -> str:
    """Return a decision for programs; `adviser` is the map that the small adviser goes by (see `map_file`)."""
    advice, limits, winner = decision.advice, decision.limits, decision.winner
    found = {
        "schema": SCHEMA, "version": VERSION, "outcome": _OUTCOMES.get(decision.outcome, "not known"),
        "exit_code": decision.outcome, "setting": None if winner is None else _levels(winner),
        "run": advice.name, "workload": advice.mix.workload, "read_share": advice.mix.read_share,
        "of_capacity": advice.of_capacity, "rates_per_s": [number(rate) for rate in advice.rates_per_s],
        "replication": advice.replicas, "cluster_starts": advice.cluster_starts, "by": advice.by,
        "limits": {"bound_ms": limits.bound_ms, "survive": limits.survive, "stale": limits.stale,
                   "after_ms": limits.after_ms},
        "error": ERROR, "error_of_an_interval": decision.error, "zone": ZONE, "staleness_from": decision.fresh_from,
        "prediction_off": decision.prediction_off,
        "dead_times_from": decision.dead_from,
        "settings": [_row(option) for option in decision.options],
        "changes": [
            {"what": words, "outcome": _OUTCOMES.get(other.outcome, "not known"),
             "setting": None if other.winner is None else _levels(other.winner)}
            for words, other in changes
        ],
        "live": _live(decision.live), "adviser": adviser,
    }  # fmt: skip
    return json.dumps(found, indent=2)


def _live(live: Live | None) -> dict[str, Any] | None:
    """Return what a running cluster did, setting by setting."""
    if live is None:
        return None
    segments = {
        levels: {"segments": own.count, "requests": own.requests, "failed": own.failed}
        for levels, own in live.segments.items()
    }
    stale = {
        levels: {"turns": len(own), "stale": sum(yes for yes, _ in own), "reads": sum(of for _, of in own)}
        for levels, own in live.stale.items()
    }
    predicted = {
        levels: {"stale": own.stale, "pairings": own.pairings, "requests": own.requests}
        for levels, own in live.predicted.items()
    }
    return {"segments": segments, "own_tables": stale, "predicted": predicted, "looks": live.looks}


def _levels(option: Option) -> dict[str, str]:
    setting = option.choice.setting
    return {"name": setting.name, "read_cl": setting.read_cl, "write_cl": setting.write_cl}


def _row(option: Option) -> dict[str, Any]:
    choice = option.choice
    return {
        **_levels(option), "verdict": option.verdict, "strong": choice.strong,
        "survives": {"reads": choice.survives[0], "writes": choice.survives[1]},
        "capacity_per_s": None if choice.capacity is None else number(choice.capacity.per_s.value),
        "headroom": number(choice.headroom.value),
        "limits": {
            limit: {"verdict": held.verdict, "figure": held.figure.as_dict(), "source": held.source,
                    "lacking": held.lacking, "within_zone": held.near, "predicted": held.predicted}
            for limit, held in option.held.items()
        },
        "dead_ms": {when: figure.as_dict() for when, figure in option.dead.items()},
        "dead_times": {when: times.as_dict() for when, times in option.dead_times.items()},
    }  # fmt: skip
