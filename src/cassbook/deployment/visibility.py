"""Which reads are sure to see which acknowledged writes where replicas are in several data centres.

A level says how many replicas must answer: so many of all, of those in the coordinator's data centre, or of those in
each. A read is sure to see a write if no choice of replicas that satisfies the one is disjoint from a choice that
satisfies the other: R + W > N, counted where each of the two waits. A write is sent to all data centres at every
level, so what is not sure is usually there after a moment; sure is what is asked here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cassbook.core.consistency import replicas_waited_for
from cassbook.deployment.distances import Placement
from cassbook.deployment.replication import Replication, replica_sets

#: Of two levels that come to the same in a deployment, the first is named.
_LEVELS = ("ONE", "LOCAL_ONE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL", "TWO", "THREE")


@dataclass(frozen=True, slots=True)
class Wait:
    """What a request waits for: `total` replicas, wherever they are, and `each` of a data centre in it."""

    total: int
    each: Mapping[str, int]

    def possible(self, replicas: Mapping[str, int]) -> bool:
        """Whether so many replicas in each data centre can satisfy it."""
        enough = all(replicas.get(name, 0) >= count for name, count in self.each.items())
        return enough and sum(replicas.values()) >= self.total

    def least(self, name: str) -> int:
        """Return how many answers it is sure to have from a data centre by what it waits for there."""
        return self.each.get(name, 0)

    def implies(self, other: Wait) -> bool:
        """Whether whatever satisfies it satisfies the other too."""
        whole = max(self.total, sum(self.each.values())) >= other.total
        return whole and all(self.least(name) >= count for name, count in other.each.items())


def wait(level: str, replicas: Mapping[str, int], centre: str, by_centre: bool = True) -> Wait:
    """Return what a request at a level waits for.

    `replicas`: of a row, by data centre. `centre`: the coordinator's. `by_centre`: NetworkTopologyStrategy, which knows
    data centres; SimpleStrategy takes EACH_QUORUM for QUORUM, and LOCAL_QUORUM for more than half of all replicas, in
    the coordinator's data centre.
    """
    total = sum(replicas.values())
    if level == "EACH_QUORUM" and by_centre:
        each = {name: replicas_waited_for("QUORUM", count) for name, count in replicas.items() if count}
        return Wait(sum(each.values()), each)
    if level.startswith("LOCAL_"):
        own = replicas.get(centre, 0) if by_centre else total
        needed = replicas_waited_for(level.removeprefix("LOCAL_"), own)
        return Wait(needed, {centre: needed})
    needed = replicas_waited_for(level, total)
    return Wait(needed, {})


def sure(read: Wait, write: Wait, replicas: Mapping[str, int]) -> bool:
    """Whether every choice of replicas that satisfies the read shares one with every choice that satisfies the write.

    Two disjoint choices exist if the replicas of each data centre can be divided between them: what the read must have
    there for one, what the write must have there for the other, and the rest as either needs.
    """
    if any(read.least(name) + write.least(name) > count for name, count in replicas.items()):
        return True
    # The read may take between these many replicas without touching what the write must have.
    fewest = max(read.total, sum(map(read.least, replicas)))
    most = sum(count - write.least(name) for name, count in replicas.items())
    return fewest > most or sum(replicas.values()) - fewest < write.total


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a deployment: by data centre the replicas of each kind of row, and whether the strategy knows centres."""

    kinds: tuple[Mapping[str, int], ...]
    by_centre: bool

    @classmethod
    def of(cls, placement: Placement, replication: Replication) -> Rows:
        """Return the rows of a deployment."""
        nodes = placement.deployment.replicas
        centre = {host.name: placement.centre(host) for host in nodes}
        empty = dict.fromkeys(placement.data_centres(), 0)
        counts = {
            tuple((empty | Counter(centre[name] for name in replicas)).items())
            for replicas, _ in replica_sets(placement, replication)
        }
        return cls(tuple(map(dict, sorted(counts))), isinstance(replication, Mapping) or replication == len(nodes))

    @property
    def centres(self) -> tuple[str, ...]:
        """Data centres of the deployment."""
        return tuple(self.kinds[0])

    def met(self, level: str, centre: str, lost: str | None = None) -> bool:
        """Whether a coordinator of a data centre can have a level for every row, also without the centre `lost`."""
        return centre != lost and all(
            wait(level, row, centre, self.by_centre).possible(
                {name: 0 if name == lost else count for name, count in row.items()}
            )
            for row in self.kinds
        )

    def strong(self, read: str, write: str, across: bool) -> bool | None:
        """Whether reads at a level are sure to see the acknowledged writes of another.

        `read` and `write`: levels. `across`: whether read and write are coordinated in different data centres, or in
        the same.

        None where no data centres can serve both, or there is only one and `across` is asked.
        """
        answers = [
            all(
                sure(wait(read, row, reader, self.by_centre), wait(write, row, writer, self.by_centre), row)
                for row in self.kinds
            )
            for reader in self.centres
            for writer in self.centres
            if (reader != writer) == across and self.met(read, reader) and self.met(write, writer)
        ]
        return all(answers) if answers else None

    def pairs(self, levels: Sequence[str] = _LEVELS, reads: Sequence[str] = _LEVELS) -> list[tuple[str, str]]:
        """Return the pairs (read, write) that are strong across data centres and stop being so if either is weaker.

        Levels that come to the same for every row are named once.
        """
        known = self._distinct(levels)
        strong = {
            (read, write)
            for read in self._distinct(reads)
            for write in known
            if self.strong(read, write, across=len(self.centres) > 1)
        }

        def weaker(pair: tuple[str, str]) -> Iterator[tuple[str, str]]:
            read, write = pair
            for other in strong - {pair}:
                if self._implies(read, other[0]) and self._implies(write, other[1]):
                    yield other

        least = (pair for pair in strong if not any(weaker(pair)))
        return sorted(least, key=lambda pair: (_LEVELS.index(pair[0]), _LEVELS.index(pair[1])))

    def survivors(self, level: str, coordinators: Sequence[str]) -> dict[str, bool]:
        """Whether requests at a level go on after the loss of each data centre, by its name.

        Where the coordinator's own is lost, clients are taken to turn to another that can serve the level.
        """
        used = [name for name in coordinators if self.met(level, name)]
        return {lost: bool(used) and any(self.met(level, name, lost) for name in self.centres) for lost in self.centres}

    def _implies(self, level: str, other: str) -> bool:
        return all(
            wait(level, row, centre, self.by_centre).implies(wait(other, row, centre, self.by_centre))
            for row in self.kinds
            for centre in self.centres
        )

    def _distinct(self, levels: Sequence[str]) -> list[str]:
        named: list[str] = []
        for level in sorted(levels, key=_LEVELS.index):
            same = (other for other in named if self._implies(level, other) and self._implies(other, level))
            if any(self.met(level, centre) for centre in self.centres) and not any(same):
                named.append(level)
        return named
