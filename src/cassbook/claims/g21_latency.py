"""Sentences of the 2021 paper on latency (section 2.3) and in its conclusions, put to its own tables."""

from __future__ import annotations

import math
from itertools import pairwise, product

from cassbook.claims.g21_source import (
    COLUMNS,
    LEVELS,
    OPERATIONS,
    PEAK_THREADS,
    SCENARIOS,
    SLIP,
    STRONG,
    Column,
    above_one,
    above_one_by_rows,
    average,
    both,
    centres,
    count,
    distances,
    growth,
    latencies,
    placements,
    regions,
    saturated,
    spelled,
    starred,
    threads,
    throughputs,
    times_a,
    times_one,
    to_trailing_zeros,
)
from cassbook.claims.g21_text import writes_over_reads
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
    percent_below,
)
from cassbook.claims.registry import claim, untestable
from cassbook.claims.statement import Answer, Count
from cassbook.latency.saturation import growth_test

# Section 2.3: latency


@claim(
    "g21-linear",
    "section 2.3, Tables 3 and 4",
    "the average delay increases almost linearly as the number of threads increases apart from (d: ONE) and (b)",
    "almost linearly",
)
def linear_growth() -> Answer:
    """Columns other than (b) and (d: ONE) for which an exponential is not clearly better than a line, by AICc."""
    verdicts = {column: growth(column) for column in saturated()}
    curved = [column for column, verdict in verdicts.items() if verdict == "exponential"]
    fits = [growth_test(*centres(latencies()[column])).linear_r_squared for column in saturated()]
    return Answer(
        count(verdict != "exponential" for verdict in verdicts.values()),
        note=f"Exponential: {spelled(curved)}, whose first rows the network holds up. A line still has an R-squared of "
        f"{min(fits):.2f} or more in all {len(fits)} columns, so 'almost' can be said.",
    )


def rise(column: Column) -> float:
    """Latency at 1000 threads in times that at 100."""
    cells = latencies()[column]
    return middle(cells[threads()[-1]]) / middle(cells[threads()[0]])


@claim(
    "g21-flat",
    "section 2.3, Tables 3 and 4",
    "(d: ONE) and (b: all) for which response latency is almost flat independently on the number of threads",
    "(b: all), (d: ONE)",
)
def flattest() -> Answer:
    """The eight columns whose latency rises least from 100 to 1000 threads."""
    ranked = sorted(COLUMNS, key=rise)
    flat, others = ranked[: len(starred())], ranked[len(starred()) :]
    return Answer(
        spelled(flat),
        note=f"They rise by at most {(max(map(rise, flat)) - 1) * 100:.1f}%; every other column at least "
        f"{min(map(rise, others)):.1f}-fold.",
    )


def _other_averages(operation: str) -> str:
    rows = above_one_by_rows(operation)
    return (
        f"Ratio of the means over threads; the mean of the ratios is {middle(mean(rows.values())):.1f}%, the ratio at "
        f"1000 threads {middle(rows[PEAK_THREADS]):.1f}%."
    )


@claim(
    "g21-a-all-reads",
    "section 2.3, Table 3",
    "(a) latency performed under ALL is higher (by 36%) than the average response time of ONE",
    "36%",
)
def strong_reads_in_a() -> Answer:
    """By how many percent the mean latency of reads in (a) at ALL is above ONE."""
    cut = exactly(math.floor(middle(above_one("READ"))))
    return Answer(
        above_one("READ"),
        {"decimals cut off": cut, "at 1000 threads": above_one_by_rows("READ")[PEAK_THREADS]},
        _other_averages("READ"),
    )


@claim(
    "g21-a-all-writes",
    "section 2.3, Table 4",
    "(a) latency performed under ALL is higher (by 22%) than the average response time of ONE",
    "22%",
)
def strong_writes_in_a() -> Answer:
    """By how many percent the mean latency of writes in (a) at ALL is above ONE."""
    return Answer(above_one("WRITE"), note=_other_averages("WRITE"))


def all_times_one(scenario: str) -> tuple[Interval, Interval]:
    """Mean latency at ALL in times ONE: reads, writes."""
    return times_one(scenario, "READ", "ALL"), times_one(scenario, "WRITE", "ALL")


@claim(
    "g21-b-all",
    "section 2.3, Tables 3 and 4",
    "For the multi-region deployment (b) these values are 47 and 53 times higher (!)",
    "47 and 53 times",
)
def strong_in_b() -> Answer:
    """Mean latency of (b: ALL) in times (b: ONE), reads and writes."""
    against_a = tuple(average(("b", o, "ALL")) / average(("a", o, "ONE")) for o in OPERATIONS)
    return Answer(
        all_times_one("b"),
        {"(b: ALL) against (a: ONE)": against_a, SLIP: all_times_one("c")},
        "The cluster of (b) is in a single region; (c) is the multi-region one whose levels differ this much.",
    )


def near_a(scenario: str) -> Count:
    """Rows of ONE in which a scenario is no farther from (a) than the other two are, reads and writes."""
    cases = []
    for operation, n in product(OPERATIONS, threads()):
        off = {s: abs(latencies()[s, operation, "ONE"][n] - latencies()["a", operation, "ONE"][n]) for s in "bcd"}
        cases.append(all(low(off[scenario]) <= high(other) for other in off.values()))
    return count(cases)


@claim(
    "g21-b-one",
    "section 2.3, Tables 3 and 4",
    "while (b: ONE) deployment is almost as quick as (a: ONE)",
    "almost as quick",
)
def quick_at_one() -> Answer:
    """Rows of ONE in which (b), of the three other scenarios, is nearest to (a)."""
    b, c = ([times_a(s, o) for o in OPERATIONS] for s in "bc")
    return Answer(
        near_a("b"),
        {SLIP: near_a("c")},
        f"Mean latency in times (a: ONE), reads and writes: (b: ONE) {both(b)}, (c: ONE) {both(c)}.",
    )


@claim(
    "g21-wrong-letter",
    "sections 2.2 and 2.3",
    "(b: ONE) by 9%; (b) 47 and 53 times; (b: ONE) almost as quick as (a: ONE)",
    "(b) in each",
    kind="forensic",
)
def sentences_about_b() -> Answer:
    """Statements made of (b) that its numbers meet; the same with the numbers of (c)."""

    def met(scenario: str) -> Count:
        near = near_a(scenario)
        times = zip(all_times_one(scenario), ("47", "53"), strict=True)
        gain = overlap(writes_over_reads(scenario), as_printed("9"))
        return count([gain, all(overlap(x, as_printed(text)) for x, text in times), near.right == near.total])

    return Answer(met("b"), {SLIP: met("c")}, "The scenarios may have been lettered anew after these were written.")


@claim(
    "g21-d-one-network",
    "section 2.3",
    "network delay is the main contributor to latency performed under the ONE consistency setting independently of "
    "a number of threads",
    "main contributor",
)
def nearest_replica_share() -> Answer:
    """Cells of (d: ONE) of which the way to the nearest replica is over half, for each placement in Table 1."""
    ways = [p.bound("ONE", distances()) for p in placements("d", regions(distances()))]
    cells = [cell for o in OPERATIONS for cell in latencies()["d", o, "ONE"].values()]
    shares = [way / cell for way, cell in product(ways, cells)]
    return Answer(
        count(low(share) > low(exactly(1) / 2) for share in shares),
        note=f"The way to the nearest replica is {middle(least(shares)):.2f} to {middle(largest(shares)):.2f} of the "
        f"latency. The paper does not say which region held what: all {len(ways)} placements in Table 1 are tried.",
    )


@claim(
    "g21-d-all",
    "section 2.3, Tables 3 and 4",
    "(d: ALL) latency is higher than (d: ONE) latency by an average of 560% for reads and 600% for writes",
    "560% and 600%",
)
def strong_in_d() -> Answer:
    """By how many percent the mean latency of (d: ALL) is above (d: ONE), reads and writes."""
    percent = [100 * times for times in all_times_one("d")]
    rounded = tuple(to_trailing_zeros(x, text) for x, text in zip(percent, ("560%", "600%"), strict=True))
    name = "ALL in percent of ONE, the zeros at the end being no digits"
    return Answer(
        (percent[0] - 100, percent[1] - 100),
        {name: rounded},
        f"ALL is {both(percent, '%')} of ONE, so it is higher by a hundred less.",
    )


@claim(
    "g21-writes-longer",
    "section 2.3, Tables 3 and 4",
    "in all deployment scenarios except for (a) and partly (c: ONE) write operations were performed slightly longer "
    "that reads",
    "all deployment scenarios",
)
def longer_writes() -> Answer:
    """Rows of (b), (c) at QUORUM and ALL, and (d) in which writes take as long as reads or longer."""
    pairs = [(s, x) for s, x in product("bcd", LEVELS) if (s, x) != ("c", "ONE")]

    def rows(scenario: str, level: str) -> list[bool]:
        columns = (latencies()[scenario, o, level] for o in ("READ", "WRITE"))
        return [low(read) <= high(write) for read, write in zip(*(c.values() for c in columns), strict=True)]

    means = [low(average((s, "READ", x))) <= high(average((s, "WRITE", x))) for s, x in pairs]
    in_a = [row for level in LEVELS for row in rows("a", level)]
    shorter = [f"({s}: {x})" for (s, x), right in zip(pairs, means, strict=True) if not right]
    return Answer(
        count(row for pair in pairs for row in rows(*pair)),
        {"means over threads": count(means)},
        f"By means over threads it holds in {sum(means)} of {len(means)}; not in {', '.join(shorter)}, where they are "
        f"within {_gap_percent(pairs, means):.2f}%. In (a) writes are longer in {sum(in_a)} of {len(in_a)} rows, in "
        f"(c: ONE) in {sum(rows('c', 'ONE'))} of {len(threads())}.",
    )


def _gap_percent(pairs: list[tuple[str, str]], right: list[bool]) -> float:
    """Largest difference of means between operations, in percent of reads, where the statement fails."""
    failed = [pair for pair, well in zip(pairs, right, strict=True) if not well]
    gaps = [percent_below(average((s, "WRITE", x)), average((s, "READ", x))) for s, x in failed]
    return max(map(middle, gaps), default=0.0)


@claim(
    "g21-write-throughput",
    "section 2.3, Table 2",
    "even despite higher write throughput of the Cassandra NoSQL database",
    "higher write throughput",
)
def higher_writes() -> Answer:
    """Scenarios and levels of Table 2 in which writes have the higher throughput."""
    higher = {
        (s, x): low(throughputs()[s, "WRITE", x]) > high(throughputs()[s, "READ", x])
        for s, x in product(SCENARIOS, LEVELS)
    }
    near = [right for (s, x), right in higher.items() if s == "a" or (s, x) == ("c", "ONE")]
    return Answer(
        count(higher.values()),
        {"only where client and replica share a region: (a) and (c: ONE)": count(near)},
        "Probably meant of the server, apart from the network.",
    )


untestable(
    "g21-downlinks",
    "section 2.3",
    "Because Internet downlinks are generally faster than uplinks",
    "faster",
    "An explanation; no rate of transfer and no size of a request is printed.",
)

untestable(
    "g21-single-client",
    "section 2.3",
    "inability of a single YCSB client to saturate Cassandra cluster over the Internet",
    "a single",
    "No table gives the number of clients, nor what another client would have added; see also g21-little-model.",
)


# Conclusions


@claim(
    "g21-conclusion-order",
    "Conclusions",
    "stronger data consistency guaranties reduce database throughput and increase latency of read/write operations",
    "reduce, increase",
)
def order_everywhere() -> Count:
    """Steps between levels in Table 2 that lower throughput, and in each row of Tables 3 and 4 that raise latency."""
    cases = []
    for s, o, (weak, strong) in product(SCENARIOS, OPERATIONS, pairwise(LEVELS)):
        cases.append(low(throughputs()[s, o, strong]) < high(throughputs()[s, o, weak]))
        one, more = latencies()[s, o, weak], latencies()[s, o, strong]
        cases += [high(more[n]) > low(one[n]) for n in threads()]
    return count(cases)


@claim(
    "g21-conclusion-single-throughput",
    "Conclusions",
    "the single datacentre/region Cassandra deployment offers the best performance for all consistency settings",
    "the best performance",
)
def best_throughput() -> Count:
    """Operations and levels at which (a) has the highest throughput of Table 2."""
    rates = throughputs()
    return count(
        all(low(rates["a", o, x]) > high(rates[s, o, x]) for s in "bcd") for o, x in product(OPERATIONS, LEVELS)
    )


@claim(
    "g21-conclusion-single-latency",
    "Conclusions",
    "the single datacentre/region Cassandra deployment offers the best performance for all consistency settings",
    "the best performance",
)
def best_latency() -> Answer:
    """Rows and levels of Tables 3 and 4 in which (a) has the least latency."""

    def least_in(operation: str, level: str, n: int) -> bool:
        cells = {s: latencies()[s, operation, level][n] for s in SCENARIOS}
        return all(low(cells["a"]) <= high(cells[s]) for s in "bcd")

    cells = list(product(OPERATIONS, LEVELS, threads()))
    missed = [f"{o.lower()}s at {x}, {n} threads" for o, x, n in cells if not least_in(o, x, n)]
    means = [
        all(high(average(("a", o, x))) < low(average((s, o, x))) for s in "bcd") for o, x in product(OPERATIONS, LEVELS)
    ]
    return Answer(
        count(least_in(*cell) for cell in cells),
        {"means over threads": count(means)},
        f"In single rows (c) is quicker: {'; '.join(missed) or 'none'}.",
    )


@claim(
    "g21-conclusion-far-clients",
    "Conclusions",
    "Cassandra can hardly achieve the maximum throughput if its clients are located in other geographic regions",
    "hardly",
)
def far_clients() -> Answer:
    """Operations and levels at which the throughput of (b) is below half of (a)'s, whose servers are the same."""
    shares = [throughputs()["b", o, x] / throughputs()["a", o, x] for o, x in product(OPERATIONS, LEVELS)]
    return Answer(
        count(high(share) < low(exactly(1) / 2) for share in shares),
        note=f"(b) gets {middle(least(shares)):.2f} to {middle(largest(shares)):.2f} of the throughput of (a), with as "
        "many threads; more threads could get more.",
    )


@claim(
    "g21-conclusion-near-clients",
    "Conclusions",
    "Distributing nodes across geographic zones close to the clients helps to reduce latency in case of weak "
    "consistency",
    "reduce",
)
def near_clients() -> Answer:
    """Rows of ONE in which (c), with a replica near the client, is quicker than (b) and (d)."""
    table = latencies()
    cases = [
        high(table["c", o, "ONE"][n]) < low(least(table[s, o, "ONE"][n] for s in "bd"))
        for o, n in product(OPERATIONS, threads())
    ]
    ratios = [average(("b", o, "ONE")) / average(("c", o, "ONE")) for o in OPERATIONS]
    return Answer(count(cases), note=f"(b: ONE) takes {both(ratios)} times as long (reads and writes).")


@claim(
    "g21-conclusion-degrades",
    "Conclusions",
    "strengthening data consistency by querying replicas from other geographic regions dramatically degrades "
    "Cassandra performance",
    "dramatically",
)
def degraded_latency() -> Answer:
    """Cells of (c) and (d) at QUORUM and ALL whose latency, in times ONE, exceeds any in (a) and (b)."""
    table = latencies()
    times = {
        (s, o, x, n): table[s, o, x][n] / table[s, o, "ONE"][n]
        for s, o, x, n in product(SCENARIOS, OPERATIONS, STRONG, threads())
    }
    near = largest(x for key, x in times.items() if key[0] in "ab")
    far = [x for key, x in times.items() if key[0] in "cd"]
    return Answer(
        count(low(x) > high(near) for x in far),
        note=f"{middle(least(far)):.1f} to {middle(largest(far)):.1f} times ONE in (c) and (d), at most "
        f"{middle(near):.2f} times in (a) and (b).",
    )


untestable(
    "g21-timeouts",
    "Conclusions",
    "can cause timeout exceptions",
    "timeout exceptions",
    "No count of errors and no time-out setting is printed.",
)
untestable(
    "g21-middleware",
    "Conclusions",
    "a middleware application in the same region as a Cassandra cluster can mitigate the dominant impact of high "
    "network delays",
    "mitigate",
    "Advice; no deployment with a middleware, and none with asynchronous requests, was measured.",
)
