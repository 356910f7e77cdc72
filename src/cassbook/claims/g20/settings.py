"""Sentences of the 2020 paper on settings, their verification and in the conclusion (sections V to VII)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from scipy.stats import spearmanr

from cassbook import published
from cassbook.claims.g20.cells import OF_ITSELF, printed_deviation
from cassbook.claims.g20.source import (
    OPERATIONS,
    SETTINGS,
    SHARES,
    fitted,
    slowdowns,
    spelled,
    table4,
    underlined,
    winners,
)
from cassbook.claims.interval import (
    Interval,
    exactly,
    largest,
    least,
    magnitude,
    mean,
    middle,
    percent_above,
    percent_below,
)
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR, chance_to_meet, strong_pairs
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count, Untestable, Value
from cassbook.claims.study import Study
from cassbook.claims.wording import CUT, cut
from cassbook.core.consistency import LEVELS
from cassbook.latency.saturation import growth_table


def speedup_percent(read_share: str, threads: int) -> Interval:
    """Latency that the best setting of Table IV saves against 1R-3W, in percent of 1R-3W (Fig. 7)."""
    fastest = winners(read_share)[threads]
    always, best = table4()[threads, read_share, "1R-3W"], table4()[threads, read_share, fastest]
    return exactly(0) if fastest == "1R-3W" else percent_below(best, always)


# Section V: settings


@claim(
    "g20-six-settings",
    "section V",
    "there are 6 possible read/write consistency settings guaranteeing the strong data consistency",
    "6",
)
def strong_settings() -> float:
    """Pairs of replicas read and written, 1 to 3 each, whose sum exceeds 3."""
    return len(strong_pairs())


def meets_last_write(reads: int, writes: int) -> Interval:
    """Chance in percent that replicas read, chosen at random, include one that acknowledged the write."""
    return chance_to_meet((reads, writes), REPLICATION_FACTOR) * 100


@claim(
    "g20-confidence-1r2w",
    "section V",
    "(1R-2W) and 'Read QUORUM - Write ONE' (2R-1W) provide 66.6% consistency confidence",
    "66.6%",
)
def confidence_1r2w() -> Answer:
    """Chance that one replica read is among two written."""
    chance = meets_last_write(1, 2)
    return Answer(chance, {CUT: cut(chance)}, "If replicas not waited for have not been written at all.")


@claim(
    "g20-confidence-2r1w",
    "section V",
    "(1R-2W) and 'Read QUORUM - Write ONE' (2R-1W) provide 66.6% consistency confidence",
    "66.6%",
)
def confidence_2r1w() -> Answer:
    """Chance that two replicas read include the one written."""
    chance = meets_last_write(2, 1)
    return Answer(chance, {CUT: cut(chance)}, "If replicas not waited for have not been written at all.")


@claim(
    "g20-confidence-1r1w", "section V", "(1R-1W) setting can guarantee only the 33.3% consistency confidence", "33.3%"
)
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


def edge_speedups(threads: Iterable[int]) -> tuple[Interval, Interval]:
    """Mean saving against 1R-3W if nothing is read, by the fits: in percent of 1R-3W, and of the best setting.

    There 1R-3W waits for writes at ALL and the best setting for the least of ONE and QUORUM.
    """
    pairs = [(fitted(("WRITE", "ALL"), n), least(fitted(("WRITE", level), n) for level in LEVELS)) for n in threads]
    return mean(percent_below(best, always) for always, best in pairs), mean(percent_above(*pair) for pair in pairs)


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
    of_baseline, of_best = edge_speedups(range(10, 1001, 10))
    return Answer(
        largest(averages.values()),
        note=f"Averages for 10, 30, 50, 90 % reads: {spelled(averages.values())}; the largest single saving is "
        f"{middle(peak):.1f} %. Fig. 7 is lost and may go beyond Table IV: where nothing is read the fits save "
        f"{middle(of_baseline):.1f} % of 1R-3W on average, or {middle(of_best):.1f} % of the best setting.",
    )


# Section VI: verification


@claim(
    "g20-deviation-accuracy",
    "section VI.B",
    "accuracy between experimental and estimated data are considerably high",
    "considerably high",
)
def accuracy() -> Untestable:
    """Mean deviation of Table V without its sign."""
    deviation = mean(magnitude(printed_deviation(*key)) for key in table4())
    return Untestable(
        f"No number is named. The mean deviation of Table V is {middle(deviation):.1f} % without its sign; what it "
        "measures is the subject of g20-verification."
    )


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
    hits, total = sum(right.values()), len(right)
    return Answer(
        exactly(100 * hits) / total,
        note=f"{hits} of {total}; missed: {missed}. One less would be {100 * (hits - 1) / total:.1f} %.",
    )


# Section VII: conclusion


@claim(
    "g20-conclusion-read-latency",
    "section VII",
    "strong data consistency settings can increase database latency by 26% ... for read requests",
    "26%",
)
def read_latency_cost(study: Study) -> Interval:
    """Mean increase of read latency from ONE to ALL."""
    return mean(slowdowns(study, "READ", "ALL", "latency"))


def _throughput_cost(study: Study, operation: str) -> Answer:
    """Mean loss of throughput from ONE to ALL, in percent of ONE, and of ALL as the tables' averages have it."""
    weak, strong = study.throughput_per_s[operation, "ONE"], study.throughput_per_s[operation, "ALL"]
    of_itself = mean(percent_above(weak[n], strong[n]) for n in study.threads())
    return Answer(mean(slowdowns(study, operation, "ALL", "throughput")), {OF_ITSELF: of_itself})


@claim(
    "g20-conclusion-read-throughput", "section VII", "degrade its throughput by 25% on average for read requests", "25%"
)
def read_throughput_cost(study: Study) -> Answer:
    """Mean loss of read throughput from ONE to ALL, in percent of ONE."""
    return _throughput_cost(study, "READ")


@claim("g20-conclusion-write-latency", "section VII", "and by 13% and 10% for write requests correspondingly", "13%")
def write_latency_cost(study: Study) -> Interval:
    """Mean increase of write latency from ONE to ALL."""
    return mean(slowdowns(study, "WRITE", "ALL", "latency"))


@claim("g20-conclusion-write-throughput", "section VII", "and by 13% and 10% for write requests correspondingly", "10%")
def write_throughput_cost(study: Study) -> Answer:
    """Mean loss of write throughput from ONE to ALL, in percent of ONE."""
    return _throughput_cost(study, "WRITE")


@claim(
    "g20-conclusion-depends",
    "section VII",
    "significantly depend on the current workload and a ratio of read and write requests",
    "depend on",
)
def best_depends() -> Answer:
    """Whether the best setting of Table IV changes with the threads at some mix, and with the mix."""
    by_threads = [share for share in SHARES if len(set(winners(share).values())) > 1]
    by_mix = [n for n in winners(SHARES[0]) if len({winners(share)[n] for share in SHARES}) > 1]
    return Answer(
        "depend on" if by_threads and by_mix else "do not depend on",
        note=f"With the threads in {len(by_threads)} of {len(SHARES)} mixes, with the mix at {len(by_mix)} of "
        f"{len(winners(SHARES[0]))} thread counts.",
    )


@claim(
    "g20-conclusion-none-always",
    "section VII",
    "none of consistency settings always guaranties the minimum latency",
    "none",
)
def none_always_best() -> Value:
    """Settings that are least in every cell of Table IV."""
    always = [s for s in SETTINGS if all(w == s for share in SHARES for w in winners(share).values())]
    return ", ".join(always) or "none"
