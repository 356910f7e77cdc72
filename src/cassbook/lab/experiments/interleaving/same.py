"""Labels that stand for the same level: whatever differs between them is the method's doing (an A/A test)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from cassbook.lab.experiments.experiment import Row
from cassbook.lab.experiments.interleaving.loader import SHARES, GroupExperiment, Loader, compared, slice_table
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.slices import Alternation


@dataclass(frozen=True)
class SameLevelExperiment(GroupExperiment):
    """Labels that alternate, all of the same level; they are compared in pairs, each label in one."""

    threads: tuple[int, ...] = (10, 25, 50, 100, 200, 500)
    labels: int = 4
    measured_s: float = 1.6  # of each label at the least
    ramp_s: float = 0.2

    def points(self) -> list[tuple[str, int, str]]:
        """Return the operation, threads and level of each group."""
        pairs = itertools.product(SHARES, self.threads)
        return [(operation, threads, level) for operation, threads in pairs for level in compared(operation)]

    def group(self, loader: Loader, point: tuple[str, int, str], rng: np.random.Generator) -> Row:
        """Measure a group.

        The row has operation (READ, UPDATE, MIX), threads, level (that all labels stand for); and a table, slices:
        level (the label: '0', '1', ...), round, n, latency_ms, p99_ms.
        """
        operation, threads, level = point
        alternation = Alternation(self.labels, self.measured_s, (int(rng.integers(1 << 31)),))
        loader.settle()
        variants = [compared(operation)[level]] * self.labels
        seen = loader.run(operation, variants, threads, Bound(self.ramp_s, alternation=alternation))
        row: Row = {"operation": operation, "threads": threads, "level": level}
        return row | {"slices": slice_table(seen, [str(label) for label in range(self.labels)])}
