"""When the replicas that a read asks and those that a write waited for have one in common."""

from __future__ import annotations

from itertools import product
from math import comb

from cassbook.claims.interval import Interval, exactly

#: (replicas read, replicas written).
Couple = tuple[int, int]


def couples(replicas: int) -> list[Couple]:
    """Every pair of numbers of replicas read and written, 1 to `replicas` each."""
    counts = range(1, replicas + 1)
    return list(product(counts, counts))


def strong(couple: Couple, replicas: int) -> bool:
    """Whether R + W > N."""
    return sum(couple) > replicas


def chance_to_meet(couple: Couple, replicas: int) -> Interval:
    """Chance that a read asks a replica that the write waited for, both chosen at random (hypergeometric)."""
    read, write = couple
    return 1 - exactly(comb(replicas - write, read)) / comb(replicas, read)


def name(couple: Couple) -> str:
    """As the papers name a setting.

    >>> name((1, 3))
    '1R-3W'
    """
    return f"{couple[0]}R-{couple[1]}W"
