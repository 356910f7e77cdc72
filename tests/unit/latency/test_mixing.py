"""Mixed latency and best settings: eq. 8-10, Tables IV, Figures 6 and 7."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassbook import published
from cassbook.core.consistency import STRONG_SETTINGS, Setting
from cassbook.core.errors import InputError
from cassbook.latency import mixing, regression

SHARES = [0.1, 0.3, 0.5, 0.9]


@pytest.fixture(scope="module")
def refit():
    return regression.predictors(regression.fit_all(published.level_stats(), orders=(4,)))


@pytest.fixture
def flat():
    """Latencies that do not depend on threads: reads 1, 2, 3 ms and writes 2, 3, 6 ms at ONE, QUORUM, ALL."""
    levels = ("ONE", "QUORUM", "ALL")
    reads = {("READ", level): us for level, us in zip(levels, (1000, 2000, 3000), strict=True)}
    writes = {("WRITE", level): us for level, us in zip(levels, (2000, 3000, 6000), strict=True)}
    return {key: regression.from_coefficients([us, 0], (1, 100)) for key, us in (reads | writes).items()}


@given(read=st.floats(1, 1e6), write=st.floats(1, 1e6), share=st.floats(0, 1))
def test_a_mix_lies_between_its_parts_and_mirrors(read, write, share):
    latency = mixing.mixed(read, write, share)
    assert min(read, write) * (1 - 1e-12) <= latency <= max(read, write) * (1 + 1e-12)
    assert latency == pytest.approx(mixing.mixed(write, read, 1 - share))


def test_ends_of_the_share_are_the_pure_workloads():
    assert mixing.mixed(1, 2, 1) == 1
    assert mixing.mixed(1, 2, 0) == 2
    assert isinstance(mixing.mixed(1, 2, 0), float)


def test_mixed_broadcasts():
    result = mixing.mixed(np.array([100, 200]), np.array([300, 400]), np.array([[0.0], [0.5], [1.0]]))
    assert result.tolist() == [[300, 400], [200, 300], [100, 200]]


@pytest.mark.parametrize("share", [-0.01, 1.01, 90, np.nan, [0.5, 2]])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(InputError, match="not between 0 and 1"):
        mixing.mixed(1.0, 2.0, share)


def test_table_iv_comes_from_the_unrounded_regression(refit):
    printed = published.mixed_estimates()
    ours = mixing.estimates(refit, printed["threads"].unique(), SHARES)
    both = printed.merge(ours, on=["setting", "read_share", "threads"], suffixes=("_printed", ""))
    assert len(both) == 144
    assert (both["latency_us"] - both["latency_us_printed"]).abs().max() < 1


def test_table_iv_does_not_come_from_the_printed_equations():
    printed = published.mixed_estimates()
    ours = mixing.estimates(regression.printed_fits(), printed["threads"].unique(), SHARES)
    both = printed.merge(ours, on=["setting", "read_share", "threads"], suffixes=("_printed", ""))
    error = (both["latency_us"] / both["latency_us_printed"] - 1).abs() * 100
    by_setting = error[both["threads"] == 1000].groupby(both["setting"]).max()
    assert by_setting["2R-2W"] > 100  # the sign of equation (3)
    assert by_setting[["1R-3W", "3R-1W"]].between(10, 40).all()  # rounding alone
    assert error[both["threads"] <= 100].max() < 1


def test_estimates_of_flat_curves(flat):
    df = mixing.estimates(flat, [1, 10], [0.25])
    assert df.columns.tolist() == ["setting", "read_share", "threads", "latency_us"]
    assert df.set_index(["setting", "threads"])["latency_us"].to_dict() == {
        ("1R-3W", 1): 4750, ("1R-3W", 10): 4750, ("2R-2W", 1): 2750,
        ("2R-2W", 10): 2750, ("3R-1W", 1): 2250, ("3R-1W", 10): 2250,
    }  # fmt: skip


def test_estimates_take_other_settings_and_miss_no_predictor_silently(flat):
    weak = Setting("1R-1W", "ONE", "ONE")
    assert mixing.estimates(flat, [5], [0.5], [weak])["latency_us"].tolist() == [1500]
    del flat["READ", "ALL"]
    with pytest.raises(InputError, match=r"READ ALL; .*READ ONE"):
        mixing.estimates(flat, [5], [0.5])


def test_best_setting_of_flat_curves(flat):
    best = mixing.best_setting(mixing.estimates(flat, [10], [0.25, 0.9]))
    assert best["best"].tolist() == ["3R-1W", "1R-3W"]
    assert best["runner_up"].tolist() == ["2R-2W", "2R-2W"]
    assert best["margin_percent"].tolist() == pytest.approx([(2750 - 2250) / 2250 * 100, (2100 - 1500) / 1500 * 100])


def test_best_setting_agrees_with_a_plain_minimum():
    printed = published.mixed_estimates()
    best = mixing.best_setting(printed)
    assert len(best) == 48
    rows = printed.loc[printed.groupby(["read_share", "threads"])["latency_us"].idxmin()]
    assert best["best"].tolist() == rows["setting"].tolist()
    assert (best["margin_percent"] > 0).all()


def test_a_tie_goes_to_the_first_setting_of_the_paper():
    df = pd.DataFrame({"setting": ["3R-1W", "1R-3W"], "read_share": 0.5, "threads": 10, "latency_us": 100.0})
    best = mixing.best_setting(df).iloc[0]
    assert (best["best"], best["runner_up"], best["margin_percent"]) == ("1R-3W", "3R-1W", 0)


def test_best_setting_refuses_what_it_cannot_compare():
    df = published.mixed_estimates()
    with pytest.raises(InputError, match="twice"):
        mixing.best_setting(pd.concat([df, df]))
    with pytest.raises(InputError, match=r"missing for some setting at \[\(0.1, 10"):
        mixing.best_setting(df.iloc[1:])
    with pytest.raises(InputError, match="at least two"):
        mixing.best_setting(df[df["setting"] == "1R-3W"])


def test_speedups_against_1r_3w():
    speedups = mixing.speedups(published.mixed_estimates())
    assert len(speedups) == 48
    assert (speedups["speedup_percent"] >= 0).all()
    assert (speedups["speedup_percent"] == 0).tolist() == (speedups["best"] == "1R-3W").tolist()
    table4 = published.table("g20_table4").set_index(["threads", "read_share", "setting"])["latency_us"]
    at = speedups.set_index(["threads", "read_share"])["speedup_percent"]
    assert at[1000, 0.1] == pytest.approx((1 - table4[1000, 0.1, "3R-1W"] / table4[1000, 0.1, "1R-3W"]) * 100)


def test_printed_speedups_stay_below_the_14_percent_of_the_text():
    # 'up to 14% on average': no share of Table IV averages so much
    means = mixing.speedups(published.mixed_estimates()).groupby("read_share")["speedup_percent"].mean()
    assert means.idxmax() == 0.1
    assert 7 < means.max() < 8


def test_speedups_need_the_baseline():
    df = published.mixed_estimates()
    with pytest.raises(InputError, match="no row of 1R-3W"):
        mixing.speedups(df[df["setting"] != "1R-3W"])


class Line:
    """A predictor that goes below zero at few threads."""

    def __init__(self, at_zero_us):
        self.at_zero_us = at_zero_us

    def predict(self, x):
        return self.at_zero_us + 10.0 * np.asarray(x)


def below_zero():
    return {(operation, level): Line(-100.0 if level == "ALL" else 50.0)
            for operation in ("READ", "WRITE") for level in ("ONE", "QUORUM", "ALL")}  # fmt: skip


def test_where_a_curve_is_below_zero_nothing_wins():
    domains = mixing.domain_map(below_zero(), [5, 100], [0.0, 1.0])
    assert (domains.best[:, 0] == -1).all()
    assert (domains.best[:, 1] >= 0).all()
    assert domains.ranges()["setting"].eq(mixing.NO_ESTIMATE).sum() == 2


def test_workloads_with_an_estimate_below_zero_are_left_out():
    table = mixing.estimates(below_zero(), [5, 100], [0.0])
    kept = mixing.possible(table)
    assert kept["threads"].unique().tolist() == [100]
    assert len(kept) == 3
    assert mixing.speedups(kept)["speedup_percent"].between(0, 100).all()


def test_domain_map_is_the_table_on_a_grid(refit):
    threads, shares = [10, 200, 1000], [0.1, 0.9]
    domains = mixing.domain_map(refit, threads, shares)
    assert domains.settings == tuple(setting.name for setting in STRONG_SETTINGS)
    assert domains.latency_us.shape == (3, 2, 3)
    assert domains.best.shape == (2, 3)
    best = mixing.best_setting(mixing.estimates(refit, threads, shares))
    assert [domains.settings[k] for k in domains.best.ravel()] == best["best"].tolist()
    np.testing.assert_allclose(domains.latency_us.min(axis=0).ravel(), best["best_latency_us"])


def test_domain_ranges_cover_the_grid_and_alternate(refit):
    grid = np.arange(10, 1001, 10)
    ranges = mixing.domain_map(refit, grid, [0.25, 0.9]).ranges()
    writes = ranges[ranges["read_share"] == 0.25]
    assert writes["setting"].tolist() == ["2R-2W", "1R-3W", "3R-1W"]
    assert writes["threads_from"].tolist()[0] == 10
    assert writes["threads_to"].tolist()[-1] == 1000
    assert (writes["threads_from"].to_numpy()[1:] - writes["threads_to"].to_numpy()[:-1]).tolist() == [10, 10]
    assert ranges[ranges["read_share"] == 0.9].to_numpy().tolist() == [[0.9, "1R-3W", 10, 1000]]


@pytest.mark.parametrize(("threads", "shares"), [([], [0.5]), ([10], []), ([10], [1.5])])
def test_domain_map_refuses(refit, threads, shares):
    with pytest.raises(InputError):
        mixing.domain_map(refit, threads, shares)
