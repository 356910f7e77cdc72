"""What cells are called."""

import numpy as np

from cassbook.latency.labels import labelled
from tests.helpers.made_cells import cell_stats


def test_cells_are_named_by_operation_and_level_and_those_without_a_latency_left_out():
    cells = cell_stats(
        {"kind": "pure", "read_share": 1.0, "read_cl": "ONE", "write_cl": "ALL"},
        {"kind": "pure", "read_share": 0.0, "read_cl": "ONE", "write_cl": "ALL"},
        {"kind": "mixed", "read_share": 0.3, "read_cl": "ONE", "write_cl": "ALL"},
        {"kind": "workload", "workload": "A", "read_share": 1.0, "read_cl": "QUORUM", "write_cl": "QUORUM"},
        {"kind": "pure", "read_share": 1.0, "read_cl": "TWO", "write_cl": "TWO", "latency_us": np.nan},
    )
    cells = cells.assign(rate_per_s=np.nan, workload=cells["workload"].fillna(""))
    cells["latency_us"] = cells["latency_us"].where(cells["read_cl"] == "TWO", 100.0)
    got = labelled(cells)
    assert got["operation"].tolist() == ["READ", "WRITE", "reads 30 %", "workload A"]
    assert got["level"].tolist() == ["ONE", "ALL", "ONE/ALL", "QUORUM/QUORUM"]
    assert (got["rate_per_s"] == 0).all()
