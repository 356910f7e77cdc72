"""What can be asked of a cluster, started by the laboratory (`cluster`, `distant`) or not (`existing_cluster`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, Self

import pandas as pd
import psutil
from cassandra.cluster import Session

from cassbook.deployment.distances import Placement
from cassbook.lab.engine.connect import Access
from cassbook.lab.wan.netem import Netem
from cassbook.lab.wan.relay import Relay


class AnyRelease(Protocol):
    """The release that nodes run."""

    @property
    def version(self) -> str:
        """As the nodes report it."""

    @property
    def protocol(self) -> int:
        """Version of the native protocol to speak."""

    @property
    def major(self) -> tuple[int, int]:
        """First two parts of the version, for comparisons."""


class Distances(Protocol):
    """Distances between the hosts of a cluster: set by a relay or netem, measured by an echo."""

    relay: Relay | Netem
    placement: Placement  # where the hosts are

    @property
    def pairs(self) -> int:
        """How many pairs of hosts there are."""

    def echoes(self) -> pd.DataFrame:
        """Round trips between all hosts since the last call."""

    def distances(self, echoes: pd.DataFrame) -> pd.DataFrame:
        """Round trips as measured and as set."""


class AnyCluster(Protocol):
    """A cluster that a profile can be measured on; as a context manager, for the length of one block.

    An existing cluster refuses what needs nodes that the laboratory has started, and says what would work.
    """

    #: Whether entering it starts its nodes; otherwise they run before and after, and their keyspace exists already.
    started_here: bool
    deployment: str  # where hosts are, as a cell's column has it
    read: tuple[str, ...] = ()  # tables of the keyspace that are somebody's, and are only read
    keyspace: str
    addresses: list[str]  # of the coordinators
    release: AnyRelease

    def __enter__(self) -> Self:
        """Start it, or make the keyspace."""

    def __exit__(self, *_: Any) -> None:
        """Remove what entering has made."""

    @property
    def access(self) -> Access | None:
        """Credentials, TLS and port; None where everybody is let in."""

    @property
    def labels(self) -> list[str]:
        """What samples call the coordinators."""

    @property
    def replication(self) -> int | dict[str, int] | None:
        """Replicas of a row: how many, or how many in each data centre; None where the keyspace exists already."""

    @property
    def apart(self) -> Distances | None:
        """Distances between its hosts; None where none were set."""

    @property
    def nodes_here(self) -> int:
        """How many of its nodes are processes on this machine that belong to the laboratory."""

    def notes(self) -> dict[str, Any]:
        """What the manifest says of a cluster start."""

    def connect(self) -> Session:
        """Return an ordinary driver session; the caller closes it with `session.cluster.shutdown()`."""

    def flush(self, session: Session, table: str) -> None:
        """Flush `table` ("keyspace.name") on every node."""

    def hints(self, session: Session) -> int | None:
        """Hints that wait for delivery; None where that cannot be known."""

    def barrier(self, session: Session) -> list[str]:
        """Write at ALL through each coordinator; the reasons of those that failed."""

    def node_folders(self) -> list[Path]:
        """Folder of each node that can be looked into from here, in order of address."""

    def node_process(self, node: int) -> psutil.Process:
        """Process of node `node`, from 1 to `nodes_here`."""

    def running(self, node: int) -> psutil.Process | None:
        """Process of node `node`; None while it does not run, or is not the laboratory's."""

    def paused(self, node: int) -> AbstractContextManager[None]:
        """Pause node `node` (from 1) for the length of the block: SIGSTOP, and SIGCONT however the block ends."""

    def restart(self, between: Callable[[], None] | None = None) -> None:
        """Kill every node and start it again on the same data; returns when all are ready."""
