"""What every page says of the book: version, day and licences; buttons only where a repository is named."""

import itertools
import re
from datetime import UTC, datetime
from types import SimpleNamespace

import nbformat
import pytest
import yaml

from cassbook.book import publication
from cassbook.book.publication import configuration, footer
from cassbook.core.paths import project_root

CONFIG = project_root() / "_config.yml"


def test_the_footer_names_version_day_and_licences():
    text = footer(datetime(2026, 11, 25, 23, 59, tzinfo=UTC))
    assert "cassbook 0.1.0, built on 2026-11-25." in text
    assert "Apache-2.0" in text
    assert "CC BY 4.0" in text


@pytest.fixture
def remote(monkeypatch):
    """Let Git fetch from another address."""

    def put(address):
        monkeypatch.setattr(
            publication.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=f"{address}\n" if address else "")
        )

    return put


def test_without_an_address_no_button_shows(remote):
    remote("")
    config = yaml.safe_load(configuration(CONFIG))
    assert config["html"]["extra_footer"] == footer()
    assert "repository" not in config
    assert not config["html"]["use_repository_button"]
    assert "binderhub_url" not in config["launch_buttons"]


def test_with_an_address_pages_lead_to_it(tmp_path):
    address = "https://example.org/cassbook"
    (tmp_path / "_config.yml").write_text(CONFIG.read_text().replace('url: ""', f"url: {address}"))
    config = yaml.safe_load(configuration(tmp_path / "_config.yml"))
    assert config["repository"]["url"] == address
    assert config["html"]["use_repository_button"]
    assert config["html"]["use_edit_page_button"]
    assert config["launch_buttons"]["binderhub_url"].startswith("https://")


@pytest.mark.parametrize(
    ("fetched", "address"),
    [
        ("https://github.com/someone/cassbook.git", "https://github.com/someone/cassbook"),
        ("https://codeberg.org/someone/cassbook", "https://codeberg.org/someone/cassbook"),
        ("https://token@github.com/someone/cassbook.git", ""),
        ("https://git.internal.example/someone/cassbook.git", ""),
        ("git@github.com:someone/cassbook.git", ""),
        ("/srv/git/cassbook", ""),
        ("", ""),
    ],
)
def test_only_a_public_address_that_git_fetches_from_counts(remote, fetched, address):
    remote(fetched)
    assert publication.repository(CONFIG) == address
    said = publication.with_address(f"Type `make`.{publication.ADDRESS}", address)
    assert said == (f"Type `make`. The project is at <{address}>." if address else "Type `make`.")


def test_the_plan_is_one_page_with_one_title():
    text = publication.plan_page((project_root() / "data" / "PLAN.md").read_text(encoding="utf-8"))
    levels = [len(line.split()[0]) for line in text.splitlines() if re.match(r"#+ ", line)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))


@pytest.mark.parametrize("name", ["CITATION.cff", "book/bibliography.md"])
def test_what_is_cited_is_this_version(name):
    (line,) = [line for line in (project_root() / name).read_text().splitlines() if line.strip().startswith("version")]
    assert "0.1.0" in line


def test_the_front_page_says_nothing_twice_with_the_side_bar():
    """Few numbers, three doors, and no list of the chapters beside the one at its left."""
    text = (project_root() / "book/index.md").read_text(encoding="utf-8")
    linked = re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", text)
    assert len(linked) == len(set(linked)) < 20
    assert len(re.findall(r"^\* \*\*", text, re.MULTILINE)) == 3


def executed(path, title, **metadata):
    content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"# {title}\n\nWords.")], metadata=metadata)
    nbformat.write(content, path)
    return path


def test_chapters_have_their_time_and_memory(tmp_path):
    copies = [
        executed(tmp_path / "a.ipynb", "One", papermill={"duration": 12.34}, cassbook={"peak_mb": 321}),
        executed(tmp_path / "b.ipynb", "Two"),
    ]
    text = publication.status_page((project_root() / "book" / "status.md").read_text(), copies)
    assert "| One | 12.3 | 321 |" in text
    assert "| Two |  |  |" in text
    assert publication.PLACE not in text


def test_versions_and_tests_are_those_that_are_there():
    text = publication.status_page(publication.PLACE, [])
    assert re.search(r"^\| numpy \| \d+\.\d+", text, re.MULTILINE)
    counts = dict(re.findall(r"^\| `(tests/\w+)` \| .* \| (\d+) \|$", text, re.MULTILINE))
    assert set(counts) == {"tests/unit", "tests/book", "tests/live"}
    assert all(int(count) > 10 for count in counts.values())
