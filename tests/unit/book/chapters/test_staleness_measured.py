"""Which settings no other beats in both latency and freshness."""

import re

import numpy as np
import pandas as pd
import pytest

from cassbook.book.chapters import staleness_measured
from cassbook.records import open_record
from cassbook.staleness import curves


def test_what_is_beaten_in_both_is_told_apart_within_its_case():
    rows = [
        ("near", 1.0, np.nan), ("near", 2.0, 5.0), ("near", 3.0, 7.0), ("near", 4.0, 0.0), ("near", 1.5, np.nan),
        ("far", 50.0, 100.0), ("far", 50.0, 90.0),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["setup", "latency_ms", "t_999_ms"]).assign(n=3, threads=0)
    assert curves.unbeaten(table).tolist() == [True, True, False, True, False, False, True]


def test_equals_do_not_beat_each_other():
    table = pd.DataFrame({"n": 3, "setup": "near", "threads": 0, "latency_ms": [1.0, 1.0], "t_999_ms": [np.nan] * 2})
    assert curves.unbeaten(table).all()


def test_what_is_said_of_three_and_five_replicas_is_of_the_probe_alone_far_apart():
    rows = [
        (n, setup, threads, setting, r, w, read_ms * n, write_ms * n, (read_ms + write_ms) * n / 2, fresh, reads)
        for n in (3, 5)
        for setup in ("near", "far")
        for threads in (0, 100)
        for setting, r, w, read_ms, write_ms, fresh, reads in (
            ("1R-1W", 1, 1, 1.0, 1.0, 60.0, 40), ("2R-1W", 2, 1, 9.0, 1.0, 50.0, 20),
            ("2R-2W", 2, 2, 4.0, 4.0, 0.0, 30), ("1R-3W", 1, 3, 1.0, 8.0, 0.0, 50),
        )
    ]  # fmt: skip
    names = ["n", "setup", "threads", "setting", "r", "w", "read_ms", "write_ms", "latency_ms", "t_999_ms"]
    names.append("least_reads")
    quoted = staleness_measured.frontier_values(pd.DataFrame(rows, columns=names))
    assert (quoted["all"], quoted["strong_setting"], quoted["strong_ms"]) == (32, "2R-2W", 12.0)
    assert (quoted["five_strong_ms"], quoted["five_weakest_ms"], quoted["five_weakest_t"]) == (20.0, 5.0, 60.0)
    assert (quoted["least_reads"], quoted["five_least_reads"]) == (20, 20)
    assert (quoted["repaired_ms"], quoted["unrepaired_ms"]) == (27.0, 12.0)


def test_a_share_that_is_quoted_has_its_bounds_and_its_counts():
    quoted = staleness_measured.stale_values(open_record("stale-three-2.1.20"))
    assert re.fullmatch(r"100 \(at least 9\d\.\d+\)", quoted["far_written"])
    assert re.fullmatch(r"0 of [\d,]+", quoted["far_written_counts"])
    assert re.fullmatch(r"[\d.]+ \[[\d.]+, [\d.]+\]", quoted["near_idle"])


def test_the_bound_of_none_is_that_of_so_many_reads():
    assert staleness_measured.most_stale(0, 1000) == pytest.approx(100 * (1 - 0.025 ** (1 / 1000)))
