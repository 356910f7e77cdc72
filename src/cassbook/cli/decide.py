"""`cassbook decide`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cassbook.cli.options import by_option, format_option
from cassbook.core.errors import InputError

if TYPE_CHECKING:
    from cassbook.advisor.decision import Limits
    from cassbook.advisor.freshness import Known
    from cassbook.latency.open_loads import Mix, OpenAdvice, OpenLoads


@click.command()
@click.option("--run", "name", required=True, metavar="RUN", help="Recorded run under open arrivals, or its folder.")
@click.option("--rate", "rate_per_s", type=float, metavar="R", help="Load in requests per second.")
@click.option("--of-capacity", type=float, metavar="S", help="Load as a share of what the weakest setting carries.")
@click.option("--reads", type=float, help="Share of reads, 0 to 1; or a workload.")
@click.option("--workload", metavar="NAME", help="Workload of the run, at its own mix.")
@click.option("--bound-ms", type=float, required=True, help="Longest response time to keep, in ms.")
@by_option("Figure of the response time that has to keep it.", default="p99")
@click.option("--survive", type=click.IntRange(0), default=1, show_default=True, help="Dead replicas to survive.")
@click.option("--stale", type=float, metavar="P", help="Largest share of stale reads. Default: none may be stale.")
@click.option("--after-ms", type=float, help="With --stale: age at which a write has to be seen, in ms.")
@click.option("--fresh-run", metavar="RUN", help="Record of staleness. Default: ours of the same release.")
@format_option("text", "json")
def decide(
    name: str, rate_per_s: float | None, of_capacity: float | None, reads: float | None, workload: str | None,
    bound_ms: float, by: str, survive: int, stale: float | None, after_ms: float | None, fresh_run: str | None,
    form: str,
) -> None:  # fmt: skip
    """Decide which setting a service should use, by its load and its limits, with the evidence.

    Each limit is held against each setting that the run measured: PASS, FAIL or UNKNOWN, with what would decide it. The
    fastest setting that meets all of them wins. Exit code 0: one was found; 3: none meets the limits; 4: not known.
    """
    from cassbook.advisor import decision as decisions
    from cassbook.advisor import map_file
    from cassbook.advisor.open_advice import open_loads
    from cassbook.cli.answers import decide as answer
    from cassbook.ingest.folder import open_run
    from cassbook.latency.under_trouble import dead_replica

    limits = decisions.Limits(bound_ms=bound_ms, survive=survive, stale=stale, after_ms=after_ms)
    if workload is not None and reads is not None:
        raise InputError("--reads: the mix is a part of the workload; leave it out")
    run = open_run(name)
    loads = open_loads(run, by)
    mix = loads.mix(reads, workload)
    advice = loads.advise(mix, of_capacity=of_capacity, rate_per_s=rate_per_s, bound_ms=bound_ms, survive=survive)
    known = _known(str(run.manifest.get("engine", "")), fresh_run, limits)
    dead = dead_replica(run.statistics, mix, advice.rates_per_s, by)
    found = decisions.decide(advice, limits, known, dead)
    changes = decisions.changes(_others(loads, mix, advice, limits), found, known)
    if form == "json":
        click.echo(answer.as_json(found, changes, map_file.of_loads(run, loads, [mix], bound_ms)))
    else:
        click.echo(answer.text(found, changes))
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
