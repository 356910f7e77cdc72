"""Choose the consistency levels of reads and writes: from a run, for a point or a map, and in a running service."""

from typing import TYPE_CHECKING

from cassbook.core.faces import lazy

if TYPE_CHECKING:
    from cassbook.advisor.advice import Advice
    from cassbook.advisor.adviser import Advised, Adviser, OutcomeUnknown, Pace
    from cassbook.advisor.cassandra_register import InCassandra
    from cassbook.advisor.latency_map import LatencyMap
    from cassbook.advisor.policy import Terms
    from cassbook.advisor.regime import Regime
    from cassbook.advisor.register import InMemory

__all__ = [
    "Advice",
    "Advised",
    "Adviser",
    "InCassandra",
    "InMemory",
    "LatencyMap",
    "OutcomeUnknown",
    "Pace",
    "Regime",
    "Terms",
]
__getattr__ = lazy(
    __name__,
    {
        "Advice": "advice",
        "Advised": "adviser",
        "Adviser": "adviser",
        "InCassandra": "cassandra_register",
        "InMemory": "register",
        "LatencyMap": "latency_map",
        "OutcomeUnknown": "adviser",
        "Pace": "adviser",
        "Regime": "regime",
        "Terms": "policy",
    },
)
