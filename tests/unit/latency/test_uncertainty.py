"""Intervals within a cell: how often they hold what they should, on noise that is alike from operation to operation."""

import numpy as np
import pytest
from scipy import signal, stats

from cassbook.latency import uncertainty
from tests.helpers.steps import lines_run

CELLS, N = 400, 4000
SIGMA = 0.5


def cells_of(phi, seed=1):
    """Log-normal latencies with median 1000 us whose logarithms are AR(1); shape (CELLS, N)."""
    noise = np.random.default_rng(seed).standard_normal((CELLS, N + 500))
    series = signal.lfilter([1], [1, -phi], noise, axis=1)[:, 500:] * np.sqrt(1 - phi**2)
    return 1000 * np.exp(SIGMA * series)


def within(latency_us, shares=(0.5, 0.95, 0.99)):
    cells, n = latency_us.shape
    place, started_s = np.repeat(np.arange(cells), n), np.tile(np.arange(n) / 1000, cells)
    return uncertainty.within_cells(place, started_s, latency_us.ravel(), cells, shares)


def held(figures, truth):
    return float(((figures.low <= truth) & (truth <= figures.high)).mean())


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_intervals_of_the_mean_hold_it_in_about_95_of_100(phi):
    latency_us = cells_of(phi)
    intervals, truth = within(latency_us), 1000 * np.exp(SIGMA**2 / 2)
    assert held(intervals.mean, truth) == pytest.approx(0.95, abs=0.03)
    naive = np.abs(intervals.mean.value - truth) <= 1.96 * intervals.sd / np.sqrt(N)
    if phi == 0:
        assert naive.mean() == pytest.approx(0.95, abs=0.03)
    else:  # the interval that takes operations for independent fails
        assert naive.mean() < (0.82 if phi < 0.9 else 0.45)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_intervals_of_quantiles_hold_them(phi, share):
    truth = 1000 * np.exp(SIGMA * stats.norm.ppf(share))
    assert 0.92 <= held(within(cells_of(phi), [share]).quantiles[0], truth) <= 0.985


def test_intervals_of_p99_hold_it_or_say_that_they_cannot():
    truth = 1000 * np.exp(SIGMA * stats.norm.ppf(0.99))
    p99 = within(cells_of(0.5), [0.99]).quantiles[0]
    assert held(p99, truth) > 0.92
    assert not np.isnan(p99.high).any()
    few = within(cells_of(0.0)[:, :300], [0.99]).quantiles[0]
    assert np.isnan(few.high).all()
    assert not np.isnan(few.low).any()


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_the_effective_number_is_that_of_the_theory(phi):
    """For a mean of AR(1) it is n (1 - phi) / (1 + phi); a logarithm's dependence is nearly that of the value."""
    effective_n = np.median(within(cells_of(phi)).mean.effective_n)
    rho = (np.exp(SIGMA**2 * phi ** np.arange(1, 300)) - 1) / (np.exp(SIGMA**2) - 1)
    assert effective_n == pytest.approx(N / (1 + 2 * rho.sum()), rel=0.15)


def test_a_rate_has_an_interval_too():
    rng = np.random.default_rng(5)
    n = 3000
    started_s = np.cumsum(rng.exponential(1 / 1000, (CELLS, n)), axis=1)
    intervals = uncertainty.within_cells(
        np.repeat(np.arange(CELLS), n), started_s.ravel(), np.ones(CELLS * n), CELLS, []
    )
    rate = n / (started_s[:, -1] - started_s[:, 0])
    assert (np.abs(rate / 1000 - 1) <= intervals.rate_half).mean() == pytest.approx(0.95, abs=0.03)


def test_cells_in_disorder_and_empty_ones():
    latency_us = cells_of(0.5)[:3]
    place, started_s = np.repeat([0, 2, 3], N), np.tile(np.arange(N) / 1000, 3)
    straight = uncertainty.within_cells(place, started_s, latency_us.ravel(), 4, [0.9])
    order = np.random.default_rng(1).permutation(place.size)
    mixed = uncertainty.within_cells(place[order], started_s[order], latency_us.ravel()[order], 4, [0.9])
    for one, other in ((straight.mean, mixed.mean), (straight.quantiles[0], mixed.quantiles[0])):
        for name in ("value", "low", "high"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name))
            assert np.isnan(getattr(one, name)[1])
    np.testing.assert_allclose(straight.quantiles[0].value[[0, 2, 3]], np.quantile(latency_us, 0.9, axis=1))


def test_too_few_batches_give_no_interval():
    intervals = uncertainty.within_cells(np.zeros(7, int), np.arange(7.0), np.arange(7.0), 1, [0.5])
    assert (intervals.mean.value[0], intervals.quantiles[0].value[0]) == (3, 3)
    assert np.isnan(
        [intervals.mean.low[0], intervals.mean.high[0], intervals.mean.effective_n[0], intervals.rate_half[0]]
    ).all()
    assert np.isnan([intervals.quantiles[0].low[0], intervals.quantiles[0].high[0]]).all()


def test_a_constant_latency_is_certain():
    intervals = within(np.full((1, 500), 7.0))
    assert (intervals.mean.low[0], intervals.mean.high[0], intervals.mean.effective_n[0]) == (7, 7, 500)
    assert (intervals.quantiles[0].low[0], intervals.quantiles[0].high[0]) == (7, 7)


def test_one_block_is_never_passed_for_more():
    estimate, basis = uncertainty.over_blocks(np.array([100.0, 120.0, 110.0]), 99.0, 101.0)
    logs = np.log([100.0, 120.0, 110.0])
    factor = np.exp(stats.t.ppf(0.975, 2) * logs.std(ddof=1) / np.sqrt(3))
    assert estimate.value == pytest.approx(np.exp(logs.mean()))
    assert (estimate.low, estimate.high) == pytest.approx((estimate.value / factor, estimate.value * factor))
    assert basis == "blocks"
    estimate, basis = uncertainty.over_blocks(np.array([100.0]), 99.0, 101.0)
    assert (estimate.low, estimate.high, estimate.n, basis) == (99, 101, 1, "one cluster start")
    for too_few in ([100.0], [100.0, 120.0], [100.0, np.nan, 120.0]):
        estimate, basis = uncertainty.over_blocks(np.array(too_few))
        assert np.isnan(estimate.low)
        assert basis == ""
    assert uncertainty.over_blocks(np.array([0.0, 4.0]))[0].value == 2  # 0 has no logarithm


def test_holm_and_the_paired_test():
    assert uncertainty.holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert uncertainty.holm([0.7, 0.9]).tolist() == [1, 1]
    differences = np.array([0.1, 0.2, 0.15])
    assert uncertainty.paired_p(differences) == pytest.approx(stats.ttest_rel(differences, np.zeros(3)).pvalue)
    assert uncertainty.paired_p(np.array([0.1, 0.1])) == 0
    assert uncertainty.paired_p(np.zeros(2)) == 1
    assert np.isnan(uncertainty.paired_p(np.array([0.1])))


def test_operations_are_counted_cell_by_cell_and_not_one_by_one():
    def steps(n, n_cells=5):
        rng = np.random.default_rng(1)
        place, started_s = np.repeat(np.arange(n_cells), n), rng.random(n_cells * n)
        latency_us = rng.lognormal(9, 1, n_cells * n)
        return lines_run(lambda: uncertainty.within_cells(place, started_s, latency_us, n_cells, [0.5, 0.95, 0.99]))

    assert steps(10_000) == pytest.approx(steps(1000), rel=0.1)
