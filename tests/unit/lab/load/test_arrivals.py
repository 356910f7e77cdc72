"""Arrivals: how they spread, and that parts of them are the whole; no clock is asked."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cassbook.lab.load.arrivals import Arrivals, even

RATE_PER_S = 2000.0
#: A test's statistic may be as far out as it is once in so many seeds.
_ALPHA = 1e-3


def drawn(arrivals, count):
    """The first arrivals of a process."""
    return np.array(list(itertools.islice(arrivals.due_s(), count)))


def of_parts(arrivals, parts, until_s):
    """What is due before a moment, part by part."""
    each = (arrivals.thinned(part, parts).due_s() for part in range(parts))
    return [np.array(list(itertools.takewhile(lambda due_s: due_s < until_s, part))) for part in each]


def dispersion(moments_s, width_s):
    """Variance over mean of the counts in intervals of a width, and how many there are."""
    counts = np.bincount((moments_s / width_s).astype(int))[:-1]  # the last is not over
    return counts.var(ddof=1) / counts.mean(), len(counts)


@pytest.mark.parametrize("width_s", [0.002, 0.01, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_counts_of_a_poisson_process_are_as_variable_as_they_are_many(width_s, seed):
    found, intervals = dispersion(drawn(Arrivals("poisson", RATE_PER_S, (seed,)), 50_000), width_s)
    low, high = stats.chi2.ppf([_ALPHA / 2, 1 - _ALPHA / 2], intervals - 1) / (intervals - 1)
    assert low < found < high


@pytest.mark.parametrize("seed", range(3))
def test_its_gaps_are_exponential_and_say_nothing_of_each_other(seed):
    gaps_s = np.diff(drawn(Arrivals("poisson", RATE_PER_S, (seed,)), 20_000))
    assert stats.kstest(gaps_s * RATE_PER_S, "expon").pvalue > _ALPHA
    assert stats.spearmanr(gaps_s[:-1], gaps_s[1:]).pvalue > _ALPHA


def test_even_arrivals_do_not_vary():
    moments_s = drawn(Arrivals("even", RATE_PER_S), 20_000)
    assert moments_s == pytest.approx(np.arange(20_000) / RATE_PER_S)
    found, _ = dispersion(moments_s + 0.5 / RATE_PER_S, 0.01)  # not on the edges of the intervals
    assert found == 0


@pytest.mark.parametrize("kind", ["poisson", "even"])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_the_parts_are_the_whole(kind, parts):
    arrivals = Arrivals(kind, RATE_PER_S, (7, 1))
    until_s = drawn(arrivals, 10_000)[-1]  # more than are drawn at a time
    shares = of_parts(arrivals, parts, until_s)
    assert np.array_equal(np.sort(np.concatenate(shares)), drawn(arrivals, 9_999))
    sizes = [len(share) for share in shares]
    if kind == "even":
        assert max(sizes) - min(sizes) <= 1
    elif parts > 1:
        assert stats.chisquare(sizes).pvalue > _ALPHA


@given(
    kind=st.sampled_from(["poisson", "even"]),
    rate_per_s=st.floats(0.5, 1e5),
    seed=st.integers(0, 2**32),
    parts=st.integers(1, 12),
)
@settings(max_examples=40, deadline=None)
def test_whatever_the_rate_nothing_is_lost_sent_twice_or_out_of_order(kind, rate_per_s, seed, parts):
    arrivals = Arrivals(kind, rate_per_s, (seed,))
    whole = drawn(arrivals, 300)
    assert (np.diff(whole) >= 0).all()
    assert whole[0] >= 0
    shares = of_parts(arrivals, parts, whole[-1])
    assert sorted(itertools.chain(*shares)) == [due_s for due_s in whole if due_s < whole[-1]]


@pytest.mark.parametrize("part", [0, 4])
def test_a_part_of_a_poisson_process_is_one(part):
    moments_s = drawn(Arrivals("poisson", 5 * RATE_PER_S, (3,)).thinned(part, 5), 20_000)
    assert stats.kstest(np.diff(moments_s) * RATE_PER_S, "expon").pvalue > _ALPHA
    found, intervals = dispersion(moments_s, 0.01)
    low, high = stats.chi2.ppf([_ALPHA / 2, 1 - _ALPHA / 2], intervals - 1) / (intervals - 1)
    assert low < found < high


def test_parts_do_not_know_of_each_other():
    counts = [
        np.histogram(part, np.arange(0, 10, 0.02))[0]
        for part in of_parts(Arrivals("poisson", RATE_PER_S, (4,)), 2, 10.0)
    ]
    assert stats.pearsonr(*counts).pvalue > _ALPHA


def test_a_seed_is_a_draw():
    one, again, other = (drawn(Arrivals("poisson", RATE_PER_S, seed), 5_000) for seed in ((1, 2), (1, 2), (1, 3)))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    faster = drawn(Arrivals("poisson", 2 * RATE_PER_S, (1, 2)), 5_000)
    assert faster == pytest.approx(one / 2)  # the same lot at every rate


def test_no_rate_is_no_arrivals():
    assert even(math.nan) is None
    assert even(100.0) == Arrivals("even", 100.0)
