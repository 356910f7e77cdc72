"""The driver as applications have it, with each of its ways to handle a request that goes wrong."""

from __future__ import annotations

from typing import Any, get_args

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    NoSpeculativeExecutionPolicy,
    RetryPolicy,
    TokenAwarePolicy,
)

from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.profile.faults import Driver

#: Side by side all nodes are in the data centre that Cassandra's SimpleSnitch names.
_ONLY_CENTRE = "datacenter1"
#: A lost connection is tried again after 1 s, 2 s, 4 s, ..., as by the driver's default, whose longest wait is 600 s.
_RECONNECT_S = (1.0, 600.0)
#: A second node is asked when the first has not answered for so long.
_SPECULATE_AFTER_S, _SPECULATIONS = 0.2, 1


class NextHost(RetryPolicy):
    """Sends what failed once more, to another node, whatever the reason; for statements that may be sent twice."""

    def on_read_timeout(self, query: Any, consistency: Any, *_: Any, retry_num: int = 0, **__: Any) -> Any:
        """Try the next node, once."""
        return self._once(consistency, retry_num)

    def on_write_timeout(self, query: Any, consistency: Any, *_: Any, retry_num: int = 0, **__: Any) -> Any:
        """Try the next node, once."""
        return self._once(consistency, retry_num)

    def on_unavailable(self, query: Any, consistency: Any, *_: Any, retry_num: int = 0, **__: Any) -> Any:
        """Try the next node, once."""
        return self._once(consistency, retry_num)

    def on_request_error(self, query: Any, consistency: Any, *_: Any, retry_num: int = 0, **__: Any) -> Any:
        """Try the next node, once."""
        return self._once(consistency, retry_num)

    def _once(self, consistency: Any, retry_num: int) -> Any:
        return (self.RETRY_NEXT_HOST, consistency) if retry_num == 0 else (self.RETHROW, None)


#: Drivers whose statements are said to be idempotent.
IDEMPOTENT = frozenset({"next_host", "speculative"})
DRIVERS: tuple[Driver, ...] = get_args(Driver)


def connected(cluster: CassandraCluster, timeout_s: float) -> Cluster:
    """Return a driver for a cluster, not yet connected, with an execution profile of each name in `DRIVERS`.

    Each sends a request to the first replica of its row in the client's data centre, as the driver does by
    default, and 'round_robin' to any node there; no policy sends it to another centre.
    """
    made = {name: _profile(name, centre(cluster), timeout_s) for name in DRIVERS}
    return Cluster(
        cluster.addresses,
        protocol_version=cluster.release.protocol,
        execution_profiles=made | {EXEC_PROFILE_DEFAULT: made["default"]},
        reconnection_policy=ExponentialReconnectionPolicy(*_RECONNECT_S),
        connect_timeout=timeout_s,
    )


def centre(cluster: CassandraCluster) -> str:
    """Name of the data centre that the client is in, or nearest to: that of the node with the shortest round trip."""
    if cluster.apart is None:
        return _ONLY_CENTRE
    where = cluster.apart.placement
    rtt_ms = where.rtt_ms()
    nearest = min(where.deployment.replicas, key=lambda host: float(rtt_ms[host.name].iloc[0]))  # the client is first
    return where.centre(nearest)


def _profile(name: str, local: str, timeout_s: float) -> ExecutionProfile:
    retrying = {"no_retry": FallthroughRetryPolicy, "next_host": NextHost}.get(name, RetryPolicy)
    speculating = (
        ConstantSpeculativeExecutionPolicy(_SPECULATE_AFTER_S, _SPECULATIONS)
        if name == "speculative"
        else NoSpeculativeExecutionPolicy()
    )
    nodes = DCAwareRoundRobinPolicy(local)
    return ExecutionProfile(
        load_balancing_policy=nodes if name == "round_robin" else TokenAwarePolicy(nodes),
        retry_policy=retrying(),
        speculative_execution_policy=speculating,
        request_timeout=timeout_s,
    )
