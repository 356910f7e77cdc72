"""Which setting for a service: each limit held against each setting, one error shared by all of them, and a winner.

A limit passes or fails by a whole interval (`latency.verdicts`). What is left is not known, and says what is lacking. A
figure within a factor of `ZONE` of its limit may stay unknown for long: to decide it takes more than it is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cassbook.core.consistency import replicas_waited_for
from cassbook.core.errors import InputError
from cassbook.core.estimate import FEWEST, Estimate, binomial_bounds, student_half_width
from cassbook.core.proportion import Proportion, reads_to_show
from cassbook.core.words import counted
from cassbook.latency.capacity import EMPTY, FAILED, NOT_CARRIED, UNSENT
from cassbook.latency.open_choices import OUTSIDE, TOO_FEW
from cassbook.latency.verdicts import FAIL, PASS, UNKNOWN, ZONE, against, is_near, share_of_error

if TYPE_CHECKING:
    from cassbook.advisor.freshness import Freshness, Known
    from cassbook.latency.in_segments import Segments
    from cassbook.latency.open_choices import OpenAdvice, OpenChoice

#: What a program gets: a setting was found, none meets the limits, or that is not known.
FOUND, NONE, NOT_KNOWN = 0, 3, 4
#: The limits, in the order of a screen.
RESPONSE, SURVIVE, STALE = "response", "survive", "stale"
#: More cluster starts than anybody makes.
_MOST_STARTS = 100
#: So many times as long nobody measures a running cluster.
_MOST_TIMES = 30
_NOTHING = Estimate(np.nan, np.nan, np.nan, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a service asks of a setting.

    Attributes
    ----------
    bound_ms : float
        The longest response time to keep, at the figure that the run is asked by.
    survive : int
        Dead replicas that reads and writes both have to survive.
    stale : float, optional
        The largest share of reads that may miss a write acknowledged `after_ms` before they began; without it none may,
        and only settings whose quorums meet can win.
    after_ms : float, optional

    Raises
    ------
    InputError
        For limits that are none, or of which half is missing.
    """

    bound_ms: float
    survive: int = 1
    stale: float | None = None
    after_ms: float | None = None

    def __post_init__(self) -> None:
        if not self.bound_ms > 0:
            raise InputError(f"--bound-ms: {self.bound_ms:g} is not above 0; give the longest response time, in ms")
        if (self.stale is None) != (self.after_ms is None):
            lacking = "--after-ms, how long after its acknowledgement a write has to be seen" if (
                self.after_ms is None) else "--stale, the largest share of stale reads"  # fmt: skip
            raise InputError(f"--stale and --after-ms: go together; {lacking}, is missing")
        if self.stale is not None and not 0 < self.stale <= 1:
            raise InputError(f"--stale: {self.stale:g} is no share above 0, such as 1e-4; 1 allows any")
        if self.after_ms is not None and not self.after_ms >= 0:
            raise InputError(f"--after-ms: {self.after_ms:g} is no time after a write; give 0 or more")


@dataclass(frozen=True, slots=True)
class Predicted:
    """What message delays of traced requests say of stale reads at the limit's age.

    Attributes
    ----------
    stale : float
        Share of them, over all pairings.
    pairings, requests : int
        Of how many pairs of a traced write and a traced read of one row, and of how many traced requests.
    """

    stale: float
    pairings: int
    requests: int

    def __str__(self) -> str:
        """Say it, with what it rests on."""
        share = f"{self.stale:.2g}" if self.stale else f"none of {self.pairings:,} pairings"
        return f"message delays of {self.requests:,} traced requests predict {share}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What was measured on a cluster that is running, by a setting's levels, such as QUORUM/QUORUM.

    Attributes
    ----------
    segments : mapping of str to Segments
        Response times at the load.
    stale : mapping of str to sequence of (int, int)
        Of the service's own tables: how many reads of how many missed a write of the limit's age, segment by segment;
        where clusters were started for it, start by start.
    predicted : mapping of str to Predicted
        Where requests were traced.
    looks : int
        How often it was asked, at most, whether a verdict is there already: each look may err.
    alone : bool
        Whether there was one coordinator alone, so that it wrote what was read through it.
    """

    segments: Mapping[str, Segments] = field(default_factory=dict)
    stale: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    predicted: Mapping[str, Predicted] = field(default_factory=dict)
    looks: int = 1
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """One limit held against one setting.

    Attributes
    ----------
    verdict : str
        PASS, FAIL or UNKNOWN.
    figure : Estimate
        With the bounds by which it is judged; NaN where nothing is known.
    source : str
        Where the figure is from.
    lacking : str
        What would decide it; empty where it is decided.
    near : bool
        Whether the figure is within `ZONE` of the limit.
    predicted : str
        What a prediction says where counts do not decide it; it decides nothing.
    """

    verdict: str
    figure: Estimate
    source: str
    lacking: str = ""
    near: bool = False
    predicted: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """A setting with what is known of it.

    Attributes
    ----------
    choice : OpenChoice
        What it does at the load.
    held : mapping of str to Held
        By limit.
    dead : mapping of str to Estimate
        The figure of the response time in ms with a replica dead, by whether that is `unnoticed` or `noticed`, or it
        `hangs`; measured.
    dead_times : mapping of str to Estimate
        How many times as long it was then as all well in a record of ours, by the same names.
    """

    choice: OpenChoice
    held: Mapping[str, Held]
    dead: Mapping[str, Estimate] = field(default_factory=dict)
    dead_times: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """FAIL if a limit fails, PASS if all pass."""
        verdicts = {held.verdict for held in self.held.values()}
        return FAIL if FAIL in verdicts else UNKNOWN if UNKNOWN in verdicts else PASS


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a run says to a service.

    Attributes
    ----------
    advice : OpenAdvice
        What all settings do at the load.
    limits : Limits
    options : tuple of Option
        Those that meet all limits, the fastest first; then those that may; then the others.
    error : float
        Chance that an interval of one limit of one setting is wrong, of 5 % for the whole screen.
    fresh_from : str
        What staleness rests on; empty where no limit asks for it.
    prediction_off : str
        By how much such predictions were off; empty where no prediction is shown.
    dead_from : str
        The record that `Option.dead_times` are from; empty where there are none.
    live : Live, optional
        What was measured on a running cluster, where the answer is of that one now.
    """

    advice: OpenAdvice
    limits: Limits
    options: tuple[Option, ...]
    error: float
    fresh_from: str = ""
    prediction_off: str = ""
    dead_from: str = ""
    live: Live | None = None

    @property
    def winner(self) -> Option | None:
        """The fastest setting that meets all limits; None where none is known to."""
        first = self.options[0]
        return first if first.verdict == PASS else None

    @property
    def outcome(self) -> int:
        """What a program gets: `FOUND`, `NONE` or `NOT_KNOWN`."""
        if self.winner is not None:
            return FOUND
        return NONE if all(option.verdict == FAIL for option in self.options) else NOT_KNOWN

    @property
    def hurting(self) -> tuple[str, Option] | None:
        """Where all settings fail: the limit that fewest settings meet, and the setting that comes nearest without it.

        The nearest is the fastest of those that fail the fewest limits.
        """
        if self.outcome != NONE:
            return None
        names = list(self.options[0].held)
        failed = {name: sum(option.held[name].verdict == FAIL for option in self.options) for name in names}
        nearest = min(self.options, key=lambda option: sum(held.verdict == FAIL for held in option.held.values()))
        most = max((name for name in names if nearest.held[name].verdict == FAIL), key=lambda name: failed[name])
        return most, nearest


def decide(
    advice: OpenAdvice, limits: Limits, known: Known | None = None,
    dead: Mapping[str, Mapping[str, Estimate]] | None = None, live: Live | None = None, error: float | None = None,
    recorded: tuple[str, Mapping[str, Mapping[str, Estimate]]] = ("", {}),
) -> Decision:  # fmt: skip
    """Hold every limit against every setting at a load.

    Parameters
    ----------
    advice : OpenAdvice
        What all settings do there, weak ones too.
    limits : Limits
    known : Known, optional
        What is known of staleness; needed where `limits` ask for it.
    dead : mapping, optional
        By a setting's levels, such as QUORUM/QUORUM: as `Option.dead`.
    live : Live, optional
        What a running cluster did, which goes before `advice` and `known`.
    error : float, optional
        Chance that one interval is wrong; by default such that all of this load's together are with one of 5 %.
    recorded : tuple of str and mapping, optional
        A record of ours, and by levels `Option.dead_times`; for settings that `dead` has not.

    Raises
    ------
    InputError
        For a load under which nothing is read although staleness is asked for.
    """
    if limits.stale is not None and advice.mix.read_share == 0:
        raise InputError(f"--stale: {advice.mix.name} reads nothing, so nothing of it is stale; leave --stale out")
    if error is None:
        error = _error([(advice, live)], limits)
    options = []
    for choice in (*advice.choices, *advice.weak):
        levels = choice.setting.levels
        segments = live.segments.get(levels) if live else None
        own = live.stale.get(levels) if live and limits.stale is not None else None
        held = {
            RESPONSE: _response(choice, limits, error, advice, segments),
            SURVIVE: _survive(choice, limits),
            STALE: _stale(choice, limits, error, known, advice.replicas) if own is None
            else _own_stale(own, limits, error, live.predicted.get(levels) if live else None),
        }  # fmt: skip
        measured = (dead or {}).get(levels, {})
        times = {when: one for when, one in recorded[1].get(levels, {}).items() if when not in measured}
        options.append(Option(choice, held, measured, times))
    order = (PASS, UNKNOWN, FAIL)
    options.sort(key=lambda one: (order.index(one.verdict), not one.choice.known, one.held[RESPONSE].figure.value))
    return Decision(
        advice=advice,
        limits=limits,
        options=tuple(options),
        error=error,
        fresh_from=_fresh_from(limits, known, live),
        prediction_off=_prediction_off(options, limits, known),
        dead_from=recorded[0] if any(option.dead_times for option in options) else "",
        live=live,
    )


def _error(loads: Sequence[tuple[OpenAdvice, Live | None]], limits: Limits) -> float:
    """Return the chance that one interval may be wrong, for all at these loads to be right together.

    Of every setting that is shown there is a response time, and of the weak ones staleness where it is judged.
    """
    verdicts = sum(len(advice.choices) + len(advice.weak) * (1 if limits.stale is None else 2) for advice, _ in loads)
    return share_of_error(verdicts, max((live.looks for _, live in loads if live and live.segments), default=0))


def _prediction_off(options: Sequence[Option], limits: Limits, known: Known | None) -> str:
    """Say by how much predictions like those that are shown were off where all was counted."""
    if not any(option.held[STALE].predicted for option in options):
        return ""
    off = known.off(limits.after_ms or 0.0) if known is not None else None
    return str(off) if off is not None else "how far such predictions are off with this release is not recorded"


def _fresh_from(limits: Limits, known: Known | None, live: Live | None) -> str:
    """Say what staleness rests on."""
    if limits.stale is None:
        return ""
    if live is not None and live.stale:
        counts = ", ".join(f"{levels} {sum(of for _, of in own):,}" for levels, own in live.stale.items())
        return (
            f"reads of the service's own tables beside its load, {limits.after_ms:g} ms after the write, through "
            f"{'the only' if live.alone else 'another'} coordinator: {counts}"
        )
    return known.basis if known is not None else ""


def _response(choice: OpenChoice, limits: Limits, error: float, advice: OpenAdvice, segments: Segments | None) -> Held:
    """Hold the response time at the load against its bound.

    Over cluster starts by Student's t on logarithms; of a running cluster over segments (`Segments.estimate`).
    """
    source = f"{'measured' if advice.mix.between is None else 'between two measured mixes'}, {advice.name}"
    if not choice.known or choice.not_carried:
        return _without_figure(choice, source)
    if segments is not None:
        figure, unit = segments.estimate(advice.by, error), "segment"
    else:
        figure, unit = Estimate.positive(np.array(choice.by_block_us) / 1e3, error), "cluster start"
    near = is_near(figure.value, limits.bound_ms)
    if np.isnan(figure.low):
        return Held(UNKNOWN, figure, source, f"{FEWEST} {unit}s at least, of {figure.n}", near)
    verdict = against(figure, limits.bound_ms)
    if verdict != UNKNOWN:
        return Held(verdict, figure, source, near=near)
    needed = _needed(figure, limits.bound_ms, error if segments is None else None)
    longer = "" if segments is None else " (longer --minutes)"
    other = f"it is too close to {limits.bound_ms:g} ms" if near else f"more {unit}s than {figure.n}{longer}"
    said = f"about {needed} {unit}s, of {figure.n}{longer}" if needed else other
    return Held(UNKNOWN, figure, source, said, near)


def _without_figure(choice: OpenChoice, source: str) -> Held:
    """Judge a setting that some cluster start has no figure of: it may not carry the load in any."""
    starts = len(choice.blocks)
    broken = sum(block.lacking in {NOT_CARRIED, UNSENT, FAILED, EMPTY} for block in choice.blocks)
    if broken == starts:
        return Held(FAIL, _NOTHING, source)
    if broken:
        some = f"{broken} of {counted(starts, 'cluster start')} did not carry the load"
        return Held(UNKNOWN, _NOTHING, source, f"{some}: more would tell")
    why = "more operations at this load" if TOO_FEW in choice.lacking else "a measurement at this load"
    if OUTSIDE in choice.lacking and np.isfinite(choice.measured_per_s[0]):
        why += ", not {:.0f} to {:.0f} a second".format(*choice.measured_per_s)
    return Held(UNKNOWN, _NOTHING, source, why)


def _needed(figure: Estimate, limit: float, error: float | None) -> int | None:
    """Return how many observations like those would tell a figure from its limit; None where nobody makes so many.

    `error`: of intervals by Student's t, whose quantile falls with their number; of others None.
    """
    n = figure.n or FEWEST
    ends = np.log([figure.value, figure.high if limit > figure.value else figure.low])
    distance, half = abs(ends[0] - np.log(limit)), abs(ends[1] - ends[0])
    if error is None:
        needed = float(np.ceil(n * (half / distance) ** 2)) if distance else np.inf
        return int(needed) if needed <= _MOST_TIMES * n else None
    spread = half * np.sqrt(n) / student_half_width(n - 1, error)
    for starts in range(FEWEST, _MOST_STARTS + 1):
        if student_half_width(starts - 1, error) * spread / np.sqrt(starts) < distance:
            return starts
    return None


def _survive(choice: OpenChoice, limits: Limits) -> Held:
    survives = float(choice.survives_both)
    verdict = PASS if choice.survives_both >= limits.survive else FAIL
    return Held(verdict, Estimate(survives, survives, survives), "arithmetic of replicas")


def _stale(choice: OpenChoice, limits: Limits, error: float, known: Known | None, replicas: int) -> Held:
    """Hold the share of stale reads against its limit, by what was counted at the waits around it."""
    never = Estimate(0.0, 0.0, 0.0)
    if choice.strong:
        return Held(PASS, never, "the quorums meet; while all is well")
    if limits.stale is None:
        return Held(FAIL, _NOTHING, "quorums that need not meet", "")
    if known is None:
        return Held(UNKNOWN, _NOTHING, "", "a record of staleness (--fresh-run)")
    pair = _waited_for(choice, replicas)
    if pair is None or known.n != replicas or pair not in known.settings:
        return Held(UNKNOWN, _NOTHING, "", f"a record of staleness that has {choice.setting.name}")
    fresh = known.at(*pair, limits.after_ms or 0.0)
    if not fresh.waits:
        near = is_near(fresh.stale.value, limits.stale)
        return Held(UNKNOWN, fresh.stale, "predicted from latencies", "a measurement; this is a prediction", near)
    held, missed = _counted(fresh, limits, error), fresh.predicted_stale
    if held.verdict == UNKNOWN and missed is not None and missed.n:
        held = replace(held, predicted=str(Predicted(missed.value, fresh.pairings, 2 * missed.n)))
    return held


def _counted(fresh: Freshness, limits: Limits, error: float) -> Held:
    """Judge by counts: by the wait before the limit's age for passing, by the one behind it for failing."""
    limit = float(limits.stale or 0.0)
    (_, before), (after, _) = (_bounds(wait, error) for wait in (fresh.waits[0], fresh.waits[-1]))
    figure = Estimate(fresh.stale.value, after, before, fresh.stale.n)
    source, near = "counted by the probe", is_near(fresh.stale.value, limit)
    if before <= limit:
        return Held(PASS, figure, source, near=near)
    if after > limit:
        return Held(FAIL, figure, source, near=near)
    counted_so_far = fresh.waits[0]
    needed = reads_to_show(limit, int(counted_so_far.stale), error)
    return Held(UNKNOWN, figure, source, f"about {needed:,} reads at this age, of {counted_so_far.reads:,}", near)


def _bounds(wait: object, error: float) -> tuple[float, float]:
    low, high = binomial_bounds(wait.stale / wait.reads, wait.worth, error)  # type: ignore[attr-defined]
    return float(low), float(high)


def _own_stale(
    own: Sequence[tuple[int, int]], limits: Limits, error: float, predicted: Predicted | None = None
) -> Held:
    """Judge by what was counted on the service's own tables, on this cluster, at the limit's age."""
    said = str(predicted) if predicted else ""
    limit, reads = float(limits.stale or 0.0), sum(of for _, of in own)
    if not reads:
        return Held(UNKNOWN, _NOTHING, "", "reads of its own tables at this age")
    share = Proportion.grouped([yes for yes, _ in own], [of for _, of in own], error)
    source, near = f"counted on its own tables: {share.counts}", is_near(share.value, limit)
    if np.isnan(share.low):
        return Held(UNKNOWN, share, source, f"{FEWEST} segments, or cluster starts, at least", near, said)
    verdict = against(share, limit)
    if verdict != UNKNOWN:
        return Held(verdict, share, source, near=near)
    needed = reads_to_show(limit, share.yes, error)
    few = f"about {needed:,} reads at this age, of {reads:,}"
    apart = f"segments or cluster starts that differ less, or more of them than {share.groups}"
    return Held(UNKNOWN, share, source, few if needed > reads else apart, near, said)


def _waited_for(choice: OpenChoice, replicas: int) -> tuple[int, int] | None:
    """Return how many replicas reads and writes wait for; None for levels of one data centre among several."""
    names = choice.setting.read_cl, choice.setting.write_cl
    if any(name.startswith(("LOCAL_", "EACH_")) for name in names):
        return None
    reads, writes = (replicas_waited_for(name, replicas) for name in names)
    return reads, writes


def changes(
    advices: Sequence[tuple[str, OpenAdvice]], decision: Decision, known: Known | None = None,
    lives: Mapping[str, Live | None] | None = None,
) -> list[tuple[str, Decision]]:  # fmt: skip
    """Return what would change the answer: limits that are one step looser or tighter, and other loads.

    `advices`: at other loads, with words for each; `lives`: what a running cluster did there, by the words. Kept are
    those decisions that name another winner, or none. Other limits are held against the intervals of `decision`, which
    hold for any limit; those at other loads share 5 % among themselves.
    """
    limits, found, there = decision.limits, [], lives or {}
    error = _error([(advice, there.get(words)) for words, advice in advices], limits) if advices else None
    steps = {
        f"with {counted(limits.survive + 1, 'dead replica')} to survive": replace(limits, survive=limits.survive + 1),
        f"with a bound of {_short(limits.bound_ms / ZONE)} ms": replace(limits, bound_ms=limits.bound_ms / ZONE),
        f"with a bound of {_short(limits.bound_ms * ZONE)} ms": replace(limits, bound_ms=limits.bound_ms * ZONE),
    }
    if limits.survive:
        fewer = f"with {counted(limits.survive - 1, 'dead replica')} to survive"
        steps = {fewer: replace(limits, survive=limits.survive - 1)} | steps
    if limits.stale is not None:
        steps |= {"where no read may be stale": replace(limits, stale=None, after_ms=None)}
    for words, other in steps.items():
        found.append((words, decide(decision.advice, other, known, live=decision.live, error=decision.error)))
    found += [(words, decide(advice, limits, known, live=there.get(words), error=error)) for words, advice in advices]
    return [(words, other) for words, other in found if _name(other) != _name(decision)]


def _short(value: float) -> str:
    """Say a number by three digits, and in full.

    >>> _short(2500.0), _short(7.5), _short(0.16667)
    ('2500', '7.5', '0.167')
    """
    return f"{float(f'{value:.3g}'):.15g}"


def _name(decision: Decision) -> str:
    return decision.winner.choice.setting.name if decision.winner else ""
