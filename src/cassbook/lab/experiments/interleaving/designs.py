"""Ratios of levels by two designs, on the same cluster in equal time: a cell after the other, and in slices."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cassbook.lab.experiments.experiment import Row
from cassbook.lab.experiments.interleaving.loader import SHARES, GroupExperiment, Loader, compared, slice_table
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.slices import Alternation
from cassbook.latency.designs import INTERLEAVED, SEQUENTIAL


@dataclass(frozen=True)
class DesignExperiment(GroupExperiment):
    """Groups of levels in slices, and each of their levels alone."""

    threads: tuple[int, ...] = (100, 300, 500, 1000)
    steady_s: float = 3.5  # of each cell that is measured alone, as in the records of the first design
    ramp_s: float = 0.4

    def points(self) -> list[tuple[str, str, int, str]]:
        """Return what is measured at a time: design, operation, threads, and the level where it is alone."""
        units = []
        for operation, threads in itertools.product(SHARES, self.threads):
            units += [(SEQUENTIAL, operation, threads, level) for level in compared(operation)]
            units.append((INTERLEAVED, operation, threads, ""))
        return units

    def group(self, loader: Loader, point: tuple[str, str, int, str], rng: np.random.Generator) -> Row:
        """Measure a group in slices, or one of its levels alone.

        The row has design, operation, threads, level (empty where several alternate), took_s; and a table, slices:
        level, round, n, latency_ms, p99_ms (a cell that was measured alone is one slice).
        """
        design, operation, threads, level = point
        loader.settle()
        began = loader.now()
        slices = self._slices(loader, *point, int(rng.integers(1 << 31)))
        row: Row = {"design": design, "operation": operation, "threads": threads, "level": level}
        return row | {"took_s": round(loader.now() - began, 3), "slices": slices}

    def _slices(
        self, loader: Loader, design: str, operation: str, threads: int, level: str, seed: int
    ) -> pd.DataFrame:  # fmt: skip
        levels = compared(operation)
        if design == SEQUENTIAL:
            seen = loader.run(operation, [levels[level]], threads, Bound(self.ramp_s, self.steady_s))
            return slice_table(seen, [level])
        # Guards and trials are paid for with measured time: both designs take equally long.
        whole_s = len(levels) * (self.steady_s + self.ramp_s)
        alternation = Alternation(len(levels), self.steady_s, (seed,), whole_s=whole_s)
        seen = loader.run(operation, list(levels.values()), threads, Bound(self.ramp_s, alternation=alternation))
        return slice_table(seen, list(levels))
