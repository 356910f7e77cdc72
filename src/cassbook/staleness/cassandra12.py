"""How the predictor inside Cassandra 1.2 (`PBSPredictor`) answers, done again on known latencies.

Read from its source, so that what its answer leaves out can be distinguished. It logs when every answer that came over
the network was made and when it came, by the nodes' clocks in whole milliseconds. A coordinator's own replica sends no
message and is not there, nor is a replica that another one has handed the write on to. Its trials differ from those of
the paper:

* Latencies are sorted within each request, W, A, R and S each for itself, and kept by rank, 1 to N; trials ask for
  ranks 0 to N - 1, and any rank is taken in place of one that is not there. Cassandra gives every message a number of
  its own, though, and what it logs goes by that number: each is a request of one answer, of rank 1. So all are drawn
  from one distribution, and nothing is left of ranks. (`Logged` with one column is what it has; with more, what it
  was meant to have.)
* A read draws R replicas and uses all of them: Cassandra's way, not the first R of N.
* Of k versions it says 1 - (1 - p)^k, as if each had spread for t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cassbook.core.errors import InputError
from cassbook.core.types import Floats

#: Its default.
TRIALS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """Latencies of requests, in ms, one row per request, one column per answer; NaN where there were fewer.

    Attributes
    ----------
    w_ms, a_ms : ndarray, shape (writes, n)
        From the write's start to the answer's making, and from there to its coming.
    r_ms, s_ms : ndarray, shape (reads, m)
        Likewise for reads.
    """

    w_ms: Floats
    a_ms: Floats
    r_ms: Floats
    s_ms: Floats

    def in_whole_ms(self, rng: np.random.Generator) -> Logged:
        """Return it as clocks that count whole milliseconds see it, requests beginning anywhere between two ticks."""
        return Logged(*_ticked(self.w_ms, self.a_ms, rng), *_ticked(self.r_ms, self.s_ms, rng))


def _ticked(there_ms: Floats, back_ms: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    phase_ms = rng.random((len(there_ms), 1))
    made_ms = np.floor(phase_ms + there_ms)
    return made_ms, np.floor(phase_ms + there_ms + back_ms) - made_ms


def p_consistent(
    logged: Logged, n: int, r: int, w: int, t_ms: ArrayLike, k: int = 1, trials: int = TRIALS, seed: int = 0
) -> Floats:
    """Answer as Cassandra's predictor does.

    Parameters
    ----------
    logged : Logged
    n, r, w : int
        Replicas; waited for by reads and by writes.
    t_ms : array_like
        Since the write's acknowledgement.
    k : int
        Versions.
    trials, seed : int

    Returns
    -------
    ndarray, shape of `t_ms`

    Raises
    ------
    InputError
        For R or W that do not fit, or without latencies.
    """
    if not (1 <= r <= n and 1 <= w <= n and k >= 1):
        raise InputError(f"predictor: r and w must be 1 to {n}, k at least 1; got {r}, {w}, {k}")
    rng = np.random.default_rng(seed)
    w_ms, a_ms = (_drawn(_by_rank(logged_ms), n, trials, rng) for logged_ms in (logged.w_ms, logged.a_ms))
    r_ms = _drawn(_by_rank(logged.r_ms), r, trials, rng)
    committed_ms = np.sort(w_ms + a_ms, axis=1)[:, w - 1]
    needed_ms = (w_ms[:, :r] - r_ms).min(axis=1) - committed_ms
    at_ms = np.asarray(t_ms, dtype=float)
    p = np.searchsorted(np.sort(needed_ms), at_ms, side="right") / trials
    return np.asarray(1 - (1 - p) ** k)


def _by_rank(latencies_ms: Floats) -> list[Floats]:
    """First, second, ... latency of each request, over all requests that have so many."""
    ordered = np.sort(latencies_ms, axis=1)
    ranks = [column[~np.isnan(column)] for column in ordered.T]
    known = [rank for rank in ranks if rank.size]
    if not known:
        raise InputError("predictor: no latencies were logged; requests must go over the network")
    return known


def _drawn(ranks: list[Floats], count: int, trials: int, rng: np.random.Generator) -> Floats:
    """Latencies of ranks 0 to count - 1, shape (trials, count)."""
    latencies_ms = np.empty((trials, count))
    for rank in range(count):
        if 1 <= rank <= len(ranks):
            latencies_ms[:, rank] = rng.choice(ranks[rank - 1], trials)
        else:
            which = rng.integers(len(ranks), size=trials)
            latencies_ms[:, rank] = np.stack([rng.choice(known, trials) for known in ranks])[which, np.arange(trials)]
    return latencies_ms
