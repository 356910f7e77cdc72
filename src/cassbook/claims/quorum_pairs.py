"""When the replicas that a read asks and those that a write waited for have one in common: what the papers share."""

from __future__ import annotations

from itertools import product
from math import comb

from cassbook.claims.interval import Interval, exactly
from cassbook.claims.statement import Count
from cassbook.core.consistency import STRONG_SETTINGS, replicas_waited_for

#: Copies of each row in the clusters of the papers: 'a replication factor of 3'.
REPLICATION_FACTOR = 3
#: The consistency levels that the papers compare, from the weakest to the strongest.
#: (replicas read, replicas written).
Couple = tuple[int, int]


def couples(replicas: int) -> list[Couple]:
    """Every pair of numbers of replicas read and written, 1 to `replicas` each."""
    counts = range(1, replicas + 1)
    return list(product(counts, counts))


def strong(couple: Couple, replicas: int) -> bool:
    """Whether R + W > N."""
    return sum(couple) > replicas


def strong_couples(replicas: int = REPLICATION_FACTOR) -> list[Couple]:
    """Every couple with R + W > N, N being `replicas`.

    >>> len(strong_couples())
    6
    """
    return [couple for couple in couples(replicas) if strong(couple, replicas)]


def compared_settings() -> Count:
    """Settings that the 2020 paper compares, and the thesis after it, with R + W > 3."""
    waited = [
        (replicas_waited_for(s.read_cl, REPLICATION_FACTOR), replicas_waited_for(s.write_cl, REPLICATION_FACTOR))
        for s in STRONG_SETTINGS
    ]
    return Count(sum(strong(couple, REPLICATION_FACTOR) for couple in waited), len(waited))


def chance_to_meet(couple: Couple, replicas: int) -> Interval:
    """Chance that a read asks a replica that the write waited for, both chosen at random (hypergeometric)."""
    read, write = couple
    return 1 - exactly(comb(replicas - write, read)) / comb(replicas, read)
