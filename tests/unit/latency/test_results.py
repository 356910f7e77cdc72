"""A run's results as one table: figures over blocks, what they survive, and what is missing by name."""

import numpy as np
import pytest

from cassbook.core.estimate import Estimate
from cassbook.latency import results as shown
from cassbook.latency.histograms import histogram
from tests.helpers.made_cells import cell_stats


def cells(*rows, **alike):
    defaults = {
        "workload": "", "condition": "", "rate_per_s": np.nan, "latency_us": 1000.0, "response_us": np.nan,
        "p50_us": 900.0, "p95_us": 2000.0, "p99_us": 4000.0, "n_ok": 20_000, "n_errors": 0, "n_unknown": 0,
    }  # fmt: skip
    return cell_stats(*(defaults | alike | row for row in rows))


def test_figures_are_geometric_means_over_blocks_with_t_on_logarithms_and_repeats_count_within_their_block():
    of = shown.results(
        cells(
            {"block": 0, "p99_us": 1000.0},
            {"block": 0, "p99_us": 4000.0, "repeat": 1},
            {"block": 1, "p99_us": 8e3},
            {"block": 2, "p99_us": 4e3},
        ),
        None,
    )
    (row,) = of.table.to_dict("records")
    expected = Estimate.ratio([2000.0, 8000.0, 4000.0])
    assert [row[name] for name in ("p99_us", "p99_low_us", "p99_high_us")] == pytest.approx(
        [expected.value, expected.low, expected.high]
    )
    assert (row["blocks"], row["interval"], row["operations"]) == (3, "blocks", 80_000)
    assert any("geometric means" in note for note in of.notes)


def test_one_block_has_its_own_bounds_and_says_what_they_are():
    of = shown.results(cells({"p99_low_us": 3500.0, "p99_high_us": 5000.0}), None)
    (row,) = of.table.to_dict("records")
    assert [row[name] for name in ("p99_us", "p99_low_us", "p99_high_us")] == pytest.approx([4000, 3500, 5000])
    assert row["interval"] == "one cluster start"
    assert any("not what another cluster start would" in note for note in of.notes)


def test_a_percentile_beyond_the_samples_is_named_and_not_shown():
    of = shown.results(cells({"block": 0, "n_ok": 5000}, {"block": 1, "n_ok": 700}), None)
    (row,) = of.table.to_dict("records")
    assert np.isnan(row["p99_us"])
    assert row["p95_us"] == pytest.approx(2000)
    said = "p99 of 1 cell is not shown: it needs 1,000 operations per cell, and the fewest are 700, 300 more."
    assert said in of.notes


def test_p999_comes_from_histograms_and_without_them_is_named():
    table, slow = cells({"cell_id": "a"}), np.concatenate([np.full(19_960, 100.0), np.full(40, 9000.0)])
    with_them = shown.results(table, {"a.READ": histogram(slow)})
    assert with_them.table["p999_us"].tolist() == pytest.approx([9000], rel=1e-3)
    without = shown.results(table, None)
    assert without.table["p999_us"].isna().all()
    assert "p99.9 of 1 cell is not shown: their histograms are not in the installed package." in without.notes


def test_a_rate_is_judged_by_its_response_time():
    of = shown.results(cells({"rate_per_s": 500.0, "response_us": 7000.0, "response_p99_us": 9000.0}), None)
    (row,) = of.table.to_dict("records")
    assert row["time"] == "response"
    assert [row["latency_us"], row["p99_us"]] == pytest.approx([7000, 9000])
    assert any("should have started" in note for note in of.notes)


def test_what_levels_survive_where_the_replication_is_known():
    mixed = cells({"kind": "mixed", "read_share": 0.5, "read_cl": "ONE", "write_cl": "ALL"}, {"read_cl": "QUORUM"})
    of = shown.results(mixed, None, 3).table.set_index("kind")
    assert of.loc["mixed", ["survives_reads", "survives_writes"]].tolist() == [2, 0]
    assert of.loc["pure", "survives_reads"] == 1
    assert of["survives_writes"].isna().to_dict() == {"pure": True, "mixed": False}
    assert shown.results(mixed, None).table["survives_reads"].isna().all()


def test_marks_failures_and_empty_cells_are_said():
    of = shown.results(
        cells(
            {"marks": "lag;little", "n_errors": 3, "n_unknown": 2},
            {"marks": "moonlight", "read_cl": "ALL"},
            {"latency_us": np.nan, "n_ok": 0, "n_errors": 7, "read_cl": "TWO"},
        ),
        None,
    )
    text = "\n".join(of.notes)
    assert "1 cell had no successful operation, so no latency either." in text
    assert not any("the fewest are 0" in note for note in of.notes)
    failed = of.table[of.table["level"] == "TWO"].iloc[0]
    assert (failed["operations"], failed["errors"]) == (7, 7)
    assert np.isnan(failed["latency_us"])
    assert "Of 10 errors, 2 are writes that may have taken effect all the same." in text
    assert "Marked lag (1 cell): the client's event loop was late" in text
    assert "Marked moonlight (1 cell): a mark that this cassbook does not know." in text


def test_a_run_without_cells_is_an_empty_table():
    of = shown.results(cells({}).iloc[:0], None, 3)
    assert of.table.empty
    assert of.notes == []
