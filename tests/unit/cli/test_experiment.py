"""`cassbook experiment`: the catalogue, and what the older commands come to."""

import json

import pytest
from click.testing import CliRunner

from cassbook.advisor.latency_map import LatencyMap
from cassbook.cli.main import main
from cassbook.core.paths import project_root
from cassbook.lab.experiments import writer
from cassbook.lab.experiments.catalogue import CATALOGUE
from cassbook.shown import faults as shown_faults
from tests.helpers.fault_records import fault_record


def test_without_a_name_it_lists_the_catalogue():
    listed = CliRunner().invoke(main, ["experiment"]).output
    for name, entry in CATALOGUE.items():
        assert f"{name}  about {entry.minutes} minutes; Cassandra {entry.engines[0]}" in listed
        assert entry.question in listed
    assert "; needs --map RUN" in listed
    rows = json.loads(CliRunner().invoke(main, ["experiment", "--format", "json"]).output)
    assert [row["name"] for row in rows] == list(CATALOGUE)


def test_what_is_wrong_is_said_in_a_line():
    for arguments, message in (
        (["experiment", "magic"], "experiment: there is no 'magic'; use one of staleness-three,"),
        (["experiment", "adviser-shift"], "experiment: it needs --map RUN; nothing was given"),
        (["experiment", "calibration", "--map", "quick-2.1.20"], "experiment: it needs nothing more; --map was given"),
        (["probe", "oracle"], "engine: 2.1.20 has no predictor of its own"),
        (["experiment", "staleness-study", "--engine", "5.0.9"], "cannot be measured on 5.0.9; use one of 2.1.20"),
    ):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2
        assert message in result.output


@pytest.mark.parametrize(
    ("arguments", "name", "folder", "engine", "blocks", "resume"),
    [
        (["experiment", "uplinks"], "distance-uplinks", "experiments/distance-uplinks-2.1.20", "2.1.20", 3, False),
        (
            ["experiment", "staleness-oracle", "--resume", "--blocks", "2"],
            "staleness-oracle", "experiments/staleness-oracle-1.2.0", "1.2.0", 2, True,
        ),
        (["trial", "uplinks", "--starts", "1"], "distance-uplinks", "trials/uplinks-2.1.20", "2.1.20", 1, True),
        (["probe", "three", "--engine", "5.0.9"], "staleness-three", "runs/stale-three-5.0.9", "5.0.9", 3, True),
        (["calibrate"], "calibration", "runs/calibration-2.1.20", "2.1.20", 3, True),
        (
            ["demonstrate", "shift", "--map", "quick-2.1.20", "--repeats", "5"],
            "adviser-shift", "rides/shift-2.1.20", "2.1.20", 5, True,
        ),
    ],
)  # fmt: skip
def test_a_command_records_what_it_names_where_it_always_did(
    monkeypatch, arguments, name, folder, engine, blocks, resume
):
    asked = []

    def record(*given):
        asked.append(given)
        return given[1]

    monkeypatch.setattr(writer, "record", record)
    monkeypatch.setattr("cassbook.cli.experiment._summarise", lambda path: None)
    result = CliRunner().invoke(main, arguments)
    path = project_root() / "_build" / folder
    assert result.output.strip() == str(path)
    ((recorded, into, version, starts, resumed, needed, _),) = asked
    assert (recorded, into, version, starts, resumed) == (name, path, engine, blocks, resume)
    assert [type(value) for value in needed.values()] == ([LatencyMap] if "--map" in arguments else [])


def test_at_its_end_it_says_what_the_faults_made_of_each_setting(monkeypatch, tmp_path):
    made = fault_record(tmp_path / "mine")
    monkeypatch.setattr(writer, "record", lambda *_: tmp_path / "mine")
    result = CliRunner().invoke(main, ["experiment", "faults", "--profile", "faults-kill"])
    assert result.exit_code == 0
    assert result.stdout == f"{tmp_path / 'mine'}\n", "the path alone, for scripts"
    assert shown_faults.as_text(made) in result.stderr
    assert f"what reads it: `cassbook show {tmp_path / 'mine'}`" in result.stderr
