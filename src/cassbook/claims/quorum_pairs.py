"""When the replicas that a read asks and those that a write waited for have one in common: what the papers share."""

from __future__ import annotations

from itertools import product
from math import comb

from cassbook.claims.interval import Interval, exactly
from cassbook.claims.statement import Count
from cassbook.core.consistency import STRONG_SETTINGS, replicas_waited_for

#: Copies of each row in the clusters of the papers: 'a replication factor of 3'.
REPLICATION_FACTOR = 3
#: (replicas read, replicas written).
QuorumPair = tuple[int, int]


def pairs(replicas: int) -> list[QuorumPair]:
    """Every pair of numbers of replicas read and written, 1 to `replicas` each."""
    counts = range(1, replicas + 1)
    return list(product(counts, counts))


def strong(pair: QuorumPair, replicas: int) -> bool:
    """Whether R + W > N."""
    return sum(pair) > replicas


def strong_pairs(replicas: int = REPLICATION_FACTOR) -> list[QuorumPair]:
    """Every pair with R + W > N, N being `replicas`.

    >>> len(strong_pairs())
    6
    """
    return [pair for pair in pairs(replicas) if strong(pair, replicas)]


def compared_settings() -> Count:
    """Settings that the 2020 paper compares, and the thesis after it, with R + W > 3."""
    waited = [
        (replicas_waited_for(s.read_cl, REPLICATION_FACTOR), replicas_waited_for(s.write_cl, REPLICATION_FACTOR))
        for s in STRONG_SETTINGS
    ]
    return Count(sum(strong(pair, REPLICATION_FACTOR) for pair in waited), len(waited))


def chance_to_meet(pair: QuorumPair, replicas: int) -> Interval:
    """Chance that a read asks a replica that the write waited for, both chosen at random (hypergeometric)."""
    read, write = pair
    return 1 - exactly(comb(replicas - write, read)) / comb(replicas, read)


def fewest_missing(level: str) -> int:
    """Fewest replicas, of REPLICATION_FACTOR, that must not answer for a request at a level to fail."""
    return REPLICATION_FACTOR - replicas_waited_for(level, REPLICATION_FACTOR) + 1
