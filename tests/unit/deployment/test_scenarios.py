"""The scenarios' tables, from points whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import InputError
from cassbook.deployment import scenarios
from cassbook.deployment.inferred_regions import LEVELS, SCENARIOS
from cassbook.deployment.notation import parse


@pytest.fixture
def points():
    """Points that the model explains: scenario a takes 2 ms a request and does 5000 a second at most."""
    rows = []
    for name in SCENARIOS:
        for level in LEVELS:
            model = scenarios.model_of(name, level, service_ms=2.0, most_per_s=5000.0)
            for threads in (10, 100, 1000):
                for block, factor in ((1, 0.98), (2, 1.0), (3, 1.02)):
                    for operation in ("READ", "WRITE"):
                        ms = model.latency_ms(threads) * factor
                        rows.append((name, operation, level, threads, block, ms, threads / ms * 1000, ""))
    return pd.DataFrame(rows, columns=list(scenarios.POINTS))


def test_the_model_finds_itself_again(points):
    table = scenarios.predicted(points)
    assert table["ratio"].to_numpy() == pytest.approx(1, abs=0.03)
    assert set(table["scenario"]) == {"b", "c", "d"}
    errors = scenarios.errors({"here": table})
    assert errors["here", "worst"].max() < 3
    bound = scenarios.bounds(table)
    assert bound.loc[("c", "ALL"), 1000] == "coordinator"
    assert bound.loc[("b", "ONE"), 10] == "distance"
    assert bound.loc[("b", "ONE"), 1000] == "processors"


def test_what_is_not_distance_comes_from_scenario_a(points):
    known = scenarios.ground(points)
    assert known.loc[("READ", "ONE"), "service_ms"] == pytest.approx(2.0, rel=0.01)
    assert known.loc[("WRITE", "ALL"), "most_per_s"] == pytest.approx(5000, rel=0.01)
    with pytest.raises(InputError, match="no points of scenario a"):
        scenarios.ground(points[points["scenario"] != "a"])


def test_tables_stand_side_by_side(points):
    table = scenarios.latency_table("READ", {"paper": scenarios.printed_points(), "here": points})
    assert table.loc[("ONE", 100), ("b", "paper")] == "127"
    assert table.loc[("ALL", 1000), ("c", "paper")] == "1224"
    assert "±" in table.loc[("ONE", 100), ("b", "here")]
    assert table.loc[("ONE", 10), ("b", "paper")] == ""
    highest = scenarios.throughput_table({"here": points})
    assert highest.loc[("a", "READ"), ("ONE", "Table 2")] == "16,830"
    assert highest.loc[("b", "READ"), ("ONE", "Table 2")] == "3,450 *"
    assert highest.loc[("b", "READ"), ("ONE", "here")].endswith(" *")


def test_the_paper_s_own_ratios():
    # section 2.3: (d: ALL) is higher than (d: ONE) by an average of 560 % for reads and 600 % for writes
    printed = scenarios.printed_points()
    assert scenarios.ratio_of_levels(printed, "d", "READ") == pytest.approx(5.6, abs=0.3)
    assert scenarios.ratio_of_levels(printed, "d", "WRITE") == pytest.approx(6.0, abs=0.3)


def test_latency_over_round_trips_is_one_where_only_distance_counts(points):
    times = scenarios.over_round_trips(points)
    few = times[(times["threads"] == 10) & (times["scenario"] == "d")]
    assert few["times"].to_numpy() == pytest.approx(1.0, abs=0.05)
    half = scenarios.over_round_trips(points, scale=2.0)
    assert np.allclose(half["times"] * 2, times["times"])


def test_cells_of_a_run_become_points():
    cells = pd.DataFrame(
        {
            "cell_id": ["1", "2"], "kind": "pure", "engine": "2.1.20", "threads": 10, "block": 1, "marks": "",
            "deployment": [str(parse(SCENARIOS["c"])), "{[C, R1, R2, R3]}"], "read_share": [1.0, 1.0],
            "read_cl": "ONE", "write_cl": "ONE", "latency_us": [5000.0, 1.0], "throughput_per_s": 2000.0,
        }
    )  # fmt: skip
    table = scenarios.measured_points(cells)
    assert table[["scenario", "operation", "level", "latency_ms"]].to_numpy().tolist() == [["c", "READ", "ONE", 5.0]]
    with pytest.raises(InputError, match="has none of the deployments"):
        scenarios.measured_points(cells[1:])
