"""The tracked notebooks: thin, parameterised, with tables to compare and nothing of a machine in them."""

import re

import nbformat
import pytest

from cassbook.book import build, chapter
from cassbook.book.outputs import IGNORED
from cassbook.core import paths
from cassbook.core.errors import InputError

ANALYSES = build.analyse_notebooks()
MEASURE = paths.project_root() / "notebooks" / "measure" / "measure.ipynb"
EVERY = [MEASURE, *ANALYSES]
PARAMETERS = {"recorded": "standard-2.1.20", "today": "standard-5.0.9", "fresh": "", "data_hash": ""}


def tags(cell):
    return cell.metadata.get("tags", [])


def code(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.stem)
def test_begins_with_a_sentence_and_parameters_that_are_checked(path):
    cells = nbformat.read(path, as_version=4).cells
    heading, *text = cells[0].source.split("\n", 1)
    assert heading.startswith("# ")
    assert text[0].count(".") >= 1
    first, second = code(path)[:2]
    assert "parameters" in tags(first)
    assert "globals()" in second.source


@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.stem)
def test_is_thin(path):
    for cell in code(path):
        lines = cell.source.splitlines()
        assert len(lines) <= 12
        assert not re.search(r"^\s*(def|class|for .*:\s*$.*\n.*\n.*\n.*\n)", cell.source, re.MULTILINE)


@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.stem)
def test_holds_no_path_and_no_picture(path):
    text = path.read_text()
    assert "image/png" not in text
    assert "application/vnd.plotly" not in text
    assert not re.search(r'(?<![\w."/])/(home|root|work|tmp|Users|usr)/', text)
    assert "injected-parameters" not in text


@pytest.mark.parametrize("path", ANALYSES, ids=lambda p: p.stem)
def test_has_a_stored_table_that_nbval_compares(path):
    compared = [
        output
        for cell in code(path)
        if IGNORED not in tags(cell)
        for output in cell.outputs
        if "<table" in "".join(output.get("data", {}).get("text/html", ""))
    ]
    assert compared


@pytest.mark.parametrize("path", ANALYSES, ids=lambda p: p.stem)
def test_no_warning_is_stored(path):
    assert not [cell.source for cell in code(path) for output in cell.outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", ANALYSES, ids=lambda p: p.stem)
def test_every_figure_has_a_caption_that_asks_and_a_sentence_that_answers(path):
    cells = nbformat.read(path, as_version=4).cells
    figures = [
        i
        for i, cell in enumerate(cells)
        if re.search(r"(figures|diagram)\.|plots\.", cell.source)
        and cell.cell_type == "code"
        and "import" not in cell.source
    ]
    assert figures
    for i in figures:
        figure = cells[i].metadata.get("mystnb", {}).get("figure", {})
        caption = figure.get("caption") or cells[i + 1].source.split("\n\n")[0]
        assert "?" in caption
        following = cells[i + 1 : i + 4]
        assert any(cell.cell_type == "markdown" for cell in following)


def keys_on_pages(path):
    """Keys of a notebook that pages of the book show."""
    directive = re.compile(rf"```\{{glue\}} (\S+)\n:doc: ../notebooks/analyse/{re.escape(path.name)}\n")
    return {key for page in (paths.project_root() / "book").glob("*.md") for key in directive.findall(page.read_text())}


@pytest.mark.parametrize("path", ANALYSES, ids=lambda p: p.stem)
def test_every_glued_number_is_put(path):
    cells = nbformat.read(path, as_version=4).cells
    used = {key for cell in cells for key in re.findall(r"\{glue:text\}`([^`]+)`", cell.source)} | keys_on_pages(path)
    stored = {
        output.metadata["scrapbook"]["name"]
        for cell in code(path)
        for output in cell.outputs
        if "scrapbook" in output.get("metadata", {})
    }
    assert used == stored


def test_an_unknown_parameter_is_an_error_for_the_builder(tmp_path):
    with pytest.raises(InputError, match=r"recordde.*recorded, today, fresh, data_hash"):
        build.execute(
            paths.project_root() / "notebooks" / "analyse" / "latency.ipynb", tmp_path / "x.ipynb", {"recordde": "x"}
        )
    assert not (tmp_path / "x.ipynb").exists()


def test_an_unknown_parameter_is_an_error_inside_the_notebook_too():
    """Whoever calls Papermill directly gets the same: the injected name is found by the cell after it."""
    with pytest.raises(InputError, match="unknown parameter recordde"):
        chapter.begin({**PARAMETERS, "recordde": "x", "begin": len, "book": build})


def test_data_that_changed_since_the_build_are_refused():
    with pytest.raises(InputError, match="changed since the build"):
        chapter.begin(PARAMETERS | {"data_hash": "0123456789abcdef"})


def test_sources_are_named_for_their_versions():
    other, again = (chapter.begin(PARAMETERS | {"today": run}) for run in ("standard-5.0.9", "quick-2.1.20"))
    assert [s.label for s in other] == ["published", "recorded 2.1.20", "recorded 5.0.9"]
    assert [s.label for s in again] == ["published", "recorded 2.1.20", "recorded 2.1.20 (2)"]


def test_the_hash_follows_data_and_library(monkeypatch, tmp_path):
    before = build.data_hash("a")
    assert build.data_hash("a") == before
    assert build.data_hash("b") != before
    (tmp_path / "g20_table1.csv").write_text("threads\n1\n")
    monkeypatch.setattr(build.paths, "resource", lambda name: tmp_path)
    assert build.data_hash("a") != before


def test_a_cell_that_fails_stops_with_its_error(tmp_path):
    content = nbformat.v4.new_notebook()
    content.cells = [nbformat.v4.new_code_cell("raise RuntimeError('on purpose')")]
    nbformat.write(content, tmp_path / "bad.ipynb")
    with pytest.raises(build.LaboratoryError, match=r"bad\.ipynb.*on purpose"):
        build.execute(tmp_path / "bad.ipynb", tmp_path / "out.ipynb", {})
