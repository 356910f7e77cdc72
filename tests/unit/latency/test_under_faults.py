"""Requests while nodes fail: counted by when they were due, and when all is well again."""

import math

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import InputError
from cassbook.core.schema import OUTCOMES
from cassbook.latency.under_faults import ENDS, between, end_of, over_time, recovered_after_s


def requests(*rows):
    """Rows of (due_s, response_ms, outcome)."""
    table = pd.DataFrame(rows, columns=["due_s", "response_ms", "outcome"])
    numbers = table["outcome"].map(OUTCOMES.index)
    return table.assign(
        outcome=numbers, ended_s=table["due_s"] + table["response_ms"] / 1000, stale=False, back=False
    )  # fmt: skip


def bins(*failing, count=20, width_s=0.5, n=10):
    """Bins of ten requests, of which all fail in those that are named."""
    starts = np.arange(count) * width_s
    return pd.DataFrame({"bin_s": starts, "n": n, "ok": [0 if s in failing else n for s in starts]})


def test_a_request_belongs_to_the_bin_in_which_it_was_due():
    table = over_time(
        requests(
            (0.1, 5, "ok"), (0.4, 900, "ok"), (0.6, 7, "unavailable"), (0.7, 2000, "write_timeout"), (1.6, 3, "ok")
        )
    )
    assert table["bin_s"].tolist() == [0.0, 0.5, 1.5]
    assert table["n"].tolist() == [2, 2, 1]
    assert table[list(ENDS)].sum().to_dict() == {
        "ok": 3, "unavailable": 1, "server_timeout": 1, "client_timeout": 0, "connection_lost": 0, "other": 0,
    }  # fmt: skip
    assert table["max_ms"].tolist()[::2] == pytest.approx([900, 3])
    assert math.isnan(table["p50_ms"][1])


def test_what_is_due_before_the_time_begins_has_bins_of_its_own():
    assert over_time(requests((-0.2, 1, "ok"), (0.2, 1, "ok")))["bin_s"].tolist() == [-0.5, 0.0]


def test_stale_reads_and_those_that_go_back_are_counted():
    table = requests((0.1, 1, "ok"), (0.2, 1, "ok"), (0.9, 1, "ok")).assign(
        stale=[True, True, False], back=[False, True, False]
    )
    assert over_time(table)[["stale", "back"]].to_numpy().tolist() == [[2, 1], [0, 0]]


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_is_an_end(name):
    assert end_of(OUTCOMES.index(name)) in ENDS


def test_recovery_is_when_it_has_gone_well_for_long_enough():
    assert recovered_after_s(bins(), 3.0) == 0
    assert recovered_after_s(bins(3.0, 3.5, 4.0), 3.0) == pytest.approx(1.5)
    assert recovered_after_s(bins(3.0, 4.5), 3.0) == pytest.approx(2.0)  # well for a second only in between
    assert recovered_after_s(bins(*np.arange(3, 10, 0.5)), 3.0) == math.inf
    assert recovered_after_s(bins(*np.arange(3, 9.0, 0.5)), 3.0) == math.inf  # the end comes too soon to tell
    assert recovered_after_s(bins(3.0), 2.75) == pytest.approx(0.75)


def test_what_strikes_just_after_a_bin_has_begun_is_of_that_bin():
    assert between(bins(), 2.004, 3.001)["bin_s"].tolist() == [2.0, 2.5]


def test_recovery_after_the_end_is_refused():
    with pytest.raises(InputError, match="none begins at 99 s or later"):
        recovered_after_s(bins(), 99)
