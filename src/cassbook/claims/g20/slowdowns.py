"""Losses of throughput in Tables I and II of the 2020 paper, and their average lines: of which base, and which slip."""

from __future__ import annotations

from collections.abc import Iterator

from cassbook.claims.g20.derived import OF_ITSELF, OF_ONE, cell_name, slowdown_cells, throughput_slowdown
from cassbook.claims.g20.slips import Row, borne_out, broken_rows
from cassbook.claims.g20.source import OPERATIONS, ROMAN, TABLE_OF, benchmarks, table
from cassbook.claims.interval import Interval, mean, middle
from cassbook.claims.registry import Cell, cells
from cassbook.claims.statement import Answer, Statement
from cassbook.core.consistency import LEVELS

#: The base of the tables' own average lines, of a column with a slip.
MENDED_OF_ITSELF = f"{OF_ITSELF}, with the slip mended that the average line bears out"


def average_slowdown(operation: str, level: str, quantity: str, of: str = OF_ONE, mended: bool = False) -> Interval:
    """Mean of one slowdown column over the twelve thread counts, from the latencies or throughputs themselves.

    `quantity` is 'latency' or 'throughput', of which `of` is the base, `OF_ONE` or `OF_ITSELF`. With `mended`, the
    slips that the average line bears out are mended (`slips.borne_out`).
    """
    first = benchmarks().threads()[0]
    row = Row(operation, level, first, quantity)
    strong, weak = dict(row.column(level)), dict(row.column("ONE"))
    for threads, number, new in slips_of(operation, level, quantity) if mended else ():
        (strong if number == level else weak)[threads] = new
    return mean(row.slowdown(of, strong[n], weak[n]) for n in strong)


def slips_of(operation: str, level: str, quantity: str) -> list[tuple[int, str, str]]:
    """Slips in the numbers of a column that its average bears out: threads, whose number, and what it should be."""
    rows = [row for row in broken_rows() if (row.operation, row.level, row.quantity) == (operation, level, quantity)]
    return [(row.threads, one.number, one.new) for row in rows for one in borne_out(row) if one.number != "percent"]


def throughput_answer(operation: str, level: str) -> Answer:
    """Answer what a column of throughput loses on average, in percent of ONE; and by the tables' own base."""
    of_one = average_slowdown(operation, level, "throughput", mended=True)
    if not slips_of(operation, level, "throughput"):
        return Answer(of_one, {OF_ITSELF: average_slowdown(operation, level, "throughput", OF_ITSELF)}, finding="base")
    as_printed = {of: middle(average_slowdown(operation, level, "throughput", of)) for of in (OF_ONE, OF_ITSELF)}
    return Answer(
        of_one,
        {MENDED_OF_ITSELF: average_slowdown(operation, level, "throughput", OF_ITSELF, mended=True)},
        _two_errors(operation, level, as_printed),
        "base",
    )


def mends(operation: str, level: str) -> str:
    """Say which slips of a column of throughput are mended."""
    slips = slips_of(operation, level, "throughput")
    return "; ".join(f"{number} at {threads} threads is {new}" for threads, number, new in slips)


def _two_errors(operation: str, level: str, as_printed: dict[str, float]) -> str:
    return (
        f"Mended is what the average line asks for: {mends(operation, level)}. As printed, the loss is "
        f"{as_printed[OF_ITSELF]:.2f}% in the base of the table's own average line, and {as_printed[OF_ONE]:.2f}% in "
        "percent of ONE, which comes near the printed number because two errors cancel."
    )


@cells("g20")
def throughput_slowdowns() -> Iterator[Cell]:
    """Every '(slowdown, % of ONE)' of throughput against the two throughputs of its row."""
    for operation in OPERATIONS:
        for level, threads, text in slowdown_cells(operation, "throughput"):
            statement = Statement(
                cell_name(operation, "throughput-slowdown", level, threads),
                f"{ROMAN[operation]}, {threads} threads, {level}",
                "Average throughput (slowdown, % of ONE)",
                f"+{text}%",
                kind="cell",
            )
            of_one = throughput_slowdown(operation, level, threads)
            other = {OF_ITSELF: throughput_slowdown(operation, level, threads, OF_ITSELF)}
            mended = _mended(operation, level, threads)
            yield statement, Answer(of_one, other | mended, finding="misprint" if mended else "base")


def _mended(operation: str, level: str, row_of: int) -> dict[str, Interval]:
    """Readings of a row whose slips are mended, by the base of the other rows."""
    readings = {}
    for threads, number, new in slips_of(operation, level, "throughput"):
        if threads != row_of:
            continue
        row = Row(operation, level, threads, "throughput")
        numbers = {of: row.column(of)[threads] for of in (level, "ONE")}
        what = f"{numbers[number]} is a slip for {new}, as the average line bears out; {OF_ITSELF}"
        mended = numbers | {number: new}
        readings[what] = row.slowdown(OF_ITSELF, mended[level], mended["ONE"])
    return readings


@cells("g20")
def averages() -> Iterator[Cell]:
    """The line 'Average' that closes Tables I and II: slowdowns and coefficients of variation."""
    for operation in OPERATIONS:
        averages_of = f"{TABLE_OF[operation]}_averages"
        for level in LEVELS:
            where = f"{ROMAN[operation]}, line Average, {level}"
            spread = Statement(
                cell_name(operation, "average-cv", level),
                where,
                "Coefficient of variation, %",
                f"{table(averages_of, ('level',), 'cv_percent')[level,]}%",
                kind="cell",
            )
            yield spread, Answer(mean(benchmarks().cv_percent[operation, level]))
            if level == "ONE":
                continue
            for quantity in ("latency", "throughput"):
                statement = Statement(
                    cell_name(operation, f"average-{quantity}-slowdown", level),
                    where,
                    f"Average {quantity} (slowdown, % of ONE)",
                    f"+{table(averages_of, ('level',), f'{quantity}_slowdown_percent')[level,]}%",
                    kind="cell",
                )
                latency = quantity == "latency"
                answer = Answer(average_slowdown(operation, level, quantity)) if latency else None
                yield statement, answer or throughput_answer(operation, level)
