"""Choose the consistency levels of reads and writes: from a run, for a point or a map, and in a running service."""

from typing import TYPE_CHECKING

from cassbook.core.extras import lazy

if TYPE_CHECKING:
    from cassbook.advisor.advice import Advice
    from cassbook.advisor.adviser import Adviser, Pace
    from cassbook.advisor.cassandra_register import InCassandra
    from cassbook.advisor.gates import CannotServe, Unserved
    from cassbook.advisor.latency_map import LatencyMap
    from cassbook.advisor.policy import Terms
    from cassbook.advisor.regime import Regime
    from cassbook.advisor.register import InMemory
    from cassbook.advisor.requests import Advised, OutcomeUnknown
    from cassbook.advisor.status import Event, Status

__all__ = [
    "Advice",
    "Advised",
    "Adviser",
    "CannotServe",
    "Event",
    "InCassandra",
    "InMemory",
    "LatencyMap",
    "OutcomeUnknown",
    "Pace",
    "Regime",
    "Status",
    "Terms",
    "Unserved",
]
__getattr__ = lazy(
    __name__,
    {
        "Advice": "advice",
        "Advised": "requests",
        "Adviser": "adviser",
        "CannotServe": "gates",
        "Event": "status",
        "InCassandra": "cassandra_register",
        "InMemory": "register",
        "LatencyMap": "latency_map",
        "OutcomeUnknown": "requests",
        "Pace": "adviser",
        "Regime": "regime",
        "Status": "status",
        "Terms": "policy",
        "Unserved": "gates",
    },
)
