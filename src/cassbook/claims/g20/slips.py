"""Which definitions the 2020 paper used for its slowdowns, which cells fit none, and what slip would mend them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from cassbook.claims.g20.derived import OF_ITSELF, OF_ONE, latency_slowdown, throughput_slowdown
from cassbook.claims.g20.little import little_ratio
from cassbook.claims.g20.source import (
    OPERATIONS,
    ROMAN,
    TABLE_OF,
    benchmarks,
    estimate,
    influence,
    levels_of,
    table,
    table4,
)
from cassbook.claims.interval import Interval, as_printed, exactly, mean, middle, overlap, percent_above, percent_below
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.statement import Answer, Count, Statement
from cassbook.claims.typos import repairs
from cassbook.core.consistency import LEVELS

# Which definition of slowdown


def _fits(quantity: str, of: str) -> tuple[Count, list[str]]:
    """Cells of a slowdown column that a definition gives, and those it does not."""
    missed, total = [], 0
    for operation in OPERATIONS:
        texts = table(TABLE_OF[operation], ("threads", "level"), f"{quantity}_slowdown_percent")
        for (threads, level), text in texts.items():
            if not text:
                continue
            total += 1
            at = (operation, level, int(threads))
            slowdown = latency_slowdown(*at) if quantity == "latency" else throughput_slowdown(*at, of)
            if not overlap(slowdown, as_printed(text)):
                missed.append(f"{operation.lower()} {level} at {threads}: printed {text}, gives {middle(slowdown):.2f}")
    return Count(total - len(missed), total), missed


@claim(
    "g20-forensic-latency-definition",
    "Tables I and II",
    "Average latency (slowdown, % of ONE)",
    "",
    kind="forensic",
    asked="(level - ONE) / ONE in all 48 cells",
)
def latency_definition() -> Answer:
    """Slowdown cells of latency that (level - ONE) / ONE gives."""
    count, missed = _fits("latency", OF_ONE)
    return Answer(count, note="Not: " + "; ".join(missed) + ". Rounded up instead of to the nearest, it would fit.")


@claim(
    "g20-forensic-throughput-definition",
    "Tables I and II",
    "Average throughput (slowdown, % of ONE)",
    "",
    kind="forensic",
    asked="(ONE - level) / ONE in all 48 cells",
)
def throughput_definition() -> Answer:
    """Slowdown cells of throughput that (ONE - level) / ONE gives, and those that ONE / level - 1 gives."""
    by_header, _ = _fits("throughput", OF_ONE)
    by_itself, missed = _fits("throughput", OF_ITSELF)
    return Answer(
        by_header,
        note=f"ONE / level - 1 gives {by_itself}; not: {'; '.join(missed)}. The likeliest explanation: the formula of "
        "the latency column, larger over smaller less one, was copied to the throughput columns.",
    )


# Which slip


@dataclass(frozen=True, slots=True)
class Row:
    """A level's slowdown at a thread count, with the numbers next to it; `quantity` is latency or throughput."""

    operation: str
    level: str
    threads: int
    quantity: str

    @property
    def definitions(self) -> tuple[str, ...]:
        """Definitions of the slowdown that the column may have used."""
        return (OF_ONE,) if self.quantity == "latency" else (OF_ONE, OF_ITSELF)

    def column(self, level: str) -> dict[int, str]:
        """Printed latencies or throughputs of a level, by threads."""
        name = "latency_us" if self.quantity == "latency" else "throughput_per_s"
        texts = table(TABLE_OF[self.operation], ("threads", "level"), name)
        return {int(threads): text for (threads, of), text in texts.items() if of == level}

    def percents(self) -> dict[int, str]:
        """Printed slowdowns of the level, by threads."""
        texts = table(TABLE_OF[self.operation], ("threads", "level"), f"{self.quantity}_slowdown_percent")
        return {int(threads): text for (threads, of), text in texts.items() if of == self.level}

    def printed_average(self) -> Interval:
        """The column's average as the last line of the table prints it."""
        averages = table(f"{TABLE_OF[self.operation]}_averages", ("level",), f"{self.quantity}_slowdown_percent")
        return as_printed(averages[self.level,])

    def slowdown(self, of: str, strong: str, weak: str) -> Interval:
        """Slowdown of two printed numbers by a definition."""
        x, one = as_printed(strong), as_printed(weak)
        if self.quantity == "latency":
            return percent_above(x, one)
        return percent_below(x, one) if of == OF_ONE else percent_above(one, x)

    def may_be(self, of: str, strong: str, weak: str, percent: str) -> bool:
        """Whether a slowdown is as near a printed one as rounding allows; intervals decide the rest."""
        x, one = float(strong), float(weak)
        if min(x, one) <= 1:
            return True
        over, under = (one, x) if self.quantity != "latency" and of != OF_ONE else (x, one)
        ratio = over / under
        rough = 100 * (ratio - 1) * (-1 if self.quantity != "latency" and of == OF_ONE else 1)
        return abs(rough - float(percent)) <= 1 + 100 * ratio * (1 / x + 1 / one)


@dataclass(frozen=True, slots=True)
class Repair:
    """Keystrokes that mend a row: which of its numbers (a level, or 'percent'), as printed and as mended."""

    number: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.number} {self.old} to {self.new}"


def row_repairs(row: Row, of: str, keystrokes: int = 1) -> list[Repair]:
    """Keystrokes in one number of a row that make its slowdown agree with its two numbers by a definition."""
    strong, weak = row.column(row.level)[row.threads], row.column("ONE")[row.threads]
    percent = row.percents()[row.threads]

    def agrees(strong: str, weak: str, percent: str) -> bool:
        near = row.may_be(of, strong, weak, percent)
        return near and overlap(row.slowdown(of, strong, weak), as_printed(percent))

    tries = {
        row.level: (strong, lambda new: agrees(new, weak, percent)),
        "ONE": (weak, lambda new: agrees(strong, new, percent)),
        "percent": (percent, lambda new: agrees(strong, weak, new)),
    }
    return [Repair(name, old, new) for name, (old, good) in tries.items() for new in repairs(old, good, keystrokes)]


def averages(row: Row, repair: Repair) -> tuple[Interval, Interval]:
    """Average of the column as it stands and with the row mended.

    Of the printed percents if one of them is mended, else of the slowdowns of its latencies or throughputs, by the
    definition that the column's other cells follow.
    """
    if repair.number == "percent":
        percents = row.percents()
        both = (percents, percents | {row.threads: repair.new})
        as_is, mended = (mean(exactly(text) for text in texts.values()) for texts in both)
        return as_is, mended
    strong, weak = row.column(row.level), row.column("ONE")
    mended_strong, mended_weak = dict(strong), dict(weak)
    (mended_strong if repair.number == row.level else mended_weak)[row.threads] = repair.new
    of = row.definitions[-1]
    as_is = mean(row.slowdown(of, strong[n], weak[n]) for n in strong)
    return as_is, mean(row.slowdown(of, mended_strong[n], mended_weak[n]) for n in strong)


def supported_by_average(row: Row, repair: Repair) -> bool:
    """Whether the printed average rejects the row as it stands and accepts it mended."""
    as_is, mended = averages(row, repair)
    return overlap(mended, row.printed_average()) and not overlap(as_is, row.printed_average())


def excluded_by_table4(row: Row, repair: Repair) -> bool:
    """Whether Table IV, which follows from fits to the latencies, would no longer do so with one latency mended."""
    if row.quantity != "latency" or repair.number == "percent":
        return False
    column = (row.operation, repair.number)
    moved_us = float(repair.new) - float(repair.old)
    keys = [key for key in table4() if column in levels_of(key[2])]
    shares = {key: float(key[1]) if row.operation == "READ" else 1 - float(key[1]) for key in keys}
    shift = {key: shares[key] * influence(column, row.threads, key[0]) * moved_us for key in keys}
    return not all(overlap(estimate(key) + exactly(repr(shift[key])), table4()[key]) for key in keys)


@cache
def broken_rows() -> tuple[Row, ...]:
    """Rows with a slowdown that no definition gives."""
    return tuple(_broken_rows())


def _broken_rows() -> Iterator[Row]:
    for operation, quantity, level in product(OPERATIONS, ("latency", "throughput"), LEVELS[1:]):
        for threads in benchmarks().threads():
            row = Row(operation, level, threads, quantity)
            numbers = row.column(level)[threads], row.column("ONE")[threads]
            percent = as_printed(row.percents()[threads])
            if not any(overlap(row.slowdown(of, *numbers), percent) for of in row.definitions):
                yield row


@cache  # a search through some ten thousand numbers
def borne_out(row: Row) -> list[Repair]:
    """Slips of one or two keystrokes that mend a row and that the column's printed average asks for."""
    mended = [repair for of in row.definitions for n in (1, 2) for repair in row_repairs(row, of, n)]
    good = [repair for repair in mended if supported_by_average(row, repair) and not excluded_by_table4(row, repair)]
    return list(dict.fromkeys(good))


def _listed(mended: list[Repair]) -> str:
    return ", ".join(dict.fromkeys(map(str, mended))) or "none"


@cells("g20")
def broken_cells() -> Iterator[Cell]:
    """What one or two keystrokes could mend each slowdown cell that fits no definition, and what the paper supports."""
    for row in broken_rows():
        good = borne_out(row)
        here = f"{row.quantity}-{row.level}-{row.threads}".lower()
        statement = Statement(
            f"g20-forensic-slip-{TABLE_OF[row.operation][4:]}-{here}",
            f"{ROMAN[row.operation]}, {row.threads} threads, {row.level}",
            f"Average {row.quantity} (slowdown, % of ONE)",
            "",
            kind="forensic",
            asked="one slip that another number of the paper bears out",
        )
        yield statement, Answer(Count(len(good), 1, _listed(good)), note=_slip_note(row, good))


def _slip_note(row: Row, good: list[Repair]) -> str:
    """What mends a row, what the average line and Table IV say of it, and Little's law."""
    one = [repair for of in row.definitions for repair in row_repairs(row, of)]
    excluded = [repair for repair in one if excluded_by_table4(row, repair)]
    parts = [f"One keystroke mends the row: {_listed(one)}."]
    if excluded:
        parts.append(f"Table IV, which follows from the latencies as printed, excludes {_listed(excluded)}.")
    for repair in good:
        as_is, mended = map(middle, averages(row, repair))
        parts.append(
            f"The average line bears out {repair}: it would be {as_is:.2f} as printed and {mended:.2f} mended; it "
            f"says {middle(row.printed_average()):.0f}."
        )
    others = [little_ratio(row.operation, level, row.threads) for level in LEVELS if level != row.level]
    parts.append(
        f"Throughput times latency is {little_ratio(row.operation, row.level, row.threads):.2f} of the threads in this "
        f"row, {' and '.join(f'{ratio:.2f}' for ratio in others)} at the other levels."
    )
    return " ".join(parts)


@cells("g20")
def checksums() -> Iterator[Cell]:
    """Each printed average of a slowdown column against the mean of the column's printed cells, a checksum of both."""
    for operation in OPERATIONS:
        for quantity in ("latency", "throughput"):
            texts = table(TABLE_OF[operation], ("threads", "level"), f"{quantity}_slowdown_percent")
            averages = table(f"{TABLE_OF[operation]}_averages", ("level",), f"{quantity}_slowdown_percent")
            for level in LEVELS[1:]:
                statement = Statement(
                    f"g20-checksum-{TABLE_OF[operation][4:]}-{quantity}-{level}".lower(),
                    f"{ROMAN[operation]}, line Average, {level}",
                    f"Average of the printed {quantity} slowdowns",
                    f"+{averages[level,]}%",
                    kind="forensic",
                )
                column = [exactly(text) for (_, of), text in texts.items() if of == level]
                yield statement, Answer(mean(column))
