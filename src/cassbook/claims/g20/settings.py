"""Sentences of the 2020 paper on settings (section V), put to its own tables."""

from __future__ import annotations

from collections.abc import Iterable

from cassbook import published
from cassbook.claims.g20.source import (
    OPERATIONS,
    SETTINGS,
    SHARES,
    fitted,
    levels_of,
    spelled,
    table4,
    underlined,
    winners,
)
from cassbook.claims.interval import Interval, exactly, largest, least, mean, middle, percent_above, percent_below
from cassbook.claims.level_means import Study
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR, chance_to_meet, strong_pairs
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count
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


_CONFIDENCE = ("section V", "(1R-2W) and 'Read QUORUM - Write ONE' (2R-1W) provide 66.6% consistency confidence")


@claim("g20-confidence-1r2w", *_CONFIDENCE, "66.6%")
def confidence_1r2w() -> Answer:
    """Chance that one replica read is among two written."""
    return Answer(meets_last_write(1, 2), note="If replicas not waited for have not been written at all.")


@claim("g20-confidence-2r1w", *_CONFIDENCE, "66.6%")
def confidence_2r1w() -> Answer:
    """Chance that two replicas read include the one written."""
    return Answer(meets_last_write(2, 1), note="If replicas not waited for have not been written at all.")


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
    "the fewer replicas are invoked the faster",
    asked="all 24 rows",
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
    "2R-2W",
    asked="all cells",
)
def quorum_best_when_few() -> Answer:
    """Workloads with fewer than 50 threads and fewer than half reads that Tables IV and V both call 2R-2W the best."""
    cells = [(n, s) for s in SHARES for n in winners(s) if float(s) < 0.5 and n < 50]  # noqa: PLR2004
    estimated = [winners(s)[n] == "2R-2W" for n, s in cells]
    underlines = [underlined()[cell] == "2R-2W" for cell in cells]
    upto = [winners(s)[n] == "2R-2W" for s in SHARES for n in winners(s) if float(s) <= 0.5 and n <= 50]  # noqa: PLR2004
    others = [f"{underlined()[n, s]} at {n} threads and {float(s):.0%} reads" for n, s in cells
              if underlined()[n, s] != "2R-2W"]  # fmt: skip
    return Answer(
        Count(sum(a and b for a, b in zip(estimated, underlines, strict=True)), len(cells)),
        {"by the estimates of Table IV alone": Count(sum(estimated), len(cells))},
        f"Table V underlines {', '.join(others) or 'the same'}. Up to 50 threads and 50 % reads, both included, Table "
        f"IV has it least in {sum(upto)} of {len(upto)}.",
        "overstated",
    )


@claim(
    "g20-1r3w-above-half",
    "section V",
    "with the increase of the percentage of write requests (higher than 50%) the 1R-3W setting becomes optimal",
    "1R-3W",
    asked="all cells",
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
        "misprint",
    )


def best_below(setting: str, threads: int) -> float:
    """Share of reads up to which a setting is the least, if it is where nothing is read, by the fits of order 4."""
    reads, writes = zip(*((fitted(r, threads), fitted(w, threads)) for r, w in map(levels_of, SETTINGS)), strict=True)
    own = SETTINGS.index(setting)
    shares = []
    for other in range(len(SETTINGS)):
        gained, lost = middle(writes[other]) - middle(writes[own]), middle(reads[own]) - middle(reads[other])
        if other != own and gained + lost:
            shares.append(gained / (gained + lost))
    return min(shares)


@claim(
    "g20-3r1w-write-mostly",
    "section V",
    "3R-1W ... the lowest delay in heavy 'write mostly' workloads when the percentage of read ... is less than 25%",
    "3R-1W",
    asked="all cells from 100 threads on",
)
def all_one_best() -> Answer:
    """Thread counts from 100 on at which 3R-1W is least up to 25 % reads, by the fits; cells of Table IV at 10 %."""
    heavy = {n: winner == "3R-1W" for n, winner in winners("0.1").items() if n >= 100}  # noqa: PLR2004
    until = {n: 100 * best_below("3R-1W", n) for n in heavy}
    listed = ", ".join(f"{percent:.1f} % at {n}" for n, percent in until.items())
    return Answer(
        Count(sum(percent >= 25 for percent in until.values()), len(until)),  # noqa: PLR2004 - as printed
        {"at 10 % reads, the only mix below 25 % in Table IV": Count(sum(heavy.values()), len(heavy))},
        f"'Heavy' is read as 100 threads and more. By the fits behind Table IV 3R-1W is least up to these shares of "
        f"reads: {listed} threads. Table V underlines {underlined()[100, '0.1']} at 10 % reads and 100 threads.",
        "overstated",
    )


@claim(
    "g20-3r1w-exponential",
    "section V",
    "2R-2W and especially the 3R-1W ... demonstrating the exponential grow of the Cassandra latency",
    "exponential grow",
    asked="exponential in all 8 series",
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
    edge = "where nothing is read, by the fits, beyond the mixes of Table IV, in percent of the best setting"
    return Answer(
        largest(averages.values()),
        {edge: of_best},
        f"Averages for 10, 30, 50, 90 % reads: {spelled(averages.values())}; the largest single saving is "
        f"{middle(peak):.1f} %. Fig. 7 is lost and may go beyond Table IV: where nothing is read the fits save "
        f"{middle(of_baseline):.1f} % of 1R-3W on average, or {middle(of_best):.1f} % of the best setting.",
        "base",
    )
