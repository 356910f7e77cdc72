"""Little's law in Tables I and II of the 2020 paper."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cassbook.claims.g20.source import COLUMNS, OPERATIONS, ROMAN, TABLE_OF, Column, benchmarks
from cassbook.claims.interval import Interval, low, middle
from cassbook.claims.littles_law import Deficit, deficit, in_flight, run_times
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.statement import Answer, Count, Statement
from cassbook.core.consistency import LEVELS
from cassbook.core.units import US_PER_S

#: Section III.B: the cold start lasts '800-1000 milliseconds' and its delays are '5-8 times longer'.
COLD_START_S, COLD_START_FACTOR = (0.8, 1.0), (5, 8)


def requests_in_flight(column: Column, threads: int) -> Interval:
    """Throughput times latency of one row."""
    throughput, latency_us = benchmarks().throughput_per_s[column], benchmarks().latency_us[column]
    return in_flight(throughput[threads], latency_us[threads] / US_PER_S)


def little_ratio(operation: str, level: str, threads: int) -> float:
    """Requests in flight over the threads, of one row."""
    return middle(requests_in_flight((operation, level), threads)) / threads


def cold_start_s() -> float:
    """Seconds by which the cold start as the paper gives it lengthens a run compared with its latencies without it."""
    return float(np.mean(COLD_START_S) * (1 - 1 / np.mean(COLD_START_FACTOR)))


def deficit_of(operation: str) -> Deficit:
    """How the runs of an operation are longer than 1000 of its mean latencies, over all levels and thread counts."""
    rows = [((operation, level), n) for level in LEVELS for n in benchmarks().threads()]
    throughput = [middle(benchmarks().throughput_per_s[column][n]) for column, n in rows]
    latency_s = [middle(benchmarks().latency_us[column][n]) / US_PER_S for column, n in rows]
    return deficit(*run_times([n for _, n in rows], throughput, latency_s))


def _shape(operation: str) -> Answer:
    extra = deficit_of(operation)
    return Answer(
        extra.verdict,
        note=f"A run lasts {extra.seconds:.1f} s longer than 1000 mean latencies, or {100 * (extra.factor - 1):.0f} % "
        f"longer; the two differ by {abs(extra.margin):.1f} in AICc. A cold start as section III.B gives it, cut "
        f"from latency only, adds {cold_start_s():.1f} s; ramp-up and stragglers add time as well.",
    )


@claim(
    "g20-forensic-little-shape-reads",
    "Table I",
    "This period is taken out of consideration in our further statistical analysis",
    "",
    kind="forensic",
    asked="additive",
)
def deficit_of_reads() -> Answer:
    """Whether runs of reads take a fixed time more than their requests, or a fixed share."""
    return _shape("READ")


@claim(
    "g20-forensic-little-shape-writes",
    "Table II",
    "This period is taken out of consideration in our further statistical analysis",
    "",
    kind="forensic",
    asked="additive",
)
def deficit_of_writes() -> Answer:
    """Whether runs of writes take a fixed time more than their requests, or a fixed share."""
    return _shape("WRITE")


@claim(
    "g20-forensic-little-rows",
    "Tables I and II",
    "average throughput x average latency = requests in flight",
    "",
    kind="forensic",
    asked="at most the threads in all 72 rows",
)
def little_rows() -> Answer:
    """Rows whose requests in flight do not exceed their threads."""
    rows = [(column, n) for column in COLUMNS for n in benchmarks().threads()]
    over = [(column, n) for column, n in rows if low(requests_in_flight(column, n)) > n]
    words = [f"{o.lower()} {level} at {n} ({little_ratio(o, level, n):.3f})" for (o, level), n in over]
    return Answer(
        Count(len(rows) - len(over), len(rows)),
        note=f"More in flight than there are threads: {', '.join(words)}. Innocently so if latency and throughput were "
        "not taken over the same requests (the cold start is cut from latency), or a digit slipped.",
    )


@cells("g20")
def in_flight_rows() -> Iterator[Cell]:
    """Little's law, row by row: of a closed loop as many requests are in flight as there are threads."""
    for operation in OPERATIONS:
        for level in LEVELS:
            for threads in benchmarks().threads():
                statement = Statement(
                    f"g20-{TABLE_OF[operation][4:]}-little-{level}-{threads}".lower(),
                    f"{ROMAN[operation]}, {threads} threads, {level}",
                    "average throughput x average latency: requests in flight",
                    str(threads),
                    relation="near",
                    kind="forensic",
                )
                yield statement, Answer(requests_in_flight((operation, level), threads))
