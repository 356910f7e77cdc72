"""Two versions beside each other: ratios by hand, and what blocks can tell."""

import numpy as np
import pandas as pd
import pytest

from cassbook.book import gaps
from cassbook.book.chapters import latency, latency_figures, price
from cassbook.book.provenance import Source
from cassbook.core.errors import LackingError
from cassbook.latency import prices
from cassbook.latency.slices import COLUMNS
from tests.helpers.compared_runs import blocks, run


def source(name, *rows):
    return Source(name, run(name, *rows))


def pair(first, second, **row):
    return source("a", *blocks(*first, **row)), source("b", *blocks(*second, **row))


def test_ratios_are_of_geometric_means_and_of_pure_cells_alone():
    both = [*blocks(1000.0, 4000.0, 2000.0), {"kind": "mixed", "read_share": 0.5}]
    other = [*blocks(4000.0, 16000.0, 8000.0), {"kind": "mixed", "read_share": 0.5}]
    ratios = latency.version_ratios(source("a", *both), source("b", *other))
    assert ratios["ratio"].tolist() == pytest.approx([4.0])
    assert ratios["low"].iloc[0] < 4 < ratios["high"].iloc[0]
    assert ratios["distinguishable"].tolist() == [False]


def test_one_block_has_no_interval():
    ratios = latency.version_ratios(*pair([1000.0], [2000.0]))
    assert np.isnan(ratios[["low", "high"]].to_numpy()).all()
    assert ratios["ratio"].tolist() == pytest.approx([2.0])


def test_by_level_counts_what_can_be_told():
    rows = [[{**row, "threads": threads} for threads, factor in zip((1, 2, 3), by, strict=True)
             for row in blocks(1000.0 * factor, 1001.0 * factor, 999.0 * factor)]
            for by in ((1, 1, 1), (0.5, 1, 4))]  # fmt: skip
    row = latency.ratios_by_level(latency.version_ratios(source("a", *rows[0]), source("b", *rows[1]))).loc[
        ("READ", "ONE")
    ]
    assert row["ratio"] == pytest.approx(2 ** (1 / 3))
    assert row[["faster", "slower", "cells"]].tolist() == [1, 1, 3]


def test_the_figure_draws_each_ratio_with_its_interval():
    ratios = latency.version_ratios(*pair([1000.0, 1010.0, 1005.0], [500.0, 505.0, 502.5]))
    figure = latency_figures.ratios(ratios, "b over a")
    (bars,) = [c for c in figure.axes[0].containers if len(c.lines[0].get_ydata())]
    assert bars.lines[0].get_ydata()[0] == pytest.approx(0.5)
    assert figure.axes[0].get_ylabel() == "b over a"


def test_what_levels_cost_is_quoted_with_its_interval_by_figure_and_run(monkeypatch):
    """QUORUM takes twice as long as ONE in every block, and its slowest ones four times; 10 threads do not count."""
    rows = [
        {"block": block, "threads": threads, "read_cl": level, "latency_us": 1000.0 * block * factor, "p50_us": 900.0,
         "p95_us": 2000.0, "p99_us": 3000.0 * factor**2, "n_ok": 5000,
         "n_errors": 0, "cv_percent": 20.0, "marks": ""}
        for block in (1, 2, 3) for threads in (10, 100, 200)
        for level, factor in (("ONE", 1), ("QUORUM", 2 if threads > 10 else 50))
    ]  # fmt: skip
    of = source("recorded 2.1.20", *rows)
    names = [f"c{place}" for place in range(len(rows))]
    of.run.statistics = of.run.statistics.assign(cell_id=names, deployment="")
    of.run.slices, of.run.histograms = pd.DataFrame(columns=list(COLUMNS)), {}
    table = price.table([of])
    row = table.loc["recorded 2.1.20", "READ", "QUORUM/ONE"]
    assert (row["mean"].value, row["p50"].value, row["p99"].value) == pytest.approx((2, 1, 4))
    assert price.text(table).loc[("recorded 2.1.20", "READ", "QUORUM/ONE"), "p99.9"] == "too few operations"
    values = price.values(table, {"recorded 2.1.20": "recorded"})
    assert values["price_recorded_READ_QUORUM_p99"] == "4.00 [4.00, 4.00]"
    idle = source("measured now", *(row | {"threads": 10} for row in rows))
    idle.run.statistics = idle.run.statistics.assign(cell_id=names, deployment="")
    idle.run.slices, idle.run.histograms = of.run.slices, {}
    with pytest.raises(LackingError, match=r"Measured now .*two levels .*100 threads.* up to 10"):
        price.table([idle])
    said = []
    monkeypatch.setattr(gaps, "display", lambda sentence: said.append(sentence.text))
    assert price.table([idle, of]).equals(table)
    assert len(said) == 1
    drawn = {"mean": {of.label: prices.prices(price.ratios(of))}}
    figure = latency_figures.prices(drawn)
    (bars,) = [c for c in figure.axes[0].containers if len(c.lines[0].get_ydata())]
    assert bars.lines[0].get_ydata().tolist() == pytest.approx([50, 2, 2])


def paced(rate_per_s=1000.0, factors=(2.0, 2.0, 2.0), **row):
    """Cells at a fixed rate: QUORUM takes so many times as long as ONE in each block."""
    return [
        {"kind": "paced", "condition": "healthy", "rate_per_s": rate_per_s, "block": block, "threads": 50,
         "read_cl": level, "write_cl": level, "read_share": 0.5, "latency_us": 1.0,
         **dict.fromkeys(("response_us", "response_p50_us", "response_p95_us"), 1000.0 * block * by),
         "response_p99_us": 1000.0 * block * by**2, **row}
        for block, factor in enumerate(factors, 1) for level, by in (("ONE", 1.0), ("QUORUM", factor))
    ]  # fmt: skip


def test_what_a_level_costs_at_a_fixed_rate_is_of_response_times_while_no_node_is_paused():
    closed = [row | {"rate_per_s": float("nan"), "response_us": 9.0} for row in paced(factors=(9.0,) * 3)]
    paused = paced(factors=(7.0,) * 3, condition="paused_node")
    of = source("recorded 5.0.9", *closed, *paused, *paced(4000.0, (3.0,) * 3), *paced())
    table = price.at_fixed_rate(of)
    assert [row["p50"].value for _, row in table.iterrows()] == pytest.approx([2.0, 3.0])
    assert table.loc[(1000.0, "QUORUM/ONE"), "p99"].value == pytest.approx(4.0)
    assert price.rate_values({"today": of}) == {
        "rate_per_s": "1,000", "rate_today_p50": "2.00 [2.00, 2.00]", "rate_today_p99": "4.00 [4.00, 4.00]"
    }  # fmt: skip


def test_a_run_without_fixed_rates_says_so():
    of = source("recorded 5.0.9", *(row | {"rate_per_s": float("nan")} for row in paced()))
    assert price.at_fixed_rate(of).empty
    assert set(price.rate_values({"today": of}).values()) == {price.UNMEASURED}


def test_two_levels_are_compared_block_by_block_and_not_by_their_separate_prices():
    """ALL takes half as long as QUORUM in each block, however far blocks are from each other."""
    rows = [
        {"block": block, "threads": 100, "read_cl": level, "latency_us": 1000.0 * factor, "n_ok": 5000, "n_errors": 0}
        for block, wide in ((1, 1.0), (2, 3.0), (3, 9.0))
        for level, factor in (("ONE", 1.0), ("QUORUM", 4.0 * wide), ("ALL", 2.0 * wide))
    ]  # fmt: skip
    of = source("recorded 5.0.9", *rows)
    of.run.statistics = of.run.statistics.assign(cell_id=[f"c{place}" for place in range(len(rows))], deployment="")
    of.run.slices = pd.DataFrame(columns=list(COLUMNS))
    assert price.between(of, "READ", "ALL", "QUORUM", "mean") == "0.50 [0.50, 0.50]"
    assert price.between(of, "WRITE", "ALL", "QUORUM", "mean") == price.UNMEASURED


def test_saturation_and_growth_are_figures_by_source():
    threads = [1, 2, 4, 8, 16, 32]
    series = pd.DataFrame({"operation": "READ", "threads": threads})
    saturated = series.assign(level="ONE", throughput_per_s=[100, 200, 400, 400, 400, 400])
    growing = series.assign(level="ALL", throughput_per_s=[10.0 * n for n in threads])
    stats = pd.concat([saturated, growing])
    stats["latency_us"] = 100.0 + 50.0 * stats["threads"] + stats["threads"] % 3
    made = Source("made")
    made.__dict__["level_stats"] = stats
    points = latency.saturation_points([made])
    assert points["made", "saturated_from_threads"].to_dict() == {("READ", "ONE"): 4, ("READ", "ALL"): np.inf}
    assert points["made", "max_throughput_per_s"].to_dict() == {("READ", "ONE"): 400, ("READ", "ALL"): 320}
    assert latency.saturation_points_shown(points).to_numpy().tolist() == [["4", "400"], ["not reached", "320"]]
    growth = latency.growth([made], beyond_saturation=False)
    assert set(growth["made", "verdict"]) == {"linear"}
    assert (growth["made", "aicc_difference"] > 0).all()
    assert latency.growth_shown(growth).columns.tolist() == [("made", "verdict"), ("made", "AICc exp. - lin.")]
