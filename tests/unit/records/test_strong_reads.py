"""Reads that overlapping quorums should not let go stale, counted over the schedules of a record that is made up."""

import pandas as pd
import pytest

from cassbook.records.faults import FaultRun
from cassbook.records.strong_reads import among_failures
from tests.helpers.experiments import written

#: Of each schedule: the fault, and by setting and operation how many requests and how many stale.
SCHEDULES = {
    "faults-calm": ("pause", {("2R-2W", "READ"): (100, 0), ("ONE/ONE", "READ"): (100, 40)}),
    "faults-late": ("clock", {("2R-2W", "READ"): (50, 7), ("1R-3W", "READ"): (50, 5), ("1R-3W", "UPDATE"): (50, 0)}),
    "faults-dead": ("kill", {("1R-3W", "READ"): (80, 2), ("ONE/QUORUM", "READ"): (80, 9)}),
}


@pytest.fixture
def record(tmp_path):
    rows, struck = [], []
    for setup, (fault, counts) in SCHEDULES.items():
        for panel, ((setting, operation), (n, stale)) in enumerate(counts.items(), 1):
            row = {"start": 1, "setup": setup, "panel": panel, "setting": setting, "operation": operation}
            rows.append(row | {"n": n, "stale": stale, "driver": "default", "table": "plain", "errors": "", "lost": 0})
        struck.append({"start": 1, "setup": setup, "panel": 1, "number": 1, "fault": fault, "begins": True, "node": 2,
                       "at_s": 1.0, "ordered_s": 1.0, "done_s": 1.0})  # fmt: skip
    bins = [{"start": 1, "setup": setup, "panel": 1, "bin_s": 0.0, "n": 1, "ok": 1} for setup in SCHEDULES]
    tables = {"bins": pd.DataFrame(bins), "struck": pd.DataFrame(struck)}
    setups: dict = {setup: {} for setup in SCHEDULES}
    profiles = {setup: {"load": {"steady_s": 30.0}} for setup in SCHEDULES}
    written(tmp_path, rows, tables, numbers={"profiles": profiles}, setups=setups, engine="5.0.9", experiment="faults")
    return FaultRun(str(tmp_path))


def test_reads_of_settings_whose_quorums_overlap_are_counted_and_no_others(record):
    found = among_failures(record)
    assert (found.reads, found.stale, found.stale_by_clock) == (100 + 50 + 50 + 80, 7 + 5 + 2, 7 + 5)
    assert found.stale_by_schedule.to_dict() == {"faults-late": 12, "faults-dead": 2}


def test_the_recorded_clock_explains_most_of_5_0_9_and_a_part_of_2_1_20():
    """What the pages say of both versions: on the older one a node that dies forgets what it acknowledged."""
    older, newer = (among_failures(FaultRun(f"faults-{version}")) for version in ("2.1.20", "5.0.9"))
    assert newer.stale_by_clock > 0.9 * newer.stale > 0
    assert 0 < older.stale_by_clock < older.stale / 2
