"""What a prediction for a deployment does not show by itself: reads that are refused, rows that are out of reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassbook.core.consistency import dead_replicas, refuses_reads, replicas_waited_for
from cassbook.core.words import counted
from cassbook.deployment.distances import Placement
from cassbook.deployment.model import Model
from cassbook.deployment.replication import names, replica_sets
from cassbook.deployment.survival import survives

_BOTH = ("READ", "WRITE")
_SIMPLE = "SimpleStrategy"


def operations(level: str, engine: str | None) -> tuple[str, ...]:
    """Return what an engine accepts at a level: READ and WRITE, or WRITE alone."""
    return _BOTH[1:] if refuses_reads(level, engine) and level == "EACH_QUORUM" else _BOTH


def notes(model: Model, known: Mapping[str, Any]) -> list[str]:
    """Return sentences that go with a prediction; `known` is from `machine.baseline`."""
    found, engine = [], known["engine"]
    if len(operations(model.level, engine)) < len(_BOTH):
        whose = f"Cassandra {engine}" if engine else "Cassandra before 3.0"
        found.append(
            f'reads: {whose} refuses them at {model.level} ("only supported for writes"), so writes alone are predicted'
        )
    copies = sum(model.replication.values()) if isinstance(model.replication, Mapping) else model.replication
    if known["replication"] and copies > known["replication"]:
        found.append(
            f"writes go to {counted(copies, 'replica')}, those of the baseline to {known['replication']}: what the "
            "others cost the processors is not in the prediction"
        )
    return found + _of_the_ring(model)


def _of_the_ring(model: Model) -> list[str]:
    """What becomes of levels of data centres where replicas do not know data centres."""
    placement, replication = model.placement, model.replication
    nodes = placement.deployment.replicas
    if isinstance(replication, Mapping) or replication == len(nodes) or len(placement.data_centres()) == 1:
        return []
    each = ",".join(f"{name}=..." for name in placement.data_centres())
    instead = f"give --replication {each} for NetworkTopologyStrategy"
    if model.level == "EACH_QUORUM":
        return [f"SimpleStrategy knows no data centres: Cassandra takes EACH_QUORUM for QUORUM there; {instead}"]
    if model.level != "LOCAL_QUORUM":
        return []
    centre = {host.name: placement.centre(host) for host in nodes}
    needed = replicas_waited_for("QUORUM", replication)
    sets = [replicas for replicas, _ in replica_sets(placement, replication)]
    short = {
        own: sum(sum(centre[name] == own for name in replicas) < needed for replicas in sets)
        for own in dict.fromkeys(centre[way.coordinator] for way in model.ways())
    }
    return [
        f"SimpleStrategy knows no data centres: LOCAL_QUORUM wants {needed} of the {replication} replicas in {own}, "
        f"and for {count} of {len(sets)} parts of the rows there are fewer, so that Cassandra refuses them; {instead}"
        for own, count in short.items()
        if count
    ]


def strategy(model: Model) -> str:
    """Return the name of Cassandra's replication strategy; where every node holds every row, both do the same."""
    by_centre = isinstance(model.replication, Mapping) or model.replication == len(model.placement.deployment.replicas)
    return "NetworkTopologyStrategy" if by_centre else _SIMPLE


def replicated(model: Model) -> str:
    """Return in words where the replicas of a row are."""
    placement, replication = model.placement, model.replication
    own = placement.data_centres()
    if isinstance(replication, Mapping):
        where = (
            f"{replication.get(name, 0)} of {names(hosts)} in {_named(placement, name)}" for name, hosts in own.items()
        )
        return f"replicas of a row: {', '.join(where)} (NetworkTopologyStrategy)"
    if replication == len(placement.deployment.replicas):
        return "replicas of a row: on every node"
    ring = names(placement.deployment.replicas)
    return f"replicas of a row: {replication}, neighbours in the ring {ring} (SimpleStrategy)"


def surviving(model: Model) -> list[str]:
    """Return in words how many dead replicas requests survive; nothing where `notes` says that rows are refused."""
    count = survives(model)
    where = ""
    if len(model.placement.data_centres()) > 1:
        local = model.level.startswith("LOCAL_")
        where = " in the coordinator's data centre" if local else ""
        where = " in each data centre" if model.level == "EACH_QUORUM" and strategy(model) != _SIMPLE else where
    return [f"{model.level} survives {dead_replicas(count)} of a row{where}"] if count >= 0 else []


def _named(placement: Placement, name: str) -> str:
    region = placement.regions[placement.data_centres()[name][0].region]
    return name if name == region else f"{name} ({region})"
