"""Record how a switch of setting goes, the paper's and the safe one, between all three settings of the paper.

One cluster with a late replica; each switch begins with an empty table. Naive and safe ones take turns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

from cassandra.cluster import Session

from cassbook.advisor.adviser import Adviser
from cassbook.advisor.cassandra_register import InCassandra
from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.policy import Terms
from cassbook.advisor.regime import breaks
from cassbook.core.consistency import STRONG_SETTINGS, setting
from cassbook.core.files import write_text
from cassbook.core.progress import bar
from cassbook.lab.experiments.adviser import scene

LATE_S = 0.4
#: Longer than a write at ALL takes with that replica, so that one at the new level ends before.
LATE_CLIENT_S = 1.0
_REPLICAS = 3
PLAN = scene.Plan(before_s=3.0, after_s=5.0)
#: The policy is to leave the switching to us.
_NEVER = Terms(dwell_s=86_400.0)
#: Beats are lightweight transactions of four round trips, some to the late replica.
_SHARED = {"interval_s": 0.5, "lease_s": 5.0}


def record(
    path: Path, latency_map: LatencyMap, engine: str, repeats: int = 3, say: Callable[[str], None] = print
) -> Path:
    """Record every switch, `repeats` times each; the file appears whole.

    Parameters
    ----------
    path : Path
        The JSON file to be.
    latency_map : LatencyMap
        Any; advisers need one.
    engine : str
    repeats : int
    say : callable

    Returns
    -------
    Path
        The file: a list of rows, see `watched`.
    """
    pairs = list(permutations([setting.name for setting in STRONG_SETTINGS], 2))
    rows = []
    with scene.late_replica(engine, LATE_S, say) as cluster, bar(repeats * len(pairs) * 2, 0, "turn") as progress:
        session = cluster.connect()
        try:
            scene.create(session)
            for repeat in range(1, repeats + 1):
                for now, then in pairs if repeat % 2 else pairs[::-1]:
                    for how in ("naive", "safe") if repeat % 2 else ("safe", "naive"):
                        found = _switch(how, session, latency_map, now, then, repeat)
                        rows.append({"engine": engine, "how": how, "now": now, "then": then, "repeat": repeat} | found)
                        progress.update()
        finally:
            session.cluster.shutdown()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(rows, indent=1))
    return path


def _late_s(now: str, then: str) -> float:
    """How much later the reading client learns of a naive switch: only where that is what it can break."""
    broken = breaks(setting(now).waits(_REPLICAS), setting(then).waits(_REPLICAS), _REPLICAS)
    return LATE_CLIENT_S if "other clients" in broken else 0.0


def _switch(how: str, session: Session, latency_map: LatencyMap, now: str, then: str, repeat: int) -> dict[str, Any]:
    if how == "naive":
        return watched(scene.naive(session, now, then, replace(PLAN, late_s=_late_s(now, then))))
    scene.create(session)
    register = InCassandra(session, scene.KEYSPACE, f"{now}-{then}-{repeat}")
    options: dict[str, Any] = {"start": now, "register": register, "terms": _NEVER} | _SHARED
    tables: Sequence[str] = [scene.TABLE]
    with (
        Adviser(session, scene.KEYSPACE, tables, latency_map, name="a", **options) as writing,
        Adviser(session, scene.KEYSPACE, tables, latency_map, name="b", **options) as reading,
    ):
        return watched(scene.safe(session, (writing, reading), then, PLAN))


def watched(found: scene.Watched) -> dict[str, Any]:
    """Return what is kept of a scene.

    Returns
    -------
    dict
        reads, writes (acknowledged), errors, switched_s, violations; of these at_s (when the read began, from the
        switch on), behind_ms and versions_behind.
    """
    bad = found.reads[~found.reads["consistent"]]
    return {
        "reads": len(found.reads), "writes": found.writes, "errors": found.errors,
        "switched_s": round(found.switched_s, 3), "violations": found.violations,
        "at_s": bad["sent_s"].round(3).tolist(), "behind_ms": bad["behind_ms"].round(1).tolist(),
        "versions_behind": bad["versions_behind"].tolist(),
    }  # fmt: skip
