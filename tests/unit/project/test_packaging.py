"""The wheel works where there is no checkout: it carries the printed tables, the profiles and the templates."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import cassbook
from tests.helpers.data import ROOT

#: All that a build reads; copied, so that it leaves nothing behind in the checkout.
FILES = ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT-AND-DATA")
FOLDERS = ("src", "profiles", "data/published", "data/runs")

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


def _run(*command: str | Path, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _pip(*arguments: str | Path, **options) -> str:
    return _run(sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, **options)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "samples")
    for name in (*FILES, *FOLDERS):
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=ignored)
        else:
            shutil.copy(ROOT / name, target)
    _pip("wheel", ".", "--no-index", "--no-deps", "--no-build-isolation", "-w", built, cwd=source)
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    _pip("install", "--no-index", "--no-deps", "--target", target, wheel)
    return target


@pytest.fixture(scope="module")
def answer(installed, tmp_path_factory) -> dict:
    """What an installed cassbook finds when it is asked from a folder that is no checkout."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    environment = os.environ | {"PYTHONPATH": str(installed)}
    return json.loads(_run(sys.executable, "-c", ASK, cwd=elsewhere, env=environment))


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
