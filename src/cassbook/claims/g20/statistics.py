"""Sentences of the 2020 paper on its statistics and regressions (section IV), put to its own tables."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
from scipy.stats import spearmanr

from cassbook import published
from cassbook.claims.g20.source import (
    COLUMNS,
    OPERATIONS,
    Column,
    benchmarks,
    r_squared,
    spelled,
)
from cassbook.claims.interval import (
    Interval,
    as_printed,
    exactly,
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
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count
from cassbook.claims.study import Study
from cassbook.core.consistency import LEVELS
from cassbook.latency.saturation import TOO_FEW, growth_table, saturation_point

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
        "almost linearly" if low(lowest) > 0.99 else "not linearly",  # noqa: PLR2004 - stated in the note
        note=f"Read as R² above 0.99 in every column; the least is {middle(lowest):.4f}.",
    )


@claim(
    "g20-cv-workload",
    "section IV.A",
    "the higher the workload, the higher the latency variation",
    "the higher",
)
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
    "all rows",
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
def means_are_told_apart() -> Answer:
    """Rows in which ONE and ALL differ by more than 1.96 standard errors of their difference."""
    apart = []
    for operation in OPERATIONS:
        one, everyone = ("ONE", "ALL")
        for n in benchmarks().threads():
            means = [middle(benchmarks().latency_us[operation, level][n]) for level in (one, everyone)]
            errors = [
                mean_us * middle(benchmarks().cv_percent[operation, level][n]) / 100 / (1000 * n) ** 0.5
                for mean_us, level in zip(means, (one, everyone), strict=True)
            ]
            apart.append(abs(means[1] - means[0]) > 1.96 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5)
    return Answer(
        Count(sum(apart), len(apart)),
        note="With 1000 requests a thread, as section IV.A says, and sampling as the only error. Whether runs "
        "repeat is another question, and the paper does not say how often they were made.",
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
        risen.append(rank > 0 and chance < 0.05)  # noqa: PLR2004 - the usual level
        ends.append(f"{lead[0]:.0f} to {lead[-1]:.0f} %")
    return Answer(
        Count(sum(risen), len(risen)),
        note=f"From the fewest to the most threads the lead goes from {', '.join(ends)} (ONE, QUORUM, ALL).",
    )


@claim(
    "g20-writes-faster-anywhere",
    "section IV.A",
    "almost 25% faster on average ... independently of consistency settings",
    "25% at all 3 levels",
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
    "all 3 levels below 10",
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
    return Answer(
        "nothing was measured below 10",
        {f"at {first} threads": "all 3 levels below 10" if all(at_first) else "not at all levels"},
        f"Beyond {first} threads reads are faster in {sum(after)} of {len(after)} cells.",
    )


def top_throughput(study: Study, operation: str, level: str) -> Interval:
    """Largest throughput of a column."""
    return largest(study.throughput_per_s[operation, level])


@claim(
    "g20-max-write-one",
    "section IV.A",
    "writes executed under the ONE consistency level reach the maximum throughput of 13552 requests per second",
    "13552",
)
def max_write_one(study: Study) -> Interval:
    """Largest throughput of writes at ONE."""
    return top_throughput(study, "WRITE", "ONE")


@claim(
    "g20-max-write-quorum",
    "section IV.A",
    "For the QUORUM and ALL consistency settings it fluctuates around 13000 and 12500",
    "around 13000",
)
def max_write_quorum(study: Study) -> Interval:
    """Largest throughput of writes at QUORUM."""
    return top_throughput(study, "WRITE", "QUORUM")


@claim(
    "g20-max-write-all",
    "section IV.A",
    "For the QUORUM and ALL consistency settings it fluctuates around 13000 and 12500",
    "around 12500",
)
def max_write_all(study: Study) -> Answer:
    """Largest throughput of writes at ALL."""
    top = top_throughput(study, "WRITE", "ALL")
    step = 500
    return Answer(top, {f"rounded to {step}, as the pair of numbers is": exactly(step * round(middle(top) / step))})


def _reads_lower(study: Study, level: str) -> Answer:
    """Largest throughput of reads below that of writes: of the level's own writes, or of writes at ONE."""
    reads = top_throughput(study, "READ", level)
    writes, weakest = top_throughput(study, "WRITE", level), top_throughput(study, "WRITE", "ONE")
    if level == "ONE":
        return Answer(
            percent_below(reads, writes),
            note="The sentence's other two numbers come out with writes at ONE as their common base, which is the base "
            f"here anyway. A slip of one digit for {middle(percent_below(reads, writes)):.0f} would explain it.",
        )
    return Answer(
        percent_below(reads, writes), {"all three levels compared with writes at ONE": percent_below(reads, weakest)}
    )


@claim(
    "g20-max-read-one",
    "section IV.A",
    "The maximum throughput of read operations is lower by 21%, 33% and 38% correspondingly",
    "21%",
)
def reads_lower_one(study: Study) -> Answer:
    """Maximum throughput of reads at ONE below that of writes at ONE."""
    return _reads_lower(study, "ONE")


@claim(
    "g20-max-read-quorum",
    "section IV.A",
    "The maximum throughput of read operations is lower by 21%, 33% and 38% correspondingly",
    "33%",
)
def reads_lower_quorum(study: Study) -> Answer:
    """Maximum throughput of reads at QUORUM below that of writes."""
    return _reads_lower(study, "QUORUM")


@claim(
    "g20-max-read-all",
    "section IV.A",
    "The maximum throughput of read operations is lower by 21%, 33% and 38% correspondingly",
    "38%",
)
def reads_lower_all(study: Study) -> Answer:
    """Maximum throughput of reads at ALL below that of writes."""
    return _reads_lower(study, "ALL")


@claim(
    "g20-exponential-growth",
    "section IV.A, Fig. 5",
    "When the workload reaches the maximum Cassandra throughput, delays increase in exponential progression",
    "exponential in all 6 columns",
)
def exponential_growth() -> Answer:
    """Columns whose latency over threads beyond saturation an exponential describes better than a line (AICc)."""
    verdicts = growth_table(published.level_stats(), beyond_saturation=True)["verdict"]
    whole = growth_table(published.level_stats())["verdict"]
    return Answer(
        Count(int((verdicts == "exponential").sum()), len(verdicts)),
        note=f"Beyond saturation {int((verdicts == 'linear').sum())} columns are linear and "
        f"{int((verdicts == TOO_FEW).sum())} have too few points; over all threads "
        f"{int((whole == 'exponential').sum())} is exponential. Over throughput instead of threads, as in Fig. 5, any "
        "closed system shows a vertical wall at its maximum: latency then grows by waiting, in proportion to threads.",
    )


@claim("g20-saturation", "section IV.A", "the system is saturated with around 800 threads", "around 800")
def saturated_from(study: Study) -> Answer:
    """First thread count at which a column is within 5 % of its maximum throughput, averaged over the columns."""
    points = {
        column: saturation_point(series.index, [middle(v) for v in series])
        for column, series in study.throughput_per_s.items()
    }
    last = [f"{o.lower()} {level}" for (o, level), point in points.items() if point == max(points.values())]
    return Answer(
        mean(map(exactly, points.values())),
        {"until every column is saturated": max(points.values())},
        f"'Saturated' is read as: within 5 % of the maximum. Last are {', '.join(last)}; the first are from "
        f"{min(points.values()):.0f} threads on.",
    )


def _more_beyond(column: pd.Series) -> bool:
    """Whether the mean from 800 threads on is above that of 200 to 700 threads."""
    threads = column.index.astype(int)
    near = mean(column[threads >= 800])  # noqa: PLR2004 - the paper's number
    before = mean(column[(threads >= 200) & (threads < 800)])  # noqa: PLR2004 - past the idle region
    return low(near) > high(before)


@claim(
    "g20-volatile",
    "section IV.A",
    "delays become highly volatile when Cassandra operates close to its maximal throughput",
    "all 6 columns more volatile beyond 800",
)
def volatile_at_saturation() -> Answer:
    """Columns whose mean coefficient of variation from 800 threads on exceeds that of 200 to 700 threads."""
    relative, absolute = [], []
    for column in COLUMNS:
        cv = benchmarks().cv_percent[column]
        relative.append(_more_beyond(cv))
        absolute.append(_more_beyond(cv * benchmarks().latency_us[column]))
    return Answer(
        Count(sum(relative), len(relative)),
        {"standard deviation in microseconds, as a graph of delays shows it": Count(sum(absolute), len(absolute))},
        "Relative to the mean, the variation falls beyond saturation.",
    )


# Section IV.B: regressions


@claim(
    "g20-fourth-order",
    "section IV.B",
    "the polynomial regression of the fourth order ... fits the experimental statistics with the high accuracy",
    "highest R² in all 6 columns",
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
