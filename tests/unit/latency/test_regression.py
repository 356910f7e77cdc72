"""Polynomials over threads: against numpy, against known coefficients, and against Table III."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassbook import published
from cassbook.core.errors import CassbookWarning, InputError
from cassbook.latency import regression

THREADS = [10, 50, *range(100, 1001, 100)]
KEYS = ["operation", "level", "model"]


@pytest.fixture(scope="module")
def fits():
    return regression.fit_all(published.level_stats())


@settings(max_examples=60, deadline=None)
@given(
    order=st.integers(1, 4),
    relative=st.lists(st.floats(-1, 1), min_size=5, max_size=5),
    scale=st.sampled_from([1.0, 1e3, 1e6]),
    n=st.integers(8, 40),
)
def test_coefficients_are_recovered(order, relative, scale, n):
    x = np.linspace(scale / 100, scale, n)
    # each power contributes up to 1e4 us at the largest x
    true = np.array(relative[: order + 1]) * 1e4 / scale ** np.arange(order + 1)
    y = np.polynomial.polynomial.polyval(x, true)
    fit = regression.fit(x, y, order)
    contribution = (fit.coefficients - true) * scale ** np.arange(order + 1)
    assert np.abs(contribution).max() < 1e-6
    np.testing.assert_allclose(fit.predict(x), y, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(order=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_agrees_with_numpy_polyfit(order, seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.choice(np.arange(1, 1001), 15, replace=False))
    y = 8000 + 80 * x + rng.normal(0, 2000, x.size)
    fit = regression.fit(x, y, order)
    theirs = np.polyfit(x / 1000, y, order)
    grid = np.linspace(x[0], x[-1], 50)
    np.testing.assert_allclose(fit.predict(grid), np.polyval(theirs, grid / 1000), rtol=1e-7, atol=1e-3)
    residual = y - np.polyval(theirs, x / 1000)
    assert fit.r_squared == pytest.approx(1 - residual @ residual / ((y - y.mean()) ** 2).sum(), abs=1e-9)


def test_adjusted_r_squared_pays_for_parameters():
    x = np.arange(1, 13)
    y = 100 + 5 * x + np.where(x % 2, 4, -4)
    fit = regression.fit(x, y, 3)
    assert fit.adjusted_r_squared == pytest.approx(1 - (1 - fit.r_squared) * 11 / 8)
    assert fit.order == 3
    assert fit.threads_range == (1, 12)


def test_higher_orders_never_fit_worse(fits):
    for _, group in fits.groupby(["operation", "level"]):
        assert group.sort_values("order")["r_squared"].is_monotonic_increasing


def test_fourth_order_does_not_pay_for_itself_everywhere(fits):
    wide = fits.pivot_table(index=["operation", "level"], columns="order", values="adjusted_r_squared")
    assert wide.idxmax(axis=1)["READ", "ONE"] == 2
    assert wide.idxmax(axis=1)["WRITE", "ONE"] == 4


def test_the_refit_gives_the_printed_equations_except_one_sign(fits):
    refit = regression.predictors(fits)
    for key, printed in regression.printed_fits().items():
        ratio = refit[key].coefficients / printed.coefficients
        # constant and slope are printed with five digits, the highest powers with one
        np.testing.assert_allclose(ratio[:2], 1, rtol=2e-4)
        np.testing.assert_allclose(ratio[2], 1, rtol=1e-3)
        assert (ratio[4] < 0) == (key == ("READ", "QUORUM"))
        np.testing.assert_allclose(np.abs(ratio[3:]), 1, rtol=0.35)


def test_from_coefficients_predicts_like_the_equation():
    fit = regression.from_coefficients([100, 2, 0.5], (10, 1000))
    assert fit.predict(10) == 100 + 20 + 50
    assert isinstance(fit.predict(10), float)
    assert isinstance(fit.predict(np.int64(10)), float)
    assert fit.predict([0, 10]).tolist() == [100, 170]
    assert fit.predict(np.zeros((2, 3))).shape == (2, 3)
    assert np.isnan(fit.r_squared)


def test_coefficients_cannot_be_changed_behind_the_r_squared():
    fit = regression.fit(THREADS, np.multiply(THREADS, 80.0), 1)
    with pytest.raises(ValueError, match="read-only"):
        fit.coefficients[0] = 1


def test_few_points_are_warned_of():
    x = np.arange(1.0, 8)
    with pytest.warns(CassbookWarning, match="order 4 fitted on 7 thread counts"):
        regression.fit(x, x, 4)
    # repeats at one thread count bring no new point
    with pytest.warns(CassbookWarning, match="on 4 thread counts"):
        regression.fit(np.tile(x[:4], 3), np.tile(x[:4], 3), 1)


def test_an_interpolation_has_no_adjusted_r_squared():
    with pytest.warns(CassbookWarning, match="2 thread counts"):
        fit = regression.fit([10, 20], [1, 3], 1)
    assert fit.r_squared == pytest.approx(1)
    assert np.isnan(fit.adjusted_r_squared)


def test_constant_latency_has_no_r_squared():
    fit = regression.fit([1, 2, 3, 4, 5], [7, 7, 7, 7, 7], 1)
    assert np.isnan(fit.r_squared)
    assert fit.predict(100) == pytest.approx(7)


@pytest.mark.parametrize(
    ("threads", "latency_us", "order", "message"),
    [
        ([1, 2, 3], [1, 2], 1, "equal length"),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]], 1, "one row"),
        ([1, 2, np.nan], [1, 2, 3], 1, "finite"),
        ([1, 2, 3], [1, 2, np.inf], 1, "finite"),
        ([-1, 2, 3], [1, 2, 3], 1, "-1 is negative"),
        (range(10), range(10), 0, "order: 0"),
        (range(10), range(10), 5, "order: 5"),
        ([1, 2, 3, 4], [1, 2, 3, 4], 4, "order 4 needs more than 4"),
        ([5, 5, 5], [1, 2, 3], 1, "got 1"),
    ],
)
def test_what_cannot_be_fitted_is_refused(threads, latency_us, order, message):
    with pytest.raises(InputError, match=message):
        regression.fit(list(threads), list(latency_us), order)


def test_fit_all_names_the_level_that_fails():
    stats = published.level_stats()
    stats = stats[(stats["level"] != "ALL") | (stats["threads"] <= 50)]
    with pytest.raises(InputError, match="READ ALL: order 2 needs"), pytest.warns(CassbookWarning):
        regression.fit_all(stats)


@pytest.mark.parametrize("coefficients", [[1], [1, 2, 3, 4, 5, 6], [1, np.nan]])
def test_from_coefficients_refuses(coefficients):
    with pytest.raises(InputError, match="two to five finite"):
        regression.from_coefficients(coefficients, (1, 2))


def test_predictors_of_an_order_not_fitted():
    fits = regression.fit_all(published.level_stats(), orders=(1, 2))
    assert regression.predictors(fits, 2)["READ", "ONE"].order == 2
    with pytest.raises(InputError, match=r"order 4 among orders \[1, 2\]"):
        regression.predictors(fits)


def test_the_worst_miss_is_where_the_line_is_furthest_from_a_point():
    stats = pd.DataFrame({"operation": "READ", "level": "ONE", "threads": [1, 2, 3, 4, 5],
                          "latency_us": [10.0, 20.0, 60.0, 40.0, 50.0]})  # fmt: skip
    assert regression.worst_miss(stats, order=1) == (pytest.approx(60.0), 1)
