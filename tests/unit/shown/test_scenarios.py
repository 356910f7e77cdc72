"""The 2021 paper's tables, printed and measured side by side."""

from cassbook.deployment.scenarios import printed_points
from cassbook.shown import scenarios
from tests.helpers import made_points


def test_tables_stand_side_by_side():
    points = made_points.explained()
    table = scenarios.latency_table("READ", {"paper": printed_points(), "here": points})
    assert table.loc[("ONE", 100), ("b", "paper")] == "127"
    assert table.loc[("ALL", 1000), ("c", "paper")] == "1224"
    assert "±" in table.loc[("ONE", 100), ("b", "here")]
    assert table.loc[("ONE", 10), ("b", "paper")] == ""
    highest = scenarios.throughput_table({"here": points})
    assert highest.loc[("a", "READ"), ("ONE", "Table 2")] == "16,830"
    assert highest.loc[("b", "READ"), ("ONE", "Table 2")] == "3,450 *"
    assert highest.loc[("b", "READ"), ("ONE", "here")].endswith(" *")
