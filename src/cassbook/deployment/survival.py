"""How many replicas of a row may be dead in a deployment while requests at a level go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from cassbook.core.consistency import replicas_waited_for
from cassbook.deployment.model import Model
from cassbook.deployment.replication import replica_sets


def survives(model: Model) -> int:
    """Return how many dead replicas every row survives at the model's level: its replicas but those waited for.

    For LOCAL_ONE and LOCAL_QUORUM they are dead replicas in the coordinator's data centre, where those of the others do
    not count; for EACH_QUORUM in any one data centre. SimpleStrategy knows no data centres: there EACH_QUORUM is
    QUORUM, and LOCAL_QUORUM wants more than half of all replicas in the coordinator's. Less than 0 where some rows have
    too few replicas for that to begin with.
    """
    sets = [replicas for replicas, _ in replica_sets(model.placement, model.replication)]
    return min(_of_row(model, replicas) for replicas in sets)


def _of_row(model: Model, replicas: Sequence[str]) -> int:
    nodes = model.placement.deployment.replicas
    by_centre = isinstance(model.replication, Mapping) or model.replication == len(nodes)
    centre = {host.name: model.placement.centre(host) for host in nodes}
    counts = Counter(centre[name] for name in replicas)
    if model.level.startswith("LOCAL_"):
        plain = model.level.removeprefix("LOCAL_")
        coordinators = {centre[way.coordinator] for way in model.ways()}
        return min(
            counts[name] - replicas_waited_for(plain, counts[name] if by_centre else len(replicas))
            for name in coordinators
        )
    if model.level == "EACH_QUORUM" and by_centre:
        return min(count - replicas_waited_for("QUORUM", count) for count in counts.values())
    return len(replicas) - replicas_waited_for(model.level, len(replicas))
