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
    from cassbook.advisor.question import Answered, Question
    from cassbook.profile.open import Figure
    from cassbook.profile.profile import Profile

#: A person stops nodes.
BY_HAND = "by-hand"


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
    from cassbook.advisor.decision import Limits
    from cassbook.advisor.question import Question

    if output is not None:
        check_page(output, force)
    limits = Limits(bound_ms=bound_ms, survive=survive, stale=stale, after_ms=after_ms)
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
    question = Question(
        limits=limits, by=by, rate_per_s=rate_per_s, of_capacity=of_capacity, reads=reads, workload=workload,
        fresh_run=fresh_run,
    )  # fmt: skip
    if profile is not None:
        measuring = Measuring(profile, minutes, engine, folder, resume, present, traces, faults != "none")
        measured, workload = measuring.measured(question, existing)
        name, question = str(measured), replace(question, workload=workload)
        question.note(measured)
        if faults != "none":
            measuring.struck(measured, question, existing if faults == BY_HAND else None)
    _answer(question.answered(str(name)), form, output)


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
        from cassbook.advisor.question import is_complete
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
        if self.resume and is_complete(folder):  # what is left is of the faults behind it
            _check_same(folder, wanted)
            return folder, workload
        if there is not None:
            allowed_mb = confirm(announce(there, wanted, folder, self.resume, log), existing)
        measure(wanted, folder, resume=self.resume, log=log, existing=there, allowed_mb=allowed_mb)
        return folder, workload

    def struck(self, measured: Path, question: Question, existing: dict[str, Any] | None) -> None:
        """Strike a replica under the two best settings and the present one; by hand where `existing` has hosts."""
        from cassbook.advisor.question import is_complete, struck_beside
        from cassbook.core.releases import nearest
        from cassbook.lab.run import decision_profile
        from cassbook.lab.run.measure import measure

        found = question.answered(measured)
        given = decision_profile.read(self.profile, self.engine)
        best = [one.choice.setting.levels for one in found.decision.options]
        settings = list(dict.fromkeys([*best[:2], *([self.present] if self.present else [])]))
        engine, hosts = nearest(str(found.run.manifest["engine"])), asked_hosts(existing, None) if existing else None
        wanted = decision_profile.trouble_for(
            given, workload=str(question.workload), rate_per_s=question.rate_per_s or 0.0, settings=settings,
            engine=engine, by_hand=hosts is not None,
        )  # fmt: skip
        folder = struck_beside(measured)
        if is_complete(folder):
            return
        there, names = None, ", ".join(settings)
        if hosts is None:
            log(f"faults: a replica is killed, and one hangs, once under each of {names}, on clusters of {engine} here")
        else:
            log(f"faults: you are asked to stop a node, once under each of {names}")
            wanted, there = look(hosts, wanted, log, lambda version: False)
            announce(there, wanted, folder, folder.is_dir(), log)
        measure(wanted, folder, resume=folder.is_dir(), log=log, existing=there)


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
