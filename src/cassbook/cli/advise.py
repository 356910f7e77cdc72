"""`cassbook advise`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from cassbook.cli.options import Number, by_option, format_option
from cassbook.core.errors import InputError

if TYPE_CHECKING:
    from cassbook.advisor.latency_map import LatencyMap


@click.command()
@click.option("--run", "name", required=True, metavar="RUN", help="Recorded run, a run's folder, or a folder of logs.")
@click.option("--threads", "--concurrency", "threads", type=Number(), help="Requests in flight.")
@click.option("--of-capacity", type=Number(), metavar="S", help="Load under open arrivals, as a share of what the "
              "weakest setting carries, above 0.")  # fmt: skip
@click.option(
    "--rate", "rate_per_s", type=Number(), metavar="R", help="Load under open arrivals, in requests a second."
)
@click.option("--reads", type=Number(), help="Share of reads, 0 to 1.")
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="NAME",
    help="Workload of the run to advise for, at its own mix, instead of reads and updates. Several on the same tables, "
    "given one by one, make a map over their shares of reads.",
)
@click.option("--map", "whole", is_flag=True, help="Map of the whole domain that the run measured, instead of a point.")
@click.option(
    "--open", "is_open", is_flag=True, help="With --map: over shares of capacity, where a run has threads too."
)
@click.option("--weak", is_flag=True, help="By rate: settings too that are not strong and may return stale reads.")
@click.option("--nodes", type=click.IntRange(1), help="Nodes to predict for, RUN being a calibration.")
@click.option("--survive", type=click.IntRange(0), default=1, help="Dead replicas to survive. Default: 1.")
@by_option("Figure of the latency that settings are judged by.")
@click.option("--bound-ms", type=Number(), help="Longest latency to keep, in ms: which settings do.")
@click.option("--replication", type=click.IntRange(1), help="Replication factor, for logs. Default: the run's, or 3.")
@format_option("text", "json", "csv")
def advise(
    name: str, threads: float | None, of_capacity: float | None, rate_per_s: float | None, reads: float | None,
    workloads: tuple[str, ...], whole: bool, is_open: bool, weak: bool, nodes: int | None, survive: int, by: str,
    bound_ms: float | None, replication: int | None, form: str,
) -> None:  # fmt: skip
    """Recommend a strong setting for a load: the fastest that works with a replica down.

    A faster setting that would stop is named, and recommended only with --survive 0. Between measured points latencies
    are interpolated; outside them there is no answer. A percentile (--by) of a mix comes from distributions mixed in
    proportion to operations. With --bound-ms the answer says which settings keep the bound. With --nodes latencies are
    not measured but predicted by a calibrated queueing network, for a cluster that need not exist.

    With --of-capacity or --rate the load is open: requests arrive whether or not earlier ones are answered, and the
    response time counts from when each was due. The answer says where each setting breaks the bound, and its headroom.
    """
    is_open = is_open or (whole and not nodes and not workloads and _is_open(name))
    if of_capacity is not None or rate_per_s is not None or is_open:
        _check_open(threads, of_capacity, rate_per_s, workloads, whole, is_open, nodes, bound_ms)
        load = {"of_capacity": of_capacity, "rate_per_s": rate_per_s}
        mix = {"read_share": reads, "workload": next(iter(workloads), None)}
        click.echo(_by_rate(name, mix, load, weak, form, by=by, bound_ms=bound_ms, survive=survive,
                            replicas=replication))  # fmt: skip
        return
    if weak:
        raise InputError("--weak: is for a load by --of-capacity or --rate; threads are answered for strong settings")
    from cassbook.advisor.latency_map import LatencyMap
    from cassbook.cli.answers import advise as answer

    alone = len(workloads) == 1
    _check_point(name, threads, reads, whole, alone)
    _check_bound(bound_ms, whole)
    if nodes:
        if workloads:
            raise InputError("--workload: not with --nodes, which predicts reads and updates of one row")
        if by != "mean":
            raise InputError(f"--by {by}: not with --nodes, whose network predicts means")
        from cassbook.advisor import from_calibration
        from cassbook.records.calibration import CalibrationRun

        if replication not in {None, from_calibration.REPLICATION}:
            from cassbook.shown.replications import answering

            raise InputError(
                f"replication: {replication}; --nodes predicts for {from_calibration.REPLICATION}. "
                f"With {replication}: {'; '.join(answering(replication))}"
            )
        latency_map = from_calibration.latency_map(CalibrationRun(name), nodes)
    else:
        latency_map = LatencyMap.of_run(name, replication, workloads, by)
    if alone:
        reads = latency_map.workload_share
    if threads is None or reads is None:
        advice = latency_map.advise_all(survive)
        as_file = form == "json"
        click.echo(_as_file(latency_map, answer.points(advice)) if as_file else answer.domain(advice, form))
    else:
        click.echo(answer.point(latency_map.advise(threads, reads, survive), form, bound_ms))


def _as_file(latency_map: LatencyMap, points: list[dict[str, Any]]) -> str:
    """Return what the small adviser reads, with what is said of each point for people."""
    from cassbook.advisor import map_file

    return json.dumps(map_file.of_map(latency_map, points), indent=2)


def _is_open(name: str) -> bool:
    """Whether a run holds cells under open arrivals alone."""
    from cassbook.core.schema import OPEN
    from cassbook.ingest.folder import open_run

    return set(open_run(name).statistics["kind"]) == {OPEN}


def _check_open(
    threads: float | None, of_capacity: float | None, rate_per_s: float | None, workloads: tuple[str, ...],
    whole: bool, is_open: bool, nodes: int | None, bound_ms: float | None,
) -> None:  # fmt: skip
    """Refuse what does not go with a load under open arrivals.

    Raises InputError, saying what to give instead.
    """
    if of_capacity is not None and rate_per_s is not None:
        raise InputError("--rate: not with --of-capacity; give the load as a rate or as a share of what is carried")
    if is_open != whole:
        raise InputError("--open: goes with --map alone; for one load give --of-capacity or --rate without --map")
    if whole and (of_capacity is not None or rate_per_s is not None):
        raise InputError("--map --open: is for all loads that were measured; leave --of-capacity and --rate out")
    if threads is not None:
        raise InputError("--threads: not with a load by rate, which keeps no number of requests in flight")
    if nodes:
        raise InputError("--nodes: not with a load by rate; cassbook predict --rate asks the network of a calibration")
    if len(workloads) > 1:
        raise InputError("--workload: one by rate, at its own mix")
    if of_capacity is not None and not of_capacity > 0:
        raise InputError(f"--of-capacity: {of_capacity:g} is not above 0; give a share such as 0.4")
    if rate_per_s is not None and not rate_per_s > 0:
        raise InputError(f"--rate: {rate_per_s:g} is not above 0; give requests a second")
    _check_bound(bound_ms, whole=False)


def _by_rate(
    name: str, mix: dict[str, Any], load: dict[str, Any], weak: bool, form: str, **how: Any
) -> str:  # fmt: skip
    """Answer for a load under open arrivals, or without one for all that were measured.

    Raises InputError if the run has no answer.
    """
    from cassbook.advisor import map_file
    from cassbook.advisor.open_advice import open_advice, open_loads, open_map
    from cassbook.ingest.folder import open_run
    from cassbook.shown import rate_answers

    if mix["workload"] is not None and mix["read_share"] is not None:
        raise InputError("--reads: the mix is a part of the workload; leave it out")
    run = open_run(name)
    if all(asked is None for asked in load.values()):
        points = open_map(run, **mix, **how)
        if form != "json":
            return rate_answers.load_map(points, form, weak)
        loads = open_loads(run, how["by"], how["replicas"])
        mixes = list(dict.fromkeys(one.mix for one in points))
        rows = rate_answers.load_rows(points, weak)
        return json.dumps(map_file.of_loads(run, loads, mixes, how["bound_ms"], rows), indent=2)
    return rate_answers.point(open_advice(run, **mix, **load, **how), form, weak)


def _check_point(name: str, threads: float | None, reads: float | None, whole: bool, alone: bool) -> None:
    """Refuse a point of which too little is said, or too much.

    Raises InputError, saying what goes together.
    """
    if alone and reads is not None:
        raise InputError("--reads: the mix is a part of the workload; leave it out, or give several with --workload")
    if alone and whole != (threads is None):
        raise InputError("give --workload and either --threads or --map")
    if not alone and (whole != (threads is None and reads is None) or (threads is None) != (reads is None)):
        raise InputError(f"give both --threads and --reads, or --map alone{_workloads_of(name)}")


def _check_bound(bound_ms: float | None, whole: bool) -> None:
    """Refuse a bound of a map, and one that nothing can keep.

    Raises InputError, saying what to give instead.
    """
    if whole and bound_ms is not None:
        raise InputError("--bound-ms: a bound is answered at a point; give --threads and --reads instead of --map")
    if bound_ms is not None and not bound_ms > 0:
        raise InputError(f"--bound-ms: {bound_ms:g} is not above 0; give the longest latency to keep, in ms")


def _workloads_of(name: str) -> str:
    """Name the workloads of a run, each of which is advised for without --reads."""
    from cassbook.advisor.map_cells import shares
    from cassbook.ingest.folder import open_run

    cells = open_run(name).statistics
    known = list(shares(cells))
    if not known:
        return ""
    own = f"--workload {' or '.join(known)} with --threads or --map"
    return (
        f"; or {own}" if cells["kind"].isin(["pure", "mixed"]).any() else f"; {name} holds workloads alone: give {own}"
    )
