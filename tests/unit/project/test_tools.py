"""Which environment the Makefile takes, on machines that have different things."""

import os
import shutil
import subprocess
import sys

import pytest

from cassbook.core.paths import project_root

OLD = "#!/bin/sh\nexit 1\n"  # a python3 that fails the test for 3.11
NEW = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
TOOL = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def machine(tmp_path):
    """A checkout's tools, and a PATH that holds only what a test puts there."""
    shutil.copytree(project_root() / "tools", tmp_path / "checkout" / "tools")
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name in ("sh", "dirname", "cmp", "cat"):
        (binaries / name).symlink_to(shutil.which(name))

    def run(script, **programs):
        for name, text in programs.items():
            (binaries / name).write_text(text)
            (binaries / name).chmod(0o755)
        return subprocess.run(
            [str(tmp_path / "checkout" / "tools" / script)],
            env={"PATH": str(binaries), "HOME": os.environ.get("HOME", "")},
            capture_output=True,
            text=True,
            check=False,
        )

    run.checkout = tmp_path / "checkout"
    return run


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        ({"python3": NEW, "mvn": TOOL}, ".venv"),
        ({"python3": NEW, "mvn": TOOL, "conda": TOOL}, ".venv"),
        ({"python3": NEW, "conda": TOOL}, ".conda"),  # no Maven
        ({"python3": OLD, "mvn": TOOL, "conda": TOOL}, ".conda"),
        ({"conda": TOOL}, ".conda"),
        ({"python3": NEW}, ".venv"),
    ],
)
def test_the_environment_follows_from_what_is_there(machine, programs, expected):
    assert machine("environment-folder", **programs).stdout.strip() == expected


def test_an_environment_that_was_made_is_kept(machine):
    (machine.checkout / ".conda").mkdir()
    (machine.checkout / ".conda" / ".cassbook-stamp").touch()
    assert machine("environment-folder", python3=NEW, mvn=TOOL).stdout.strip() == ".conda"


def test_without_python_and_conda_it_says_what_is_needed(machine):
    (machine.checkout / "requirements.lock").touch()
    done = machine("make-environment", python3=OLD)
    assert done.returncode == 1
    assert "Python 3.11 or later" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_conda_is_given_environment_yml_and_the_package_is_installed_in_place(machine):
    (machine.checkout / "requirements.lock").write_text("x==1\n")
    (machine.checkout / "advisor").mkdir()
    for folder in (machine.checkout, machine.checkout / "advisor"):
        (folder / "pyproject.toml").write_text("[project]\n")
    log = machine.checkout / "log"
    python = machine.checkout / ".conda" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "python $*" >>"{log}"\n')
    python.chmod(0o755)
    done = machine("make-environment", conda=f'#!/bin/sh\necho "conda $*" >>"{log}"\n')
    assert done.returncode == 0, done.stderr
    calls = log.read_text().splitlines()
    assert calls[0] == "conda env update --quiet --prefix .conda --file environment.yml"
    assert "--no-deps --no-build-isolation --editable ./advisor --editable ." in calls[1]
    assert machine("make-environment").returncode == 0
    assert log.read_text().splitlines() == calls  # made once
