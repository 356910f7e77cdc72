"""The wheel works where there is no checkout: it carries the printed tables, the profiles and the templates."""

import json
import os
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import cassbook
from tests.helpers.data import ROOT
from tests.helpers.packages import PIP, build_wheel, copy_sources, run_command

ASK = """
import json
from pathlib import Path
import cassbook
from cassbook.core import paths
from cassbook.core.releases import RELEASES
from cassbook.profile.profile import load_profile
from cassbook.published import names, table

answer = {
    "package": cassbook.__file__,
    "resources": [str(paths.resource(name)) for name in ("data/published", "profiles")],
    "rows": {name: len(table(name)) for name in names()},
    "profiles": [load_profile(p.stem).name for p in sorted(paths.resource("profiles").glob("*.yaml"))],
    "pinned_jars": len(RELEASES["5.0.9"].jar_sums()),
}
print(json.dumps(answer))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build_wheel(copy_sources(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    run_command(sys.executable, *PIP, "install", "--no-index", "--no-deps", "--target", target, wheel)
    return target


@pytest.fixture(scope="module")
def answer(installed, tmp_path_factory) -> dict:
    """What an installed cassbook finds when it is asked from a folder that is no checkout."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    environment = os.environ | {"PYTHONPATH": str(installed)}
    return json.loads(run_command(sys.executable, "-c", ASK, cwd=elsewhere, env=environment))


def test_the_installed_package_is_the_one_that_answers(answer, installed):
    assert Path(answer["package"]).is_relative_to(installed)


def test_data_lie_inside_the_installation(answer, installed):
    for folder in answer["resources"]:
        assert Path(folder).is_relative_to(installed)


def test_every_printed_table_of_the_checkout_is_installed(answer):
    assert set(answer["rows"]) == {p.stem for p in (ROOT / "data" / "published").glob("*.csv")}
    assert answer["rows"]["g20_table1"] == 36
    assert min(answer["rows"].values()) > 0


def test_every_profile_of_the_checkout_is_installed_and_valid(answer):
    assert sorted(answer["profiles"]) == sorted(p.stem for p in (ROOT / "profiles").glob("*.yaml"))


def test_launcher_and_sums_are_installed(answer, installed):
    assert answer["pinned_jars"] > 50
    templates = ROOT / "src" / "cassbook" / "lab" / "engine" / "templates"
    for template in templates.iterdir():
        copy = installed / "cassbook" / "lab" / "engine" / "templates" / template.name
        assert copy.read_bytes() == template.read_bytes()


def test_the_wheel_holds_code_data_and_licences_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as packed:
        files = packed.namelist()
    assert {Path(name).parts[0] for name in files} == {"cassbook", f"cassbook-{cassbook.__version__}.dist-info"}
    licences = {Path(name).name for name in files if "/licenses/" in name}
    assert {"LICENSE", "LICENSE-TEXT-AND-DATA"} <= licences


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {project["version"], str(citation["version"])} == {cassbook.__version__}


def test_the_tables_of_recorded_runs_are_small_and_have_no_samples(wheel):
    with zipfile.ZipFile(wheel) as packed:
        tables = [entry for entry in packed.infolist() if entry.filename.startswith("cassbook/data/records/")]
    assert sum(entry.compress_size for entry in tables) < 13e6
    names = {entry.filename for entry in tables}
    assert {
        "cassbook/data/records/standard-2.1.20/histograms.hlog",
        "cassbook/data/records/standard-5.0.9/cells.csv",
    } <= names
    assert not [name for name in names if "/samples/" in name]


READ = """
from cassbook.core.errors import InputError
from cassbook.records.run import RecordedRun

run = RecordedRun("standard-2.1.20")
assert run.folder.is_relative_to({installed!r}) and len(run.statistics) and len(run.histograms)
for ask in (run.samples, lambda: run.has_samples("a"), lambda: RecordedRun("strong-2.1.20").histograms):
    try:
        ask()
        print("answered")
    except InputError as error:
        print(error)
"""


def test_an_installed_run_says_that_its_samples_are_in_the_repository(installed, tmp_path):
    script = READ.format(installed=str(installed))
    lines = run_command(
        sys.executable, "-c", script, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(installed)}
    ).splitlines()
    assert [line.split(" are ")[0] for line in lines] == [
        "run standard-2.1.20: its samples", "run standard-2.1.20: its samples", "run strong-2.1.20: its histograms",
    ]  # fmt: skip
    assert all("data/records/" in line for line in lines)


def test_an_installed_table_that_was_changed_is_refused(installed, tmp_path):
    copy = tmp_path / "installed"
    shutil.copytree(installed / "cassbook", copy / "cassbook")
    with (copy / "cassbook" / "data" / "records" / "standard-2.1.20" / "statistics.csv").open("a") as table:
        table.write("\n")
    with pytest.raises(AssertionError, match="is not what was recorded"):
        run_command(
            sys.executable, "-c", READ.format(installed=str(copy)), cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(copy)},
        )  # fmt: skip
