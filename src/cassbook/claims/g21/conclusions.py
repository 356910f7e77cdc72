"""Sentences of the 2021 paper in its conclusions, put to its own tables."""

from __future__ import annotations

from itertools import pairwise, product

from cassbook.claims.g21.source import (
    HALF,
    LEVELS,
    OPERATIONS,
    SCENARIOS,
    STRONG,
    average,
    both,
    count,
    latencies,
    threads,
    throughputs,
)
from cassbook.claims.interval import largest, least, middle, possibly_at_most
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count

# Conclusions


@claim(
    "g21-conclusion-order",
    "Conclusions",
    "stronger data consistency guaranties reduce database throughput and increase latency of read/write operations",
    "reduce database throughput and increase latency",
)
def order_everywhere() -> Count:
    """Steps between levels in Table 2 that lower throughput, and in each row of Tables 3 and 4 that raise latency."""
    cases = []
    for s, o, (weak, strong) in product(SCENARIOS, OPERATIONS, pairwise(LEVELS)):
        cases.append(possibly_at_most(throughputs()[s, o, strong], throughputs()[s, o, weak]))
        one, more = latencies()[s, o, weak], latencies()[s, o, strong]
        cases += [possibly_at_most(one[n], more[n]) for n in threads()]
    return count(cases)


_SINGLE = (
    "Conclusions",
    "the single datacentre/region Cassandra deployment offers the best performance for all consistency settings",
)


@claim("g21-conclusion-single-throughput", *_SINGLE, "the best performance")
def best_throughput() -> Count:
    """Operations and levels at which (a) has the highest throughput of Table 2."""
    rates = throughputs()
    return count(
        all(possibly_at_most(rates[s, o, x], rates["a", o, x]) for s in "bcd") for o, x in product(OPERATIONS, LEVELS)
    )


@claim("g21-conclusion-single-latency", *_SINGLE, "the best performance")
def best_latency() -> Answer:
    """Rows and levels of Tables 3 and 4 in which (a) has the least latency."""

    def least_in(operation: str, level: str, n: int) -> bool:
        cells = {s: latencies()[s, operation, level][n] for s in SCENARIOS}
        return all(possibly_at_most(cells["a"], cells[s]) for s in "bcd")

    cells = list(product(OPERATIONS, LEVELS, threads()))
    missed = [f"{o.lower()}s at {x}, {n} threads" for o, x, n in cells if not least_in(o, x, n)]
    means = [
        all(possibly_at_most(average(("a", o, x)), average((s, o, x))) for s in "bcd")
        for o, x in product(OPERATIONS, LEVELS)
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
        count(possibly_at_most(share, HALF) for share in shares),
        note=f"(b) gets {middle(least(shares)):.2f} to {middle(largest(shares)):.2f} of the throughput of (a), with as "
        "many threads; more threads could get more.",
    )


@claim(
    "g21-conclusion-near-clients",
    "Conclusions",
    "Distributing Cassandra nodes across geographic zones close to the database clients also helps to reduce database "
    "latency in case of weak consistency settings",
    "reduce database latency",
)
def near_clients() -> Answer:
    """Rows of ONE in which (c), with a replica near the client, is quicker than (b) and (d)."""
    table = latencies()
    cases = [
        possibly_at_most(table["c", o, "ONE"][n], least(table[s, o, "ONE"][n] for s in "bd"))
        for o, n in product(OPERATIONS, threads())
    ]
    ratios = [average(("b", o, "ONE")) / average(("c", o, "ONE")) for o in OPERATIONS]
    return Answer(count(cases), note=f"(b: ONE) takes {both(ratios)} times as long (reads and writes).")


@claim(
    "g21-conclusion-degrades",
    "Conclusions",
    "strengthening data consistency by querying replicas from other geographic regions dramatically degrades "
    "Cassandra performance",
    "dramatically degrades",
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
        count(possibly_at_most(near, x) for x in far),
        note=f"{middle(least(far)):.1f} to {middle(largest(far)):.1f} times ONE in (c) and (d), at most "
        f"{middle(near):.2f} times in (a) and (b).",
    )
