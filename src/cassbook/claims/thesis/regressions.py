"""The regressions of the thesis (section 4.4): what its three formulas need, and what they give."""

from __future__ import annotations

from itertools import combinations, product
from math import prod

from cassbook import published
from cassbook.claims.interval import Interval, as_printed, exactly, high, interval, low, possibly_at_most
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count, figure
from cassbook.claims.thesis.levels_and_settings import MIXES
from cassbook.claims.thesis.text import THREAD_COUNTS
from cassbook.core.consistency import STRONG_SETTINGS

# Section 4.4: regressions


def products(factors: tuple[int, ...]) -> set[int]:
    """All products of one or more of the factors."""
    return {prod(chosen) for size in range(1, len(factors) + 1) for chosen in combinations(factors, size)}


@claim(
    "thesis-records-200",
    "section 4.4.1",
    "The following multiple regression formula is created based on the 200 records measured in our experiment",
    "200",
)
def records() -> Answer:
    """Mixes x thread counts x settings of experiment 2."""
    settings = len(STRONG_SETTINGS)
    planned = len(MIXES) * THREAD_COUNTS * settings
    factors = (len(MIXES), THREAD_COUNTS, settings, 2, 2)
    either = "a" if 200 in products(factors) else "no"  # noqa: PLR2004 - as printed
    return Answer(
        planned,
        note=f"There is {either} product of the plan's factors, with reads and writes or latency and throughput "
        f"counted apart, that is 200. The likeliest explanation is rounding to hundreds ({round(planned, -2)}).",
    )


def formula(equation: str) -> dict[str, tuple[str, Interval]]:
    """Term to what its variable is said to be ('' if nothing is said) and its coefficient."""
    rows = published.as_text("thesis_equations")
    rows = rows[rows["equation"] == equation]
    return {
        term: (variable, as_printed(coefficient))
        for term, variable, coefficient in zip(rows["term"], rows["variable"], rows["coefficient"], strict=True)
    }


def variables(equation: str) -> Count:
    """Variables of a formula that are defined."""
    defined = [variable for term, (variable, _) in formula(equation).items() if term != "constant"]
    return Count(sum(map(bool, defined)), len(defined))


@claim("thesis-variables", "section 4.4.1", "There are 4 independent variables: X1-read latency, X2-write latency", "4")
def independent_variables() -> Answer:
    """Variables of formula (2)."""
    return Answer(variables("2").total, note=f"Defined: {variables('2')}.")


def write_consistency(x: tuple[float, ...]) -> Interval:
    """Formula (2) at X1 to X4."""
    constant, *slopes = (coefficient for _, coefficient in formula("2").values())
    return sum((slope * exactly(value) for slope, value in zip(slopes, x, strict=True)), constant)


def _within(points: list[tuple[float, ...]], least: float, most: float) -> Count:
    values = [write_consistency(x) for x in points]
    return Count(sum(possibly_at_most(least, y) and possibly_at_most(y, most) for y in values), len(values))


@claim(
    "thesis-formula2",
    "section 4.4.1, formula (2)",
    "Using the formula 2, optimal write consistency can be identified",
    "optimal write consistency",
)
def formula2_range() -> Answer:
    """Corners of the unit cube at which formula (2) is between 0 and 1, as if inputs and result ran from 0 to 1."""
    corners: list[tuple[float, ...]] = list(product((0.0, 1.0), repeat=4))
    values = [write_consistency(x) for x in corners]
    span = interval(min(map(low, values)), max(map(high, values)))
    inside = _within(corners, 0, 1)
    moving_together = _within([x for x in corners if x[0] == x[1]], 0, 1)
    return Answer(
        inside,
        note="Not usable as printed: the scale of inputs and result is not given (thesis-compressed). If all run from "
        f"0 to 1, the result leaves that scale at {inside.total - inside.right} of {inside.total} corners "
        f"({figure(span)}); if it counts replicas, it is within 1 to 3 at "
        f"{_within(corners, 1, REPLICATION_FACTOR)}. The latencies of the experiment may well have risen together: "
        f"where X1 = X2 it is within 0 to 1 at {moving_together} corners.",
    )


def _undefined(equation: str) -> Answer:
    return Answer(
        variables(equation),
        note="X1 to X3 are not said to be anything, and those of formula (2) would explain a latency by itself. Their "
        "table is lost; it may have named them.",
        finding="overstated",
    )


@claim(
    "thesis-formula3",
    "section 4.4.1, formula (3)",
    "Y=0.1598-0.1257*X1+0.8071*X2-0.0708*X3 (3) Here the parameter Y is the read latency measured for various read "
    "and write combinations",
    "X1 ... X2 ... X3",
)
def formula3_variables() -> Answer:
    """Variables of formula (3) that are defined."""
    return _undefined("3")


@claim(
    "thesis-formula4",
    "section 4.4.1, formula (4)",
    "Y=0.1+0.0018*X1+0.7827*X2-0.0981*X3 (4) Here the parameter Y is the write latency measured for various read "
    "and write combinations",
    "X1 ... X2 ... X3",
)
def formula4_variables() -> Answer:
    """Variables of formula (4) that are defined."""
    return _undefined("4")
