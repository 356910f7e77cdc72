"""Deployments of the 2021 paper: its notation (section 1.2), its regions (Table 1), and where scenarios can lie."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TypeAlias

from cassbook import published
from cassbook.claims.g21.source import LEVELS, OPERATIONS, REPLICAS, floor
from cassbook.claims.interval import Interval, as_printed, exactly, least, middle, possibly_at_most

_CLOSING = {"(": ")", "{": "}", "[": "]"}
#: (from, to) to a distance in ms.
Distances: TypeAlias = Mapping[tuple[str, str], Interval]


@cache
def notations() -> list[tuple[str, str, str]]:
    """(scenario, place, notation) wherever a scenario is written out, as the text at hand has it."""
    rows = published.as_text("g21_scenarios").to_dict("records")
    return [(r["scenario"], f"{r['place']} {r['level']}".strip(), r["notation"]) for r in rows]


def balanced(notation: str) -> bool:
    """Whether every bracket is closed, each kind by itself: a cluster's round brackets may cross those of Regions.

    >>> balanced("{[C], ([R1]}, {R2})"), balanced("{C}, {R1})")
    (True, False)
    """
    for opening, closing in _CLOSING.items():
        depth = 0
        for sign in notation:
            depth += (sign == opening) - (sign == closing)
            if depth < 0:
                return False
        if depth:
            return False
    return True


def deepest(notation: str, opening: str) -> int:
    """How many brackets of one kind stand within each other at most; two of '{' are a Region within a Region."""
    depth = most = 0
    for sign in notation:
        depth += (sign == opening) - (sign == _CLOSING[opening])
        most = max(most, depth)
    return most


def replicas(notation: str) -> list[str]:
    """Replica symbols in the order they are written."""
    return re.findall(r"R\d", notation)


def in_cluster(notation: str) -> list[str]:
    """Replica symbols that stand inside round brackets."""
    symbols, depth = [], 0
    for sign in re.findall(r"R\d|[()]", notation):
        if sign.startswith("R") and depth > 0:
            symbols.append(sign)
        depth += (sign == "(") - (sign == ")")
    return symbols


@cache
def table1() -> dict[tuple[str, str], str]:
    """Table 1 as printed, in ms."""
    rows = published.as_text("g21_table1").to_dict("records")
    return {(r["from_region"], r["to_region"]): r["latency_ms"] for r in rows}


@cache
def distances() -> Distances:
    """Table 1, its diagonal included."""
    return {pair: as_printed(text) for pair, text in table1().items()}


def regions(between: Distances) -> list[str]:
    """Regions of a table of distances."""
    return sorted({start for start, _ in between})


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Regions of a client and of the replicas."""

    client: str
    replicas: tuple[str, ...]

    def nearest(self, start: str, between: Distances) -> list[str]:
        """Regions of the replicas in order of their distance from `start`."""
        return sorted(self.replicas, key=lambda r: 0 if r == start else middle(between[start, r]))

    def hops(self, level: str, between: Distances) -> list[tuple[str, str]]:
        """Client to its nearest replica, the coordinator; coordinator to the farthest replica that it waits for."""
        coordinator = self.nearest(self.client, between)[0]
        last = self.nearest(coordinator, between)[LEVELS.index(level)]
        return [(self.client, coordinator), (coordinator, last)]

    def bound(self, level: str, between: Distances) -> Interval:
        """Least latency that the distances allow; within a region nothing is asked."""
        return sum((between[hop] for hop in self.hops(level, between) if hop[0] != hop[1]), exactly(0))


def placements(scenario: str, names: Iterable[str]) -> list[Arrangement]:
    """Every way to place scenario b, c or d in the regions named.

    Replicas are alike, so that two placements that differ in the replicas' numbers only are one.
    """
    names = list(names)
    arrangements = []
    for client in names:
        others = [name for name in names if name != client]
        if scenario == "b":
            arrangements += [Arrangement(client, (other,) * REPLICAS) for other in others]
        elif scenario == "c":
            arrangements += [Arrangement(client, (client, *rest)) for rest in combinations(others, REPLICAS - 1)]
        else:
            arrangements += [Arrangement(client, apart) for apart in combinations(others, REPLICAS)]
    return arrangements


def admitted(chosen: Iterable[Arrangement], floors: Mapping[str, Interval], between: Distances) -> list[Arrangement]:
    """Placements whose distances are nowhere longer than the least latency of a level.

    `floors` are least latencies by level, `between` round trips by (from, to), both in ms.
    """
    return [p for p in chosen if all(possibly_at_most(p.bound(x, between), cell) for x, cell in floors.items())]


def floors(scenario: str) -> dict[str, Interval]:
    """Least latency of a scenario at each level, reads and writes together."""
    return {level: least(floor((scenario, o, level)) for o in OPERATIONS) for level in LEVELS}
