import numpy as np
import pytest
from scipy import stats

from cassbook import Estimate
from cassbook.core.estimate import binomial_bounds


def test_mean_has_students_interval():
    x = [3.0, 5.0, 4.0]
    estimate = Estimate.mean(x)
    reference = stats.t.interval(0.95, 2, loc=4.0, scale=stats.sem(x))
    assert (estimate.low, estimate.high) == pytest.approx(reference)
    assert estimate.n == 3


@pytest.mark.parametrize("few", [[7.0], [6.0, 8.0]])
@pytest.mark.parametrize("kind", [Estimate.mean, Estimate.ratio, Estimate.positive])
def test_fewer_than_three_observations_have_no_interval(few, kind):
    estimate = kind(few)
    assert estimate.value == pytest.approx(7.0, rel=0.011)
    assert np.isnan(estimate.low)
    assert np.isnan(estimate.high)
    assert f"n={len(few)}" in str(estimate)


def test_a_positive_figures_interval_never_reaches_zero():
    x = [1.0, 10.0, 100.0]
    estimate = Estimate.positive(x)
    reference = np.exp(stats.t.interval(0.95, 2, loc=np.log(10), scale=stats.sem(np.log(x))))
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((10, *reference))
    assert Estimate.mean(x).low < 0 < estimate.low
    none = Estimate.positive([0.0, 1.0, 5.0])  # 0 has no logarithm
    assert (none.value, none.low) == (2, 0)


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")], [float("inf")]])
def test_nothing_or_not_finite_is_refused(bad):
    with pytest.raises(ValueError, match="finite"):
        Estimate.mean(bad)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("", "1234 [1222, 1246]"),
        (".1f", "1234.1 [1222.0, 1246.2]"),
        ("±,.0f", "1,234 ± 12"),
        ("±+.1f", "+1234.1 ± 12.1"),
        ("±%.1f", "1234.1 ±1%"),
    ],
)
def test_a_format_is_that_of_its_numbers(spec, text):
    assert format(Estimate(1234.1, 1222.0, 1246.2, 3), spec) == text


def test_without_an_interval_the_value_stands_alone():
    single = Estimate.mean([0.25])
    assert f"{single:.0%}" == f"{single:±.0%}" == "25%"
    assert str(single) == f"{single}" == "0.25 (n=1)"


def test_json_has_null_for_what_is_not_known():
    assert Estimate.mean([0.123456]).as_dict(3) == {"value": 0.123, "low": None, "high": None}
    assert Estimate(1.0, 0.5, 1.5, 3).as_dict() == {"value": 1.0, "low": 0.5, "high": 1.5}


@pytest.mark.parametrize(("yes", "n"), [(0, 1), (0, 14131), (1, 2), (45, 48), (1, 1), (9_990, 10_000)])
def test_a_share_has_binomial_bounds(yes, n):
    share = Estimate.share(yes, n)
    exact = stats.binomtest(yes, n).proportion_ci(0.95, "exact")
    assert (share.value, share.low, share.high) == pytest.approx((yes / n, exact.low, exact.high))


def test_bounds_of_shares_hold_as_often_as_said():
    """Of none and of all too: for every probability its outcomes whose bounds leave it out are rarer than 5 %."""
    n, p = 30, np.linspace(0.001, 0.999, 999)
    yes = np.arange(n + 1)
    low, high = binomial_bounds(yes / n, n)
    out = (p[:, None] < low) | (p[:, None] > high)
    assert (stats.binom.pmf(yes, n, p[:, None]) * out).sum(axis=1).max() <= 0.05


@pytest.mark.parametrize(("yes", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_no_share_of_nothing(yes, n):
    with pytest.raises(ValueError, match="is no share"):
        Estimate.share(yes, n)


def test_units_and_bounds():
    microseconds = Estimate(1500.0, -250.0, 3250.0, 3)
    assert microseconds.times(1e-3) == Estimate(1.5, -0.25, 3.25, 3)
    assert microseconds.at_least(0.0) == Estimate(1500.0, 0.0, 3250.0, 3)
    assert Estimate(-1.0, -3.0, -0.5, 3).at_least(0.0) == Estimate(0.0, 0.0, 0.0, 3)
    assert np.isnan(Estimate.mean([2.0]).at_least(0.0).low)


def test_how_far_an_interval_reaches_is_its_farther_side():
    assert Estimate(100.0, 90.0, 130.0, 3).reach == "±30%"
    assert Estimate(100.0, 0.0, 200.0, 3).reach == "±100%"
    assert Estimate(100.0, 50.0, 202.0, 3).reach == Estimate(100.0, 0.0, 5000.0, 3).reach == "±n.d."
    assert Estimate.mean([2.0]).reach == Estimate(0.0, 0.0, 0.0, 3).reach == ""


def test_an_estimate_of_a_table_does_not_say_of_how_many_it_is():
    nan = float("nan")
    assert Estimate(2.0, 1.0, 3.0).n is None
    assert str(Estimate(2.0, nan, nan)) == "2"
    assert str(Estimate(2.0, nan, nan, 2)) == "2 (n=2)"
