"""What a driver knows of a keyspace: its replicas, and which of its nodes are up."""

from __future__ import annotations

from typing import Any

from cassandra.cluster import Session

from cassbook.core.errors import InputError


def replication_factor(session: Session, keyspace: str) -> int:
    """Replicas of a keyspace in its one data centre.

    Raises
    ------
    InputError
        If it is not there, or in several data centres, where ONE, QUORUM and ALL mean something else.
    """
    metadata = session.cluster.metadata.keyspaces.get(keyspace)
    if metadata is None:
        raise InputError(f"keyspace: there is no {keyspace!r} in this cluster")
    strategy = metadata.replication_strategy
    factors = getattr(strategy, "dc_replication_factors", None)
    if factors is not None and len(factors) != 1:
        raise InputError(f"keyspace: {keyspace} is in {len(factors)} data centres; the adviser is for one")
    return int(next(iter(factors.values())) if factors else strategy.replication_factor)


def missing_nodes(session: Session, keyspace: str) -> tuple[str, ...]:
    """Addresses of nodes that may hold rows of a keyspace and are not up, as the driver has it."""
    hosts = keyspace_hosts(session, keyspace)
    return tuple(sorted(str(host.address) for host in hosts if host.is_up is False))  # None: not known, or not asked


def keyspace_hosts(session: Session, keyspace: str) -> list[Any]:
    """Nodes that may hold rows of a keyspace, as the driver has them."""
    metadata = session.cluster.metadata
    strategy = metadata.keyspaces[keyspace].replication_strategy
    centres = getattr(strategy, "dc_replication_factors", None)
    return [host for host in metadata.all_hosts() if not centres or host.datacenter in centres]


def live_replicas(session: Session, keyspace: str, statement: Any) -> int | None:
    """Return how many replicas of the row that a statement is about are not down, as the driver has it.

    None where the driver does not know which row that is.
    """
    key = getattr(statement, "routing_key", None)
    replicas = session.cluster.metadata.get_replicas(keyspace, key) if key is not None else []
    return sum(host.is_up is not False for host in replicas) if replicas else None
