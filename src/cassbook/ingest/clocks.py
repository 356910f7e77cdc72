"""Whether the clocks of several client machines can be laid over each other.

A log does not distinguish a clock that is off from a client that started late: both shift all its times. What can be
known is this. Clients that share one run are started together and run for about as long, so their windows, from the
first operation sent to the last one back, must overlap. A clock that was set while a client measured shows as
completion times that go back. The rule:

* windows of which two do not overlap at all are refused, unless the clocks are said to be apart;
* otherwise the times are taken as they are, and each client's begin and end are reported as distances from the median
  client's, with a word on those that are shifted by more than a tenth of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from cassbook.core.errors import InputError
from cassbook.ingest.log import Log
from cassbook.ingest.ycsb_lines import FIRST_S, LAST_S

#: Shift of a client's window, as a share of the typical one, from which a report says more than the figures.
_NOTABLE = 0.1


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


def report(logs: Sequence[Log], apart: bool) -> list[str]:
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
