"""A rate that was not kept is marked, and said whose limit it was."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cassbook.core.schema import SAMPLES, Mark
from cassbook.latency.cell_checks import Due, check_cell, missed_rate, sent_per_s


def cell(sent_per_second, rate_per_s=1000.0, lag_us=0.0, **changes):
    """Samples of two seconds in which so many requests a second left, of those that were due; and the row."""
    due = np.arange(2000) / 1000 + 10.0
    started = 10.0 + np.arange(2000) / sent_per_second
    columns = {
        "cell_id": ["b1-x"] * 2000, "started_s": started, "intended_s": due, "operation": ["READ"] * 2000,
        "latency_us": [1000.0] * 2000, "outcome": ["ok"] * 2000, "phase": ["steady"] * 2000,
        "coordinator": ["node1"] * 2000, "slice": [None] * 2000,
    }  # fmt: skip
    samples = pa.table({field.name: pa.array(columns[field.name]).cast(field.type) for field in SAMPLES}, SAMPLES)
    row = {
        "cell_id": "b1-x", "kind": "workload", "threads": 50, "rate_per_s": rate_per_s, "errors": "",
        "steady_from_s": 10.0, "steady_to_s": 12.0, "client_cpu_s": 0.1, "client_cpu_share": 0.02,
        "loop_lag_us": lag_us,
    } | changes  # fmt: skip
    return samples, row


@pytest.mark.parametrize(("sent_per_second", "marked"), [(1000, False), (960, False), (900, True), (100, True)])
def test_a_rate_that_was_not_kept_is_marked(sent_per_second, marked):
    samples, row = cell(sent_per_second)
    assert sent_per_s(samples, row) == pytest.approx(sent_per_second, rel=0.01)
    checked = check_cell(samples, row, [])
    assert (checked["marks"] == Mark.RATE) is marked
    assert np.isnan(checked["little_ratio"])
    assert (missed_rate(samples, row | checked) is not None) is marked


def test_whose_limit_it_was_is_said():
    samples, row = cell(500)
    checked = row | check_cell(samples, dict(row), [])
    missed = missed_rate(samples, checked)
    assert (missed.sent_per_s, missed.rate_per_s, missed.of_client) == (pytest.approx(500, rel=0.01), 1000, False)
    samples, row = cell(500, lag_us=200.0)
    checked = row | check_cell(samples, dict(row), [])
    assert checked["marks"] == "rate;lag"
    assert missed_rate(samples, checked).of_client


def test_a_rate_that_was_sent_is_the_cells_own():
    samples, row = cell(100)
    others, _ = cell(10_000)
    assert check_cell(samples, dict(row), [], pa.concat_tables([samples, others]))["marks"] == Mark.RATE


def test_a_rate_of_which_nothing_was_sent_in_the_window_is_marked_too():
    """Where the backlog of the ramp takes all the time, no request that was due in the window leaves at all."""
    samples, row = cell(100)
    ramp = samples.set_column(6, "phase", pa.array(["warmup"] * 2000).cast(SAMPLES.field("phase").type))
    assert check_cell(ramp, dict(row), [])["marks"] == "rate;empty"


def test_a_closed_loop_has_no_rate_to_miss():
    samples, row = cell(100, rate_per_s=float("nan"))
    assert Mark.RATE not in check_cell(samples, row, [])["marks"]


def test_refusals_that_come_at_once_make_no_client_late():
    """With nothing answered there is no latency of which a client's lateness could be a part."""
    nothing, at = np.empty(0), np.arange(2000) / 1000
    due = Due(2000, 0, nothing, nothing, at, np.full(2000, 100e-6, dtype=np.float32))
    samples, row = cell(1000, lag_us=200.0)
    assert check_cell(samples, dict(row), [], due=due)["marks"] == "lag;late"
    refused = samples.set_column(5, "outcome", pa.array(["unavailable"] * 2000).cast(SAMPLES.field("outcome").type))
    assert check_cell(refused, dict(row), [], due=due)["marks"] == ""
    half = pc.greater(samples["started_s"], 11.0)
    mixed = pa.concat_tables([samples.filter(half), refused.filter(pc.invert(half))]).unify_dictionaries()
    slow = mixed.set_column(
        4, "latency_us", pc.if_else(pc.equal(mixed["outcome"].cast(pa.string()), "ok"), 8000.0, 1.0)
    )
    assert check_cell(slow, dict(row), [], due=due)["marks"] == ""
