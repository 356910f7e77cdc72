"""Figures in words, and what the rendering of an executed chapter folds and hides."""

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest

from cassbook.book.alternative_text import describe
from cassbook.book.figure_style import done, panels
from cassbook.book.gaps import Sentence
from cassbook.book.layout import stage


def test_lines_are_told_from_end_to_end_by_their_order_in_x():
    figure, axes = panels(1, 1)
    axes[0, 0].plot([100, 10, 1000], [40.0, 2.5, 1234.0], label="ONE")
    axes[0, 0].errorbar([10, 100], [3.0, np.nan], [[1, 1], [1, 1]], label="ALL")
    axes[0, 0].set(title="reads", xlabel="threads", ylabel="latency, ms")
    axes[0, 0].legend()
    assert describe(done(figure)) == "reads: latency, ms over threads. ONE from 2.5 to 1,234; ALL from 3 to 3."


def test_panels_are_counted_and_those_without_names_told_by_their_range():
    figure, axes = panels(1, 8)
    for panel in axes[0]:
        panel.plot([0, 1], [5.0, 7.0])
        panel.plot([0, 1], [6.0, 9.0])
    text = repr(done(figure))
    assert text.startswith("8 panels. Values. 2 lines between 5 and 9. ")
    assert text.endswith("2 more of the same kind.")


def test_bars_and_points():
    figure, axes = panels(1, 2)
    axes[0, 0].bar(["kill", "pause"], [3.0, 12.0])
    axes[0, 1].scatter([1, 2], [0.25, 0.5])
    assert "kill, pause" in describe(figure)
    assert "bars between 3 and 12" in describe(figure)
    assert "2 points between 0.25 and 0.5" in describe(done(figure))


def test_a_diagram_is_described_by_its_words():
    figure, axes = panels(1, 1)
    axes[0, 0].plot([0, 1], [-0.25, 0.25])
    for place, word in enumerate(("client", "node 1", "node 1", "node 2")):
        axes[0, 0].text(place, 0, word)
    axes[0, 0].axis("off")
    assert describe(done(figure)) == "A diagram: client, node 1, node 2."
    axes[0, 0].set_title("local")
    assert describe(figure) == "local: client, node 1, node 2."


def test_an_empty_figure_says_so():
    figure = plt.figure()
    plt.close(figure)
    assert describe(figure) == "An empty figure."


@pytest.fixture
def executed(tmp_path):
    cells = [
        nbformat.v4.new_code_cell("x = 1", metadata={"tags": ["parameters", "hide-input"]}),
        nbformat.v4.new_code_cell("x = 2", metadata={"tags": ["injected-parameters"]}),
        nbformat.v4.new_code_cell(
            "draw()",
            metadata={"tags": ["full-width"], "mystnb": {"figure": {"caption": "What?"}}},
            outputs=[nbformat.v4.new_output("display_data", {"image/png": "aGk=", "text/plain": "ONE from 1 to 2."})],
        ),
        nbformat.v4.new_markdown_cell("Words."),
        nbformat.v4.new_code_cell("pd.read_csv(table)", metadata={"tags": ["reader"]}),
    ]
    path = tmp_path / "executed.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_code_is_left_out_but_for_the_readers_and_pictures_have_words(executed, tmp_path):
    stage(executed, tmp_path / "page.ipynb")
    first, second, third, words, readers = nbformat.read(tmp_path / "page.ipynb", as_version=4).cells
    assert "remove-cell" in first.metadata["tags"]
    assert "remove-cell" in second.metadata["tags"]
    assert third.metadata["tags"] == ["full-width", "remove-input"]
    assert readers.metadata["tags"] == ["reader"]
    assert third.metadata["mystnb"] == {"figure": {"caption": "What?"}, "image": {"alt": "ONE from 1 to 2."}}
    assert [cell.source for cell in (first, second, third, words)] == ["x = 1", "x = 2", "draw()", "Words."]


def test_sentences_before_a_figure_leave_its_cell_so_that_one_output_bears_its_name(tmp_path):
    """All outputs of a cell get the figure's name, and Sphinx refuses a name that two bear."""
    said = nbformat.v4.new_output("display_data", data={"text/html": Sentence("Measured now has none.")._repr_html_()})
    drawn = nbformat.v4.new_output("execute_result", data={"image/png": "", "text/plain": "1 panel."})
    cell = nbformat.v4.new_code_cell("draw()", outputs=[said, said, drawn])
    cell.metadata["mystnb"] = {"figure": {"caption": "What?", "name": "fig-what"}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title"), cell])
    nbformat.write(notebook, tmp_path / "executed.ipynb")
    stage(tmp_path / "executed.ipynb", tmp_path / "page.ipynb")
    *before, figure = nbformat.read(tmp_path / "page.ipynb", as_version=4).cells[1:]
    assert [one.source for one in before] == ['<p class="lacking">Measured now has none.</p>'] * 2
    assert [list(output.data) for output in figure.outputs] == [["image/png", "text/plain"]]
    assert figure.metadata["mystnb"]["figure"]["name"] == "fig-what"
