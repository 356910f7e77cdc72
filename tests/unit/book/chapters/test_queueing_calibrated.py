"""What the chapters on calibration quote agrees with their tables."""

import pytest

from cassbook.book.chapters import queueing_calibrated, queueing_model
from cassbook.records.calibration import CalibrationRun


@pytest.fixture(scope="module")
def runs():
    return queueing_calibrated.by_version(CalibrationRun("calibration-2.2.4"), CalibrationRun("calibration-5.0.9"))


def test_the_prose_quotes_the_crowding_of_the_table(runs):
    exponent = queueing_calibrated.costs(runs).loc[("2.2.4", "UPDATE", "10 x 100 bytes"), "crowding"]
    assert queueing_calibrated.estimators_values(runs)["six_update"] == 1.5**exponent.value


def test_six_nodes_are_quoted_for_each_version_and_are_the_worst_that_was_held_out(runs):
    errors = queueing_calibrated.errors(runs)["throughput"]
    for version, run in runs.items():
        rows = errors.loc[version].mean()
        assert queueing_calibrated.throughput_six(run) == pytest.approx(rows[queueing_calibrated.SIX_WHOLE])
        assert rows.idxmax() == queueing_calibrated.SIX_WHOLE, "the page must name it where it names a mean error"


def test_a_write_at_all_takes_more_processor_time_than_at_one_but_not_twice(runs):
    assert 1 < queueing_calibrated.estimators_values(runs)["later_write_all_cpu"] < 2


def test_the_2016_papers_nodes_work_more_for_a_stronger_read_with_a_machine_each():
    loads = queueing_model.loads()["a node's CPU"]
    for level in ("ONE", "QUORUM", "ALL"):
        assert queueing_model.nodes_work_times_one(level) == pytest.approx(loads[level] / loads["ONE"])
