"""The shape of a local cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cassbook.core.errors import InputError
from cassbook.core.words import counted

_MOST_NODES = 100
#: Priority of nodes that are measured.
MEASURED_NICE = 19


@dataclass(frozen=True, slots=True)
class Breakable:
    """Nodes, by number from 1, that are started so that more of them can fail.

    Attributes
    ----------
    clocks : tuple of int
        Nodes whose clocks can be set.
    disks : tuple of int
        Nodes whose disks are small enough to be filled.
    """

    clocks: tuple[int, ...] = ()
    disks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Spec:
    """What a cluster is asked to be.

    Attributes
    ----------
    nodes, replication_factor : int
    heap_mb : int
        Heap of each node's JVM.
    options : mapping
        Extra keys of cassandra.yaml.
    node_options : mapping of int to mapping
        Keys for one node more, by its number from 1.
    seed : str, optional
        Address that nodes find the first one at, where that is not the one it listens on.
    spare : int
        Nodes more, numbered behind the others, that are not started with them; `launch_node` has one join.
    breakable : Breakable
    nice : int
        Priority of the nodes, 0 (that of any other program) to 19 (the lowest, so that the client of a measurement on
        the same machine never waits for them).
    """

    nodes: int = 3
    replication_factor: int = 3
    heap_mb: int = 1024
    options: Mapping[str, Any] = field(default_factory=dict)
    node_options: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    seed: str | None = None
    spare: int = 0
    breakable: Breakable = Breakable()
    nice: int = MEASURED_NICE

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise InputError(f"nodes: a cluster has at least one, got {self.nodes}")
        if self.nodes + self.spare > _MOST_NODES:
            raise InputError(
                f"nodes: at most {_MOST_NODES} fit on one machine's loopback, got {self.nodes + self.spare}"
            )
        if not 1 <= self.replication_factor <= self.nodes:
            raise InputError(
                f"replication_factor: {self.replication_factor} replicas do not fit on {counted(self.nodes, 'node')}; "
                f"use {'1' if self.nodes == 1 else f'1 to {self.nodes}'}"
            )
        if not 0 <= self.nice <= MEASURED_NICE:
            raise InputError(f"nice: {self.nice}; use 0 (ordinary priority) to {MEASURED_NICE} (the lowest)")
