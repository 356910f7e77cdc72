"""The change-point rule: how often it finds what is not there, and what is; seeded simulations."""

import numpy as np
import pytest
from scipy import signal

from cassbook.latency import changepoint

SERIES = 250


def autocorrelated(phi, n, seed, tails="normal"):
    """Series of noise whose neighbours correlate by phi, shape (SERIES, n), stationary."""
    rng = np.random.default_rng(seed)
    shape = (SERIES, n + 200)
    noise = rng.standard_normal(shape) if tails == "normal" else rng.standard_t(3, shape)
    return 0.1 * signal.lfilter([1], [1, -phi], noise, axis=1)[:, 200:]


def ends_of(series):
    return np.array([changepoint.beginning(one).bins for one in series])


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6, 0.8])
@pytest.mark.parametrize("tails", ["normal", "heavy"])
def test_where_there_is_none_one_is_found_in_few_of_a_hundred(phi, tails):
    # nominally 1 %; phi has to be estimated from half of a short series, which lets it rise
    assert (ends_of(autocorrelated(phi, 40, 1, tails)) > 0).mean() <= 0.045


@pytest.mark.parametrize("phi", [0.6, 0.8])
def test_a_rule_that_takes_bins_for_independent_would_find_many(phi, monkeypatch):
    series = autocorrelated(phi, 40, 1)
    kept = (ends_of(series) > 0).mean()
    monkeypatch.setattr(changepoint, "_MOST_ALIKE", 0.0)
    assert (ends_of(series) > 0).mean() > 3 * max(kept, 0.01)


@pytest.mark.parametrize(("phi", "least"), [(0.0, 0.99), (0.6, 0.9)])
def test_the_papers_cold_start_would_be_found(phi, least):
    series = autocorrelated(phi, 120, 2)
    series[:, :18] += np.log(5)  # 900 ms of 6 s in bins of 50 ms, 5 times slower
    ends = ends_of(series)
    assert (ends > 0).mean() >= least
    assert (np.abs(ends[ends > 0] - 18) <= 1).mean() > 0.9


def test_the_beginning_must_be_slower_not_faster():
    series = autocorrelated(0.0, 60, 3)
    series[:, :10] -= 1
    assert (ends_of(series) > 0).mean() <= 0.02


def test_noise_that_settles_is_called_settled():
    series = autocorrelated(0.3, 60, 4)
    assert np.mean([changepoint.beginning(one).settled for one in series]) > 0.97
    falling = series - np.linspace(0, 2, 60)
    assert np.mean([changepoint.beginning(one).settled for one in falling]) < 0.05


def test_the_answer_is_the_same_each_time():
    series = autocorrelated(0.5, 50, 5)[0]
    assert changepoint.beginning(series) == changepoint.beginning(series.copy())


def test_a_constant_series_has_no_beginning_and_a_step_has_one():
    assert changepoint.beginning(np.zeros(20)) == changepoint.Beginning(0, 1.0, True)
    step = changepoint.beginning(np.r_[np.ones(5), np.zeros(20)])
    assert (step.bins, step.settled) == (5, True)
    assert step.p_value <= 0.01


@pytest.mark.parametrize("series", [np.zeros(11), np.r_[np.zeros(20), np.nan], np.r_[np.zeros(20), np.inf]])
def test_short_and_broken_series_are_refused(series):
    with pytest.raises(ValueError, match="needs 12 finite bins"):
        changepoint.beginning(series)
