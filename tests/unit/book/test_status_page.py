"""The page on the book's own state."""

import re

import nbformat

from cassbook.book import status_page
from cassbook.core.paths import project_root


def executed(path, title, **metadata):
    content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"# {title}\n\nWords.")], metadata=metadata)
    nbformat.write(content, path)
    return path


def test_chapters_have_their_time_and_memory(tmp_path):
    copies = [
        executed(tmp_path / "a.ipynb", "One", papermill={"duration": 12.34}, cassbook={"peak_mb": 321}),
        executed(tmp_path / "b.ipynb", "Two"),
    ]
    text = status_page.filled((project_root() / "book" / "status.md").read_text(), copies)
    assert "| One | 12.3 | 321 |" in text
    assert "| Two |  |  |" in text
    assert status_page.PLACE not in text


def test_versions_and_tests_are_those_that_are_there():
    text = status_page.filled(status_page.PLACE, [])
    assert re.search(r"^\| numpy \| \d+\.\d+", text, re.MULTILINE)
    counts = dict(re.findall(r"^\| `(tests/\w+)` \| .* \| (\d+) \|$", text, re.MULTILINE))
    assert set(counts) == {"tests/unit", "tests/book", "tests/live"}
    assert all(int(count) > 10 for count in counts.values())
