"""The sample answers on the book's pages are what the commands print now."""

import pytest

from cassbook.cli import transcripts
from cassbook.core.errors import LaboratoryError
from cassbook.core.paths import project_root

PAGES = transcripts.pages()


def test_each_tool_page_has_a_sample():
    assert {page.stem for page in PAGES} >= {"adviser", "deploy", "hosts", "logs", "predict", "stale", "what-if"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_samples_are_what_the_commands_print(page, monkeypatch):
    monkeypatch.chdir(project_root())
    assert transcripts.renewed(page) == page.read_text(encoding="utf-8")


def test_a_sample_that_fails_says_so():
    with pytest.raises(LaboratoryError, match=r"^cassbook advise --run nowhere: exit code 2: "):
        transcripts.answered("```console\n$ cassbook advise --run nowhere\n```\n")


def test_other_blocks_stay():
    text = "```\n$ cassbook advise\n```\n\n    cassbook read\n"
    assert transcripts.answered(text) == text
