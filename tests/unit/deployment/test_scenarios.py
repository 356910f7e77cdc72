"""The scenarios' tables, from points whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import InputError
from cassbook.deployment import scenarios
from cassbook.deployment.inferred_regions import SCENARIOS
from cassbook.deployment.notation import parse
from tests.helpers import made_points


@pytest.fixture
def points():
    return made_points.explained()


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


def test_the_highest_throughput_is_saturated_where_more_threads_bring_no_more(points):
    highest = scenarios.highest_throughput(points)
    most = points["throughput_per_s"].groupby([points[key] for key in ("scenario", "operation", "level")]).max()
    assert highest["per_s"].to_numpy() == pytest.approx(most.to_numpy(), rel=0.03)
    assert (highest["low"] <= highest["per_s"]).all()
    assert not highest.loc[("b", "READ", "ONE"), "saturated"]
    assert highest.loc[("b", "READ", "ONE"), "at_threads"] == 1000
    printed = scenarios.printed_throughput()
    assert printed.loc[("a", "READ", "ONE")].tolist()[::3] == [16830, True]
    assert printed.loc[("b", "READ", "ONE")].tolist()[::3] == [3450, False]


def test_what_sentences_say_comes_from_tables_and_from_points(points):
    said = scenarios.sentences(points).loc["latency of d, ALL by ONE, reads"]
    assert said["its tables"] == pytest.approx(5.6, abs=0.3)
    here = [scenarios.ratio_of_levels(block, "d", "READ") for _, block in points.groupby("block")]
    assert said["here"].value == pytest.approx(np.exp(np.log(here).mean()))


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
