"""What an experiment is: the clusters it needs, and rows that it measures on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from cassbook.deployment import Placement
from cassbook.engine.distant import DistantCluster

#: One row of a table: a condition, and what was seen.
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setup:
    """A cluster that an experiment needs.

    Attributes
    ----------
    placement : Placement
    options : mapping
        Extra keys of cassandra.yaml.
    heap_mb : int
        Of each node.
    """

    placement: Placement
    options: Mapping[str, Any] = field(default_factory=dict)
    heap_mb: int = 1024


class Trial(Protocol):
    """An experiment."""

    @property
    def question(self) -> str:
        """That it answers."""

    @property
    def setups(self) -> Mapping[str, Setup]:
        """Its clusters, by name."""

    def rows(self, setup: str) -> int:
        """How many rows a cluster start gives."""

    def measure(self, setup: str, cluster: DistantCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Measure everything once or more on a cluster that is ready, in random order."""

    def notes(self) -> dict[str, Any]:
        """Every number that the measurement depends on and `setups` do not hold."""
