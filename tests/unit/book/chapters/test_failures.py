"""Tables and figures on failures, from records that are made up."""

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from cassbook.book.chapters import failures, failures_adviser, failures_availability, failures_data, failures_figures
from cassbook.latency.under_faults import ENDS
from cassbook.records.faults import KILLED, FaultRun
from tests.helpers.advised_records import advised_record
from tests.helpers.experiments import written

LENGTH_S = 60.0
SETUP = "faults-kill-two"
SETTINGS = {"ONE/ONE": (1, 1), "2R-2W": (2, 2), "3R-1W": (3, 1)}


def bins(panel, start, needs):
    """Nodes die at 10 and 30 s and are back at 50; requests fail that need more than are left. Ten in half a second."""
    starts = np.arange(0, LENGTH_S, 0.5)
    left = 3 - ((starts >= 10) & (starts < 50)).astype(int) - ((starts >= 30) & (starts < 50)).astype(int)
    good = np.where(left >= needs, 10, 0)
    table = pd.DataFrame({"bin_s": starts, "n": 10, **dict.fromkeys(ENDS, 0)})
    return table.assign(
        ok=good, unavailable=10 - good, p50_ms=1.0 * needs, p95_ms=2.0, p99_ms=4.0 * needs + start, max_ms=9.0, stale=0,
        back=0, panel=panel, start=start, setup=SETUP,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    rows, parts, struck, notices = [], [], [], []
    for start in (1, 2, 3):
        place = {"start": start, "setup": SETUP}
        for name, needs in SETTINGS.items():
            for operation, needed in zip(("READ", "UPDATE"), needs, strict=True):
                panel = 1 + len(rows) % 6
                rows.append(
                    place | {"panel": panel, "setting": name, "driver": "default", "table": "plain", "n": 1200,
                             "operation": operation, "errors": "", "stale": 0, "back": 0,
                             "lost": int(name == "ONE/ONE" and start == 1)}
                )  # fmt: skip
                parts.append(bins(panel, start, needed))
        for number, (node, at_s) in enumerate(((2, 10.0), (3, 30.0)), 1):
            struck.append(place | {"number": number, "fault": "kill", "begins": True, "node": node, "done_s": at_s})
            struck.append(place | {"number": number, "fault": "kill", "begins": False, "node": node, "done_s": 50.0})
            for observer, later_s in (("driver", 0.1 * start), ("1", 8.0)):
                notice = {"observer": observer, "node": node, "state": "down", "at_s": at_s + later_s}
                notices.append(place | {"panel": 1} | notice)
    struck = pd.DataFrame(struck).assign(
        panel=1, at_s=lambda table: table["done_s"], ordered_s=lambda table: table["done_s"]
    )
    folder = tmp_path_factory.mktemp("faults")
    tables = {"bins": pd.concat(parts), "struck": struck, "notices": notices}
    profile = {"title": "Two die", "load": {"steady_s": LENGTH_S}}
    written(folder, rows, tables, numbers={"profiles": {SETUP: profile}}, setups={SETUP: {}}, experiment="faults")
    return FaultRun(str(folder))


def test_a_fault_is_told_by_setting_with_the_spread_over_starts(run):
    table = failures.by_fault(run, SETUP, 1)
    assert table.loc[("reads", "3R-1W"), "not answered, %"] == "100 (at least 99.69)"
    assert table.loc[("writes", "3R-1W"), "not answered, %"] == "0 (at most 0.31)"
    assert table.loc[("writes", "2R-2W"), "worst p99, ms"] == "10 [9, 11]"
    assert table.loc[("writes", "ONE/ONE"), "lost writes"] == "1"
    assert table.loc[("reads", "ONE/ONE"), "lost writes"] == ""


def test_prose_quotes_cells_of_the_table_of_each_run(run):
    wanted = {"killed": ("writes", "2R-2W", "worst p99, ms"), "all": ("reads", "3R-1W", "not answered, %")}
    quoted = failures.quoted({"recorded": run, "today": run}, SETUP, wanted)
    assert quoted == {
        "killed_recorded": "10 [9, 11]", "all_recorded": "100 (at least 99.69)",
        "killed_today": "10 [9, 11]", "all_today": "100 (at least 99.69)",
    }  # fmt: skip
    stacked = failures.by_version([run], lambda one: failures.by_fault(one, SETUP))
    assert stacked.index.names == ["version", "operation", "setting"]


def test_prose_quotes_what_the_checker_found_and_what_a_dead_node_costs(run):
    pair = {"recorded": run}
    counted = failures.counted(pair, {"gone": (SETUP, "ONE/ONE", "lost"), "old": (SETUP, "2R-2W", "stale")})
    assert counted["gone_recorded"] == "1 of 3,600"
    counts, most = counted["old_recorded"].removesuffix(" %)").split(" (at most ")
    assert counts == "0 of 3,600"
    assert float(most) == pytest.approx(100 * (1 - 0.025 ** (1 / 3600)), abs=0.01)
    noticed = failures.noticed_values(pair, SETUP, "kill")
    assert noticed["nodes_down_recorded"] == "8.0 s"
    assert failures.noticed_values(pair, SETUP, "pause")["driver_down_recorded"] == failures.UNNOTICED


def test_the_model_says_for_how_long_each_level_is_gone():
    table = failures_availability.minutes_per_year(up_days=30, repair_h=12, region_up=0.999)
    up = 60 / 61
    alone = table["one data centre of 3"]
    assert alone["QUORUM"] == pytest.approx(525960 * (1 - 3 * up**2 + 2 * up**3), rel=1e-4)
    assert alone["LOCAL_QUORUM"] == alone["EACH_QUORUM"] == pytest.approx(alone["QUORUM"])
    whole = table.iloc[:, 2]
    assert whole["EACH_QUORUM"] > whole["QUORUM"] > whole["ONE"]
    assert failures_availability.minutes_per_year_shown(table)["one data centre of 3"]["QUORUM"] == "7 h"
    words = pd.DataFrame({"x": [1e-5, 0.02, 5.04, 419.0, 1440.0, 24_500.0]})
    shown = failures_availability.minutes_per_year_shown(words)["x"].to_list()
    assert shown == ["under 0.1 s", "1.2 s", "5 min", "7 h", "1 day", "17 days"]


def test_an_overview_has_a_line_per_schedule_and_setting(run):
    table = failures.overview(run)
    assert table.index.tolist() == [("kill two", name) for name in SETTINGS]
    # From 10 s to 60 s; reads at ALL are answered in the last ten of these, and writes at ONE throughout.
    assert table.loc[("kill two", "3R-1W"), "not answered, %"].startswith("40.0 [")
    assert table.loc[("kill two", "2R-2W"), "not answered, %"].startswith("40.0 [")
    assert table["lost writes"].tolist() == ["1", "0", "0"]
    assert table.loc[("kill two", "2R-2W"), "stale, per million"].startswith("0 (at most ")


def test_schedules_are_named_in_short_and_told_in_words(run):
    assert failures.schedules(run).loc["kill two"].tolist() == ["Two die", "60"]


def test_what_went_unanswered_is_one_map_of_schedules_and_settings(run):
    table = failures.unanswered(run, list(SETTINGS))
    assert table.loc["kill two"].tolist() == pytest.approx([0.0, 40.0, 40.0])
    assert failures.unanswered(run, ["LOCAL_ONE/LOCAL_ONE"]).empty


def test_each_level_stops_where_too_few_replicas_are_left(run):
    table = failures.answered_by_dead(run, SETUP, 12.0)
    assert list(table.columns) == ["no dead", "1 dead", "2 dead"]
    firsts = table.map(lambda text: text.partition(" (")[0])
    assert firsts.loc[("reads", "ONE/ONE")].tolist() == ["100", "100", "100"]
    assert firsts.loc[("reads", "2R-2W")].tolist() == ["100", "100", "0"]
    assert firsts.loc[("reads", "3R-1W")].tolist() == ["100", "0", "0"]
    assert table.loc[("reads", "3R-1W"), "1 dead"].startswith("0 (at most ")


def test_who_noticed_when(run):
    notices = failures.noticed(run, SETUP)
    driver = notices[notices["who"] == "the driver"].groupby("number")["down_s"]
    assert driver.median().tolist() == pytest.approx([0.2, 0.2])
    table = failures.noticed_shown(notices)
    assert table["marked down after, s"].tolist() == ["0.2 [0.1, 0.3]", "8.0", "0.2 [0.1, 0.3]", "8.0"]
    assert set(table["marked up again after, s"]) == {"-"}


def test_latency_is_held_against_what_is_lost(run):
    table = failures.trade_off(run, SETUP, 1)
    assert [table.loc["2R-2W", name].value for name in ("p50_ms", "failed")] == pytest.approx([2, 0])
    assert table.loc["3R-1W", "failed"].value == pytest.approx(0.5)  # all reads, no writes
    p99_ms = table.loc["2R-2W", "p99_ms"]
    assert p99_ms.low < 9 < p99_ms.value < 11 < p99_ms.high


def test_closed_loops_get_less_done_while_a_node_is_dead(run):
    table = failures.throughput(run, SETUP)
    assert table.columns.tolist() == [f"{when}, answered per s" for when in ("before", "node dead", "back")]
    assert table.loc["ONE/ONE"].tolist() == ["40", "40", "40"]
    assert table.loc["3R-1W"].tolist() == ["40", "20", "40"]


@pytest.mark.parametrize("back_s", [math.nan, 1000.0])
def test_a_node_that_is_not_back_before_the_load_ends_is_dead_until_then(run, monkeypatch, back_s):
    faults = run.faults(SETUP).assign(ends_s=back_s)
    monkeypatch.setattr(run, "faults", lambda setup: faults)
    table = failures.throughput(run, SETUP)
    assert table["back, answered per s"].unique().tolist() == ["-"]
    assert table.loc["ONE/ONE", "node dead, answered per s"] == "40"


def test_availability_is_measured_and_predicted(run):
    assert failures_availability.dead_over_time(run, SETUP).mean().to_dict() == pytest.approx(
        {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}, abs=0.01
    )
    table = failures_availability.availability(run, SETUP)
    for operation, name, share in (("reads", "ONE/ONE", 100), ("reads", "2R-2W", 66.67), ("reads", "3R-1W", 33.33)):
        assert 100 * table.loc[(operation, name), "measured"].value == pytest.approx(share, abs=0.01)
        assert table.loc[(operation, name), "by_nodes_down_percent"] == pytest.approx(share, abs=0.5)
    a = 1 - 1 / 3
    assert table.loc[("reads", "2R-2W"), "k_of_n_percent"] == pytest.approx(100 * (3 * a**2 - 2 * a**3), abs=0.5)
    shown = failures_availability.availability_shown(table)
    assert failures_availability.availability_values({"newer": run}, SETUP, "2R-2W") == {
        "measured_2r2w_newer": shown.loc[("reads", "2R-2W"), "measured, %"],
        "counted_2r2w_newer": shown.loc[("reads", "2R-2W"), "by nodes down, %"],
        "model_2r2w_newer": shown.loc[("reads", "2R-2W"), "k of n, %"],
    }


def test_a_spread_is_of_what_is_known():
    shown = lambda value: f"{value:.0f}"  # noqa: E731
    assert failures.spread(pd.Series([math.nan, math.nan]), shown) == "-"
    assert failures.spread(pd.Series([1.0, math.inf, 2.0]), shown) == "not in time"
    assert failures.spread(pd.Series([1.0, 5.0, 2.0]), shown) == "2 [1, 5]"


def test_a_story_reads_as_one():
    history = pd.DataFrame(
        {"operation": ["write", "read"], "version": [7, 6], "sent_s": [20.0, 20.5], "ended_s": [math.nan, 20.51],
         "coordinator": [2, 0]}
    )  # fmt: skip
    table = failures_data.story(history)
    assert table["what"].tolist() == ["write of version 7", "read of version 6"]
    assert table["s"].tolist() == [0.0, 0.5]
    assert table["by"].tolist() == ["through node2", "at the end, at ALL"]
    assert table["result"].tolist() == ["unknown whether it took effect", ""]


def test_what_the_checker_found_is_summed_by_setting(run):
    table = failures_data.flaws(run)
    assert table.loc["ONE/ONE", ["reads", "writes", "lost"]].tolist() == [3600, 3600, 1]
    assert table["where"].tolist() == ["kill two", "", ""]
    assert failures_data.example(run, "stale", SETUP, "ONE/ONE").empty


def test_what_became_of_switched_requests_and_how_soon_a_setting_was_left(tmp_path):
    advised = advised_record(tmp_path)
    table = failures_adviser.kept(advised)
    by_whom = table.loc["one node at a time"]
    assert by_whom.loc["the adviser", ["reads", "stale"]].tolist() == [600, 0]
    assert by_whom.loc["the adviser", "not answered, %"].startswith("5.00")
    assert by_whom.loc["the paper's switching", "stale"] == 4
    (escape,) = failures_adviser.escapes(advised).to_dict("records")
    assert (escape["setting"], escape["to"], escape["left after that reply, s"]) == ("1R-3W", "2R-2W", 1.4)
    values = failures_adviser.escape_values(advised)
    assert (values["escapes"], values["stuck"], values["writing"], values["advised_min"]) == (1, 0, 0, 0.5)
    assert (values["direct"], values["prompt"], values["direct_longest_s"]) == (1, 1, pytest.approx(1.4))
    quoted = failures_adviser.quoted({"older": advised}, failures_adviser.kept_values, ["naive_stale", "safe_failed"])
    assert quoted == {"naive_stale_older": "4 of 600", "safe_failed_older": "5.0"}
    values = failures_adviser.kept_values(advised)
    assert float(values["safe_stale_most"]) == pytest.approx(100 * (1 - 0.025 ** (1 / 600)), abs=0.01)


def test_a_way_out_for_writes_alone_is_shown_as_one(tmp_path):
    advised = advised_record(tmp_path)
    escapes = advised.steps["kind"] == "escape"
    advised.steps.loc[escapes, "reason"] = "too few for 1R-3W; reads have no safe way out, writes go on in 3R-2W"
    (escape,) = failures_adviser.escapes(advised).to_dict("records")
    assert escape["to"] == "3R-2W, writes only"
    values = failures_adviser.escape_values(advised)
    assert (values["stuck"], values["writing"]) == (1, 1)


def test_an_escape_with_a_sweep_counts_as_one_whoever_died(tmp_path):
    advised = advised_record(tmp_path)
    escapes = advised.steps[advised.steps["kind"] == "escape"]
    died = escapes.assign(kind=KILLED, at_s=escapes["at_s"] - 0.1)
    advised.steps = pd.concat([advised.steps.replace("1R-3W", "3R-1W"), escapes.assign(kind="sweep"), died])
    values = failures_adviser.escape_values(advised)
    assert values["direct"] == 0
    assert values["swept_longest_s"] == pytest.approx(1.4)
    assert np.isnan(values["died_longest_s"])


def test_every_figure_can_be_drawn(run):
    for figure in (
        failures_figures.unanswered({"2.1.20": failures.unanswered(run, list(SETTINGS))}),
        failures_figures.stale([run], SETUP),
        failures_figures.response_times([run, run], SETUP),
        failures_figures.trade_off({"two die": failures.trade_off(run, SETUP)}),
    ):
        assert isinstance(figure, Figure)
    panels = failures_figures.answered([run, run], SETUP).axes
    assert len(panels) == 12
    assert len(panels[0].lines) == 3
    assert len(failures_figures.answered([run], SETUP, start=2).axes[0].lines) == 1


def test_settings_are_drawn_above_what_is_answered(tmp_path):
    setting, *answered = failures_figures.switched(advised_record(tmp_path), "faults-advised", 1).axes
    assert [label.get_text() for label in setting.get_yticklabels()] == ["2R-2W", "2R-3W"]
    assert len(setting.lines) == 2
    assert [panel.get_title() for panel in answered] == [
        "switched by the adviser", "switched by the paper's switching",
    ]  # fmt: skip
