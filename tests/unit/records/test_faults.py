"""The reader of recorded faults, on records that are made up."""

import math

import pandas as pd
import pytest

from cassbook.core.errors import InputError
from cassbook.records.faults import FaultRun
from tests.helpers.advised_records import LENGTH_S, advised_record, bins
from tests.helpers.experiments import written


@pytest.fixture
def run(tmp_path):
    rows = [
        {"start": 1, "setup": "faults-kill", "panel": 1, "setting": "1R-3W", "operation": "UPDATE", "n": 600},
        {"start": 1, "setup": "faults-kill", "panel": 2, "setting": "ONE/ONE", "operation": "READ", "n": 600},
    ]
    rows = [row | {"driver": "default", "table": "default", "errors": "", "lost": 0} for row in rows]
    struck = [
        (1, "kill", True, 2, 10.0, 10.0, 10.1), (1, "kill", False, 2, 18.0, 18.0, 24.0),
        (2, "pause", True, 3, 27.0, 27.0, 27.0),
    ]  # fmt: skip
    struck = pd.DataFrame(struck, columns=["number", "fault", "begins", "node", "at_s", "ordered_s", "done_s"])
    notices = pd.DataFrame(
        [("driver", 2, "down", 10.4), ("1", 2, "down", 19.0), ("1", 2, "up", 25.0), ("driver", 2, "up", 26.0)],
        columns=["observer", "node", "state", "at_s"],
    )
    place = {"start": 1, "setup": "faults-kill", "panel": 1}
    stories = pd.DataFrame({"kind": ["stale"] * 2, "story": 1, "operation": ["write", "read"], "version": [2, 1]})
    tables = {
        "bins": pd.concat([bins(1, 10, 25), bins(2, 10, 10.5, stale=3)]), "struck": struck.assign(**place),
        "notices": notices.assign(**place), "told": stories.assign(sent_s=0.0, ended_s=1.0, coordinator=1, **place),
    }  # fmt: skip
    profile = {"load": {"steady_s": LENGTH_S}}
    written(
        tmp_path,
        rows,
        tables,
        numbers={"profiles": {"faults-kill": profile}},
        setups={"faults-kill": {}},
        experiment="faults",
    )
    return FaultRun(str(tmp_path))


def test_a_fault_lasts_until_its_node_answers_and_counts_until_the_next(run):
    faults = run.faults("faults-kill")
    assert faults[["number", "fault", "node", "begins_s", "until_s"]].to_numpy().tolist() == [
        [1, "kill", 2, 10.0, 27.0], [2, "pause", 3, 27.0, 30.0],
    ]  # fmt: skip
    assert faults["ends_s"].iloc[0] == 24.0
    assert math.isnan(faults["ends_s"].iloc[1])


def test_what_strikes_several_nodes_at_once_is_one_fault(run):
    region = pd.DataFrame(
        {"number": 1, "fault": "cut", "begins": True, "node": [4, 5, 6], "ordered_s": [5.0, 5.0, 5.1]}
    )
    run.struck = region.assign(start=1, setup="faults-kill", at_s=5.0, done_s=5.2)
    assert run.faults("faults-kill")["until_s"].tolist() == [LENGTH_S] * 3


def test_each_setting_has_what_it_made_of_each_fault(run):
    made = run.by_fault("faults-kill").set_index(["number", "setting"])
    killed = made.loc[(1, "1R-3W")]
    assert killed["n"] == 340
    assert killed["failed"] == pytest.approx(300 / 340)
    assert killed["failing_s"] == 15
    assert killed["recovered_s"] == pytest.approx(1.0)
    assert killed["worst_p99_ms"] == 900
    weak = made.loc[(1, "ONE/ONE")]
    assert weak["failing_s"] == 0.5
    assert weak["recovered_s"] == 0
    assert weak["stale_per_million"] == pytest.approx(3e6 / 340)
    assert math.isnan(made.loc[(2, "1R-3W"), "recovered_s"])


def test_who_noticed_when_is_counted_from_the_fault_and_from_its_end(run):
    noticed = run.noticed("faults-kill").set_index("observer")
    assert noticed.loc["driver", ["down_s", "up_s"]].tolist() == pytest.approx([0.4, 2.0])
    assert noticed.loc["1", ["down_s", "up_s"]].tolist() == pytest.approx([9.0, 1.0])


def test_stories_come_one_by_one(run):
    (story,) = run.stories("stale")
    assert story["operation"].tolist() == ["write", "read"]
    assert set(story["setting"]) == {"1R-3W"}
    assert run.stories("lost") == []


def test_other_schedules_and_other_records_are_refused(run, tmp_path):
    with pytest.raises(InputError, match="'faults-x'; use one of faults-kill"):
        run.faults("faults-x")
    other = tmp_path / "other"
    other.mkdir()
    written(other, [{"start": 1, "setup": "x", "panel": 1}], numbers={})
    with pytest.raises(InputError, match=r"and no record of `cassbook experiment faults-\*`"):
        FaultRun(str(other))


@pytest.fixture
def advised(tmp_path):
    return advised_record(tmp_path)


def test_each_table_has_what_became_of_its_requests(advised):
    kept = advised.kept("faults-advised")
    assert kept.index.tolist() == ["safe", "naive"]
    assert kept.loc["safe", ["reads", "writes", "stale", "lost"]].tolist() == [600, 600, 0, 0]
    assert kept.loc["safe", "failed"] == pytest.approx(60 / 1200)
    assert kept.loc["naive", "stale"] == 4


def test_an_escape_is_timed_from_the_first_failed_reply_of_the_advisers_own_table(advised):
    escapes = advised.escapes("faults-advised")
    assert escapes["number"].tolist() == [1], "at the second fault nobody had to leave"
    (escape,) = escapes.to_dict("records")
    assert (escape["setting"], escape["reason"].partition(":")[0]) == ("1R-3W", "to 2R-2W")
    assert [escape[name] for name in ("known_s", "failed_s", "left_s")] == pytest.approx([2.5, 2.0, 1.4])
    assert escape["lived"], "one died, but after the escape"
    assert not escape["swept"]


def test_a_reply_that_failed_under_another_setting_is_not_of_the_one_that_was_left(advised):
    places = advised.steps.iloc[:2].assign(kind="epoch", setting=["3R-1W", "1R-3W"], at_s=[5.0, 12.3])
    sweep = advised.steps.iloc[:1].assign(kind="sweep", at_s=12.7)
    advised.steps = pd.concat([places, advised.steps, sweep])
    (escape,) = advised.escapes("faults-advised").to_dict("records")
    assert [escape["failed_s"], escape["left_s"]] == pytest.approx([2.8, 0.6]), "1R-3W was in force from 12.3 s on"
    assert escape["swept"]


@pytest.mark.parametrize(("back_s", "left_s"), [(13.2, 1.4), (20.0, math.nan)])
def test_a_setting_that_only_writes_is_no_way_out_until_the_node_is_back(advised, back_s, left_s):
    advised.steps = advised.steps.replace("2R-2W", "3R-2W")
    ends = ~advised.struck["begins"]
    advised.struck.loc[ends, "done_s"] = back_s
    advised.steps.loc[(advised.steps["member"] == "a") & (advised.steps["at_s"] == 13.0), "at_s"] = 13.3
    assert advised.escapes("faults-advised")["left_s"].tolist() == pytest.approx([left_s], nan_ok=True)


@pytest.mark.parametrize(("died_s", "lived"), [(6.0, True), (8.0, False), (13.0, False), (14.0, True)])
def test_an_escape_waits_for_the_lease_of_who_has_died(tmp_path, died_s, lived):
    assert advised_record(tmp_path, died_s).escapes("faults-advised")["lived"].tolist() == [lived]


def test_a_member_that_dies_where_the_setting_is_never_left_counts_until_the_next_fault(advised):
    advised.steps = advised.steps[advised.steps["kind"] != "epoch"]
    (escape,) = advised.escapes("faults-advised").to_dict("records")
    assert math.isnan(escape["left_s"])
    assert not escape["lived"]
