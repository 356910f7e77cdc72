"""Read the console log of cassandra-stress: one line per interval and operation, then the results, per thread count.

Read from 2.1 on, of Apache Cassandra and ScyllaDB. Releases differ in the header's commas, in units behind the results,
in the thousands separators of these, and in whether a line of the total or of each operation comes first. Latencies are
printed in milliseconds, numbers in the locale of the machine (see `stress_numbers`). A test that fails still prints
results, of zeros if it did nothing, and `FAILURE` behind them: such a log is refused, or read with a warning.

One process prints one test, or a series of growing thread counts (`-rate auto`, `threads>=4`). Whatever else a log has
is of a second test, and refused: figures of two tests must not be mixed.
"""

from __future__ import annotations

import math
from typing import BinaryIO

from cassbook.core.errors import InputError
from cassbook.ingest.damage import Tally
from cassbook.ingest.stress_figures import figures_of
from cassbook.ingest.stress_layout import Layout
from cassbook.ingest.summary import Figures, numbered

EXPECTED = (
    "an interval's line with a number under each heading, results with numbers in the notation of the whole log, or a "
    "text of cassandra-stress"
)
_QUOTED = 120


def read(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a console log.

    Raises
    ------
    InputError
        At an interval's line without a number under each heading, or for a test that failed, unless damaged lines are
        skipped; always for a second test in the same log, and where nothing shows how its numbers are to be read.
    """
    layout = Layout(tally)
    lines = list(layout.lines(numbered(stream)))
    figures, notation = figures_of(lines, tally)
    if notation.decimal == ",":
        figures.notes.append(
            f"its numbers have a decimal comma (line {notation.first[',']}), as in the locale of its machine"
        )
    _judge(layout, figures)
    return figures


def _judge(layout: Layout, figures: Figures) -> None:
    """Say whether the test failed or was cut short, count errors, and leave out latencies of no operation.

    Raises
    ------
    InputError
        If it failed, unless damaged lines are skipped.
    """
    rows, notes = figures.rows, figures.notes
    whole = [row for row in rows if row.at_s is None and row.statistic == "partitions"]
    counted = {(row.tag, row.threads): row.value for row in whole}
    idle = {key for key, n in counted.items() if n == 0}
    figures.rows = [
        row for row in rows if row.at_s is not None or row.unit != "us" or (row.tag, row.threads) not in idle
    ]
    failed = layout.failure is not None or (layout.exception is not None and not layout.ended)
    quoted = layout.exception or layout.failure
    if quoted and failed:
        _failed(figures, f"the test failed (line {quoted[0]}: {quoted[1].strip()[:_QUOTED]!r})")
    elif idle and all(tag != "total" or (tag, threads) in idle for tag, threads in counted):
        _failed(figures, "its results count no operation")
    elif not layout.ended and rows:
        notes.append("no END in it: the test was stopped or still running, or the log was cut short")
    if idle:
        tags = ", ".join(sorted({tag for tag, _ in idle}))
        notes.append(f"latencies of no operation, printed as 0, are left out: {tags}")
    _count_errors(figures, layout.failed_operations)


def _failed(figures: Figures, what: str) -> None:
    if not figures.tally.skip:
        raise InputError(
            f"{figures.tally.path}: {what}, so its figures are not those of a whole test; "
            "`cassbook read --skip-damaged` reads what was printed all the same"
        )
    figures.notes.append(f"{what}: these figures are not those of a whole test")


def _count_errors(figures: Figures, failed_operations: int) -> None:
    """Add the errors of results that do not count them, from their intervals or else from what is said of each."""
    whole = {(row.threads, row.statistic): row.value for row in figures.rows if row.at_s is None and row.tag == "total"}
    last = max((row.line for row in figures.rows), default=0)
    counts: dict[int | None, float] = {}
    for row in figures.rows:
        if row.at_s is not None and row.tag == "total" and row.statistic == "errors":
            counts[row.threads] = counts.get(row.threads, 0.0) + row.value
    for threads in dict.fromkeys(threads for threads, _ in whole):
        if (threads, "errors") not in whole:
            n = counts.get(threads, float(failed_operations) if len({t for t, _ in whole}) == 1 else math.nan)
            if not math.isnan(n):
                figures.add("total", "errors", n, "operations", threads=threads, line=last)
                whole[threads, "errors"] = n
    said = sum(value for (_, statistic), value in whole.items() if statistic == "errors")
    if failed_operations > said:
        figures.notes.append(
            f"{failed_operations:,} lines tell of an operation that failed, its results count {said:,.0f} errors "
            "(those of a warm-up are not among them)"
        )
