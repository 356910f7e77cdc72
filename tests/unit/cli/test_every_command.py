"""Every command of the command line is run by a test: here, or on a live cluster by the test that is named here."""

import json
import shutil
import subprocess
import sys

import click
import pytest
from click.types import FloatParamType

from cassbook.book import build
from cassbook.cli.main import COMMANDS, SECTIONS, main
from tests.helpers.command import cassbook
from tests.helpers.data import ROOT

LOGS = ROOT / "tests" / "data" / "logs"
DEPLOYMENT = "{[C], ([R1]}, {R2}, {R3})"

#: Command -> arguments; OUT stands for a path in a folder of the test's own.
HERE = {
    "doctor": ["--format", "json"],
    "run": ["--profile", "quick", "--dry-run"],
    "experiment": ["--format", "json"],
    "show": ["standard-2.1.20", "--format", "json"],
    "advise": ["--run", "standard-2.1.20", "--threads", "300", "--reads", "0.4", "--format", "json"],
    "decide": [
        "--run",
        "load-pilot-5.0.9",
        "--of-capacity",
        "0.4",
        "--reads",
        "1",
        "--bound-ms=200",
        "--format",
        "json",
    ],
    "capacity": ["standard-2.1.20", "--bound-ms", "20", "--format", "json"],
    "stale": ["--run", "stale-three-2.1.20", "--r", "1", "--w", "1", "--t", "10", "--format", "json"],
    "deploy": [DEPLOYMENT, "--concurrency", "200", "--format", "json"],
    "predict": ["--run", "calibration-5.0.9", "--nodes", "6", "--concurrency", "1,8", "--format", "json"],
    "compare": ["standard-2.1.20", "standard-5.0.9", "--format", "json"],
    "claims": ["--paper", "pbs", "--format", "json"],
    "read": [str(LOGS / "ycsb-0.17.0" / "raw.txt"), "--output", "OUT"],
    "report": [str(LOGS / "ycsb-0.17.0" / "raw.txt"), "--output", "OUT"],
    "export": ["standard-2.1.20", "--output", "OUT", "--format", "csv"],
}
#: Command -> the file of the test that runs it, and what it runs it with.
ELSEWHERE = {
    "cluster up": ("tests/live/test_cluster.py", '"up"'),
    "cluster status": ("tests/live/test_cluster.py", '"status"'),
    "cluster down": ("tests/live/test_cluster.py", '"down"'),
    **{
        f"cluster {what}": ("tests/live/test_cluster.py", f'node("{what}"')
        for what in ("stop", "start", "restart", "kill", "pause", "resume")
    },
    **{f"cluster {what}": ("tests/live/test_cluster.py", f'tool("{what}"') for what in ("nodetool", "stress")},
    "cluster cqlsh": ("tests/unit/lab/engine/test_tools.py", '"cqlsh"'),
    "reproduce": ("tests/live/test_reproduce.py", '["make", "reproduce"'),
    "book": ("tests/unit/cli/test_every_command.py", '"book", "--recorded"'),
    "chapter": ("tests/unit/cli/test_chapter.py", 'cassbook("chapter"'),
}


def commands(group=main, path=()):
    """Names of all commands, those of groups included."""
    names = []
    for name in COMMANDS if group is main else group.commands:
        command = group.get_command(None, name)
        inner = isinstance(command, click.Group)
        names += commands(command, (*path, name)) if inner else [" ".join((*path, name))]
    return names


def test_the_tables_name_every_command():
    assert sorted([*HERE, *ELSEWHERE]) == sorted(commands())


def test_no_option_takes_nan_or_inf_for_a_number():
    def floats(command):
        names = COMMANDS if command is main else getattr(command, "commands", ())
        inner = [command.get_command(None, name) for name in names]
        own = [one for one in command.params if isinstance(one.type, (FloatParamType, click.FloatRange))]
        return own + [one for each in inner for one in floats(each)]

    options = floats(main)
    assert {"bound_ms", "minutes", "t_ms"} <= {option.name for option in options}
    for option in options:
        for text in ("nan", "inf", "-inf"):
            with pytest.raises(click.BadParameter, match="is not"):
                option.type.convert(text, option, None)


@pytest.mark.parametrize(("file", "text"), ELSEWHERE.values(), ids=list(ELSEWHERE))
def test_the_test_that_is_named_runs_it(file, text):
    assert text in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", HERE)
def test_it_answers(name, tmp_path):
    result = cassbook(name, *[str(tmp_path / "out") if argument == "OUT" else argument for argument in HERE[name]])
    assert result.exit_code == 0 or name == "doctor", result.output
    if "json" in HERE[name]:
        assert json.loads(result.stdout)
    if "OUT" in HERE[name]:
        assert (tmp_path / "out").exists()


@pytest.mark.parametrize("name", [name for name, arguments in HERE.items() if "json" in arguments])
def test_it_answers_in_text_too(name):
    result = cassbook(name, *HERE[name][:-1], "text")
    assert len(result.stdout.splitlines()) > 1
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it is, it is not JSON
        json.loads(result.stdout)


def test_book_hands_on_what_was_asked(monkeypatch):
    monkeypatch.setattr(build, "build", lambda **asked: f"{asked['recorded']}, {asked['today']}, {asked['fresh']}")
    assert cassbook("book", "--recorded", "a", "--today", "b").stdout == "a, b, None\n"


def test_help_lists_each_command_once_with_its_whole_summary():
    text = cassbook("--help").output
    lines = [line.strip() for line in text.splitlines()]
    assert [line[:-1] for line in lines if line.endswith(":") and line != "Options:"] == list(SECTIONS)
    for name, entry in COMMANDS.items():
        listed = [line for line in lines if line.split(maxsplit=1)[:1] == [name]]
        assert [line.split(maxsplit=1)[1] for line in listed] == [entry.summary]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_summary_is_the_first_line_of_the_commands_help(name):
    command = main.get_command(None, name)
    assert command.help.splitlines()[0] == COMMANDS[name].summary


def parameters(command, path):
    if isinstance(command, click.Group):
        return [one for name, inner in command.commands.items() for one in parameters(inner, f"{path} {name}")]
    return [(path, option) for option in command.params if isinstance(option, click.Option)]


OPTIONS = [one for name in COMMANDS for one in parameters(main.get_command(None, name), name)]


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=[f"{path} {known.name}" for path, known in OPTIONS])
def test_an_option_is_described_and_goes_by_its_present_name(path, option):
    assert option.help
    shown = option.get_help_record(click.Context(main))[0]
    older = {"--to", "--out", "--starts", "--repeats", "--jobs"} | ({"--threads"} if path != "advise" else set())
    assert not older & set(shown.replace(",", " ").split())


@pytest.mark.parametrize("older", ["--to", "--out", "--output"])
def test_older_names_of_options_go_on_working(older, tmp_path):
    assert cassbook("read", LOGS / "ycsb-0.17.0" / "raw.txt", older, tmp_path / "out").exit_code == 0
    assert (tmp_path / "out").is_file()


@pytest.mark.parametrize("older", ["--jobs", "--threads", "--concurrency"])
def test_older_names_of_concurrency_go_on_working(older):
    result = cassbook("predict", "--run", "calibration-5.0.9", older, "8", "--format", "json")
    assert [row["jobs"] for row in json.loads(result.stdout)["rows"]] == [8]


#: Stands where an extra is not installed: its packages cannot be found.
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""
COMMAND = (
    WITHOUT
    + """
from cassbook.cli.main import main
main({arguments!r})
"""
)
BARE = ["IPython", "cassandra", "ccmlib", "distributed", "matplotlib", "numba", "papermill", "psutil", "seaborn",
        "sklearn"]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (HERE["stale"], "predict"),
        (HERE["predict"], "predict"),
        (["--run", "calibration-5.0.9", "--nodes", "6", "--threads", "8", "--reads", "0.5"], "predict"),
        ([], "lab"),
        (["status"], "lab"),
        (["--recorded", "standard-2.1.20"], "book"),
        (HERE["report"], "book"),
        ([*HERE["read"], "--dask", "tcp://127.0.0.1:1"], "dask"),
    ],
    ids=["stale", "predict", "advise", "doctor", "cluster", "book", "report", "read"],
)
def test_a_missing_extra_is_named_in_one_line(arguments, extra, request, tmp_path):
    name = request.node.callspec.id
    typed = [name, *[str(tmp_path / "out") if part == "OUT" else part for part in arguments]]
    script = COMMAND.format(packages=BARE, arguments=typed)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f'pip install "cassbook[{extra}]"' in done.stderr


def test_the_adviser_names_its_extra_to_a_program_that_imports_it():
    script = WITHOUT.format(packages=BARE) + "from cassbook.advisor import Adviser"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode != 0
    why = done.stderr.splitlines()[-1]
    assert why.startswith("ModuleNotFoundError: cassbook.advisor.Adviser needs cassandra, ")
    assert why.endswith(': pip install "cassbook[advisor]"')


@pytest.mark.parametrize("name", ["show", "advise", "capacity", "compare", "deploy", "claims", "export", "read"])
def test_what_the_bare_package_answers(name, tmp_path):
    typed = [name, *[str(tmp_path / "out") if part == "OUT" else part for part in HERE[name]]]
    script = COMMAND.format(packages=BARE, arguments=typed)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("name", ["book", "reproduce"])
def test_what_needs_the_checkout_says_so_in_one_line(name, monkeypatch, tmp_path):
    installed = tmp_path / "installed"
    shutil.copytree(ROOT / "src" / "cassbook", installed / "cassbook", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(installed))
    done = subprocess.run(
        [sys.executable, "-m", "cassbook.cli", name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "checkout" in done.stderr
