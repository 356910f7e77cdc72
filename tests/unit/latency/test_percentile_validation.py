"""Percentiles of mixes made from other cells: exact where operations do not interfere, and held against every run."""

import numpy as np
import pytest

from cassbook.latency import histograms, percentile_validation
from cassbook.latency.percentile_validation import NEIGHBOURS, PURE, mixed_accuracy, mixed_errors
from cassbook.records.run import RecordedRun
from tests.helpers.made_cells import cell_stats


def made(slower=1.0, n_ok=20_000, shares=(0.5, 0.9)):
    """One thread count and two blocks; mixes take `slower` times what their parts do."""
    rng, rows, recorded = np.random.default_rng(1), [], {}
    reads, writes = rng.lognormal(7.0, 0.5, 40_000), rng.lognormal(8.0, 0.5, 40_000)
    for block in (1, 2):
        for share in (0.0, *shares, 1.0):
            kind = "pure" if share in (0.0, 1.0) else "mixed"
            levels = ("ONE", "ALL") if kind == "mixed" else ("ONE", "ONE") if share else ("ALL", "ALL")
            cell_id = f"b{block}-{share}"
            rows.append({"kind": kind, "read_share": share, "read_cl": levels[0], "write_cl": levels[1], "block": block,
                         "cell_id": cell_id, "n_ok": n_ok, "n_errors": 0, "latency_us": 1.0})  # fmt: skip
            factor = slower if kind == "mixed" else 1.0
            kept = round(share * reads.size)
            for operation, part in (("READ", reads[:kept]), ("UPDATE", writes[: reads.size - kept])):
                if part.size:
                    recorded[f"{cell_id}.{operation}"] = histograms.histogram(factor * part)
    return cell_stats(*rows), recorded


def test_mixes_of_operations_that_do_not_interfere_are_predicted():
    table = mixed_accuracy(*made()).set_index(["made_from", "percentile"])
    assert set(table["points"]) == {2}
    assert table["worst_percent"].max() < 3
    assert list(table.loc[PURE].index) == ["p50", "p95", "p99", "p99.9"]


def test_mixes_that_are_slower_than_their_parts_are_off_by_as_much():
    errors = mixed_errors(*made(slower=1.25, shares=(0.5,)))
    assert set(errors["blocks"]) == {2}
    assert errors.loc[errors["made_from"] == PURE, "error_percent"].to_numpy() == pytest.approx(-20, abs=3)
    neighbours = mixed_errors(*made(slower=1.25, shares=(0.3, 0.5, 0.7)))
    middle = neighbours[(neighbours["made_from"] == NEIGHBOURS) & (neighbours["read_share"] == 0.5)]
    assert middle["error_percent"].abs().max() < 3  # both neighbours are slower too


def test_percentiles_of_too_few_operations_are_left_out():
    table = mixed_accuracy(*made(n_ok=9999))
    assert "p99.9" not in set(table["percentile"])
    assert "p99" in set(table["percentile"])


def test_a_run_without_mixes_has_nothing_to_hold_against():
    stats, recorded = made()
    assert mixed_accuracy(stats[stats["kind"] == "pure"], recorded).empty
    assert list(percentile_validation.nothing().columns) == list(mixed_accuracy(stats, recorded).columns)


@pytest.mark.parametrize(
    ("name", "points", "most_percent", "most_bias"),
    [
        ("standard-2.1.20", 180, 15, 10),
        ("standard-5.0.9", 180, 19, 12),
        ("quick-2.1.20", 45, 31, 10),
        ("strong-2.1.20", 90, 21, 12),
        ("uniform-2.1.20", 18, 26, 10),
        ("foretold-5.0.9", 45, 17, 10),
    ],
)
def test_every_recorded_run_with_pure_and_mixed_cells_says_how_far_off_it_is(name, points, most_percent, most_bias):
    """Off by 12 to 29 % at p99 on average: tails of mixes are roughly those of their parts."""
    run = RecordedRun(name)
    table = mixed_accuracy(run.statistics, run.histograms).set_index(["made_from", "percentile"])
    p99 = table.loc[(PURE, "p99")]
    assert p99["points"] == points
    assert 5 < p99["mean_percent"] < most_percent
    assert p99["mean_percent"] < p99["worst_percent"]
    assert abs(p99["bias_percent"]) < most_bias
