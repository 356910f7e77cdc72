"""Decisions replayed on services that were measured to the end: how often they are wrong, what that costs, how long.

A service is one cluster start of a run whose settings all took every turn. A decision is made again on segments drawn
from that start, in runs of two as they came, by the rules by which `cassbook decide --hosts` ends turns and judges;
what the whole start showed is the truth that it is held against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cassbook.advisor.decision import NONE, SURVIVE, Decision, Limits, Live, decide
from cassbook.advisor.live import live_of, segments_of
from cassbook.core.estimate import FEWEST, Estimate
from cassbook.core.proportion import Proportion
from cassbook.core.schema import OPEN, Mark, marked
from cassbook.latency import verdicts
from cassbook.latency.in_segments import Segments, drawn_places
from cassbook.latency.open_choices import Mix, OpenAdvice, OpenChoice
from cassbook.latency.open_loads import OpenLoads
from cassbook.records import manifest
from cassbook.records.results import replicas

if TYPE_CHECKING:
    from cassbook.records.run import RecordedRun

#: What people call the policies.
DECIDE, FIXED, RULE = "cassbook decide", "a fixed plan, figures alone", "always QUORUM"
FASTEST = "the fastest in a closed loop"
#: Answers of a policy that are counted, as columns of `compare`; unknown is what is not known.
SHARES = ("broken", "beyond", "missed", "unknown")
#: Segments that are drawn together, as they came: neighbours share their luck.
_TOGETHER = 2
#: Bounds that are asked for, as times the figure of the fastest setting whose quorums meet; and shares of stale reads.
_BOUNDS, _STALE = (0.5, 0.7, 0.9, 1.1, 1.4, 2.0, 4.0), (None, 0.1, 1e-2, 1e-3)


@dataclass(frozen=True, eq=False)
class Service:
    """One cluster start of a service, measured to the end.

    Attributes
    ----------
    name : str
        Of the run.
    start : int
        Which of its cluster starts.
    advice : OpenAdvice
        What its settings did in that start, at the service's rate.
    segments : mapping of str to Segments
        By levels.
    stale : mapping of str to sequence of (int, int)
        Stale reads and reads of each turn of the probe, by levels.
    after_ms : float, optional
        The age that was probed.
    closed_us : mapping of str to float
        Mean latency in a closed loop, by levels of settings that were measured so.
    turn_s : float
        How long a turn takes.
    processors : tuple, optional
        Those that it ran on: their name and number. None where the run was begun on others.
    """

    name: str
    start: int
    advice: OpenAdvice
    segments: Mapping[str, Segments]
    stale: Mapping[str, Sequence[tuple[int, int]]]
    after_ms: float | None
    closed_us: Mapping[str, float]
    turn_s: float
    processors: tuple[Any, Any] | None = None

    @cached_property
    def choices(self) -> dict[str, OpenChoice]:
        """Its settings by levels."""
        return {one.setting.levels: one for one in (*self.advice.choices, *self.advice.weak)}

    @cached_property
    def _figures_ms(self) -> dict[str, float]:
        return {levels: own.figure(self.advice.by) for levels, own in self.segments.items() if own.requests}

    def figure_ms(self, levels: str) -> float:
        """What a setting's figure is, by all of its segments; infinite where it did not carry the load."""
        return self._figures_ms.get(levels, float("inf"))

    def stale_share(self, levels: str) -> float:
        """Which share of its reads was stale, by all turns; all where nobody looked."""
        counts = np.array(self.stale.get(levels, [(1, 1)]))
        return float(counts[:, 0].sum() / counts[:, 1].sum())

    def broken(self, levels: str, limits: Limits, times: float = 1.0) -> bool:
        """Whether a setting breaks a limit, by more than so many times."""
        late = self.figure_ms(levels) > limits.bound_ms * times
        weak = not self.choices[levels].strong
        stale = weak and (limits.stale is None or self.stale_share(levels) > limits.stale * times)
        return late or stale or self.choices[levels].survives_both < limits.survive

    def best_ms(self, limits: Limits) -> float:
        """The figure of the fastest setting that meets all limits; infinite where none does."""
        able = [self.figure_ms(levels) for levels in self.choices if not self.broken(levels, limits)]
        return min(able, default=float("inf"))


def services(run: RecordedRun, by: str = "p99") -> list[Service]:
    """Return a service for each cluster start of a run: the lowest of its rates is the service's own.

    `run`: of one workload of its own, with cells in turn at rates, and perhaps a probe of staleness beside them.
    """
    cells = run.cells[(run.cells["kind"] == OPEN) & (run.cells["slices"] > 0) & (run.cells["condition"] == "")]
    workload, rate_per_s = str(cells["workload"].iloc[0]), float(cells["rate_per_s"].min())
    mix = Mix(float(cells["read_share"].iloc[0]), workload)
    after_ms = next((entry["after_ms"] for entry in run.manifest.get("staleness", [])), None)
    part = next(part for part in run.manifest["profile"]["open"] if workload in part["workloads"])
    processors = manifest.processors(run.manifest["machine"])
    found = []
    for block in sorted(cells["block"].unique()):
        statistics = run.statistics[run.statistics["block"] == block]
        loads = OpenLoads(statistics, f"{run.name}, start {block}", replicas(run), by)
        at_rate = cells[(cells["block"] == block) & (cells["rate_per_s"] == rate_per_s)]
        found.append(Service(
            run.name, int(block), loads.advise(mix, rate_per_s=rate_per_s),
            {f"{cell.read_cl}/{cell.write_cl}": segments_of(run, str(cell.cell_id)) for cell in at_rate.itertuples()},
            _stale_turns(run, mix, int(block), after_ms), after_ms, _closed(statistics, workload),
            part["segment_s"] + part["lead_in_s"],
            None if marked(at_rate, Mark.ELSEWHERE).any() else processors,
        ))  # fmt: skip
    return found


def _stale_turns(
    run: RecordedRun, mix: Mix, block: int, after_ms: float | None
) -> Mapping[str, Sequence[tuple[int, int]]]:
    """Return the counts of each turn of one start."""
    found = live_of(run, mix, None, after_ms, block=block)
    return found.stale if found else {}


def _closed(statistics: pd.DataFrame, workload: str) -> dict[str, float]:
    """Return mean latencies in a closed loop, by levels."""
    own = statistics[(statistics["workload"] == workload) & (statistics["kind"] == "workload")]
    own = own[own["rate_per_s"].isna()]
    names = own["read_cl"].astype(str) + "/" + own["write_cl"].astype(str)
    return dict(zip(names, own["latency_us"].astype(float), strict=True))


@dataclass(frozen=True, slots=True)
class Replayed:
    """A decision that was made again.

    Attributes
    ----------
    decision : Decision
    turns : int
        How many turns it took.
    """

    decision: Decision
    turns: int


def replayed(service: Service, limits: Limits, rounds: int, rng: np.random.Generator) -> Replayed:
    """Decide on drawn segments: at most so many `rounds` of turns, fewer for each setting that is known before."""
    error = verdicts.share_of_error(2 * len(service.choices), len(verdicts.looks(rounds)))
    segments, turns = dict[str, Segments](), 0
    for levels, own in service.segments.items():
        drawn = own.drawn(rounds, _TOGETHER, rng)
        enough = _enough(drawn, service.advice.by, limits.bound_ms, error, rounds)
        segments[levels], turns = drawn.first(enough), turns + enough
    stale = {levels: _drawn(own, rng) for levels, own in service.stale.items()} if limits.stale is not None else {}
    live = Live(segments=segments, stale=stale, looks=len(verdicts.looks(rounds)))
    advice = replace(service.advice, bound_ms=limits.bound_ms, survive=limits.survive)
    return Replayed(decide(advice, limits, live=live), turns + sum(map(len, stale.values())))


def _enough(drawn: Segments, by: str, bound_ms: float, error: float, rounds: int) -> int:
    """After how many turns a setting is left out: broken down, or known at a look."""
    doubtful = drawn.figure(by) > bound_ms * verdicts.MOST_BOUNDS / 3 or drawn.failed > 0
    for count in range(FEWEST, rounds + 1) if doubtful else verdicts.looks(rounds):
        own = drawn.first(count)
        if own.breaks_down(by, bound_ms):
            return count
        if count in verdicts.looks(rounds) and verdicts.is_settled(own.estimate(by, error), bound_ms):
            return count
    return rounds


def _drawn(counts: Sequence[tuple[int, int]], rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw as many turns of the probe again, in pairs as they came."""
    return [counts[place] for place in drawn_places(len(counts), len(counts), _TOGETHER, rng)]


def questions(service: Service, survive: int = 1) -> Iterator[Limits]:
    """Yield limits to ask of a service: bounds around its fastest strong setting, none stale and shares of them."""
    strong = [service.figure_ms(one.setting.levels) for one in service.advice.choices]
    base_ms = min(strong, default=float("nan"))
    for times in _BOUNDS if np.isfinite(base_ms) else ():
        for stale in _STALE:
            if stale is None or service.stale:
                after_ms = None if stale is None else service.after_ms
                yield Limits(bound_ms=base_ms * times, survive=survive, stale=stale, after_ms=after_ms)


#: Answers a question about a service: the levels to use, empty for none, or None where it does not know; and turns.
Policy = Callable[[Service, Limits, np.random.Generator], tuple[str | None, int]]


def answer(decision: Decision) -> str | None:
    """Return the levels that a decision names: empty where none meets the limits, None where that is not known."""
    winner = decision.winner
    return winner.choice.setting.levels if winner else "" if decision.outcome == NONE else None


def deciding(rounds: int) -> Policy:
    """Return the policy of `cassbook decide` with so many rounds of turns."""

    def policy(service: Service, limits: Limits, rng: np.random.Generator) -> tuple[str | None, int]:
        found = replayed(service, limits, rounds, rng)
        return answer(found.decision), found.turns

    return policy


def fixed_plan(rounds: int) -> Policy:
    """Return the policy of as many turns for each setting, and of the fastest whose figures meet the limits."""

    def policy(service: Service, limits: Limits, rng: np.random.Generator) -> tuple[str | None, int]:
        drawn = {levels: own.drawn(rounds, _TOGETHER, rng) for levels, own in service.segments.items()}
        seen = replace(
            service, segments=drawn, stale={levels: _drawn(own, rng) for levels, own in service.stale.items()}
        )
        able = [levels for levels in drawn if not seen.broken(levels, limits)]
        best = min(able, key=seen.figure_ms, default="")
        return best, rounds * len(drawn) + sum(map(len, service.stale.values()))

    return policy


def rule_of_thumb(service: Service, limits: Limits, rng: np.random.Generator) -> tuple[str | None, int]:
    """Take QUORUM for reads and writes, or LOCAL_QUORUM where there are several data centres, unasked."""
    local = "LOCAL_QUORUM/LOCAL_QUORUM"
    return local if local in service.choices else "QUORUM/QUORUM", 0


def closed_loop(service: Service, limits: Limits, rng: np.random.Generator) -> tuple[str | None, int]:
    """Take the papers' way: the setting whose quorums meet with the shortest mean latency in a closed loop."""
    strong = {levels: us for levels, us in service.closed_us.items() if service.choices[levels].strong}
    return (min(strong, key=lambda levels: strong[levels]), len(strong)) if strong else (None, 0)


def advised(service: Service, limits: Limits, rng: np.random.Generator) -> tuple[str | None, int]:
    """Take what `cassbook advise` recommends of the start's own figures, which have no interval."""
    found = replace(
        service.advice, survive=limits.survive, bound_ms=limits.bound_ms,
        choices=tuple(replace(one, bound_ms=limits.bound_ms) for one in service.advice.choices),
    ).recommended  # fmt: skip
    turns = sum(own.count for own in service.segments.values())
    return (found.setting.levels if found else ""), turns


def policies(rounds: int) -> dict[str, Policy]:
    """Return the policies that are compared, by what people call them."""
    return {
        DECIDE: deciding(rounds), FIXED: fixed_plan(rounds),
        "cassbook advise": advised, FASTEST: closed_loop, RULE: rule_of_thumb,
    }  # fmt: skip


def compare(found: Sequence[Service], rounds: int, times: int, seed: int) -> pd.DataFrame:
    """Ask every policy each question about each service, `times` times over, with segments drawn anew.

    Columns policy, service, start, bound_ms, stale, survive, levels (empty for none), known (whether it answered),
    broken (a limit, by what the whole start showed), beyond (one by more than the zone), missed (it named none although
    some setting meets all limits by more than the zone), regret (its figure over that of the best that meets them, less
    1; NaN where it broke one, named none, or none does), turns, minutes.
    """
    rows: list[dict[str, Any]] = []
    for number, service in enumerate(found):
        rng = np.random.default_rng([seed, number])
        for limits in questions(service):
            for name, policy in policies(rounds).items():
                for levels, turns in (policy(service, limits, rng) for _ in range(times)):
                    taken = {"turns": turns, "minutes": turns * service.turn_s / 60}
                    rows.append({"policy": name} | judged(service, limits, levels) | taken)
    return pd.DataFrame(rows)


def judged(service: Service, limits: Limits, levels: str | None) -> dict[str, Any]:
    """Hold an answer against what the whole start showed; keys as the columns of `compare`."""
    chosen, best_ms = bool(levels), service.best_ms(limits)
    broken = chosen and service.broken(str(levels), limits)
    clearly = any(not service.broken(one, limits, 1 / verdicts.ZONE) for one in service.choices)
    regret = service.figure_ms(str(levels)) / best_ms - 1 if chosen and not broken and np.isfinite(best_ms) else np.nan
    return {
        "service": service.name, "start": service.start,
        "bound_ms": limits.bound_ms, "stale": limits.stale, SURVIVE: limits.survive,
        "levels": levels or "", "known": levels is not None, "broken": broken,
        "beyond": chosen and service.broken(str(levels), limits, verdicts.ZONE), "missed": levels == "" and clearly,
        "regret": regret,
    }  # fmt: skip


def _mean(by_service: pd.Series) -> Estimate:
    """Return the mean over services; NaN where none has the figure."""
    known = by_service.dropna()
    return Estimate.mean(known) if len(known) else Estimate(np.nan, np.nan, np.nan, 0)


def counted(answers: pd.DataFrame, groups: str) -> dict[str, Proportion]:
    """Return the share of all answers that each of `SHARES` has; `groups`: the column whose values share their luck."""
    of = answers.assign(unknown=~answers["known"]).groupby(groups, sort=False)
    return {name: Proportion.grouped(of[name].sum(), of.size()) for name in SHARES}


def summary(answers: pd.DataFrame) -> pd.DataFrame:
    """Return how each policy did, with intervals between services: starts of one service share its luck.

    `answers`: from `compare`. Index policy; columns broken, beyond, missed, unknown (Proportions of all answers), and
    regret and minutes (Estimates: means over services).
    """
    rows = {}
    for policy, own in answers.groupby("policy", sort=False):
        means = own.groupby("service", sort=False)[["regret", "minutes"]].mean()
        rows[policy] = counted(own, "service") | {str(name): _mean(means[name]) for name in means}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")
