"""The light path reads private attributes of the driver: the lowest and the newest that is allowed are tested."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.helpers.data import ROOT

ADVISER = tomllib.loads((ROOT / "advisor" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
(DRIVER,) = map(Requirement, ADVISER["dependencies"])
LOWEST = next(bound.version for bound in DRIVER.specifier if bound.operator == ">=")


def test_the_driver_is_bounded_from_above():
    assert [bound.operator for bound in DRIVER.specifier if bound.operator in {"<", "<=", "=="}]


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [f"=={LOWEST}", str(DRIVER.specifier)], ids=["lowest", "newest"])
def test_the_light_path_works_with_a_version_of_the_driver(wanted, tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run(
        [*install, "--target", str(tmp_path), f"cassandra-driver{wanted}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"pip could not obtain cassandra-driver{wanted}: {done.stderr.strip()[-300:]}")
    paths = os.pathsep.join([str(tmp_path), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    check = f"import cassandra; assert cassandra.__file__.startswith({str(tmp_path)!r}); print(cassandra.__version__)"
    environment = os.environ | {"PYTHONPATH": paths}
    printed = subprocess.run([sys.executable, "-c", check], env=environment, capture_output=True, text=True, check=True)
    assert DRIVER.specifier.contains(printed.stdout.strip())
    tests = Path(__file__).with_name("test_light.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
