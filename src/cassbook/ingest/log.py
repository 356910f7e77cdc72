"""What one log held, as far as the samples, its report and the check of its clock need it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from cassbook.ingest.damage import Tally
from cassbook.ingest.samples import Operations, Spool
from cassbook.ingest.ycsb_order import Order

_NEVER = 2**62


@dataclass(slots=True)
class Log:
    """One log of single operations that was read to its end.

    Attributes
    ----------
    tally : Tally
        Its path and damaged lines.
    format : str
        In words.
    spool : Spool or None
        Its operations, until they are written; None where they stay with the workers of a Dask cluster.
    counts : Counter of str
        Operations by the name that the log has for them, those left out too.
    left_out : Counter of str
        Operations by name that the samples have no place for.
    rows : int
        Operations that become samples.
    first_us, last_us : int
        When the first was sent and the last came back, microseconds since 1970 on the client's clock.
    back_ms : int
        How far the client's clock was set back while it measured, at most; 0 if it was not.
    lines : int
        Line ends in it, for a text.
    begins : list of (int, bytes)
        Lines of which each test has one, and where its rows begin.
    order : Order
        Where times begin again.
    units : dict of int
        Units that its times are counted in, with the line before which the first such time does not come.
    notes : list of str
        What a reader of the samples must know about them.
    """

    tally: Tally
    format: str
    spool: Spool | None
    counts: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    first_us: int = _NEVER
    last_us: int = -_NEVER
    back_ms: int = 0
    lines: int = 0
    begins: list[tuple[int, bytes]] = field(default_factory=list)
    order: Order = field(default_factory=Order)
    units: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, operations: Operations) -> None:
        """Put some operations into the spool and widen the log's window to hold them."""
        if len(operations.operation):
            self.widen(operations)
            if self.spool:
                self.spool.add(operations)

    def widen(self, operations: Operations) -> None:
        """Count operations and let the window hold them."""
        self.rows += len(operations.operation)
        self.first_us = min(self.first_us, int(operations.started_us.min()))
        self.last_us = max(self.last_us, int(np.max(operations.started_us + operations.latency_us)))

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.tally.path.name

    def content(self) -> dict[str, object]:
        """Return what was read, for a program."""
        window = {"begun_unix_s": self.first_us / 1e6, "length_s": (self.last_us - self.first_us) / 1e6}
        return {
            "file": self.name, "format": self.format, "rows": self.rows, **(window if self.rows else {}),
            "counts": dict(self.counts.most_common()), "left_out": dict(self.left_out.most_common()),
            "clock_set_back_s": self.back_ms / 1000, "notes": self.notes, **self.tally.content(),
        }  # fmt: skip

    def report(self) -> list[str]:
        """Lines that say what was read."""
        window = ""
        if self.rows:
            begun = str(np.datetime64(self.first_us // 10**6, "s")).replace("T", " ")  # pandas ends in 2262
            window = f", {(self.last_us - self.first_us) / 1e6:.3f} s from {begun} UTC on"
        kinds = ", ".join(f"{name} {n:,}" for name, n in self.counts.most_common())
        lines = [f"{self.name}: {self.format}; {self.rows:,} operations{window}", f"  {kinds}"]
        if self.left_out:
            names = ", ".join(f"{name} {n:,}" for name, n in self.left_out.most_common())
            lines.append(f"  left out, for the samples have no such operation: {names}")
        if self.back_ms:
            lines.append(f"  its clock was set back while it measured, by {self.back_ms / 1000:g} s at most")
        return lines + [f"  {line}" for line in (*self.notes, *self.tally.lines())]
