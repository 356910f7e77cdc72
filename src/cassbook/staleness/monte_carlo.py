"""Monte Carlo over WARS, compiled: one pass, every trial put into histograms of a fixed size.

The time a trial needs, after its write committed, until a read meets it is known at once (`needed` below), so that no
sweep over t is made: its histogram holds t-visibility for every t and p. Trials are drawn a few at a time, replica by
replica, so that choosing the first answers is the same few instructions for all of them, without a branch.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numba import njit
from numpy.typing import NDArray

from cassbook.core.random import evenly, exponential, streams
from cassbook.core.types import Floats
from cassbook.staleness.wars import EMPIRICAL, EXPONENTIAL, PARETO, Mixture, Wars

#: Parts that each power of two is cut into: a bin is at most 1 / 512 of its value wide.
SUBDIVISIONS = 512
_LEAST, _MOST = -20, 32  # powers of two of a millisecond: from a nanosecond to fifty days
BINS = (_MOST - _LEAST) * SUBDIVISIONS + 2
NEEDED, READ, WRITE = range(3)
#: Whom a read asks.
ALL_ASKED, R_ASKED = 0, 1
#: Streams of random numbers: many enough for any processor, and the same on each, so that a seed says it all.
_STREAMS = 64
_BATCH = 128  # trials whose delays stay in the processor's nearest memory
#: A float64 without its last 43 bits counts steps of 1 / 512 of a power of two; so many of them are below bin 1.
_DROPPED, _BELOW = 43, (1022 + _LEAST) * SUBDIVISIONS


def edges_ms() -> Floats:
    """Upper bound of each bin in ms, shape (BINS,); bin 0 holds what is exactly 0, the last all that is more."""
    powers, parts = np.divmod(np.arange(BINS - 2), SUBDIVISIONS)
    upper = np.ldexp(0.5 + (parts + 1) / (2 * SUBDIVISIONS), powers + _LEAST)
    return np.concatenate([[0.0], upper, [np.inf]])


@njit(cache=True)
def _count(ms, size, histogram):  # type: ignore[no-untyped-def]
    """Put times into their bins; none is negative."""
    bits = ms.view(np.int64)
    for t in range(size):
        place = (bits[t] >> _DROPPED) - _BELOW + 1
        place = min(max(place, 1), BINS - 1)
        histogram[place if bits[t] else 0] += 1


@njit(cache=True)
def _judge(times, size, r, w, carried, met, kept, fresh, histograms):  # type: ignore[no-untyped-def]
    """Judge trials, `times` of shape (4, n, size or more), and count them; the next four are for its own use."""
    n = times.shape[1]
    kept[:w] = np.inf
    for i in range(n):
        for t in range(size):
            carried[t] = times[0, i, t] + times[1, i, t]
        for k in range(w):  # each goes down to its place among the first w
            for t in range(size):
                low = min(kept[k, t], carried[t])
                carried[t] = max(kept[k, t], carried[t])
                kept[k, t] = low
    committed = kept[w - 1].copy()
    kept[:r], fresh[:r] = np.inf, np.inf
    for i in range(n):
        for t in range(size):
            carried[t] = times[2, i, t] + times[3, i, t]
            met[t] = times[0, i, t] - times[2, i, t]
        for k in range(r):
            for t in range(size):
                sooner = carried[t] < kept[k, t]
                low, high = (carried[t], kept[k, t]) if sooner else (kept[k, t], carried[t])
                with_low, with_high = (met[t], fresh[k, t]) if sooner else (fresh[k, t], met[t])
                kept[k, t], carried[t], fresh[k, t], met[t] = low, high, with_low, with_high
    for k in range(1, r):
        for t in range(size):
            fresh[0, t] = min(fresh[0, t], fresh[k, t])
    for t in range(size):
        met[t] = max(0.0, fresh[0, t] - committed[t])
    _count(met, size, histograms[NEEDED])
    _count(kept[r - 1], size, histograms[READ])
    _count(committed, size, histograms[WRITE])


@njit(inline="always")
def _drawn(s, kind, first, second, begin, size, samples):  # type: ignore[no-untyped-def]
    if kind == EXPONENTIAL:
        x, s = exponential(s)
        return x * first, s
    if kind == PARETO:
        x, s = exponential(s)
        return first * math.exp(x * second), s
    chance, s = evenly(s)
    if kind == EMPIRICAL:
        return samples[begin + int(chance * size)], s
    return first + chance * second, s


@njit(cache=True)
def _fill(times, s, delay, packed):  # type: ignore[no-untyped-def]
    """Draw a delay for all replicas of a batch; returns the state of the random numbers after it."""
    counts, kinds, upto, first, second, samples, at, offsets = packed
    offset = offsets[delay]
    if counts[delay] == 1 and kinds[delay, 0] == EXPONENTIAL:  # what is drawn most often, without a question
        mean = first[delay, 0]
        for i in range(times.shape[1]):
            for t in range(_BATCH):
                x, s = exponential(s)
                times[delay, i, t] = x * mean + offset
        return s
    for i in range(times.shape[1]):
        for t in range(_BATCH):
            part = 0
            if counts[delay] > 1:
                chance, s = evenly(s)
                while chance >= upto[delay, part]:
                    part += 1
            x, s = _drawn(
                s,
                kinds[delay, part],
                first[delay, part],
                second[delay, part],
                at[delay, part, 0],
                at[delay, part, 1],
                samples,
            )
            times[delay, i, t] = x + offset
    return s


@njit(cache=True)
def _move(times, s, far_ms, farther):  # type: ignore[no-untyped-def]
    """Move replicas to where they are: one near for the write and one for the read, and each with its own offset."""
    n = times.shape[1]
    if far_ms > 0.0:
        for half in range(2):
            for t in range(_BATCH):
                chance, s = evenly(s)
                near = int(chance * n)
                for i in range(n):
                    if i != near:
                        times[2 * half, i, t] += far_ms
                        times[2 * half + 1, i, t] += far_ms
    for i in range(farther.size):
        times[:, i] += farther[i]
    return s


@njit(cache=True)
def _ask_few(times, s, r, repair_chance, alike):  # type: ignore[no-untyped-def]
    """Let reads ask r replicas drawn by chance, but for those that read repair has ask all: the others never answer."""
    n = times.shape[1]
    for t in range(_BATCH):
        if not alike:  # otherwise any r replicas are as good as the first
            for i in range(r):
                chance, s = evenly(s)
                j = i + int(chance * (n - i))
                for delay in range(4):
                    times[delay, i, t], times[delay, j, t] = times[delay, j, t], times[delay, i, t]
        struck = False
        if repair_chance > 0.0:
            chance, s = evenly(s)
            struck = chance < repair_chance
        if not struck:
            for i in range(r, n):
                times[2, i, t] = np.inf
    return s


@njit(nogil=True, cache=True)
def _run(begin, step, trials, states, n, r, w, mode, repair_chance, far_ms, farther, packed, histograms):  # type: ignore[no-untyped-def]
    alike = far_ms == 0.0 and farther.size == 0
    for stream in range(begin, states.shape[0], step):
        s = (states[stream, 0], states[stream, 1], states[stream, 2], states[stream, 3])
        times = np.empty((4, n, _BATCH))
        carried, met = np.empty(_BATCH), np.empty(_BATCH)
        kept, fresh = np.empty((max(r, w), _BATCH)), np.empty((r, _BATCH))
        left = trials // states.shape[0] + (stream < trials % states.shape[0])
        while left > 0:
            for delay in range(4):
                s = _fill(times, s, delay, packed)
            if not alike:
                s = _move(times, s, far_ms, farther)
            if mode == R_ASKED:
                s = _ask_few(times, s, r, repair_chance, alike)
            _judge(times, min(left, _BATCH), r, w, carried, met, kept, fresh, histograms)
            left -= _BATCH


def add_drawn(times: Floats, r: int, w: int, histograms: NDArray[np.int64]) -> None:
    """Count trials whose delays were drawn elsewhere: `times` of shape (4, n, trials), histograms as of `parametric`.

    A replica that a read does not ask has an infinite third delay.
    """
    size = times.shape[2]
    carried, met = np.empty(size), np.empty(size)
    _judge(times, size, r, w, carried, met, np.empty((max(r, w), size)), np.empty((r, size)), histograms)


def _packed(delays: tuple[Mixture, ...]) -> tuple[NDArray[Any], ...]:
    """Mixtures as arrays: delay by part."""
    most = max(len(delay.parts) for delay in delays)
    counts = np.array([len(delay.parts) for delay in delays])
    kinds, at = np.zeros((4, most), np.int64), np.zeros((4, most, 2), np.int64)
    upto, first, second = np.ones((4, most)), np.zeros((4, most)), np.zeros((4, most))
    samples: list[Floats] = [np.empty(0)]
    for k, delay in enumerate(delays):
        weights = np.array([weight for weight, _ in delay.parts])
        upto[k, : weights.size] = np.cumsum(weights) / weights.sum()
        upto[k, weights.size - 1] = 1.0
        for j, (_, part) in enumerate(delay.parts):
            kinds[k, j], first[k, j], second[k, j] = part.kind, part.first, part.second
            if part.samples is not None:
                at[k, j] = sum(map(len, samples)), part.samples.size
                samples.append(part.samples)
    offsets = np.array([delay.offset_ms for delay in delays])
    return counts, kinds, upto, first, second, np.concatenate(samples), at, offsets


def parametric(
    wars: Wars, n: int, r: int, w: int, trials: int, seed: int, mode: int = ALL_ASKED, repair_chance: float = 0.0
) -> NDArray[np.int64]:
    """Run trials of distributions; counts of needed time, read and write latency, shape (3, BINS)."""
    delays = tuple(delay for delay in wars.delays if isinstance(delay, Mixture))
    threads = numba.get_num_threads()
    histograms = np.zeros((threads, 3, BINS), np.int64)
    farther = np.array(wars.offsets_ms, dtype=float)
    drawn = (trials, streams(seed, _STREAMS), n, r, w, mode, repair_chance, wars.far_ms, farther, _packed(delays))

    def run_part(thread: int) -> None:
        _run(thread, threads, *drawn, histograms[thread])

    with ThreadPoolExecutor(threads) as pool:  # the compiled code lets go of the interpreter
        list(pool.map(run_part, range(threads)))
    return np.asarray(histograms.sum(axis=0))
