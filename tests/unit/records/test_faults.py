"""The reader of recorded faults, on records that are made up."""

import math

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import InputError
from cassbook.latency.under_faults import ENDS
from cassbook.records.faults import KILLED, AdvisedRun, FaultRun
from tests.helpers.experiments import written

LENGTH_S, BIN_S = 30.0, 0.5


def bins(panel, failing_from_s, failing_to_s, stale=0):
    """Ten requests in each half second; in some all fail."""
    starts = np.arange(0, LENGTH_S, BIN_S)
    failing = (starts >= failing_from_s) & (starts < failing_to_s)
    table = pd.DataFrame({"bin_s": starts, "n": 10, **dict.fromkeys(ENDS, 0)})
    return table.assign(
        ok=np.where(failing, 0, 10), unavailable=np.where(failing, 10, 0), p50_ms=2.0, p95_ms=3.0,
        p99_ms=np.where(starts == 10.0, 900.0, 5.0), max_ms=950.0, stale=np.where(starts == 12.0, stale, 0), back=0,
        panel=panel, start=1, setup="faults-kill",
    )  # fmt: skip


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
    told = pd.DataFrame({"kind": ["stale"] * 2, "story": 1, "operation": ["write", "read"], "version": [2, 1]})
    tables = {
        "bins": pd.concat([bins(1, 10, 25), bins(2, 10, 10.5, stale=3)]), "struck": struck.assign(**place),
        "notices": notices.assign(**place), "told": told.assign(sent_s=0.0, ended_s=1.0, coordinator=1, **place),
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
    with pytest.raises(InputError, match="there is no schedule 'faults-x'; use one of faults-kill"):
        run.faults("faults-x")
    other = tmp_path / "other"
    other.mkdir()
    written(other, [{"start": 1, "setup": "x", "panel": 1}], numbers={})
    with pytest.raises(InputError, match=r"and no record of `cassbook experiment faults-\*`"):
        FaultRun(str(other))


def advised_record(folder, died_s=15.0):
    """Two faults; the setting is left at the first, where one of the advisers' own requests failed. One member dies."""
    setup = "faults-advised"
    rows = [
        {"start": 1, "setup": setup, "panel": panel, "setting": "2R-2W", "driver": "default", "table": table,
         "operation": operation, "n": 600, "errors": "", "stale": stale, "back": 0, "lost": 0}
        for panel, (table, operation, stale) in enumerate(
            (("safe", "READ", 0), ("safe", "UPDATE", 0), ("naive", "READ", 4), ("naive", "UPDATE", 0)), 1
        )
    ]  # fmt: skip
    place = {"start": 1, "setup": setup, "panel": 1}
    struck = pd.DataFrame(
        [(1, "kill", True, 2, 10.0, 10.0, 10.0), (1, "kill", False, 2, 18.0, 18.0, 20.0),
         (2, "pause", True, 3, 24.0, 24.0, 24.0)],
        columns=["number", "fault", "begins", "node", "at_s", "ordered_s", "done_s"],
    )  # fmt: skip
    steps = pd.DataFrame(
        [(12.5, "a", "escape", "1R-3W", "1R-3W", "to 2R-2W: 2 of 3 replicas are alive"),
         (12.6, "a", "epoch", "2R-3W", "2R-2W", "on the way"), (13.0, "a", "epoch", "2R-2W", "2R-2W", "in force"),
         (13.4, "b", "epoch", "2R-2W", "2R-2W", "in force"), (died_s, "c1", KILLED, "", "", "")],
        columns=["at_s", "member", "kind", "setting", "wanted", "reason"],
    )  # fmt: skip
    replies = pd.DataFrame(
        [("naive", "UPDATE", 11.0), ("safe", "UPDATE", 12.0), ("safe", "UPDATE", 12.8)],
        columns=["table", "operation", "ended_s"],
    )
    tables = {
        "bins": pd.concat([bins(1, 0, 0), bins(2, 10, 13), bins(3, 0, 0), bins(4, 10, 20)]).assign(setup=setup),
        **{name: table.assign(**place) for name, table in
           (("struck", struck), ("steps", steps), ("replies", replies))},
    }  # fmt: skip
    profile = {"title": "At random", "load": {"steady_s": LENGTH_S}, "cluster": {"replication_factor": 3}}
    numbers = {"profiles": {setup: profile}, "lease_s": 5.0}
    written(folder, rows, tables, numbers=numbers, setups={setup: {}}, starts=1, experiment="adviser-failing")
    return AdvisedRun(str(folder))


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
