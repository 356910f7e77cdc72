"""What pages quote of reads at strong settings among failing nodes: one function, so that they quote the same."""

from __future__ import annotations

from cassbook.records.faults import FaultRun
from cassbook.records.strong_reads import among_failures


def values(failing: FaultRun, suffix: str = "") -> dict[str, str]:
    """Return failing_reads, failing_stale and failing_clock of a record, each with the suffix by which prose calls it.

    Parameters
    ----------
    failing : FaultRun
    suffix : str
        '_older', where a page quotes two records.
    """
    found = among_failures(failing)
    counts = {"reads": found.reads, "stale": found.stale, "clock": found.stale_by_clock}
    return {f"failing_{name}{suffix}": f"{count:,}" for name, count in counts.items()}
