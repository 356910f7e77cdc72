"""Sentences of the 2021 paper in its abstract, which stands in three languages, and its introduction."""

from __future__ import annotations

from itertools import product

from cassbook.claims.g21.source import (
    OF_ONE,
    OPERATIONS,
    PEAK_THREADS,
    STRONG,
    above_one,
    both,
    latencies,
    percent_of_one,
    threads,
    throughputs,
    times_one,
)
from cassbook.claims.interval import largest, mean, middle, percent_above, percent_below
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer

# Abstract


@claim(
    "g21-abstract-cost",
    "abstract",
    "strong consistency costs up to 22% of performance in case of the centralized Cassandra cluster deployment",
    "22%",
)
def cost_in_one_region() -> Answer:
    """Largest loss of throughput of (a) at QUORUM or ALL in percent of ONE; what latency and other bases give."""
    rates = throughputs()
    lost = [percent_below(rates["a", o, s], rates["a", o, "ONE"]) for o, s in product(OPERATIONS, STRONG)]
    of_itself = percent_above(rates["a", "READ", "ONE"], rates["a", "READ", "ALL"])
    reads, writes = above_one("READ"), above_one("WRITE")
    return Answer(
        largest(lost),
        {"the latency of writes at ALL against ONE, means over threads": writes},
        finding="base",
        note=f"Section 2.3 has this 22% for writes; reads take {middle(reads):.1f}% longer, so it is not the most. "
        f"The throughput of reads, in percent of ALL, would be {middle(of_itself):.2f}%.",
    )


@claim(
    "g21-abstract-global",
    "abstract",
    "can cause 600% increase of the read/write requests if Cassandra replicas and its clients are globally distributed "
    "across different AWS Regions",
    "600%",
)
def increase_when_spread() -> Answer:
    """Increase of the mean latency in (d) from ONE to ALL, the larger of the two operations'."""
    times = largest(times_one("d", o, "ALL") for o in OPERATIONS)
    peak = [latencies()["d", o, "ALL"][PEAK_THREADS] / latencies()["d", o, "ONE"][PEAK_THREADS] for o in OPERATIONS]
    return Answer(
        (times - 1) * 100,
        {OF_ONE: largest(percent_of_one(o, "600") for o in OPERATIONS)},
        finding="base",
        note=f"Means over threads. With the zeros as digits it would be {middle(times) * 100:.0f}% of ONE. "
        f"At 1000 threads ALL is {both(peak)} times ONE (reads and writes).",
    )


#: The abstract stands in three languages.
_IN_UKRAINIAN, _IN_RUSSIAN = "abstract in Ukrainian", "abstract in Russian"


@claim(
    "g21-abstract-cost-ukrainian",
    _IN_UKRAINIAN,
    "строга узгодженість даних коштує в середньому до 22% продуктивності",
    "22%",
)
@claim(
    "g21-abstract-cost-russian",
    _IN_RUSSIAN,
    "строгая согласованность данных ухудшает производительность кластера в среднем на 22%",
    "22%",
)
def cost_on_average() -> Answer:
    """Mean loss of throughput of (a) at ALL in percent of ONE, reads and writes; and what writes take longer."""
    rates = throughputs()
    lost = [percent_below(rates["a", o, "ALL"], rates["a", o, "ONE"]) for o in OPERATIONS]
    return Answer(
        mean(lost),
        {"the latency of writes at ALL against ONE, means over threads": above_one("WRITE")},
        "The English abstract says 'up to', the Ukrainian 'on average up to', the Russian 'on average'. Reads take "
        f"{middle(above_one('READ')):.1f}% longer.",
        "base",
    )


@claim(
    "g21-abstract-global-ukrainian",
    _IN_UKRAINIAN,
    "призвести до збільшення часу виконання операцій читання/запису до 600%",
    "600%",
)
@claim(
    "g21-abstract-global-russian",
    _IN_RUSSIAN,
    "приводит к увеличению времени выполнения операций чтения/записи до 600%",
    "600%",
)
def largest_increase() -> Answer:
    """Largest increase of latency in (d) from ONE to ALL at any thread count: these abstracts say 'up to'."""
    rows, times = latencies(), largest(times_one("d", o, "ALL") for o in OPERATIONS)
    most = largest(percent_above(rows["d", o, "ALL"][n], rows["d", o, "ONE"][n]) for o in OPERATIONS for n in threads())
    return Answer(
        most,
        {OF_ONE: largest(percent_of_one(o, "600") for o in OPERATIONS)},
        f"Of means over threads, ALL is {middle(times) * 100:.0f}% of ONE.",
        "base",
    )
