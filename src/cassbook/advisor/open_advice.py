"""Advice by rate: what a run under open arrivals says of a share of capacity, or of a rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassbook.advisor.advice import SURVIVE
from cassbook.core.errors import InputError
from cassbook.latency.open_choices import OpenAdvice
from cassbook.latency.open_loads import OpenLoads
from cassbook.latency.percentiles import with_tails
from cassbook.records.results import replicas as replicas_of_run
from cassbook.records.results import replication

if TYPE_CHECKING:
    from cassbook.records.run import RecordedRun

_REPLICAS = 3


def open_loads(run: RecordedRun, by: str = "mean", replicas: int | None = None) -> OpenLoads:
    """Return the curves of a run: response time over the rate, of each setting in each block.

    Parameters
    ----------
    run : RecordedRun
    by : str
        'mean', 'p50', 'p95', 'p99' or 'p99.9'.
    replicas : int, optional
        The replication factor, for logs. Default: what the manifest says, or 3.

    Raises
    ------
    InputError
        As `OpenLoads`, and for another replication factor than that of the run.
    """
    known = replication(run)
    if replicas is not None and known not in {None, replicas}:
        raise InputError(f"replication: {run.name} was measured with replication {known}, not {replicas}")
    statistics = run.statistics
    if by == "p99.9" and "rate_per_s" in statistics and statistics["rate_per_s"].notna().any():
        statistics = with_tails(statistics, run.histograms)
    return OpenLoads(statistics, run.name, replicas_of_run(run) or replicas or _REPLICAS, by, run.slices)


def open_advice(
    run: RecordedRun, *, read_share: float | None = None, workload: str | None = None,
    of_capacity: float | None = None, rate_per_s: float | None = None, by: str = "mean",
    bound_ms: float | None = None, survive: int = SURVIVE, replicas: int | None = None,
) -> OpenAdvice:  # fmt: skip
    """Say what each setting of a run does at a load under open arrivals.

    Parameters
    ----------
    run : RecordedRun
    read_share : float, optional
        Share of reads of YCSB's table, as measured; or a workload.
    workload : str, optional
        A workload of the run, at its own mix.
    of_capacity : float, optional
        The load as a share of what the weakest setting carries in each block; or a rate.
    rate_per_s : float, optional
        The load in requests a second.
    by : str
        'mean', 'p50', 'p95', 'p99' or 'p99.9' of the response time, from when a request was due.
    bound_ms : float, optional
        The longest response time to keep.
    survive : int
        Dead replicas that the recommended setting has to survive.
    replicas : int, optional
        The replication factor, for logs.

    Returns
    -------
    OpenAdvice

    Raises
    ------
    InputError
        If the run has no cells at rates, or the load is outside what was measured, with the range.
    """
    loads = open_loads(run, by, replicas)
    mix = loads.mix(read_share, workload)
    return loads.advise(mix, of_capacity=of_capacity, rate_per_s=rate_per_s, bound_ms=bound_ms, survive=survive)


def open_map(
    run: RecordedRun, *, read_share: float | None = None, workload: str | None = None, by: str = "mean",
    bound_ms: float | None = None, survive: int = SURVIVE, replicas: int | None = None,
) -> list[OpenAdvice]:  # fmt: skip
    """Say what each setting does at every load that was measured: shares of capacity, or rates that all blocks have.

    Parameters
    ----------
    run, read_share, workload, by, bound_ms, survive, replicas
        As `open_advice`; without a share of reads or a workload all mixes of the run.

    Returns
    -------
    list of OpenAdvice
        By mix, then by load.

    Raises
    ------
    InputError
        As `open_advice`.
    """
    loads = open_loads(run, by, replicas)
    mixes = loads.mixes if read_share is None and workload is None else (loads.mix(read_share, workload),)
    how: dict[str, Any] = {"bound_ms": bound_ms, "survive": survive}
    found = []
    for mix in mixes:
        found += [loads.advise(mix, of_capacity=share, **how) for share in loads.shares(mix)]
        found += [loads.advise(mix, rate_per_s=rate, **how) for rate in loads.rates_per_s(mix)]
    if not found:
        raise InputError(f"{run.name}: no rate was measured in every block; take one with --rate")
    return found
