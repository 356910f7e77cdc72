"""What the chapter on mitigating distance makes of records."""

import numpy as np
import pytest

from cassbook.book.chapters import mitigating_distance
from tests.helpers.experiments import written


def ride(timeout, stalled, calm):
    """Rows of a time-out: (requests, unanswered, expired, mean latency) while stalled, and while calm again."""
    phases = {"stalled": (2, *stalled), "calm again": (3, *calm)}
    return [
        {"start": start, "timeout": timeout, "phase": phase, "place": place, "requests": n, "unanswered": lost,
         "expired": expired, "latency_ms": ms, "longest_ms": ms}
        for start in (1, 2) for phase, (place, n, lost, expired, ms) in phases.items()
    ]  # fmt: skip


def test_the_best_fixed_time_out_is_one_that_brings_answers(tmp_path):
    rows = ride("0.1 s", (0, 0, 0, None), (20, 20, 900, 12000.0)) + ride(
        "0.5 s", (100, 0, 90, 600.0), (500, 0, 0, 130.0)
    )
    rows += ride("12 s", (10, 0, 0, 5000.0), (500, 0, 0, 135.0)) + ride(
        "run time", (200, 0, 210, 400.0), (400, 0, 60, 160.0)
    )
    results = written(tmp_path, rows, numbers={"timeouts": ["0.1 s", "0.5 s", "12 s", "run time"]})
    assert mitigating_distance.timeouts_values(results) == pytest.approx({
        "stalled_observed": 400, "stalled_longest": 5000, "stalled_best": 600, "calm_observed": 160, "calm_best": 130,
        "given_up": 15,
    })  # fmt: skip
    table = mitigating_distance.timeouts(results)
    assert np.isnan(table.loc["0.1 s", ("stalled", "mean_ms")])
    assert table.loc["run time", ("stalled", "given_up")] == pytest.approx(105)
    shown = mitigating_distance.timeouts_shown(results)
    assert shown.loc["0.1 s", ("stalled", "mean, ms")] == "none began"
    assert shown.loc["0.1 s", ("stalled", "given up")] == ""


def test_what_a_row_more_costs_by_the_proxy(tmp_path):
    rows = [
        {"start": start, "way": way, "rows_a_page": size, "latency_ms": start * ms}
        for start in (1, 2, 3)
        for way, ms_by_size in (("direct", {1: 100.0, 20: 2000.0}), ("proxy", {1: 110.0, 20: 300.0}))
        for size, ms in ms_by_size.items()
    ]
    results = written(tmp_path, rows)
    faster = mitigating_distance.pages(results)["ratio"][20]
    assert (faster.value, faster.low, faster.high) == pytest.approx([20 / 3] * 3)
    quoted = mitigating_distance.proxy_values(results)
    assert quoted["page_sooner"] == "6.67 [6.67, 6.67]"
    assert quoted["a_row_ms"] == "20.0 (± not determined)"  # 10, 20 and 30
