"""What a design buys, from a made record: minutes apart in one design, in slices in the other."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cassbook.latency import designs, prices

RATIOS = {"ONE": 1.0, "QUORUM": 2.0, "ALL": 3.0}


def record(starts, rng):
    """Every cell that is measured alone meets a machine of its own; those in slices share one."""
    rows, slices = [], []
    for start in range(1, starts + 1):
        for panel, (design, level) in enumerate([*itertools.product(["sequential"], RATIOS), ("interleaved", "")]):
            rows.append({"start": start, "panel": panel, "design": design, "operation": "READ", "threads": 100})
            speed = np.exp(rng.normal(0, 0.3))
            levels = [level] if level else list(RATIOS)
            slices += [
                {"start": start, "panel": panel, "level": name, "round": number,
                 "latency_ms": 10 * RATIOS[name] * speed * np.exp(rng.normal(0, 0.02))}
                for number in range(8 if design == "interleaved" else 1) for name in levels
            ]  # fmt: skip
    return pd.DataFrame(rows), pd.DataFrame(slices)


def test_what_slices_share_falls_out_and_what_cells_do_not_share_stays():
    ratios = designs.block_ratios(*record(6, np.random.default_rng(28)))
    assert len(ratios) == 2 * 2 * 6
    table = designs.compared(ratios).set_index("level")
    assert list(table.index) == ["QUORUM", "ALL"]
    for level, row in table.iterrows():
        assert row["ratio_interleaved"] == pytest.approx(RATIOS[level], rel=0.03)
        assert row["half_interleaved"] < 0.05
        assert row["half_sequential"] > 0.2
        assert row["gain"] == pytest.approx(row["half_sequential"] / row["half_interleaved"])
        own = ratios.query("condition == 'sequential' and level == @level")["log_ratio"]
        assert row["sd_sequential"] == pytest.approx(own.std(ddof=1))
        assert row["half_sequential"] == pytest.approx(stats.t.ppf(0.975, 5) * own.std(ddof=1) / np.sqrt(6))
    assert designs.gain(table).value == pytest.approx(np.sqrt(table["gain"].prod()))


def test_a_level_that_was_measured_alone_has_one_round():
    ratios = designs.block_ratios(*record(2, np.random.default_rng(1)))
    assert set(ratios.loc[ratios["condition"] == "sequential", "rounds"]) == {0}
    assert set(ratios.loc[ratios["condition"] == "interleaved", "rounds"]) == {8}


def test_other_ways_to_take_a_ratio_are_held_against_cells_measured_alone():
    rows, slices = record(6, np.random.default_rng(28))
    found = designs.attempts(rows, slices.assign(n=100)).loc["READ"]
    assert list(found.index) == list(designs.ATTEMPTS)
    usual = designs.gain(designs.compared(designs.block_ratios(rows, slices)))
    assert found["mean of rounds"].value == pytest.approx(usual.value)
    for estimate in found:
        assert estimate.value > 5
    # A round in which the machine stood still moves means of rounds, and not their median.
    still = slices["level"].eq("ALL") & slices["round"].eq(3)
    slices.loc[still, "latency_ms"] *= 1 + 9 * slices["start"][still] / 6
    found = designs.attempts(rows, slices.assign(n=100)).loc["READ"]
    assert found["median of rounds"].value > found["mean of rounds"].value


@pytest.mark.parametrize("blocks", range(6, 12))
def test_blocks_are_as_many_as_students_t_needs(blocks):
    """The largest spread that so many blocks suffice for, and a little more."""
    sd = np.log(1.1) * np.sqrt(blocks) / stats.t.ppf(0.975, blocks - 1)
    assert designs.blocks_needed([sd * 0.999]) == blocks
    assert designs.blocks_needed([sd * 1.001]) == blocks + 1


def test_settings_of_mixes_are_compared_with_quorums():
    rows, slices = record(2, np.random.default_rng(1))
    names = dict(zip(RATIOS, ("2R-2W", "1R-3W", "3R-1W"), strict=True))
    ratios = designs.block_ratios(rows.assign(operation="MIX"), slices.assign(level=slices["level"].map(names)))
    assert set(ratios["base"]) == {"2R-2W"}
    assert set(prices.prices(ratios)["level"]) == {"1R-3W", "3R-1W"}
