"""`cassbook experiment`: the catalogue, and what is recorded where."""

import json

import pytest

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.paths import project_root, resource
from cassbook.lab.experiments import writer
from cassbook.lab.experiments.catalogue import CATALOGUE
from cassbook.shown import faults as shown_faults
from tests.helpers.command import cassbook
from tests.helpers.fault_records import fault_record


def test_without_a_name_it_lists_the_catalogue():
    listed = cassbook("experiment").output
    for name, entry in CATALOGUE.items():
        assert f"{name}  about {entry.minutes} minutes; Cassandra {entry.engines[0]}" in listed
        assert entry.question in listed
    assert "; needs --map RUN" in listed
    rows = json.loads(cassbook("experiment", "--format", "json").output)
    assert [row["name"] for row in rows] == list(CATALOGUE)


def test_what_is_wrong_is_said_in_a_line():
    for arguments, message in (
        (["experiment", "faults-kill"], "'faults-kill' is a profile; use `faults --profile faults-kill`"),
        (["experiment", "faults/kill"], "there is no 'faults/kill'"),
        (["experiment", "magic"], "experiment: there is no 'magic'; use one of staleness-three,"),
        (["experiment", "adviser-shift"], "experiment: it needs --map RUN; nothing was given"),
        (["experiment", "calibration", "--map", "quick-2.1.20"], "experiment: it needs nothing more; --map was given"),
        (["experiment", "staleness-oracle", "--engine", "2.1.20"], "engine: 2.1.20 has no predictor of its own"),
        (["experiment", "staleness-study", "--engine", "5.0.9"], "cannot be measured on 5.0.9; use one of 2.1.20"),
    ):
        result = cassbook(*arguments)
        assert result.exit_code == 2
        assert message in result.output


@pytest.mark.parametrize(
    ("arguments", "name", "folder", "engine", "blocks", "resume"),
    [
        (["experiment", "distance-uplinks"], "distance-uplinks", "distance-uplinks-2.1.20", "2.1.20", 3, False),
        (
            ["experiment", "staleness-oracle", "--resume", "--blocks", "2"],
            "staleness-oracle", "staleness-oracle-1.2.0", "1.2.0", 2, True,
        ),
        (
            ["experiment", "staleness-three", "--engine", "5.0.9", "--starts", "1"],
            "staleness-three", "staleness-three-5.0.9", "5.0.9", 1, False,
        ),
        (
            ["experiment", "adviser-shift", "--map", "quick-2.1.20", "--repeats", "5"],
            "adviser-shift", "adviser-shift-2.1.20", "2.1.20", 5, False,
        ),
        (
            ["experiment", "faults", "--profile", "faults-kill", "--profile", "faults-pause", "--engine", "5.0.9"],
            "faults", "faults-kill+faults-pause-5.0.9", "5.0.9", 3, False,
        ),
    ],
)  # fmt: skip
def test_it_records_what_it_names_in_a_folder_of_that_name(
    monkeypatch, arguments, name, folder, engine, blocks, resume
):
    asked = []

    def record(*given):
        asked.append(given)
        return given[1]

    monkeypatch.setattr(writer, "record", record)
    monkeypatch.setattr("cassbook.cli.experiment._summarise", lambda path: None)
    result = cassbook(*arguments)
    path = project_root() / "_build" / "experiments" / folder
    assert result.output.strip() == str(path)
    ((recorded, into, version, starts, resumed, needed, _),) = asked
    assert (recorded, into, version, starts, resumed) == (name, path, engine, blocks, resume)
    if name == "faults":
        assert [profile.name for profile in needed.pop("profile")] == ["faults-kill", "faults-pause"]
    assert [type(value) for value in needed.values()] == ([LatencyMap] if "--map" in arguments else [])


def test_profiles_of_one_record_have_one_engine_and_a_name_each(tmp_path):
    newer = tmp_path / "newer.yaml"
    newer.write_text(resource("profiles").joinpath("faults-pause.yaml").read_text() + "engine: 5.0.9\n")
    asked = ["experiment", "faults", "--profile", "faults-kill", "--profile"]
    for given, said in (
        ([str(newer)], "profile: faults-kill is of 2.1.20, faults-pause is of 5.0.9; name one version with --engine"),
        (["faults-kill"], "profile: two of faults-kill, faults-kill have one name; rename one"),
        (["quick"], "profile: quick holds no faults"),
    ):
        result = cassbook(*asked, *given, "--output", tmp_path / "new")
        assert result.exit_code == 2
        assert said in result.output


def test_at_its_end_it_says_what_the_faults_made_of_each_setting(monkeypatch, tmp_path):
    made = fault_record(tmp_path / "mine")
    monkeypatch.setattr(writer, "record", lambda *_: tmp_path / "mine")
    result = cassbook("experiment", "faults", "--profile", "faults-kill")
    assert result.exit_code == 0
    assert result.stdout == f"{tmp_path / 'mine'}\n", "the path alone, for scripts"
    assert shown_faults.as_text(made) in result.stderr
    assert f"what reads it: `cassbook show {tmp_path / 'mine'}`" in result.stderr
