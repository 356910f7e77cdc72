"""Sentences of the 2020 paper, from the abstract to the conclusion, put to its own tables."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise, product

import pandas as pd
from scipy.stats import spearmanr

from cassbook import published
from cassbook.claims.g20_cells import OF_ITSELF, RESIDUAL, average_slowdown, printed_deviation, residual_percent
from cassbook.claims.g20_source import COLUMNS, LEVELS, OPERATIONS, benchmarks, r_squared, table4, underlined
from cassbook.claims.interval import (
    Interval,
    as_printed,
    exactly,
    high,
    largest,
    least,
    low,
    magnitude,
    mean,
    middle,
    overlap,
    percent_above,
    percent_below,
)
from cassbook.claims.registry import claim, untestable
from cassbook.claims.statement import Answer, Count, Value
from cassbook.claims.study import Study
from cassbook.consistency import STRONG_SETTINGS, replicas_waited_for
from cassbook.latency.saturation import TOO_FEW, growth_table, saturation_point

REPLICATION_FACTOR = 3
SHARES = ("0.1", "0.3", "0.5", "0.9")
_SETTINGS = tuple(setting.name for setting in STRONG_SETTINGS)


def slowdowns(study: Study, operation: str, level: str, quantity: str) -> list[Interval]:
    """Slowdown of a level against ONE at each thread count, in percent of ONE."""
    if quantity == "latency":
        weak, strong = study.latency_us[operation, "ONE"], study.latency_us[operation, level]
        return [percent_above(strong[n], weak[n]) for n in study.threads()]
    weak, strong = study.throughput_per_s[operation, "ONE"], study.throughput_per_s[operation, level]
    return [percent_below(strong[n], weak[n]) for n in study.threads()]


def winners(read_share: str) -> dict[int, str]:
    """Thread count to the setting of least estimate in Table IV."""
    threads = sorted({n for n, _, _ in table4()})
    return {n: min(_SETTINGS, key=lambda s: middle(table4()[n, read_share, s])) for n in threads}


def speedup_percent(read_share: str, threads: int) -> Interval:
    """Latency that the best setting of Table IV saves against 1R-3W, in percent of 1R-3W (Fig. 7)."""
    fastest = winners(read_share)[threads]
    always, best = table4()[threads, read_share, "1R-3W"], table4()[threads, read_share, fastest]
    return exactly(0) if fastest == "1R-3W" else percent_below(best, always)


def _spelled(values: Iterable[Interval]) -> str:
    return ", ".join(f"{middle(v):.1f} %" for v in values)


# Abstract


@claim("g20-abstract-cost", "abstract", "strong consistency costs up to 25% of performance", "25%")
def greatest_cost(study: Study) -> Answer:
    """Largest slowdown in Tables I and II, of latency or throughput, at any thread count."""
    quantities = list(product(OPERATIONS, ("QUORUM", "ALL"), ("latency", "throughput")))
    cells = [cell for o, level, q in quantities for cell in slowdowns(study, o, level, q)]
    lost = {(o, level): mean(slowdowns(study, o, level, "throughput")) for o, level, q in quantities if q != "latency"}
    # the average line of the throughput columns is in percent of the level itself: see g20_cells.OF_ITSELF
    largest_average = average_slowdown("READ", "ALL", "throughput", OF_ITSELF)
    return Answer(
        largest(cells),
        {"the largest average loss of throughput in Tables I and II (reads at ALL), " + OF_ITSELF: largest_average},
        f"Averages over threads are lower: in percent of ONE, ALL loses {middle(lost['READ', 'ALL']):.0f} % of the "
        f"throughput of reads and {middle(lost['WRITE', 'ALL']):.0f} % of writes.",
    )


@claim(
    "g20-abstract-ratio",
    "abstract",
    "the best setting for strong consistency depends on the ratio of read and write operations",
    "all thread counts",
)
def best_changes_with_ratio() -> Count:
    """Thread counts at which Table IV names more than one best setting over its four mixes."""
    threads = list(winners(SHARES[0]))
    return Count(sum(len({winners(share)[n] for share in SHARES}) > 1 for n in threads), len(threads))


# Section II: strong consistency


@claim(
    "g20-equation1",
    "section II.B, equation (1)",
    "strong consistency is ensured if, either: QUORUM/QUORUM, ONE/ALL, ALL/ONE",
    "all 3",
)
def overlapping_settings() -> Count:
    """Settings among the three whose replicas read and written overlap at replication factor 3."""
    waited = [(replicas_waited_for(s.read_cl, 3), replicas_waited_for(s.write_cl, 3)) for s in STRONG_SETTINGS]
    return Count(sum(r + w > REPLICATION_FACTOR for r, w in waited), len(waited))


@claim(
    "g20-quorum",
    "section II.B",
    "a quorum is calculated by rounding down to a whole number: replication_factor/2+1",
    "2",
)
def quorum_of_three() -> float:
    """Replicas that QUORUM waits for at replication factor 3."""
    return replicas_waited_for("QUORUM", REPLICATION_FACTOR)


# Section III: set-up


@claim(
    "g20-record-size", "section III.A", "F is equal 10 and L is equal 100, which constructs 1000 bytes records", "1000"
)
def record_bytes(fields: int = 10, length: int = 100) -> float:
    """Fields times their length."""
    return fields * length


@claim("g20-threads", "section III.A", "with a number of threads varying from 10 to 1000", "10 to 1000")
def thread_range(study: Study) -> tuple[float, float]:
    """Least and largest thread count measured."""
    return min(study.threads()), max(study.threads())


untestable(
    "g20-database-size",
    "section III.A",
    "The final size of the testbed database reached 70GB by the end of our experiments",
    "70GB",
    "The number of records loaded, compaction and the number of repetitions are not given, and writes go to keys that "
    "exist as well as to new ones, so the size cannot be derived.",
)
untestable(
    "g20-cold-start-length",
    "section III.B",
    "In all our experiments this period lasts approximately 800-1000 milliseconds",
    "800-1000",
    "The raw delays and Figs. 2 and 3 are lost. The chapter on cold start measures it on a cluster of ours.",
)
untestable(
    "g20-cold-start-factor",
    "section III.B",
    "the delays measured during the cold start are on average 5-8 times longer",
    "5-8",
    "The raw delays and Figs. 2 and 3 are lost. The chapter on cold start measures it on a cluster of ours.",
)

# Section IV.A: statistics


@claim(
    "g20-almost-linear",
    "section IV.A, Fig. 4",
    "the average delay increases almost linearly as the number of threads increases",
    "above 0.99",
    relation="above",
)
def least_linear_fit() -> Answer:
    """Least R² of a straight line over the six columns of Tables I and II."""
    scores = {column: r_squared(column, 1) for column in COLUMNS}
    return Answer(
        least(scores.values()),
        note="'Almost linearly' is taken as R² above 0.99 in every column; the paper names no number here.",
    )


@claim("g20-cv-workload", "section IV.A", "the higher the workload, the higher the latency variation", "all steps")
def variation_rises() -> Answer:
    """Steps from one thread count to the next at which the coefficient of variation does not fall."""
    steps = []
    peaks = set()
    for column in COLUMNS:
        cv = benchmarks().cv_percent[column]
        texts = [middle(v) for v in cv]
        steps += [after >= before for before, after in pairwise(texts)]
        peaks.add(int(cv.index[texts.index(max(texts))]))
    upward = f"{min(peaks)} to {max(peaks)}"
    first = []
    for column in COLUMNS:
        texts = [middle(v) for v in benchmarks().cv_percent[column]]
        first += [after >= before for before, after in pairwise(texts[:5])]
    return Answer(
        Count(sum(steps), len(steps)),
        {"up to 300 threads only": Count(sum(first), len(first))},
        f"Each column peaks at {upward} threads and falls beyond: towards saturation all requests wait alike.",
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
    "g20-one-lower-than-all",
    "section IV.A",
    "lower (by 13% and 26% respectively) than the average response time of the ALL consistency setting",
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
    return Answer(
        mean(levels.values()),
        {"QUORUM, the middle one of the three levels": levels["QUORUM"]},
        f"ONE, QUORUM and ALL give {_spelled(levels.values())}.",
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
        note=f"The stronger the level, the larger the lead of writes: {_spelled(levels)}.",
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
    own, weakest = top_throughput(study, "WRITE", level), top_throughput(study, "WRITE", "ONE")
    if level == "ONE":
        return Answer(
            percent_below(reads, own),
            note="The sentence's other two numbers come out with writes at ONE as their common base, which is the base "
            f"here anyway. A slip of one digit for {middle(percent_below(reads, own)):.0f} would explain it.",
        )
    return Answer(
        percent_below(reads, own), {"all three levels compared with writes at ONE": percent_below(reads, weakest)}
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
    """Least thread count from which on every column has come within 5 % of its maximum throughput."""
    points = {
        (operation, level): saturation_point(column.index, [middle(v) for v in column])
        for (operation, level), column in study.throughput_per_s.items()
    }
    early = [f"{o.lower()} {level}" for (o, level), point in points.items() if point < max(points.values())]
    return Answer(
        max(points.values()),
        note="'Saturated' is read as: within 5 % of the maximum. Saturated with fewer threads: "
        f"{', '.join(early) or 'none'} (from {min(points.values()):.0f} on).",
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
    "the polynomial regression of the fourth order fits the experimental statistics with the high accuracy",
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


# Section V: settings


@claim(
    "g20-six-settings",
    "section V",
    "there are 6 possible read/write consistency settings guaranteeing the strong data consistency",
    "6",
)
def strong_settings() -> float:
    """Pairs of replicas read and written, 1 to 3 each, whose sum exceeds 3."""
    counts = range(1, REPLICATION_FACTOR + 1)
    return sum(r + w > REPLICATION_FACTOR for r, w in product(counts, counts))


def meets_last_write(reads: int, writes: int) -> Interval:
    """Chance in percent that `reads` replicas chosen at random include one of the `writes` that acknowledged."""
    missed = exactly(1)
    for k in range(reads):
        missed = missed * max(REPLICATION_FACTOR - writes - k, 0) / (REPLICATION_FACTOR - k)
    return (1 - missed) * 100


def _cut(x: Interval) -> Interval:
    """Value cut, not rounded, after one decimal."""
    return exactly(f"{int(middle(x) * 10) / 10:.1f}")


_CUT = "cut after one decimal instead of rounded"


@claim("g20-confidence-1r2w", "section V", "1R-2W and 2R-1W provide 66.6% consistency confidence", "66.6%")
def confidence_1r2w() -> Answer:
    """Chance that one replica read is among two written."""
    chance = meets_last_write(1, 2)
    return Answer(chance, {_CUT: _cut(chance)}, "If replicas not waited for have not been written at all.")


@claim("g20-confidence-2r1w", "section V", "1R-2W and 2R-1W provide 66.6% consistency confidence", "66.6%")
def confidence_2r1w() -> Answer:
    """Chance that two replicas read include the one written."""
    chance = meets_last_write(2, 1)
    return Answer(chance, {_CUT: _cut(chance)}, "If replicas not waited for have not been written at all.")


@claim("g20-confidence-1r1w", "section V", "1R-1W setting can guarantee only the 33.3% consistency confidence", "33.3%")
def confidence_1r1w() -> Interval:
    """Chance that one replica read is the one written."""
    return meets_last_write(1, 1)


@claim(
    "g20-fewer-replicas-faster",
    "section V",
    "the fewer replicas are invoked the faster Cassandra performs read/write operations",
    "all 24 rows",
)
def fewer_is_faster(study: Study) -> Count:
    """Rows in which latency does not fall from ONE over QUORUM to ALL."""
    rows = []
    for operation in OPERATIONS:
        one, quorum, everyone = (study.latency_us[operation, level] for level in LEVELS)
        rows += [middle(one[n]) <= middle(quorum[n]) <= middle(everyone[n]) for n in study.threads()]
    return Count(sum(rows), len(rows))


@claim(
    "g20-2r2w-few-threads",
    "section V",
    "if a probability of reads is less than 0.5, ... 2R-2W ... provides the lowest delay for ... less than 50 threads",
    "all cells",
)
def quorum_best_when_few() -> Answer:
    """Cells of Table IV with fewer than 50 threads and fewer than half reads in which 2R-2W is least."""
    below = [winners(s)[n] == "2R-2W" for s in SHARES for n in winners(s) if float(s) < 0.5 and n < 50]  # noqa: PLR2004
    upto = [winners(s)[n] == "2R-2W" for s in SHARES for n in winners(s) if float(s) <= 0.5 and n <= 50]  # noqa: PLR2004
    return Answer(
        Count(sum(below), len(below)),
        note=f"Up to 50 threads and 50 % reads, both included: {sum(upto)} of {len(upto)}.",
    )


@claim(
    "g20-1r3w-above-half",
    "section V",
    "with the increase of the percentage of write requests (higher than 50%) the 1R-3W setting becomes optimal",
    "all cells",
)
def one_all_best() -> Answer:
    """Cells of Table IV with more than half writes in which 1R-3W is least; the same with more than half reads."""
    by_share = {share: [winner == "1R-3W" for winner in winners(share).values()] for share in SHARES}
    writes = [right for share in SHARES if float(share) < 0.5 for right in by_share[share]]  # noqa: PLR2004
    reads = [right for share in SHARES if float(share) > 0.5 for right in by_share[share]]  # noqa: PLR2004
    return Answer(
        Count(sum(writes), len(writes)),
        {"'write' is a slip for 'read': more than half reads": Count(sum(reads), len(reads))},
        "Reading one replica and writing three favours reads; the sentence before it speaks of reads, too.",
    )


@claim(
    "g20-3r1w-write-mostly",
    "section V",
    "3R-1W ... the lowest delay in heavy 'write mostly' workloads when the percentage of read ... is less than 25%",
    "all cells from 100 threads on",
)
def all_one_best() -> Answer:
    """Cells of Table IV with 10 % reads and 100 threads or more in which 3R-1W is least."""
    heavy = {n: winner == "3R-1W" for n, winner in winners("0.1").items() if n >= 100}  # noqa: PLR2004
    next_share = [n for n, winner in winners("0.3").items() if winner == "3R-1W"]
    return Answer(
        Count(sum(heavy.values()), len(heavy)),
        note=f"'Heavy' is read as 100 threads and more. At 30 % reads 3R-1W is least at "
        f"{', '.join(map(str, next_share)) or 'no'} threads as well.",
    )


@claim(
    "g20-3r1w-exponential",
    "section V",
    "2R-2W and especially the 3R-1W ... demonstrating the exponential grow of the Cassandra latency",
    "exponential in all 8 series",
)
def mixed_growth() -> Answer:
    """Series of Table IV (2R-2W and 3R-1W, four mixes) that an exponential describes better than a line (AICc)."""
    series = published.mixed_estimates().query("setting != '1R-3W'")
    named = series.assign(operation=series["setting"], level=series["read_share"], throughput_per_s=1.0)
    verdicts = growth_table(named)["verdict"]
    return Answer(
        Count(int((verdicts == "exponential").sum()), len(verdicts)),
        note="Against threads every series grows about linearly; at 90 % reads 3R-1W is the slowest throughout.",
    )


@claim(
    "g20-speedup",
    "section V, Fig. 7",
    "improve the Cassandra performance (up to 14% on average in our case - see Fig. 7)",
    "14%",
)
def average_speedup() -> Answer:
    """Largest saving of Table IV against always 1R-3W, averaged over threads, among the four mixes."""
    threads = list(winners("0.1"))
    averages = {share: mean(speedup_percent(share, n) for n in threads) for share in SHARES}
    peak = largest(speedup_percent(share, n) for share in SHARES for n in threads)
    of_best = largest(
        percent_above(table4()[n, "0.1", "1R-3W"], table4()[n, "0.1", winners("0.1")[n]]) for n in threads
    )
    return Answer(
        largest(averages.values()),
        {
            "the largest single saving, not an average": peak,
            "the largest single saving, in percent of the best setting": of_best,
        },
        f"Averages for 10, 30, 50, 90 % reads: {_spelled(averages.values())}. The largest single saving is "
        f"{middle(peak):.1f} % of 1R-3W ({middle(of_best):.1f} % of the best). Fig. 7 is lost; mixes with fewer reads "
        "than Table IV lists may be in it.",
    )


# Section VI: verification


@claim("g20-deviation-bound", "section VI.B", "A deviation never exceeds 17%", "17%", relation="below")
def largest_deviation() -> Interval:
    """Largest deviation of Table V without its sign."""
    return largest(magnitude(printed_deviation(*key)) for key in table4())


@claim(
    "g20-deviation-worst",
    "section VI.B",
    "the worst case: Read/Write = 90/10%; threads=10; 3R-1W",
    "90/10%, 10 threads, 3R-1W",
)
def worst_deviation() -> str:
    """Cell of Table V with the largest deviation."""
    threads, share, setting = max(table4(), key=lambda key: middle(magnitude(printed_deviation(*key))))
    reads = round(100 * float(share))
    return f"{reads}/{100 - reads}%, {threads} threads, {setting}"


@claim(
    "g20-deviation-reducing",
    "section VI.B",
    "and is reducing with the increase of a number of threads",
    "at every step",
)
def deviation_falls() -> Answer:
    """Steps from one thread count to the next at which the mean deviation of Table V falls."""
    threads = sorted({n for n, _, _ in table4()})
    means = [middle(mean(magnitude(printed_deviation(*key)) for key in table4() if key[0] == n)) for n in threads]
    steps = [after < before for before, after in pairwise(means)]
    rank, chance = spearmanr(threads, means)
    trend = "at every step" if rank < 0 and chance < 0.05 else "no trend"  # noqa: PLR2004 - the usual level
    return Answer(
        Count(sum(steps), len(steps)),
        {"as a trend (Spearman's rank correlation)": trend},
        f"The rank correlation of threads and mean deviation is {rank:.2f}. Relative residuals of a least squares fit "
        "must shrink where latencies are large: that is how the fit weighs its points.",
    )


@claim(
    "g20-right-choices", "section VI.B", "the proposed methodology suggests optimal consistency settings in 92%", "92%"
)
def right_choices() -> Answer:
    """Share of the 48 workloads at which the least estimate of Table IV is the underlined setting of Table V."""
    right = {(n, s): winners(s)[n] == setting for (n, s), setting in underlined().items()}
    missed = "; ".join(f"{round(100 * float(s))} % reads at {n} threads" for (n, s), good in right.items() if not good)
    found, total = sum(right.values()), len(right)
    return Answer(
        exactly(100 * found) / total,
        note=f"{found} of {total}; missed: {missed}. One less would be {100 * (found - 1) / total:.1f} %.",
    )


@claim(
    "g20-verification",
    "section VI.B",
    "we benchmarked the Cassandra performance under mixed read/write workloads",
    "independent of Tables I and II",
)
def verification_is_independent() -> Answer:
    """Cells of Table V that Tables I, II and IV give without any measurement of a mix."""
    same = [overlap(residual_percent(*key), printed_deviation(*key)) for key in table4()]
    return Answer(
        f"{sum(same)} of {len(same)} cells follow from Tables I, II and IV",
        note=f"Each cell is the {RESIDUAL}. The likeliest innocent explanation: the column 'measured' of a spreadsheet "
        "was filled with the mix of the measured pure means, not with the runs of mixed workloads.",
    )


# Section VII: conclusion


def _average(study: Study, operation: str, quantity: str, of: str = "") -> Interval:
    if of == OF_ITSELF:
        weak, strong = study.throughput_per_s[operation, "ONE"], study.throughput_per_s[operation, "ALL"]
        return mean(percent_above(weak[n], strong[n]) for n in study.threads())
    return mean(slowdowns(study, operation, "ALL", quantity))


@claim(
    "g20-conclusion-read-latency",
    "section VII",
    "strong data consistency settings can increase database latency by 26% ... for read requests",
    "26%",
)
def read_latency_cost(study: Study) -> Interval:
    """Mean increase of read latency from ONE to ALL."""
    return _average(study, "READ", "latency")


@claim(
    "g20-conclusion-read-throughput", "section VII", "degrade its throughput by 25% on average for read requests", "25%"
)
def read_throughput_cost(study: Study) -> Answer:
    """Mean loss of read throughput from ONE to ALL, in percent of ONE."""
    return Answer(_average(study, "READ", "throughput"), {OF_ITSELF: _average(study, "READ", "throughput", OF_ITSELF)})


@claim("g20-conclusion-write-latency", "section VII", "and by 13% and 10% for write requests correspondingly", "13%")
def write_latency_cost(study: Study) -> Interval:
    """Mean increase of write latency from ONE to ALL."""
    return _average(study, "WRITE", "latency")


@claim("g20-conclusion-write-throughput", "section VII", "and by 13% and 10% for write requests correspondingly", "10%")
def write_throughput_cost(study: Study) -> Answer:
    """Mean loss of write throughput from ONE to ALL, in percent of ONE."""
    return Answer(
        _average(study, "WRITE", "throughput"), {OF_ITSELF: _average(study, "WRITE", "throughput", OF_ITSELF)}
    )


@claim(
    "g20-conclusion-none-always",
    "section VII",
    "none of consistency settings always guaranties the minimum latency",
    "none",
)
def none_always_best() -> Value:
    """Settings that are least in every cell of Table IV."""
    always = [s for s in _SETTINGS if all(w == s for share in SHARES for w in winners(share).values())]
    return ", ".join(always) or "none"
