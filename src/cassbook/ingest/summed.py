"""Statistics of a cell whose logs hold no single operations, from the histograms or figures that they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import InputError
from cassbook.ingest.hdr import UNITS_US, Histograms
from cassbook.ingest.operations import (
    NONE,
    RMW,
    TOTAL,
    Meanings,
    bare,
    failed,
    label,
    operation_of,
    read_share,
)
from cassbook.ingest.summary import Figures
from cassbook.ingest.ycsb_lines import kind
from cassbook.latency import percentiles

_PERCENTILES = {
    column: 100 * percentiles.SHARES[name] for name, column in percentiles.COLUMNS.items() if name != "mean"
}
_COLUMN = {"READ": "read_latency_us", "WRITE": "update_latency_us"}
#: Names of operations that a reader knows as reads and writes without more.
_PLAIN = frozenset({"READ", "READS", "UPDATE", "INSERT", "WRITE", "WRITES"})
#: Bounds wide enough for an hour in nanoseconds, to add histograms of any.
_HIGHEST, _DIGITS = 3_600_000_000_000, 3
_MS_S = 1000
_MOST_OPERATIONS = 1e15
#: YCSB's names of an operation that succeeded, of all its versions.
_SUCCEEDED = frozenset({"OK", "0", "Status.OK"})
_RETURN = "return "
#: A printed throughput so many times off operations / run time is named.
_OFF = 1.5


@dataclass(frozen=True, slots=True)
class Summed:
    """What a cell's logs say in all.

    Attributes
    ----------
    operations : int
    length_s : float
    figures : dict
        Columns of `summaries.cell_statistics`; max_us; `named`, the operation where there is one alone that is not
        plainly a read or a write, else ''.
    read_share : float
        Reads among the operations that succeeded; NaN where the log does not say which read.
    parts : list of dict
        The same of each operation, where there are several, with `named` and `read_share`.
    notes : list of str
        What a reader must know of these figures.
    names : list of str
        The operations, as the log names them.
    """

    operations: int
    length_s: float
    figures: dict[str, Any]
    read_share: float
    parts: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def of(
    tables: Sequence[Figures | Histograms], where: str, meanings: Meanings = NONE, threads: int | None = None
) -> Summed:
    """Statistics from the logs of one cell.

    Parameters
    ----------
    tables : sequence of Figures or of Histograms
    where : str
        Names the cell in a message.
    meanings : Meanings
        What the user says of operations whose names no tool gives.
    threads : int, optional
        Of a log with several tests, the one with so many threads.

    Raises
    ------
    InputError
        For histograms and figures mixed, several logs of figures (whose quantiles cannot be added), or none of an
        operation.
    """
    hists = [table for table in tables if isinstance(table, Histograms)]
    if len(hists) == len(tables):
        return _of_histograms(hists, where, meanings)
    if len(tables) > 1:
        raise InputError(f"{where}: quantiles of several logs cannot be added; give raw or HdrHistogram logs")
    (figures,) = tables
    assert isinstance(figures, Figures)  # noqa: S101 - the only other kind
    return _Whole(figures, threads, f"{where}: {figures.tally.path.name}", meanings).summed()


def _of_histograms(logs: Sequence[Histograms], where: str, meanings: Meanings) -> Summed:
    units = {log.unit for log in logs}
    if len(units) > 1:
        raise InputError(f"{where}: its logs count in {' and '.join(sorted(units))}; only those of one unit add up")
    scale = UNITS_US[units.pop()]
    by_name: dict[tuple[str, str], HdrHistogram] = {}
    times: list[float] = []
    n_errors = 0
    for interval in (interval for log in logs for interval in log.intervals):
        operation = operation_of(interval.tag, meanings)
        n_errors += interval.histogram.total_count if failed(interval.tag) else 0
        if operation is not None and interval.histogram.total_count:
            by_name.setdefault((bare(interval.tag), operation), _empty()).add(interval.histogram)
            times += [interval.started_s, interval.started_s + interval.length_s]
    if not times:
        raise InputError(f"{where}: its logs hold no operation")
    if len(by_name) > 1:  # scylla-bench's, over its reads and writes
        by_name = {key: histogram for key, histogram in by_name.items() if key[0] != "raw"}
    length_s = max(times) - min(times)
    counts = {key: float(histogram.total_count) for key, histogram in by_name.items()}
    total, requests = _empty(), _requests(counts)
    for key in requests:
        total.add(by_name[key])
    mean = total.get_mean_value() * scale
    if not 0 < length_s < np.inf or not mean > 0:
        raise InputError(f"{where}: its logs cover {length_s:g} s at a mean latency of {mean:g} us; one cannot be")
    figures = _of_histogram(total, length_s, scale) | {"n_errors": n_errors}
    for operation, column in _COLUMN.items():
        names = _single([name for name, of in requests if of == operation])
        if names:
            of_kind = _empty()
            for name in names:
                of_kind.add(by_name[name, operation])
            figures[column] = of_kind.get_mean_value() * scale
    share = read_share(_by_operation(counts))
    parts = [
        _of_histogram(histogram, length_s, scale)
        | {"named": label(*key), "read_share": read_share({key[1]: 1.0}), "n_errors": 0}
        for key, histogram in by_name.items()
    ]
    return Summed(
        total.total_count + n_errors,
        length_s,
        *_named(figures, share, list(counts)),
        _several(parts),
        names=[name for name, _ in counts],
    )


def _of_histogram(histogram: HdrHistogram, length_s: float, scale: float) -> dict[str, Any]:
    n, mean, sd = histogram.total_count, histogram.get_mean_value() * scale, histogram.get_stddev() * scale
    figures: dict[str, Any] = {"n_ok": n, "latency_us": mean, "sd_us": sd, "cv_percent": sd / mean * 100 if mean else 0}
    figures |= {name: histogram.get_value_at_percentile(p) * scale for name, p in _PERCENTILES.items()}
    return figures | {"max_us": histogram.get_max_value() * scale, "throughput_per_s": n / length_s}


def _empty() -> HdrHistogram:
    return HdrHistogram(1, _HIGHEST, _DIGITS)


def _requests(counts: dict[tuple[str, str], float]) -> list[tuple[str, str]]:
    """Names and operations that are requests of their own: not read-modify-writes, whose read and write count too."""
    single = [key for key in counts if key[1] not in (RMW, TOTAL)]
    return single or [key for key in counts if key[1] != TOTAL]


def _single(tags: list[str]) -> list[str]:
    """Operations on single rows, where there are some besides scans."""
    return [tag for tag in tags if bare(tag).upper() != "SCAN"] or tags


def _by_operation(counts: dict[tuple[str, str], float]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for (_, operation), n in counts.items():
        sums[operation] = sums.get(operation, 0.0) + n
    return sums


def _several(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return parts if len(parts) > 1 else []


def _named(figures: dict[str, Any], share: float, keys: list[tuple[str, str]]) -> tuple[dict[str, Any], float]:
    """Figures with what their operation is called, and its read share."""
    alone = label(*keys[0]) if len(keys) == 1 and keys[0][0].upper() not in _PLAIN else ""
    return figures | {"named": alone}, share


def _same_operation(failure: str, tag: str) -> bool:
    """Whether a tag of YCSB's failures belongs to an operation."""
    of_failure, of_tag = kind(failure.removeprefix("Hdr")), kind(tag.removeprefix("Hdr"))
    return of_failure is not None and of_tag is not None and of_failure.operation == of_tag.operation


class _Whole:
    """The figures of a whole test, and what follows from them."""

    def __init__(self, log: Figures, threads: int | None, where: str, meanings: Meanings) -> None:
        series = log.threads()
        if len(series) > 1 and threads not in series:
            raise InputError(f"{where} holds tests of {', '.join(map(str, series))} threads; name one of them")
        rows = [row for row in log.rows if len(series) < 2 or row.threads == threads]  # noqa: PLR2004 - one test
        self._where, self._meanings, self._notes = where, meanings, list[str]()
        self._whole = {(row.tag, row.statistic): row.value for row in rows if row.at_s is None}
        self._ends = [row.at_s for row in rows if row.at_s is not None]
        #: Of cassandra-stress: the last count of operations, failed ones too, by tag.
        self._attempted = {row.tag: row.value for row in rows if row.at_s is not None and row.statistic == "operations"}
        self._tags = list(dict.fromkeys(tag for tag, _ in self._whole))
        self._counted = {tag: n for tag in self._tags if (n := self._count(tag)) is not None}

    def summed(self) -> Summed:
        """Return what the test says in all."""
        length_s = self._length_s()
        operations = {tag: n for tag in self._tags if self._is_request(tag) and (n := self._ok(tag)) is not None}
        if not operations and not any(failed(tag) for tag in self._counted):
            raise InputError(f"{self._where} counts no operation")
        errors, n_errors = self._errors(operations)
        succeeded = {tag: n for tag, n in operations.items() if n}
        without = [tag for tag in succeeded if not self._known(tag, "mean")]
        if without:
            raise InputError(f"{self._where} has no mean latency of {', '.join(without)}")
        keys = {(bare(tag), str(operation_of(tag, self._meanings))): tag for tag in succeeded or operations}
        requests = [keys[key] for key in _requests(dict.fromkeys(keys, 1.0)) if keys[key] in succeeded]
        n = sum(succeeded[tag] for tag in requests)
        if not 0 < n + n_errors < _MOST_OPERATIONS or min([*operations.values(), n_errors]) < 0:
            raise InputError(f"{self._where} counts {n + n_errors:g} operations, which cannot be")
        figures = {"n_ok": n, "n_errors": n_errors, "printed": True, "latency_us": self._mean(requests)}
        figures["throughput_per_s"] = self._throughput(n, n_errors, length_s)
        # Quantiles of several operations cannot be put together; cassandra-stress does it itself.
        source = TOTAL.lower() if self._known("total", "p95") else requests[0] if len(requests) == 1 else ""
        figures |= self._quantiles(source)
        for operation, column in _COLUMN.items():
            tags = _single([tag for tag in requests if operation_of(tag, self._meanings) == operation])
            if tags:
                figures[column] = self._mean(tags)
        counts = {key: succeeded.get(tag, 0.0) or (0.0 if succeeded else 1.0) for key, tag in keys.items()}
        share = read_share(_by_operation(counts)) if counts else self._share_of_failed()
        parts = [self._part(tag, n, errors.get(tag, 0.0), length_s) for tag, n in operations.items() if n]
        named, share = _named(figures, share, list(keys))
        names = [name for name, _ in keys]
        return Summed(int(n + n_errors), length_s, named, share, _several(parts), self._notes, names)

    def _known(self, tag: str, statistic: str) -> bool:
        return math.isfinite(self._whole.get((tag, statistic), math.nan))

    def _count(self, tag: str) -> float | None:
        """How many operations a tag counts; None if it counts none."""
        counts = (self._whole.get((tag, statistic)) for statistic in ("operations", "partitions"))
        return next((n for n in counts if n is not None and math.isfinite(n)), None)

    def _is_request(self, tag: str) -> bool:
        return tag in self._counted and operation_of(tag, self._meanings) not in (None, TOTAL) and tag != "OVERALL"

    def _returned(self, tag: str) -> tuple[float, float]:
        """Operations of a tag that came back as a success, and as anything else."""
        returned = {
            s.removeprefix(_RETURN): n for (t, s), n in self._whole.items() if t == tag and s.startswith(_RETURN)
        }
        ok = sum(n for status, n in returned.items() if status in _SUCCEEDED)
        return ok, sum(returned.values()) - ok

    def _counts_failures(self, tag: str) -> bool:
        """Whether a tag's operations hold its failures: in versions of YCSB that have no row `-FAILED`."""
        ok, others = self._returned(tag)
        return others > 0 and not self._failed_of(tag) and self._counted[tag] >= ok + others

    def _ok(self, tag: str) -> float | None:
        n, printed = self._counted.get(tag), self._whole.get((tag, "errors"), 0.0)
        if n is not None and printed > 0 and self._attempted.get(tag, 0.0) >= printed:
            return min(n, self._attempted[tag] - printed)  # cassandra-stress counts the partitions of failed writes too
        return n if n is None or not self._counts_failures(tag) else n - self._returned(tag)[1]

    def _failed_of(self, tag: str) -> float:
        """Failures in rows of their own, READ-FAILED or READ-NOT_FOUND and so on."""
        return sum(n for other, n in self._counted.items() if failed(other) and _same_operation(other, tag))

    def _errors(self, operations: dict[str, float]) -> tuple[dict[str, float], float]:
        """Failed operations by tag and in all, from every line that counts them."""
        errors: dict[str, float] = {}
        for tag, n_ok in operations.items():
            own = self._whole.get((tag, "errors"), 0.0) or self._failed_of(tag) or self._returned(tag)[1]
            if self._counts_failures(tag) and n_ok:
                self._notes.append(f"{tag}: latencies include those of its {own:,.0f} failed operations.")
            if operation_of(tag, self._meanings) != RMW and own:
                errors[tag] = own
        for tag, n in self._counted.items():  # of an operation of which none succeeded, so that it has no row
            if failed(tag) and not any(_same_operation(tag, known) for known in operations):
                errors[tag] = n
        printed = self._whole.get(("total", "errors"), math.nan)
        return errors, printed if math.isfinite(printed) else sum(errors.values())

    def _mean(self, tags: list[str]) -> float:
        weights = {tag: self._counted[tag] for tag in tags}
        n = sum(weights.values())
        return sum(self._whole[tag, "mean"] * k for tag, k in weights.items()) / n if n else math.nan

    def _quantiles(self, tag: str) -> dict[str, float]:
        figures = {column: self._whole.get((tag, f"p{p:g}"), math.nan) for column, p in _PERCENTILES.items()}
        return figures | {"max_us": self._whole.get((tag, "max"), math.nan)}

    def _length_s(self) -> float:
        run_time = [
            v / _MS_S if tag == "OVERALL" else v for (tag, name), v in self._whole.items() if name == "run time"
        ]
        if not run_time:
            raise InputError(f"{self._where} has no run time, so that nothing is known of its throughput")
        # cassandra-stress prints the whole test's time in whole seconds, but each interval's end in tenths.
        return max([run_time[0], *self._ends])

    def _throughput(self, n: float, n_errors: float, length_s: float) -> float:
        """Return the printed throughput, or the one that follows where that cannot be."""
        if not n:
            return math.nan
        printed = self._whole.get(("OVERALL", "throughput"), self._whole.get(("total", "throughput"), math.nan))
        follows = (n + n_errors) / length_s if length_s > 0 else math.nan
        if math.isnan(printed) or math.isnan(follows):
            return printed if math.isnan(follows) else follows
        counted = f"{n + n_errors:,.0f} operations in {length_s:g} s are {follows:,.0f}"
        if not 0 < printed < math.inf:
            self._notes.append(f"Printed throughput {printed:g} a second cannot be: {counted}, which is shown.")
            return follows
        if not 1 / _OFF < printed / follows < _OFF:
            self._notes.append(f"Printed throughput {printed:g} a second, but {counted}.")
        return printed

    def _part(self, tag: str, n: float, n_errors: float, length_s: float) -> dict[str, Any]:
        operation = str(operation_of(tag, self._meanings))
        rate = self._whole.get((tag, "throughput"), n / length_s if length_s > 0 else math.nan)
        part = {"named": label(tag, operation), "read_share": read_share({operation: 1.0}), "printed": True}
        part |= {"n_ok": n, "n_errors": n_errors, "latency_us": self._whole[tag, "mean"], "throughput_per_s": rate}
        return part | self._quantiles(tag)

    def _share_of_failed(self) -> float:
        kinds = {operation_of(tag.partition("-")[0], self._meanings) for tag in self._counted if failed(tag)}
        return read_share({str(kind): 1.0 for kind in kinds}) if len(kinds) == 1 else math.nan
