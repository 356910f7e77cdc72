"""Sentences of the 2020 paper on its statistics and regressions (section IV), put to its own tables."""

from __future__ import annotations

from itertools import combinations, pairwise, product

from scipy.stats import spearmanr

from cassbook import published
from cassbook.claims.g20.source import COLUMNS, OPERATIONS, Column, benchmarks, r_squared, spelled
from cassbook.claims.interval import (
    Interval,
    as_printed,
    high,
    largest,
    least,
    low,
    mean,
    middle,
    overlap,
    percent_above,
    percent_below,
)
from cassbook.claims.level_means import Study
from cassbook.claims.registry import claim
from cassbook.claims.rules import SIGNIFICANT, straight
from cassbook.claims.statement import Answer, Count
from cassbook.core.consistency import LEVELS

# Section IV.A: statistics


@claim(
    "g20-almost-linear",
    "section IV.A, Fig. 4",
    "the average delay ... increases almost linearly as the number of threads increases",
    "almost linearly",
)
def almost_linear() -> Answer:
    """Whether a line explains more than 99 percent of the variance of latency in each column of Tables I and II."""
    lowest = least(r_squared(column, 1) for column in COLUMNS)
    return Answer(
        "almost linearly" if straight(low(lowest)) else "not linearly",
        note=f"The least R² of a line is {middle(lowest):.4f}.",
    )


@claim("g20-cv-workload", "section IV.A", "the higher the workload, the higher the latency variation", "the higher")
def variation_rises() -> Answer:
    """Steps from one thread count to the next at which the coefficient of variation does not fall."""
    steps: dict[tuple[Column, int], bool] = {}
    peaks: set[int] = set()
    for column in COLUMNS:
        centres = {int(n): middle(cv) for n, cv in benchmarks().cv_percent[column].items()}  # type: ignore[call-overload]
        peaks.add(max(centres, key=centres.__getitem__))
        steps |= {(column, after): centres[after] >= centres[before] for before, after in pairwise(centres)}
    rising = [right for (_, n), right in steps.items() if n <= min(peaks)]
    return Answer(
        Count(sum(steps.values()), len(steps)),
        note=f"True up to {min(peaks)} threads ({sum(rising)} of {len(rising)} steps): each column peaks at "
        f"{min(peaks)} to {max(peaks)} threads and falls beyond, where a delay is mostly waiting and all wait alike.",
    )


@claim(
    "g20-cv-consistency",
    "section IV.A",
    "the stronger the level of consistency, the lower latency variation",
    "the lower latency variation",
    asked="all rows",
)
def variation_falls_with_level() -> Count:
    """Rows of Tables I and II whose coefficients of variation do not rise from ONE over QUORUM to ALL."""
    rows = []
    for operation in OPERATIONS:
        one, quorum, everyone = (benchmarks().cv_percent[operation, level] for level in LEVELS)
        rows += [middle(one[n]) >= middle(quorum[n]) >= middle(everyone[n]) for n in one.index]
    return Count(sum(rows), len(rows))


@claim("g20-cv-range", "section IV.A", "It varies between 34 and 50% on average", "34 and 50%")
def variation_range() -> tuple[Interval, Interval]:
    """Least and largest mean coefficient of variation over the six columns."""
    means = [mean(benchmarks().cv_percent[column]) for column in COLUMNS]
    return least(means), largest(means)


@claim(
    "g20-cv-significance",
    "section IV.A",
    "which does not affect the statistical significance of the reported average latency",
    "does not affect",
)
def means_differ_significantly() -> Answer:
    """Pairs of levels in each row that differ by more than 1.96 standard errors of their difference."""
    apart = {}
    for operation, pair, n in product(OPERATIONS, combinations(LEVELS, 2), benchmarks().threads()):
        means = [middle(benchmarks().latency_us[operation, level][n]) for level in pair]
        errors = [
            mean_us * middle(benchmarks().cv_percent[operation, level][n]) / 100 / (1000 * n) ** 0.5
            for mean_us, level in zip(means, pair, strict=True)
        ]
        apart[operation, pair, n] = abs(means[1] - means[0]) > 1.96 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5
    alike = [f"{o.lower()}s {one} and {other} at {n}" for (o, (one, other), n), differ in apart.items() if not differ]
    ends = [differ for (_, pair, _), differ in apart.items() if pair == (LEVELS[0], LEVELS[-1])]
    return Answer(
        Count(sum(apart.values()), len(apart)),
        {"ONE and ALL alone": Count(sum(ends), len(ends))},
        f"Not told apart: {', '.join(alike) or 'none'}. With 1000 requests a thread, as section IV.A says, and "
        "sampling as the only error. Whether runs repeat is another question, and the paper does not say how often "
        "they were made.",
        "overstated",
    )


@claim(
    "g20-one-lower-than-all",
    "section IV.A",
    "both read and write operations is lower (by 13% and 26% respectively) than ... the ALL consistency setting",
    "13% and 26%",
)
def one_below_all(study: Study) -> Answer:
    """By how much the mean latency at ONE is below ALL, in percent of ALL: reads, then writes."""

    def by(below: bool, order: tuple[str, ...]) -> tuple[Interval, ...]:
        pairs = [(study.latency_us[o, "ONE"], study.latency_us[o, "ALL"]) for o in order]
        parts = [
            [percent_below(one[n], every[n]) if below else percent_above(every[n], one[n]) for n in study.threads()]
            for one, every in pairs
        ]
        return tuple(mean(part) for part in parts)

    return Answer(
        by(True, OPERATIONS),
        {"writes first, then reads, and by how much ALL is above ONE": by(False, OPERATIONS[::-1])},
        "The numbers are those of the average lines, which take ONE as 100 %; 'both read and write' names reads first.",
        "base",
    )


def _writes_faster(study: Study, level: str) -> Interval:
    """By how much writes at a level are faster than reads, in percent of reads, averaged over threads."""
    reads, writes = study.latency_us["READ", level], study.latency_us["WRITE", level]
    return mean(percent_below(writes[n], reads[n]) for n in study.threads())


@claim(
    "g20-writes-faster",
    "section IV.A",
    "write operations are almost 25% faster on average than read requests",
    "almost 25%",
)
def writes_faster(study: Study) -> Answer:
    """By how much writes are faster than reads, in percent of reads, averaged over threads and levels."""
    levels = {level: _writes_faster(study, level) for level in LEVELS}
    return Answer(mean(levels.values()), note=f"ONE, QUORUM and ALL give {spelled(levels.values())}.")


@claim(
    "g20-writes-faster-heavy",
    "section IV.A",
    "very high write speed especially under the heavy workload",
    "especially under the heavy workload",
)
def writes_lead_grows() -> Answer:
    """Levels at which the lead of writes over reads rises with the threads (Spearman's rank correlation)."""
    risen, ends = [], []
    for level in LEVELS:
        reads, writes = benchmarks().latency_us["READ", level], benchmarks().latency_us["WRITE", level]
        lead = [middle(percent_below(writes[n], reads[n])) for n in reads.index]
        rank, chance = spearmanr(list(reads.index), lead)
        risen.append(rank > 0 and chance < SIGNIFICANT)
        ends.append(f"{lead[0]:.0f} to {lead[-1]:.0f} %")
    return Answer(
        Count(sum(risen), len(risen)),
        note=f"From the fewest to the most threads the lead goes from {', '.join(ends)} (ONE, QUORUM, ALL).",
    )


@claim(
    "g20-writes-faster-anywhere",
    "section IV.A",
    "almost 25% faster on average ... independently of consistency settings",
    "independently of consistency settings",
    asked="25% at all 3 levels",
)
def writes_faster_at_each_level(study: Study) -> Answer:
    """Levels at which the mean lead of writes rounds to 25 percent of reads."""
    levels = [_writes_faster(study, level) for level in LEVELS]
    stated = as_printed("25")
    return Answer(
        Count(sum(overlap(lead, stated) for lead in levels), len(levels)),
        note=f"The stronger the level, the larger the lead of writes: {spelled(levels)}.",
    )


@claim(
    "g20-reads-faster-below-10",
    "section IV.A",
    "reads are slightly over-performing writes when a number of concurrent requests is below 10",
    "below 10",
    asked="all 3 levels below 10",
)
def reads_faster_when_few() -> Answer:
    """Levels at which reads are faster than writes at the least number of threads."""
    reads, writes = (
        {(level, n): v for level in LEVELS for n, v in benchmarks().latency_us[operation, level].items()}
        for operation in OPERATIONS
    )
    first = min(benchmarks().threads())
    faster = {key: high(reads[key]) < low(writes[key]) for key in reads}
    at_first = [right for (_, n), right in faster.items() if n == first]
    after = [right for (_, n), right in faster.items() if n != first]
    crossings = ", ".join(f"{_crossing(level):.0f} (at {level})" for level in LEVELS)
    return Answer(
        "nothing was measured below 10",
        {f"at {first} threads": "all 3 levels below 10" if all(at_first) else "not at all levels"},
        f"Beyond {first} threads reads are faster in {sum(after)} of {len(after)} cells. On the line between "
        f"its row and the next they are up to {crossings} threads.",
    )


def _crossing(level: str) -> float:
    """Threads at which reads and writes at a level take equally long, on the line between the first two rows."""
    first, second = benchmarks().threads()[:2]
    lead_us = [
        middle(benchmarks().latency_us["WRITE", level][n]) - middle(benchmarks().latency_us["READ", level][n])
        for n in (first, second)
    ]
    return first + (second - first) * lead_us[0] / (lead_us[0] - lead_us[1])


# Section IV.B: regressions


@claim(
    "g20-fourth-order",
    "section IV.B",
    "the polynomial regression of the fourth order ... fits the experimental statistics with the high accuracy",
    "high accuracy",
    asked="highest R² in all 6 columns",
)
def fourth_order_best() -> Answer:
    """Columns in which Table III prints the highest R² for order 4."""
    printed = published.table("g20_table3").pivot_table(
        index=["operation", "level"], columns="model", values="r_squared"
    )
    right = printed["order4"] >= printed.max(axis=1)
    return Answer(
        Count(int(right.sum()), len(right)),
        note="A higher order never fits its own points worse; what it predicts is another matter (see the claims on "
        "leaving a thread count out).",
    )
