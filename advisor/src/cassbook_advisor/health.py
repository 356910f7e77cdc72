"""How many of a row's replicas are alive, by the failures of a client's own requests and by its driver."""

from __future__ import annotations

from collections import deque
from typing import Any

from cassandra import ReadTimeout, Unavailable, WriteTimeout
from cassandra.cluster import Session

from cassbook_advisor.errors import InputError
from cassbook_advisor.gates import CannotServe
from cassbook_advisor.member import Clock

#: For so long a failure is evidence.
_REMEMBERED_S = 5.0
#: A node that the driver has taken for down for so long is missing, whether or not a request has failed.
_ESTABLISHED_S = 2.0
#: A cluster that is overloaded times out too: fewer time-outs than this are no evidence while all nodes seem to be up.
_TIMEOUTS = 3
_MOST = 10_000


class Health:
    """Collects evidence; failures come from any thread, questions from one.

    * `Unavailable` is the coordinator's word, and says how many replicas it takes to be alive: one is enough.
    * A time-out says how many replicas had answered. It counts if the driver misses a node, or if there are several.
    * A node that the driver misses counts at once if a request has failed, or if it was missed from the beginning; else
      after two seconds, for connections are lost now and then.
    """

    def __init__(self, replicas: int, clock: Clock) -> None:
        self._replicas, self._clock = replicas, clock
        self._failures: deque[tuple[float, int, bool]] = deque(maxlen=_MOST)  # when, replicas alive, for certain
        self._missed_since: float | None = None
        self._asked = False

    def failed(self, error: BaseException | None) -> bool:
        """Take the error of a request; whether it shows that replicas are dead or silent."""
        if isinstance(error, CannotServe):  # this client's own word, which is no evidence
            return False
        if isinstance(error, Unavailable):
            answered, needed = error.alive_replicas, error.required_replicas
        elif isinstance(error, ReadTimeout | WriteTimeout):
            answered, needed = error.received_responses, error.required_responses
        else:
            return False
        if answered is None or needed is None or answered >= needed:
            return False
        self._failures.append((self._clock(), int(answered), isinstance(error, Unavailable)))
        return True

    def alive(self, missing: int, nodes: int) -> int:
        """Return how many replicas of the worst row are alive; the driver takes `missing` of `nodes` for down.

        Where there are more nodes than replicas, a row may have lost one of its replicas, and not all.
        """
        now = self._clock()
        while self._failures and self._failures[0][0] < now - _REMEMBERED_S:
            self._failures.popleft()
        failures = list(self._failures)
        certain = [answered for _, answered, sure in failures if sure]
        timed_out = [answered for _, answered, sure in failures if not sure]
        found = min([self._replicas, *certain])
        if timed_out and (missing or len(timed_out) >= _TIMEOUTS):
            found = min(found, max(timed_out))
        if self._established(missing, now) or (missing and failures):
            found = min(found, self._replicas - (missing if nodes <= self._replicas else 1))
        return max(found, 0)

    def _established(self, missing: int, now: float) -> bool:
        """Whether nodes have been missed for long enough, or from the first question on."""
        first, self._asked = not self._asked, True
        if not missing:
            self._missed_since = None
            return False
        if self._missed_since is None:
            self._missed_since = float("-inf") if first else now
        return now - self._missed_since >= _ESTABLISHED_S


def replication_factor(session: Session, keyspace: str, data_centre: str = "") -> int:
    """Replicas of a keyspace in a data centre, by default its one.

    Raises InputError if the keyspace or the data centre is not there, or there are several and none is named: ONE,
    QUORUM and ALL mean something else there.
    """
    metadata = session.cluster.metadata.keyspaces.get(keyspace)
    if metadata is None:
        raise InputError(f"keyspace: there is no {keyspace!r} in this cluster")
    strategy = metadata.replication_strategy
    factors: Any = getattr(strategy, "dc_replication_factors", None)
    if data_centre:
        known = sorted(factors or ())
        if data_centre not in known:
            there = ", ".join(known) or "none, for its strategy knows no data centres"
            raise InputError(f"data_centre: {keyspace} has no replicas in {data_centre!r}; it has some in {there}")
        return int(factors[data_centre])
    if factors is not None and len(factors) != 1:
        listed = ", ".join(sorted(factors))
        raise InputError(f"keyspace: {keyspace} is in {len(factors)} data centres; name the one of this client as "
                         f"data_centre, of {listed}: its levels are LOCAL_ONE and LOCAL_QUORUM then")  # fmt: skip
    return int(next(iter(factors.values())) if factors else strategy.replication_factor)


def missing_nodes(session: Session, keyspace: str, data_centre: str = "") -> tuple[str, ...]:
    """Addresses of nodes that may hold rows of a keyspace, in a data centre, and are not up, as the driver has it."""
    hosts = keyspace_hosts(session, keyspace, data_centre)
    return tuple(sorted(str(host.address) for host in hosts if host.is_up is False))  # None: not known, or not asked


def keyspace_hosts(session: Session, keyspace: str, data_centre: str = "") -> list[Any]:
    """Nodes that may hold rows of a keyspace, in a data centre where one is named, as the driver has them."""
    metadata = session.cluster.metadata
    strategy = metadata.keyspaces[keyspace].replication_strategy
    centres = {data_centre} if data_centre else getattr(strategy, "dc_replication_factors", None)
    return [host for host in metadata.all_hosts() if not centres or host.datacenter in centres]


def live_replicas(session: Session, keyspace: str, statement: Any, data_centre: str = "") -> int | None:
    """Return how many replicas of the row that a statement is about, in a data centre, are not down by the driver.

    None where the driver does not know which row that is.
    """
    key = getattr(statement, "routing_key", None)
    replicas = session.cluster.metadata.get_replicas(keyspace, key) if key is not None else []
    here = [host for host in replicas if not data_centre or host.datacenter == data_centre]
    return sum(host.is_up is not False for host in here) if here else None
