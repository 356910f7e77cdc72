"""Read a raw file of YCSB or go-ycsb into a log of operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cassbook.core.errors import InputError
from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.log import Log
from cassbook.ingest.pipeline import ahead
from cassbook.ingest.samples import Operations, Spool
from cassbook.ingest.ycsb_lines import SUMS, UNITS_PER_S, Rows, blocks, kind, parse

FORMAT = "YCSB raw"
EXPECTED = (
    "`OPERATION,<completion in ms since 1970>,<latency in us>`, such as READ,1600000000000,812, a date from 2000 to "
    "2099 in one unit throughout, or a text of YCSB's or of a console"
)
#: Where rows begin, in the file, in a block of it or behind the sums of a test.
_ROWS = b"rows"
_IN_WORDS = {"us": "microseconds", "ns": "nanoseconds", "s": "seconds"}


def read(stream: BinaryIO, tally: Tally, folder: Path) -> Log:
    """Read a raw file, decompressed, to its end; its operations wait in the folder until they are written.

    The tally takes the damaged lines, or refuses the first. Raise InputError at a damaged line, unless they are
    skipped; for several tests in one file.
    """
    log = Log(tally, FORMAT, Spool(folder))
    gather(log, ahead(parse, blocks(stream)))
    finish(log)
    return log


def gather(log: Log, parts: Iterable[Rows]) -> None:
    """Add the rows of all parts, in file order, to a log."""
    for rows in parts:
        for damage in rows.damaged:
            log.tally.add(Damage(log.lines + damage.line, damage.text))
        log.tally.texts += rows.texts
        log.begins += [(log.lines + line, mark) for line, mark in rows.marks]
        log.begins += [(log.lines + line, _ROWS) for line in rows.first_lines()]
        log.order.take(rows, log.lines)
        if rows.unit:
            log.units.setdefault(rows.unit, log.lines + 1)
        log.lines += rows.lines
        log.counts.update(rows.counts)
        log.back_ms = max(log.back_ms, back_ms(rows))
        log.add(to_operations(rows))


def finish(log: Log) -> None:
    """Check that a log holds one test, and say what its names mean for whoever reads its samples.

    Raise InputError with the line where a second test begins, or where times begin to be in another unit.
    """
    _check_one_test(log)
    known = {name: kind(name) for name in log.counts}
    log.left_out = Counter({name: log.counts[name] for name, k in known.items() if k is None or k.operation < 0})
    (unit,) = log.units or ("",)
    if unit in _IN_WORDS:
        what = "the start of each operation, as go-ycsb writes them" if unit == "us" else "its completion, as in YCSB"
        log.notes.append(
            f"times are read as {_IN_WORDS[unit]} since 1970, the only unit in which they are dates from 2000 to 2099, "
            f"and as {what}"
        )
    if any("Intended-" in name for name in log.left_out):
        log.notes.append("Intended-: latency from the intended start, which no line ties to its operation's own")
    if any("VERIFY" in name for name in log.left_out):
        log.notes.append("VERIFY: a check of what was read, inside the client; no request")
    if "TOTAL" in log.left_out:
        log.notes.append("TOTAL: go-ycsb writes each operation that succeeded a second time under this name")
    if any("MODIFY" in name for name in log.counts if name not in log.left_out):
        log.notes.append("READ-MODIFY-WRITE: YCSB counts the read and the update inside each as well")
    if any(name.endswith("-FAILED") for name in log.counts):
        log.notes.append("-FAILED: YCSB does not say how; reportlatencyforeacherror=true would")


def _check_one_test(log: Log) -> None:
    """Raise InputError where a log holds a second test."""
    if len(log.units) > 1:
        (first, _), (other, line) = list(log.units.items())[:2]
        raise InputError(
            f"{log.tally.path}: times are in {first} at first and, from a line after {line - 1:,} on, in {other} since "
            "1970: these are logs of two tools; give each a file of its own"
        )
    seen: dict[bytes, int] = {}
    marks = [(line, mark) for line, mark in log.begins if mark != _ROWS]
    again = [(line, mark) for line, mark in marks if seen.setdefault(mark, line) != line]
    # A second test may begin with another operation than the first: with whatever comes behind the sums.
    behind_sums = _behind_sums(log.begins)
    if again:
        line, mark = again[0]
        begin = min(line, behind_sums or line)
        raise second_test(log.tally.path, begin, f"{mark.decode()!r} is in line {seen[mark]} already")
    finished = next((line for line, mark in marks if mark.startswith(SUMS[1])), 0)
    if finished and behind_sums:
        raise second_test(log.tally.path, behind_sums, f"{SUMS[1].decode()!r} is in line {finished}, behind rows")
    if found := log.order.second_begins():
        line, name, back_s = found
        raise second_test(
            log.tally.path, line, f"times of {name} step back by {back_s:,.3f} s, to where they began; or it is "
            "another client's log"
        )  # fmt: skip


def _behind_sums(begins: list[tuple[int, bytes]]) -> int:
    """Line where something begins behind the sums of a test with rows; 0 if nothing does."""
    rows = min((line for line, mark in begins if mark == _ROWS), default=0)
    sums = [line for line, mark in begins if mark.startswith(SUMS)]
    if not rows or not sums or rows > min(sums):
        return 0
    return min((line for line, mark in begins if line > min(sums) and not mark.startswith(SUMS)), default=0)


def second_test(path: Path, line: int, why: str, byte: int = 0) -> InputError:
    """Return the refusal of a log that holds several tests one behind the other.

    The second begins in a line, as `why` shows; at a byte, from 1 at the file's beginning, if that line holds the end
    of the first test too.
    """
    option, end, begin = ("c", byte - 1, byte) if byte else ("n", line - 1, line)
    at_byte = f", byte {byte}" if byte else ""
    return InputError(
        f"{path}, line {line}{at_byte}: a second test begins here ({why}), and several tests must not be mixed; give "
        f"each a file of its own: `head -{option} {end}` gives the first, `tail -{option} +{begin}` the rest"
    )


def to_operations(rows: Rows) -> Operations:
    """Samples' columns of raw rows: in YCSB, an operation was sent a latency before it was completed."""
    kinds = [kind(name) for name in rows.names]
    operation = np.array([k.operation if k else -1 for k in kinds], np.int8)[rows.name]
    outcome = np.array([k.outcome if k else -1 for k in kinds], np.int8)[rows.name]
    at, latency_us = rows.at, rows.latency_us
    if (operation < 0).any():
        kept = operation >= 0
        operation, outcome, at, latency_us = operation[kept], outcome[kept], at[kept], latency_us[kept]
    if rows.unit == "us":  # go-ycsb has the start
        started_us = at
    else:
        per_s = UNITS_PER_S[rows.unit or "ms"]
        started_us = (at * (10**6 // per_s) if per_s < 10**6 else at // (per_s // 10**6)) - latency_us
    return Operations(operation, outcome, started_us, latency_us.astype(np.float64))


def back_ms(rows: Rows) -> int:
    """How far completion times step back at most, from one row of an operation to the next.

    YCSB takes the time of a completion while it holds the operation's lock, so they never do unless the clock was set.
    go-ycsb has starts in the order of completion, which step back without it.
    """
    if rows.at.size < 2 or rows.unit == "us":  # noqa: PLR2004 - a pair
        return 0
    steps = np.diff(rows.at)
    back = (steps < 0) & (rows.name[1:] == rows.name[:-1])
    return int(-steps[back].min()) * 1000 // UNITS_PER_S[rows.unit] if back.any() else 0
