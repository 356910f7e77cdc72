"""Random orders of variants in which each follows each of the others about equally often."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

#: Up to so many variants all orders of a round are weighed; of more, as many are drawn.
_ALL_ORDERS = 5


def balanced_order(variants: int, rounds: int, seed: Sequence[int]) -> tuple[int, ...]:
    """Draw the order of variants, round by round, so that each follows each of the others about equally often.

    `variants` and `rounds`: a round has each variant once. No variant follows itself where there is another.

    It has `variants` x `rounds` places. Each round is drawn among those orders that leave the counts of
    (predecessor, successor) most even.
    """
    rng = np.random.default_rng(list(seed))
    follows = np.zeros((variants, variants), dtype=np.int64)
    order: list[int] = []
    for _ in range(rounds):
        drawn = _candidates(variants, rng)
        costs = [_unevenness(follows, order[-1:], candidate) for candidate in drawn]
        best = [candidate for candidate, cost in zip(drawn, costs, strict=True) if cost == min(costs)]
        chosen = best[rng.integers(len(best))]
        for before, after in itertools.pairwise([*order[-1:], *chosen]):
            follows[before, after] += 1
        order += chosen
    return tuple(order)


def _candidates(variants: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    if variants <= _ALL_ORDERS:
        return list(itertools.permutations(range(variants)))
    return [tuple(map(int, rng.permutation(variants))) for _ in range(math.factorial(_ALL_ORDERS))]


def _unevenness(follows: np.ndarray, last: list[int], candidate: tuple[int, ...]) -> float:
    """Sum of squares of how often each follows each, with this round; infinite if one followed itself."""
    counts = follows.copy()
    for before, after in itertools.pairwise([*last, *candidate]):
        if before == after:
            return math.inf
        counts[before, after] += 1
    return float((counts**2).sum())
