"""Read a YCSB raw file into a log of operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.log import Log
from cassbook.ingest.pipeline import ahead
from cassbook.ingest.samples import Operations, Spool
from cassbook.ingest.ycsb_lines import Rows, blocks, kind, parse

FORMAT = "YCSB raw"
EXPECTED = "`OPERATION,<completion in ms>,<latency in us>`, such as READ,1600000000000,812, or a text of YCSB's"
_MS_US = 1000


def read(stream: BinaryIO, tally: Tally, folder: Path) -> Log:
    """Read a raw file to its end.

    Parameters
    ----------
    stream : binary file
        Decompressed.
    tally : Tally
        Takes the damaged lines, or refuses the first.
    folder : Path
        Where its operations wait on the disk until they are written.

    Returns
    -------
    Log

    Raises
    ------
    InputError
        At a damaged line, unless they are skipped.
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
        log.lines += rows.lines
        log.counts.update(rows.counts)
        log.back_ms = max(log.back_ms, back_ms(rows))
        log.add(to_operations(rows))


def finish(log: Log) -> None:
    """Say what the names of a log mean for whoever reads its samples."""
    known = {name: kind(name) for name in log.counts}
    log.left_out = Counter({name: log.counts[name] for name, k in known.items() if k is None or k.operation < 0})
    if any("Intended-" in name for name in log.left_out):
        log.notes.append("Intended-: latency from the intended start, which no line ties to its operation's own")
    if any("READ-MODIFY-WRITE" in name for name in log.counts if name not in log.left_out):
        log.notes.append("READ-MODIFY-WRITE: YCSB counts the read and the update inside each as well")
    if any(name.endswith("-FAILED") for name in log.counts):
        log.notes.append("-FAILED: YCSB does not say how; reportlatencyforeacherror=true would")


def to_operations(rows: Rows) -> Operations:
    """Samples' columns of raw rows: an operation was sent a latency before it was completed."""
    kinds = [kind(name) for name in rows.names]
    operation = np.array([k.operation if k else -1 for k in kinds], np.int8)[rows.name]
    outcome = np.array([k.outcome if k else -1 for k in kinds], np.int8)[rows.name]
    at_ms, latency_us = rows.at_ms, rows.latency_us
    if (operation < 0).any():
        kept = operation >= 0
        operation, outcome, at_ms, latency_us = operation[kept], outcome[kept], at_ms[kept], latency_us[kept]
    return Operations(operation, outcome, at_ms * _MS_US - latency_us, latency_us.astype(np.float64))


def back_ms(rows: Rows) -> int:
    """How far completion times step back at most, from one row of an operation to the next.

    YCSB takes the time of a completion while it holds the operation's lock, so they never do unless the clock was set.
    """
    if rows.at_ms.size < 2:  # noqa: PLR2004 - a pair
        return 0
    steps = np.diff(rows.at_ms)
    back = (steps < 0) & (rows.name[1:] == rows.name[:-1])
    return int(-steps[back].min()) if back.any() else 0
