"""Estimates against measurements: Table V, its sign, its 92 %, and where its measurements come from."""

import numpy as np
import pandas as pd
import pytest

from cassbook import Estimate, published
from cassbook.core.errors import CassbookWarning, InputError
from cassbook.latency import validation

KEYS = ["setting", "read_share", "threads"]
SHARES = [0.1, 0.3, 0.5, 0.9]


def mixes(rows):
    """Rows of (setting, read_share, threads, latency_us) as a table."""
    return pd.DataFrame(rows, columns=[*KEYS, "latency_us"])


@pytest.fixture
def estimated():
    return mixes([("1R-3W", 0.1, 10, 110.0), ("2R-2W", 0.1, 10, 90.0), ("3R-1W", 0.1, 10, 95.0)])


@pytest.fixture
def measured():
    return mixes([("1R-3W", 0.1, 10, 100.0), ("2R-2W", 0.1, 10, 100.0), ("3R-1W", 0.1, 10, 80.0)])


def test_deviation_is_positive_where_the_mix_is_slower_than_estimated(estimated, measured):
    df = validation.deviations(estimated, measured).set_index("setting")
    assert df["deviation_percent"].to_dict() == pytest.approx({"1R-3W": -10, "2R-2W": 10, "3R-1W": -18.75})


def test_marks_of_measured_cells_stay_with_their_deviations(estimated, measured):
    marked = measured.assign(marks=["lag", "", "pages"])
    df = validation.deviations(estimated.assign(marks="estimated"), marked).set_index("setting")
    assert df["marks"].to_dict() == {"1R-3W": "lag", "2R-2W": "", "3R-1W": "pages"}
    assert "marks" not in validation.deviations(estimated, measured)


def test_shares_that_differ_by_rounding_are_the_same(estimated, measured):
    noisy = measured.assign(read_share=0.1 + 1e-12)
    assert len(validation.deviations(estimated, noisy)) == 3


def test_rows_without_a_partner_are_left_out_aloud(estimated, measured):
    more = pd.concat([measured, mixes([("1R-3W", 0.9, 10, 5.0)])])
    with pytest.warns(CassbookWarning, match="1 measured workloads"):
        assert len(validation.deviations(estimated, more)) == 3
    assert len(validation.deviations(pd.concat([estimated, mixes([("1R-3W", 0.9, 10, 5.0)])]), measured)) == 3


def test_tables_that_do_not_meet_are_refused(estimated, measured):
    with pytest.raises(InputError, match="both estimated and measured"):
        validation.deviations(estimated, measured.assign(threads=20))
    with pytest.raises(InputError, match=r"measured_us: a .* stands twice"):
        validation.deviations(estimated, pd.concat([measured, measured]))


def test_regret_is_what_the_wrong_choice_costs(estimated, measured):
    row = validation.regret(estimated, measured).iloc[0]
    assert (row["chosen"], row["measured_best"]) == ("2R-2W", "3R-1W")
    assert not row["right"]
    assert row["regret_percent"] == pytest.approx(25)


def test_the_right_choice_costs_nothing(measured):
    regret = validation.regret(measured.assign(latency_us=measured["latency_us"] * 3), measured)
    assert regret["right"].all()
    assert (regret["regret_percent"] == 0).all()


def test_share_counts_and_has_binomial_bounds():
    share = validation.Share.of(1, 2)
    assert (share.right, share.total, share.share) == (1, 2, 0.5)
    assert share.interval == Estimate.share(1, 2)


@pytest.mark.parametrize(("right", "total"), [(0, 0), (3, 2), (-1, 2)])
def test_no_share_of_nothing(right, total):
    with pytest.raises(InputError, match="is no share"):
        validation.Share.of(right, total)


def test_the_92_percent_are_45_of_48():
    share = validation.published_share_of_right_choices()
    assert (share.right, share.total) == (45, 48)
    assert share.share == 0.9375
    assert share.interval.low < 0.92 < share.interval.high
    choices = validation.published_choices()
    wrong = choices[~choices["right"]]
    assert wrong[["read_share", "threads"]].to_numpy().tolist() == [[0.1, 10], [0.1, 100], [0.3, 700]]


def test_a_damaged_underline_is_noticed(monkeypatch):
    intact = published.table

    def damaged(name):
        df = intact(name)
        return df.assign(underlined=df["underlined"] & (df.index > 2)) if name == "g20_table5" else df

    monkeypatch.setattr(published, "table", damaged)
    with pytest.raises(InputError, match="must have one underlined cell"):
        validation.published_choices()


def minima(df):
    """Setting of least latency by workload."""
    rows = df.loc[df.groupby(["read_share", "threads"])["latency_us"].idxmin()]
    return rows.set_index(["read_share", "threads"])["setting"]


def test_underlines_show_the_sign_and_the_denominator_of_table_v():
    both = published.mixed_estimates().merge(published.table("g20_table5"), on=KEYS)
    underlined = both[both["underlined"]].set_index(["read_share", "threads"])["setting"].sort_index()
    part = both["deviation_percent"] / 100
    readings = {
        "(measured - estimated) / measured": both["latency_us"] / (1 - part),
        "(measured - estimated) / estimated": both["latency_us"] * (1 + part),
        "(estimated - measured) / measured": both["latency_us"] / (1 + part),
        "(estimated - measured) / estimated": both["latency_us"] * (1 - part),
    }
    met = {
        name: int((minima(both.assign(latency_us=latency)) == underlined).sum()) for name, latency in readings.items()
    }
    assert list(met.values()) == [48, 47, 38, 38]
    assert (minima(validation.printed_measured()) == underlined).all()


def test_following_table_iv_would_have_cost_one_percent_at_most():
    regret = validation.regret(published.mixed_estimates(), validation.printed_measured())
    assert len(regret) == 48
    assert regret["regret_percent"].max() == pytest.approx(1.04, abs=0.01)
    assert (regret["regret_percent"] > 0).sum() == 3


def test_mixing_pure_measurements():
    stats = published.level_stats()
    df = validation.mixed_from_pure(stats, [1.0, 0.0])
    at = df.set_index(KEYS)["latency_us"]
    pure = stats.set_index(["operation", "level", "threads"])["latency_us"]
    assert at["1R-3W", 1.0, 500] == pure["READ", "ONE", 500]
    assert at["1R-3W", 0.0, 500] == pure["WRITE", "ALL", 500]
    assert at["3R-1W", 1.0, 500] == pure["READ", "ALL", 500]


def test_mixing_takes_only_settings_with_both_halves():
    stats = published.level_stats()
    df = validation.mixed_from_pure(stats[stats["level"] != "ALL"], [0.5])
    assert set(df["setting"]) == {"2R-2W"}
    with pytest.raises(InputError, match="no strong setting"):
        validation.mixed_from_pure(stats[stats["operation"] == "READ"], [0.5])


def test_the_spread_of_a_cell_is_over_its_blocks():
    cells = pd.DataFrame({"cell_id": ["1-a", "2-a", "1-b", "2-b"], "latency_us": [90.0, 110.0, 200.0, 200.0]})
    assert validation.block_spread_percent(cells) == pytest.approx(np.sqrt(200) / 2)
