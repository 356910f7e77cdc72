"""The wheel and the sdist, installed with nothing but what they ask for, by each Python that the package claims."""

import hashlib
import json
import os
import shutil
import sys
import tomllib
import zipfile

import pytest

from tests.helpers.data import ROOT
from tests.helpers.packages import PIP, build_sdist, build_wheel, copy_adviser, copy_sources, run_command
from tests.helpers.pythons import VERSIONS, interpreter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

MOST_MB, MOST_PACKAGES = 480, 35
#: What a virtual environment has before anything is installed, which the package does not ask for.
THERE = {"pip", "setuptools"}
COUNT = """
import json
from importlib.metadata import distributions

found = {}
for own in distributions():
    sizes = [file.size or 0 for file in own.files or () if file.suffix != ".pyc"]
    found[own.metadata["Name"].lower()] = sum(sizes)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist."""
    source, to = copy_sources(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("built")
    return build_wheel(source, to), build_sdist(source, to)


@pytest.fixture(scope="module", params=VERSIONS)
def bare(request, built, tmp_path_factory):
    """The interpreter of a new environment with the wheel and what it asks for, versions as locked."""
    path = interpreter(request.param)
    if path is None:
        pytest.skip(f"there is no Python {request.param} here")
    folder = tmp_path_factory.mktemp("environment")
    run_command(path, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run_command(python, *PIP, "install", "--quiet", "--no-compile", "-c", ROOT / "requirements.lock", built[0])
    yield python
    shutil.rmtree(folder)


@pytest.fixture
def cassbook(bare, tmp_path, monkeypatch):
    """Run the installed command in an empty folder."""
    monkeypatch.delenv("PYTHONPATH", raising=False)

    def run(*arguments):
        return run_command(bare.parent / "cassbook", *arguments, cwd=tmp_path)

    return run


def test_it_is_small(bare):
    sizes = json.loads(run_command(bare, "-c", COUNT))
    asked = {name: size for name, size in sizes.items() if name not in THERE}
    assert len(asked) <= MOST_PACKAGES, sorted(asked)
    assert sum(asked.values()) < MOST_MB * 1e6, asked
    assert not asked.keys() & {"numba", "scikit-learn", "cassandra-driver", "ccm", "psutil", "matplotlib"}


LOG = ROOT / "tests" / "data" / "logs" / "ycsb-0.17.0" / "raw.txt"
#: One process for all, since each start takes seconds.
COMMANDS = {
    "compare": ["compare", "standard-2.1.20", "standard-5.0.9", "--format", "json"],
    "deploy": ["deploy", "{[C], ([R1]}, {R2}, {R3})", "--format", "json"],
    "read": ["read", str(LOG), "--output", "samples.parquet"],
    "show log": ["show", "samples.parquet", "--format", "csv"],
    "show whole": ["show", "standard-2.1.20", "--format", "json"],
    "show markdown": ["show", "uniform-2.1.20", "--format", "md"],
    "show partly": ["show", "uniform-2.1.20", "--format", "json"],
    "export": ["export", "standard-2.1.20", "--output", "tables"],
    "claims": ["claims", "--format", "json"],
}
ANSWER = """
import contextlib, io, json
from cassbook.cli.main import main

answers = {}
for name, arguments in COMMANDS.items():
    with contextlib.redirect_stdout(io.StringIO()) as answers[name]:
        main(arguments, standalone_mode=False)
print(json.dumps({name: answer.getvalue() for name, answer in answers.items()}))
"""


def answered(python, commands, folder, **options):
    """What commands print, by name."""
    return json.loads(run_command(python, "-c", f"COMMANDS = {commands!r}\n{ANSWER}", cwd=folder, **options))


@pytest.fixture(scope="module")
def answers(bare, tmp_path_factory):
    """What the installed package answers from an empty folder, and that folder."""
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return answered(bare, COMMANDS, folder, env=environment), folder


def test_its_command_answers_without_a_checkout(cassbook):
    best = json.loads(
        cassbook("advise", "--run", "standard-2.1.20", "--threads", "300", "--reads", "0.4", "--format", "json")
    )
    assert best["fastest"]["latency_us"] > 0


def test_all_its_commands_answer_without_a_checkout(answers):
    said, folder = answers
    assert len(json.loads(said["compare"])) > 0
    assert json.loads(said["deploy"])["predicted"][0]["latency_ms"]["value"] > 0
    assert "samples" in said["read"]
    assert (folder / "samples.parquet").is_file()
    assert "647" in said["show log"], "694 rows, of which 47 are read-modify-writes"
    whole, partly = (json.loads(said[f"show {how}"]) for how in ("whole", "partly"))
    assert said["show markdown"].startswith("# uniform-2.1.20")
    assert any(cell["p999_us"] for cell in whole["cells"])
    assert all(cell["p99_us"] for cell in partly["cells"])
    assert any("histograms are not in the installed package" in note for note in partly["notes"])
    assert list((folder / "tables").iterdir())


@pytest.fixture(scope="module")
def claims_of_the_checkout():
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return answered(sys.executable, {"claims": COMMANDS["claims"]}, ROOT, env=environment)["claims"]


def test_the_claims_are_those_of_the_checkout(answers, claims_of_the_checkout):
    recomputed = json.loads(answers[0]["claims"])
    assert {claim["verdict"] for claim in recomputed} == {"reproduced", "other_reading", "not_reproduced", "untestable"}
    assert recomputed == json.loads(claims_of_the_checkout)


def test_the_sdist_gives_the_same_wheel(built, tmp_path):
    """Built by its own build tools; what is tried of the wheel above holds for it then, by every Python."""
    run_command(sys.executable, *PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, built[1])
    (again,) = tmp_path.glob("*.whl")
    assert contents(again) == contents(built[0])


def contents(wheel):
    """Sum of each file, but of those that name the build tool and list the sums."""
    with zipfile.ZipFile(wheel) as files:
        named = [name for name in files.namelist() if not name.endswith((".dist-info/WHEEL", ".dist-info/RECORD"))]
        return {name: hashlib.sha256(files.read(name)).hexdigest() for name in named}


def test_with_predict_it_predicts(request, bare, built, cassbook):
    """By the newest Python, which compilers follow last; the oldest is that of all other tests."""
    if request.node.callspec.params["bare"] != VERSIONS[-1]:
        pytest.skip(f"[predict] is tried by Python {VERSIONS[-1]}")
    run_command(
        bare, *PIP, "install", "--quiet", "--no-compile", "-c", ROOT / "requirements.lock", f"{built[0]}[predict]"
    )
    stale = ("stale", "--run", "stale-three-2.1.20", "--r", "1", "--w", "1", "--t", "10", "--format", "json")
    assert 0 < json.loads(cassbook(*stale))["p_consistent"]["value"] <= 1
    predict = ("predict", "--run", "calibration-5.0.9", "--nodes", "6", "--concurrency", "8", "--format", "json")
    assert json.loads(cassbook(*predict))["rows"][0]["throughput_per_s"]["value"] > 0


CHAPTERS = ("adapting", "interleaving", "mitigating-distance")
#: The code of a chapter in one process, as a kernel executes it; a laboratory would be found by its packages.
EXECUTE = """
import importlib.util, sys
import papermill

for absent in ("ccmlib",):
    assert importlib.util.find_spec(absent) is None, absent
for chapter in sys.argv[1:]:
    papermill.execute_notebook(f"notebooks/analyse/{chapter}.ipynb", None, progress_bar=False)
"""


def test_with_book_chapters_execute_without_the_laboratory(tmp_path):
    """`[book]` needs the checkout; the interpreter is that of this environment's version."""
    folder = tmp_path / "environment"
    run_command(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    source, small = copy_sources(tmp_path / "source"), copy_adviser(tmp_path / "adviser")
    run_command(
        python, *PIP, "install", "--quiet", "--no-compile", "-c", ROOT / "requirements.lock",
        build_wheel(small, tmp_path / "small"), f"{build_wheel(source, tmp_path)}[book]",
    )  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    run_command(python, "-c", EXECUTE, *CHAPTERS, cwd=ROOT, env=environment)


def test_the_claimed_pythons_are_those_that_are_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={VERSIONS[0]}"
    claimed = [line.rpartition(" ")[2] for line in project["classifiers"] if line.startswith("Programming Language")]
    assert tuple(claimed) == VERSIONS
    assert ", ".join(VERSIONS[:-1]) + f" and {VERSIONS[-1]}" in (ROOT / "README.md").read_text(encoding="utf-8")
