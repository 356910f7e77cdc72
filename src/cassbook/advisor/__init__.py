"""Choose the consistency levels of reads and writes: from a run, for a point or a map, and in a running service."""

from cassbook.advisor.adviser import Advised, Adviser, OutcomeUnknown
from cassbook.advisor.latency_map import Advice, LatencyMap
from cassbook.advisor.policy import Terms
from cassbook.advisor.regime import Regime
from cassbook.advisor.register import InMemory
from cassbook.advisor.shared import InCassandra

__all__ = ["Advice", "Advised", "Adviser", "InCassandra", "InMemory", "LatencyMap", "OutcomeUnknown", "Regime", "Terms"]
