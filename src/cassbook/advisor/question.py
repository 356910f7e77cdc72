"""A service's question, which is a load and limits, answered by a run that has measured it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from cassbook.advisor import decision as decisions
from cassbook.advisor import freshness
from cassbook.advisor.decision import Limits
from cassbook.advisor.live import live_of
from cassbook.advisor.open_advice import open_loads
from cassbook.core.errors import InputError
from cassbook.ingest.folder import open_run
from cassbook.latency.under_trouble import dead_replica, times_all_well
from cassbook.records import manifest
from cassbook.records.kinds import RUN
from cassbook.records.results import replicas

if TYPE_CHECKING:
    from pathlib import Path

    from cassbook.advisor.decision import Decision
    from cassbook.advisor.freshness import Known
    from cassbook.latency.open_choices import Mix, OpenAdvice
    from cassbook.latency.open_loads import OpenLoads
    from cassbook.latency.under_trouble import ByTrouble
    from cassbook.profile.open import Figure
    from cassbook.records.run import RecordedRun

#: Where a run's manifest says what it was measured to answer.
_ASKED = "asked"
#: Behind the name of a run, in the folder beside it, where replicas were struck.
_STRUCK = "-faults"
#: Replicas of what our record of the load has under trouble.
_OF_OURS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A load and limits; arguments as of `OpenLoads.advise` and `OpenLoads.mix`.

    Attributes
    ----------
    limits : Limits
    by : str
        The figure of the response time that has to keep the bound.
    rate_per_s, of_capacity : float, optional
        The load: one of them.
    reads : float, optional
        Share of reads of YCSB's table.
    workload : str, optional
        Or a workload, at its own mix.
    fresh_run : str, optional
        Record of staleness; by default ours of the same release.
    """

    limits: Limits
    by: Figure
    rate_per_s: float | None = None
    of_capacity: float | None = None
    reads: float | None = None
    workload: str | None = None
    fresh_run: str | None = None

    @classmethod
    def of(cls, run: RecordedRun) -> Self:
        """Return what a run of `cassbook decide --profile` was measured to answer; InputError for another run."""
        asked = run.manifest.get(_ASKED)
        if asked is None:
            raise InputError(f"{run.name}: was not measured by `cassbook decide --profile`, so nothing was asked of it")
        return cls(**asked | {"limits": Limits(**asked["limits"])})

    def note(self, folder: Path) -> None:
        """Write into the manifest of a complete run that it was measured to answer this; what it says already stays."""
        manifest.write(folder, {_ASKED: asdict(self)} | manifest.read(folder, RUN))

    def answered(self, name: str | Path) -> Answered:
        """Decide by a run, and by the one with faults beside it, if there is one.

        Raises InputError for what is no run, does not have this load, or where the question contradicts itself.
        """
        if self.workload is not None and self.reads is not None:
            raise InputError("--reads: the mix is a part of the workload; leave it out")
        run, limits = open_run(name), self.limits
        loads = open_loads(run, self.by)
        mix = loads.mix(self.reads, self.workload, between=True)
        asked: dict[str, Any] = {"of_capacity": self.of_capacity, "rate_per_s": self.rate_per_s}
        advice = loads.advise(mix, **asked, bound_ms=limits.bound_ms, survive=limits.survive)
        known = _known(str(run.manifest.get("engine", "")), self.fresh_run, limits)
        struck = struck_beside(run.folder)
        statistics = open_run(struck).statistics if is_complete(struck) else run.statistics
        dead = dead_replica(statistics, mix, advice.rates_per_s, self.by)
        live = live_of(run, mix, self.rate_per_s, limits.after_ms)
        recorded = _recorded_trouble(run, mix, self.by)
        found = decisions.decide(advice, limits, known, dead, live, recorded=recorded)
        others = _others(loads, mix, advice, limits)
        lives = {words: live_of(run, other.mix, other.rate_per_s, limits.after_ms) for words, other in others}
        return Answered(run, loads, mix, found, decisions.changes(others, found, known, lives))


@dataclass(frozen=True, slots=True)
class Answered:
    """A decision, what would change it, and the run that it is from."""

    run: RecordedRun
    loads: OpenLoads
    mix: Mix
    decision: Decision
    changes: list[tuple[str, Decision]]


def struck_beside(folder: Path) -> Path:
    """Return where a run lies in which replicas were struck under what another run measured."""
    return folder.with_name(f"{folder.name}{_STRUCK}")


def is_complete(folder: Path) -> bool:
    """Whether a folder holds a run that was measured to its end."""
    return (folder / manifest.NAME).is_file() and bool(manifest.read(folder, RUN)["complete"])


def _known(engine: str, name: str | None, limits: Limits) -> Known | None:
    """Open what is known of staleness, where a limit asks for it: what is named, or our record of the release."""
    if limits.stale is None:
        if name is not None:
            raise InputError("--fresh-run: goes with --stale and --after-ms")
        return None
    ours = f"stale-three-{engine}"
    if name is None and manifest.find(ours) is None:
        return None
    return freshness.of_run(name or ours)


def _recorded_trouble(run: RecordedRun, mix: Mix, by: Figure) -> tuple[str, ByTrouble]:
    """Return what our record of the release says of a dead replica, of three in one data centre; '' without one."""
    ours = f"load-{run.manifest.get('engine', '')}"
    own = run.name == ours and mix.between is None  # which has its own cells under trouble
    if replicas(run) != _OF_OURS or by == "p99.9" or own or manifest.find(ours) is None:
        return "", {}
    return ours, times_all_well(open_run(ours).statistics, mix.read_share, by)


def _others(loads: OpenLoads, mix: Mix, advice: OpenAdvice, limits: Limits) -> list[tuple[str, OpenAdvice]]:
    """Return what the run says of other loads of the same mix, and of other mixes at the same load."""
    how: dict[str, Any] = {"bound_ms": limits.bound_ms, "survive": limits.survive}
    found = [
        (f"at {share:g} of capacity", loads.advise(mix, of_capacity=share, **how))
        for share in loads.shares(mix) if share != advice.of_capacity
    ] if advice.of_capacity is not None else [
        (f"at {rate:g} requests per second", loads.advise(mix, rate_per_s=rate, **how))
        for rate in loads.rates_per_s(mix) if rate != advice.rate_per_s
    ]  # fmt: skip
    asked: dict[str, Any] = {"of_capacity": advice.of_capacity, "rate_per_s": advice.rate_per_s}
    for other in loads.mixes:
        if other != mix and not other.workload and not mix.workload:
            try:
                found.append((f"with {other.name}", loads.advise(other, **asked, **how)))
            except InputError:  # not measured at this load
                continue
    return found
