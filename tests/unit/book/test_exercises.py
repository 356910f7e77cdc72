"""Each chapter ends with its limits and two exercises, whose commands the command line understands."""

import json
import re
import shlex

import click
import pytest

from cassbook.book import build, notebooks
from cassbook.cli.main import main
from cassbook.core.paths import project_root

CHAPTERS = [path for path in notebooks.analyse_notebooks() if not path.stem.startswith(("record", "scorecard"))]


def last_words(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "".join(cells[-1]["source"])


def commands():
    for notebook in CHAPTERS:
        for command in re.findall(r"`(cassbook [^`]+)`", last_words(notebook)):
            yield pytest.param(command, id=f"{notebook.stem}: {command}")


@pytest.mark.parametrize("notebook", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_ends_with_its_limits_and_two_exercises(notebook):
    words = last_words(notebook)
    assert words.startswith("## Limits and exercises\n")
    assert [line[:3] for line in words.splitlines() if re.match(r"\d\. ", line)] == ["1. ", "2. "]


@pytest.mark.parametrize("command", list(commands()))
def test_the_command_line_understands_it(command):
    name, *arguments = shlex.split(command)[1:]
    found = main.get_command(click.Context(main), name)
    assert found is not None, name
    context = found.make_context(name, list(arguments))
    if name == "chapter":
        given = dict(text.split("=", 1) for text in context.params["given"])
        build.typed(notebooks.chapter_notebook(context.params["slug"]), given)


#: A parameter in prose, after the chapter whose command it belongs to, where one is named.
_PARAMETER = re.compile(r"cassbook chapter ([\w-]+)|(?<![\w-])-p (\w+)=")


def parameters_named(text, own=None):
    """Yield (chapter, parameter) of each `-p NAME=` of a text; without a command on its line, of the chapter itself."""
    for line in text.splitlines():
        slug = own
        for chapter, name in _PARAMETER.findall(line):
            slug = chapter or slug
            if name:
                yield slug, name


def texts():
    for path in notebooks.analyse_notebooks():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        yield path.stem, "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for path in [project_root() / "README.md", *sorted((project_root() / "book").rglob("*.md"))]:
        yield None, path.read_text(encoding="utf-8")


def strangers(own, text):
    """Parameters that a text names and their chapter lacks; YCSB has a `-p` of its own, in blocks of its commands."""
    prose = re.sub(r"(?m)^.*\bycsb\.sh\b(?:.*\\\n)*.*$", "", text)
    known = {path.stem: set(notebooks.parameters(path)) for path in notebooks.analyse_notebooks()}
    return [(slug, name) for slug, name in parameters_named(prose, own) if name not in known.get(slug, ())]


def test_each_parameter_that_prose_names_is_one_of_its_chapter():
    named = [found for own, text in texts() for found in parameters_named(text, own)]
    assert ("failures", "own") in named
    assert len(named) >= 10
    assert [found for own, text in texts() for found in strangers(own, text)] == []


@pytest.mark.parametrize(
    ("own", "text", "found"),
    [
        ("failures", "show it here (`-p recorded=`)", [("failures", "recorded")]),
        ("failures", "show it here (`-p own=RECORD`)", []),
        (None, "`cassbook chapter latency -p recorded=my-run -p nothing=1`", [("latency", "nothing")]),
        (None, "`cassbook chapter no-such -p recorded=my-run`", [("no-such", "recorded")]),
        (None, "    bin/ycsb.sh run -p hosts=1 \\\n        -p operationcount=5\n", []),
    ],
)
def test_the_scan_finds_a_strange_parameter(own, text, found):
    assert strangers(own, text) == found
