"""`cassbook chapter`: mistakes are answered before anything is executed; the path of the page is printed."""

import pytest

from cassbook.book import build
from tests.helpers.command import cassbook


def run(*arguments):
    return cassbook("chapter", *arguments)


@pytest.fixture(autouse=True)
def executed(monkeypatch, tmp_path):
    """Chapters that are executed; nothing is rendered."""
    calls = []
    monkeypatch.setenv("CASSBOOK_BUILD", str(tmp_path))

    def execute_all(jobs):
        for notebook, copy, parameters in jobs:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(notebook.read_bytes())
            calls.append((notebook.stem, {name: value for name, value in parameters.items() if name != "data_hash"}))

    monkeypatch.setattr(build, "_execute_all", execute_all)
    monkeypatch.setattr(build, "_render", lambda source, target, log, strict: target / "index.html")
    return calls


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["latncy"], "there is no 'latncy'; use one of adapting, "),
        (["latency", "-p", "recordde=mine"], "recordde; it has recorded, today, fresh"),
        (["queueing-model", "-p", "recorded=mine"], "queueing-model: no parameter recorded; it has none"),
        (["cold-start", "-p", "threads=many"], "threads=many: must be like the default, 500"),
        (["cold-start", "-p", "threads"], "must be NAME=VALUE"),
    ],
)
def test_a_mistake_is_one_line_and_executes_nothing(executed, arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert len(done.output.strip().splitlines()) == 1
    assert not executed


def test_the_path_of_the_page_is_printed_and_parameters_are_passed_on(executed, tmp_path):
    arguments = ["cold-start", "-p", "recorded=quick-2.1.20", "-p", "threads=20"]
    for _ in range(2):
        done = run(*arguments)
        assert done.exit_code == 0
        page = tmp_path / "chapters" / "cold-start" / "html" / "notebooks" / "analyse" / "cold-start.html"
        assert done.output.splitlines()[-1] == str(page)
    assert executed == [("cold-start", {"recorded": "quick-2.1.20", "threads": 20})], "the second is taken again"
    source = tmp_path / "chapters" / "cold-start" / "source"
    assert "root: notebooks/analyse/cold-start\n" in (source / "_toc.yml").read_text()
    assert (source / "notebooks" / "analyse" / "cold-start.ipynb").is_file()
