"""What a prediction for a deployment does not show by itself: refused reads, rows out of reach, lost data centres."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cassbook.core.consistency import refuses_reads, replicas_waited_for
from cassbook.core.words import counted
from cassbook.deployment.availability import survives
from cassbook.deployment.distances import Placement
from cassbook.deployment.model import LEVELS, Model
from cassbook.deployment.replication import names, replica_sets
from cassbook.deployment.visibility import Rows, Wait, wait
from cassbook.shown.dead_replicas import dead_replicas

_BOTH = ("READ", "WRITE")
_SIMPLE = "SimpleStrategy"
_ORDER = ("ONE", "LOCAL_ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL")


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


class Centres:
    """What several data centres mean for a model's level and for all others.

    Before Cassandra 3.0, and with an unknown `engine`, reads at EACH_QUORUM are refused.
    """

    def __init__(self, model: Model, engine: str | None) -> None:
        self._level, self._rows = model.level, Rows.of(model.placement, model.replication)
        centre = {host.name: model.placement.centre(host) for host in model.placement.deployment.replicas}
        self._own = list(dict.fromkeys(centre[way.coordinator] for way in model.ways()))
        self._reads = [level for level in _ORDER if "READ" in operations(level, engine)]
        self._refused = "READ" not in operations(model.level, engine)

    @property
    def losses(self) -> dict[str, dict[str, bool]]:
        """By level, of those that can be met, and data centre: whether requests go on without it."""
        met = [level for level in _ORDER if level in LEVELS and any(self._rows.met(level, own) for own in self._own)]
        return {level: self._rows.survivors(level, self._own) for level in met}

    def lines(self) -> list[str]:
        """Say what the loss of a data centre stops, and whether reads see each other's writes."""
        if len(self._rows.centres) == 1:
            return ["all nodes are in one data centre: its loss stops every level"]
        return [*self._on_loss(), *self._on_writes()]

    def as_dict(self) -> dict[str, Any]:
        """Return both for JSON: losses by level, whether pairs of levels are strong, and the weakest that are."""
        losses = {
            level: {"survives_any": all(lost.values()), "survives_loss_of": lost}
            for level, lost in self.losses.items()
        }  # fmt: skip
        strong = [
            {"read": read, "write": write, "within_centre": self._rows.strong(read, write, across=False),
             "across_centres": self._rows.strong(read, write, across=True)}
            for read in self._reads if read in self.losses for write in self.losses
        ]  # fmt: skip
        several = len(self._rows.centres) > 1
        weakest = [list(pair) for pair in self._pairs()] if several else []
        return {"data_centre_loss": losses, "strong": strong, "weakest_strong_across": weakest}

    def _pairs(self) -> list[tuple[str, str]]:
        return self._rows.pairs(_ORDER, self._reads)

    def _on_loss(self) -> list[str]:
        losses = self.losses
        if self._level not in losses:
            return []
        by_survived: dict[tuple[str, ...], list[str]] = {}
        for level, lost in losses.items():
            by_survived.setdefault(tuple(name for name, on in lost.items() if on), []).append(level)
        parts = [
            f"of {self._which(lost)}: {', '.join(levels)}"
            for lost, levels in sorted(by_survived.items(), key=lambda item: -len(item[0]))
        ]
        return [self._loss_of(losses[self._level]), f"levels that survive the loss {'; '.join(parts)}"]

    def _which(self, lost: tuple[str, ...]) -> str:
        if len(lost) == len(self._rows.centres):
            return "any one data centre"
        return f"{_listed(lost, 'or')} alone" if lost else "none"

    def _loss_of(self, lost: Mapping[str, bool]) -> str:
        """Say what the level asked for does when a data centre is lost, and why it stops."""
        stopping = [name for name, goes_on in lost.items() if not goes_on]
        turn = [name for name in self._own if lost.get(name)]
        if not stopping:
            say = f"{self._level} survives the loss of any one data centre"
        elif len(stopping) == len(lost):
            say = f"{self._level} stops with the loss of any one data centre ({self._why(stopping[0])})"
        else:
            on = _listed((name for name, goes_on in lost.items() if goes_on), "or")
            say = f"{self._level} survives the loss of {on}, and stops without {_listed(stopping, 'or')}"
            say += f" ({self._why(stopping[0])})"
        if turn:
            say += f"; without {_listed(turn, 'or')} clients must turn to coordinators elsewhere"
        return say

    def _why(self, lost: str) -> str:
        """Say why a level stops without a data centre, from the row that has the fewest replicas left."""
        row = min(self._rows.kinds, key=lambda row: sum(row.values()) - row[lost])
        if self._level == "EACH_QUORUM" and self._rows.by_centre:
            return "it waits for a quorum in every data centre"
        centre = next((name for name in self._rows.centres if name != lost), lost)
        waited = counted(wait(self._level, row, centre, self._rows.by_centre).total, "replica")
        if self._level.startswith("LOCAL_"):
            return f"it waits for {waited} of one data centre, and no other has as many of every row"
        left, whole = sum(row.values()) - row[lost], sum(row.values())
        return f"it waits for {waited}, and without {lost} {left} of {whole} {'is' if left == 1 else 'are'} left"

    def _on_writes(self) -> list[str]:
        found = self._refused_reads() if self._refused else self._same_level()
        pairs = [f"{read}/{write}" for read, write in self._pairs()]
        return [*found, f"weakest levels (read/write) whose reads see every acknowledged write of any data centre: "
                f"{', '.join(pairs)}"]  # fmt: skip

    def _refused_reads(self) -> list[str]:
        """Name the weakest reads that see the writes of a level at which this version does not read."""
        seeing = [read for read, write in self._rows.pairs([self._level], self._reads) if write == self._level]
        return [f"{self._level} writes are seen in every data centre by reads at {_listed(seeing, 'or')}"]

    def _same_level(self) -> list[str]:
        level = self._level
        within, across = (self._rows.strong(level, level, across=beyond) for beyond in (False, True))
        if within is None:
            return []
        if across or (across is None and within):
            return [f"{level} reads see every acknowledged {level} write of any data centre ({self._overlap()})"]
        if within:
            return [f"{level} reads see every acknowledged {level} write of the same data centre, but may miss those "
                    f"of another until they arrive there ({self._apart()})"]  # fmt: skip
        return [f"{level} reads may miss acknowledged {level} writes until they arrive, even within a data centre "
                f"({self._overlap()})"]  # fmt: skip

    def _waits(self) -> tuple[Mapping[str, int], dict[str, Wait]]:
        """The row of which least is sure, and what is waited for in it from each data centre that can serve it."""
        row = self._rows.kinds[0]
        served = [name for name in self._rows.centres if self._rows.met(self._level, name)]
        return row, {name: wait(self._level, row, name, self._rows.by_centre) for name in served}

    def _overlap(self) -> str:
        row, waits = self._waits()
        waited = next(iter(waits.values()))
        name, count = next(iter(waited.each.items()), ("", waited.total))
        replicas, where = (row[name], f" in {name}") if name else (sum(row.values()), "")
        share = "share one at least" if 2 * count > replicas else "need not share one"
        return f"{count} + {count} of {counted(replicas, 'replica')}{where} {share}"

    def _apart(self) -> str:
        row, waits = self._waits()
        (writer, write), (reader, read) = list(waits.items())[:2]
        return (
            f"a write in {writer} waits for {write.total} of {row[writer]} replicas there, a read in {reader} for "
            f"{read.total} of {row[reader]} there: they need not share one"
        )


def _listed(words: Iterable[str], last: str) -> str:
    """Join words; the last two by `last`."""
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end
