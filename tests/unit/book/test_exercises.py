"""Each chapter ends with its limits and two exercises, whose commands the command line understands."""

import json
import re
import shlex

import click
import pytest

from cassbook.book import build, notebooks
from cassbook.cli.main import main

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
