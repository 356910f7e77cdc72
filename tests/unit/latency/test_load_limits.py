"""What a load takes of the machine is what its cells say, and the prices of processors are taken within blocks."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import LackingError
from cassbook.latency.load_limits import demands, limits
from tests.helpers import open_runs

#: Processor time of all nodes per request, us.
NODE_US = {"ONE/ONE": 100.0, "QUORUM/QUORUM": 180.0, "ONE/ALL": 220.0}


@pytest.fixture(scope="module")
def statistics():
    """A run whose second block has a machine half as fast, and disks that do nothing."""
    found = open_runs.statistics(open_runs.open_cells())
    slower = found["block"].map({1: 1.0, 2: 2.0, 3: 1.0})
    setting = found["read_cl"].astype(str) + "/" + found["write_cl"].astype(str)
    known = found["response_us"].notna()
    return found.assign(
        node_cpu_us_per_op=(setting.map(NODE_US) * slower).where(known), client_cpu_us_per_op=20.0,
        busy_share=np.minimum(1.0, found["rate_per_s"] / 2000), disk_busy_share=0.0, wire_mb_per_s=3.0,
    )  # fmt: skip


def test_demands_are_ratios_within_blocks(statistics):
    found = demands(statistics).droplevel([0, 1, 2, 3, 4])
    assert list(found.index) == ["ONE/ONE", "ONE/ALL", "QUORUM/QUORUM"]
    for setting, row in found.iterrows():
        assert row["base"] == "ONE/ONE"
        assert row["node_us"].value == pytest.approx(NODE_US[setting] * 2 ** (1 / 3))
        assert row["times"].value == pytest.approx(NODE_US[setting] / NODE_US["ONE/ONE"])
        assert row["times"].high / row["times"].low == pytest.approx(1.0)


def test_limits_are_parts_of_all_processors_and_none_exceeds_them(statistics):
    found = limits(statistics, 2).droplevel([0, 1, 2, 3, 4])
    row = found.loc[(0.8, "ONE/ALL")]
    per_s = statistics.query("load_share == 0.8 and write_cl == 'ALL'").set_index("block")["throughput_per_s"]
    parts = NODE_US["ONE/ALL"] * np.array([1.0, 2.0, 1.0]) * per_s.to_numpy() / 2e6
    assert row["nodes"].value == pytest.approx(float(np.exp(np.log(parts).mean())))
    assert row["nodes"].high <= 1
    assert row["disk"].value == 0
    assert row["wire_mb_per_s"].value == pytest.approx(3.0)
    assert list(found.index.get_level_values("at").unique()) == list(open_runs.SHARES)


def test_what_says_nothing_of_processors_is_named():
    silent = open_runs.statistics(open_runs.open_cells())
    with pytest.raises(LackingError, match="what its nodes took of the processors"):
        limits(silent, 2)
    with pytest.raises(LackingError, match="what its nodes took of the processors"):
        demands(pd.DataFrame(silent.iloc[:0]))
