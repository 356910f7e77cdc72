"""The study on ccm with the PBS predictor: weak consistency, and the two metrics of PBS."""

from __future__ import annotations

import re

from cassbook.claims.interval import Interval, high, middle
from cassbook.claims.pbs.text import WEAK_CASES, slowdown, spelled
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR, QuorumPair, chance_to_meet, pairs, strong
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count, figure

# Case 2: weak consistency


@claim(
    "pbs-weak-couples",
    "section 2.3",
    "weak consistency (R+W ≤ N) ... the following configurations: (R=1, W=2), (R=2, W=1) and (R=1, W=1)",
    "R+W ≤ N",
)
def weak_couples() -> Answer:
    """Couples of section 2.3 with R + W <= 3, of all such couples."""
    weak = [couple for couple in pairs(REPLICATION_FACTOR) if not strong(couple, REPLICATION_FACTOR)]
    return Answer(Count(len(set(WEAK_CASES).intersection(weak)), len(weak)), note="No other couple is weak.")


@claim("pbs-sum", "section 2.3", "R+W is equal to 2 instead of 3 in the two other configurations", "2 instead of 3")
def sums() -> tuple[int, int]:
    """R + W of (R=1, W=1), and of the other two."""
    *others, weakest = WEAK_CASES
    (other,) = {sum(couple) for couple in others}
    return sum(weakest), other


@claim("pbs-weakest", "section 2.3", "(R=1, W=1) provides the weakest consistency level", "(R=1, W=1)")
def weakest() -> Answer:
    """The weak couple whose read is least likely to meet the replicas that the write waited for."""
    couple = min(WEAK_CASES, key=lambda c: high(chance_to_meet(c, REPLICATION_FACTOR)))
    chance = figure(chance_to_meet(couple, REPLICATION_FACTOR) * 100)
    return Answer(spelled(couple), note=f"Its chance is {chance}% before the write has spread to further replicas.")


@claim(
    "pbs-weak-fastest",
    "section 2.3",
    "As expected, (R=1, W=1) provides the best latency for both writes and reads",
    "(R=1, W=1)",
)
def weak_is_fastest() -> Answer:
    """The couple of least read and of least write latency by the printed ratios."""
    read, write = (
        min(range(1, REPLICATION_FACTOR + 1), key=lambda n: middle(slowdown(operation, n)))
        for operation in ("READ", "WRITE")
    )
    return Answer(spelled((read, write)), note="If the latency of an operation depends on its own R or W alone.")


# Metrics of PBS


@claim(
    "pbs-k-visibility",
    "section 2.3",
    "the probability of consistent read reaches 1 for a k-visibility of 1.5 seconds",
    "k-visibility",
)
def metric_of_a_time() -> Answer:
    """Whether the sentence's metric is one of the two that section 2.3 defines, and whether one of them is a time."""
    units = {"t-visibility": "seconds", "k-staleness": "versions"}
    known = Count(int("k-visibility" in units), 1)
    (timed,) = [metric for metric, unit in units.items() if unit == "seconds"]
    slip = {f"a slip for {timed}, the metric that is a time": Count(int(timed in units), 1)}
    return Answer(known, slip, finding="misprint")


@claim(
    "pbs-weakest-small-t",
    "section 2.3",
    "(R=1, W=1) provides the weakest consistency for small t-visibility values",
    "(R=1, W=1)",
)
def weakest_at_once() -> str:
    """The weak couple whose read is least likely to be consistent at t = 0, before a write has spread."""
    return spelled(min(WEAK_CASES, key=lambda c: high(chance_to_meet(c, REPLICATION_FACTOR))))


@claim(
    "pbs-t-unit",
    "section 2.3",
    "t-visibility which provides the probability of reading a write t seconds after it returns",
    "seconds",
)
def unit_of_t() -> Answer:
    """Uses of a number or symbol for t with a unit that is the definition's."""
    uses = ("t-visibility ms after it has been written", "k-visibility of 1.5 seconds", "t-visibility equals to 100 ms")
    in_seconds = [use for use in uses if re.search(r"\bseconds\b", use)]
    times = [use for use in uses if re.search(r"\b(seconds|ms)\b", use)]
    return Answer(
        Count(len(in_seconds), len(uses)),
        {"any unit of time": Count(len(times), len(uses))},
        "A difference of unit between definition and use, with no number wrong.",
    )


@claim(
    "pbs-lowest-k",
    "section 2.3",
    "(R=1, W=1) gives the lowest probability of reading an up-to-date version of the data",
    "(R=1, W=1)",
)
def lowest_of_k() -> Answer:
    """The weak couple least likely to read one of the last k versions, for k = 1 to 3, by the formula of PBS."""

    def within(couple: QuorumPair, k: int) -> Interval:
        return 1 - (1 - chance_to_meet(couple, REPLICATION_FACTOR)) ** k

    lowest = {min(WEAK_CASES, key=lambda c: high(within(c, k))) for k in range(1, REPLICATION_FACTOR + 1)}
    chances = ", ".join(f"{figure(within(WEAK_CASES[-1], k) * 100)}%" for k in range(1, REPLICATION_FACTOR + 1))
    return Answer(
        " or ".join(spelled(couple) for couple in lowest),
        note=f"Before a write has spread, {spelled(WEAK_CASES[-1])} reads one of the last 1, 2, 3 versions with a "
        f"chance of {chances}. Figure 3, 100 ms after the write, is lost.",
    )
