"""Labels that stand for the same level: whatever differs between them is the method's doing (an A/A test)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.experiment import Row, SideBySide
from cassbook.lab.experiments.interleaving.loading import SHARES, compared, slice_table, three_nodes, warmed_up
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.slices import Alternation


@dataclass(frozen=True, slots=True)
class Same:
    """The experiment.

    Attributes
    ----------
    setups : mapping of str to SideBySide
    threads : tuple of int
    labels : int
        That alternate, all of the same level; they are compared in pairs, each label in one.
    measured_s : float
        Of each label at the least.
    ramp_s : float
    records : int
    """

    setups: Mapping[str, SideBySide] = field(default_factory=three_nodes)
    threads: tuple[int, ...] = (10, 25, 50, 100, 200, 500)
    labels: int = 4
    measured_s: float = 1.6
    ramp_s: float = 0.2
    records: int = 100_000

    def notes(self) -> dict[str, Any]:
        """Return every number."""
        return {name: getattr(self, name) for name in ("threads", "labels", "measured_s", "ramp_s", "records")}

    def rows(self, setup: str) -> int:
        """Return how many groups a cluster start has."""
        return len(self._groups())

    def _groups(self) -> list[tuple[str, int, str]]:
        """Operation, threads and level of each group."""
        pairs = itertools.product(SHARES, self.threads)
        return [(operation, threads, level) for operation, threads in pairs for level in compared(operation)]

    def measure(self, setup: str, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure all groups, in random order.

        Returns
        -------
        iterator of dict
            panel, operation (READ, UPDATE, MIX), threads, level (that all labels stand for); and a table, slices:
            level (the label: '0', '1', ...), round, n, latency_ms, p99_ms.
        """
        groups = self._groups()
        with warmed_up(cluster, self.records, rng) as loader:
            for number, place in enumerate(rng.permutation(len(groups))):
                operation, threads, level = groups[place]
                alternation = Alternation(self.labels, self.measured_s, (int(rng.integers(1 << 31)),))
                loader.settle()
                variants = [compared(operation)[level]] * self.labels
                seen = loader.run(operation, variants, threads, Bound(self.ramp_s, alternation=alternation))
                row: Row = {"panel": number, "operation": operation, "threads": threads, "level": level}
                yield row | {"slices": slice_table(seen, [str(label) for label in range(self.labels)])}


def same() -> Same:
    """Return the experiment as the catalogue has it."""
    return Same()
