"""Choose the consistency levels of reads and writes: from a run, for a point or a map, and in a running service.

What a service needs is the package `cassbook_advisor`; its names are offered here too.
"""

from typing import TYPE_CHECKING

from cassbook.core.extras import lazy

if TYPE_CHECKING:
    from cassbook.advisor.advice import Advice
    from cassbook.advisor.latency_map import LatencyMap
    from cassbook_advisor.adviser import Adviser, Pace
    from cassbook_advisor.cassandra_register import InCassandra
    from cassbook_advisor.gates import CannotServe, Unserved
    from cassbook_advisor.policy import Terms
    from cassbook_advisor.regime import Regime
    from cassbook_advisor.register import InMemory
    from cassbook_advisor.requests import Advised, OutcomeUnknown
    from cassbook_advisor.status import Event, Status

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
        "Advised": ":cassbook_advisor.requests",
        "Adviser": ":cassbook_advisor.adviser",
        "CannotServe": ":cassbook_advisor.gates",
        "Event": ":cassbook_advisor.status",
        "InCassandra": ":cassbook_advisor.cassandra_register",
        "InMemory": ":cassbook_advisor.register",
        "LatencyMap": "latency_map",
        "OutcomeUnknown": ":cassbook_advisor.requests",
        "Pace": ":cassbook_advisor.adviser",
        "Regime": ":cassbook_advisor.regime",
        "Status": ":cassbook_advisor.status",
        "Terms": ":cassbook_advisor.policy",
        "Unserved": ":cassbook_advisor.gates",
    },
)
