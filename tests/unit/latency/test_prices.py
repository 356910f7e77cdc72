"""Ratios of levels: within slice rounds, then blocks, then over blocks."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.estimate import Estimate
from cassbook.latency import prices
from cassbook.records.run import RecordedRun
from tests.helpers.sliced_cells import RATIOS, sliced_cells


def test_what_rounds_share_falls_out():
    cells, slices = sliced_cells(6, 10, drift=0.3, rng=np.random.default_rng(28))
    ratios = prices.block_ratios(cells, slices)
    assert ratios["rounds"].eq(10).all()
    assert set(ratios["base"]) == {"ONE"}
    table = prices.prices(ratios).set_index("level")
    for level in ("QUORUM", "ALL"):
        assert table.loc[level, "ratio"] == pytest.approx(RATIOS[level], rel=0.02)
        assert table.loc[level, "low"] < RATIOS[level] * 1.02
        assert table.loc[level, "half_width_percent"] < 2
    assert table["blocks"].eq(6).all()


def test_the_mean_is_over_rounds_and_not_over_slices():
    cells, slices = sliced_cells(1, 4, drift=0.0, rng=np.random.default_rng(1))
    slices["latency_us"] = [1.0, 1.0, 1.0, 8.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    (row,) = prices.block_ratios(cells, slices).query("level == 'QUORUM'").to_dict("records")
    logs = np.log([2.0, 2.0, 2.0, 0.25])
    assert row["log_ratio"] == pytest.approx(logs.mean())
    assert row["round_sd"] == pytest.approx(logs.std(ddof=1))
    (price,) = prices.prices(prices.block_ratios(cells, slices)).query("level == 'QUORUM'").to_dict("records")
    assert price["ratio"] == pytest.approx(np.exp(logs.mean()))
    assert np.isnan(price["low"])  # one block tells nothing of another


def test_cells_that_were_measured_alone_have_one_ratio_per_block():
    cells, slices = sliced_cells(3, 5, drift=0.1, rng=np.random.default_rng(2))
    ratios = prices.block_ratios(cells, slices.iloc[:0])
    assert ratios["rounds"].eq(0).all()
    by_block = cells.pivot_table(index="block", columns="level", values="latency_us")
    expected = np.log(by_block["ALL"] / by_block["ONE"])
    assert ratios.query("level == 'ALL'")["log_ratio"].tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    ("name", "quorum_sd", "all_sd"),
    [("standard-2.1.20", 0.10, 0.09), ("standard-5.0.9", 0.15, 0.16)],
)
def test_recorded_ratios_vary_little_over_blocks(name, quorum_sd, all_sd):
    """With levels measured minutes apart these runs had 0.28 and 0.39 for QUORUM, 0.22 and 0.30 for ALL."""
    run = RecordedRun(name)
    ratios = prices.block_ratios(run.statistics, run.slices)
    bases = ratios.groupby("operation")["base"].unique().map(list)
    assert bases["READ"] == ["ONE"]
    assert bases["reads 50 %"] == ["QUORUM/QUORUM"]
    many = ratios[(ratios["kind"] == "pure") & (ratios["threads"] >= 100)]
    sd = many.groupby(["operation", "threads", "level"])["log_ratio"].std(ddof=1).groupby("level").median()
    assert sd["QUORUM"] == pytest.approx(quorum_sd, abs=0.01)
    assert sd["ALL"] == pytest.approx(all_sd, abs=0.01)
    table = prices.prices(many)
    assert table["blocks"].eq(7).all()
    assert table["half_width_percent"].median() < 16
    assert (table["low"] > 0).all()


def test_levels_without_a_base_have_no_price():
    run = RecordedRun("quick-2.1.20")
    ratios = prices.block_ratios(run.statistics, run.slices, bases=["TWO"])
    assert ratios.empty
    assert prices.prices(ratios).empty


def test_over_all_loads_logarithms_are_averaged_within_blocks_first():
    ratios = pd.DataFrame(
        {"operation": "READ", "level": "ALL", "base": "ONE", "block": [1, 1, 2, 2, 3], "threads": [1, 2, 1, 2, 1],
         "log_ratio": np.log([2.0, 8.0, 3.0, 12.0, 5.0])}
    )  # fmt: skip
    row = prices.pooled(ratios).loc[("READ", "ALL", "ONE")]
    expected = Estimate.ratio([4.0, 6.0, 5.0])
    assert (row["ratio"].value, row["ratio"].low) == pytest.approx((expected.value, expected.low))
    assert (row["ratio"].n, row["loads"]) == (3, 2)
    by_threads = prices.pooled(ratios, ("threads", "level"))["ratio"]
    assert by_threads[1, "ALL"].value == pytest.approx(30 ** (1 / 3))
