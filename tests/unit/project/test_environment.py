"""One set of versions: pyproject.toml, requirements.lock, environment.yml and what is installed must agree."""

import re
import tomllib
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.helpers.data import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: `line` is another simulator for one test, `oracle` runs with Cassandra 1.2; extras made of extras name the package.
LOCKED = [name for name in PROJECT["optional-dependencies"] if name != "line"]
ASKED = [*PROJECT["dependencies"], *(line for name in LOCKED for line in PROJECT["optional-dependencies"][name])]
ADVISER = tomllib.loads((ROOT / "advisor" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = {PROJECT["name"], ADVISER["name"]}
DIRECT = [asked for asked in map(Requirement, (*ASKED, *ADVISER["dependencies"])) if asked.name not in OURS]
PINNED = re.compile(r"[A-Za-z0-9._-]+(\[[a-z0-9,_-]+\])?==[A-Za-z0-9.+!]+( ; [^;]+)?")
CONDA_SPEC = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(?:(?P<operator>==?|[<>~!]=?)\s*(?P<version>[^\s=]+))?")


def _lock_lines() -> list[str]:
    """Lines of the lock that name a package; comments begin with '#', indented or not."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _locked() -> dict[str, list[Requirement]]:
    """Entries by package; a universal lock may hold several, told apart by markers."""
    entries: dict[str, list[Requirement]] = {}
    for line in _lock_lines():
        requirement = Requirement(line)
        entries.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return entries


def _version(entry: Requirement) -> Version:
    (pin,) = entry.specifier
    return Version(pin.version)


def _conda() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


def _conda_packages() -> dict[str, tuple[str | None, str | None]]:
    """Package to (operator, version) of the conda part; both None where no version is asked for."""
    specs = [spec for spec in _conda()["dependencies"] if isinstance(spec, str)]
    matches = {spec: CONDA_SPEC.fullmatch(spec) for spec in specs}
    assert None not in matches.values(), f"not understood: {[s for s, m in matches.items() if m is None]}"
    return {canonicalize_name(m["name"]): (m["operator"], m["version"]) for m in matches.values() if m}


def _id(requirement: Requirement) -> str:
    return requirement.name


def test_every_line_of_the_lock_pins_one_version():
    assert len(_lock_lines()) > len(DIRECT)
    assert [line for line in _lock_lines() if not PINNED.fullmatch(line.strip())] == []


def test_the_lock_names_no_address():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert [line for line in _lock_lines() if " @ " in line or line.startswith("-")] == []


def test_both_distributions_have_one_version():
    wanted = f"{ADVISER['name']}=={ADVISER['version']}"
    assert ADVISER["version"] == PROJECT["version"]
    assert wanted in PROJECT["optional-dependencies"]["advisor"]


def test_no_two_entries_of_a_package_hold_in_one_environment():
    for name, entries in _locked().items():
        holding = [e for e in entries if e.marker is None or e.marker.evaluate()]
        assert len(holding) <= 1, f"{name}: {[str(e) for e in holding]}"


@pytest.mark.parametrize("wanted", DIRECT, ids=_id)
def test_the_lock_satisfies_every_dependency(wanted):
    entries = _locked().get(canonicalize_name(wanted.name), [])
    assert entries, f"{wanted.name} is not in requirements.lock: lock again (CONTRIBUTING.md)"
    for entry in entries:
        assert wanted.specifier.contains(_version(entry), prereleases=True), f"{entry} for {wanted}"


@pytest.mark.parametrize("wanted", [w for w in DIRECT if w.marker is None or w.marker.evaluate()], ids=_id)
def test_what_is_installed_is_what_is_locked(wanted):
    """The book's numbers are those of the locked versions; another environment may give others."""
    entries = _locked()[canonicalize_name(wanted.name)]
    holding = [_version(e) for e in entries if e.marker is None or e.marker.evaluate()]
    assert [Version(metadata.version(wanted.name))] == holding, "install again: pip install -r requirements.lock"


def test_conda_brings_a_python_that_the_package_allows():
    operator, version = _conda_packages()["python"]
    assert operator in {"=", "=="}
    assert SpecifierSet(PROJECT["requires-python"]).contains(Version(version))


def test_conda_brings_what_pip_cannot():
    assert {"openjdk", "maven", "make", "pip"} <= set(_conda_packages())


def test_conda_takes_its_python_packages_from_the_lock():
    (pip,) = [spec["pip"] for spec in _conda()["dependencies"] if isinstance(spec, dict)]
    assert pip == ["-r requirements.lock"]


def test_what_conda_pins_itself_is_what_the_lock_pins():
    locked = _locked()
    for name, (operator, version) in _conda_packages().items():
        if name in locked and operator is not None:
            assert operator in {"=", "=="}, f"{name}: pin one version, as the lock does"
            assert {_version(entry) for entry in locked[name]} == {Version(version)}, name
