"""What every way of reading logs shares: options, the name of the cell, the begin of the run, clocks, notes, report.

The clocks of several client machines cannot always be laid over each other. A log does not distinguish a clock that is
off from a client that started late: both shift all its times. What can be known is this. Clients that share one run are
started together and run for about as long, so their windows, from the first operation sent to the last one back, must
overlap. A clock that was set while a client measured shows as completion times that go back. The rule:

* windows of which two do not overlap at all are refused, unless the clocks are said to be apart;
* otherwise the times are taken as they are, and each client's begin and end are reported as distances from the median
  client's, with a word on those that are shifted by more than a tenth of the run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from cassbook.core.errors import InputError
from cassbook.core.schema import OPERATIONS
from cassbook.ingest import easy_stress, go_ycsb, hdr, pipes, stress, ycsb_raw, ycsb_summary
from cassbook.ingest.damage import Tally
from cassbook.ingest.formats import Format
from cassbook.ingest.log import Log
from cassbook.ingest.operations import Meanings
from cassbook.ingest.samples import is_csv
from cassbook.ingest.ycsb_lines import FIRST_S, LAST_S

#: Shift of a client's window, as a share of the typical one, from which a report says more than the figures.
_NOTABLE = 0.1
_EXPECTED = {
    Format.YCSB_RAW: ycsb_raw.EXPECTED,
    Format.EASY_STRESS: easy_stress.EXPECTED,
    Format.YCSB_TEXT: ycsb_summary.EXPECTED_TEXT,
    Format.YCSB_JSON: ycsb_summary.EXPECTED_JSON,
    Format.GO_YCSB: go_ycsb.EXPECTED,
    Format.HDR_LOG: hdr.EXPECTED,
    Format.STRESS: stress.EXPECTED,
}
_PLACES = [name for name in OPERATIONS if name != "UNKNOWN"]
_ENDINGS = {".gz", ".zst", ".txt", ".log", ".parquet", ".csv", ".dat", ".raw", ".hdr", ".hlog", ".json"}


def epochs_us(logs: Sequence[Log], apart: bool) -> list[int]:
    """Return when the run began, on each client's clock, in microseconds since 1970; each log has at least one
    operation.

    `apart` says that the clocks have nothing to do with each other: each client's own first operation is the begin.
    Raise InputError if two windows do not overlap, naming both and their distance, or a time is no date from 2000 to
    2099, unless `apart`.
    """
    if apart:
        return [log.first_us for log in logs]
    for log in logs:
        if not FIRST_S <= log.first_us / 1e6 < LAST_S:
            raise InputError(
                f"{log.tally.path}: its first operation was sent on {_date_of(log.first_us)}: its times are in another "
                "unit than its format has them in, or the client's clock is off. If it is the clock, --clocks-apart "
                "counts from its own first operation"
            )
    latest, earliest = max(logs, key=lambda log: log.first_us), min(logs, key=lambda log: log.last_us)
    if latest.first_us > earliest.last_us:
        gap_s = (latest.first_us - earliest.last_us) / 1e6
        raise InputError(
            f"{latest.tally.path} begins {gap_s:.3f} s after {earliest.tally.path} ends: these clients did not run "
            "together, or a clock is off. Read runs one by one; or, if they did run together, --clocks-apart counts "
            "each client's time from its own first operation"
        )
    begun = min(log.first_us for log in logs)
    return [begun] * len(logs)


def _date_of(at_us: int) -> str:
    """A date in words, whatever the year."""
    return str(np.datetime64(at_us // 10**6, "s")).replace("T", " ")  # pandas ends in 2262


def report_on_clocks(logs: Sequence[Log], apart: bool) -> list[str]:
    """Lines on how the windows of several clients lie to each other; none for a single one."""
    if len(logs) == 1:
        return []
    begin, end = median(log.first_us for log in logs), median(log.last_us for log in logs)
    typical = median(log.last_us - log.first_us for log in logs)
    how = "each from its own first operation" if apart else "as they are"
    lines = [f"clocks of {len(logs)} clients, taken {how}; begin and end against the median client:"]
    for log in logs:
        shifts_us = (log.first_us - begin, log.last_us - end)
        text = f"  {log.name}: {shifts_us[0] / 1e6:+.3f} s, {shifts_us[1] / 1e6:+.3f} s"
        if max(map(abs, shifts_us)) > _NOTABLE * typical:
            both = min(abs(shift) for shift in shifts_us) > _NOTABLE * typical and shifts_us[0] * shifts_us[1] > 0
            text += " (shifted as a whole: started late, or its clock is off)" if both else " (ran for another time)"
        lines.append(text)
    return lines


@dataclass(frozen=True, slots=True)
class Options:
    """How logs are to be read."""

    skip_damaged: bool = False  # leave damaged lines out and count them, instead of stopping at the first
    clocks_apart: bool = False  # count each file's time from its own first operation
    unit: str | None = None  # of the values of an HdrHistogram log: ns, us or ms
    #: address of a Dask scheduler whose workers see the same files; the samples become a folder of parts
    dask: str | None = None
    force: bool = False  # overwrite the output if it exists
    #: operations of unknown names that read; the other unknown ones write. Empty: unknown names stay unknown.
    reads: tuple[str, ...] = ()
    stress_profile: Path | None = None  # user profile of cassandra-stress whose statements say which operations read

    def given(self) -> list[str]:
        """Names of the options that say how a log is to be read."""
        names = {"--skip-damaged": self.skip_damaged, "--unit": self.unit, "--reads": self.reads}
        return [name for name, value in (names | {"--stress-profile": self.stress_profile}).items() if value]

    def meanings(self) -> Meanings:
        """Return what is said of operations of unknown names.

        Raise InputError if the profile cannot be read, or both are given.
        """
        if self.stress_profile and self.reads:
            raise InputError("--reads and --stress-profile both say which operations read; give one of them")
        if self.stress_profile:
            return Meanings.of_profile(self.stress_profile)
        return Meanings.listed(self.reads, f"--reads {','.join(self.reads)}") if self.reads else Meanings()


@dataclass(frozen=True, slots=True)
class Report:
    """What became of some logs."""

    lines: list[str]  # for a person
    #: For a program: output, format (parquet or csv), table (samples, figures or histograms), rows, left_out
    #: (operations), damaged_lines, clocks (lines on how those of several clients lie to each other), and logs, a list
    #: with file, format, rows, counts, notes, damaged_lines, damaged and cut of each.
    content: dict[str, Any]


def tally_of(path: Path, form: Format, options: Options) -> Tally:
    """An empty tally of damaged lines for a log."""
    return Tally(path, options.skip_damaged, _EXPECTED[form])


def cell_id_of(paths: Sequence[Path], to: Path) -> str:
    """Name of the cell: that of the one log, or of the file that many are merged into; without endings."""
    path = paths[0] if len(paths) == 1 and not pipes.is_pipe(paths[0]) else to
    name = path.name
    while Path(name).suffix.lower() in _ENDINGS:
        name = Path(name).stem
    return name


def settle(logs: Sequence[Log], options: Options) -> list[int]:
    """When the run began on each log's clock, once all are read; refuses logs without an operation."""
    for log in logs:
        if not log.rows:
            raise InputError(_no_samples(log))
    return epochs_us(logs, options.clocks_apart)


def _no_samples(log: Log) -> str:
    """Say what a log holds of which no sample can be made, and why."""
    damaged = f"; {log.tally.count:,} damaged lines were left out" if log.tally.count else ""
    nothing = f"{log.tally.path}: holds no operation that a sample can be made of"
    if not log.counts:
        return f"{nothing} (no operation at all{damaged}); nothing was written"
    named = ", ".join(f"{name} {n:,}" for name, n in log.counts.most_common())
    if not log.left_out:
        return f"{nothing}: of {named} every row is damaged{damaged}; nothing was written"
    return (
        f"{nothing}: it has {named}, and samples have a place for {', '.join(_PLACES)} only{damaged}; nothing was "
        "written. A log of figures or of histograms of the same test can be shown"
    )


def notes_of(logs: Sequence[Log], begun_us: Sequence[int]) -> dict[str, str]:
    """Metadata of the samples: which logs they are from, and when the run began on each one's clock."""
    notes = [
        {
            "file": log.name, "format": log.format, "begun_unix_us": begun, "operations": dict(log.counts),
            "left_out": dict(log.left_out), "damaged_lines": log.tally.count, "text_lines": log.tally.texts,
            "notes": log.notes, "damaged": [str(damage) for damage in log.tally.named],
        }
        | ({"cut": log.tally.cut} if log.tally.cut else {})
        for log, begun in zip(logs, begun_us, strict=True)
    ]  # fmt: skip
    return {"cassbook_logs": json.dumps(notes)}


def summed_up(logs: Sequence[Log], to: Path, options: Options) -> Report:
    """Return the report on logs of operations."""
    rows = sum(log.rows for log in logs)
    damaged = sum(log.tally.count for log in logs)
    left = sum(log.left_out.total() for log in logs)
    apart = report_on_clocks(logs, options.clocks_apart)
    lines = [line for log in logs for line in log.report()] + apart
    lines.append(f"{to}: {rows:,} samples; {left:,} operations and {damaged:,} damaged lines left out")
    content = {
        "output": str(to), "format": "csv" if is_csv(to) else "parquet", "table": "samples", "rows": rows,
        "left_out": left, "damaged_lines": damaged, "clocks": apart, "logs": [log.content() for log in logs],
    }  # fmt: skip
    return Report(lines, content)
