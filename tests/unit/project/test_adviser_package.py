"""The small adviser's wheel: alone in a clean environment of each Python, and with cassbook's, in either order."""

import json
import os
import shutil
import subprocess

import pytest

from tests.helpers import pythons
from tests.helpers.data import ROOT
from tests.helpers.packages import PIP, build_wheel, copy_adviser, copy_sources, run_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

#: Of site-packages, without pip and setuptools, MB.
MOST_MB = 40
SIZE = """
import json
from importlib.metadata import distributions

sizes = {}
for own in distributions():
    sizes[own.metadata["Name"].lower()] = sum(file.size or 0 for file in own.files or () if file.suffix != ".pyc")
print(json.dumps(sizes))
"""
TRIED = """
import json, sys
from cassbook_advisor import Adviser, InCassandra, Latencies, Metrics, Policy, Terms

policy = Policy(Latencies.of_json(json.loads(sys.argv[1])), 3, Terms(survive=1))
print([setting.name for setting in policy.choice])
try:
    Metrics()
except ModuleNotFoundError as error:
    print(error)
print(sorted(name for name in sys.modules if name in {"numpy", "pandas", "scipy", "cassbook"}))
"""
MAP = {
    "schema": "cassbook-advisor", "version": 1, "run": "made", "measured": "2026-11-01", "replication": 3, "by": "mean",
    "load": "in flight", "loads": [1, 100], "read_shares": [0, 1],
    "settings": [{"name": "2R-2W", "read_cl": "QUORUM", "write_cl": "QUORUM", "latency_us": [[[1, 2], [1, 2]]]},
                 {"name": "1R-3W", "read_cl": "ONE", "write_cl": "ALL", "latency_us": [[[1, 2], [1, 2]]]}],
}  # fmt: skip


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The adviser's wheel, and cassbook's."""
    small = build_wheel(copy_adviser(tmp_path_factory.mktemp("adviser")), tmp_path_factory.mktemp("small"))
    return small, build_wheel(copy_sources(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("whole"))


@pytest.fixture(params=pythons.VERSIONS)
def python(request, tmp_path):
    """The interpreter of an empty environment."""
    path = pythons.interpreter(request.param)
    if path is None:
        pytest.skip(f"there is no Python {request.param} here")
    run_command(path, "-m", "venv", tmp_path / "environment")
    yield tmp_path / "environment" / "bin" / "python"
    shutil.rmtree(tmp_path / "environment")


def install(python, *what):
    run_command(python, *PIP, "install", "--quiet", "--no-compile", "-c", ROOT / "requirements.lock", *what)


def run(python, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([python, *arguments], capture_output=True, text=True, check=False, env=environment)


def test_alone_it_is_small_and_works(python, wheels):
    install(python, wheels[0])
    sizes = json.loads(run_command(python, "-c", SIZE))
    asked = {name: size for name, size in sizes.items() if name not in {"pip", "setuptools"}}
    assert "cassandra-driver" in asked
    assert not asked.keys() & {"numpy", "pandas", "cassbook"}
    assert sum(asked.values()) < MOST_MB * 1e6, asked
    done = run(python, "-c", TRIED, json.dumps(MAP))
    assert done.returncode == 0, done.stderr
    choice, metrics, loaded = done.stdout.splitlines()
    assert (choice, loaded) == ("['2R-2W']", "[]")
    assert "pip install prometheus_client" in metrics


def test_in_either_order_one_is_removed_and_the_other_stays(python, wheels):
    small, whole = wheels
    says = "from cassbook.advisor import Adviser"
    install(python, small)
    install(python, "--no-deps", whole)  # what it needs besides is another test's, and takes half a minute
    assert run(python, "-c", says).returncode == 0
    run_command(python, *PIP, "uninstall", "--quiet", "--yes", "cassbook")
    assert run(python, "-c", "from cassbook_advisor import Adviser").returncode == 0
    install(python, "--no-deps", whole)
    run_command(python, *PIP, "uninstall", "--quiet", "--yes", "cassbook-advisor")
    lacking = run(python, "-c", says)
    assert lacking.returncode == 1
    assert (
        'cassbook.advisor.Adviser needs cassbook_advisor, which is not installed: pip install "cassbook[advisor]"'
        in lacking.stderr
    )
    assert run(python, "-c", "import cassbook.core.errors").returncode == 0
    install(python, small)
    assert run(python, "-c", says).returncode == 0
