"""Saturation by a rule, and linear against exponential growth."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassbook import published
from cassbook.core.errors import InputError
from cassbook.latency import saturation


def test_saturation_point_by_its_rule():
    threads, throughput = [1, 2, 4, 8, 16], [10, 50, 94.9, 95, 100]
    assert saturation.saturation_point(threads, throughput) == 8
    assert saturation.saturation_point(threads, throughput, gain=0.06) == 4
    assert saturation.saturation_point(threads, throughput, gain=0) == 16


def test_saturation_point_sorts_and_takes_the_smallest():
    assert saturation.saturation_point([16, 4, 8], [97, 96, 100]) == 4


@given(st.lists(st.floats(1, 1e5), min_size=1, max_size=20), st.floats(0, 0.5))
def test_no_smaller_count_is_within_the_gain(throughput, gain):
    threads = np.arange(len(throughput)) + 1
    point = saturation.saturation_point(threads, throughput, gain)
    values = np.array(throughput)
    assert values[int(point) - 1] >= (1 - gain) * values.max()
    assert (values[: int(point) - 1] < (1 - gain) * values.max()).all()


@pytest.mark.parametrize(
    ("threads", "throughput", "gain", "message"),
    [
        ([], [], 0.05, "not empty"),
        ([1, 2], [1], 0.05, "equal length"),
        ([1, 2], [1, np.nan], 0.05, "finite"),
        ([1, 2], [1, 2], 5, "within 5 %"),
    ],
)
def test_saturation_point_refuses(threads, throughput, gain, message):
    with pytest.raises(InputError, match=message):
        saturation.saturation_point(threads, throughput, gain)


def test_growth_tells_a_line_from_an_exponential():
    x = np.arange(100, 1001, 100)
    wobble = 1 + 0.02 * np.where(np.arange(x.size) % 2, 1, -1)
    line = saturation.growth_test(x, (1000 + 90 * x) * wobble)
    assert line.verdict == "linear"
    assert line.linear_aicc < line.exponential_aicc
    assert line.linear_r_squared > line.exponential_r_squared
    curve = saturation.growth_test(x, 1000 * np.exp(x / 250) * wobble)
    assert curve.verdict == "exponential"
    assert curve.exponential_aicc < curve.linear_aicc
    assert curve.exponential_r_squared > curve.linear_r_squared


def test_a_perfect_curve_of_either_kind():
    x = np.arange(1, 9)
    assert saturation.growth_test(x, 5 + 2 * x).linear_aicc == -np.inf
    assert saturation.growth_test(x, 5 + 2 * x).verdict == "linear"
    assert saturation.growth_test(x, np.exp(x / 3)).verdict == "exponential"
    assert saturation.growth_test(x, np.full(8, 100.0)).verdict == "undecided"


def test_noise_alone_decides_nothing():
    x = np.arange(1, 13)
    assert saturation.growth_test(x, 1000 + 100 * np.sin(x**2)).verdict == "undecided"


@given(scale=st.sampled_from([1e-3, 1.0, 1e3]), seed=st.integers(0, 1000))
def test_the_verdict_does_not_depend_on_the_unit(scale, seed):
    # Without the Jacobian of the logarithm it would: this is what the correction is for.
    rng = np.random.default_rng(seed)
    x = np.arange(1, 11)
    y = (100 + 20 * x) * rng.uniform(0.9, 1.1, x.size)
    ours, scaled = saturation.growth_test(x, y), saturation.growth_test(x, y * scale)
    assert scaled.linear_aicc - scaled.exponential_aicc == pytest.approx(ours.linear_aicc - ours.exponential_aicc)


def test_aicc_is_that_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    x = np.arange(1.0, 13)
    y = 50 + 7 * x + 5 * np.cos(3 * x)
    model = sm.OLS(y, sm.add_constant(x)).fit()
    n, k = 12, 3
    expected = -2 * model.llf + 2 * k + 2 * k * (k + 1) / (n - k - 1)
    assert saturation.growth_test(x, y).linear_aicc == pytest.approx(expected)
    log_model = sm.OLS(np.log(y), sm.add_constant(x)).fit()
    expected = -2 * (log_model.llf - np.log(y).sum()) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
    assert saturation.growth_test(x, y).exponential_aicc == pytest.approx(expected)


def test_growth_from_a_number_of_threads_on():
    x = np.arange(1, 21)
    y = np.where(x <= 10, 100.0 * x, 1000 * np.exp((x - 10) / 2))
    late = saturation.growth_test(x, y, from_threads=11)
    assert (late.n, late.verdict) == (10, "exponential")
    assert saturation.growth_test(x, y, from_threads=0).n == 20


@pytest.mark.parametrize(
    ("threads", "latency", "message"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], "5 points or more, got 4"),
        ([1] * 6, range(1, 7), "5 points or more"),
        (range(6), [0, 1, 2, 3, 4, 5], "positive"),
        (range(6), [np.nan, 1, 2, 3, 4, 5], "finite"),
    ],
)
def test_growth_test_refuses(threads, latency, message):
    with pytest.raises(InputError, match=message):
        saturation.growth_test(list(threads), list(latency))


def test_printed_throughput_saturates_at_600_or_800_threads():
    table = saturation.saturation_table(published.level_stats()).set_index(["operation", "level"])
    assert len(table) == 6
    assert table["reached"].all()
    points = table["saturated_from_threads"].to_dict()
    assert points == {
        ("READ", "ONE"): 600, ("READ", "QUORUM"): 800, ("READ", "ALL"): 800,
        ("WRITE", "ONE"): 600, ("WRITE", "QUORUM"): 600, ("WRITE", "ALL"): 600,
    }  # fmt: skip
    assert table.loc[("WRITE", "ONE"), "max_at_threads"] == 900


def test_saturation_that_was_not_seen_is_marked():
    stats = published.level_stats()
    table = saturation.saturation_table(stats[stats["threads"] <= 100])
    assert not table["reached"].any()


def test_printed_latency_grows_linearly_not_exponentially():
    # Section IV.A claims both: 'almost linearly' with threads, 'in exponential progression' at saturation.
    table = saturation.growth_table(published.level_stats())
    assert len(table) == 6
    assert set(table["verdict"]) == {"linear"}
    assert (table["linear_r_squared"] > 0.995).all()
    assert (table["exponential_r_squared"] < 0.92).all()


def test_growth_beyond_saturation_says_where_it_cannot_tell():
    table = saturation.growth_table(published.level_stats(), beyond_saturation=True)
    by_key = table.set_index(["operation", "level"])
    assert by_key.loc[("READ", "ALL"), "verdict"] == saturation.TOO_FEW
    assert np.isnan(by_key.loc[("READ", "ALL"), "linear_aicc"])
    assert by_key.loc[("READ", "ALL"), "n"] == 3
    rest = by_key[by_key["n"] >= saturation.MIN_POINTS]
    assert set(rest["verdict"]) == {"linear"}
    assert len(rest) == 4


def test_growth_table_from_a_common_start():
    table = saturation.growth_table(published.level_stats(), from_threads=500)
    assert set(table["from_threads"]) == {500}
    assert set(table["n"]) == {6}


def test_the_processor_time_of_an_operation_is_shared_by_client_and_nodes():
    stats = pd.DataFrame({"operation": "READ", "level": ["ONE", "ONE", "ALL"], "threads": [10, 100, 100],
                          "throughput_per_s": [5_000.0, 10_000.0, 4_000.0]})  # fmt: skip
    cells = pd.DataFrame({"kind": "pure", "read_share": 1.0, "read_cl": ["ONE", "ONE", "ALL"], "threads": 100,
                          "client_cpu_us_per_op": [90.0, 110.0, 100.0]})  # fmt: skip
    budget = saturation.cpu_budget(stats, cells, cores=2)
    assert budget.loc[("READ", "ONE")].tolist() == [100, 10_000, 200, 100, 100, 1]
    assert budget.loc[("READ", "ALL")].tolist() == [100, 4_000, 500, 100, 400, 4]
