"""An experiment: the clusters it needs, and the rows that it measures on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from cassbook.core.words import counted
from cassbook.deployment.distances import Placement
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.distant import DistantCluster

#: One row of a table: a condition, and what was seen.
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setup:
    """A cluster at a distance that an experiment needs.

    Attributes
    ----------
    placement : Placement
    options : mapping
        Extra keys of cassandra.yaml.
    heap_mb : int
        Of each node.
    replication : int, optional
        Replicas of a row, on any nodes. Default: every node holds it.
    """

    placement: Placement
    options: Mapping[str, Any] = field(default_factory=dict)
    heap_mb: int = 1024
    replication: int | None = None

    @property
    def spec(self) -> Spec:
        """Shape of the cluster."""
        nodes = len(self.placement.deployment.replicas)
        return Spec(nodes, self.replication or nodes, self.heap_mb, self.options)

    def cluster(self, engine: str, log: Callable[[str], None]) -> CassandraCluster:
        """Return the cluster, not yet started."""
        return DistantCluster(engine, self.placement, self.spec, name="experiment", log=log)

    def notes(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        where = self.placement
        notes = {
            "deployment": str(where.deployment), "regions": list(where.regions), "distances": where.distances.name,
            "options": dict(self.options), "heap_mb": self.heap_mb,
        }  # fmt: skip
        return notes | ({"replication": self.replication} if self.replication else {})

    def __str__(self) -> str:
        return f"{self.placement.deployment} in {', '.join(self.placement.regions)}"


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A cluster without distances: no relay either.

    Attributes
    ----------
    spec : Spec
    """

    spec: Spec

    def cluster(self, engine: str, log: Callable[[str], None]) -> CassandraCluster:
        """Return the cluster, not yet started."""
        return CassandraCluster(engine, self.spec, "experiment", log)

    def notes(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        spec = self.spec
        return {
            "nodes": spec.nodes, "replication": spec.replication_factor, "options": dict(spec.options),
            "heap_mb": spec.heap_mb,
        }  # fmt: skip

    def __str__(self) -> str:
        return f"{counted(self.spec.nodes, 'node')} side by side"


class AnySetup(Protocol):
    """A cluster that an experiment needs."""

    def cluster(self, engine: str, log: Callable[[str], None]) -> AbstractContextManager[CassandraCluster]:
        """Return the cluster, not yet started; raise InputError where that version cannot be."""

    def notes(self) -> dict[str, Any]:
        """Return what the manifest says of it."""


class Experiment(Protocol):
    """An experiment."""

    @property
    def setups(self) -> Mapping[str, AnySetup]:
        """Its clusters, by name."""

    def rows(self, setup: str) -> int:
        """Return how many rows a cluster start gives."""

    def measure(self, setup: str, cluster: Any, rng: np.random.Generator) -> Iterator[Row]:
        """Measure everything once or more on a cluster that is ready, in random order.

        A value of a row that is a table (DataFrame) goes to a file of its own, with the row's number, `panel`. Every
        row has the same tables; those of some may be empty.
        """

    def notes(self) -> dict[str, Any]:
        """Return every number that the measurement depends on and `setups` do not hold."""
