"""The study on ccm with the PBS predictor: its rules and its trade-offs.

The figures are lost, and with them every latency. Four ratios stand in the text; `forensics` compares them with one
another.
"""

from __future__ import annotations

import re
from functools import cache

from cassbook import published
from cassbook.claims.interval import Interval, as_printed, exactly, high, low, middle, possibly_at_most
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR, QuorumPair, chance_to_meet, pairs, strong, strong_pairs
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count, figure

#: Section 2.2 calls its three couples so.
CASES: dict[str, QuorumPair] = {"read-intensive": (1, 3), "middle": (2, 2), "write-intensive": (3, 1)}
#: Section 2.3.
WEAK_CASES: tuple[QuorumPair, ...] = ((1, 2), (2, 1), (1, 1))
#: Replication factors over which a general rule is tried: up to the paper's 8 nodes.
FACTORS = range(1, 9)


def spelled(couple: QuorumPair) -> str:
    """Spell a couple as this study writes it.

    >>> spelled((1, 3))
    '(R=1, W=3)'
    """
    return f"(R={couple[0]}, W={couple[1]})"


# Rules


@claim(
    "pbs-quorum-strong",
    "section 1",
    "Quorums are often used to achieve strong consistency: R = W = floor(N/2) + 1",
    "R = W = floor(N/2) + 1",
)
def quorums_are_strong() -> Count:
    """Replication factors 1 to 8 at which R = W = floor(N/2) + 1 gives R + W > N."""
    return Count(sum(strong((n // 2 + 1, n // 2 + 1), n) for n in FACTORS), len(FACTORS))


@claim("pbs-quorum", "sections 1 and 2.2", "R = W = floor(N/2) + 1 ... (R=2, W=2) is the middle case", "(R=2, W=2)")
def quorum_of_three() -> str:
    """Couple that floor(N/2) + 1 gives at the study's replication factor, its 'middle case'."""
    quorum = REPLICATION_FACTOR // 2 + 1
    return spelled((quorum, quorum))


@claim(
    "pbs-strong-rule",
    "section 1",
    "Strong consistency ensures that the data will always be up-to-date ... R + W > N where R = number of replicas "
    "contacted",
    "R + W > N",
)
def rule_is_exact() -> Count:
    """Couples at replication factors 1 to 8 for which R + W > N says whether every read meets the write."""
    cases = [(couple, n) for n in FACTORS for couple in pairs(n)]
    return Count(sum((low(chance_to_meet(c, n)) == 1) == strong(c, n) for c, n in cases), len(cases))


@claim(
    "pbs-weak-overlap",
    "section 1",
    "Weak consistency corresponds to situations where R and W don't overlap: R + W ≤ N",
    "don't overlap",
)
def weak_may_overlap() -> Answer:
    """Weak couples at three replicas whose read never meets the write, and those whose read may miss it."""
    chances = {
        c: chance_to_meet(c, REPLICATION_FACTOR) for c in pairs(REPLICATION_FACTOR) if not strong(c, REPLICATION_FACTOR)
    }
    never = Count(sum(high(p) == 0 for p in chances.values()), len(chances))
    may_miss = Count(sum(high(p) < 1 for p in chances.values()), len(chances))
    listed = ", ".join(f"{spelled(c)} {figure(p * 100)}%" for c, p in chances.items())
    return Answer(
        never, {"need not overlap": may_miss}, f"Chance that a read meets the replicas the write waited for: {listed}."
    )


# Case 1: strong consistency


@claim("pbs-strong-couples", "section 2.2", "(R=1, W=3), (R=2, W=2) and (R=3, W=1) so that R + W > 3", "R + W > 3")
def couples_of_case_1() -> Count:
    """Couples of section 2.2 with R + W > 3."""
    return Count(sum(strong(couple, REPLICATION_FACTOR) for couple in CASES.values()), len(CASES))


@claim(
    "pbs-possible-couples",
    "section 2.2",
    "the possible couples of values for R and W and (R=1, W=3), (R=2, W=2) and (R=3, W=1)",
    "the possible couples",
)
def possible_couples() -> Answer:
    """Strong couples at three replicas that the study names, of all and of those where neither number can be less."""
    all_strong = strong_pairs()
    cheapest = [
        (r, w)
        for r, w in all_strong
        if not strong((r - 1, w), REPLICATION_FACTOR) and not strong((r, w - 1), REPLICATION_FACTOR)
    ]
    named = set(CASES.values())
    others = " and ".join(spelled(couple) for couple in all_strong if couple not in named)
    return Answer(
        Count(len(named.intersection(all_strong)), len(all_strong)),
        {"couples in which neither number can be lowered": Count(len(named.intersection(cheapest)), len(cheapest))},
        f"{others} are strong as well, but wait for more replicas than they need.",
    )


# The four ratios


@cache
def slowdown(operation: str, replicas: int) -> Interval:
    """Printed latency of READ or WRITE that waits for 1 to 3 replicas, as a multiple of its latency when it waits for
    one.
    """
    if replicas == 1:
        return exactly(1)
    letter = operation[0]
    for row in published.as_text("pbs_ratios").to_dict("records"):
        waited = re.search(rf"{letter}=(\d)", row["worse"])
        if row["operation"] == operation and waited and int(waited.group(1)) == replicas:
            return as_printed(row["ratio"])
    raise KeyError((operation, replicas))


def mean_latency(couple: QuorumPair, write_share: float) -> Interval:
    """Mean latency of a mix in units of a write at W=1, if a read at R=1 takes as long as that."""
    read, write = couple
    return exactly(write_share) * slowdown("WRITE", write) + (1 - exactly(write_share)) * slowdown("READ", read)


def break_even_share(read_to_write: float = 1) -> Interval:
    """Share of writes at which (R=1, W=3) and (R=3, W=1) take equally long.

    `read_to_write` is the latency of a read at R=1 over that of a write at W=1; the study prints neither.
    """
    gained = exactly(read_to_write) * (slowdown("READ", REPLICATION_FACTOR) - 1)
    return 1 / (1 + (slowdown("WRITE", REPLICATION_FACTOR) - 1) / gained)


def crossing(write: int) -> Interval:
    """Share of writes at which (R, W) and (R + 1, W - 1), two strong couples, take equally long; W is `write`.

    Reads at R=1 are taken to be as long as writes at W=1.
    """
    read = REPLICATION_FACTOR + 1 - write
    lost = slowdown("READ", read + 1) - slowdown("READ", read)
    gained = slowdown("WRITE", write) - slowdown("WRITE", write - 1)
    return 1 / (1 + gained / lost)


@claim(
    "pbs-not-much-better",
    "section 2.2",
    "increases a lot the write latency but has not a much better read latency than (R=3, W=1)",
    "not a much better read latency",
)
def reads_gain_less() -> Answer:
    """Whether the read latency changes by a smaller factor than the write latency."""
    read, write = slowdown("READ", REPLICATION_FACTOR), slowdown("WRITE", REPLICATION_FACTOR)
    factors = f"{middle(write):.1f} times worse, reads {middle(read):.1f} times better"
    return Answer(
        None,
        {f"beside the write latency: {factors}": Count(int(possibly_at_most(read, write)), 1)},
        "The sentence gives 'much' no number. By itself, what the next sentence prints of reads is a good deal.",
    )


_OTHERWISE = ("section 2.2", "In other cases, a write-intensive configuration is a better trade-off")


@claim("pbs-trade-off", *_OTHERWISE, "write-intensive")
def better_of_two() -> Answer:
    """The faster of the read-intensive and the write-intensive couple for as many writes as reads."""
    two = ("read-intensive", "write-intensive")
    best = min(two, key=lambda case: middle(mean_latency(CASES[case], 0.5)))
    shares = [figure(break_even_share(ratio) * 100, 0) for ratio in (0.5, 1, 2)]
    return Answer(
        best,
        note=f"'Very rare' can be given a number: (R=1, W=3) is the faster one up to {shares[1]}% of writes, if a read "
        f"at R=1 takes as long as a write at W=1; {shares[0]}% if it takes half as long, {shares[2]}% if twice.",
    )


@claim("pbs-forensic-middle", *_OTHERWISE, "write-intensive", kind="forensic")
def best_of_three() -> Answer:
    """The fastest of the three couples at the share of writes where the outer two are equal, and the faster of those.

    Reads at R=1 are taken to be as long as writes at W=1.
    """
    equal = middle(break_even_share())
    best = min(CASES, key=lambda case: middle(mean_latency(CASES[case], equal)))
    first, last = (figure(crossing(write) * 100, 0) for write in (3, 2))
    return Answer(
        best,
        {"of the two configurations that the sentence compares": str(better_of_two().value)},
        f"By the printed ratios (R=2, W=2) beats both between {first}% and {last}% of "
        "writes, if a read at R=1 takes as long as a write at W=1. The study compares only the outer two.",
    )
