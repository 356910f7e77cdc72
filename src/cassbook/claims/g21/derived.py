"""Questions put to the tables of the 2021 paper: Little's law, order of levels, distances of Table 1, notation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product

import numpy as np

from cassbook.claims.g21.placements import (
    Arrangement,
    admitted,
    balanced,
    distances,
    floors,
    in_cluster,
    notations,
    placements,
    regions,
    replicas,
    table1,
)
from cassbook.claims.g21.source import (
    COLUMNS,
    MS_PER_S,
    OPERATIONS,
    PEAK_THREADS,
    REPLICAS,
    SCENARIOS,
    STRONG,
    TITLE,
    Column,
    closed_loop_rates,
    count,
    floor,
    latencies,
    starred,
    throughputs,
)
from cassbook.claims.interval import Interval, least, magnitude, middle, overlap, possibly_at_most
from cassbook.claims.level_means import Study
from cassbook.claims.littles_law import REQUESTS_PER_THREAD, deficit, in_flight, run_times
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.statement import Answer, Statement
from cassbook.core.consistency import LEVELS
from cassbook.core.types import Floats
from cassbook.deployment.inferred_regions import assignments, held_at_coordinator
from cassbook.deployment.model import IN_FLIGHT

#: Scenarios with more than one region, the ones that Table 1 bears on.
SPREAD = ("b", "c", "d")


def _name(*parts: object) -> str:
    return "-".join(["g21", *(str(part).lower() for part in parts)])


# Little's law


def in_flight_at_peak(column: Column) -> Interval:
    """Highest throughput times latency at 1000 threads: requests in flight."""
    return in_flight(throughputs()[column], latencies()[column][PEAK_THREADS] / MS_PER_S)


@cells("g21")
def little() -> Iterator[Cell]:
    """Little's law for each cell of Table 2: its throughput times the latency at peak workload are the threads."""
    for scenario, operation, level in COLUMNS:
        statement = Statement(
            _name("table2-little", scenario, operation, level),
            f"Table 2 and {TITLE[operation]}, ({scenario}: {level}), {operation.lower()}",
            "highest throughput x latency at 1000 threads: requests in flight are the threads",
            str(PEAK_THREADS),
            relation="near",
            kind="forensic",
        )
        requests = in_flight_at_peak((scenario, operation, level))
        factor = PEAK_THREADS / middle(requests)
        note = f"The threads are {factor:.2f} times as many: Tables 2 and 3 or 4 are not of one closed loop."
        yield statement, Answer(requests, note=note)


def peak_times() -> tuple[Floats, Floats]:
    """Seconds of a run by Table 2, and of one thread's requests by Tables 3 and 4, at 1000 threads by column."""
    latency_s = [middle(latencies()[column][PEAK_THREADS]) / MS_PER_S for column in COLUMNS]
    return run_times(PEAK_THREADS, [middle(throughputs()[column]) for column in COLUMNS], latency_s)


@claim(
    "g21-little-model",
    "Tables 2, 3 and 4",
    "run = f x requests, or requests + c: what sets Tables 3 and 4 apart from Table 2",
    "",
    kind="forensic",
    asked="one factor",
)
def factor_or_delay() -> Answer:
    """AICc of one factor against one added time for how long a thread takes, over the cells of Table 2."""
    whole, busy = peak_times()
    extra = deficit(whole, busy)
    ratio = whole / busy
    held = np.array([column in starred() for column in COLUMNS])
    ms = busy / REQUESTS_PER_THREAD * MS_PER_S
    return Answer(
        extra.verdict,
        note=f"By Table 2 a thread sends once in {extra.factor:.2f} latencies ({ratio.min():.2f} to {ratio.max():.2f}, "
        f"from {ms.min():.0f} ms to {ms.max():.0f} ms; spread {extra.factor_spread:.2f} in logarithms, with an added "
        f"time {extra.additive_spread:.2f}), as much where the network sets the latency ({np.median(ratio[held]):.2f}) "
        f"as elsewhere ({np.median(ratio[~held]):.2f}): no matter of busy servers. Most likely the two were not taken "
        "over the same window or the same clients; whether fewer than 1000 requests were in flight, the tables cannot "
        "tell.",
    )


def crossing(column: Column) -> float | None:
    """Thread count at which threads / latency first reaches the throughput of Table 2, None if outside the rows."""
    target = middle(throughputs()[column])
    for (n, rate), (m, other) in pairwise((n, middle(rate)) for n, rate in closed_loop_rates(column).items()):
        if rate < target <= other:
            return n + (m - n) * (target - rate) / (other - rate)
    return None


@claim(
    "g21-table2-at-peak",
    "Table 2",
    "the highest Cassandra throughput achieved at peak workload",
    "",
    kind="forensic",
    asked="threads / latency at 1000 threads",
)
def reached_at_peak() -> Answer:
    """Cells of Table 2 that are what 1000 threads without think time send; where threads / latency reaches them."""
    reached = [overlap(closed_loop_rates(column)[PEAK_THREADS], throughputs()[column]) for column in COLUMNS]
    flights = [middle(in_flight_at_peak(column)) for column in COLUMNS]
    flat = [at for column in COLUMNS if column in starred() and (at := crossing(column))]
    rows = {column: least(closed_loop_rates(column).values()) for column in COLUMNS}
    already = sum(possibly_at_most(throughputs()[column], rate) for column, rate in rows.items())
    return Answer(
        count(reached),
        note="1000 threads that never wait between requests have 1000 in flight; by Table 2 there are "
        f"{min(flights):.0f} to {max(flights):.0f}. Where latency is flat, threads / latency meets Table 2 at "
        f"{min(flat):.0f} to {max(flat):.0f} threads ({len(flat)} cells); in {already} others Table 2 is below threads "
        "/ latency in every row.",
    )


# The order of levels


@cells("g21")
def level_order() -> Iterator[Cell]:
    """Rows of Tables 3 and 4 in which latency rises from ONE over QUORUM to ALL, by scenario."""
    for operation, scenario in product(OPERATIONS, SCENARIOS):
        statement = Statement(
            _name(TITLE[operation].replace(" ", ""), "order", scenario),
            f"{TITLE[operation]}, ({scenario})",
            "latency at ONE <= QUORUM <= ALL in each row",
            "each row",
            kind="cell",
        )
        rows = zip(*(latencies()[scenario, operation, level].values() for level in LEVELS), strict=True)
        right = [all(possibly_at_most(weak, strong) for weak, strong in pairwise(row)) for row in rows]
        yield statement, Answer(count(right))


# Table 1


@claim(
    "g21-table1-mirror",
    "Table 1",
    "AWS inter-region latency, either direction",
    "",
    kind="forensic",
    asked="measured twice",
)
def mirrored() -> Answer:
    """Whether the half below the diagonal of Table 1 is a copy of the half above; the largest difference of a pair."""
    pairs = list(combinations(regions(distances()), 2))
    differences = {(a, b): middle(magnitude(distances()[a, b] - distances()[b, a])) for a, b in pairs}
    copied = sum(table1()[a, b] == table1()[b, a] for a, b in pairs)
    one, other = max(differences, key=lambda pair: differences[pair])
    return Answer(
        "copied" if copied == len(pairs) else "measured twice",
        note=f"{copied} of {len(pairs)} pairs have the same number in both directions; the largest difference is "
        f"{differences[one, other]:.2f} ms ({table1()[one, other]} and {table1()[other, one]} ms, {one} and {other}).",
    )


@claim(
    "g21-table1-round-trip", "Table 1, caption", "AWS inter-region latency, ms", "", kind="forensic", asked="round trip"
)
def round_trip() -> Answer:
    """Whether Table 1 as round trips, or doubled as one way, leaves each spread scenario a placement."""
    readings = {"round trip": distances(), "one way": {pair: 2 * ms for pair, ms in distances().items()}}
    open_to = {
        name: [s for s in SPREAD if admitted(placements(s, regions(between)), floors(s), between)]
        for name, between in readings.items()
    }
    possible = [name for name, scenarios in open_to.items() if len(scenarios) == len(SPREAD)]
    return Answer(
        " or ".join(possible) or "neither",
        note="Scenarios that have a placement under which no request is quicker than the distances allow: "
        + "; ".join(f"{name}: {', '.join(scenarios) or 'none'}" for name, scenarios in open_to.items())
        + ".",
    )


@cells("g21")
def placed() -> Iterator[Cell]:
    """Whether (b), (c) and (d) can lie in the regions of Table 1 with no latency below the distances."""
    names = regions(distances())
    for scenario in SPREAD:
        every = placements(scenario, names)
        possible = admitted(every, floors(scenario), distances())
        clients = sorted({placement.client for placement in possible})
        statement = Statement(
            _name("table1-placement", scenario),
            f"Tables 1, 3 and 4, ({scenario})",
            "some placement in the regions of Table 1 whose round trips are no longer than the least latencies",
            "",
            kind="forensic",
            asked="possible",
        )
        note = (
            f"{len(possible)} of {len(every)} placements, with the client in {', '.join(clients) or 'none'}. The paper "
            f"does not say which region held what, and Table 1 is a measurement apart. {_best_fit(scenario)}"
        )
        yield statement, Answer("possible" if possible else "impossible", note=note)


def _best_fit(scenario: str) -> str:
    """Say whether the placement that fits a scenario's latencies best, which the chapters draw, is an admitted one."""
    best = assignments(scenario).iloc[0]
    client, *others = str(best["regions"]).split(", ")
    replicas = {"b": others * REPLICAS, "c": [client, *others], "d": others}[scenario]
    placement = Arrangement(client, tuple(replicas))
    excess_ms = {x: middle(placement.bound(x, distances())) - middle(cell) for x, cell in floors(scenario).items()}
    level = max(excess_ms, key=lambda x: excess_ms[x])
    relation = (
        "it is one of these" if admitted([placement], floors(scenario), distances()) else
        f"it is none of these, since at {level} its ways are {excess_ms[level]:.1f} ms longer than the least latency"
    )  # fmt: skip
    return (
        f"The chapters draw the placement that fits all latencies best, with the client in {client}, within "
        f"{best['rms_percent']:.0f}% of them; {relation}."
    )


def nearest_pair(ms: Interval) -> tuple[str, str]:
    """The two regions whose distance is nearest to a time."""
    apart = (pair for pair in distances() if pair[0] != pair[1])
    return min(apart, key=lambda pair: abs(middle(distances()[pair]) - middle(ms)))


def times_of_the_network() -> dict[Column, Interval]:
    """Least latency of (b: ONE) and of (d: ONE), and what QUORUM and ALL add to that of (d), in ms."""
    times = {(s, o, "ONE"): floor((s, o, "ONE")) for s, o in product(("b", "d"), OPERATIONS)}
    added = {
        ("d", o, level): floor(("d", o, level)) - floor(("d", o, "ONE")) for level, o in product(STRONG, OPERATIONS)
    }
    return times | added


@claim(
    "g21-table1-distance",
    "Tables 1, 3 and 4",
    "least latency of (b: ONE), of (d: ONE), and what QUORUM and ALL add in (d): a distance of Table 1?",
    "a distance of Table 1",
    kind="forensic",
)
def distance_of_table_1() -> Answer:
    """Least latencies that the network sets, and what stronger levels add to them, that are a distance of Table 1."""
    times = times_of_the_network()
    near = {column: nearest_pair(ms) for column, ms in times.items()}
    off = {column: abs(middle(ms) - middle(distances()[near[column]])) for column, ms in times.items()}
    names = {(s, o, x): f"({s}: {x}) {'adds ' if x in STRONG else ''}" for s, o, x in times}
    each = [f"{names[column]}{middle(ms):.2f} ms ({table1()[near[column]]})" for column, ms in times.items()]
    _, operation, level = closest = min(off, key=lambda column: off[column])
    pair = near[closest]
    every = placements("d", regions(distances()))
    ways = [set(p.hops(level, distances())[1]) == set(pair) for p in every]
    note = (
        f"Reads and writes, the nearest distance in brackets: {', '.join(each)}. The closest, (d: {level}) "
        f"{operation.lower()}s, is {off[closest]:.2f} ms from {' to '.join(pair)}, the coordinator's way in "
        f"{sum(ways)} of {len(every)} placements of (d). Table 1 is a measurement apart, so a near miss is no "
        "contradiction."
    )
    return Answer(count(overlap(ms, distances()[near[column]]) for column, ms in times.items()), note=note)


# The notation


@claim(
    "g21-notation-brackets",
    "section 1.2, Tables 2, 3 and 4",
    "round brackets () to define Cassandra cluster ... curly brackets {} to group ... square brackets [] to group",
    "",
    kind="forensic",
    asked="every notation",
)
def balanced_notations() -> Answer:
    """Notations whose round, curly and square brackets are all closed, each kind by itself."""
    faulty = [f"({scenario}) {place}" for scenario, place, notation in notations() if not balanced(notation)]
    return Answer(
        count(balanced(notation) for _, _, notation in notations()),
        note=f"Not closed: {', '.join(faulty) or 'none'}. Most likely slips of the pen; the text at hand, read by "
        "machine, may have added some in the narrow heads of Tables 3 and 4.",
    )


@claim(
    "g21-notation-cluster",
    "section 1.2, Tables 2, 3 and 4",
    "round brackets () to define Cassandra cluster",
    "",
    kind="forensic",
    asked="every notation",
)
def whole_clusters() -> Answer:
    """Notations whose round brackets hold all replicas."""
    outside = [f"({s}) {place}" for s, place, text in notations() if in_cluster(text) != replicas(text)]
    return Answer(
        count(in_cluster(text) == replicas(text) for _, _, text in notations()),
        note=f"Replicas stand outside the cluster in: {', '.join(outside) or 'none'}. Section 1.2 has it right; the "
        "tables close the bracket early.",
    )


# Against the 2020 paper, and against a default


@claim(
    "g21-forensic-a-against-2020",
    "Tables 3 and 4, (a), and Tables I and II of the 2020 paper",
    "Performance evaluation methodology used in the paper is similar to one described in [14]",
    "",
    kind="forensic",
    asked="within a tenth of the 2020 paper in all 60 cells",
)
def against_2020() -> Answer:
    """Latencies of (a) within a tenth of the 2020 paper's, of the same levels, threads and kind of machine."""
    before = Study.printed().latency_us
    ratios = {
        (o, level, n): middle(latencies()["a", o, level][n] * MS_PER_S / before[o, level][n])
        for o, level, n in product(OPERATIONS, LEVELS, latencies()["a", "READ", "ONE"])
    }
    near = [0.9 <= ratio <= 1.1 for ratio in ratios.values()]  # noqa: PLR2004 - a tenth, as asked
    return Answer(
        count(near),
        note=f"(a) takes {min(ratios.values()):.2f} to {max(ratios.values()):.2f} of the time that the 2020 paper "
        "prints, on the same type of instance in a cluster of the same size: the two papers' clusters were not alike, "
        "or not their versions (this one prints none).",
    )


@claim(
    "g21-forensic-writes-at-1000",
    "Table 4, (c: ONE)",
    "Cassandra WRITE latency (ms)",
    "",
    kind="forensic",
    asked="no step to 1000 threads is the largest of its column",
)
def writes_at_the_most_threads() -> Answer:
    """Columns of Table 4 without asterisk in which the step to 1000 threads is not the largest."""
    steps = {}
    for column in COLUMNS:
        if column[1] == "WRITE" and column not in starred():
            cells_ms = [middle(cell) for cell in latencies()[column].values()]
            steps[column] = [after - before for before, after in pairwise(cells_ms)]
    largest_last = {column: ms for column, ms in steps.items() if ms[-1] == max(ms)}
    listed = ", ".join(
        f"({s}: {level}) {ms[-1]:.2f} ms, {ms[-1] / np.median(ms):.1f} times the median step"
        for (s, _, level), ms in largest_last.items()
    )
    return Answer(
        count(column not in largest_last for column in steps), note=f"Largest at the end: {listed or 'none'}."
    )


@claim(
    "g21-forensic-coordinator-held",
    "Tables 3 and 4, (c) and (d) at QUORUM and ALL",
    "all client requests are always sent to the same nearest coordination node",
    "",
    kind="forensic",
    asked="each slope within a fifth of 128 requests held",
)
def held_by_a_coordinator() -> Answer:
    """Slopes of latency over threads that a coordinator with Cassandra's default of 128 requests at a time gives."""
    held = held_at_coordinator()["requests"]
    near = [abs(requests / IN_FLIGHT - 1) <= 0.2 for requests in held]  # noqa: PLR2004 - a fifth, as asked
    return Answer(
        count(near),
        note=f"The slopes give {held.min():.0f} to {held.max():.0f} requests; native_transport_max_threads is "
        f"{IN_FLIGHT} by default. What the paper takes for the price of strong consistency between regions is in large "
        "part the price of that default, if one node coordinates all requests, as section 2.2 says.",
    )
