"""What is loaded, and how little: of the adviser in a service, of readers of records, of help."""

import json
import subprocess
import sys

import pytest

from cassbook.cli.main import COMMANDS

_LOADED = "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
#: Slow to load, or not installed with the bare package.
HEAVY = {"IPython", "cassandra", "ccmlib", "distributed", "matplotlib", "numba", "numpy", "pandas", "papermill",
         "plotly", "psutil", "pyarrow", "pydantic", "scipy", "seaborn", "sklearn", "sphinx", "statsmodels"}  # fmt: skip


def loaded(code):
    """Names of the modules that a fresh interpreter has loaded after some code."""
    done = subprocess.run([sys.executable, "-c", code + _LOADED], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def packages(modules):
    return {name.partition(".")[0] for name in modules}


def test_the_adviser_loads_few_modules_and_nothing_of_the_laboratory_or_the_book():
    modules = loaded("from cassbook.advisor import Adviser")
    assert len([name for name in modules if packages([name]) == {"cassbook"}]) <= 37
    assert "cassandra" in packages(modules)
    unwanted = {"ccmlib", "papermill", "IPython", "matplotlib", "plotly", "sphinx", "sklearn"}
    assert not packages(modules) & unwanted


def test_records_load_no_driver():
    modules = loaded(
        "import importlib, pkgutil, cassbook.records as records\n"
        "for found in pkgutil.iter_modules(records.__path__):\n"
        "    importlib.import_module(f'cassbook.records.{found.name}')"
    )
    assert "cassbook.records.run" in modules
    assert not packages(modules) & {"cassandra", "ccmlib", "IPython", "papermill", "sklearn", "matplotlib", "psutil"}


def test_a_recorded_run_is_read_without_the_readers_of_logs_and_scipy_stats():
    modules = loaded("from cassbook.ingest.folder import open_run\nopen_run('standard-2.1.20').statistics")
    assert not {"cassbook.ingest.merge", "cassbook.records.experiment", "scipy.stats", "numba"} & set(modules)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_loads_nothing_that_a_command_needs(name):
    code = f"from cassbook.cli.main import main\nmain({[*name.split(), '--help']!r}, standalone_mode=False)"
    modules = loaded(code)
    assert not packages(modules) & HEAVY
    commands = {f"cassbook.cli.{entry.module}" for entry in COMMANDS.values()}
    wanted = {f"cassbook.cli.{COMMANDS[name].module}"} if name else set()
    assert commands & set(modules) == wanted
