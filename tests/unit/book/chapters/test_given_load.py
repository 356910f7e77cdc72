"""What the chapter on the price at a given load shows is what the library computes, mix by mix and block by block."""

import re

import numpy as np
import pandas as pd
import pytest

from cassbook.book.chapters import given_load, load_picture
from cassbook.book.provenance import Source
from cassbook.core.errors import LackingError
from cassbook.core.estimate import Estimate
from cassbook.latency.open_choices import Mix
from cassbook.latency.open_loads import OpenLoads
from cassbook.records.calibration import CalibrationRun
from cassbook.records.network_load import NetworkLoad
from cassbook.records.run import RecordedRun
from tests.helpers import open_runs
from tests.helpers.fault_records import fault_record


def made(folder, cells=None, **notes):
    rows = open_runs.open_cells() + open_runs.open_cells(read_share=1.0, own=()) if cells is None else cells
    return Source("made", RecordedRun(open_runs.write_run(folder, rows, **notes)))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return made(tmp_path_factory.mktemp("runs") / "open")


def test_prices_are_in_capacity_and_in_waiting_at_the_same_arrivals(source):
    table = given_load.prices(source)
    row = table.loc[("50 % reads", "QUORUM/QUORUM", 0.4)]
    assert row["capacity"].value == pytest.approx(4000 / 2500)
    rate = 0.4 * 2000  # of what ONE/ALL carries, which is the weakest setting's capacity here
    of_one, of_quorum = (open_runs.mean_us(name, rate) for name in ("ONE/ONE", "QUORUM/QUORUM"))
    assert row["mean"].value == pytest.approx(of_quorum / of_one, rel=0.02)
    assert row["p99"].value == pytest.approx(of_quorum / of_one, rel=0.05)
    assert "ONE/ONE" not in table.index.get_level_values("setting")
    assert set(table.index.get_level_values("mix")) == {"50 % reads", "reads alone"}
    shown = given_load.prices_shown(table)
    assert shown.loc[("50 % reads", "QUORUM/QUORUM", 0.4), "capacity: times fewer requests"].startswith("1.60 [1.60")


def test_prices_stand_next_to_those_of_steady_cells(source, tmp_path):
    whole = given_load.steady(source)
    assert list(whole["whole"]) == list(whole["steady"])
    p50 = given_load.prices(source)["p50"].loc[whole.index]
    assert [one.value for one in whole["whole"]] == pytest.approx([one.value for one in p50])
    rows = open_runs.open_cells(changes=lambda row: {"marks": "drift"} if row["block"] == 2 else {})
    table = given_load.steady(made(tmp_path / "drift", rows))
    assert {(one.n, other.n) for one, other in zip(table["whole"], table["steady"], strict=True)} == {(3, 2)}
    moved = made(tmp_path / "moved", open_runs.open_cells(changes=lambda row: {"marks": "drift"}))
    assert set(given_load.prices_shown(given_load.prices(moved))["marks"]) == {"drift"}
    shown = given_load.steady_shown(given_load.steady(moved))
    assert set(shown["without those that drifted"]) == {"all drifted"}
    assert set(shown["cluster starts left"]) == {0}


def test_what_the_intervals_reached_is_held_against_the_aim(source):
    table, widths = given_load.reached(source), given_load.prices(source)["p50"].map(lambda one: one.half_width_percent)
    assert np.allclose(table["p50_percent"], widths)
    beyond = table["p50_percent"] > given_load.AIMS["p50"]
    assert (table["p50_starts"][beyond] > 3).all()
    assert (table["p50_starts"][~beyond] <= 3).all()


def test_a_curve_is_drawn_of_each_setting_and_mix(source):
    figure = given_load.price_curves(source)
    assert [axes.get_title() for axes in figure.axes[:2]] == ["reads alone", "50 % reads"]
    drawn = {line.get_label() for line in figure.axes[1].get_lines()}
    assert {"QUORUM/QUORUM", "ONE/ALL"} <= drawn


def test_the_front_page_says_which_price_is_the_higher_only_where_intervals_are_apart(source, monkeypatch):
    row = given_load.prices(source).loc[("50 % reads", "QUORUM/QUORUM", 0.4)]
    text = given_load.headline(source).data
    assert f"carries {row['capacity'].value:.1f} times" in text
    assert f"takes {row['p50'].value:.1f} times as long at QUORUM/QUORUM, and p99 {row['p99'].value:.1f} times" in text
    assert len(re.findall(r"\d+(?:\.\d+)?", re.sub(r"p99|<[^>]+>", "", text))) <= 5
    index = pd.MultiIndex.from_tuples([("50 % reads", "QUORUM/QUORUM", 0.4)], names=["mix", "setting", "share"])
    for capacity, median, first in (
        ((1.5, 1.4, 1.6), (1.2, 1.1, 1.3), "QUORUM costs a cluster more capacity than"),
        ((1.2, 1.1, 1.3), (1.5, 1.4, 1.6), "QUORUM costs requests more time than"),
        ((1.2, 1.1, 1.5), (1.5, 1.4, 1.6), "QUORUM costs a cluster capacity, and requests time."),
        ((1.5, 1.4, 1.6), (1.2, np.nan, np.nan), "QUORUM costs a cluster capacity, and requests time."),
    ):
        made_up = {"capacity": Estimate(*capacity), "p50": Estimate(*median), "p99": Estimate(2.0, 1.0, 3.0)}
        monkeypatch.setattr(given_load, "prices", lambda *_, own=made_up: pd.DataFrame([own], index))
        assert given_load.headline(source).data.startswith(f"<p><b>{first}")
    monkeypatch.setattr(given_load, "prices", lambda *_: pd.DataFrame([made_up], index).iloc[:0])
    assert given_load.headline(source).data == "<p>made has no half reads at QUORUM/QUORUM.</p>"


def with_trouble(rows):
    struck = [row for row in rows if row["load_share"] == 0.4 and row["cell_group"]]
    return rows + [
        row | {"cell_id": f"{row['cell_id']}-{condition}", "condition": condition, "mean_us": times * row["mean_us"]}
        for condition, times in (("kill_unnoticed", 10.0), ("dead_node", 2.0)) for row in struck
    ]  # fmt: skip


def test_trouble_stands_next_to_all_well(tmp_path):
    source = made(tmp_path / "trouble", with_trouble(open_runs.open_cells(own=())))
    table = given_load.troubled(source)
    assert list(table.columns) == ["all well", "dead, unnoticed", "dead, noticed"]
    row = table.loc[("50 % reads", "QUORUM/QUORUM", 0.4)]
    assert row["dead, unnoticed"].value / row["all well"].value == pytest.approx(10, rel=0.1)
    assert set(table.index.get_level_values("share")) == {0.4}
    shown = given_load.troubled_shown(table)
    assert "dead, unnoticed, ms" in shown


def test_what_a_run_lacks_is_said(source, tmp_path):
    closed = made(tmp_path / "closed", open_runs.closed_cells())
    for make in (given_load.prices, given_load.price_curves, given_load.why, given_load.troubled):
        with pytest.raises(LackingError, match="made has no open arrivals at shares"):
            make(closed)
    with pytest.raises(LackingError, match="made has no open arrivals with a node dead"):
        given_load.troubled(source)
    with pytest.raises(LackingError, match=r"made has no two settings at 0\.7"):
        given_load.prices(source, (0.7,))
    with pytest.raises(LackingError, match="no cells with own processor"):
        given_load.other_processors(source.run, "own_processor")
    with pytest.raises(LackingError, match="has no open arrivals at shares"):
        load_picture.explorer(closed.run)


def test_what_a_processor_each_changes_is_said_by_the_rule_of_the_plan(tmp_path):
    """With it what ONE carries is half, its responses as before; in one start the client limits what it carries."""
    rows = open_runs.open_cells(own=())
    half = {"carried_per_s": open_runs.CARRIED["ONE/ONE"] / 2}
    own = [
        row | {"condition": "own_processor", "cell_id": f"{row['cell_id']}-own"}
        | (half if row["read_cl"] == row["write_cl"] == "ONE" else {})
        for row in rows
    ]  # fmt: skip
    for row in own:
        if row["block"] == 3 and row["read_cl"] == row["write_cl"] == "ONE":
            row["marks"] = "client"
    run = made(tmp_path / "arms", rows + own).run
    table = given_load.other_processors(run, "own_processor")
    capacity = table.xs(("50 % reads", "capacity", "ONE/ALL"), level=("mix", "price", "setting")).iloc[0]
    assert (capacity["blocks"], given_load.verdict(capacity["change"])) == (2, "not known")
    words = given_load.other_processors_shown(table, "a processor each")
    waiting = words.xs("p50 at the same arrivals", level="price")
    assert set(waiting["with it the price is"]) == {"about the same"}
    assert given_load.other_processors_quoted(table, "own") == {
        "own_capacity_higher": "0 of 2", "own_capacity_lower": "0 of 2", "own_capacity_same": "0 of 2",
        "own_capacity_known": "2 of 2", "own_waiting_higher": "0 of 4", "own_waiting_lower": "0 of 4",
        "own_waiting_same": "4 of 4", "own_waiting_known": "0 of 4",
    }  # fmt: skip


def with_processors(row):
    """Node time by the number of replicas asked, so that the demands are known."""
    replicas = {"ONE/ONE": 1.0, "QUORUM/QUORUM": 2.0, "ONE/ALL": 3.0}[f"{row['read_cl']}/{row['write_cl']}"]
    took_us = 100.0 * replicas
    return {"node_cpu_us_per_op": took_us, "client_cpu_us_per_op": 20.0, "wire_mb_per_s": 1.0, "disk_busy_share": 0.1,
            "busy_share": row["rate_per_s"] * (took_us + 20) / 2e6}  # fmt: skip


def test_what_a_request_takes_is_of_one_machine_and_its_ratio_of_all(tmp_path):
    def changed(row):
        elsewhere = {"marks": "elsewhere"} if row["block"] == 3 else {}
        taken = with_processors(row)
        return taken | elsewhere | {"node_cpu_us_per_op": taken["node_cpu_us_per_op"] * (10 if elsewhere else 1)}

    source = made(tmp_path / "moved", open_runs.open_cells(changes=changed))
    row = given_load.why(source).loc[("50 % reads", "QUORUM/QUORUM")]
    assert (row["node_us"].value, row["node_us"].n) == (pytest.approx(200.0), 2)
    assert (row["times"].value, row["times"].n) == (pytest.approx(2.0), 3)
    parts = given_load.taken(source, 0.6).loc[("50 % reads", "QUORUM/QUORUM")]
    assert parts["nodes"].n == 2


def test_processor_time_stands_next_to_the_capacity_that_it_explains(tmp_path):
    source = made(tmp_path / "processors", open_runs.open_cells(changes=with_processors))
    row = given_load.why(source).loc[("50 % reads", "QUORUM/QUORUM")]
    assert row["times"].value == pytest.approx(2.0)
    assert row["node_us"].value == pytest.approx(200.0)
    assert np.isnan(row["network_open"].value)
    parts = given_load.taken(source, 0.6).loc[("50 % reads", "QUORUM/QUORUM")]
    assert parts["nodes"].value == pytest.approx(0.6 * 2000 * 200 / 2e6, rel=0.01)
    with pytest.raises(LackingError, match=r"no cells at 0\.7"):
        given_load.taken(source, 0.7)
    table = given_load.predictions(source)
    shown = given_load.off_shown(table)
    assert list(shown.index) == [0.6, 0.8]


def test_the_network_stands_next_to_what_was_measured_at_the_same_share_of_capacity(source):
    calibration = CalibrationRun("calibration-5.0.9")
    table = given_load.network_errors(source, calibration)
    assert list(table.index.unique("mix")) == ["reads alone", "50 % reads"]
    row = table.loc[("50 % reads", "ONE/ALL", 0.6)]
    assert row["own_share"] == pytest.approx(0.6, abs=0.001)
    network = NetworkLoad(calibration.calibrated(), 3, 3)
    assert row["network_ms"] == pytest.approx(network.response_ms("ONE/ALL", 0.5, 0.6))
    assert row["ratio"].value == pytest.approx(row["network_ms"] / row["measured_ms"].value, rel=0.01)
    assert list(given_load.network_off_shown(table).columns) == ["reads alone", "50 % reads"]
    labels = {text.get_text() for text in given_load.network_curves(table).axes[1].get_legend().get_texts()}
    assert labels == {"ONE/ONE", "QUORUM/QUORUM", "ONE/ALL"}


def test_p99_until_a_death_is_noticed_is_held_against_that_before_it_in_one_load_and_alone(tmp_path):
    source = made(tmp_path / "trouble", with_trouble(open_runs.open_cells(own=())))
    table = given_load.while_unnoticed(source, fault_record(tmp_path / "faults", starts=2), "mine")
    alone = table.loc[("this setting alone", "QUORUM/QUORUM")]
    assert (alone["unnoticed"].value, alone["noticed"].value) == (pytest.approx(10, rel=0.1), pytest.approx(2, rel=0.1))
    together = table.loc[("all settings in one load", "ONE/ONE")]
    assert (together["unnoticed"].value, together["noticed"].value) == (pytest.approx(10), pytest.approx(4))
    shown = given_load.while_unnoticed_shown(table)
    assert shown.iloc[0, 0].startswith("10.0")
    with pytest.raises(LackingError, match="has no open arrivals with a node dead"):
        given_load.while_unnoticed(made(tmp_path / "well"), fault_record(tmp_path / "faults"), "mine")


def test_data_centres_have_rows_of_their_own(tmp_path):
    notation = "{[C], ([R1], [R2], [R3]}, {[R4], [R5], [R6]})"
    near, far = (f"{notation} in here, {name}" for name in ("near", "far"))
    rows = [
        row | {"cell_id": f"{row['cell_id']}-{name[-4:]}", "deployment": name, "mean_us": times * row["mean_us"]}
        for name, times in ((near, 1.0), (far, 5.0))
        for row in open_runs.open_cells(own=(), changes=lambda _: {"read_cl": "LOCAL_QUORUM"})
    ]
    sections = {name: {"notation": notation, "regions": ["here", name]} for name in ("near", "far")}
    profile = {"name": "two", "cluster": {"nodes": 6, "replication_factor": 6}, "distance": {"deployments": sections}}
    source = made(tmp_path / "two", rows, profile=profile)
    table = given_load.data_centres(source)
    assert set(table.index.get_level_values("deployment")) == {near, far}
    row = table.loc[(far, "LOCAL_QUORUM/QUORUM", 0.4)]
    assert row["survives"] == "1 and 2"  # of three here, and of six anywhere
    assert row["p50_ms"].value / table.loc[(near, "LOCAL_QUORUM/QUORUM", 0.4), "p50_ms"].value == pytest.approx(
        5, rel=0.05
    )
    shown = given_load.data_centres_shown(table, given_load.deployments(source.run))
    assert set(shown.index.get_level_values("deployment")) == {"near", "far"}


def test_the_picture_has_the_numbers_of_the_library(source):
    found = load_picture.data(source.run)
    assert [mix["name"] for mix in found["mixes"]] == ["50 % reads", "reads alone"]
    of = found["mixes"][0]["troubles"][""]
    place = of["shares"].index(0.6)
    loads = OpenLoads(source.run.statistics, "made", 3, "p99")
    advice = loads.advise(Mix(0.5), of_capacity=0.6, bound_ms=20.0)
    for choice in (*advice.choices, *advice.weak):
        one = of["settings"][f"{choice.setting.read_cl}/{choice.setting.write_cl}"]
        assert one["points"]["p99"][place] == pytest.approx(
            [1e-3 * x for x in (choice.response_us.value, choice.response_us.low, choice.response_us.high)], rel=1e-4
        )
        verdict, headroom, _ = one["keeps"]["p99"][place][found["bounds"].index(20)]
        assert verdict == choice.verdict
        assert headroom == (
            None if np.isnan(choice.headroom.value) else pytest.approx(choice.headroom.value, abs=0.006)
        )
        assert (tuple(one["survives"]), one["strong"]) == (choice.survives, choice.strong)


def test_without_javascript_there_is_a_picture_and_its_numbers(source):
    html = load_picture.explorer(source.run).data
    still = html.partition("<noscript>")[2].partition("</noscript>")[0]
    assert 'src="data:image/png;base64,' in still
    assert "QUORUM/QUORUM" in still.partition('alt="')[2].partition('"')[0]
    pd.testing.assert_frame_equal(source.run.cells, RecordedRun(source.run.folder).cells)
