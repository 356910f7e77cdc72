"""The thesis's regressions on records whose coefficients are known, and what its formula (2) can choose."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from cassbook.book.chapters import thesis as chapter
from cassbook.core.errors import InputError
from cassbook.thesis import best_setting, formulas, records
from tests.helpers import made_runs


@pytest.fixture
def mixes():
    return records.records(made_runs.run(noise=0.01))


def test_records_are_the_mixes_with_reads_and_writes_apart(mixes):
    assert len(mixes) == len(made_runs.THREADS) * len(made_runs.SHARES) * 3
    assert mixes.set_index("setting")["write_replicas"].to_dict() == {"1R-3W": 3, "2R-2W": 2, "3R-1W": 1}
    assert (mixes["write_share"] + mixes["read_share"]).to_numpy() == pytest.approx(1)


def test_a_mix_table_has_reads_and_writes_apart_and_stars_the_lowest_of_each(mixes):
    table = chapter.mix_table(mixes, 0.9)
    one = mixes[np.isclose(mixes["read_share"], 0.9) & (mixes["threads"] == 500)].set_index("setting")
    for name in ("read_us", "write_us"):
        assert table.loc[500, name].to_dict() == pytest.approx(one[name].to_dict())
    assert table.loc[500, "read_us"].idxmin() == "1R-3W"
    shown = chapter.mix_table_shown(table).loc[500, "READ"]
    assert shown.str.endswith(" *").to_dict() == {"1R-3W": True, "2R-2W": False, "3R-1W": False}
    with pytest.raises(InputError, match="no mix of 40% reads"):
        chapter.mix_table(mixes, 0.4)


def test_no_mixes_no_records():
    cells = made_runs.run()
    with pytest.raises(InputError, match="no mix at 1R-3W"):
        records.records(cells[cells["kind"] == "pure"])


def test_a_plane_is_found_again_with_its_table():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"a": rng.random(200), "b": rng.random(200), "group": np.arange(200) // 4})
    data["y"] = 0.5 + 2 * data["a"] - 3 * data["b"] + rng.normal(0, 0.1, 200)
    ours = formulas.regress(data, "y", ["a", "b"], ["group"])
    theirs = smf.ols("y ~ a + b", data).fit()
    assert ours.coefficients.to_numpy() == pytest.approx(theirs.params.to_numpy())
    assert ours.table["p"].to_numpy() == pytest.approx(theirs.pvalues.to_numpy())
    assert ours.r_squared == pytest.approx(theirs.rsquared)
    inside = (ours.table["bootstrap_low"] < [0.5, 2, -3]) & (ours.table["bootstrap_high"] > [0.5, 2, -3])
    assert inside.sum() >= 2
    width = ours.table["bootstrap_high"] - ours.table["bootstrap_low"]
    assert width.to_numpy() == pytest.approx((ours.table["high"] - ours.table["low"]).to_numpy(), rel=0.5)


def test_variance_inflation_tells_variables_that_say_the_same():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"a": rng.random(100), "c": rng.random(100), "group": np.arange(100)})
    data["b"] = data["a"] + rng.normal(0, 0.01, 100)
    data["y"] = data["a"] + data["c"]
    vif = formulas.regress(data.assign(y=data["y"] + rng.normal(0, 0.1, 100)), "y", ["a", "b", "c"], ["group"]).table[
        "vif"
    ]
    assert vif["a"] > 100
    assert vif["c"] < 2
    r2 = smf.ols("a ~ b + c", data).fit().rsquared
    assert vif["a"] == pytest.approx(1 / (1 - r2))


def test_residuals_that_are_not_normal_are_told():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"a": rng.random(300), "group": np.arange(300)})
    wild = formulas.regress(data.assign(y=data["a"] + rng.standard_t(2, 300)), "y", ["a"], ["group"])
    tame = formulas.regress(data.assign(y=data["a"] + rng.normal(0, 1, 300)), "y", ["a"], ["group"])
    assert wild.jarque_bera_p < 0.001 < tame.jarque_bera_p


def test_a_variable_that_does_not_vary_is_refused():
    data = pd.DataFrame({"a": [1.0] * 5, "y": range(5), "group": range(5)})
    with pytest.raises(InputError, match="a: does not vary"):
        formulas.regress(data, "y", ["a"], ["group"])


def test_scales():
    values = pd.Series([10.0, 20.0, 30.0])
    assert formulas.SCALES["0 to 1"](values).tolist() == [0, 0.5, 1]
    assert formulas.SCALES["by greatest"](values).tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    assert formulas.SCALES["z-scores"](values).tolist() == [-1, 0, 1]
    assert formulas.SCALES["logarithms, 0 to 1"](values).iloc[[0, 2]].tolist() == [0, 1]


def test_the_printed_coefficients_stand_beside_ours(mixes):
    table = formulas.with_printed(mixes, "2", "0 to 1")
    assert table["printed"].tolist() == [0.5173, -3.876, 3.5528, 0.3473, 0.0739]
    assert list(table.index) == ["constant", "read latency", "write latency", "threads", "proportion of writes"]


def test_every_scale_and_every_reading(mixes):
    over = formulas.over_scales(mixes, "2")
    assert list(over.index) == ["printed", *formulas.SCALES]
    assert over["signs_agree"].iloc[1:].between(0, 4).all()
    table = formulas.readings(mixes, "3", "0 to 1")
    assert len(table) == 24
    assert table["distance"].is_monotonic_increasing
    with pytest.raises(InputError, match="scale: 'log' is unknown"):
        formulas.formula(mixes, "2", "log")


def test_what_predicts_the_best_setting_of_an_additive_cluster(mixes):
    judged = best_setting.judge(mixes)
    assert judged.loc["latency of each setting, then the least", "right"].share > 0.8
    trivial = judged.loc["always the most frequent best"]
    assert trivial["right"].share == pytest.approx(2 / 3)
    assert trivial["regret_percent"] > 5
    # a fit over all records answers at which setting it was measured: asked with the latencies of 2R-2W, it says 2
    assert judged.loc["formula (2), all records", "right"].share < 0.5


def test_too_few_thread_counts_to_leave_one_out(mixes):
    with pytest.raises(InputError, match="three or more, got 2"):
        best_setting.judge(mixes[mixes["threads"].isin([10, 100])])
