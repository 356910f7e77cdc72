"""What any schedule of faults made of each setting, and how it is shown, on records that are made up."""

import json
import math
import re

import pytest

from cassbook.book import notebooks
from cassbook.cli.main import main
from cassbook.lab.experiments.catalogue import CATALOGUE
from cassbook.profile.fault_schedule import Fault
from cassbook.records import fault_summary
from cassbook.records.fault_summary import ScheduledFault
from cassbook.records.faults import AdvisedRun, opened
from cassbook.records.kinds import EXPERIMENTS, read_by
from cassbook.shown import faults as shown_faults
from tests.helpers.advised_records import advised_record
from tests.helpers.command import cassbook
from tests.helpers.fault_records import fault_record


@pytest.fixture
def run(tmp_path):
    return fault_record(tmp_path / "mine")


def by_place(run):
    table = fault_summary.summary(run)
    return table.assign(kind=[fault.kind for fault in table["fault"]]).set_index(["kind", "setting", "operation"])


def test_each_setting_has_what_a_fault_left_unanswered_and_how(run):
    kill = by_place(run).loc["kill"]
    reads = kill.loc[("3R-1W", "reads")]
    assert (reads["due"], reads["unanswered"]) == (600, 240), "from 10 s until the next fault at 40 s"
    assert (reads["client_timeout"], reads["unavailable"], reads["server_timeout"]) == (120, 120, 0)
    assert reads["share"] == pytest.approx(0.4)
    assert math.isnan(reads["low"]), "one start"
    none = kill.loc[("ONE/ONE", "reads")]
    assert (none["unanswered"], none["low"]) == (0, 0)
    assert none["high"] == pytest.approx(1 - 0.025 ** (1 / 600), rel=1e-6), "exact, of Clopper and Pearson"


def test_p99_is_of_before_unnoticed_noticed_and_after(run):
    kill = by_place(run).loc["kill"]
    columns = [f"p99_{phase}_ms" for phase in fault_summary.PHASES]
    assert kill.loc[("ONE/ONE", "reads"), columns].tolist() == [5, 50, 20, 8]
    assert kill.loc[("3R-1W", "reads"), columns].isna().tolist() == [False, True, True, False]


def test_p99_of_each_time_is_by_phase_and_start(tmp_path):
    table = fault_summary.p99_by_phase(fault_record(tmp_path / "two", starts=2), "mine")
    assert table.groupby(["start", "fault"]).size().tolist() == [4, 8, 4, 8], "a kill, and a node that flaps twice"
    first = table[(table["setting"] == "ONE/ONE") & (table["operation"] == "READ")].iloc[0]
    assert first["fault"] == "kill"
    assert first[list(fault_summary.PHASES)].tolist() == [5, 50, 20, 8]


def test_who_noticed_is_said_with_the_last_of_the_nodes_and_without_the_node_itself(run):
    kill = by_place(run).loc["kill"].iloc[0]
    assert kill[["driver_down_s", "nodes_down_s"]].tolist() == pytest.approx([0.2, 6.0])
    assert shown_faults.noticed(kill) == "marked down by the driver after 0.2 s, by the other nodes after 6.0 s"


def test_a_fault_that_is_repeated_is_one_row_and_one_that_nobody_noticed_is_unnoticed_until_its_end(run):
    flaps = by_place(run).loc["pause"]
    assert flaps["fault"].iloc[0] == ScheduledFault("pause", Fault("pause", (3,), 40.0, 1.0), times=2)
    assert flaps["times"].tolist() == [2] * 4
    assert flaps["due"].tolist() == [10 * 2 * 20] * 4
    assert flaps["p99_noticed_ms"].isna().all()
    assert "not by the driver, not by the other nodes" in shown_faults.noticed(flaps.iloc[0])


def test_a_fault_that_came_too_late_is_named(run):
    assert fault_summary.not_struck(run) == [("mine", ScheduledFault("stop", Fault("stop", (1,), 59.0)))]
    assert "Not carried out before the load ended: mine: stop node 1 at 59 s." in shown_faults.as_text(run)


def test_faults_drawn_at_random_are_together_by_kind(tmp_path):
    drawn = fault_summary.summary(fault_record(tmp_path / "r", events=None, starts=2))
    assert drawn.groupby("fault", sort=False)["times"].first().to_dict() == {
        ScheduledFault("kill"): 2, ScheduledFault("pause"): 4,
    }  # fmt: skip


def test_faults_of_a_group_are_named_each_by_itself_before_those_that_are_drawn(tmp_path):
    flap = {"do": "pause", "nodes": [3], "for_s": 1.0}
    events = [
        {"at_s": 10.0, "sequence": [{"do": "kill", "nodes": [2], "for_s": 10.0}]},
        {"random": {"do": ["pause"], "nodes": [1], "up_s": 9.0, "down_s": 1.0}, "for_s": 50.0},
        {"at_s": 40.0, "together": [flap]},
    ]
    table = fault_summary.summary(fault_record(tmp_path / "g", events=events))
    assert table["fault"].drop_duplicates().tolist() == [
        ScheduledFault("kill", Fault("kill", (2,), 10.0, 10.0)),
        ScheduledFault("pause", Fault("pause", (3,), 40.0, 1.0)), ScheduledFault("pause"),
    ]  # fmt: skip


def test_its_text_fits_a_terminal_and_says_all(run):
    text = shown_faults.as_text(run)
    assert max(map(len, text.splitlines())) <= 120
    for said in (
        "mine: Cassandra 5.0.9, faults of 1 schedule in 1 cluster start",
        "mine: One dies, one flaps; 80 requests a second in all, 60 s",
        "pause node 3, 2 times from 40 s, for 1 s each; struck 2 times",
        "120 unavailable, 120 at the client", "0 (at most 0.61)", "mine: stale reads: ONE/ONE 3 of 1,200.",
        "mine: lost writes: none of 2,400 writes.",
    ):  # fmt: skip
        assert said in text
    assert not re.search(r"\bnan\b", text)
    assert "[0.0" not in text


def test_show_takes_it_in_every_format(run, tmp_path):
    path = tmp_path / "mine"
    assert cassbook("show", path).stdout == shown_faults.as_text(run) + "\n"
    content = json.loads(cassbook("show", path, "--format", "json").stdout)
    assert content["experiment"] == "faults"
    assert len(content["faults"]) == 8
    assert content["faults"][0]["p99_unnoticed_ms"] == 50
    lines = cassbook("show", path, "--format", "csv").stdout.splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("record,schedule,fault,times,starts,setting,driver,table,operation,due,unanswered,")
    assert "### kill node 2 at 10 s, for 10 s" in cassbook("show", path, "--format", "md").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("advise", "--run", "{}", "--threads", 10, "--reads", 0.5), ("compare", "{}", "quick-2.1.20"),
        ("capacity", "{}", "--bound-ms", 10),
    ],
)  # fmt: skip
def test_what_does_not_read_it_says_what_does(run, tmp_path, arguments):
    path = str(tmp_path / "mine")
    result = cassbook(*(path if argument == "{}" else argument for argument in arguments))
    assert result.exit_code == 2
    assert f"`cassbook show {path}`, `cassbook report {path} --output FILE.html`" in result.stderr
    assert f"`cassbook chapter failures -p own={path}`" in result.stderr


def test_a_record_that_is_not_complete_says_how_to_go_on(run, tmp_path):
    manifest = tmp_path / "mine" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"complete": False}))
    result = cassbook("show", tmp_path / "mine")
    assert (result.exit_code, "is not complete" in result.stderr) == (2, True)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_experiment_has_what_reads_its_record(name):
    said = read_by(name, "X")
    for command in said.partition(": ")[2].split("`, `"):
        words = command.strip("`").split()
        assert words[0] == "cassbook", said
        if words[1] == "chapter":
            parameter = words[4].partition("=")[0]
            assert parameter in notebooks.parameters(notebooks.chapter_notebook(words[2])), said
        else:
            assert words[1] in main.commands or main.get_command(None, words[1]), said


def test_no_reader_is_of_an_experiment_that_there_is_not():
    assert all(any(name.startswith(begins) for name in CATALOGUE) for begins in EXPERIMENTS)


def test_other_records_are_opened_as_nothing_and_the_advisers_as_its_own(tmp_path):
    assert opened("quick-2.1.20") is None
    assert opened("oracle-1.2.0") is None
    assert opened("nothing-of-the-kind") is None
    folder = tmp_path / "advised"
    folder.mkdir()
    advised_record(folder)
    assert isinstance(opened(str(folder)), AdvisedRun)
