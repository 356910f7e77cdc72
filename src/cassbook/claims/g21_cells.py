"""Questions put to the tables of the 2021 paper: Little's law, order of levels, distances of Table 1, notation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from cassbook.claims.g21_source import (
    COLUMNS,
    LEVELS,
    MS_PER_S,
    OPERATIONS,
    PEAK_THREADS,
    SCENARIOS,
    TITLE,
    Column,
    admitted,
    balanced,
    closed_loop_rates,
    count,
    distances,
    floor,
    floors,
    in_cluster,
    latencies,
    notations,
    placements,
    regions,
    replicas,
    starred,
    table1,
    throughputs,
)
from cassbook.claims.interval import Interval, high, low, magnitude, middle, overlap
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.statement import Answer, Statement
from cassbook.latency.saturation import AICC_MARGIN

#: Scenarios with more than one region, the ones that Table 1 bears on.
SPREAD = ("b", "c", "d")


def _name(*parts: object) -> str:
    return "-".join(["g21", *(str(part).lower() for part in parts)])


# Little's law


def in_flight(column: Column) -> Interval:
    """Highest throughput times latency at 1000 threads: requests in flight."""
    return throughputs()[column] * latencies()[column][PEAK_THREADS] / MS_PER_S


@cells("g21")
def little() -> Iterator[Cell]:
    """Little's law for each cell of Table 2: its throughput times the latency at peak workload against the threads."""
    for scenario, operation, level in COLUMNS:
        statement = Statement(
            _name("table2-little", scenario, operation, level),
            f"Table 2 and {TITLE[operation]}, ({scenario}: {level}), {operation.lower()}",
            "highest throughput x latency at 1000 threads: requests in flight",
            str(PEAK_THREADS),
            kind="forensic",
        )
        found = in_flight((scenario, operation, level))
        factor = PEAK_THREADS / middle(found)
        note = f"The threads are {factor:.2f} times as many; what that can mean is under g21-little-model."
        yield statement, Answer(found, note=note)


def _aicc(residuals: NDArray[np.float64]) -> float:
    """AICc of a normal model with one coefficient and the variance."""
    n, k = residuals.size, 2
    return float(n * np.log((residuals**2).mean()) + 2 * k + 2 * k * (k + 1) / (n - k - 1))


def one_factor(cycle: NDArray[np.float64], latency: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Factor f of cycle = f * latency, and the residuals, both logarithmic."""
    logs = np.log(cycle / latency)
    return float(np.exp(logs.mean())), logs - logs.mean()


def one_delay(cycle: NDArray[np.float64], latency: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Delay c of cycle = latency + c, and the residuals, both logarithmic."""

    def residuals(delay: float) -> NDArray[np.float64]:
        return np.log(cycle / (latency + delay))

    best = minimize_scalar(lambda c: float((residuals(c) ** 2).sum()), bounds=(0, cycle.max()), method="bounded")
    return float(best.x), residuals(best.x)


def deficit_model(cycle: NDArray[np.float64], latency: NDArray[np.float64]) -> str:
    """Which of the two explains better why a thread takes longer than a request: 'one factor' or 'one delay'."""
    gain = _aicc(one_delay(cycle, latency)[1]) - _aicc(one_factor(cycle, latency)[1])
    if abs(gain) < AICC_MARGIN:
        return "undecided"
    return "one factor" if gain > 0 else "one delay"


def cycles_ms() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time from request to request of one of 1000 threads by Table 2, and latency, for each cell of Table 2."""
    cycle = [PEAK_THREADS * MS_PER_S / middle(throughputs()[column]) for column in COLUMNS]
    return np.array(cycle), np.array([middle(latencies()[column][PEAK_THREADS]) for column in COLUMNS])


@claim(
    "g21-little-model",
    "Tables 2, 3 and 4",
    "threads / throughput = f x latency, or latency + c: what sets Tables 3 and 4 apart from Table 2",
    "one factor",
    kind="forensic",
)
def factor_or_delay() -> Answer:
    """AICc of one factor against one added delay for the time a thread takes per request, over the cells of Table 2."""
    cycle, latency = cycles_ms()
    factor, around_factor = one_factor(cycle, latency)
    _, around_delay = one_delay(cycle, latency)
    ratio = cycle / latency
    held = np.array([column in starred() for column in COLUMNS])
    return Answer(
        deficit_model(cycle, latency),
        note=f"By Table 2 a thread sends once in {factor:.2f} latencies ({ratio.min():.2f} to {ratio.max():.2f}, from "
        f"{latency.min():.0f} ms to {latency.max():.0f} ms; spread {around_factor.std():.2f} in logarithms, with an "
        f"added delay {np.sqrt((around_delay**2).mean()):.2f}), as much where the network sets the latency "
        f"({np.median(ratio[held]):.2f}) as elsewhere ({np.median(ratio[~held]):.2f}): no matter of busy servers. Most "
        "likely the two were not taken over the same window or the same clients; whether fewer than 1000 requests "
        "were in flight, the tables cannot tell.",
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
    "each cell at 1000 threads",
    kind="forensic",
)
def reached_at_peak() -> Answer:
    """Cells of Table 2 that threads / latency can be at 1000 threads; where it reaches them first."""
    reached = [overlap(closed_loop_rates(column)[PEAK_THREADS], throughputs()[column]) for column in COLUMNS]
    flat = [at for column in COLUMNS if column in starred() and (at := crossing(column))]
    least_rates = [(column, min(map(low, closed_loop_rates(column).values()))) for column in COLUMNS]
    already = sum(rate > high(throughputs()[column]) for column, rate in least_rates)
    return Answer(
        count(reached),
        note=f"Where latency is flat, threads / latency meets Table 2 at {min(flat):.0f} to {max(flat):.0f} threads "
        f"({len(flat)} cells); in {already} others Table 2 is below threads / latency in every row.",
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
        right = [all(low(weak) <= high(strong) for weak, strong in pairwise(row)) for row in rows]
        yield statement, Answer(count(right))


# Table 1


@claim("g21-table1-mirror", "Table 1", "AWS inter-region latency, either direction", "measured twice", kind="forensic")
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
    "g21-table1-round-trip",
    "Table 1, caption",
    "AWS inter-region latency, ms",
    "round trip",
    kind="forensic",
)
def round_trip() -> Answer:
    """Whether Table 1 as round trips, or doubled as one way, leaves each spread scenario a placement."""
    readings = {"round trip": distances(), "one way": {pair: 2 * ms for pair, ms in distances().items()}}
    open_to = {
        name: [s for s in SPREAD if admitted(placements(s, regions(between)), floors(s), between)]
        for name, between in readings.items()
    }
    possible = [name for name, found in open_to.items() if len(found) == len(SPREAD)]
    return Answer(
        " or ".join(possible) or "neither",
        note="Scenarios that have a placement under which no request is quicker than the distances allow: "
        + "; ".join(f"{name}: {', '.join(found) or 'none'}" for name, found in open_to.items())
        + ".",
    )


@cells("g21")
def placed() -> Iterator[Cell]:
    """Whether (b), (c) and (d) can lie in the regions of Table 1 with no latency below the distances."""
    names = regions(distances())
    for scenario in SPREAD:
        every = placements(scenario, names)
        found = admitted(every, floors(scenario), distances())
        clients = sorted({placement.client for placement in found})
        statement = Statement(
            _name("table1-placement", scenario),
            f"Tables 1, 3 and 4, ({scenario})",
            "some placement in the regions of Table 1 whose round trips are no longer than the least latencies",
            "possible",
            kind="forensic",
        )
        note = (
            f"{len(found)} of {len(every)} placements, with the client in {', '.join(clients) or 'none'}. The paper "
            "does not say which region held what, and Table 1 is a measurement apart."
        )
        yield statement, Answer("possible" if found else "impossible", note=note)


def neighbours(ms: Interval) -> tuple[tuple[str, str], str]:
    """The pair of regions whose distance is nearest to a time, and the printed distances next below and above."""
    between = {pair: cell for pair, cell in distances().items() if pair[0] != pair[1]}
    pair = min(between, key=lambda p: abs(middle(between[p]) - middle(ms)))
    below = [p for p, cell in between.items() if middle(cell) <= middle(ms)]
    above = [p for p, cell in between.items() if middle(cell) > middle(ms)]
    ends = [max(below, key=lambda p: middle(between[p]), default=None)]
    ends.append(min(above, key=lambda p: middle(between[p]), default=None))
    return pair, " and ".join(f"{table1()[p]} ms" for p in ends if p)


def _distance_cell(parts: tuple[str, ...], where: str, quote: str, ms: Interval, more: str = "") -> Cell:
    pair, ends = neighbours(ms)
    statement = Statement(_name("table1-distance", *parts), where, quote, table1()[pair], kind="forensic")
    off = middle(ms) - middle(distances()[pair])
    note = (
        f"Nearest in Table 1: {pair[0]} to {pair[1]}, {abs(off):.2f} ms {'less' if off > 0 else 'more'}; its distances "
        f"next below and above are {ends}.{more} Table 1 is a measurement apart, so a near miss is no contradiction."
    )
    return statement, Answer(ms, note=note)


@cells("g21")
def client_distance() -> Iterator[Cell]:
    """Least latency of (b: ONE) and (d: ONE), where the network delay dominates, against the nearest distance."""
    for scenario, operation in product(("b", "d"), OPERATIONS):
        where = f"{TITLE[operation]}, ({scenario}: ONE)"
        quote = "least latency at ONE: which distance of Table 1 is it?"
        yield _distance_cell((scenario, "one", operation), where, quote, floor((scenario, operation, "ONE")))


@cells("g21")
def second_hop() -> Iterator[Cell]:
    """What QUORUM and ALL add to the least latency of (d: ONE), against the nearest distance."""
    every = placements("d", regions(distances()))
    for level, operation in product(("QUORUM", "ALL"), OPERATIONS):
        added = floor(("d", operation, level)) - floor(("d", operation, "ONE"))
        pair, _ = neighbours(added)
        fitting = sum(set(p.hops(level, distances())[1]) == set(pair) for p in every)
        more = f" {fitting} of {len(every)} placements of (d) have this pair as the coordinator's way to a replica."
        where = f"{TITLE[operation]}, (d: {level}) less (d: ONE)"
        quote = "what the level adds to the least latency: which distance of Table 1 is it?"
        yield _distance_cell(("d", f"{level}-less-one", operation), where, quote, added, more)


# The notation


@claim(
    "g21-notation-brackets",
    "section 1.2, Tables 2, 3 and 4",
    "round brackets () to define Cassandra cluster; curly brackets {} ; square brackets []",
    "every notation",
    kind="forensic",
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
    "every notation",
    kind="forensic",
)
def whole_clusters() -> Answer:
    """Notations whose round brackets hold all replicas."""
    outside = [f"({s}) {place}" for s, place, text in notations() if in_cluster(text) != replicas(text)]
    return Answer(
        count(in_cluster(text) == replicas(text) for _, _, text in notations()),
        note=f"Replicas stand outside the cluster in: {', '.join(outside) or 'none'}. Section 1.2 has it right; the "
        "tables close the bracket early.",
    )
