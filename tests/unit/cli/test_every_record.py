"""Every answering command, given any record of the repository: an answer, or one message that says what reads it."""

import pytest

from cassbook.records.kinds import RUN
from cassbook.records.manifest import kind_of
from tests.helpers.command import cassbook
from tests.helpers.data import ROOT

RECORDS = sorted(path for path in (ROOT / "data" / "records").iterdir() if path.is_dir())
EXPERIMENTS = [path for path in RECORDS if kind_of(path) != RUN]
#: RECORD stands for the record, OUT for a path in a folder of the test's own.
COMMANDS = {
    "show": ["show", "RECORD"],
    "report": ["report", "RECORD", "--output", "OUT"],
    "compare": ["compare", "RECORD", "quick-2.1.20"],
    "compare the other way": ["compare", "quick-2.1.20", "RECORD"],
    "capacity": ["capacity", "RECORD", "--bound-ms", "50"],
    "export": ["export", "RECORD", "--output", "OUT"],
    "advise": ["advise", "--run", "RECORD", "--map"],
    "advise at a point": ["advise", "--run", "RECORD", "--threads", "100", "--reads", "0.5"],
    "advise for nodes": ["advise", "--run", "RECORD", "--nodes", "5", "--threads", "10", "--reads", "0.5"],
    "stale": ["stale", "--run", "RECORD", "--r", "1", "--w", "1", "--t", "10"],
    "predict": ["predict", "--run", "RECORD", "--concurrency", "1"],
}


def run(command, record, tmp_path):
    words = {"RECORD": str(record), "OUT": str(tmp_path / "out")}
    return cassbook(*[words.get(word, word) for word in COMMANDS[command]])


def check(result):
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in (0, 2), result.output
    if result.exit_code:
        assert len(result.stderr.strip().splitlines()) == 1
        assert result.stderr.startswith("cassbook: ")
        assert "is damaged" not in result.stderr  # no record of the repository is


@pytest.mark.parametrize("command", ["stale", "predict", "compare", "capacity", "advise"])
@pytest.mark.parametrize("record", EXPERIMENTS, ids=lambda path: path.name)
def test_a_record_of_an_experiment_is_answered_from_or_refused(record, command, tmp_path):
    check(run(command, record, tmp_path))


def test_a_refusal_says_which_commands_read_the_record(tmp_path):
    refused = run("stale", ROOT / "data" / "records" / "faults-5.0.9", tmp_path)
    assert ", faults-all, " in refused.stderr
    assert "no record of `cassbook experiment staleness-three`" in refused.stderr
    assert "what reads it: `cassbook show faults-5.0.9`" in refused.stderr
    ride = run("predict", ROOT / "data" / "records" / "shift-2.1.20", tmp_path)
    assert "is the record of an experiment, adviser-shift" in ride.stderr
    assert "`cassbook chapter adapting -p shift=" in ride.stderr


@pytest.mark.parametrize("command", ["stale", "advise", "export"])
def test_several_deployments_are_refused_with_what_works(command, tmp_path):
    refused = run(command, "distance-2.1.20", tmp_path)
    assert refused.exit_code == 2
    assert "pick one deployment" in refused.stderr
    assert "`cassbook deploy DEPLOYMENT`" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.name)
def test_every_command_answers_from_every_record_or_refuses_it(record, command, tmp_path):
    check(run(command, record, tmp_path))
