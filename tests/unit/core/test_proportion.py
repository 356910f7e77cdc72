"""Shares that were counted, with bounds that hold at none, at all, and where observations come in groups."""

import numpy as np
import pytest

from cassbook.core.estimate import Estimate, binomial_bounds
from cassbook.core.proportion import Proportion, bounds_text, reads_to_show, share_text


def test_none_has_the_exact_bound_of_all_observations():
    share = Proportion.grouped([0, 0, 0], [803, 833, 802])
    assert (share.value, share.low, share.counts, share.groups) == (0.0, 0.0, "0 of 2,438", 3)
    assert share.high == pytest.approx(1 - 0.025 ** (1 / 2438))
    assert str(share) == "0 (at most 0.15)"
    assert share.rest.text() == "100 (at least 99.85)"
    assert share.rest.exact


def test_groups_that_differ_are_worth_fewer_observations():
    alike, apart = Proportion.grouped([40, 40, 40], [800] * 3), Proportion.grouped([0, 20, 100], [800] * 3)
    assert alike.value == apart.value == 0.05
    assert apart.low < alike.low < 0.05 < alike.high < apart.high
    # Korn and Graubard: variance between groups, and Student's t of two degrees of freedom.
    shares = np.array([0, 20, 100]) / 800
    worth = 0.05 * 0.95 / (shares.var(ddof=1) / 3) * (1.959963984540054 / 4.302652729911275) ** 2
    assert (apart.low, apart.high) == pytest.approx([float(x) for x in binomial_bounds(0.05, worth)], rel=1e-6)


@pytest.mark.parametrize(("p", "correlation"), [(0.02, 0.002), (0.3, 0.02), (0.95, 0.05)])
def test_bounds_hold_about_95_of_100_times_in_groups_that_differ(p, correlation):
    random = np.random.default_rng(7)
    a, b = p * (1 / correlation - 1), (1 - p) * (1 / correlation - 1)
    held = 0
    for _ in range(400):
        share = Proportion.grouped(random.binomial(800, random.beta(a, b, 4)), [800] * 4)
        assert 0 <= share.low <= share.value <= share.high <= 1
        held += share.low <= p <= share.high
    assert held / 400 > 0.9


def test_two_groups_that_differ_have_no_interval_but_none_of_two_has_a_bound():
    few = Proportion.grouped([1, 30], [100, 100])
    assert np.isnan(few.low)
    assert str(few) == "15.5"
    assert str(Proportion.grouped([0], [100])) == "0 (at most 3.6)"


def test_independent_observations_have_clopper_and_pearsons_bounds():
    share, reference = Proportion.independent(3, 1000), Estimate.share(3, 1000)
    assert (share.value, share.low, share.high) == (reference.value, reference.low, reference.high)
    assert share.text() == "0.3 [0.1, 0.9]"


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (([2438, 812], [2438, 813]), "99.97"),
        (([812, 813, 813], [813, 813, 813]), "99.96 [99.19, >99.99]"),
        (([1, 0, 0], [813] * 3), "0.04 [<0.01, 0.81]"),
        (([0, 0, 18], [591, 612, 600]), "1.0 [<0.1, 18.2]"),
    ],
)
def test_neither_a_share_nor_a_bound_looks_like_none_or_all_unless_it_is(counts, text):
    assert Proportion.grouped(*counts).text() == text


def test_any_estimate_of_a_share_is_said_so():
    assert share_text(Estimate(1.0, 0.996, 1.0, 0), 1, 3) == "1 (at least 0.9960)"
    assert share_text(Estimate(0.626, 0.599, 0.653, 0)) == "62.6 [59.9, 65.3]"
    assert bounds_text(Estimate(0.5, float("nan"), float("nan"), 1)) == ""
    assert share_text(Estimate(0.0, 0.0, 0.001019, 0), 1e6, 0) == "0 (at most 1,019)"


@pytest.mark.parametrize("bad", [([], []), ([1], [0]), ([2], [1]), ([-1], [3])])
def test_what_is_no_count_is_refused(bad):
    with pytest.raises(ValueError, match="no counts of groups"):
        Proportion.grouped(*bad)


@pytest.mark.parametrize(("target", "yes"), [(1e-4, 0), (1e-3, 2)])
def test_as_many_reads_as_are_asked_for_show_the_target_and_no_fewer(target, yes):
    reads = reads_to_show(target, yes)
    assert binomial_bounds(yes / reads, reads)[1] <= target
    fewer = int(reads * 0.99)
    assert binomial_bounds(yes / fewer, fewer)[1] > target
    with pytest.raises(ValueError, match="no share"):
        reads_to_show(0.0)
