"""Statistics of a cell whose logs hold no single operations, from the histograms or figures that they hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from cassbook.core.errors import InputError
from cassbook.core.units import MS_PER_S
from cassbook.core.words import counted
from cassbook.ingest.hdr import UNITS_US, Histograms
from cassbook.ingest.operations import (
    NONE,
    RMW,
    TOTAL,
    VERIFY,
    Meanings,
    bare,
    label,
    of_failure,
    operation_of,
    read_bounds,
    read_share,
)
from cassbook.ingest.stress_figures import FORMAT as STRESS
from cassbook.ingest.summary import Figures
from cassbook.latency import percentiles
from cassbook.records.sample_stream import ALL_READS, ALL_WRITES

_PERCENTILES = {
    column: 100 * percentiles.SHARES[name] for name, column in percentiles.COLUMNS.items() if name != "mean"
}
_COLUMN = {"READ": "read_latency_us", "WRITE": "update_latency_us"}
#: Names of operations that a reader knows as reads and writes without more.
_PLAIN = frozenset({"READ", "READS", "UPDATE", "INSERT", "WRITE", "WRITES"})
#: Bounds wide enough for an hour in nanoseconds, to add histograms of any.
_HIGHEST, _DIGITS = 3_600_000_000_000, 3
_MOST_OPERATIONS = 1e15
#: YCSB's names of an operation that succeeded, of all its versions.
_SUCCEEDED = frozenset({"OK", "0", "Status.OK", "BATCHED_OK"})
_RETURN = "return "
#: From which difference on partitions of cassandra-stress are taken for something else than operations.
_PARTITIONS_OFF = 0.02
#: A printed throughput so many times off operations / run time is named.
_OFF = 1.5


@dataclass(frozen=True, slots=True)
class Totals:
    """What a cell's logs say in all."""

    operations: int
    length_s: float
    #: Columns of `summaries.cell_statistics`; max_us; `named`, the operation where there is one alone that is not
    #: plainly a read or a write, else ''.
    figures: dict[str, Any]
    read_share: float  # reads among the operations that succeeded; NaN where the log does not say which read
    #: the same of each operation, where there are several, with `named` and `read_share`
    parts: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what a reader must know of these figures
    names: list[str] = field(default_factory=list)  # the operations, as the log names them
    #: range of the read share, where some operations may be either
    read_bounds: tuple[float, float] = (math.nan, math.nan)


def of(
    tables: Sequence[Figures | Histograms], where: str, meanings: Meanings = NONE, threads: int | None = None
) -> Totals:
    """Return statistics from the logs of one cell, which `where` names in a message.

    `threads` is for a log with several tests: the one with so many threads. Raise InputError for histograms and figures
    mixed, several logs of figures (whose quantiles cannot be added), or none of an operation.
    """
    hists = [table for table in tables if isinstance(table, Histograms)]
    if len(hists) == len(tables):
        return _of_histograms(hists, where, meanings)
    if len(tables) > 1:
        raise InputError(f"{where}: quantiles of several logs cannot be added; give raw or HdrHistogram logs")
    (figures,) = tables
    assert isinstance(figures, Figures)  # noqa: S101 - the only other kind
    return _Whole(figures, threads, f"{where}: {figures.tally.path.name}", meanings).totals()


class _Counted:
    """The histograms of some logs by name and operation, what failed, and what is no request of its own."""

    def __init__(self, logs: Sequence[Histograms], meanings: Meanings) -> None:
        self.by_name: dict[tuple[str, str], HdrHistogram] = {}
        self.failures: dict[str, float] = {}
        self.aside: set[str] = set()
        self.times: list[float] = []
        for interval in (interval for log in logs for interval in log.intervals):
            operation, of = operation_of(interval.tag, meanings), of_failure(interval.tag)
            n = interval.histogram.total_count
            if of:
                self.failures[of] = self.failures.get(of, 0.0) + n
            elif operation is None:
                self.aside.add(interval.tag)
                continue
            elif n:
                self.by_name.setdefault((bare(interval.tag), operation), _empty()).add(interval.histogram)
            if n:
                self.times += [interval.started_s, interval.started_s + interval.length_s]
        self.by_name = _without_totals(self.by_name)

    def together(self, keys: Iterable[tuple[str, str]]) -> HdrHistogram:
        """Return the histogram of several operations."""
        total = _empty()
        for key in keys:
            total.add(self.by_name[key])
        return total


def _of_histograms(logs: Sequence[Histograms], where: str, meanings: Meanings) -> Totals:
    units = {log.unit for log in logs}
    if len(units) > 1:
        raise InputError(f"{where}: its logs count in {' and '.join(sorted(units))}; only those of one unit add up")
    scale, held = UNITS_US[units.pop()], _Counted(logs, meanings)
    aside = ", ".join(sorted(held.aside))
    if not held.times:
        others = f" but {aside}, which are no requests of their own" if aside else ""
        raise InputError(f"{where}: its logs hold no operation{others}")
    counts = {key: float(histogram.total_count) for key, histogram in held.by_name.items()}
    requests, length_s = _requests(counts), max(held.times) - min(held.times)
    total, n_errors = held.together(requests), sum(held.failures.values())
    mean = total.get_mean_value() * scale
    if not 0 < length_s < np.inf or (counts and not mean > 0):
        raise InputError(f"{where}: its logs cover {length_s:g} s at a mean latency of {mean:g} us; one cannot be")
    figures = _of_histogram(total, length_s, scale) | {"n_errors": n_errors}
    for operation, column in _COLUMN.items():
        names = _single([name for name, of_kind in requests if of_kind == operation])
        if names:
            figures[column] = held.together((name, operation) for name in names).get_mean_value() * scale
    parts = [
        _of_histogram(histogram, length_s, scale)
        | {"named": label(*key), "read_share": read_share({key[1]: 1.0}), "n_errors": held.failures.get(key[0], 0.0)}
        for key, histogram in held.by_name.items()
    ]
    for tag in held.failures.keys() - {name for name, _ in held.by_name}:  # none of which succeeded
        operation, n = str(operation_of(tag, meanings)), held.failures[tag]
        counts[tag, operation] = n
        share = read_share({operation: 1.0})
        parts.append({"named": label(tag, operation), "read_share": share, "n_ok": 0, "n_errors": n})
    notes = [f"Left out, for they are no requests of their own: {aside}."] if aside else []
    return _totals(int(total.total_count + n_errors), length_s, figures, counts, parts, notes)


def _without_totals(by_name: dict[tuple[str, str], HdrHistogram]) -> dict[tuple[str, str], HdrHistogram]:
    """Histograms without those that hold the values of others again, as scylla-bench and NoSQLBench write."""
    names = {name for name, _ in by_name}
    totals = {"raw"} if len(names) > 1 else set()
    if any(name.endswith("servicetime") for name in names):
        totals |= {name for name in names if name.endswith(("responsetime", "waittime", "tries", "tries-histogram"))}
    return {key: histogram for key, histogram in by_name.items() if key[0] not in totals}


def _of_histogram(histogram: HdrHistogram, length_s: float, scale: float) -> dict[str, Any]:
    n, mean, sd = histogram.total_count, histogram.get_mean_value() * scale, histogram.get_stddev() * scale
    figures: dict[str, Any] = {"n_ok": n, "latency_us": mean, "sd_us": sd, "cv_percent": sd / mean * 100 if mean else 0}
    figures |= {name: histogram.get_value_at_percentile(p) * scale for name, p in _PERCENTILES.items()}
    return figures | {"max_us": histogram.get_max_value() * scale, "throughput_per_s": n / length_s}


def _empty() -> HdrHistogram:
    return HdrHistogram(1, _HIGHEST, _DIGITS)


def _requests(keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names and operations that are requests of their own: not read-modify-writes, whose read and write count too."""
    own = [key for key in keys if key[1] != TOTAL]
    return [key for key in own if key[1] != RMW] or own


def _single(tags: list[str]) -> list[str]:
    """Operations on single rows, where there are some besides scans."""
    return [tag for tag in tags if bare(tag).upper() != "SCAN"] or tags


def _by_operation(counts: dict[tuple[str, str], float]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for (_, operation), n in counts.items():
        sums[operation] = sums.get(operation, 0.0) + n
    return sums


def _totals(
    operations: int,
    length_s: float,
    figures: dict[str, Any],
    counts: dict[tuple[str, str], float],
    parts: list[dict[str, Any]],
    notes: list[str],
) -> Totals:
    """Put together what a cell's logs say; `counts` are operations by name and by what they do."""
    bounds = read_bounds(_by_operation(counts))
    share, names = bounds[0] if bounds[0] == bounds[1] else math.nan, [name for name, _ in counts]
    named = label(*next(iter(counts))) if len(counts) == 1 and names[0].upper() not in _PLAIN else ""
    if len(parts) > 1 and share in (0.0, 1.0):  # its operations have rows of their own, one of which is called READ
        named = ALL_READS if share else ALL_WRITES
    several = parts if len(parts) > 1 else []
    return Totals(operations, length_s, figures | {"named": named}, share, several, notes, names, bounds)


class _Whole:
    """The figures of a whole test, and what follows from them."""

    def __init__(self, log: Figures, threads: int | None, where: str, meanings: Meanings) -> None:
        series = log.threads()
        if len(series) > 1 and threads not in series:
            raise InputError(f"{where} holds tests of {', '.join(map(str, series))} threads; name one of them")
        rows = [row for row in log.rows if len(series) < 2 or row.threads == threads]  # noqa: PLR2004 - one test
        twins = {row.tag for row in rows}  # YCSB measures everything twice with `hdrhistogram+raw`
        rows = [row for row in rows if f"Hdr{row.tag.removeprefix('Raw')}" not in twins or row.tag.startswith("Hdr")]
        self._of, self._own_names = meanings, log.format == STRESS
        left = [
            f"; {counted(log.tally.count, 'damaged line')} left out, the first {first}" for first in log.tally.named[:1]
        ]
        self._where, self._left = where, "".join(left)
        self._notes: list[str] = []
        self._whole = {(row.tag, row.statistic): row.value for row in rows if row.at_s is None}
        self._ends = [row.at_s for row in rows if row.at_s is not None]
        #: Of cassandra-stress: the last count of operations, failed ones too, by tag.
        self._attempted = {row.tag: row.value for row in rows if row.at_s is not None and row.statistic == "operations"}
        self._tags = list(dict.fromkeys(tag for tag, _ in self._whole))
        self._counted = {tag: n for tag in self._tags if (n := self._count(tag)) is not None}

    def totals(self) -> Totals:
        """Return what the test says in all."""
        length_s = self._length_s()
        ok = {tag: n for tag in self._tags if self._is_request(tag) and (n := self._ok(tag)) is not None}
        errors, n_errors = self._errors(ok)
        if not ok and not errors:
            raise InputError(f"{self._where} counts no operation{self._left}")
        tags = [tag for tag in dict.fromkeys([*ok, *errors]) if ok.get(tag) or errors.get(tag)]
        kinds = {tag: str(self._operation(tag)) for tag in tags}
        requests = [tag for tag, _ in _requests(kinds.items())]
        n = sum(ok.get(tag, 0.0) for tag in requests)
        if not 0 < n + n_errors < _MOST_OPERATIONS or min([*ok.values(), n_errors]) < 0:
            raise InputError(f"{self._where} counts {n + n_errors:g} operations, which cannot be{self._left}")
        figures = {"n_ok": n, "n_errors": n_errors, "printed": True, "latency_us": self._mean_of_all(requests, ok)}
        twice = sum(ok.get(tag, 0.0) for tag in tags if tag not in requests)
        figures["throughput_per_s"] = self._throughput(n, n_errors, twice, length_s)
        # Quantiles of several operations cannot be put together; cassandra-stress does it itself.
        source = TOTAL.lower() if self._known("total", "p95") else requests[0] if len(requests) == 1 else ""
        figures |= self._quantiles(source) if n else {}
        for operation, column in _COLUMN.items():
            own = _single([tag for tag in requests if kinds[tag] == operation and ok.get(tag)])
            if own:
                figures[column] = self._mean(own, ok)
        self._note_aside()
        # An operation of which none succeeded is one of the mix all the same.
        counts = {(bare(tag, False), kinds[tag]): ok.get(tag, 0.0) or errors[tag] for tag in tags}
        parts = [self._part(tag, kinds[tag], ok.get(tag, 0.0), errors.get(tag, 0.0), length_s) for tag in tags]
        return _totals(int(n + n_errors), length_s, figures, counts, parts, self._notes)

    def _operation(self, tag: str) -> str | None:
        return operation_of(tag, self._of, in_histograms=False, own_names=self._own_names)

    def _note_aside(self) -> None:
        """Say what was kept apart: checks inside the client."""
        for tag in self._tags:
            if bare(tag, False) == VERIFY and tag in self._counted:
                failures = self._returned(tag)[1]
                bad = f", of which {failures:,.0f} found wrong or missing data" if failures else ""
                self._notes.append(f"{self._counted[tag]:,.0f} checks inside the client ({tag}{bad}) are no requests.")

    def _known(self, tag: str, statistic: str) -> bool:
        return math.isfinite(self._whole.get((tag, statistic), math.nan))

    def _count(self, tag: str) -> float | None:
        """How many operations a tag counts; None if it counts none."""
        counts = (self._whole.get((tag, statistic)) for statistic in ("operations", "partitions"))
        return next((n for n in counts if n is not None and math.isfinite(n)), None)

    def _is_request(self, tag: str) -> bool:
        return tag in self._counted and self._operation(tag) not in (None, TOTAL) and tag != "OVERALL"

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
        n, attempted = self._counted.get(tag), self._attempted.get(tag, 0.0)
        if n is None:
            return None
        printed = self._whole.get((tag, "errors"), 0.0)
        # cassandra-stress sums up partitions, those of failed writes too; an operation may have several.
        if attempted >= printed and attempted and (printed > 0 or self._many_partitions(tag)):
            return attempted - printed
        return n - self._returned(tag)[1] if self._counts_failures(tag) else n

    def _many_partitions(self, tag: str) -> bool:
        """Whether operations have more, or fewer, than a partition each."""
        n, attempted = self._counted[tag], self._attempted.get(tag, 0.0)
        return (tag, "partitions") in self._whole and attempted > 0 and abs(n / attempted - 1) > _PARTITIONS_OFF

    def _failed_of(self, tag: str) -> float:
        """Failures in rows of their own, READ-FAILED or READ-NOT_FOUND and so on."""
        return sum(n for other, n in self._counted.items() if of_failure(other) == bare(tag, False))

    def _errors(self, ok: dict[str, float]) -> tuple[dict[str, float], float]:
        """Failed operations by tag and in all, from every line that counts them."""
        errors: dict[str, float] = {}
        for tag, n_ok in ok.items():
            own = self._whole.get((tag, "errors"), 0.0) or self._failed_of(tag) or self._returned(tag)[1]
            if self._counts_failures(tag) and n_ok:
                self._notes.append(f"{tag}: latencies include those of its {own:,.0f} failed operations.")
            if self._operation(tag) != RMW and own:
                errors[tag] = own
        known = {bare(tag, False) for tag in ok}
        for tag, n in self._counted.items():  # of an operation of which none succeeded, so that it has no row
            of = of_failure(tag)
            if of and of not in known and n:
                errors[of] = errors.get(of, 0.0) + n
        printed = self._whole.get(("total", "errors"), math.nan)
        return errors, printed if math.isfinite(printed) else sum(errors.values())

    def _mean(self, tags: list[str], ok: dict[str, float]) -> float:
        known = [tag for tag in tags if self._known(tag, "mean") and ok.get(tag)]
        n = sum(ok[tag] for tag in known)
        return sum(self._whole[tag, "mean"] * ok[tag] for tag in known) / n if n else math.nan

    def _mean_of_all(self, tags: list[str], ok: dict[str, float]) -> float:
        """Mean of all requests: as printed where partitions are no operations, else from those of each operation."""
        if any(map(self._many_partitions, ok)) and self._known("total", "mean"):
            return self._whole["total", "mean"]
        without = [tag for tag in tags if ok.get(tag) and not self._known(tag, "mean")]
        if without:
            self._notes.append(f"No mean latency of {', '.join(without)} is in the log{self._left}.")
        return math.nan if without else self._mean(tags, ok)

    def _quantiles(self, tag: str) -> dict[str, float]:
        figures = {column: self._whole.get((tag, f"p{p:g}"), math.nan) for column, p in _PERCENTILES.items()}
        return figures | {"max_us": self._whole.get((tag, "max"), math.nan)}

    def _length_s(self) -> float:
        times = {tag: value for (tag, name), value in self._whole.items() if name == "run time"}
        run_time = [value / MS_PER_S if tag == "OVERALL" else value for tag, value in times.items()]
        if not run_time and not self._ends:
            raise InputError(f"{self._where} has no run time, so that nothing is known of its throughput{self._left}")
        # cassandra-stress prints the whole test's time in whole seconds, but each interval's end in tenths.
        return max([*run_time[:1], *self._ends])

    def _throughput(self, n: float, n_errors: float, twice: float, length_s: float) -> float:
        """Return the printed throughput, or the one that follows where that cannot be."""
        if not n:
            return math.nan
        printed = self._whole.get(("OVERALL", "throughput"), self._whole.get(("total", "throughput"), math.nan))
        follows = (n + n_errors) / length_s if length_s > 0 else math.nan
        if math.isnan(printed) or math.isnan(follows):
            return follows if math.isnan(printed) or math.isinf(printed) else printed
        said = f"{n + n_errors:,.0f} operations in {length_s:g} s are {follows:,.0f}"
        if not 0 < printed < math.inf:
            self._notes.append(f"Printed throughput {printed:g} a second cannot be: {said}, which is shown.")
            return follows
        if twice:
            self._notes.append(f"Of throughput, the log counts a read-modify-write once: {printed:g} a second.")
            return follows
        if not 1 / _OFF < printed / follows < _OFF:
            self._notes.append(f"Printed throughput {printed:g} a second, but {said}.")
        return printed

    def _part(self, tag: str, operation: str, n: float, n_errors: float, length_s: float) -> dict[str, Any]:
        rate = self._whole.get((tag, "throughput"), n / length_s if length_s > 0 else math.nan) if n else math.nan
        part = {"named": label(tag, operation), "read_share": read_share({operation: 1.0}), "printed": True}
        part |= {"n_ok": n, "n_errors": n_errors, "throughput_per_s": rate}
        return part | ({"latency_us": self._whole.get((tag, "mean"), math.nan)} | self._quantiles(tag) if n else {})
