"""A recorded staleness run, read: what was measured, and what its traces predict."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import pandas as pd

from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.types import Floats
from cassbook.records.experiment import Results
from cassbook.records.kinds import STALENESS
from cassbook.staleness.from_traces import Traced
from cassbook.staleness.message_delays import MessageDelays

#: Columns that identify a panel.
KEYS = ["setup", "threads", "r", "w", "versions"]
#: Of a read's own cost of tracing, so much counts: what comes before the read looks makes it later, hence fresher, and
#: so does not count; what a write's tracing adds until it is applied does. Neither is known, half lies between.
PART = 0.5


class StalenessRun:
    """A record of `cassbook experiment staleness-three` or `staleness-five`.

    `panels`: one row per panel and cluster start (see `panels.StalenessExperiment.measure`).

    Raises InputError if no such record exists, it is not complete, or it is of another kind.
    """

    def __init__(self, name_or_path: str | Path) -> None:
        self.results = Results(name_or_path, STALENESS)
        self.panels = self.results.rows
        self.name = self.results.name

    @property
    def has_traces(self) -> bool:
        """Whether requests were traced."""
        return self.results.has_table("legs")

    @cached_property
    def reads(self) -> pd.DataFrame:
        """All reads, counted: start, setup, panel and `curves.COUNTED`."""
        return self.results.table("counted")

    @cached_property
    def legs(self) -> pd.DataFrame:
        """Every traced request at every replica (see `panels`)."""
        return self.results.table("legs")

    def counted(self, setup: str, threads: int, r: int, w: int, versions: int = 1) -> pd.DataFrame:
        """Return the reads of a panel, of all cluster starts together (see `curves`).

        Raises InputError if it was not measured.
        """
        return self._of(self.reads, setup, threads, r, w, versions)

    def traced(self, setup: str, threads: int, r: int, w: int, by_client: bool = True, part: float = PART) -> Traced:
        """Return what the traces of a panel predict: its writes, and its reads, which were traced at the level of R.

        `part` of what tracing adds to a read is taken off the time that a read would have needed; from none to all of
        it is within the prediction's interval.
        """
        traces = self._of(self.legs, setup, threads, r, w, 1)
        writes, reads = (MessageDelays.of_table(traces[traces["kind"] == kind]) for kind in ("UPDATE", "READ"))
        cost = self.tracing_ms(setup, threads)
        return Traced(writes, reads, r, w, by_client, Estimate(part * cost.value, 0.0, cost.value, cost.n))

    def tracing_ms(self, setup: str, threads: int) -> Estimate:
        """What tracing adds to a read of one replica, from the same panels' reads with and without it, over cluster
        starts.

        Reads of more replicas do not tell: traced writes wait for all, so that their reads find nothing to repair.
        """
        panels = self.panels[
            (self.panels["setup"] == setup) & (self.panels["threads"] == threads) & (self.panels["r"] == 1)
        ]
        excess = (panels["traced_read_ms"] - panels["read_ms"]).groupby(panels["start"]).mean().dropna()
        mean = Estimate.mean(excess)
        bounds = [max(0.0, bound) for bound in (mean.value, mean.low, mean.high)]  # NaN, of one start, becomes 0
        return Estimate(bounds[0], min(bounds[:2]), max(bounds), mean.n)

    def rows(self, setup: str, threads: int, r: int, w: int, versions: int = 1) -> pd.DataFrame:
        """Return the rows of a panel, one per cluster start.

        Raises InputError if it was not measured.
        """
        panels = self.panels
        wanted = dict(zip(KEYS, (setup, threads, r, w, versions), strict=True))
        for column, value in wanted.items():
            panels = panels[panels[column] == value]
        if panels.empty:
            raise InputError(f"{self.name}: holds no panel with {wanted}")
        return panels

    def latencies_ms(self, setup: str, threads: int, r: int, w: int, side: str) -> Floats:
        """Return the mean latency of a panel's reads or writes by cluster start: three are too few for a mean.

        Reads follow their write: those of two replicas or more may wait for a blocking read repair.

        `setup`, `threads`, `r` and `w`: of the panel.
        """
        return self.rows(setup, threads, r, w).sort_values("start")[f"{side}_ms"].to_numpy(float)

    def _of(self, table: pd.DataFrame, setup: str, threads: int, r: int, w: int, versions: int) -> pd.DataFrame:
        rows = self.rows(setup, threads, r, w, versions)
        return table.merge(rows[["start", "setup", "panel"]], on=["start", "setup", "panel"])
