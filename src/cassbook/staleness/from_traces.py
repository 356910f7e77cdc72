"""A prediction from traced requests: every traced write with every traced read.

In place of four independent distributions whole requests are drawn, so that what belongs together in a request stays
together: which replicas a read asks, which of them is the coordinator itself, and that a slow moment of a write delays
all its replicas. What is not kept is what a write and the read after it have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cassbook.core.consistency import check_replicas
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate, binomial_bounds
from cassbook.core.types import Floats
from cassbook.staleness.message_delays import MessageDelays
from cassbook.staleness.wars import Wars, empirical

_DRAWS = 200
_HALF_A_PAIRING = 0.5
_NOTHING = Estimate(0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Traced:
    """Traced writes and reads of one cluster under one load.

    Attributes
    ----------
    writes : MessageDelays
        At any level: a write goes to all replicas.
    reads : MessageDelays
        At the level of R: whom a read asks depends on it.
    r, w : int
        How many answers read and write wait for.
    by_client : bool
        Count t from the client's acknowledgement to the client's sending, as the probe does; else from the commit at
        one coordinator to the start at the other. After the commit comes the way back, and before that, where the last
        answer waited for is another node's, what the coordinator takes to wake up; before the start the way there.
        Either way is taken to be half of what the client waited beyond the coordinator's own time.
    tracing_ms : Estimate
        What tracing adds to a request, and so to the time until a write is there; it is taken off.
    moment : float
        When within what is not known writes are applied and reads look: 0 in the middle, 1 writes late and reads soon
        (the least consistent reading of the traces), -1 the other way round.

    Raises
    ------
    InputError
        For numbers that do not fit together.
    """

    writes: MessageDelays
    reads: MessageDelays
    r: int
    w: int
    by_client: bool = True
    tracing_ms: Estimate = _NOTHING
    moment: float = 0.0

    def __post_init__(self) -> None:
        n = self.writes.there_ms.shape[1]
        check_replicas(self.r, self.w, n)
        if (np.isfinite(self.reads.back_ms).sum(axis=1) < self.r).any():
            raise InputError(f"r: {self.r}, but some traced reads asked fewer replicas; trace them at that level")
        if not self.pairs:
            raise InputError("traces: no write and read had different coordinators")

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Coordinators of a write and of a read through another."""
        writers, readers = (np.unique(delays.coordinator).tolist() for delays in (self.writes, self.reads))
        return [(writer, reader) for writer in writers for reader in readers if writer != reader]

    @cached_property
    def needed_ms(self) -> dict[tuple[int, int], Floats]:
        """By pair, what t each read would have needed after each write, shape (writes, reads)."""
        return {(writer, reader): self._needed(writer, reader) for writer, reader in self.pairs}

    def _needed(self, writer: int, reader: int) -> Floats:
        a, b = self.writes.coordinator == writer, self.reads.coordinator == reader
        applied = self.writes.there_ms[a] + self.moment * self.writes.uncertain_ms[a]
        looked = self.reads.there_ms[b] - self.moment * self.reads.uncertain_ms[b]
        last = np.argsort(self.writes.back_ms[a], axis=1, kind="stable")[:, self.w - 1]
        committed = self.writes.back_ms[a][np.arange(int(a.sum())), last]
        first = np.argsort(self.reads.back_ms[b], axis=1, kind="stable")[:, : self.r]
        rows = np.arange(len(looked))
        needed = np.full((len(applied), len(looked)), np.inf)
        for k in range(self.r):
            np.minimum(needed, applied[:, first[:, k]] - looked[rows, first[:, k]], out=needed)
        needed -= committed[:, None]
        if self.by_client:
            woken = np.where(last == writer, 0.0, self.writes.after_ms[a])
            acknowledged = woken + self.writes.outside_ms[a] / 2
            needed -= acknowledged[:, None] + self.reads.outside_ms[b][None, :] / 2
        return np.maximum(needed - self._tracing_ms, 0.0)

    @property
    def _tracing_ms(self) -> float:
        """What tracing costs: little of it where reads are to be as little consistent as the traces allow."""
        cost = self.tracing_ms
        return float(np.interp(self.moment, [-1.0, 0.0, 1.0], [cost.high, cost.value, cost.low]))

    @cached_property
    def _ordered(self) -> dict[tuple[int, int], Floats]:
        return {pair: np.sort(needed, axis=None) for pair, needed in self.needed_ms.items()}

    def of_pair(self, t_ms: Floats, writer: int, reader: int) -> Floats:
        """P(consistent) at some times through two coordinators (a `curves.Predictor`).

        Raises
        ------
        InputError
            If no such pair was traced.
        """
        if (writer, reader) not in self._ordered:
            raise InputError(f"traces: none of a write through node {writer} and a read through node {reader}")
        needed = self._ordered[writer, reader]
        return np.asarray(np.searchsorted(needed, t_ms, side="right") / needed.size)

    def p_consistent(self, t_ms: float) -> float:
        """P(consistent) at t, every pair of coordinators as often."""
        return float(np.mean([self.of_pair(np.array([t_ms]), *pair)[0] for pair in self.pairs]))

    def p_consistent_estimates(self, t_ms: ArrayLike, seed: int = 0) -> list[Estimate]:
        """As `p_consistent` for several times, with intervals.

        They hold what another set of traces would have said (writes and reads of each coordinator drawn again and
        again, a bootstrap), what one trace leaves open (`moment` from 1, for the lower bound, to -1) and how well it
        is known what tracing costs.
        """
        times = np.atleast_1d(np.asarray(t_ms, dtype=float))
        low = replace(self, moment=1.0)._drawn(times, seed, 0.025)
        high = replace(self, moment=-1.0)._drawn(times, seed, 0.975)
        values = [self.p_consistent(float(t)) for t in times]
        n = len(self.writes) + len(self.reads)
        return [
            Estimate(value, min(value, float(below)), max(value, float(above)), n)
            for value, below, above in zip(values, low, high, strict=True)
        ]

    @property
    def pairings(self) -> int:
        """Number of pairs of a traced write and a traced read that a prediction counts."""
        return sum(needed.size for needed in self.needed_ms.values())

    def stale_estimate(self, t_ms: float) -> Estimate:
        """Probability that a read is stale at t, with its interval: the rest of `p_consistent_estimates`.

        Redrawn traces cannot hold what no trace has met. So where fewer than one in as many pairings as have no trace
        in common is stale, the upper bound is at least the binomial one of so many.
        """
        fresh = self.p_consistent_estimates([t_ms])[0]
        value, low, high = (max(0.0, 1 - p) for p in (fresh.value, fresh.high, fresh.low))
        value = value if value * self.pairings > _HALF_A_PAIRING else 0.0  # what is left of sums of parts
        apart = min(len(self.writes), len(self.reads))
        if value * apart < 1:
            high = max(high, float(binomial_bounds(value, apart)[1]))
        return Estimate(value, low, high, apart)

    def _drawn(self, times: Floats, seed: int, q: float) -> Floats:
        """A quantile of P(consistent) over redrawn traces, by time."""
        random = np.random.default_rng(seed)
        writers, readers = (
            {
                coordinator: _redrawn(int((delays.coordinator == coordinator).sum()), random)
                for coordinator in np.unique(delays.coordinator).tolist()
            }
            for delays in (self.writes, self.reads)
        )
        drawn = np.zeros((len(times), _DRAWS))
        for (writer, reader), needed in self.needed_ms.items():
            for place, t in enumerate(times):
                met = writers[writer] @ (needed <= t).astype(float)
                drawn[place] += np.einsum("br,br->b", met, readers[reader])
        return np.asarray(np.quantile(drawn / len(self.pairs), q, axis=1))

    def t_visibility(self, p: float) -> float:
        """Time in ms from which on a read is consistent with probability p."""
        if not 0 < p <= 1:
            raise InputError(f"p: {p!r} is no probability above 0")
        values = np.concatenate(list(self._ordered.values()))
        weights = np.concatenate([np.full(needed.size, 1 / needed.size) for needed in self._ordered.values()])
        order = np.argsort(values)
        reached = np.cumsum(weights[order]) >= p * len(self.pairs) - 1e-9
        return float(values[order][np.argmax(reached)])

    def read_latency(self, q: float) -> float:
        """Quantile of the time until R replicas have answered, at the coordinator, ms."""
        return float(np.quantile(np.sort(self.reads.back_ms, axis=1)[:, self.r - 1], q))

    def write_latency(self, q: float) -> float:
        """Quantile of the time until W replicas have acknowledged, at the coordinator, ms."""
        return float(np.quantile(np.sort(self.writes.back_ms, axis=1)[:, self.w - 1], q))


def _redrawn(count: int, random: np.random.Generator) -> Floats:
    """How often each of so many is drawn, as a part of all: shape (draws, count)."""
    drawn = random.multinomial(count, np.full(count, 1 / count), _DRAWS)
    return np.asarray(drawn / count)


def of_row(writes: MessageDelays, reads: MessageDelays, r: int, w: int, tracing_ms: Estimate = _NOTHING) -> Traced:
    """Return what traces of one row predict.

    No read goes through the node that coordinates its writes, so that each read may follow each write; all count alike.
    """
    elsewhere = np.full_like(reads.coordinator, writes.there_ms.shape[1])
    return Traced(writes, replace(reads, coordinator=elsewhere), r, w, tracing_ms=tracing_ms)


def as_wars(writes: MessageDelays, reads: Sequence[MessageDelays]) -> Wars:
    """Return the same traces as four independent distributions, all replicas in one: what the paper's method takes.

    Parameters
    ----------
    writes : MessageDelays
    reads : sequence of MessageDelays
        At one level or more.
    """
    there, back = _answered(writes)
    asks, answers = (
        np.concatenate([_answered(read)[0] for read in reads]),
        np.concatenate([_answered(read)[1] for read in reads]),
    )
    return Wars(empirical(there), empirical(back), empirical(asks), empirical(answers))


def _answered(delays: MessageDelays) -> tuple[Floats, Floats]:
    answered = np.isfinite(delays.back_ms)
    there = delays.there_ms[answered]
    return np.maximum(there, 0.0), np.maximum(delays.back_ms[answered] - there, 0.0)
