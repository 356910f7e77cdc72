"""What `cassbook deploy` says of several data centres: what the loss of one stops, and whether reads see its writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cassbook.cli.answers.deploy_notes import operations
from cassbook.core.words import counted
from cassbook.deployment.model import LEVELS, Model
from cassbook.deployment.visibility import Rows, Wait, wait

_ORDER = ("ONE", "LOCAL_ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL")


class Centres:
    """What several data centres mean for a model's level and for all others.

    Parameters
    ----------
    model : Model
    engine : str or None
        Version of Cassandra; before 3.0 reads at EACH_QUORUM are refused.
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
        """Say both."""
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
            f"of {self._which(names)}: {', '.join(levels)}"
            for names, levels in sorted(by_survived.items(), key=lambda item: -len(item[0]))
        ]
        return [self._loss_of(losses[self._level]), f"levels that survive the loss {'; '.join(parts)}"]

    def _which(self, names: tuple[str, ...]) -> str:
        if len(names) == len(self._rows.centres):
            return "any one data centre"
        return f"{_listed(names, 'or')} alone" if names else "none"

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
