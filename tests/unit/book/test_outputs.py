"""Which chapters show runs, and what an executed copy shows otherwise than what is stored."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from cassbook.book.outputs import IGNORED, differences, shows_runs


def saved(path, *cells):
    nbformat.write(new_notebook(cells=list(cells)), path)
    return path


def cell(source, shown, tags=()):
    data = {"text/plain": shown, "image/png": "aGVsbG8="}
    return new_code_cell(source, outputs=[new_output("display_data", data)], metadata={"tags": list(tags)})


@pytest.mark.parametrize(
    ("declared", "expected"),
    [('probed = "x"', False), ("", False), ('recorded = "x"', True), ('fresh = ""\nlevel = "ONE"', True)],
)
def test_a_chapter_that_declares_a_run_of_the_book_shows_runs(tmp_path, declared, expected):
    parameters = new_code_cell(declared, metadata={"tags": ["parameters"]})
    assert shows_runs(saved(tmp_path / "a.ipynb", parameters, new_code_cell("recorded = 1"))) is expected


def test_a_changed_digit_is_a_difference_and_a_figure_is_none(tmp_path):
    stored = saved(tmp_path / "a.ipynb", cell("show()\nmore()", "1.23"), cell("draw()", "<Figure>", [IGNORED]))
    added = cell("recorded = 1", "", ["injected-parameters"])
    alike = saved(tmp_path / "b.ipynb", added, cell("show()\nmore()", "1.23"), cell("draw()", "other", [IGNORED]))
    assert differences(stored, alike) == []
    other = saved(tmp_path / "c.ipynb", cell("show()\nmore()", "1.24"), cell("draw()", "<Figure>", [IGNORED]))
    (found,) = differences(stored, other)
    assert found.startswith("show()\n")
    assert "1.23" in found
    assert "1.24" in found
