"""A report begins with what `advise` and `capacity` answer, or says why they do not."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor.latency_map import LatencyMap
from cassbook.book import report, report_answers
from tests.helpers import made_runs
from tests.helpers.made_runs import report_run
from tests.helpers.rate_ladder import ladder


def of(cells, replicas=3):
    return report_answers.of_run(SimpleNamespace(name="mine", statistics=cells, histograms={}), replicas)


def test_the_settings_are_those_that_advise_recommends():
    cells = made_runs.run(threads=(10, 100), shares=(0.5,))
    found = of(cells)
    (few, many) = found.advice.to_dict("records")
    for row, threads in ((few, 10), (many, 100)):
        advice = LatencyMap(cells, "mine").advise(threads, 0.5)
        setting = advice.recommended.setting
        assert (row["threads"], row["reads"]) == (str(threads), "50%")
        assert row["recommended"] == f"{setting.read_cl}/{setting.write_cl}"
        assert row["mean, ms"].startswith(f"{advice.recommended.latency_us.value / 1e3:.2f} [")
        fastest = advice.fastest.setting
        assert row["fastest"].startswith(f"{fastest.read_cl}/{fastest.write_cl}: ") == (fastest != setting)
    assert [one.partition(":")[0] for one in found.lacking] == ["cassbook capacity"]


def test_rates_are_those_of_capacity_bound_by_bound():
    found = of(ladder())
    (row,) = found.capacity.to_dict("records")
    assert row["requests a second at most"] == "workload orders, QUORUM/QUORUM"
    assert row["p99 within 10 ms"].startswith("1003 [")
    assert row["p99 within 50 ms"] == "at least 4000"
    assert of(ladder(scales=(30.0, 30.0))).capacity["p99 within 10 ms"].tolist() == ["below 500, if any"]
    uneven = of(ladder(scales=(1.0, 1.0, 30.0))).capacity["p99 within 10 ms"].tolist()
    assert uneven == ["at least 1000 in 2 of 3 cluster starts, below 500, if any in 1"]


def test_workloads_are_answered_at_their_own_mix():
    cells = made_runs.run(threads=(10,), shares=(0.8,))
    cells = cells[cells["kind"] == "mixed"].assign(kind="workload", workload="orders", rate_per_s=np.nan, condition="")
    rows = of(cells).advice
    assert rows[["workload", "threads", "reads"]].to_numpy().tolist() == [["orders", "10", "80%"]]


@pytest.mark.parametrize(
    ("cells", "replicas", "why"),
    [
        (made_runs.run(threads=(10,)), None, "cassbook advise: mine: the replication factor"),
        (ladder(), 3, "cassbook advise: mine: has no cells in a closed loop"),
    ],
)
def test_what_a_run_does_not_allow_is_said(cells, replicas, why):
    found = of(cells, replicas)
    assert any(sentence.startswith(why) for sentence in found.lacking)
    assert found.advice.empty


def test_the_page_begins_with_them():
    text = report.page([report_run()])
    assert text.index("<h3>In short</h3>") < text.index("QUORUM/QUORUM") < text.index("<h3>What survives")
    assert "cassbook capacity: mine: no cells at fixed rates" in text
    assert isinstance(of(made_runs.run()).advice, pd.DataFrame)
