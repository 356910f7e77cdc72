"""An A/A test: how often ratios of labels that stand for the same level exclude 1, simulated and from made records."""

import itertools

import numpy as np
import pandas as pd
import pytest

from cassbook.core.balanced_order import balanced_order
from cassbook.latency import prices, same_level


def orders(comparisons, blocks, rounds):
    """As the laboratory draws them."""
    drawn = [balanced_order(2, rounds, (28, place)) for place in range(comparisons * blocks)]
    return np.array(drawn).reshape(comparisons, blocks, 2 * rounds)


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.95])
def test_four_thousand_simulated_comparisons_cover_and_reject_as_often_as_they_say(correlation):
    values = same_level.simulated(same_level.Noise(correlation, 0.2), orders(4000, 3, 4), seed=28)
    judged = same_level.compared(values)
    assert len(judged) == 4000
    assert 0.93 <= judged["covers"].mean() <= 0.97
    assert 0.03 <= (judged["p"] < 0.05).mean() <= 0.07


def test_noise_comes_back_from_what_was_simulated_with_it():
    rng, rows = np.random.default_rng(1), []
    for start, panel in itertools.product(range(1, 7), range(60)):
        logs = [rng.normal(0, 0.2)]
        for _ in range(15):
            logs.append(0.6 * logs[-1] + rng.normal(0, 0.2 * 0.8))
        level = rng.normal()
        rows += [{"start": start, "panel": panel, "latency_ms": np.exp(level + log)} for log in logs]
    found = same_level.noise(pd.DataFrame(rows))
    assert found.correlation == pytest.approx(0.6, abs=0.05)
    assert found.sd == pytest.approx(0.2, rel=0.15)  # a little less: a short series hides some of it in its own mean


def record(starts, ratio, rng):
    """One group of four labels per operation; label 3 takes `ratio` times as long."""
    rows, slices = [], []
    for start, (panel, operation) in itertools.product(range(1, starts + 1), enumerate(("READ", "UPDATE"))):
        rows.append({"start": start, "panel": panel, "operation": operation, "threads": 10, "level": "ONE"})
        for round_, label in itertools.product(range(5), range(4)):
            latency_ms = np.exp(rng.normal(0, 0.01)) * (ratio if label == 3 else 1.0)
            slices.append(
                {"start": start, "panel": panel, "level": str(label), "round": round_, "latency_ms": latency_ms}
            )
    return pd.DataFrame(rows), pd.DataFrame(slices)


def test_each_label_is_in_one_comparison_and_each_set_of_starts_makes_its_own():
    rows, slices = record(6, 2.0, np.random.default_rng(2))
    values = same_level.by_round(rows, slices, blocks=3)
    judged = same_level.compared(values)
    assert len(judged) == 2 * 2 * 2  # operations, pairs of labels, sets of starts
    assert judged["blocks"].eq(3).all()
    differs = judged["condition"].str.contains("pair 1")
    assert judged.loc[differs, "ratio"].tolist() == pytest.approx([2.0] * 4, rel=0.02)
    assert not judged.loc[differs, "covers"].any()
    assert judged.loc[~differs, "ratio"].tolist() == pytest.approx([1.0] * 4, rel=0.02)
    assert set(values["cluster"]) == {0, 1}
    assert same_level.compared(same_level.by_round(rows, slices, blocks=6))["blocks"].eq(6).all()


def test_a_share_has_binomial_bounds_that_clusters_widen():
    yes = pd.Series([True] * 95 + [False] * 5)
    alone = same_level.share(yes)
    assert (alone.value, alone.n) == (0.95, 100)
    assert (alone.low, alone.high) == pytest.approx((0.8872, 0.9836), abs=1e-4)  # Clopper and Pearson
    together = same_level.share(yes, pd.Series(np.repeat(range(4), 25)))  # all five in the last of four
    assert together.low < alone.low < alone.high < together.high
    mixed = same_level.share(yes, pd.Series(np.tile(range(4), 25)))
    assert (mixed.low, mixed.high) == pytest.approx((alone.low, alone.high))
    assert same_level.share(pd.Series([True] * 40)).high == 1.0


def test_ratios_of_many_comparisons_are_those_of_each_alone():
    values = same_level.simulated(same_level.Noise(0.5, 0.2), orders(20, 3, 4), seed=3)
    together = prices.ratios_of_rounds(values, bases=same_level.LABELS)
    for condition, own in values.groupby("condition"):
        alone = prices.ratios_of_rounds(own, bases=same_level.LABELS)
        wide = own.pivot_table(index=["block", "round"], columns="level", values="latency_us")
        by_hand = np.log(wide["b"] / wide["a"]).groupby("block").mean()
        assert alone["log_ratio"].tolist() == pytest.approx(by_hand.tolist())
        assert together.loc[together["condition"] == condition, "log_ratio"].tolist() == alone["log_ratio"].tolist()
