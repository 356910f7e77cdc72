"""The chapter on decisions: how often each way of choosing breaks a limit, does not know, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cassbook.advisor import replay
from cassbook.advisor.decision import RESPONSE, Limits
from cassbook.advisor.question import Question
from cassbook.advisor.replay import DECIDE, FASTEST, FIXED, RULE, Service
from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.core.errors import InputError, LackingError
from cassbook.core.proportion import share_text
from cassbook.core.units import PERCENT
from cassbook.core.words import counted
from cassbook.latency.verdicts import ZONE
from cassbook.records import manifest
from cassbook.records.run import RecordedRun
from cassbook.shown.dead_replicas import dead_replicas
from cassbook.shown.tables import Format, spread, three_digits, titled, with_bounds

#: Rounds of turns that a decision may take, and how often each question is asked of each service.
ROUNDS, TIMES = 24, 2
_BEYOND = f"by more than {ZONE} times, %"
#: How records of services are named, and before that, of what the command decided of them.
_SERVICE, _DECIDED = "service-", "decide-"
#: Ways in which a decision is wrong, in words.
_WRONG = {
    "broken": "breaks a limit in", "beyond": f"by more than {ZONE} times in",
    "missed": "finds none though one clearly meets all in",
}  # fmt: skip


def recorded(*versions: str) -> list[RecordedRun]:
    """Return the recorded runs of services on some versions of Cassandra, by name."""
    return _recorded(_SERVICE, versions)


def decided(*versions: str) -> list[RecordedRun]:
    """Return the recorded runs of `cassbook decide --profile service-*` on some versions, by name."""
    return _recorded(_DECIDED + _SERVICE, versions)


def _recorded(begins: str, versions: Sequence[str]) -> list[RecordedRun]:
    names = [name for name, notes in manifest.recorded() if name.startswith(begins) and notes["engine"] in versions]
    if not names:
        raise LackingError(f"there is no record of a service ({begins}*) on {' or '.join(versions)}")
    return [RecordedRun(name) for name in names]


def services(runs: Sequence[RecordedRun]) -> list[Service]:
    """Return a service for each cluster start of some runs."""
    return [one for run in runs for one in replay.services(run)]


def answers(found: Sequence[Service], rounds: int = ROUNDS, times: int = TIMES, seed: int = 1) -> pd.DataFrame:
    """Ask every policy each question about each service (`replay.compare`)."""
    return replay.compare(found, rounds, times, seed)


def policies_shown(answered: pd.DataFrame) -> pd.DataFrame:
    """Return how each policy did (`replay.summary`) in words: percent of its answers, and minutes."""
    table = replay.summary(answered)
    table = table.assign(regret=table["regret"].map(lambda regret: regret.times(PERCENT)))
    columns: dict[str, tuple[str, Format]] = {
        "broken": ("breaks a limit, %", share_text), "beyond": (_BEYOND, share_text),
        "unknown": ("does not know, %", share_text),
        "missed": ("finds none though one clearly meets all, %", share_text),
        "regret": ("slower than the best, %", ".1f"), "minutes": ("minutes", ".1f"),
    }  # fmt: skip
    return titled(table, columns)


def by_service(answered: pd.DataFrame) -> pd.DataFrame:
    """Return how decisions did service by service.

    Index service (of all its cluster starts). Columns asked, minutes (median) and those of
    `replay.SHARES` (Proportions; cluster starts are the groups).
    """
    rows = {
        service: {"asked": len(own), "minutes": own["minutes"].median()} | replay.counted(own, "start")
        for service, own in answered[answered["policy"] == DECIDE].groupby("service", sort=False)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("service")


def by_service_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `by_service` in words."""
    return titled(table, {
        "asked": ("decisions", ","), "broken": ("breaks a limit, %", share_text),
        "beyond": (_BEYOND, share_text), "unknown": ("does not know, %", share_text),
        "minutes": ("minutes, median", ".1f"),
    })  # fmt: skip


def wrong_and_slow(answered: pd.DataFrame) -> Figure:
    """Draw how often each policy breaks a limit, over how long it takes."""
    table = replay.summary(answered)
    figure, ((panel,),) = panels(1, 1, width=6.4, height=3.6)
    for place, (name, row) in enumerate(table.iterrows()):
        wrong, colour = row["broken"], palette.SERIES[place % len(palette.SERIES)]
        away = PERCENT * np.array([[wrong.value - wrong.low], [wrong.high - wrong.value]])
        bars = None if np.isnan(wrong.low) else away
        panel.errorbar(
            row["minutes"].value, PERCENT * wrong.value, bars, fmt="o", color=colour, capsize=2, label=str(name)
        )
    panel.set(xlabel="minutes of measuring", ylabel="breaks a limit, % of its answers")
    panel.legend()
    return done(figure)


def quoted(answered: pd.DataFrame) -> dict[str, str]:
    """Return what the prose quotes: of decisions, and of those who do not measure or have no intervals."""
    table = replay.summary(answered).to_dict("index")

    short = {"decide": DECIDE, "fixed": FIXED, "rule": RULE, "papers": FASTEST}
    found = {f"{key}_broken": share_text(table[policy]["broken"]) for key, policy in short.items() if policy in table}
    asked = answered[answered["policy"] == DECIDE]
    return found | {
        **{f"decide_{name}": share_text(table[DECIDE][name]) for name in ("beyond", "unknown")},
        "decide_regret": f"{table[DECIDE]['regret'].times(PERCENT):.1f}",
        "decide_minutes": f"{table[DECIDE]['minutes'].value:.0f}",
        "decisions": f"{len(asked):,}", "services": f"{asked['service'].nunique()}",
    }  # fmt: skip


def confirmed(runs: Sequence[RecordedRun], found: Sequence[Service]) -> pd.DataFrame:
    """Hold what the command decided against what the record of the same service showed, start by start.

    `runs`: as `decided`; their cluster starts are others than those of `found`, which are the services' records.

    One row a decision and a start of the record: keys of `replay.judged`; after_ms; as_decided_ms (Estimate, of the
    setting that was named; None without one) and in_record_ms, both of the figure that was asked for; minutes.
    InputError where the record is of another question: another rate, figure, or age of a write.
    """
    rows: list[dict[str, Any]] = []
    for run in runs:
        question = Question.of(run)
        decision = question.answered(run.folder).decision
        levels, winner, limits = replay.answer(decision), decision.winner, question.limits
        more = {
            "after_ms": limits.after_ms, "minutes": run.cells["ended_s"].max() / 60,
            "as_decided_ms": winner.held[RESPONSE].figure if winner else None,
        }  # fmt: skip
        for service in _records_of(run, question, found):
            in_record_ms = service.figure_ms(levels) if levels else np.nan
            rows.append(replay.judged(service, limits, levels) | {"in_record_ms": in_record_ms} | more)
    return pd.DataFrame(rows)


def _records_of(run: RecordedRun, question: Question, found: Sequence[Service]) -> list[Service]:
    """Return the starts of the service that a run decided about, of the same question and on the same processors."""
    name, processors = run.name.removeprefix(_DECIDED), manifest.processors(run.manifest["machine"])
    own = [service for service in found if (service.name, service.processors) == (name, processors)]
    if not own:
        raise LackingError(f"{run.name}: there is no record of {name} on {processors[0]}, {processors[1]} cores")
    asked = question.rate_per_s, question.by, question.limits.after_ms
    for service in own:
        after_ms = None if question.limits.stale is None else service.after_ms
        if asked != (there := (service.advice.rate_per_s, service.advice.by, after_ms)):
            raise InputError(f"{run.name}: asked for {asked} (rate, figure, age of a write), its record has {there}")
    return own


def confirmed_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `confirmed` in words, a row a decision; figures of the record as a median with the least and the most."""
    rows = {}
    for service, own in table.groupby("service", sort=False):
        one, starts = own.iloc[0], len(own)
        stale, after_ms = (None if pd.isna(one[name]) else float(one[name]) for name in ("stale", "after_ms"))
        limits = Limits(bound_ms=one["bound_ms"], survive=int(one["survive"]), stale=stale, after_ms=after_ms)
        rows[service] = {
            "asked": _asked(limits), "answer": one["levels"] or ("none" if one["known"] else "not known"),
            "as decided, ms": one["as_decided_ms"], "in the record, ms": spread(own["in_record_ms"], three_digits),
            "minutes": one["minutes"], "slower than the best, %": spread(PERCENT * own["regret"], "{:.1f}".format),
            **{title: f"{int(own[name].sum())} of {counted(starts, 'start')}" for name, title in _WRONG.items()},
        }  # fmt: skip
    formats: dict[str, Format] = {"as decided, ms": with_bounds, "minutes": ".0f"}
    shown = pd.DataFrame.from_dict(rows, orient="index").rename_axis("service")
    return titled(shown, {name: (name, formats.get(name, "")) for name in map(str, shown)}, missing="-")


def _asked(limits: Limits) -> str:
    """Say limits in a cell of a table."""
    fresh = "none stale" if limits.stale is None else f"{limits.stale:g} stale after {limits.after_ms:g} ms"
    return f"{limits.bound_ms:g} ms, {fresh}, {dead_replicas(limits.survive)}"


def confirmed_quoted(table: pd.DataFrame) -> dict[str, str]:
    """Return what the prose quotes of `confirmed`: how many decisions, and of them those that are wrong in a start."""
    of = table.groupby("service", sort=False)
    return {"live": f"{of.ngroups}", "live_unknown": f"{int((~of['known'].first()).sum())}"} | {
        f"live_{name}": f"{int(of[name].any().sum())}" for name in _WRONG
    }
