"""What the 2021 paper prints, as intervals; its deployment notation; and where its four regions can have been used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cassbook import published
from cassbook.claims.interval import Interval, as_printed, exactly, high, least, low, mean, middle, percent_above
from cassbook.claims.statement import Count
from cassbook.latency.saturation import MIN_POINTS, growth_test, saturation_point

#: (scenario, operation, level).
Column: TypeAlias = tuple[str, str, str]

#: (from, to) to a distance in ms.
Distances: TypeAlias = Mapping[tuple[str, str], Interval]

SCENARIOS = ("a", "b", "c", "d")
OPERATIONS = ("READ", "WRITE")
LEVELS = ("ONE", "QUORUM", "ALL")
COLUMNS: tuple[Column, ...] = tuple(product(SCENARIOS, OPERATIONS, LEVELS))
#: The table that holds an operation's latencies.
TABLE_OF = {"READ": "g21_table3", "WRITE": "g21_table4"}
TITLE = {"READ": "Table 3", "WRITE": "Table 4"}
#: 'The highest Cassandra throughput achieved at peak workload': the last row of Tables 3 and 4.
PEAK_THREADS = 1000
MS_PER_S = 1000
_CLOSING = {"(": ")", "{": "}", "[": "]"}


# Tables 2 to 4


@cache
def latencies() -> dict[Column, dict[int, Interval]]:
    """Tables 3 and 4: mean latency in ms by column and threads, ascending."""
    columns: dict[Column, dict[int, Interval]] = {column: {} for column in COLUMNS}
    for name in TABLE_OF.values():
        for row in published.as_text(name).to_dict("records"):
            column = (row["scenario"], row["operation"], row["level"])
            columns[column][int(row["threads"])] = as_printed(row["latency_ms"])
    return {column: dict(sorted(cells.items())) for column, cells in columns.items()}


@cache
def throughputs() -> dict[Column, Interval]:
    """Table 2: highest throughput in operations/s."""
    rows = published.as_text("g21_table2").to_dict("records")
    return {(r["scenario"], r["operation"], r["level"]): as_printed(r["throughput_per_s"]) for r in rows}


@cache
def starred() -> frozenset[Column]:
    """Cells of Table 2 with an asterisk: the maximum was not achieved."""
    rows = published.as_text("g21_table2").to_dict("records")
    return frozenset((r["scenario"], r["operation"], r["level"]) for r in rows if r["saturated"] == "false")


def saturated() -> list[Column]:
    """Cells of Table 2 without an asterisk."""
    return [column for column in COLUMNS if column not in starred()]


def threads() -> list[int]:
    """Thread counts of Tables 3 and 4."""
    return list(next(iter(latencies().values())))


def average(column: Column) -> Interval:
    """Mean of one latency column over its thread counts, in ms."""
    return mean(latencies()[column].values())


def floor(column: Column) -> Interval:
    """Least latency of one column, in ms."""
    return least(latencies()[column].values())


def closed_loop_rates(column: Column) -> dict[int, Interval]:
    """Threads / latency, operations/s: the throughput of threads that never wait between two requests."""
    return {n: exactly(n) * MS_PER_S / cell for n, cell in latencies()[column].items()}


def centres(cells: Mapping[int, Interval]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Thread counts and printed values."""
    return np.array(list(cells), dtype=float), np.array([middle(cell) for cell in cells.values()])


def saturated_from(column: Column) -> float:
    """Thread count from which `closed_loop_rates` stay within 5 % of their maximum, by `saturation_point`."""
    return saturation_point(*centres(closed_loop_rates(column)))


def growth(column: Column, last_rows: int | None = None) -> str:
    """Verdict of `growth_test` on one latency column, or on its last rows."""
    x, y = centres(latencies()[column])
    rows = slice(-(last_rows or x.size), None)
    return growth_test(x[rows], y[rows]).verdict


def count(cases: Iterable[bool]) -> Count:
    """How many of the cases hold."""
    listed = list(cases)
    return Count(sum(listed), len(listed))


#: As close to the highest load as `growth_test` can look.
LAST_ROWS = MIN_POINTS


def spelled(columns: Iterable[Column]) -> str:
    """Columns in the paper's manner, '(b: all), (d: ONE)', where both operations are among them."""
    chosen = set(columns)
    parts = []
    for scenario in SCENARIOS:
        found = [level for level in LEVELS if all((scenario, o, level) in chosen for o in OPERATIONS)]
        if found:
            parts.append(f"({scenario}: {'all' if len(found) == len(LEVELS) else ', '.join(found)})")
    return ", ".join(parts)


# Section 1.2: the notation


@cache
def notations() -> list[tuple[str, str, str]]:
    """(scenario, place, notation) wherever a scenario is written out, as the text at hand has it."""
    rows = published.as_text("g21_scenarios").to_dict("records")
    return [(r["scenario"], f"{r['place']} {r['level']}".strip(), r["notation"]) for r in rows]


def balanced(notation: str) -> bool:
    """Whether every bracket is closed, each kind by itself: a cluster's round brackets may cross those of Regions.

    Examples
    --------
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
    found, depth = [], 0
    for sign in re.findall(r"R\d|[()]", notation):
        if sign.startswith("R") and depth > 0:
            found.append(sign)
        depth += (sign == "(") - (sign == ")")
    return found


# Table 1: regions and distances


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
class Placement:
    """Regions of a client and of the three replicas."""

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


def placements(scenario: str, names: Iterable[str]) -> list[Placement]:
    """Every way to place scenario b, c or d in the regions named.

    Replicas are alike, so that two placements that differ in the replicas' numbers only are one.
    """
    names = list(names)
    found = []
    for client in names:
        others = [name for name in names if name != client]
        if scenario == "b":
            found += [Placement(client, (other,) * 3) for other in others]
        elif scenario == "c":
            found += [Placement(client, (client, *pair)) for pair in combinations(others, 2)]
        else:
            found += [Placement(client, three) for three in combinations(others, 3)]
    return found


def admitted(chosen: Iterable[Placement], floors: Mapping[str, Interval], between: Distances) -> list[Placement]:
    """Placements whose distances are nowhere longer than the least latency of a level.

    Parameters
    ----------
    chosen : iterable of Placement
    floors : mapping
        Level to the least latency in ms.
    between : mapping
        (from, to) to the round trip in ms.
    """
    return [p for p in chosen if all(low(p.bound(level, between)) <= high(cell) for level, cell in floors.items())]


def floors(scenario: str) -> dict[str, Interval]:
    """Least latency of a scenario at each level, reads and writes together."""
    return {level: least(floor((scenario, o, level)) for o in OPERATIONS) for level in LEVELS}


#: What three sentences call by the letter of another scenario.
SLIP = "(b) is a slip for (c)"
STRONG = ("QUORUM", "ALL")


def times_one(scenario: str, operation: str, level: str) -> Interval:
    """Mean latency over threads at a level, in times that of ONE."""
    return average((scenario, operation, level)) / average((scenario, operation, "ONE"))


def times_a(scenario: str, operation: str) -> Interval:
    """Mean latency of a scenario at ONE, in times that of (a: ONE)."""
    return average((scenario, operation, "ONE")) / average(("a", operation, "ONE"))


def to_trailing_zeros(x: Interval, printed: str) -> Interval:
    """A value rounded to tens or hundreds, as many as the printed number has zeros at its end."""
    digits = printed.strip("%")
    place = 10 ** (len(digits) - len(digits.rstrip("0")))
    return exactly(round(middle(x) / place) * place)


def both(values: Iterable[Interval], unit: str = "") -> str:
    """Numbers for a note."""
    return " and ".join(f"{middle(v):.1f}{unit}" for v in values)


def above_one(operation: str) -> Interval:
    """By how many percent the mean latency of (a: ALL) over threads is above (a: ONE)."""
    return percent_above(average(("a", operation, "ALL")), average(("a", operation, "ONE")))


def above_one_by_rows(operation: str) -> dict[int, Interval]:
    """Threads to percent by which the latency of (a: ALL) is above (a: ONE)."""
    strong, weak = latencies()["a", operation, "ALL"], latencies()["a", operation, "ONE"]
    return {n: percent_above(strong[n], weak[n]) for n in threads()}
