"""Real traced requests as sequences of messages: a write, and a read sent at once through another node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cassbook.core.types import Floats
from cassbook.records.staleness import StalenessRun
from cassbook.staleness.from_traces import Traced


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """A traced write and a traced read, put one after the other; times in ms since the write reached its coordinator.

    Attributes
    ----------
    writer, reader : int
        Index of the node that coordinates each.
    applied_ms, acknowledged_ms : ndarray, shape (n,)
        When each replica had the write, and when its acknowledgement was at the coordinator.
    committed_ms, known_ms : float
        When as many acknowledgements were there as the write waits for, and when the client knew.
    asked_ms : float
        When the read was at its coordinator.
    looked_ms, answered_ms : ndarray, shape (n,)
        When each replica looked, and when its answer was at the coordinator; infinite where it was not asked.
    used : tuple of int
        The replicas whose answers the read took.
    """

    writer: int
    reader: int
    applied_ms: Floats
    acknowledged_ms: Floats
    committed_ms: float
    known_ms: float
    asked_ms: float
    looked_ms: Floats
    answered_ms: Floats
    used: tuple[int, ...]

    @property
    def sees(self) -> bool:
        """Whether one of the answers had the write."""
        return bool((self.applied_ms[list(self.used)] <= self.looked_ms[list(self.used)]).any())


def typical(run: StalenessRun, setup: str, r: int, w: int, writer: int, reader: int) -> Sequence:
    """Put a typical read behind a typical write, without other load: of each the one whose time is the median.

    Parameters
    ----------
    run : StalenessRun
        With traces.
    setup : str
    r, w : int
    writer, reader : int
        Coordinators, by index.
    """
    traced = run.traced(setup, 0, r, 1)  # a write goes to all replicas, however many it waits for
    writes, reads = traced.writes, traced.reads
    a, b = _median(writes.coordinator, writes.back_ms, writer, w), _median(reads.coordinator, reads.back_ms, reader, r)
    committed_ms = float(np.sort(writes.back_ms[a])[w - 1])
    own = int(np.argsort(writes.back_ms[a], kind="stable")[w - 1]) == writer
    known_ms = committed_ms + (0.0 if own else float(writes.after_ms[a])) + float(writes.outside_ms[a]) / 2
    asked_ms = known_ms + float(reads.outside_ms[b]) / 2
    used = tuple(int(replica) for replica in np.argsort(reads.back_ms[b], kind="stable")[:r])
    return Sequence(
        writer, reader, writes.there_ms[a], writes.back_ms[a], committed_ms, known_ms, asked_ms,
        asked_ms + reads.there_ms[b], asked_ms + reads.back_ms[b], used,
    )  # fmt: skip


def _median(coordinators: NDArray[np.int64], back_ms: Floats, coordinator: int, waits: int) -> int:
    """Place of the request through a coordinator that took the median time until enough answers were there."""
    own = np.flatnonzero(coordinators == coordinator)
    took = np.sort(back_ms[own], axis=1)[:, waits - 1]
    return int(own[np.argsort(took, kind="stable")[len(own) // 2]])


def values(weak: Sequence, strong: Sequence) -> dict[str, float]:
    """Return what prose quotes of a weak and a strong sequence.

    Returns
    -------
    dict
        weak_known_ms, strong_known_ms (when the client knew of the write), late_ms (how long after the strong write was
        committed its last acknowledgement came).
    """
    late_ms = float(strong.acknowledged_ms.max()) - strong.committed_ms
    return {"weak_known_ms": weak.known_ms, "strong_known_ms": strong.known_ms, "late_ms": late_ms}


def stalest_pair(traced: Traced) -> tuple[int, int]:
    """Return the coordinators between which a read at once misses the write most often."""
    return max(traced.pairs, key=lambda pair: float((traced.needed_ms[pair] > 0).mean()))
