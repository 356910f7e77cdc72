"""Ratios of levels by two designs, on the same cluster in equal time: a cell after the other, and in slices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.experiment import Row, SideBySide
from cassbook.lab.experiments.interleaving.loading import SHARES, Loader, compared, slice_table, three_nodes, warmed_up
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.slices import Alternation
from cassbook.latency.designs import INTERLEAVED, SEQUENTIAL


@dataclass(frozen=True, slots=True)
class Designs:
    """The experiment.

    Attributes
    ----------
    setups : mapping of str to SideBySide
    threads : tuple of int
    steady_s : float
        Of each cell that is measured alone, as in the records of the first design.
    ramp_s : float
    records : int
    """

    setups: Mapping[str, SideBySide] = field(default_factory=three_nodes)
    threads: tuple[int, ...] = (100, 300, 500, 1000)
    steady_s: float = 3.5
    ramp_s: float = 0.4
    records: int = 100_000

    def notes(self) -> dict[str, Any]:
        """Return every number."""
        return {name: getattr(self, name) for name in ("threads", "steady_s", "ramp_s", "records")}

    def rows(self, setup: str) -> int:
        """Return how many rows a cluster start gives."""
        return len(self._units())

    def _units(self) -> list[tuple[str, str, int, str]]:
        """What is measured at a time: design, operation, threads, and the level where it is alone."""
        units = []
        for operation, threads in itertools.product(SHARES, self.threads):
            units += [(SEQUENTIAL, operation, threads, level) for level in compared(operation)]
            units.append((INTERLEAVED, operation, threads, ""))
        return units

    def measure(self, setup: str, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure everything by both designs, in one random order.

        Returns
        -------
        iterator of dict
            panel, design, operation, threads, level (empty where several alternate), took_s; and a table, slices:
            level, round, n, latency_ms, p99_ms (a cell that was measured alone is one slice).
        """
        units = self._units()
        with warmed_up(cluster, self.records, rng) as loader:
            for number, place in enumerate(rng.permutation(len(units))):
                design, operation, threads, level = units[place]
                loader.settle()
                began = loader.now()
                slices = self._slices(loader, design, operation, threads, level, int(rng.integers(1 << 31)))
                row: Row = {"panel": number, "design": design, "operation": operation, "threads": threads}
                yield row | {"level": level, "took_s": round(loader.now() - began, 3), "slices": slices}

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


def designs() -> Designs:
    """Return the experiment as the catalogue has it."""
    return Designs()
