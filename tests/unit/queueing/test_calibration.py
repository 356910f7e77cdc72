"""Demands found again in cells of a cluster that is known, and what is predicted and said of it."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cassbook.advisor import from_calibration
from cassbook.book.chapters import queueing_calibrated, queueing_calibrated_figures, what_if
from cassbook.book.chapters.choosing import fastest
from cassbook.cli.answers import predict
from cassbook.core.consistency import STRONG_SETTINGS
from cassbook.core.errors import InputError
from cassbook.lab.experiments.calibration import calibration
from cassbook.queueing.calibration import Calibrated, Costs, Question, calibrate, parts, slowdown
from cassbook.queueing.mva import analyse
from cassbook.records.calibration import CROWDING, CalibrationRun, Outside, asking_all, by_level, repeatability
from tests.helpers.command import cassbook
from tests.helpers.experiments import noted

COSTS = {
    "READ": Costs(0.10, 0.08, 0.12, 0.04, 0.05, 0.6, 0.5), "UPDATE": Costs(0.09, 0.06, 0.10, 0.04, 0.05, 0.6, 0.5)
}  # fmt: skip
SLOWER = slowdown(np.array([3.0, 2.0, 1.3, 0.9]))
CROWDED = {"READ": 0.3, "UPDATE": 0.6}
TRUE = Calibrated(COSTS, SLOWER, CROWDED, 4, 2)


def row(cell, nodes, start):
    question = Question(cell.operation, cell.level, nodes, cell.replication, cell.ask_all)
    costs, disturbed = COSTS[cell.operation], 1 + 0.01 * start
    analysis = analyse(TRUE.network(question), cell.jobs)
    return {
        "start": start, "setup": {4: "four", 6: "six"}[nodes], "nodes": nodes, "operation": cell.operation,
        "level": cell.level, "jobs": cell.jobs, "field_length": cell.field_length, "ask_all": cell.ask_all,
        "replication": cell.replication, "errors": "", "marks": "", "latency_ms": disturbed * analysis.response_ms[-1],
        "throughput_per_s": analysis.throughput_per_s[-1] / disturbed,
        # CPU time is more than what requests wait for.
        "node_cpu_us": 1300 * np.dot(question.design, (costs.coordinator, costs.local, costs.elsewhere, costs.waiting)),
        "client_cpu_us": 1000 * costs.client, "other_cpu_us": 1.0, "busy": 0.9, "compiling": 0.0,
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A record whose cells are what the analysis of a known cluster says."""
    made, experiment = tmp_path_factory.mktemp("calibration"), calibration()
    for start in (1, 2, 3):
        for setup, conditions in experiment.conditions.items():
            rows = [row(cell, experiment.setups[setup].spec.nodes, start) for cell in conditions]
            pd.DataFrame(rows).to_csv(made / f"start-{start}-{setup}.csv", index=False)
        phases = pd.DataFrame([
            {"start": start, "setup": "four", "panel": 0, "operation": operation, "level": level, "local": True,
             "parse_us": 40.0, "serve_us": 60.0, "end_us": 40.0, "duration_us": 200.0}
            for operation in ("READ", "UPDATE") for level in ("ONE", "QUORUM", "ALL")
        ])  # fmt: skip
        phases.to_parquet(made / f"start-{start}-four-phases.parquet")
    numbers = {"repetitions": 1, "steady_s": 1.0}
    return noted(made, "calibration", engine="2.2.4", machine={"cores": 2}, starts=3, numbers=numbers)


@pytest.fixture(scope="module")
def run(folder):
    """It opened, whose fits are kept."""
    return CalibrationRun(str(folder))


def test_what_was_put_in_is_found_again(run):
    assert 0.2 < run.held_out.mean() < 0.7
    assert (run.cells[run.held_out]["level"] == "QUORUM").any()
    for fit in run.calibrated():
        for operation, costs in COSTS.items():
            seen = fit.costs[operation]
            for name in ("coordinator", "local", "elsewhere", "waiting", "client"):
                assert getattr(seen, name) == pytest.approx(getattr(costs, name), rel=0.1), (operation, name)
            assert (seen.replica_part, seen.parse_part) == (pytest.approx(0.6), pytest.approx(0.5))
        assert fit.crowding == pytest.approx(CROWDED, abs=0.03)
        assert fit.slowdown[0] == pytest.approx(3.0, rel=0.1)
    table = by_level(run)
    assert table["held_out"].any()
    assert table["off_throughput"].abs().max() < 0.05
    assert table["off_response"].abs().max() < 0.05
    blind = by_level(run, without=CROWDING)
    six = blind["nodes"] == 6
    assert blind.loc[six, "off_throughput"].min() > 0.05, "six nodes work more than four, which it cannot know"
    assert blind.loc[~six, "off_throughput"].to_numpy() == pytest.approx(table.loc[~six, "off_throughput"])


def test_longer_rows_have_costs_of_their_own_and_the_usual_slowdown(run):
    usual, longer = run.calibrated()[0], run.calibrated(400)[0]
    assert longer.slowdown == usual.slowdown
    assert longer.costs["READ"].elsewhere == pytest.approx(COSTS["READ"].elsewhere, rel=0.1)


def test_how_well_a_cell_is_known_is_over_its_starts(run):
    known = repeatability([run])
    starts = np.array([1 / 1.01, 1 / 1.02, 1 / 1.03])
    assert known["known"] == pytest.approx(100 * starts.std(ddof=1) / np.sqrt(3) / starts.mean())
    assert known["floor"] == pytest.approx(known["known"] * 0.798, abs=0.001)


def test_tables_tell_of_it(run):
    runs = {"2.2.4": run}
    costs = queueing_calibrated.costs(runs)
    assert list(costs.index.get_level_values("row")) == ["10 x 100 bytes"] * 2 + ["10 x 400 bytes"] * 2
    assert costs["elsewhere"].iloc[0].value == pytest.approx(120, rel=0.1)
    assert set(queueing_calibrated.estimators(runs).index.get_level_values("level")) == {"ONE", "QUORUM", "ALL"}
    errors = queueing_calibrated.errors(runs)
    assert errors["throughput"][list(queueing_calibrated.HELD_OUT)].max(axis=None) < 5
    quorum = by_level(run).query(f"operation == 'UPDATE' and {queueing_calibrated.HELD_OUT['QUORUM']}")
    assert errors.loc[("2.2.4", "UPDATE"), ("throughput", "QUORUM")] == pytest.approx(
        100 * np.mean(np.abs(quorum["predicted_per_s"] - quorum["throughput_per_s"]) / quorum["throughput_per_s"])
    )
    assert (errors["throughput", queueing_calibrated.SIX_WHOLE] > 5).all()
    quoted = queueing_calibrated.values(run, "blind_")
    assert quoted["blind_throughput_within_10"] == "9 of 9"
    assert queueing_calibrated.throughput_six(run) > quoted["blind_throughput_worst"]
    worth = queueing_calibrated.mechanisms(runs)["throughput, %"]["mean"]
    assert worth["2.2.4", "without waiting"] > worth["2.2.4", "as it is"]
    assert queueing_calibrated.protocol(runs)["calibration_starts"] == 3
    kinds = queueing_calibrated.cells(runs)
    assert kinds.loc[(4, 2, "10 x 100 bytes", "as many as needed"), "estimate"] == ()
    assert kinds.loc[(4, 3, "10 x 100 bytes", "as many as needed"), "held_out"] == ("QUORUM",)
    pays = asking_all(run, queueing_calibrated.QUORUM_READ)
    assert (pays["throughput_model"].iloc[1:] < 1).all()
    assert pays["throughput_model"].max() > 1
    assert what_if.pays_values(run, pays)["gain"] == pytest.approx(
        100 * (pays["throughput_model"].map(np.log).mean()), abs=2
    )
    changed = what_if.what_if(run)
    assert list(changed.index) == list(what_if.WHAT_IF)
    assert what_if.what_if_values(changed)["by_processors"] > 1.5
    assert changed.loc["eight processors", "outside"] == (Outside("cores", 8, 2, 2),)
    assert "disk" in changed.loc["disks that take 8 ms a look", "busiest"]
    assert what_if.what_if_shown(changed).loc["eight processors", "outside"] == "cores: 8"


def test_figures_show_what_they_are_given(run):
    figure = queueing_calibrated_figures.predicted({"2.2.4": by_level(run)}, "READ")
    assert [panel.get_title() for panel in figure.axes] == [
        "2.2.4: 4 nodes, replication 1", "2.2.4: 4 nodes, replication 2", "2.2.4: 4 nodes, replication 3",
        "2.2.4: 6 nodes, replication 3",
    ]  # fmt: skip
    assert (
        len(
            queueing_calibrated_figures.slowdowns(queueing_calibrated.slowdowns({"2.2.4": run}))
            .axes[0]
            .get_legend()
            .texts
        )
        == 1
    )
    assert len(what_if.replication_pays({"2.2.4": asking_all(run, queueing_calibrated.QUORUM_READ)}).axes) == 2


def test_a_prediction_has_intervals_and_says_what_it_does_not_know(run):
    question = Question("READ", "QUORUM", 8, 3)
    predicted = run.predict(question, [1, 45, 100], cores=4)
    assert predicted.throughput_per_s[1].low < predicted.throughput_per_s[1].value < predicted.throughput_per_s[1].high
    assert predicted.outside == [Outside("nodes", 8, 4, 6), Outside("jobs", 100, 1, 64), Outside("cores", 4, 2, 2)]
    assert predicted.bottleneck(2) == "CPU"
    assert run.predict(Question("READ", "ONE", 4, 3), [45]).outside == []
    with pytest.raises(InputError, match=r"7 bytes .*100, 400"):
        run.predict(question, [1], field_length=7)
    with pytest.raises(InputError, match=r"replication: 5 .*4 nodes"):
        run.predict(Question("READ", "ONE", 4, 5), [1])


@pytest.fixture(scope="module")
def mixed(run):
    """Mixes as they would be measured if the network were right, but for blocks, and for 2R-2W: twice as slow."""
    latency_map, shares, jobs = from_calibration.latency_map(run), (0.1, 0.5, 0.9), (4, 64)
    means_us = latency_map.means_us(jobs, shares)
    return pd.DataFrame([
        {"kind": "mixed", "cell_id": f"b{block}", "block": block, "read_cl": setting.read_cl, "read_share": share,
         "write_cl": setting.write_cl, "threads": threads,
         "latency_us": means_us[k, i, j] * (0.98 + 0.01 * block) * (2 if setting.name == "2R-2W" else 1)}
        for block in (1, 2, 3)
        for k, setting in enumerate(STRONG_SETTINGS) for i, share in enumerate(shares) for j, threads in enumerate(jobs)
    ])  # fmt: skip


def test_predicted_mixes_are_held_against_measured_ones(run, mixed):
    table = from_calibration.compared(from_calibration.latency_map(run), mixed).set_index(
        ["setting", "read_share", "threads"]
    )
    assert len(table) == 18
    assert table.loc["1R-3W", "off_percent"].to_numpy() == pytest.approx(np.zeros(6), abs=0.01)
    assert table.loc["2R-2W", "off_percent"].to_numpy() == pytest.approx(np.full(6, -50.0), abs=0.01)
    assert table["within"].sum() == 12
    one = run.predict(Question("READ", "ONE", 4, 3), [64]).response_ms[0].value
    assert table.loc[("1R-3W", 0.9, 64), "predicted_ms"] > one, "a tenth are writes at ALL"
    assert len(what_if.mixes(table.reset_index()).axes) == 2


def test_what_mixes_take_above_their_parts_is_told_apart(run, mixed):
    latency_map = from_calibration.latency_map(run)
    alone = latency_map.means_us((4, 64), (0.0, 1.0))
    pure = pd.DataFrame([
        {"kind": "pure", "cell_id": f"p{block}", "block": block, "read_cl": setting.read_cl, "read_share": float(share),
         "write_cl": setting.write_cl, "threads": threads, "latency_us": alone[k, share, j] * (0.98 + 0.01 * block)}
        for block in (1, 2, 3) for k, setting in enumerate(STRONG_SETTINGS) for share in (0, 1)
        for j, threads in enumerate((4, 64))
    ])  # fmt: skip
    cells = pd.concat([mixed, pure]).assign(read_latency_us=1.0, update_latency_us=1.0)
    table = from_calibration.by_setting(latency_map, cells)
    assert list(table.index) == ["1R-3W", "2R-2W", "3R-1W", "all"]
    assert table.loc["2R-2W", "parts_off"].value == pytest.approx(0, abs=0.1)
    assert table.loc["2R-2W", "mixes_off"].value == pytest.approx(-50, abs=0.1)
    assert table.loc["2R-2W", "above"].value == pytest.approx(100, abs=4), "the network's own is next to nothing"


def test_a_choice_by_the_network_costs_nothing_where_it_is_right(run, mixed):
    choosers = {what_if.NETWORK: from_calibration.latency_map(run), what_if.WEIGHTED: from_calibration.pure_map(run)}
    table = from_calibration.regrets(choosers, mixed)
    assert table.loc[what_if.NETWORK, "right"].right == 6
    assert table.loc[what_if.NETWORK, "regret"].value == pytest.approx(0)
    assert table.loc["always 2R-2W", "regret"].value > 50
    assert {what_if.WEIGHTED, "always 1R-3W"} < set(table.index)
    # Mixes of other costs than those predicted: what is chosen is judged by what was measured.
    other = mixed.assign(latency_us=mixed["latency_us"].where(mixed["read_cl"] != "ONE", 10 * mixed["latency_us"]))
    assert from_calibration.regrets(choosers, other).loc[what_if.NETWORK, "regret"].value > 50


def test_the_adviser_answers_for_a_cluster_that_was_not_started(run):
    latency_map = from_calibration.latency_map(run, 6)
    assert latency_map.name.endswith("predicted for 6 nodes")
    assert latency_map.blocks == (1, 2, 3)
    reads, writes = latency_map.advise(16, 1.0), latency_map.advise(16, 0.0)
    alone = run.predict(Question("READ", "ONE", 6, 3), [16]).response_ms[0].value
    assert reads.fastest.setting.name == "1R-3W"
    assert reads.fastest.latency_us.value == pytest.approx(1000 * alone)
    assert reads.distinguishable
    assert writes.fastest.setting.name == "3R-1W"
    mixed = latency_map.advise(16, 0.5)
    assert mixed.mixed
    turn = from_calibration.turns_at(latency_map, 16)
    assert 0 < turn < 100
    assert latency_map.advise(16, turn / 100 - 0.02).fastest.setting.name != "1R-3W"
    assert latency_map.advise(16, turn / 100 + 0.02).fastest.setting.name == "1R-3W"
    assert reads.fastest.latency_us.value < mixed.fastest.latency_us.value
    with pytest.raises(InputError, match="threads: 100 is outside what"):
        latency_map.advise(100, 0.5)
    with pytest.raises(InputError, match="nodes: 8; measured were 4 to 6"):
        from_calibration.latency_map(run, 8)
    assert len(fastest([latency_map], "foretold").axes) == 1


def test_a_mix_of_one_kind_is_that_kind(run):
    fit, question = run.calibrated()[0], Question("READ", "ALL", 6, 3)
    both = {question: 0.5, Question("UPDATE", "ONE", 6, 3): 0.5}
    alone = analyse(fit.network(question), 8).response_ms[-1]
    assert analyse(fit.mixed({question: 3.0}), 8).response_ms[-1] == pytest.approx(alone)
    other = analyse(fit.network(Question("UPDATE", "ONE", 6, 3)), 8).response_ms[-1]
    assert min(alone, other) < analyse(fit.mixed(both), 8).response_ms[-1] < max(alone, other)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("READ", "SEVEN", 4, 3), r"level: 'SEVEN'; use one of ONE, TWO, "),
        (("UPDATE", "THREE", 4, 2), "level: THREE waits for 3 replicas, and there are 2"),
        (("UPDATE", "ONE", 4, 3, True), "ask_all: is for reads"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(asked, said):
    with pytest.raises(InputError, match=said):
        Question(*asked)


def test_one_kind_of_cluster_does_not_tell_a_look_from_coordinating(run):
    cells = run.cells.query("replication == 3 and nodes == 4 and operation == 'READ'")
    with pytest.raises(InputError, match=r"coordinator .*local"):
        parts(cells.assign(node_ms=1.0))
    with pytest.raises(InputError, match="no cell has one job only"):
        calibrate(run.cells.query("jobs > 1"), pd.DataFrame({"operation": []}), 4, 2)


def test_the_command_answers_for_people_and_for_programs(folder):
    asked = ["predict", "--run", str(folder), "--nodes", "6", "--level", "QUORUM"]
    said = cassbook(*asked, "--jobs", "1..200").output
    assert said.startswith("READ at QUORUM, 6 nodes, replication 3: 2 asked, 2 waited for; survives 1 dead replica\n")
    shared = "6 nodes and the client share the 2 cores of one machine"
    assert said.splitlines()[1] == f"{shared}; nodes on machines of their own do more"
    assert "take it as a guess:\n  jobs: 200; measured were 1 to 64" in said
    assert len(said.splitlines()) < 19
    answer = json.loads(cassbook(*asked, "--jobs", "1,8", "--format", "json").output)
    assert (answer["cores"], answer["shared"]) == (2, shared)
    other = json.loads(cassbook(*asked, "--jobs", "1", "--cores", "8", "--format", "json").output)
    assert (other["cores"], other["shared"]) == (8, shared.replace("2 cores", "8 cores"))
    rows = answer["rows"]
    assert [each["jobs"] for each in rows] == [1, 8]
    assert rows[1]["throughput_per_s"]["value"] > rows[0]["throughput_per_s"]["value"]


def test_a_cluster_of_hundreds_of_nodes_is_answered_as_a_guess(folder):
    asked = ["predict", "--run", str(folder), "--nodes"]
    done = cassbook(*asked, "100", "--concurrency", "8")
    assert done.exit_code == 0
    assert "100 nodes and the client share the 2 cores of one machine" in done.output
    assert "nodes: 100; measured were 4 to 6" in done.output
    refused = cassbook(*asked, "5000", "--concurrency", "8")
    assert refused.exit_code == 2
    assert "nodes: 5000; use 1 to 1000" in refused.output


@pytest.mark.parametrize("cores", ["4", "48"])
def test_a_response_that_would_fall_as_load_grows_is_refused(cores):
    asked = ["predict", "--run", "calibration-5.0.9", "--nodes", "6", "--cores", cores]
    refused = cassbook(*asked, "--concurrency", "1..64")
    assert refused.exit_code == 2
    assert f"Outside the calibration: cores: {cores}; measured were 2. On its 2 cores" in refused.output
    assert "Use --cores 2; or " in refused.output
    assert "A fall was measured only up to as many jobs as cores (2)" in refused.output
    # With 48 it falls to the end, also where one number of jobs is asked for; 4 are soon busy, and it rises again.
    one = cassbook(*asked, "--concurrency", "45")
    again = re.search(r"--concurrency (\d+) and more, where it rises", refused.output)
    assert (one.exit_code, again is None) == ((2, True) if cores == "48" else (0, False))
    if again:
        assert cassbook(*asked, "--concurrency", f"{again[1]}..64").exit_code == 0
        assert cassbook(*asked, "--concurrency", int(again[1]) - 1).exit_code == 2


@pytest.mark.parametrize("level", ["ONE", "QUORUM", "ALL"])
def test_nothing_within_the_calibration_is_refused(level):
    recorded = CalibrationRun("calibration-5.0.9")
    for operation, nodes in (("READ", 4), ("READ", 6), ("UPDATE", 6)):
        assert recorded.predict(Question(operation, level, nodes, 3), range(1, 65)).falls is None


def test_advice_can_be_predicted(folder):
    asked = ["advise", "--run", str(folder), "--nodes", "4", "--threads", "16", "--reads", "1"]
    said = cassbook(*asked).output
    assert "predicted for 4 nodes, 16 threads, 100% reads, 3 cluster starts" in said
    assert "fastest      1R-3W" in said
    wrong = cassbook(*asked[:4], "2", *asked[5:])
    assert wrong.exit_code != 0
    assert "nodes: 2; measured were 4 to 6" in wrong.output


@pytest.mark.parametrize("text", ["", "0", "5..1", "1...9", "one", "1,", "1..9999"])
def test_jobs_that_are_none_are_refused(text):
    with pytest.raises(InputError, match="range such as 1"):
        predict.jobs_of(text)


def test_a_record_of_another_kind_is_refused():
    with pytest.raises(InputError, match="no record of `cassbook experiment calibration`"):
        CalibrationRun("stale-five-2.1.20")
