"""What the chapters on calibration quote agrees with their tables."""

import pytest

from cassbook.book.chapters import queueing_calibrated, queueing_model
from cassbook.records.calibration import CalibrationRun


@pytest.fixture(scope="module")
def runs():
    return queueing_calibrated.by_version(CalibrationRun("calibration-2.2.4"), CalibrationRun("calibration-5.0.9"))


def test_the_prose_quotes_the_crowding_of_the_table(runs):
    quoted = queueing_calibrated.estimators_values(runs)
    table = queueing_calibrated.costs(runs)
    for operation in ("READ", "UPDATE"):
        exponent = table.loc[("2.2.4", operation, "10 x 100 bytes"), "crowding"]
        assert quoted[f"crowding_{operation.lower()}"] == exponent.value


def test_six_nodes_are_quoted_for_each_version_and_are_the_worst_that_was_held_out(runs):
    first, later = runs.values()
    quoted = queueing_calibrated.six_values(first) | queueing_calibrated.six_values(later, "later_")
    errors = queueing_calibrated.errors(runs)["throughput"]
    for prefix, version in (("", "2.2.4"), ("later_", "5.0.9")):
        rows = errors.loc[version].mean()
        assert quoted[f"{prefix}throughput_six"] == pytest.approx(rows[queueing_calibrated.SIX_WHOLE])
        assert rows.idxmax() == queueing_calibrated.SIX_WHOLE, "the page must name it where it names a mean error"


def test_a_write_at_all_takes_more_processor_time_than_at_one_but_not_twice(runs):
    quoted = queueing_calibrated.estimators_values(runs)
    for name in ("write_all_cpu", "later_write_all_cpu"):
        assert 1 < quoted[name] < 2


def test_the_2016_papers_nodes_work_more_for_a_stronger_read_with_a_machine_each():
    loads = queueing_model.loads()["a node's CPU"]
    for level in ("ONE", "QUORUM", "ALL"):
        assert queueing_model.nodes_work_times_one(level) == pytest.approx(loads[level] / loads["ONE"])
