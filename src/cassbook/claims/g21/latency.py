"""Sentences of the 2021 paper on latency (section 2.3), put to its own tables."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from cassbook.claims.g21.placements import distances, placements, regions
from cassbook.claims.g21.source import (
    COLUMNS,
    HALF,
    LEVELS,
    OF_ONE,
    OPERATIONS,
    PEAK_THREADS,
    SCENARIOS,
    SLIP,
    Column,
    above_one,
    above_one_by_rows,
    average,
    both,
    centres,
    count,
    growth,
    latencies,
    percent_of_one,
    saturated,
    spelled,
    starred,
    threads,
    throughputs,
    times_a,
    times_one,
    writes_over_reads,
)
from cassbook.claims.interval import (
    Interval,
    as_printed,
    high,
    interval,
    largest,
    least,
    low,
    mean,
    middle,
    overlap,
    percent_above,
    percent_below,
    possibly_at_most,
)
from cassbook.claims.registry import claim
from cassbook.claims.rules import straight
from cassbook.claims.statement import Answer, Count
from cassbook.latency.saturation import growth_test

# Section 2.3: latency


@claim(
    "g21-linear",
    "section 2.3, Tables 3 and 4",
    "the average delay for both read and write requests increases almost linearly as the number of threads increases "
    "apart from (d: ONE) and (b: all consistency settings)",
    "almost linearly",
)
def linear_growth() -> Answer:
    """Columns other than (b) and (d: ONE) of whose variance a line explains more than 99 percent."""
    fits = {column: growth_test(*centres(latencies()[column])).linear_r_squared for column in saturated()}
    curved = [column for column in fits if growth(column) == "exponential"]
    below = [column for column, explained in fits.items() if not straight(explained)]
    return Answer(
        count(map(straight, fits.values())),
        note=f"Not so straight: {spelled(below)}. The least R² of a line is {min(fits.values()):.2f}; an exponential "
        f"is better by AICc in {spelled(curved)}, whose first rows the network holds up.",
    )


def rise(column: Column) -> float:
    """Latency at 1000 threads in times that at 100."""
    cells = latencies()[column]
    return middle(cells[threads()[-1]]) / middle(cells[threads()[0]])


@claim(
    "g21-flat",
    "section 2.3, Tables 3 and 4",
    "(d: ONE) and (b: all consistency settings) deployment scenarios for which response latency is almost flat "
    "independently on the number of threads",
    "(d: ONE) and (b: all consistency settings)",
)
def flattest() -> Answer:
    """The eight columns whose latency rises least from 100 to 1000 threads."""
    ranked = sorted(COLUMNS, key=rise)
    flat, others = ranked[: len(starred())], ranked[len(starred()) :]
    return Answer(
        spelled(flat, reversed(SCENARIOS)),
        note=f"They rise by at most {(max(map(rise, flat)) - 1) * 100:.1f}%; every other column at least "
        f"{min(map(rise, others)):.1f}-fold.",
    )


def _median(values: Iterable[Interval]) -> Interval:
    listed = list(values)
    return interval(float(np.median([low(v) for v in listed])), float(np.median([high(v) for v in listed])))


def other_averages(operation: str) -> dict[str, Interval]:
    """By how many percent (a: ALL) is above (a: ONE), by other averages than the ratio of the means over threads."""
    strong, weak = (("a", operation, level) for level in ("ALL", "ONE"))
    rows = above_one_by_rows(operation)
    return {
        "mean of the ratios": mean(rows.values()),
        "ratio of the medians": percent_above(*(_median(latencies()[column].values()) for column in (strong, weak))),
        "median of the ratios": _median(rows.values()),
        "at 1000 threads": rows[PEAK_THREADS],
        "in percent of ALL": percent_below(average(weak), average(strong)),
    }


def _without_first_row(column: Column) -> Interval:
    return mean(list(latencies()[column].values())[1:])


#: The sentence on both operations.
_A_ALL = (
    "deployment (a) latency of read/write performed under the strongest consistency level ALL is higher (by 36% and "
    "22% respectively) than the average response time of the weakest consistency setting ONE"
)


@claim("g21-a-all", "section 2.3, Tables 3 and 4", _A_ALL, "36% and 22%")
def strong_in_a() -> Answer:
    """By how many percent the mean latency in (a) at ALL is above ONE, reads and writes: one reading for both."""
    averages = {name: (reads, other_averages("WRITE")[name]) for name, reads in other_averages("READ").items()}
    others = [f"{name} {both(pair, '%')}" for name, pair in averages.items()]
    later = [
        percent_above(*(_without_first_row(("a", operation, level)) for level in ("ALL", "ONE")))
        for operation in OPERATIONS
    ]
    spread = [_without_first_row(("c", o, "ALL")) / _without_first_row(("c", o, "ONE")) for o in OPERATIONS]
    return Answer(
        (above_one("READ"), above_one("WRITE")),
        averages,
        "A near miss by the reading that gives the 22% of the writes, the ratio of the means over threads. Reads and "
        f"writes by others: {'; '.join(others)}. Without the row of 100 threads they are {both(later, '%', 2)}, but "
        f"then the 47 and 53 times of the next sentence are {both(spread, digits=2)}.",
    )


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
        finding="misprint",
        note="The cluster of (b) is in a single region; (c) is the multi-region one whose levels differ this much.",
    )


def near_a(scenario: str) -> Count:
    """Rows of ONE in which a scenario is no farther from (a) than the other two are, reads and writes."""
    cases = []
    for operation, n in product(OPERATIONS, threads()):
        off = {s: abs(latencies()[s, operation, "ONE"][n] - latencies()["a", operation, "ONE"][n]) for s in "bcd"}
        cases.append(all(possibly_at_most(off[scenario], other) for other in off.values()))
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
        finding="misprint",
        note=f"Mean latency in times (a: ONE), reads and writes: (b: ONE) {both(b)}, (c: ONE) {both(c)}.",
    )


@claim(
    "g21-wrong-letter",
    "sections 2.2 and 2.3",
    "(b: ONE) write throughput ... by 9% on average ... deployment (b) these values are 47 and 53 times higher ... "
    "(b: ONE) deployment is almost as quick",
    "(b)",
    kind="forensic",
    asked="(b) in each",
)
def sentences_about_b() -> Answer:
    """Statements made of (b) that its numbers meet; the same with the numbers of (c)."""

    def met(scenario: str) -> Count:
        near = near_a(scenario)
        times = zip(all_times_one(scenario), ("47", "53"), strict=True)
        gain = overlap(writes_over_reads(scenario), as_printed("9"))
        return count([gain, all(overlap(x, as_printed(text)) for x, text in times), near.right == near.total])

    lettered_anew = "The scenarios may have been lettered anew after these were written."
    return Answer(met("b"), {SLIP: met("c")}, lettered_anew, "misprint")


@claim(
    "g21-d-one-network",
    "section 2.3",
    "network delay is the main contributor to read/write latency performed under the ONE consistency setting "
    "independently of a number of threads",
    "the main contributor",
)
def nearest_replica_share() -> Answer:
    """Cells of (d: ONE) of which the way to the nearest replica is over half, for each placement in Table 1."""
    ways = [p.bound("ONE", distances()) for p in placements("d", regions(distances()))]
    cells = [cell for o in OPERATIONS for cell in latencies()["d", o, "ONE"].values()]
    shares = [way / cell for way, cell in product(ways, cells)]
    return Answer(
        count(possibly_at_most(HALF, share) for share in shares),
        note=f"The way to the nearest replica is {middle(least(shares)):.2f} to {middle(largest(shares)):.2f} of the "
        f"latency. The paper does not say which region held what: all {len(ways)} placements in Table 1 are tried.",
    )


@claim(
    "g21-d-all",
    "section 2.3, Tables 3 and 4",
    "scenario (d: ALL) latency is higher than scenario (d: ONE) latency by an average of 560% for reads and 600% for "
    "writes",
    "560% for reads and 600% for writes",
)
def strong_in_d() -> Answer:
    """By how many percent the mean latency of (d: ALL) is above (d: ONE), reads and writes."""
    percent = [100 * times for times in all_times_one("d")]
    return Answer(
        (percent[0] - 100, percent[1] - 100),
        {OF_ONE: (percent_of_one("READ", "560"), percent_of_one("WRITE", "600"))},
        finding="base",
        note=f"ALL is {both(percent, '%')} of ONE, so it is higher by a hundred less. With the zeros as digits the "
        f"sentence would need {both(percent, '%', 0)}.",
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
        return [possibly_at_most(read, write) for read, write in zip(*(c.values() for c in columns), strict=True)]

    means = [possibly_at_most(average((s, "READ", x)), average((s, "WRITE", x))) for s, x in pairs]
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
    rates = throughputs()
    higher = {
        (s, x): possibly_at_most(rates[s, "READ", x], rates[s, "WRITE", x]) for s, x in product(SCENARIOS, LEVELS)
    }
    near = [right for (s, x), right in higher.items() if s == "a" or (s, x) == ("c", "ONE")]
    close = [
        f"({s}: {x})"
        for (s, x), right in higher.items()
        if right and middle(rates[s, "WRITE", x]) < middle(rates[s, "READ", x])
    ]
    return Answer(
        count(higher.values()),
        {"only where client and replica share a region: (a) and (c: ONE)": count(near)},
        f"Only within the rounding: {', '.join(close) or 'none'}. Probably meant of the server, apart from the "
        "network.",
    )
