"""Probabilistically bounded staleness, predicted (Bailis et al., VLDB 2012).

A write commits when W of N replicas have acknowledged it. A read that starts t later takes the first R answers, and is
consistent if one of these replicas had the write when the read reached it. What the method takes for granted, and what
each of it does to the answer:

* *Replicas that a write has not reached within the trial never get it otherwise*: no read repair, no hints, no repair
  runs. All of these make reads more often consistent, so that the prediction is low.
* *Quorums do not expand* for k-staleness in closed form: a write stays on the W replicas that acknowledged it. The
  others get it too, so that this is low as well; with t it is not needed.
* *The delays are independent*, between replicas, between a write and the read after it, and between versions. A node
  that is slow for both is late for the write and late to answer, so that its late answers do not count; a pause of
  everything delays write and read alike. In either case the prediction is low; a slow node that answers reads fast and
  applies writes late makes it high.
* *A read asks all N and takes the first R answers.* Cassandra asks R of them only, unless read repair strikes:
  `ask='r'`, with its chance. The first to answer tend to be those that were asked soonest, so that R drawn by chance
  are a little more often consistent; where one replica is near and the others are not, much more often.
* *There is one coordinator for a write and another for its read*, and neither holds a replica at no distance: offsets
  say otherwise where that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from cassbook.core.consistency import check_replicas
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.types import Floats
from cassbook.core.words import counted
from cassbook.staleness import monte_carlo as compiled
from cassbook.staleness.wars import Delay, Mixture, Wars, wars_of

_CHUNK = 200_000  # trials of a sampler at a time
_Z = float(ndtri(0.975))
_MOST_REPLICAS = 64


@dataclass(frozen=True, eq=False)
class Prediction:
    """Counts of so many trials; every quantile to 1 / 512 of its value.

    Attributes
    ----------
    n, r, w, trials : int
    counts : ndarray, shape (3, BINS)
        Histograms of needed time, read latency and write latency.
    """

    n: int
    r: int
    w: int
    trials: int
    counts: NDArray[np.int64]

    @cached_property
    def _upto(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts, axis=1)

    def p_consistent(self, t_ms: float) -> float:
        """Probability that a read which starts t ms after the commit is consistent."""
        return self._part(compiled.NEEDED, t_ms)

    def p_consistent_estimate(self, t_ms: float) -> Estimate:
        """`p_consistent` with its interval, by the number of trials."""
        return Estimate.share(self.p_consistent(t_ms) * self.trials, self.trials)

    def t_visibility(self, p: float) -> float:
        """Time in ms after the commit from which on a read is consistent with probability p.

        Raises
        ------
        InputError
            Unless 0 < p < 1, or p is 1 and quorums meet.
        """
        if p == 1 and self.r + self.w > self.n:
            return 0.0
        return self._quantile(compiled.NEEDED, p)

    def t_visibility_estimate(self, p: float) -> Estimate:
        """`t_visibility` with its interval, by the number of trials."""
        return self._quantile_estimate(compiled.NEEDED, p)

    def read_latency(self, q: float) -> float:
        """Quantile of the time until R replicas have answered, in ms."""
        return self._quantile(compiled.READ, q)

    def read_latency_estimate(self, q: float) -> Estimate:
        """`read_latency` with its interval, by the number of trials."""
        return self._quantile_estimate(compiled.READ, q)

    def write_latency(self, q: float) -> float:
        """Quantile of the time until W replicas have acknowledged, in ms."""
        return self._quantile(compiled.WRITE, q)

    def write_latency_estimate(self, q: float) -> Estimate:
        """`write_latency` with its interval, by the number of trials."""
        return self._quantile_estimate(compiled.WRITE, q)

    def _part(self, what: int, ms: float) -> float:
        """Part of the trials with no more than so many ms; within a bin linearly."""
        if not ms >= 0:
            raise InputError(f"t: {ms!r} ms is no time after a commit; give 0 or more")
        edges, upto = _EDGES_MS, self._upto[what]
        place = int(np.searchsorted(edges, ms, side="right")) - 1  # the last bin that is all below
        part = float(upto[place])
        if place + 1 < edges.size - 1:
            width = edges[place + 1] - edges[place]
            part += float(self.counts[what, place + 1]) * (ms - edges[place]) / width
        return part / self.trials

    def _quantile(self, what: int, q: float) -> float:
        if not 0 < q < 1:
            raise InputError(f"quantile: {q!r} is not between 0 and 1")
        return self._at(what, q)

    def _at(self, what: int, q: float) -> float:
        rank, upto, edges = q * self.trials, self._upto[what], _EDGES_MS
        place = int(np.searchsorted(upto, rank, side="left"))
        if place == 0:
            return 0.0
        low, high = float(edges[place - 1]), float(edges[place])
        inside = (rank - upto[place - 1]) / self.counts[what, place]
        return low + (high - low) * float(inside) if np.isfinite(high) else low

    def _quantile_estimate(self, what: int, q: float) -> Estimate:
        value = self._quantile(what, q)
        half = _Z * np.sqrt(q * (1 - q) / self.trials)
        low, high = (self._at(what, float(np.clip(q + sign * half, 0, 1))) for sign in (-1, 1))
        return Estimate(value, low, high, self.trials)


_EDGES_MS = compiled.edges_ms()


def predict(
    wars: Wars | str | Sequence[Delay],
    n: int,
    r: int,
    w: int,
    trials: int = 1_000_000,
    seed: int = 0,
    ask: Literal["all", "r"] = "all",
    repair_chance: float = 0.0,
) -> Prediction:
    """Predict t-visibility and latency by Monte Carlo.

    Parameters
    ----------
    wars : Wars, str, or four of Mixture or Sampler
        The four delays, or the name of a production fit ('LNKD-SSD', 'LNKD-DISK', 'YMMR', 'WAN').
    n, r, w : int
        Replicas, and how many of them a read and a write wait for.
    trials : int
    seed : int
        The same seed gives the same figures, on any number of processors.
    ask : str
        Whom a read asks: 'all' N, taking the first R answers as in the paper, or 'r' of them as Cassandra does.
    repair_chance : float
        With 'r': how often all are asked after all (`read_repair_chance`).

    Raises
    ------
    InputError
        For numbers that do not fit together.
    """
    delays = wars_of(wars)
    _check(delays, n, r, w, trials, ask, repair_chance)
    mode = compiled.ALL_ASKED if ask == "all" else compiled.R_ASKED
    if delays.parametric:
        return Prediction(n, r, w, trials, compiled.parametric(delays, n, r, w, trials, seed, mode, repair_chance))
    return Prediction(n, r, w, trials, _sampled(delays, n, r, w, trials, seed, ask, repair_chance))


def _check(wars: Wars, n: int, r: int, w: int, trials: int, ask: str, repair_chance: float) -> None:
    if not 1 <= n <= _MOST_REPLICAS:
        raise InputError(f"n: {counted(n, 'replica')}; use 1 to {_MOST_REPLICAS}")
    check_replicas(r, w, n)
    if trials < 1:
        raise InputError(f"trials: {trials}; there must be one at least")
    if ask not in {"all", "r"}:
        raise InputError(f"ask: {ask!r}; use 'all' or 'r'")
    if not 0 <= repair_chance <= 1:
        raise InputError(f"repair_chance: {repair_chance!r} is no probability")
    if wars.offsets_ms and len(wars.offsets_ms) != n:
        raise InputError(f"offsets_ms: {len(wars.offsets_ms)} for {counted(n, 'replica')}")
    if not all(ms >= 0 for ms in (wars.far_ms, *wars.offsets_ms)):
        raise InputError("far_ms and offsets_ms are not negative")


def _sampled(
    wars: Wars, n: int, r: int, w: int, trials: int, seed: int, ask: str, repair_chance: float
) -> NDArray[np.int64]:
    """As `monte_carlo.parametric`, with delays that are drawn by functions; a chunk of trials at a time."""
    random = np.random.default_rng(seed)
    counts = np.zeros((3, compiled.BINS), np.int64)
    for begun in range(0, trials, _CHUNK):
        size = min(_CHUNK, trials - begun)
        times = np.stack([_draw(delay, random, (n, size)) for delay in wars.delays])
        if wars.far_ms:
            for half in (slice(0, 2), slice(2, 4)):
                times[half] += wars.far_ms * (np.arange(n)[:, None] != random.integers(n, size=size))
        if wars.offsets_ms:
            times += np.asarray(wars.offsets_ms)[:, None]
        if ask == "r":
            order = random.permuted(np.tile(np.arange(n)[:, None], (1, size)), axis=0)
            times = np.take_along_axis(times, order[None], axis=1)
            times[2, r:, random.random(size) >= repair_chance] = np.inf
        compiled.add_drawn(times, r, w, counts)
    return counts


def _draw(delay: Delay, random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    if isinstance(delay, Mixture):
        return _mixed(delay, random, shape)
    drawn = np.asarray(delay(random, shape), dtype=float)
    if drawn.shape != shape:
        raise InputError(f"wars: a sampler returned shape {drawn.shape}, it was asked for {shape}")
    if not (np.isfinite(drawn).all() and (drawn >= 0).all()):
        raise InputError("wars: a sampler drew a time that is negative or not finite")
    return drawn


def _mixed(delay: Mixture, random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw from a mixture with NumPy: for delays next to one that is a function, and to hold the fast path against."""
    weights = np.array([weight for weight, _ in delay.parts])
    chosen = random.choice(weights.size, size=shape, p=weights / weights.sum())
    delays = np.empty(shape)
    for k, (_, part) in enumerate(delay.parts):
        drawn = chosen == k
        count = int(drawn.sum())
        if part.kind == compiled.EXPONENTIAL:
            delays[drawn] = random.exponential(part.first, count)
        elif part.kind == compiled.PARETO:
            delays[drawn] = part.first * np.exp(random.exponential(part.second, count))
        elif part.samples is not None:
            delays[drawn] = random.choice(part.samples, count)
        else:
            delays[drawn] = part.first + part.second * random.random(count)
    return delays + delay.offset_ms


def k_staleness(n: int, r: int, w: int, k: int) -> float:
    """Probability that a read returns one of the last k versions, if quorums do not expand (section 3.1).

    1 - (C(N - W, R) / C(N, R))^k: each of the last k versions is on W replicas of its own, and R random ones have none.

    Raises
    ------
    InputError
        For numbers that do not fit together.

    Examples
    --------
    >>> round(k_staleness(3, 1, 1, 1), 4), round(k_staleness(3, 1, 1, 3), 4), k_staleness(3, 2, 2, 1)
    (0.3333, 0.7037, 1.0)
    """
    check_replicas(r, w, n)
    _check_versions(k)
    return 1 - float(comb(n - w, r) / comb(n, r)) ** k


def _check_versions(k: int) -> None:
    if k < 1:
        raise InputError(f"k: {k}; the last version is k = 1")


def k_staleness_simulated(n: int, r: int, w: int, k: int, trials: int = 100_000, seed: int = 0) -> Estimate:
    """As `k_staleness`, by drawing the quorums of k versions and of a read."""
    random = np.random.default_rng(seed)
    read = random.permuted(np.tile(np.arange(n) < r, (trials, 1)), axis=1)
    met = np.zeros(trials, dtype=bool)
    for _ in range(k):
        met |= (read & random.permuted(np.tile(np.arange(n) < w, (trials, 1)), axis=1)).any(axis=1)
    return Estimate.share(int(met.sum()), trials)


def k_t_staleness(prediction: Prediction, k: int, t_ms: float, between_ms: float = 0.0) -> float:
    """Probability that a read t ms after the last commit returns one of the last k versions.

    Section 3.4 of the paper, whose versions are independent and committed at one moment (`between_ms` of 0): a bound
    from below. With an interval between commits an older version has had so much longer to spread.
    """
    _check_versions(k)
    missed = [1 - prediction.p_consistent(t_ms + older * between_ms) for older in range(k)]
    return 1 - float(np.prod(missed))


def monotonic_reads(n: int, r: int, w: int, writes_per_read: float) -> float:
    """Probability that a client's next read is no older than its last (section 3.2).

    Between two reads of the client `writes_per_read` versions are written, so that k is 1 more than that.
    """
    if not writes_per_read >= 0:
        raise InputError(f"writes_per_read: {writes_per_read!r} must be 0 or more")
    return 1 - (comb(n - w, r) / comb(n, r)) ** (1 + writes_per_read)


def p_consistent_over(prediction: Prediction, t_ms: ArrayLike) -> Floats:
    """`Prediction.p_consistent` at several times, shape as asked."""
    times = np.asarray(t_ms, dtype=float)
    return np.array([prediction.p_consistent(float(t)) for t in times.ravel()]).reshape(times.shape)
