"""The tracked notebooks: thin, parameterised, with tables to compare and nothing of a machine in them."""

import re

import nbformat
import papermill
import pytest

from cassbook.book import build, execution, notebooks
from cassbook.book.layout import READER
from cassbook.book.outputs import IGNORED
from cassbook.core import paths
from cassbook.core.errors import InputError, LaboratoryError
from tests.helpers.notebook_cells import code_cells

ANALYSES = notebooks.analyse_notebooks()
MEASURE = notebooks.measure_notebook()
EVERY = [MEASURE, *ANALYSES]


def tags(cell):
    return cell.metadata.get("tags", [])


@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.stem)
def test_begins_with_a_sentence_and_parameters_that_are_checked(path):
    cells = nbformat.read(path, as_version=4).cells
    heading, *text = cells[0].source.split("\n", 1)
    assert heading.startswith("# ")
    assert text[0].count(".") >= 1
    first, second = code_cells(path)[:2]
    assert "parameters" in tags(first)
    assert "globals()" not in path.read_text()
    opened = r"check_parameters\(" if path == MEASURE else rf'open_chapter\(\s*"{path.stem}"'
    assert re.search(opened, second.source)


@pytest.mark.parametrize("path", ANALYSES, ids=lambda p: p.stem)
def test_begins_in_short_with_what_to_know_first_and_what_to_read_next(path):
    short = nbformat.read(path, as_version=4).cells[1].source
    assert short.startswith("**In short.** ")
    assert re.search(r"\n\n\*Prerequisites:\* .+\. \*Next:\* .*\{doc\}`.+`\.$", short)


@pytest.mark.parametrize("path", ANALYSES, ids=lambda p: p.stem)
def test_uses_each_parameter_that_it_declares(path):
    """By its value, as an attribute of the chapter, or as one of the chapter's runs."""
    _, opening, *others = (cell.source for cell in code_cells(path))
    rest = opening.partition("open_chapter(")[2]
    given, _, rest = rest.partition("data_hash=data_hash")
    used = "\n".join([rest, *others])
    for name in notebooks.parameters(path):
        if name != notebooks.DATA_HASH:
            assert f"{name}={name}" in given
            ways = [rf"chapter\.{name}\b", rf"(?<![\w.]){name}\b(?!=)"]
            ways += [r"chapter\.(runs|sources)\b"] if name in {"recorded", "today", "fresh"} else []
            ways += [r"chapter\.pair\b"] if name in {"recorded", "today"} else []
            assert re.search("|".join(ways), used), name


@pytest.mark.parametrize("path", ANALYSES, ids=lambda p: p.stem)
def test_shows_one_cell_that_a_reader_can_change(path):
    """It works on a shipped table with pandas or a public function, and needs none of the page's plumbing."""
    (cell,) = [cell for cell in code_cells(path) if READER in tags(cell)]
    lines = [line for line in cell.source.splitlines() if line.strip()]
    assert 4 <= len(lines) <= 12
    assert "cassbook.book" not in cell.source
    assert "chapter." not in cell.source
    assert re.search(r"^(?:import|from) ", cell.source)
    assert "data/records/" in cell.source or "data/published/" in cell.source or "cassbook" in cell.source
    assert cell.outputs


@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.stem)
def test_is_thin(path):
    for cell in code_cells(path):
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
        for cell in code_cells(path)
        if IGNORED not in tags(cell)
        for output in cell.outputs
        if "<table" in "".join(output.get("data", {}).get("text/html", ""))
    ]
    assert compared


@pytest.mark.parametrize("path", ANALYSES, ids=lambda p: p.stem)
def test_no_warning_is_stored(path):
    assert not [cell.source for cell in code_cells(path) for output in cell.outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", ANALYSES, ids=lambda p: p.stem)
def test_every_figure_has_a_caption_that_asks_and_a_sentence_that_answers(path):
    cells = nbformat.read(path, as_version=4).cells
    figures = [
        i
        for i, cell in enumerate(cells)
        if "figure" in cell.metadata.get("mystnb", {})
        or (cell.cell_type == "code" and re.match(r"[a-z_]+_figures\.|sliders\.", cell.source))
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
        for cell in code_cells(path)
        for output in cell.outputs
        if "scrapbook" in output.get("metadata", {})
    }
    drawn = {
        name for cell in code_cells(path) if IGNORED in tags(cell) for name in re.findall(r"glue\((\w+)=", cell.source)
    }
    assert used == stored | {name.replace("_", "-") for name in drawn}


def test_an_unknown_parameter_is_an_error_for_the_builder(tmp_path):
    with pytest.raises(InputError, match=r"latency: .*recordde; .*recorded, today, fresh$"):
        execution.execute(notebooks.chapter_notebook("latency"), tmp_path / "x.ipynb", {"recordde": "x"})
    assert not (tmp_path / "x.ipynb").exists()


def test_an_unknown_chapter_is_an_error_that_names_those_there_are():
    with pytest.raises(InputError, match=r"no 'latncy'; use one of adapting, .*latency.*what-if"):
        notebooks.chapter_notebook("latncy")


def test_parameters_have_their_defaults():
    defaults = notebooks.parameters(notebooks.chapter_notebook("cold-start"))
    assert defaults == {
        "recorded": "standard-2.1.20",
        "today": "standard-5.0.9",
        "fresh": "",
        "threads": 500,
        "data_hash": "",
    }


def test_a_typed_value_has_the_type_of_the_default():
    cold = notebooks.chapter_notebook("cold-start")
    assert build.typed(cold, {"threads": "20", "recorded": "5.0"}) == {"threads": 20, "recorded": "5.0"}
    with pytest.raises(InputError, match=r"cold-start: threads=many: .*500"):
        build.typed(cold, {"threads": "many"})
    with pytest.raises(InputError, match=r"version; .*recorded, today, fresh, threads"):
        build.typed(cold, {"version": "2.1.20"})


def test_plain_papermill_is_told_of_a_misspelt_parameter(tmp_path):
    """Papermill itself only warns; the cell that opens the notebook looks at what it was given."""
    with pytest.raises(papermill.PapermillExecutionError, match=r"levle; .* recorded, today, fresh, level"):
        papermill.execute_notebook(
            notebooks.chapter_notebook("coordinated-omission"), tmp_path / "x.ipynb", {"levle": "ALL"},
            kernel_name="python3", progress_bar=False,
        )  # fmt: skip


def test_a_cell_that_fails_stops_with_its_error(tmp_path):
    content = nbformat.v4.new_notebook()
    content.cells = [nbformat.v4.new_code_cell("raise RuntimeError('on purpose')")]
    nbformat.write(content, tmp_path / "bad.ipynb")
    with pytest.raises(LaboratoryError, match=r"bad\.ipynb.*on purpose"):
        execution.execute(tmp_path / "bad.ipynb", tmp_path / "out.ipynb", {})
