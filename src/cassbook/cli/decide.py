"""`cassbook decide`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cassbook.cli.hosts import announce, asked_hosts, confirm, host_options, look
from cassbook.cli.options import Number, NumberRange, by_option, check_page, format_option, log, output_option
from cassbook.core.errors import InputError

if TYPE_CHECKING:
    from cassbook.advisor.decision import Decision, Limits
    from cassbook.advisor.freshness import Known
    from cassbook.latency.open_choices import Mix, OpenAdvice
    from cassbook.latency.open_loads import OpenLoads
    from cassbook.latency.under_trouble import ByTrouble
    from cassbook.profile.open import Figure
    from cassbook.profile.profile import Profile
    from cassbook.records.run import RecordedRun

#: A person stops nodes.
BY_HAND = "by-hand"
#: Behind the name of a run, in the folder beside it, where replicas were struck.
_STRUCK = "-faults"
#: Replicas of what our record of the load has under trouble.
_OF_OURS = 3


@click.command()
@click.option("--run", "name", metavar="RUN", help="Recorded run under open arrivals, or its folder.")
@click.option("--profile", metavar="FILE", help="Or measure: profile with your own workload, a .yaml file.")
@click.option("--rate", "rate_per_s", type=Number(), metavar="R", help="Load in requests per second.")
@click.option("--of-capacity", type=Number(), metavar="S", help="With --run: load as a share of what the weakest "
              "setting carries.")  # fmt: skip
@click.option("--reads", type=Number(), help="With --run: share of reads, 0 to 1, that was measured or "
              "lies between two that were; or a workload.")  # fmt: skip
@click.option("--workload", metavar="NAME", help="Workload, at its own mix. Default: the profile's only one.")
@click.option("--bound-ms", type=Number(), required=True, help="Longest response time to keep, in ms.")
@by_option("Figure of the response time that has to keep it.", default="p99")
@click.option("--survive", type=click.IntRange(0), default=1, show_default=True, help="Dead replicas to survive.")
@click.option("--stale", type=Number(), metavar="P", help="Largest share of stale reads. Default: none may be stale.")
@click.option("--after-ms", type=Number(), help="With --stale: age at which a write has to be seen, in ms.")
@click.option("--fresh-run", metavar="RUN", help="Record of staleness. Default: ours of the same release.")
@click.option("--minutes", type=NumberRange(min=1), default=20.0, show_default=True,
              help="With --profile: how long to measure, about.")  # fmt: skip
@click.option("--engine", help="With --profile on clusters started here: Cassandra version. Default: the profile's.")
@click.option("--folder", type=click.Path(path_type=Path), help="With --profile: run folder. Default: in _build/runs.")
@click.option("--resume", is_flag=True, help="With --profile: go on with an interrupted measurement.")
@click.option("--faults", type=click.Choice(["none", "local", BY_HAND]), default="none", show_default=True,
              help="With --profile, once under each of the two best settings: local kills a replica, and has one hang, "
              "on clusters started here; by-hand asks you to stop a node of --hosts and to start it.")  # fmt: skip
@click.option("--present", metavar="LEVELS", help="With --faults: the setting that the service has now, such as "
              "QUORUM/ONE, is struck too.")  # fmt: skip
@click.option("--traces", is_flag=True, help="With --hosts and --stale: have the cluster trace some requests of the "
              "probe, for a prediction next to what it counts. Clusters started here do.")  # fmt: skip
@output_option("HTML page to write too: this answer first, then what was measured.")
@click.option("--force", is_flag=True, help="Overwrite the output. Default: refuse if it exists.")
@format_option("text", "json")
@host_options
def decide(
    name: str | None, profile: str | None, rate_per_s: float | None, of_capacity: float | None, reads: float | None,
    workload: str | None, bound_ms: float, by: Figure, survive: int, stale: float | None, after_ms: float | None,
    fresh_run: str | None, minutes: float, engine: str | None, folder: Path | None, resume: bool,
    faults: str, present: str | None, traces: bool, output: Path | None, force: bool, form: str, **existing: Any,
) -> None:  # fmt: skip
    """Decide which setting a service should use, by its load and its limits, with the evidence.

    Each limit is held against each setting that was measured: PASS, FAIL or UNKNOWN, with what would decide it. The
    fastest setting that meets all of them wins. With --run that is a recorded run; with --profile the statements of a
    service are measured, on clusters started here or, with --hosts, on yours, never above 1.25 times the rate there.
    Exit code 0: a setting was found; 3: none meets the limits; 4: not known.
    """
    from cassbook.advisor import decision as decisions

    if output is not None:
        check_page(output, force)
    limits = decisions.Limits(bound_ms=bound_ms, survive=survive, stale=stale, after_ms=after_ms)
    if (name is None) == (profile is None):
        raise InputError("give --run, a recorded run, or --profile, the statements of a service to measure; not both")
    if profile is not None:
        if of_capacity is not None or reads is not None or rate_per_s is None:
            raise InputError("--profile: give --rate, the service's requests per second; its workload has the mix")
        if not rate_per_s > 0:
            raise InputError(f"--rate: {rate_per_s:g} is not above 0; give the service's requests per second")
    elif any(existing.values()) or engine or folder or resume or faults != "none" or present:
        raise InputError(
            "--hosts and its options, --engine, --folder, --resume, --faults and --present: go with --profile"
        )
    if traces and not (existing["hosts"] and stale is not None):
        raise InputError("--traces: goes with --hosts, --stale and --after-ms; clusters started here trace anyway")
    if faults == BY_HAND and not (existing["hosts"] and sys.stdin.isatty()):
        raise InputError("--faults by-hand: needs --hosts, and a terminal at which somebody answers")
    question = Question(rate_per_s, of_capacity, reads, workload, by, limits, fresh_run)
    if profile is not None:
        measuring = Measuring(profile, minutes, engine, folder, resume, present, traces, faults != "none")
        measured, workload = measuring.measured(question, existing)
        name, question = str(measured), replace(question, workload=workload)
        if faults != "none":
            measuring.struck(measured, question, existing if faults == BY_HAND else None)
    _answer(question.decided(str(name)), form, output)


@dataclass(frozen=True, slots=True)
class Question:
    """A load and limits."""

    rate_per_s: float | None
    of_capacity: float | None
    reads: float | None
    workload: str | None
    by: Figure
    limits: Limits
    fresh_run: str | None

    def decided(self, name: str) -> Answered:
        """Decide by a run, and by the one with faults beside it, if there is one."""
        from cassbook.advisor import decision as decisions
        from cassbook.advisor.live import live_of
        from cassbook.advisor.open_advice import open_loads
        from cassbook.ingest.folder import open_run
        from cassbook.latency.under_trouble import dead_replica

        if self.workload is not None and self.reads is not None:
            raise InputError("--reads: the mix is a part of the workload; leave it out")
        run, limits = open_run(name), self.limits
        loads = open_loads(run, self.by)
        mix = loads.mix(self.reads, self.workload, between=True)
        asked: dict[str, Any] = {"of_capacity": self.of_capacity, "rate_per_s": self.rate_per_s}
        advice = loads.advise(mix, **asked, bound_ms=limits.bound_ms, survive=limits.survive)
        known = _known(str(run.manifest.get("engine", "")), self.fresh_run, limits)
        struck = run.folder.with_name(f"{run.folder.name}{_STRUCK}")
        statistics = open_run(struck).statistics if _is_complete(struck) else run.statistics
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


@dataclass(frozen=True, slots=True)
class Measuring:
    """How a service's profile is measured."""

    profile: str
    minutes: float
    engine: str | None
    folder: Path | None
    resume: bool
    present: str | None
    traces: bool
    faults: bool

    def measured(self, question: Question, existing: dict[str, Any]) -> tuple[Path, str]:
        """Measure the workload, or what is left of it; return the run folder and the workload."""
        from cassbook.core.consistency import setting
        from cassbook.core.paths import project_root
        from cassbook.lab.run import decision_profile
        from cassbook.lab.run.measure import measure

        hosts, limits = asked_hosts(existing, self.engine), question.limits
        given = decision_profile.read(self.profile, self.engine)
        workload = decision_profile.workload_of(given, question.workload, reads=limits.stale is not None)
        if self.present is not None:
            setting(self.present, given.cluster.replication_factor)
        if self.faults and given.distance is not None:
            raise InputError("--faults: not with distance, where no node is struck; leave it out")
        wanted = decision_profile.profile_for(
            given, workload=workload, rate_per_s=question.rate_per_s or 0.0, by=question.by, bound_ms=limits.bound_ms,
            minutes=self.minutes, after_ms=limits.after_ms, survive=limits.survive, ours=hosts is None,
            traces=hosts is None or self.traces, data_centres=1 + len(hosts.other_centres if hosts else ()),
        )  # fmt: skip
        decision_profile.check_limits(wanted.replicas, limits.survive, limits.stale is not None)
        there, allowed_mb = None, None
        if hosts is not None:
            wanted, there = look(hosts, wanted, log, lambda version: False)
        where = "" if hosts is None else "existing-"
        folder = self.folder or project_root() / "_build" / "runs" / f"{wanted.name}-{where}{wanted.engine}"
        if self.resume and _is_complete(folder):  # what is left is of the faults behind it
            _check_same(folder, wanted)
            return folder, workload
        if there is not None:
            allowed_mb = confirm(announce(there, wanted, folder, self.resume, log), existing)
        measure(wanted, folder, resume=self.resume, log=log, existing=there, allowed_mb=allowed_mb)
        return folder, workload

    def struck(self, measured: Path, question: Question, existing: dict[str, Any] | None) -> None:
        """Strike a replica under the two best settings and the present one; by hand where `existing` has hosts."""
        from cassbook.core.releases import nearest
        from cassbook.lab.run import decision_profile
        from cassbook.lab.run.measure import measure

        found = question.decided(str(measured))
        given = decision_profile.read(self.profile, self.engine)
        best = [one.choice.setting.levels for one in found.decision.options]
        settings = list(dict.fromkeys([*best[:2], *([self.present] if self.present else [])]))
        engine, hosts = nearest(str(found.run.manifest["engine"])), asked_hosts(existing, None) if existing else None
        wanted = decision_profile.trouble_for(
            given, workload=str(question.workload), rate_per_s=question.rate_per_s or 0.0, settings=settings,
            engine=engine, by_hand=hosts is not None,
        )  # fmt: skip
        folder = measured.with_name(f"{measured.name}{_STRUCK}")
        if _is_complete(folder):
            return
        there, names = None, ", ".join(settings)
        if hosts is None:
            log(f"faults: a replica is killed, and one hangs, once under each of {names}, on clusters of {engine} here")
        else:
            log(f"faults: you are asked to stop a node, once under each of {names}")
            wanted, there = look(hosts, wanted, log, lambda version: False)
            announce(there, wanted, folder, folder.is_dir(), log)
        measure(wanted, folder, resume=folder.is_dir(), log=log, existing=there)


def _is_complete(folder: Path) -> bool:
    from cassbook.records import manifest
    from cassbook.records.kinds import RUN

    return (folder / "manifest.json").is_file() and bool(manifest.read(folder, RUN)["complete"])


def _check_same(folder: Path, wanted: Profile) -> None:
    """Refuse (InputError) a complete run of another profile: it would answer another question."""
    from cassbook.records import manifest
    from cassbook.records.kinds import RUN

    if manifest.read(folder, RUN)["profile"] != wanted.model_dump(mode="json"):
        raise InputError(
            f"{folder}: was measured for another profile, rate, bound or --minutes; leave --resume out and name "
            "another --folder"
        )


def _answer(answered: Answered, form: str, output: Path | None) -> None:
    """Print a decision, write its page, and end with its exit code."""
    from cassbook.advisor import map_file
    from cassbook.cli.answers import decide as answer

    found, changes = answered.decision, answered.changes
    if form == "json":
        adviser = map_file.of_loads(answered.run, answered.loads, [answered.mix], found.limits.bound_ms)
        click.echo(answer.as_json(found, changes, adviser))
    else:
        click.echo(answer.text(found, changes))
    if output is not None:
        from cassbook.book.report import page
        from cassbook.core.files import write_text

        write_text(output, page([answered.run], answer.parts(found, changes)))
        log(f"written: {output}")
    if found.outcome:
        raise SystemExit(found.outcome)


def _known(engine: str, name: str | None, limits: Limits) -> Known | None:
    """Open what is known of staleness, where a limit asks for it: what is named, or our record of the release."""
    if limits.stale is None:
        if name is not None:
            raise InputError("--fresh-run: goes with --stale and --after-ms")
        return None
    from cassbook.advisor.freshness import of_run
    from cassbook.records import manifest

    ours = f"stale-three-{engine}"
    if name is None and manifest.find(ours) is None:
        return None
    return of_run(name or ours)


def _recorded_trouble(run: RecordedRun, mix: Mix, by: Figure) -> tuple[str, ByTrouble]:
    """Return what our record of the release says of a dead replica, of three in one data centre; '' without one."""
    from cassbook.ingest.folder import open_run
    from cassbook.latency.under_trouble import times_all_well
    from cassbook.records import manifest
    from cassbook.records.results import replicas

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
