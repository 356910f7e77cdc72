"""The results of a run by cell, and what its levels cost: numbers, which `cassbook.shown` makes text of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import pandas as pd
from hdrh.histogram import HdrHistogram

from cassbook.core.consistency import Replicas
from cassbook.core.schema import OPEN
from cassbook.deployment.notation import labels, parse
from cassbook.latency import prices
from cassbook.latency.comparison import Run
from cassbook.latency.open_results import carried, open_results
from cassbook.latency.percentiles import with_tails
from cassbook.latency.results import Replication, Results, results
from cassbook.latency.slices import rates_in_groups
from cassbook.records.run import RecordedRun


class Measured(Run, Protocol):
    """A recorded run, a folder of logs, or samples in Parquet."""

    @property
    def has_histograms(self) -> bool:
        """Whether it has the next."""

    @property
    def histograms(self) -> Mapping[str, HdrHistogram]:
        """Histograms of its cells and operations, in microseconds."""


def of_run(run: Measured) -> Results:
    """Return the results of a run; p99.9 is left out where the installed package has no histograms of it."""
    recorded = run.histograms if run.has_histograms else None
    statistics = run.statistics
    found = results(statistics, recorded, replicas(run), run.parts)
    if (statistics["kind"] == OPEN).any():
        opened = statistics[statistics["kind"] == OPEN]
        tailed = opened if recorded is None else with_tails(opened, recorded)
        found = replace(found, under_open=open_results(tailed, replicas(run)), carried=carried(opened))
    together = isinstance(run, RecordedRun) and bool(rates_in_groups(run.statistics, run.slices).any())
    return replace(found, rates_in_groups=together)


def prices_of(run: object) -> pd.DataFrame:
    """Return `prices.table` of a recorded run's means; no row for one whose levels did not alternate."""
    if not isinstance(run, RecordedRun):
        return prices.table(pd.DataFrame(), pd.DataFrame())
    return prices.table(run.statistics, run.slices)


def replication(run: Measured) -> int | None:
    """Return the replication factor of a run; None where it does not say, as logs do not."""
    factor: int | None = run.manifest.get("profile", {}).get("cluster", {}).get("replication_factor")
    return factor


def replicas(run: Measured) -> Replication:
    """Return the replication factor of a run, or the replicas of its deployments, each region being a data centre."""
    factor = replication(run)
    centres = run.manifest.get("profile", {}).get("cluster", {}).get("data_centres", 1)
    if factor and centres > 1:
        return {"existing": Replicas((factor,) * centres)}
    deployments = (run.manifest.get("profile", {}).get("distance") or {}).get("deployments", {})
    found = {}
    for name, called in labels(deployments).items():
        by_region = parse(deployments[name]["notation"]).by_region
        if sum(by_region) != factor:  # a row is on some nodes, whichever data centre they are in
            return factor
        found[called] = Replicas(by_region)
    return found or factor
