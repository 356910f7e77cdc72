"""Sentences of the 2021 paper up to section 2.2, throughput, put to its own tables."""

from __future__ import annotations

from itertools import pairwise, product

from cassbook.claims.g21.placements import balanced, deepest, distances, notations, replicas
from cassbook.claims.g21.source import (
    COLUMNS,
    HALF,
    LAST_ROWS,
    LEVELS,
    OPERATIONS,
    PEAK_THREADS,
    REPLICAS,
    SCENARIOS,
    SLIP,
    STRONG,
    both,
    closed_loop_rates,
    count,
    growth,
    latencies,
    saturated,
    saturated_from,
    spelled,
    starred,
    threads,
    throughputs,
    writes_over_reads,
)
from cassbook.claims.interval import (
    exactly,
    largest,
    least,
    mean,
    middle,
    percent_above,
    percent_below,
    possibly_at_most,
)
from cassbook.claims.registry import claim
from cassbook.claims.rules import MORE_STRICTLY, SATURATED, within
from cassbook.claims.statement import Answer, Count, in_words

#: Figures 2 and 3 are lost; threads that never wait send this much.
PROXY = "threads / mean latency of Tables 3 and 4 for the throughput of the lost figures"


# Section 1.2: places and notation


@claim(
    "g21-notation-example",
    "section 1.2",
    "the rest two nodes N2 and N3 are deployed in a different Region, each in a separate Availability zone",
    "a different Region",
)
def example_of_the_notation() -> Answer:
    """How deep curly brackets, which stand for a Region, are nested in the example; whether its brackets balance."""
    example = "{[C, (N1]}, {[N2], {[N3]}})"
    nested = deepest(example, "{") > 1
    return Answer(
        "a Region within a Region" if nested else "a different Region",
        note=f"The text at hand prints {example}; its brackets, each kind by itself, "
        f"{'balance' if balanced(example) else 'do not balance'}. The likeliest cause is one stray pair of "
        "curly brackets around N3, in the print or in the machine's reading of it.",
        finding="misprint",
    )


@claim(
    "g21-replicas",
    "section 1.2, Tables 2, 3 and 4",
    "the three-node Cassandra cluster with a replication factor of 3",
    "3",
)
def replica_symbols() -> Answer:
    """Notations with three replica symbols, repeated ones counted."""
    repeated = [f"({s}) {place}" for s, place, text in notations() if len(replicas(text)) > len(set(replicas(text)))]
    same = "a symbol that is printed twice is one replica"
    return Answer(
        count(len(replicas(text)) == REPLICAS for _, _, text in notations()),
        {same: count(len(set(replicas(text))) == REPLICAS for _, _, text in notations())},
        f"R2 is printed twice in {len(repeated)} heads: {', '.join(repeated)}.",
    )


@claim("g21-scenarios", "section 1.2", "We consider the following four deployment scenarios", "four")
def scenario_count() -> Answer:
    """Scenarios that the notations name; how many spellings each has."""
    spellings: dict[str, set[str]] = {}
    for scenario, _, notation in notations():
        spellings.setdefault(scenario, set()).add(notation)
    listed = ", ".join(f"({scenario}) {len(forms)}" for scenario, forms in spellings.items())
    return Answer(in_words(len(spellings)), note=f"Spellings of each over section 1.2 and Tables 2 to 4: {listed}.")


@claim(
    "g21-high-network-delay",
    "section 1.2, Table 1",
    "requests involving replicas from different regions could be processed much longer due to high inter-region "
    "network delay",
    "much longer",
)
def between_and_within() -> Answer:
    """Distances between regions in Table 1 that exceed every latency within a region."""
    within = [cell for (start, end), cell in distances().items() if start == end]
    between = [cell for (start, end), cell in distances().items() if start != end]
    ratio = least(between) / largest(within)
    return Answer(
        count(possibly_at_most(largest(within), cell) for cell in between),
        note=f"The shortest way between regions takes {middle(ratio):.0f} times the longest within one.",
    )


# Section 2.1: set-up


@claim(
    "g21-four-clusters", "section 2.1", "Four Cassandra clusters have been created and deployed on Amazon AWS", "Four"
)
def cluster_count() -> str:
    """Scenarios with figures in Tables 2 to 4, each a cluster."""
    return in_words(len({scenario for scenario, _, _ in latencies()})).capitalize()


@claim(
    "g21-threads",
    "section 2.1",
    "the number of threads in our experiments was linearly scaled from 100 to 1000",
    "100 to 1000",
)
def thread_range() -> tuple[float, float]:
    """First and last thread count of Tables 3 and 4."""
    return threads()[0], threads()[-1]


@claim("g21-threads-linear", "section 2.1", "the number of threads in our experiments was linearly scaled", "linearly")
def equal_steps() -> Count:
    """Steps between thread counts that equal the first."""
    steps = [after - before for before, after in pairwise(threads())]
    return count(step == steps[0] for step in steps)


# Section 2.2: throughput


@claim(
    "g21-saturation",
    "section 2.2",
    "when a client and all Cassandra nodes are deployed in the same AWS Region is saturated with around 800 threads on "
    "average",
    "around 800 threads",
    rests_on=("g21-little-model",),
)
def saturation_threads() -> Answer:
    """Least threads with which the throughput of (a) is near its maximum, mean over operations and levels."""
    points = {
        part: {o: mean(exactly(saturated_from(("a", o, level), part)) for level in LEVELS) for o in OPERATIONS}
        for part in (SATURATED, MORE_STRICTLY)
    }
    reads, writes = (middle(points[SATURATED][o]) for o in OPERATIONS)
    return Answer(
        None,
        {f"by {PROXY}, {within(part)}": mean(by.values()) for part, by in points.items()},
        f"{within(SATURATED).capitalize()} are reads from {reads:.0f} threads, writes from {writes:.0f}. The "
        "throughput of each thread count was in Fig. 2 and 3 only, which are lost.",
    )


@claim(
    "g21-exponential",
    "section 2.2",
    "When Cassandra operates close to its maximal throughput ... begin to increase in exponential progression",
    "exponential progression",
)
def exponential_growth() -> Answer:
    """Latency columns of (a) whose last five rows grow exponentially rather than in a line, by AICc."""
    columns = [column for column in COLUMNS if column[0] == "a"]
    whole = [growth(column) for column in columns]
    loaded = [growth(column, LAST_ROWS) for column in saturated()]
    return Answer(
        count(growth(column, LAST_ROWS) == "exponential" for column in columns),
        note=f"Over all {len(threads())} rows a line is better in {whole.count('linear')} of {len(whole)} columns. "
        f"Of all {len(loaded)} columns that are said to be saturated, {loaded.count('exponential')} grow "
        f"exponentially in their last {LAST_ROWS} rows.",
    )


@claim(
    "g21-throughput-order",
    "section 2.2, Table 2",
    "the stronger consistency setting, the lower the throughput",
    "the lower the throughput",
)
def throughput_order() -> Answer:
    """Steps from ONE to QUORUM and QUORUM to ALL in Table 2 that lower the throughput."""
    rates = throughputs()
    steps = [(s, o, *levels) for s, o in product(SCENARIOS, OPERATIONS) for levels in pairwise(LEVELS)]
    loss = {step: percent_below(rates[step[0], step[1], step[3]], rates[step[0], step[1], step[2]]) for step in steps}
    smallest = min(loss, key=lambda step: middle(loss[step]))
    return Answer(
        count(possibly_at_most(rates[s, o, strong], rates[s, o, weak]) for s, o, weak, strong in steps),
        note=f"In Table 2, that is at the highest throughput; the figures are lost. The smallest step is "
        f"{middle(loss[smallest]):.1f}%, ({smallest[0]}) {smallest[1].lower()}s from {smallest[2]} to {smallest[3]}.",
    )


@claim(
    "g21-throughput-drop",
    "section 2.2, Table 2",
    "the throughput drops dramatically when QUORUM and ALL consistency settings are applied in multi-region deployment "
    "scenarios (see Fig. 1,c and Fig. 1,d)",
    "drops dramatically",
)
def throughput_drop() -> Answer:
    """Cells of (c) and (d) at QUORUM and ALL that lose a larger factor than any of (a) and (b)."""
    rates = throughputs()
    drop = {(s, o, x): rates[s, o, "ONE"] / rates[s, o, x] for s, o, x in product(SCENARIOS, OPERATIONS, STRONG)}
    single = largest(x for column, x in drop.items() if column[0] in "ab")
    spread = [x for column, x in drop.items() if column[0] in "cd"]
    return Answer(
        count(possibly_at_most(single, x) for x in spread),
        note=f"ONE over the others is {middle(least(spread)):.1f} to {middle(largest(spread)):.1f} in (c) and (d), "
        f"in (a) and (b) at most {middle(single):.2f} times.",
    )


@claim(
    "g21-unsaturated",
    "section 2.2, Table 2",
    "we were not able to saturate Cassandra cluster even with 1000 threads in case of (b: all consistency settings) "
    "and (d: ONE) deployment scenarios",
    "(b: all consistency settings) and (d: ONE)",
    rests_on=("g21-little-model",),
)
def unsaturated() -> Answer:
    """Cells of Table 2 with an asterisk; columns whose threads / latency still rises by over 5 % at 1000 threads."""
    rising = [column for column in COLUMNS if saturated_from(column) == PEAK_THREADS]
    return Answer(spelled(starred()), note=f"By {PROXY}, still rising at 1000 threads: {spelled(rising)}.")


@claim(
    "g21-others-saturated",
    "section 2.2, Table 2",
    "In all other scenarios the highest Cassandra throughput achieved at peak workload (see Table 2) was close to its "
    "maximum/asymptotic throughput",
    "all other scenarios",
    rests_on=("g21-little-model",),
)
def others_saturated() -> Answer:
    """Columns without asterisk whose throughput is within 5 % of its maximum before 1000 threads."""
    before_peak = [saturated_from(column) < PEAK_THREADS for column in saturated()]
    best = [max(map(middle, closed_loop_rates(column).values())) for column in saturated()]
    left = [middle(closed_loop_rates(c)[PEAK_THREADS]) / most for c, most in zip(saturated(), best, strict=True)]
    return Answer(
        None,
        {f"{PROXY}, {within(SATURATED)} before 1000 threads": count(before_peak)},
        f"At 1000 threads the proxy stands at {min(left):.2f} to {max(left):.2f} of its "
        "maximum. Table 2 itself is far below the proxy, by the factor of g21-little-model.",
    )


@claim(
    "g21-network-delay",
    "section 2.2",
    "overwhelming contribution of the network delay into the overall response time",
    "overwhelming",
)
def network_share() -> Answer:
    """Cells of (b) and (d: ONE) of which more than half is over the latency of (a) at the same load and level."""
    cells = [(s, o, x, n) for s, o, x in COLUMNS if (s, o, x) in starred() for n in threads()]
    shares = [1 - latencies()["a", o, x][n] / latencies()[s, o, x][n] for s, o, x, n in cells]
    return Answer(
        count(possibly_at_most(HALF, share) for share in shares),
        note=f"What (a) takes counts as the servers' part. The rest is {middle(least(shares)):.2f} to "
        f"{middle(largest(shares)):.2f} of the response time.",
    )


@claim(
    "g21-writes-faster",
    "section 2.2, Table 2",
    "(a: all consistency settings) and (b: ONE) write throughput overperforms read performance by 9% on average",
    "9%",
)
def write_gain() -> Answer:
    """Mean of how far the throughput of writes is above that of reads in (a) and (b: ONE)."""
    rates = throughputs()
    alone = {s: percent_above(rates[s, "WRITE", "ONE"], rates[s, "READ", "ONE"]) for s in "bc"}
    return Answer(
        writes_over_reads("b"),
        {SLIP: writes_over_reads("c")},
        finding="misprint",
        note=f"At ONE, writes against reads: {middle(alone['b']):+.1f}% in (b), {middle(alone['c']):+.1f}% in (c).",
    )


@claim(
    "g21-a-over-c",
    "section 2.2, Table 2",
    "read/write throughput in the deployment scenario (a: ONE) overperforms (c: ONE) by 13%",
    "13%",
)
def one_region_gain() -> Answer:
    """Mean over reads and writes of how far the throughput of (a: ONE) is above (c: ONE)."""
    rates = throughputs()
    gains = [percent_above(rates["a", o, "ONE"], rates["c", o, "ONE"]) for o in OPERATIONS]
    return Answer(mean(gains), note=f"Reads and writes: {both(gains, '%')}.")
