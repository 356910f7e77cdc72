"""What a run measured, as one table: a row per cell over its blocks, with intervals, and what is missing by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from cassbook.core.consistency import WRITE_LEVELS, Replicas, refuses_reads
from cassbook.core.schema import of_one_machine, without_open
from cassbook.latency import percentiles, summaries, uncertainty
from cassbook.latency.labels import labelled
from cassbook.latency.uncertainty import NOTHING

#: What makes cells repeats of each other, but for block and repeat.
KEYS = ["engine", "deployment", "kind", "workload", "condition", "operation", "level", "threads", "rate_per_s"]
#: Whether a row is a single operation within a mixed cell of a log.
_PART = "part"
SERVICE, RESPONSE = "service", "response"
#: The replication factor, or the replicas of each deployment; None where it is not known.
Replication = int | Mapping[str, Replicas] | None


@dataclass(frozen=True, slots=True)
class Results:
    """The table of a run's results.

    Attributes
    ----------
    table : DataFrame
        `KEYS`; read_share, read_cl, write_cl; survives_reads and survives_writes (dead replicas; None where a cell has
        no such operation, or levels or replication are unknown); time ('service', or 'response' where a rate was given:
        from when an operation should have started); blocks; interval ('blocks', 'one cluster start' or ''); operations,
        errors and unknown (sums over blocks); throughput_per_s, latency_us (the mean), p50_us, p95_us, p99_us and
        p999_us, each with its bounds (throughput_low_per_s, p99_low_us and so on); marks. A percentile that the
        operations do not support (see `percentiles.BEYOND`) is NaN.
    is_part : Series of bool
        Rows that are single operations within a mixed cell of a log.
    missing : dict of str to Missing
        By percentile, the cells that lack it, and why.
    no_histograms : bool
        Whether histograms, from which p99.9 comes, were not at hand.
    rates_in_groups : bool
        Whether settings at a fixed rate were measured together, in slices of one load, as in runs of earlier versions.
    under_open : DataFrame
        What was measured under open arrivals, which `table` leaves out: `open_results.open_results`.
    carried : DataFrame
        What each setting carried before and after: `open_results.carried`.
    """

    table: pd.DataFrame
    is_part: pd.Series
    missing: dict[str, Missing]
    no_histograms: bool = False
    rates_in_groups: bool = False
    under_open: pd.DataFrame = field(default_factory=pd.DataFrame)
    carried: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def parts(self) -> int:
        """How many rows are single operations within a mixed cell of a log."""
        return int(self.is_part.sum())


@dataclass(slots=True)
class Missing:
    """Cells that lack a percentile."""

    #: Identifiers of cells of several operations, each of which has a row of its own.
    mixed: frozenset[str] = frozenset()
    #: Cells whose operations do not support it, and the fewest operations of one of them.
    few: int = 0
    least: float = np.inf
    lost: int = 0  # cells of which it was not kept
    by_operation: int = 0  # cells of several operations, whose percentiles do not add up
    #: Cells whose log prints it although fewer than `percentiles.BEYOND` operations lie beyond it, and the fewest
    #: operations of one of them.
    printed: int = 0
    fewest: float = np.inf

    def miss(self, group: pd.DataFrame) -> None:
        """Count a cell that lacks the percentile."""
        if not group[_PART].any() and self.mixed.issuperset(group["cell_id"]):
            self.by_operation += 1
        else:
            self.lost += 1


def results(
    statistics: pd.DataFrame,
    recorded: Mapping[str, HdrHistogram] | None,
    replicas: Replication = None,
    parts: pd.DataFrame | None = None,
) -> Results:
    """Table of a run's results.

    Parameters
    ----------
    statistics : DataFrame
        From `cells.cell_statistics`; cells under open arrivals have a table of their own, `open_results`.
    recorded : mapping of str to HdrHistogram, optional
        The run's histograms, from which p99.9 comes; None where they are not at hand.
    replicas : int or mapping of str to Replicas, optional
        Says what levels survive; None where it is unknown.
    parts : DataFrame, optional
        Statistics of single operations within mixed cells, which become rows of their own.
    """
    statistics = without_open(statistics)
    cells = labelled(statistics if recorded is None else percentiles.with_tails(statistics, recorded), failed_too=True)
    cells[_PART] = False
    if parts is not None:
        cells = pd.concat([cells, labelled(parts, failed_too=True).assign(**{_PART: True})], ignore_index=True)
    mixed = frozenset() if parts is None else frozenset(parts["cell_id"])
    rows, missing = [], {name: Missing(mixed) for name in percentiles.SHARES}
    for key, group in cells.groupby([*KEYS, _PART], sort=False):
        rows.append(dict(zip([*KEYS, _PART], key, strict=True)) | _row(group, missing, replicas))
    columns = [*_columns(), *(["max_us"] if "max_us" in cells.columns else []), _PART]
    table = pd.DataFrame(rows, columns=columns).astype({"survives_reads": "Int64", "survives_writes": "Int64"})
    if len(table):
        table["rate_per_s"] = table["rate_per_s"].where(table["rate_per_s"] > 0)
        table = table.sort_values(
            ["engine", "deployment", "kind", "workload", "condition", "read_share", "level", "threads", "rate_per_s"]
            if parts is None
            else ["engine", "deployment", "kind", "condition", "threads", "rate_per_s", _PART, "read_share", "level"],
            key=_order, ignore_index=True, kind="stable",
        )  # fmt: skip
    is_part = table.pop(_PART).astype(bool)
    return Results(table, is_part, missing, no_histograms=recorded is None)


def _row(group: pd.DataFrame, missing: dict[str, Missing], replicas: Replication) -> dict[str, Any]:
    """One cell over its blocks."""
    known = group[group["latency_us"].notna()]
    paced = "response_us" in group.columns and len(known) > 0 and bool(known["response_us"].notna().all())
    time, first = "response_" if paced else "", group.iloc[0]
    row: dict[str, Any] = {name: first[name] for name in ("read_share", "read_cl", "write_cl")}
    row |= survived(first, replicas)
    row |= {"time": RESPONSE if paced else SERVICE, "blocks": group["block"].nunique(), "interval": NOTHING}
    sums = {"operations": "n_ok", "errors": "n_errors", "unknown": "n_unknown"}
    row |= {name: int(np.nansum(group[column].astype(float))) for name, column in sums.items()}
    row["operations"] += row["errors"]
    estimate_into(row, group, "throughput_per_s", "throughput_per_s")
    estimate_into(row, group, f"{time or 'latency_'}us", "latency_us")
    least = float(percentiles.known_operations(group).min())
    for name in percentiles.SHARES if len(known) else ():
        column = percentiles.COLUMNS[name]
        if not percentiles.supported(name, least):
            missing[name].few += 1
            missing[name].least = min(least, missing[name].least)
        elif not estimate_into(row, group, f"{time}{column}", column):
            missing[name].miss(group)
        elif np.isinf(least) and not percentiles.supported(name, fewest := float(group["n_ok"].min())):
            missing[name].printed += 1
            missing[name].fewest = min(fewest, missing[name].fewest)
    if "max_us" in group.columns:
        row["max_us"] = group["max_us"].max()
    return row | {"marks": summaries.all_marks(group["marks"])}


def replicas_at(replicas: Replication, deployment: str) -> Replicas | None:
    """Return the replicas of a deployment; None where they are not known."""
    if isinstance(replicas, Mapping):
        return replicas.get(deployment)
    return Replicas((replicas,)) if replicas else None


def survived(cell: pd.Series, n: Replication) -> dict[str, int | None]:
    """How many dead replicas a cell's reads and writes survive; None where there are none, or it is not known."""
    known = replicas_at(n, str(cell["deployment"]))
    read_cl, write_cl, reads = cell["read_cl"], cell["write_cl"], cell["read_share"]
    asked = {
        "survives_reads": (read_cl, reads > 0 and not refuses_reads(read_cl, cell["engine"])),
        "survives_writes": (write_cl, reads < 1 and write_cl in WRITE_LEVELS),
    }
    return {what: known.survived(level) if known and there else None for what, (level, there) in asked.items()}


def estimate_into(row: dict[str, Any], group: pd.DataFrame, column: str, into: str) -> bool:
    """Put a figure and its bounds into a row; False where no block has it."""
    if column not in group.columns or group[column].isna().all():
        return False
    group = of_one_machine(group)
    values = group[column].to_numpy(dtype=float)
    positive = bool((values[~np.isnan(values)] > 0).all())  # a client that answers itself may take 0 us
    by_block = np.log(values) if positive else values
    if group["block"].duplicated().any():  # repeats within a block are averaged first
        by_block = pd.Series(by_block).groupby(group["block"].to_numpy()).mean().to_numpy()
    sides = [summaries.bound(column, side) for side in ("low", "high")]
    alone = len(group) == 1 and set(sides) <= set(group.columns)
    bounds = [float(group[side].iloc[0]) if alone else np.nan for side in sides]
    estimate, basis = uncertainty.over_blocks(np.exp(by_block) if positive else by_block, *bounds)
    low, high = (summaries.bound(into, side) for side in ("low", "high"))
    row |= {into: estimate.value, low: estimate.low, high: estimate.high}
    row["interval"] = row["interval"] or basis
    return True


def _columns() -> list[str]:
    figures = ["throughput_per_s", *percentiles.COLUMNS.values()]
    bounded = [name for figure in figures for name in (figure, *(summaries.bound(figure, s) for s in ("low", "high")))]
    before = ["read_share", "read_cl", "write_cl", "survives_reads", "survives_writes", "time", "blocks", "interval"]
    return [*KEYS, *before, "operations", "errors", "unknown", *bounded, "marks"]


def _order(column: pd.Series) -> pd.Series:
    """Sort key: kinds as they are planned, levels from weak to strong, each by its reads first."""
    if column.name == "level":
        places = {level: f"{place:02d}" for place, level in enumerate(summaries.LEVEL_ORDER)}
        return column.map(lambda text: "/".join(places.get(part, "99" + part) for part in str(text).split("/")))
    if column.name == "kind":
        return column.map({kind: place for place, kind in enumerate(("pure", "mixed", "workload"))}).fillna(3)
    return -column if column.name == "read_share" else column
