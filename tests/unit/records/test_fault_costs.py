"""What a failure costs a setting, as answers on latency say it."""

import json

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor.freshness import of_run
from cassbook.advisor.latency_map import LatencyMap
from cassbook.cli.answers import advise, stale
from cassbook.core.proportion import Proportion
from cassbook.latency.under_faults import ENDS
from cassbook.records import fault_costs, manifest
from cassbook.records.faults import FaultRun
from cassbook.records.results import of_run as results_of
from cassbook.records.run import RecordedRun
from cassbook.shown import outages
from cassbook.shown import results as shown_results
from tests.helpers import made_runs
from tests.helpers.experiments import written

LENGTH_S, SETUP = 40.0, "faults-kill"
SETTINGS = {"ONE/ONE": (1, 1), "1R-3W": (1, 3), "2R-2W": (2, 2), "3R-1W": (3, 1)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A node is dead from 10 to 30 s: what needs all three replicas fails, and of the rest 1, 2 or 3 of a hundred."""
    rows, bins, struck = [], [], []
    for start in (1, 2, 3):
        place = {"start": start, "setup": SETUP}
        for name, needs in SETTINGS.items():
            for operation, needed in zip(("READ", "UPDATE"), needs, strict=True):
                panel = 1 + len(rows) % (2 * len(SETTINGS))
                rows.append(
                    place | {"panel": panel, "setting": name, "driver": "default", "table": "plain", "n": 8000,
                             "operation": operation, "errors": "", "stale": 0, "back": 0, "lost": 0}
                )  # fmt: skip
                at_s = np.arange(0, LENGTH_S, 0.5)
                failed = np.where((at_s >= 10) & (at_s < 30), 100 if needed == 3 else start, 0)
                table = pd.DataFrame({"bin_s": at_s, "n": 100, **dict.fromkeys(ENDS, 0)})
                bins.append(
                    table.assign(ok=100 - failed, unavailable=failed, p50_ms=1.0, p95_ms=2.0, p99_ms=3.0, max_ms=4.0,
                                 stale=0, back=0, panel=panel, **place)
                )  # fmt: skip
        common = place | {"panel": 1, "number": 1, "fault": "kill", "node": 2}
        for begins, moment_s in ((True, 10.0), (False, 30.0)):
            struck.append(common | {"begins": begins, "at_s": moment_s, "ordered_s": moment_s, "done_s": moment_s})
    made = tmp_path_factory.mktemp("faults")
    profile = {"title": "One dies", "load": {"steady_s": LENGTH_S}}
    tables = {"bins": pd.concat(bins), "struck": struck}
    written(made, rows, tables, numbers={"profiles": {SETUP: profile}}, setups={SETUP: {}}, experiment="faults")
    return str(made)


@pytest.fixture
def recorded(folder, monkeypatch):
    monkeypatch.setattr(fault_costs, "record_for", lambda engine: folder if engine else None)


def test_shares_are_of_the_time_that_the_node_was_dead(folder):
    table = fault_costs.while_dead(FaultRun(folder))
    assert table.loc["1R-3W", "writes"].value == 1
    assert table.loc["1R-3W", "writes"].low == pytest.approx(0.025 ** (1 / 12000)), "of all 12,000, exactly"
    assert table.loc["1R-3W", "writes"].high == 1
    assert table.loc["2R-2W", "reads"].value == pytest.approx(0.02)
    assert 0 < table.loc["2R-2W", "reads"].low < 0.02 < table.loc["2R-2W", "reads"].high
    assert table.loc["2R-2W", "reads"].counts == "240 of 12,000"


def test_a_sentence_names_the_settings_that_were_measured(recorded):
    (sentence,) = outages.recorded([(2, 2), (1, 3), (3, 3), (2, 2)], 3, "2.1.20")
    assert "3 kills; bounds are for outages like these" in sentence
    assert sentence.count("2R-2W leaves 2.0 [0.3, 6.3] % of reads and 2.0 [0.3, 6.3] % of writes unanswered") == 1
    assert "2.0 [0.3, 6.3] % of reads and all of 12,000 writes (at least 99.969 %) unanswered" in sentence
    assert "3R-3W" not in sentence
    assert outages.recorded([(2, 2)], 5, "2.1.20") == []
    assert outages.recorded([(3, 3)], 3, "2.1.20") == []
    assert outages.recorded([(2, 2)], 3, "") == []


def test_each_version_takes_the_record_on_its_side_of_4(monkeypatch, tmp_path):
    monkeypatch.setattr(manifest, "records_dir", lambda: tmp_path)
    assert fault_costs.record_for("5.0.9") is None, "there is none"
    for name in (fault_costs.BEFORE_4, fault_costs.SINCE_4):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}")
    sides = {"2.1.20": fault_costs.BEFORE_4, "3.11.4": fault_costs.BEFORE_4, "4.1.3": fault_costs.SINCE_4}
    assert {engine: fault_costs.record_for(engine) for engine in sides} == sides
    assert fault_costs.record_for("logs") is None


def test_advice_says_what_its_setting_and_the_fastest_cost_in_a_failure(recorded):
    cells = made_runs.run(noise=0.01).assign(engine="2.1.20")
    lines = advise.point(LatencyMap(cells, "known").advise(100, 0.9), "text").splitlines()
    (line,) = [line for line in lines if "is dead" in line]
    assert line.index("2R-2W leaves") < line.index("1R-3W leaves"), "the one recommended comes first"
    answer = json.loads(advise.point(LatencyMap(cells, "known").advise(100, 0.9), "json"))
    assert answer["failing"] == [line.strip()]


def test_staleness_and_results_say_it_too(recorded):
    text = stale.text(of_run("stale-three-2.1.20"), 1, 1, 5.0)
    assert "1R-1W leaves 2.0 [0.3, 6.3] % of reads" in text
    run = RecordedRun("strong-2.1.20")
    noted = shown_results.surviving(run, results_of(run))
    assert [note.partition(":")[0].partition(" (")[0] for note in noted] == [
        "With 3 replicas", "Measured while one of 3 nodes is dead",
    ]  # fmt: skip


def test_where_nothing_was_lost_the_counts_and_one_bound_are_said():
    none = Proportion.grouped([0, 0], [1200, 1238])
    both = outages.shares({"reads": none, "writes": none})
    assert both == "0 of 2,438 reads and 0 of 2,438 writes (at most 0.15 % of each)"
    some = Proportion.grouped([300, 0], [1200, 1238])
    assert outages.shares({"reads": some, "writes": none}) == "12.3 % of reads and 0 of 2,438 writes (at most 0.15 %)"
