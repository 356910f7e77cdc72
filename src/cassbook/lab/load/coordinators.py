"""Which node is asked: the coordinator of a request, decided before it is sent."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from cassandra.cluster import Session
from cassandra.metadata import Murmur3Token


class Coordinators:
    """The coordinator that a policy gives to a partition, as the index of its address in `nodes`.

    Policies: 'round_robin'; 'token_aware' (the first replica of the key's token range); 'nearest' (the node that
    answers an empty request soonest, see `load.nodes`); 'nearest_dc' (the nodes of that one's data centre in turn,
    which is what the drivers' DC-aware policy does); 'node1', 'node2', ...: one fixed node.
    """

    def __init__(self, session: Session, keyspace: str, nodes: Sequence[str], policy: str, nearest: int) -> None:
        self._keyspace, self._policy = keyspace, policy
        self._index = {address: i for i, address in enumerate(nodes)}
        self._token_map = session.cluster.metadata.token_map
        self._turns = itertools.cycle(in_turn(session, nodes, policy, nearest))
        self._fixed = int(policy[4:]) - 1 if policy.startswith("node") else nearest
        #: Whether nodes take turns, so that a partition has no coordinator of its own.
        self.turns = policy in {"round_robin", "nearest_dc"}

    def next(self) -> int:
        """Index of the node whose turn it is."""
        return next(self._turns)

    def of(self, routing_key: bytes | None) -> int:
        """Index of the coordinator for a partition; where there is no key to go by, nodes take turns."""
        if self._policy == "token_aware" and routing_key is not None:
            replicas = self._token_map.get_replicas(self._keyspace, Murmur3Token.from_key(routing_key))
            # A replica that is no coordinator (it does not answer, on an existing cluster) is passed over.
            return next((self._index[r.address] for r in replicas if r.address in self._index), 0)
        return self.next() if self.turns or self._policy == "token_aware" else self._fixed


def in_turn(session: Session, nodes: Sequence[str], policy: str, nearest: int) -> list[int]:
    """Indices of the nodes that take turns: all, or those in the nearest one's data centre."""
    if policy != "nearest_dc":
        return list(range(len(nodes)))
    data_centre = {host.address: host.datacenter for host in session.hosts}
    return [i for i, address in enumerate(nodes) if data_centre[address] == data_centre[nodes[nearest]]]
