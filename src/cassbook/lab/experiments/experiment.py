"""An experiment: the clusters it needs, and the rows that it measures on each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from cassbook.core.words import counted
from cassbook.deployment.distances import Placement
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.distant import DistantCluster

#: One row of a table: a condition, and what was seen.
Row = dict[str, Any]
Point = TypeVar("Point")


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


def side_by_side() -> dict[str, SideBySide]:
    """Return the clusters of most experiments: one of three nodes, each a replica."""
    return {"three": SideBySide(Spec())}


@dataclass(frozen=True)
class Experiment(ABC):
    """What is measured on which clusters. A subclass is a frozen dataclass, whose fields are its numbers.

    Attributes
    ----------
    setups : mapping of str to AnySetup
        Its clusters, by name. Default: `side_by_side`.
    """

    #: Fields that are mappings by setup: of each, `on` keeps that of one setup.
    BY_SETUP: ClassVar[tuple[str, ...]] = ("setups",)

    setups: Mapping[str, AnySetup] = field(default_factory=side_by_side, kw_only=True)

    def on(self, setup: str) -> Self:
        """Return what is measured on one of its clusters: the experiment with that setup alone."""
        return replace(self, **{name: {setup: getattr(self, name)[setup]} for name in self.BY_SETUP})

    def points(self) -> Sequence[Any]:
        """Return what is measured on a cluster start, in no order."""
        return ()

    def rows(self) -> int:
        """Return how many rows a cluster start gives; by default one per point."""
        return len(self.points())

    @abstractmethod
    def measure(self, cluster: Any, rng: np.random.Generator) -> Iterator[Row]:
        """Measure everything once or more on a cluster that is ready, in random order; of an experiment with one setup.

        A value of a row that is a table (DataFrame) goes to a file of its own, with the row's number, `panel`. Every
        row has the same tables; those of some may be empty.
        """

    def notes(self) -> dict[str, Any]:
        """Return every number that the measurement depends on and `setups` do not hold; by default the other fields."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "setups"}


def in_random_order(points: Sequence[Point], rng: np.random.Generator) -> list[Point]:
    """Shuffle what is measured on a cluster start."""
    return [points[place] for place in rng.permutation(len(points))]
