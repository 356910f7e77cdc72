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
    """Nodes, by number from 1, that are started so that more of them can fail."""

    clocks: tuple[int, ...] = ()  # nodes whose clocks can be set
    disks: tuple[int, ...] = ()  # nodes whose disks are small enough to be filled


@dataclass(frozen=True, slots=True)
class Spec:
    """The nodes of a cluster and how they are started."""

    nodes: int = 3
    replication_factor: int = 3
    heap_mb: int = 1024  # of each node's JVM
    options: Mapping[str, Any] = field(default_factory=dict)  # extra keys of cassandra.yaml
    #: Further keys for one node, by its number from 1.
    node_options: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    seed: str | None = None  # address that nodes find the first one at, where that is not the one it listens on
    #: Further nodes, numbered after the others, that are not started with them; `launch_node` has one join.
    spare: int = 0
    breakable: Breakable = Breakable()
    #: Priority, 0 (any other program) to 19 (lowest: a client on the same machine never waits for the nodes).
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
