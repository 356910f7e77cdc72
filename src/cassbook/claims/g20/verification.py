"""Sentences of the 2020 paper on its methodology, its verification, and in the conclusion (sections VI and VII)."""

from __future__ import annotations

from itertools import pairwise

from scipy.stats import spearmanr

from cassbook.claims.g20.derived import OF_ITSELF, printed_deviation
from cassbook.claims.g20.slowdowns import throughput_answer
from cassbook.claims.g20.source import SETTINGS, SHARES, slowdowns, table4, underlined, winners
from cassbook.claims.interval import Interval, exactly, largest, magnitude, mean, middle, percent_above
from cassbook.claims.level_means import Study
from cassbook.claims.registry import claim
from cassbook.claims.rules import SIGNIFICANT
from cassbook.claims.statement import Answer, Count, Untestable, Value

#: What says of the deviations and underlines of Table V what they are.
TABLE_V = ("g20-verification",)

# Section VI: methodology and verification


@claim(
    "g20-verified-mixes",
    "section VI.B",
    "mixed read/write workloads (Read/Write = 10/90%, 30/70%, 50/50% and 90/10%)",
    "10/90%, 30/70%, 50/50% and 90/10%",
    rests_on=TABLE_V,
)
def mixes_of_table_5() -> tuple[float, ...]:
    """Shares of reads and writes of Table V, percent."""
    shares = dict.fromkeys(share for _, share in underlined())
    return tuple(part for share in shares for part in (100 * float(share), 100 - 100 * float(share)))


@claim(
    "g20-deviation-accuracy",
    "section VI.B",
    "accuracy between experimental and estimated data are considerably high",
    "considerably high",
    rests_on=TABLE_V,
)
def accuracy() -> Untestable:
    """Mean deviation of Table V without its sign."""
    deviation = mean(magnitude(printed_deviation(*key)) for key in table4())
    return Untestable(
        f"No number is named. The mean deviation of Table V is {middle(deviation):.1f} % without its sign; what it "
        "measures is the subject of g20-verification."
    )


@claim("g20-deviation-bound", "section VI.B", "A deviation never exceeds 17%", "17%", "below", rests_on=TABLE_V)
def largest_deviation() -> Interval:
    """Largest deviation of Table V without its sign."""
    return largest(magnitude(printed_deviation(*key)) for key in table4())


@claim(
    "g20-deviation-worst",
    "section VI.B",
    "the worst case: Read/Write = 90/10%; threads=10; 3R-1W",
    "90/10%; threads=10; 3R-1W",
    asked="90/10%, 10 threads, 3R-1W",
    rests_on=TABLE_V,
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
    "reducing",
    asked="at every step",
    rests_on=TABLE_V,
)
def deviation_falls() -> Answer:
    """Steps from one thread count to the next at which the mean deviation of Table V falls."""
    threads = sorted({n for n, _, _ in table4()})
    means = [middle(mean(magnitude(printed_deviation(*key)) for key in table4() if key[0] == n)) for n in threads]
    steps = [after < before for before, after in pairwise(means)]
    rank, chance = spearmanr(threads, means)
    trend = "at every step" if rank < 0 and chance < SIGNIFICANT else "no trend"
    return Answer(
        Count(sum(steps), len(steps)),
        {"as a trend (Spearman's rank correlation)": trend},
        f"The rank correlation of threads and mean deviation is {rank:.2f}. Relative residuals of a least squares fit "
        "must shrink where latencies are large: that is how the fit weighs its points.",
    )


@claim(
    "g20-right-choices",
    "section VI.B",
    "the proposed methodology suggests optimal consistency settings in 92%",
    "92%",
    rests_on=TABLE_V,
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
    if not study.measured:
        return throughput_answer(operation, "ALL")
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
