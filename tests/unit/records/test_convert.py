"""Records of before get a manifest of today, and nothing else of them changes."""

import json

import pytest

from cassbook.core.errors import InputError
from cassbook.core.files import sums
from cassbook.records import manifest, open_record
from cassbook.records.convert import convert
from cassbook.records.schedule_runs import ScheduleRuns
from cassbook.records.staleness import StalenessRun
from tests.helpers.schedule_records import SCHEDULE, write_schedule_record


def older(folder, **notes):
    """Give a folder a manifest of before."""
    (folder / manifest.NAME).write_text(json.dumps({"engine": "2.1.20", "complete": True} | notes))
    return folder


@pytest.mark.parametrize("experiment", ["three", "staleness-three"])
def test_an_experiment_gets_the_name_and_the_kind_of_today(tmp_path, experiment):
    (tmp_path / "start-1-x.csv").write_text("start,n\n1,2\n")
    artefacts = sums(tmp_path.glob("*.csv"))
    older(tmp_path, trial=experiment, artefacts=artefacts, seed=7)
    with pytest.raises(InputError, match=r"`python -m cassbook\.records\.convert /"):
        open_record(tmp_path)
    assert isinstance(open_record(convert(tmp_path)), StalenessRun)
    notes = manifest.read(tmp_path)
    assert (notes["experiment"], notes["sums"], notes["seed"]) == ("staleness-three", artefacts, 7)
    converted = (tmp_path / manifest.NAME).read_bytes()
    convert(tmp_path)
    assert (tmp_path / manifest.NAME).read_bytes() == converted


def test_a_run_of_a_profile_keeps_its_schema_version(tmp_path):
    older(tmp_path, schema_version=2, profile={}, begun_unix_s=1.0, cluster_starts=[], artefacts={"cells.csv": "0"})
    notes = manifest.read(convert(tmp_path), "run")
    assert (notes["schema"], notes["sums"]) == (2, {"cells.csv": "0"})


def test_the_first_runs_of_a_schedule_get_sums(tmp_path):
    write_schedule_record(tmp_path)
    recorded = manifest.read(tmp_path)["sums"]
    convert(older(tmp_path, schedule=SCHEDULE, blocks=3))
    assert manifest.read(tmp_path)["sums"] == recorded
    assert len(ScheduleRuns(tmp_path).phases) == 45


def test_switches_in_one_file_become_a_folder(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(content := json.dumps([{"engine": "5.0.9", "how": "safe"}]))
    folder = convert(path)
    assert (folder / "mine.json").read_text() == content
    assert open_record(folder)["how"].tolist() == ["safe"]


@pytest.mark.parametrize("content", [None, "{", "[]", "1"])
def test_what_is_no_record_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / manifest.NAME).write_text(content)
    with pytest.raises(InputError):
        convert(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", "1", '[{"how": "safe"}]'])
def test_a_file_that_holds_no_switches_is_refused_and_left(tmp_path, content):
    path = tmp_path / "mine.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"mine\.json: .*switches"):
        convert(path)
    assert [(left, left.read_text()) for left in tmp_path.iterdir()] == [(path, content)]


def test_a_folder_of_that_name_is_not_written_into(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{"engine": "5.0.9", "how": "safe"}]))
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="which is there already"):
        convert(path)
    assert path.is_file()


def test_switches_under_way_are_not_complete(tmp_path):
    head = {"kind": "switches", "schema": 1, "experiment": "adviser-switches", "engine": "5.0.9", "complete": False}
    (tmp_path / manifest.NAME).write_text(json.dumps(head))
    with pytest.raises(InputError, match="is not complete"):
        open_record(tmp_path)
