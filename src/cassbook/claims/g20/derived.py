"""Derived cells of the 2020 paper's tables: slowdowns, goodness of fit, Tables IV and V, coefficients."""

from __future__ import annotations

from collections.abc import Iterator

from cassbook.claims.g20.source import (
    OPERATIONS,
    ROMAN,
    TABLE_OF,
    Column,
    benchmarks,
    coefficient,
    estimate,
    mixed_from_pure,
    r_squared,
    table,
    table4,
)
from cassbook.claims.interval import Interval, as_printed, percent_above, percent_below
from cassbook.claims.registry import Cell, cells
from cassbook.claims.statement import Answer, Statement
from cassbook.latency.regression import MODEL_NAMES

#: The two ways to give a loss of throughput in percent; the header, 'slowdown, % of ONE', says the first.
OF_ONE = "the loss in percent of ONE, as the header says"
OF_ITSELF = "the loss in percent of the stronger level's own throughput, ONE / level - 1"
ORDERS = {name: order for order, name in MODEL_NAMES.items()}
#: Table V compares with something that is not printed; this is what meets its numbers.
RESIDUAL = "residual of the regression: (weighted mean of Tables I and II - Table IV) / weighted mean"


def latency_slowdown(operation: str, level: str, threads: int) -> Interval:
    """Latency at a level in percent above ONE."""
    column = benchmarks().latency_us
    return percent_above(column[operation, level][threads], column[operation, "ONE"][threads])


def throughput_slowdown(operation: str, level: str, threads: int, of: str = OF_ONE) -> Interval:
    """Throughput lost at a level, in percent of ONE or of the level itself."""
    column = benchmarks().throughput_per_s
    weak, strong = column[operation, "ONE"][threads], column[operation, level][threads]
    return percent_below(strong, weak) if of == OF_ONE else percent_above(weak, strong)


def slowdown_cells(operation: str, quantity: str) -> Iterator[tuple[str, int, str]]:
    """(level, threads, printed text) of one slowdown column, row by row."""
    texts = table(TABLE_OF[operation], ("threads", "level"), f"{quantity}_slowdown_percent")
    for (threads, level), text in texts.items():
        if text:
            yield level, int(threads), text


def cell_name(operation: str, *parts: object) -> str:
    """Identity of a claim about Table I or II."""
    return "-".join(["g20", TABLE_OF[operation].removeprefix("g20_"), *(str(part).lower() for part in parts)])


@cells("g20")
def latency_slowdowns() -> Iterator[Cell]:
    """Every '(slowdown, % of ONE)' of latency in Tables I and II against the two latencies of its row."""
    for operation in OPERATIONS:
        for level, threads, text in slowdown_cells(operation, "latency"):
            statement = Statement(
                cell_name(operation, "latency-slowdown", level, threads),
                f"{ROMAN[operation]}, {threads} threads, {level}",
                "Average latency (slowdown, % of ONE)",
                f"+{text}%",
                kind="cell",
            )
            yield statement, Answer(latency_slowdown(operation, level, threads))


@cells("g20")
def goodness_of_fit() -> Iterator[Cell]:
    """Every R² of Table III against a fit of the column of Table I or II."""
    for (operation, level, model), text in table("g20_table3", ("operation", "level", "model"), "r_squared").items():
        statement = Statement(
            f"g20-table3-{operation}-{level}-{model}".lower(),
            f"Table III, {operation.lower()} {level}, {model}",
            "R-squared",
            text,
            kind="cell",
        )
        yield statement, Answer(r_squared((operation, level), ORDERS[model]))


@cells("g20")
def coefficients() -> Iterator[Cell]:
    """Every coefficient of equations (2) to (7) against the least squares fit of its column."""
    texts = table("g20_equations", ("equation", "operation", "level", "power"), "coefficient")
    for (equation, operation, level, power), text in texts.items():
        column: Column = (operation, level)
        statement = Statement(
            f"g20-equation{equation}-x{power}",
            f"equation ({equation}), {operation.lower()} {level}",
            f"coefficient of x^{power}",
            text,
            kind="cell",
        )
        fitted = coefficient(column, int(power))
        yield statement, Answer(fitted, {"the opposite sign": -fitted}, finding="misprint")


@cells("g20")
def mixed_estimates() -> Iterator[Cell]:
    """Every cell of Table IV against equations (8) to (10) on unrounded fits of order 4."""
    for (threads, share, setting), text in table(
        "g20_table4", ("threads", "read_share", "setting"), "latency_us"
    ).items():
        statement = Statement(
            f"g20-table4-{share}-{setting}-{threads}".lower(),
            f"Table IV, reads {share}, {threads} threads, {setting}",
            "Estimated Cassandra delay, us",
            text,
            kind="cell",
        )
        yield statement, Answer(estimate((int(threads), share, setting)))


def residual_percent(threads: int, share: str, setting: str) -> Interval:
    """What is left of the weighted mean of Tables I and II after Table IV is taken off, in percent of that mean."""
    key = (threads, share, setting)
    return percent_below(table4()[key], mixed_from_pure(key))


@cells("g20")
def deviations() -> Iterator[Cell]:
    """Every cell of Table V against what Tables I, II and IV leave over without any measurement of a mix."""
    for (threads, share, setting), text in table(
        "g20_table5", ("threads", "read_share", "setting"), "deviation_percent"
    ).items():
        statement = Statement(
            f"g20-table5-{share}-{setting}-{threads}".lower(),
            f"Table V, reads {share}, {threads} threads, {setting}",
            "deviation between estimated and experimentally measured",
            f"{text}%",
            kind="cell",
        )
        residual = residual_percent(int(threads), share, setting)
        note = "No measured latency of a mix is printed, and none is needed for this number: see g20-verification."
        yield statement, Answer(None, {RESIDUAL: residual}, note, "not_measured")


def printed_deviation(threads: int, share: str, setting: str) -> Interval:
    """One cell of Table V."""
    texts = table("g20_table5", ("threads", "read_share", "setting"), "deviation_percent")
    return as_printed(texts[str(threads), share, setting])
