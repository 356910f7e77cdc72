"""Orders of levels of any cells; those of levels and of settings are tested with the summaries that they rank."""

import numpy as np
import pytest

from cassbook.latency import ranking
from cassbook.latency.labels import labelled
from tests.helpers import made_runs


def test_orders_of_any_cells_are_those_of_levels_and_settings():
    table = made_runs.run(threads=(10, 100)).assign(workload="", rate_per_s=np.nan)
    cells = labelled(table)
    got = ranking.of_cells(cells, ["kind", "operation"], ["threads"]).set_index("operation")
    pure = ranking.overall(table, "level").set_index("operation")
    for operation in ("READ", "WRITE"):
        assert got.loc[operation, ["ranking", "differ"]].tolist() == pure.loc[operation, ["ranking", "differ"]].tolist()
        assert got.loc[operation, "loads"] == 2
        assert got.loc[operation, "p_value"] == pytest.approx(pure.loc[operation, "p_value"])
    assert [name.count("/") for name in got.loc["reads 50 %", "ranking"]] == [1, 1, 1]
    each = ranking.of_cells(cells, ["operation", "threads"], [])
    assert len(each) == 10
    alone = cells[cells["level"].isin(["ONE", "ONE/ALL"])]
    assert ranking.of_cells(alone, ["kind", "operation"], ["threads"]).empty
