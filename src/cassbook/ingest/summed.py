"""Statistics of a cell whose logs hold no single operations, from the histograms or figures that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import InputError
from cassbook.core.schema import OUTCOMES
from cassbook.ingest.hdr import UNITS_US, Histograms
from cassbook.ingest.summary import Figures
from cassbook.ingest.ycsb_lines import kind

_READS = frozenset({"READ", "READS", "SELECT"})
_WRITES = frozenset({"UPDATE", "INSERT", "WRITE", "WRITES", "MUTATION", "MUTATIONS"})
#: Not operations on data, or what cassandra-stress and YCSB count a second time, from the intended start.
_OTHERS = ("CLEANUP", "INTENDED-")
_RESPONSES = ("-RT", "-WT", ".RESPONSE")
_PERCENTILES = {"p50_us": 50.0, "p95_us": 95.0, "p99_us": 99.0}
_COLUMN = {"READ": "read_latency_us", "WRITE": "update_latency_us"}
#: Bounds wide enough for an hour in nanoseconds, to add histograms of any.
_HIGHEST, _DIGITS = 3_600_000_000_000, 3
_MS_S = 1000
_MOST_OPERATIONS = 1e15


@dataclass(frozen=True, slots=True)
class Summed:
    """What a cell's logs say in all.

    Attributes
    ----------
    operations : int
    length_s : float
    figures : dict of float
        Columns of `summaries.cell_statistics`.
    read_share : float
        Reads among the operations that succeeded.
    threads : int or None
        Where the log says.
    """

    operations: int
    length_s: float
    figures: dict[str, float]
    read_share: float
    threads: int | None = None


def of(tables: Sequence[Figures | Histograms], where: str) -> Summed:
    """Statistics from the logs of one cell.

    Parameters
    ----------
    tables : sequence of Figures or of Histograms
    where : str
        Names the cell in a message.

    Raises
    ------
    InputError
        For histograms and figures mixed, several logs of figures (whose quantiles cannot be added), or none of an
        operation.
    """
    hists = [table for table in tables if isinstance(table, Histograms)]
    if len(hists) == len(tables):
        return _of_histograms(hists, where)
    if len(tables) > 1:
        raise InputError(f"{where}: quantiles of several logs cannot be added; give raw or HdrHistogram logs")
    (figures,) = tables
    assert isinstance(figures, Figures)  # noqa: S101 - the only other kind
    return _of_figures(figures, where)


def operation_of(tag: str) -> str | None:
    """READ, WRITE or another operation that a tag stands for; None if for failures or for none that was sent.

    Examples
    --------
    >>> operation_of("insert-st"), operation_of("cell-1.READ"), operation_of("READ-rt"), operation_of("CLEANUP")
    ('WRITE', 'READ', None, None)
    """
    upper = tag.upper()
    if upper.startswith(_OTHERS) or upper.endswith(_RESPONSES) or failed(tag):
        return None
    name = upper.removesuffix("-ST").rpartition(".")[2].removeprefix("HDR")
    return "READ" if name in _READS else "WRITE" if name in _WRITES else name


def failed(tag: str) -> bool:
    """Whether a tag is one that YCSB has for operations that failed, as READ-FAILED."""
    ycsb = kind(tag.removeprefix("Hdr"))
    return ycsb is not None and OUTCOMES[ycsb.outcome] != "ok" and ycsb.operation >= 0


def _of_histograms(logs: Sequence[Histograms], where: str) -> Summed:
    units = {log.unit for log in logs}
    if len(units) > 1:
        raise InputError(f"{where}: its logs count in {' and '.join(sorted(units))}; only those of one unit add up")
    scale = UNITS_US[units.pop()]
    by_operation: dict[str, HdrHistogram] = {}
    times: list[float] = []
    n_errors = 0
    for interval in (interval for log in logs for interval in log.intervals):
        operation = operation_of(interval.tag)
        n_errors += interval.histogram.total_count if failed(interval.tag) else 0
        if operation is not None and interval.histogram.total_count:
            by_operation.setdefault(operation, _empty()).add(interval.histogram)
            times += [interval.started_s, interval.started_s + interval.length_s]
    if not times:
        raise InputError(f"{where}: its logs hold no operation")
    total = _empty()
    for histogram in by_operation.values():
        total.add(histogram)
    length_s = max(times) - min(times)
    mean, sd = total.get_mean_value() * scale, total.get_stddev() * scale
    if not 0 < length_s < np.inf or not mean > 0:
        raise InputError(f"{where}: its logs cover {length_s:g} s at a mean latency of {mean:g} us; one cannot be")
    figures = {"n_ok": total.total_count, "latency_us": mean, "sd_us": sd, "cv_percent": sd / mean * 100}
    figures |= {name: total.get_value_at_percentile(p) * scale for name, p in _PERCENTILES.items()}
    figures |= {_COLUMN[o]: h.get_mean_value() * scale for o, h in by_operation.items() if o in _COLUMN}
    figures |= {"throughput_per_s": total.total_count / length_s, "n_errors": n_errors}
    read = by_operation["READ"].total_count if "READ" in by_operation else 0
    return Summed(total.total_count + n_errors, length_s, figures, read / total.total_count)


def _empty() -> HdrHistogram:
    return HdrHistogram(1, _HIGHEST, _DIGITS)


def _of_figures(log: Figures, where: str) -> Summed:
    whole = {(row.tag, row.statistic): row.value for row in log.rows if row.at_s is None}
    counts = {tag: value for (tag, statistic), value in whole.items() if statistic in ("operations", "partitions")}
    operations = {tag: n for tag, n in counts.items() if n and operation_of(tag) not in (None, "TOTAL")}
    run_time = [v / _MS_S if tag == "OVERALL" else v for (tag, name), v in whole.items() if name == "run time"]
    series = {row.threads for row in log.rows}
    if not operations or not run_time or len(series) > 1:
        raise InputError(f"{where}: {log.tally.path.name} does not sum up one test of one number of threads")
    without = [tag for tag in operations if (tag, "mean") not in whole]
    if without:
        raise InputError(f"{where}: {log.tally.path.name} has no mean latency of {', '.join(without)}")
    n = sum(operations.values())
    n_errors = sum(k for tag, k in counts.items() if failed(tag)) + whole.get(("total", "errors"), 0.0)
    if not 0 < n + n_errors < _MOST_OPERATIONS or min(operations.values()) < 0:
        raise InputError(f"{where}: {log.tally.path.name} counts {n + n_errors:g} operations, which cannot be")
    mean_us = sum(whole[tag, "mean"] * k for tag, k in operations.items()) / n
    figures = {"n_ok": n, "n_errors": n_errors, "latency_us": mean_us}
    figures["throughput_per_s"] = whole.get(("OVERALL", "throughput"), whole.get(("total", "throughput"), np.nan))
    # Quantiles of several operations cannot be put together; cassandra-stress does it itself.
    source = "total" if ("total", "p95") in whole else next(iter(operations)) if len(operations) == 1 else ""
    figures |= {column: whole.get((source, f"p{p:g}"), np.nan) for column, p in _PERCENTILES.items()}
    for column in set(_COLUMN.values()):
        parts = {tag: k for tag, k in operations.items() if _COLUMN.get(str(operation_of(tag))) == column}
        if parts:
            figures[column] = sum(whole[tag, "mean"] * k for tag, k in parts.items()) / sum(parts.values())
    # cassandra-stress prints the whole test's time in whole seconds, but each interval's end in tenths.
    ends = [row.at_s for row in log.rows if row.at_s is not None]
    read_share = sum(k for tag, k in operations.items() if operation_of(tag) == "READ") / n
    return Summed(int(n + n_errors), max([run_time[0], *ends]), figures, read_share, series.pop())
