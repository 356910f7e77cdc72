"""Tables 2 to 4 of the 2021 paper as intervals, and what several of its claims need of them.

In all modules on this paper, what is said of an order (higher, longer, the best) holds of two numbers if it is possible
within their rounding, by `possibly_at_most`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from typing import TypeAlias

import numpy as np

from cassbook import published
from cassbook.claims.interval import (
    Interval,
    as_printed,
    exactly,
    high,
    interval,
    least,
    low,
    mean,
    middle,
    percent_above,
)
from cassbook.claims.rules import SATURATED
from cassbook.claims.statement import Count
from cassbook.core.consistency import LEVELS
from cassbook.core.types import Floats
from cassbook.core.units import MS_PER_S
from cassbook.latency.saturation import MIN_POINTS, growth_test, saturation_point

#: (scenario, operation, level).
Column: TypeAlias = tuple[str, str, str]

SCENARIOS = ("a", "b", "c", "d")
OPERATIONS = ("READ", "WRITE")
STRONG = LEVELS[1:]
#: Nodes of every cluster, and its replication factor.
REPLICAS = 3
COLUMNS: tuple[Column, ...] = tuple(product(SCENARIOS, OPERATIONS, LEVELS))
#: The table that holds an operation's latencies.
TABLE_OF = {"READ": "g21_table3", "WRITE": "g21_table4"}
TITLE = {"READ": "Table 3", "WRITE": "Table 4"}
#: 'The highest Cassandra throughput achieved at peak workload': the last row of Tables 3 and 4.
PEAK_THREADS = 1000
HALF = exactly(1) / 2


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


def centres(cells: Mapping[int, Interval]) -> tuple[Floats, Floats]:
    """Thread counts and printed values."""
    return np.array(list(cells), dtype=float), np.array([middle(cell) for cell in cells.values()])


def saturated_from(column: Column, part: float = SATURATED) -> float:
    """Thread count from which `closed_loop_rates` are within a part of their maximum, by `saturation_point`."""
    return saturation_point(*centres(closed_loop_rates(column)), part)


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


def spelled(columns: Iterable[Column], order: Iterable[str] = SCENARIOS) -> str:
    """Columns as section 2.2 writes them, '(b: all consistency settings) and (d: ONE)', if of both operations."""
    chosen = set(columns)
    parts = []
    for scenario in order:
        levels = [level for level in LEVELS if all((scenario, o, level) in chosen for o in OPERATIONS)]
        if levels:
            parts.append(
                f"({scenario}: {'all consistency settings' if len(levels) == len(LEVELS) else ', '.join(levels)})"
            )
    return " and ".join(parts)


#: What three sentences call by the letter of another scenario.
SLIP = "(b) is a slip for (c)"


def times_one(scenario: str, operation: str, level: str) -> Interval:
    """Mean latency over threads at a level, in times that of ONE."""
    return average((scenario, operation, level)) / average((scenario, operation, "ONE"))


def times_a(scenario: str, operation: str) -> Interval:
    """Mean latency of a scenario at ONE, in times that of (a: ONE)."""
    return average((scenario, operation, "ONE")) / average(("a", operation, "ONE"))


#: How 563 % and 607 % come to be printed as an increase by 560 % and 600 %.
OF_ONE = "latency in percent of ONE, zeros at the end being no digits"


def percent_of_one(operation: str, printed: str) -> Interval:
    """Mean latency of (d: ALL) in percent of (d: ONE), as wide as it takes if the zeros of `printed` are no digits.

    It overlaps `as_printed(printed)` just if the percentage lies in `as_printed(printed, hedged=True)`.
    """
    percent = 100 * times_one("d", operation, "ALL")
    zeros = high(as_printed(printed, hedged=True)) - high(as_printed(printed))
    return interval(low(percent) - zeros, high(percent) + zeros)


def both(values: Iterable[Interval], unit: str = "", digits: int = 1) -> str:
    """Spell two numbers for a note, reads and writes."""
    return " and ".join(f"{middle(v):.{digits}f}{unit}" for v in values)


def above_one(operation: str) -> Interval:
    """By how many percent the mean latency of (a: ALL) over threads is above (a: ONE)."""
    return percent_above(average(("a", operation, "ALL")), average(("a", operation, "ONE")))


def above_one_by_rows(operation: str) -> dict[int, Interval]:
    """Threads to percent by which the latency of (a: ALL) is above (a: ONE)."""
    strong, weak = latencies()["a", operation, "ALL"], latencies()["a", operation, "ONE"]
    return {n: percent_above(strong[n], weak[n]) for n in threads()}


def writes_over_reads(scenario: str) -> Interval:
    """Mean of how far, in percent, writes exceed reads in Table 2: (a) at all levels and a scenario at ONE."""
    rates = throughputs()
    cells = [("a", level) for level in LEVELS] + [(scenario, "ONE")]
    return mean(percent_above(rates[s, "WRITE", level], rates[s, "READ", level]) for s, level in cells)
