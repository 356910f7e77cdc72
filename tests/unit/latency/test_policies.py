"""Ways of choosing a setting, on mixes whose best is known."""

import pytest

from cassbook.core.consistency import STRONG_SETTINGS, WIDER_SETTINGS
from cassbook.core.errors import InputError
from cassbook.latency import mix_excess, model_selection, policies
from cassbook.latency.mixing import WORKLOAD
from tests.helpers import made_runs


@pytest.fixture
def cells():
    return made_runs.run(noise=0.005)


def choices(cells):
    measured = policies.by_block(cells)
    workloads = measured.groupby(WORKLOAD).mean().index
    return measured, policies.all_choices(model_selection.points_of(cells), workloads)


def test_estimates_of_an_additive_cluster_are_always_right(cells):
    table = policies.regrets(*choices(cells))
    for name in ("estimate: linear", "estimate: closed queue (MVA)"):
        assert table.loc[name, "right"].share == 1
        assert table.loc[name, "regret"].value == pytest.approx(0, abs=1e-9)


def test_a_fixed_setting_costs_what_it_is_slower(cells):
    measured, chosen = choices(cells)
    table = policies.regrets(measured, chosen)
    means = measured.groupby(WORKLOAD).mean()
    expected = ((means["1R-3W"] / means.min(axis=1) - 1) * 100).mean()
    assert table.loc["always 1R-3W", "regret"].value == pytest.approx(expected, rel=0.05)
    assert table.loc["always 1R-3W", "right"].share == pytest.approx(2 / 3)  # of shares 0.1, 0.5, 0.9 the last two


def test_the_rule_of_thumb_turns_at_a_quarter(cells):
    _, chosen = choices(cells)
    rule = chosen[policies.RULE]
    assert set(rule.xs(0.1, level="read_share")) == {"3R-1W"}
    assert set(rule.xs(0.5, level="read_share")) == {"1R-3W"}


def test_other_starts_choose_without_seeing_the_one_they_are_judged_by():
    noisy = made_runs.run(noise=0.3, seed=5)
    table = policies.regrets(*choices(noisy))
    assert table.loc[policies.OTHER_STARTS, "right"].share < 1
    assert table.loc[policies.OTHER_STARTS, "regret"].value > 0


def test_a_run_without_full_mixes_is_refused(cells):
    with pytest.raises(InputError, match=r"no mix .*1R-3W, 2R-2W, 3R-1W"):
        policies.by_block(cells[(cells["kind"] == "pure") | (cells["read_cl"] == "ONE")])


def test_the_excess_of_a_mix_is_found():
    cells = made_runs.run(noise=0.0, excess={"3R-1W": 0.2, "2R-2W": 0.1})
    table = mix_excess.excess(mix_excess.against_parts(cells), ["setting"])
    assert table["excess_percent"].to_dict() == pytest.approx(
        {("1R-3W",): 0.0, ("2R-2W",): 10.0, ("3R-1W",): 20.0}, abs=1e-6
    )


def test_reads_and_writes_of_a_mix_are_held_against_the_same_alone():
    table = mix_excess.against_parts(made_runs.run(noise=0.0, blocks=1))
    row = table.set_index(["setting", "read_share", "threads"]).loc[("1R-3W", 0.5, 100)]
    assert row["read_ratio"] == pytest.approx(130 / 100)
    assert row["write_ratio"] == pytest.approx(130 * 0.95 / 160)


def test_mixes_without_their_parts_are_refused(cells):
    with pytest.raises(InputError, match="no mixed cell"):
        mix_excess.against_parts(cells[cells["kind"] == "mixed"])


def test_savings_are_judged_by_starts_that_did_not_choose(cells):
    saved = policies.savings(cells)
    assert len(saved) == 3 * 3 * len(made_runs.THREADS)
    by_share = saved.groupby("read_share")["speedup_percent"].mean()
    assert by_share[0.9] == pytest.approx(0, abs=0.01)
    assert by_share[0.1] == pytest.approx((1 - 107 / 154) * 100, abs=1.0)


def test_the_share_of_reads_from_which_on_1r_3w_is_the_fastest(cells):
    assert policies.always_best_from(cells) == 0.5


def test_wider_settings_against_what_they_contain():
    cells = made_runs.run(noise=0.001, settings=(*STRONG_SETTINGS, *WIDER_SETTINGS))
    table = policies.against_contained(cells)
    assert list(table.index) == [
        ("2R-3W", "1R-3W"), ("2R-3W", "2R-2W"), ("3R-2W", "2R-2W"), ("3R-2W", "3R-1W"),
        ("3R-3W", "1R-3W"), ("3R-3W", "2R-2W"), ("3R-3W", "3R-1W"),
    ]  # fmt: skip
    assert all(ratio.value > 1 for ratio in table["ratio"])
    assert table["faster"].sum() == 0
    assert policies.times_best(cells) == (0, 18)
