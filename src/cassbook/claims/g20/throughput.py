"""Sentences of the 2020 paper on throughput and saturation (section IV.A), put to its own tables."""

from __future__ import annotations

import pandas as pd

from cassbook import published
from cassbook.claims.g20.source import COLUMNS, benchmarks
from cassbook.claims.interval import Interval, exactly, high, largest, low, mean, middle, percent_below
from cassbook.claims.level_means import Study
from cassbook.claims.registry import claim
from cassbook.claims.rules import MORE_STRICTLY, SATURATED, within
from cassbook.claims.statement import Answer, Count
from cassbook.latency.saturation import TOO_FEW, growth_table, saturation_point

# Section IV.A: statistics


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


_WRITES_AT_MOST = ("section IV.A", "For the QUORUM and ALL consistency settings it fluctuates around 13000 and 12500")


@claim("g20-max-write-quorum", *_WRITES_AT_MOST, "around 13000")
def max_write_quorum(study: Study) -> Interval:
    """Largest throughput of writes at QUORUM."""
    return top_throughput(study, "WRITE", "QUORUM")


@claim("g20-max-write-all", *_WRITES_AT_MOST, "12500", asked="around 12500")
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
            finding="misprint",
        )
    return Answer(
        percent_below(reads, writes),
        {"all three levels compared with writes at ONE": percent_below(reads, weakest)},
        finding="base",
    )


_READS_LOWER = (
    "section IV.A",
    "The maximum throughput of read operations is lower by 21%, 33% and 38% correspondingly",
)


@claim("g20-max-read-one", *_READS_LOWER, "21%")
def reads_lower_one(study: Study) -> Answer:
    """Maximum throughput of reads at ONE below that of writes at ONE."""
    return _reads_lower(study, "ONE")


@claim("g20-max-read-quorum", *_READS_LOWER, "33%")
def reads_lower_quorum(study: Study) -> Answer:
    """Maximum throughput of reads at QUORUM below that of writes."""
    return _reads_lower(study, "QUORUM")


@claim("g20-max-read-all", *_READS_LOWER, "38%")
def reads_lower_all(study: Study) -> Answer:
    """Maximum throughput of reads at ALL below that of writes."""
    return _reads_lower(study, "ALL")


@claim(
    "g20-exponential-growth",
    "section IV.A, Fig. 5",
    "When the workload reaches the maximum Cassandra throughput, delays increase in exponential progression",
    "exponential progression",
    asked="exponential in all 6 columns",
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
    points, strictly = (
        {
            column: saturation_point(series.index, [middle(v) for v in series], part)
            for column, series in study.throughput_per_s.items()
        }
        for part in (SATURATED, MORE_STRICTLY)
    )
    last = [f"{o.lower()} {level}" for (o, level), point in points.items() if point == max(points.values())]
    return Answer(
        mean(map(exactly, points.values())),
        {
            f"saturated is {within(MORE_STRICTLY)}": mean(map(exactly, strictly.values())),
            "until every column is saturated": max(points.values()),
        },
        f"'Saturated' is read as: {within(SATURATED)}. Last are {', '.join(last)}; the first are from "
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
    "highly volatile",
    asked="all 6 columns more volatile beyond 800",
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
