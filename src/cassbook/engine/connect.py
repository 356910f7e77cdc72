"""The ordinary driver session, set up alike for every use."""

from __future__ import annotations

import time
from collections.abc import Sequence

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import RoundRobinPolicy

from cassbook.errors import LaboratoryError

_ATTEMPTS = 20


def connect(addresses: Sequence[str], protocol: int, timeout_s: float = 20.0) -> Session:
    """Connect to all `addresses` and wait for a pool to each, so that a statement can name its coordinator.

    Raises
    ------
    LaboratoryError
        If a node cannot be reached, with the driver's reasons.
    """
    profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy(), request_timeout=timeout_s)
    reason: object = None
    for _ in range(_ATTEMPTS):
        cluster = Cluster(
            list(addresses),
            protocol_version=protocol,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            connect_timeout=timeout_s,
        )
        try:
            session = cluster.connect(wait_for_all_pools=True)
            up = {host.address for host in session.hosts} & set(addresses)
            if len(session.get_pool_state()) >= len(addresses) and len(up) == len(addresses):
                return session
            reason = f"only {sorted(up)} are up"
        except NoHostAvailable as error:
            reason = error.errors
        cluster.shutdown()
        time.sleep(1.0)
    raise LaboratoryError(f"could not connect to {', '.join(addresses)}: {reason}")
