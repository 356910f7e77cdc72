"""What an executed copy shows otherwise than what is stored."""

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

from cassbook.book.outputs import IGNORED, differences


def saved(path, *cells):
    nbformat.write(new_notebook(cells=list(cells)), path)
    return path


def cell(source, shown, tags=()):
    data = {"text/plain": shown, "image/png": "aGVsbG8="}
    return new_code_cell(source, outputs=[new_output("display_data", data)], metadata={"tags": list(tags)})


def test_a_changed_digit_is_a_difference_and_a_figure_is_none(tmp_path):
    stored = saved(tmp_path / "a.ipynb", cell("show()\nmore()", "1.23"), cell("draw()", "<Figure>", [IGNORED]))
    added = cell("recorded = 1", "", ["injected-parameters"])
    alike = saved(tmp_path / "b.ipynb", added, cell("show()\nmore()", "1.23"), cell("draw()", "other", [IGNORED]))
    assert differences(stored, alike) == []
    other = saved(tmp_path / "c.ipynb", cell("show()\nmore()", "1.24"), cell("draw()", "<Figure>", [IGNORED]))
    (difference,) = differences(stored, other)
    assert difference.startswith("show()\n")
    assert "1.23" in difference
    assert "1.24" in difference
