"""Record what a switch of setting does, the paper's and the safe one, between all three settings of the paper.

A cluster with a late replica; each switch begins with an empty table, in random order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np
from cassandra.cluster import Session

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.consistency import STRONG_SETTINGS, setting
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.experiments.adviser import scene
from cassbook.lab.experiments.experiment import Experiment, Row, in_random_order
from cassbook.records.schedule_runs import LATE_CLIENT_S, LATE_S
from cassbook_advisor.adviser import Adviser, Pace
from cassbook_advisor.cassandra_register import InCassandra
from cassbook_advisor.policy import Terms
from cassbook_advisor.regime import breaks

_REPLICAS = 3
_PAIRS = tuple(permutations([strong.name for strong in STRONG_SETTINGS], 2))
PLAN = scene.Plan(before_s=3.0, after_s=5.0)
#: The policy is to leave the switching to us, between settings of which two do not survive a dead replica.
_NEVER = Terms(dwell_s=86_400.0, survive=0)
#: Beats are lightweight transactions of four round trips, some to the late replica.
_PACE = Pace(interval_s=0.5, lease_s=5.0)


@dataclass(frozen=True, slots=True)
class LateReplica:
    """Three nodes, of which everything the others send to the third arrives late by `late_s`."""

    late_s: float = LATE_S

    def cluster(self, engine: str, log: Callable[[str], None]) -> AbstractContextManager[CassandraCluster]:
        """Return the cluster, not yet started."""
        return scene.late_replica(engine, self.late_s, log)

    def notes(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {"nodes": 3, "late_node": scene.LATE_NODE, "late_s": self.late_s}

    def __str__(self) -> str:
        return f"three nodes, one of which learns of everything {self.late_s:g} s late"


def switches(map: LatencyMap) -> SwitchExperiment:
    """Switch between all pairs of settings; advisers need a map, whichever it is."""
    return SwitchExperiment(map)


@dataclass(frozen=True)
class SwitchExperiment(Experiment):
    """Every switch between two settings, the paper's way and the safe one."""

    latency_map: LatencyMap  # any; advisers need one
    plan: scene.Plan = PLAN
    pairs: tuple[tuple[str, str], ...] = _PAIRS  # settings, from which and to which
    setups: Mapping[str, LateReplica] = field(default_factory=lambda: {"late": LateReplica()}, kw_only=True)

    def notes(self) -> dict[str, Any]:
        """Return the map's name, the plan, and how much later the second client learns of a naive switch."""
        plan = {"before_s": self.plan.before_s, "after_s": self.plan.after_s, "late_client_s": LATE_CLIENT_S}
        return {
            "map": self.latency_map.name,
            "pairs": [list(pair) for pair in self.pairs],
            **plan,
            "interval_s": _PACE.interval_s,
            "lease_s": _PACE.lease_s,
        }

    def points(self) -> list[tuple[str, str, str]]:
        """Return how, from which setting and to which."""
        return [(how, now, then) for now, then in self.pairs for how in ("naive", "safe")]

    def measure(self, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Make every switch, both ways, in random order.

        A row has panel, how ('naive' or 'safe'), now, then, and what `watched` keeps.
        """
        session = cluster.connect()
        try:
            scene.create(session)
            for panel, (how, now, then) in enumerate(in_random_order(self.points(), rng)):
                seen = self._naive(session, now, then) if how == "naive" else self._safe(session, now, then)
                yield {"panel": panel, "how": how, "now": now, "then": then} | watched(seen)
        finally:
            session.cluster.shutdown()

    def _naive(self, session: Session, now: str, then: str) -> scene.Watched:
        return scene.naive(session, now, then, replace(self.plan, late_s=_late_s(now, then)))

    def _safe(self, session: Session, now: str, then: str) -> scene.Watched:
        scene.create(session)
        register = InCassandra(session, scene.KEYSPACE, f"recorded-{now}-{then}")
        options: dict[str, Any] = {"start": now, "register": register, "terms": _NEVER, "pace": _PACE}
        tables: Sequence[str] = [scene.TABLE]
        with (
            Adviser(session, scene.KEYSPACE, tables, self.latency_map, name="a", **options) as writing,
            Adviser(session, scene.KEYSPACE, tables, self.latency_map, name="b", **options) as reading,
        ):
            return scene.safe(session, (writing, reading), then, self.plan)


def _late_s(now: str, then: str) -> float:
    """How much later the reading client learns of a naive switch: only where that is what it can break."""
    broken = breaks(setting(now).waits(_REPLICAS), setting(then).waits(_REPLICAS), _REPLICAS)
    return LATE_CLIENT_S if "other clients" in broken else 0.0


def watched(seen: scene.Watched) -> Row:
    """Return what is kept of a scene.

    It is reads, writes (acknowledged), errors, switched_s, violations; and a table, missed: of each of these at_s (when
    the read began, from the switch on), behind_ms and versions_behind.
    """
    missed = seen.reads.loc[~seen.reads["consistent"], ["sent_s", "behind_ms", "versions_behind"]]
    return {
        "reads": len(seen.reads), "writes": seen.writes, "errors": seen.errors,
        "switched_s": round(seen.switched_s, 3), "violations": seen.violations,
        "missed": missed.rename(columns={"sent_s": "at_s"}).round({"at_s": 3, "behind_ms": 1}),
    }  # fmt: skip
