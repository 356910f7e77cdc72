"""The thinnest run goes through every chapter that takes one: sentences where it has nothing, never a NaN."""

import re

import nbformat
import pytest
from bs4 import BeautifulSoup

from cassbook.book import build, layout, notebooks
from tests.helpers import thin_runs

pytestmark = pytest.mark.book

#: Parameters that name a run of a profile.
_OF_A_RUN = ("recorded", "today")
CHAPTERS = [path for path in notebooks.analyse_notebooks() if set(_OF_A_RUN) & set(notebooks.parameters(path))]
_NO_FIGURE = re.compile(r"\b(nan|NaN|inf|None|NaT)\b|±\s?\d{3,}\s?%|>999|Traceback|p = 0\.000\b")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        made = tmp_path_factory.mktemp("build")
        patch.setenv("CASSBOOK_BUILD", str(made))
        yield made


@pytest.fixture(scope="module")
def thin(folder):
    """A run of two cells: reads and writes at ONE and one thread count, once."""
    return thin_runs.cut(folder / "thin", thin_runs.thinnest)


@pytest.fixture(scope="module")
def copies(thin):
    """The executed copy of every chapter, by its name; each is shown the thin run as the first run that it takes."""
    jobs = []
    for path in CHAPTERS:
        parameter = next(name for name in _OF_A_RUN if name in notebooks.parameters(path))
        jobs.append((path, thin.parent / f"{path.stem}.ipynb", {parameter: str(thin)}))
    build._execute_all(jobs)
    return {copy.stem: nbformat.read(copy, as_version=4) for _, copy, _ in jobs}


def outputs(content):
    return [output for cell in content.cells if cell.cell_type == "code" for output in cell.outputs]


def texts(content):
    """What a page shows in words: tables, sentences, what was glued and what was printed."""
    for output in outputs(content):
        yield output.get("text", "")
        for kind, value in output.get("data", {}).items():
            if kind.endswith(("text/plain", "text/markdown")):
                yield value
            elif kind == "text/html" and "<script" not in value:
                yield BeautifulSoup(value, "html.parser").get_text(" ")


def test_all_chapters_are_tried():
    assert len(CHAPTERS) > 13


@pytest.mark.parametrize("slug", [path.stem for path in CHAPTERS])
def test_a_page_of_the_thinnest_run_says_what_it_lacks(copies, slug):
    content = copies[slug]
    assert not [output for output in outputs(content) if output.output_type == "error"]
    assert not [output.text for output in outputs(content) if output.output_type == "stream"], "warnings are sentences"
    wrong = [text for text in texts(content) if _NO_FIGURE.search(text)]
    assert not wrong


@pytest.mark.parametrize("slug", [path.stem for path in CHAPTERS])
def test_a_figure_of_the_thinnest_run_stands_alone_under_its_name(copies, thin, slug):
    """Sphinx refuses a name that two outputs bear, as a sentence and the figure behind it would."""
    assert copies[slug]
    page = thin.parent / f"{slug}-staged.ipynb"
    layout.stage(thin.parent / f"{slug}.ipynb", page)
    figures = [cell for cell in nbformat.read(page, as_version=4).cells if "figure" in cell.metadata.get("mystnb", {})]
    shown = [[out for out in cell.outputs if "scrapbook" not in out.get("metadata", {})] for cell in figures]
    assert [len(outputs) for outputs in shown if len(outputs) > 1] == []


@pytest.mark.parametrize("slug", ["latency", "choosing", "models", "answers"])
def test_what_is_lacking_is_a_sentence_with_what_there_is(copies, slug):
    sentences = [text for text in texts(copies[slug]) if "one level, ONE" in text or "has no " in text]
    assert sentences
    assert all(sentence.strip().endswith(".") for sentence in sentences)


def test_its_page_is_rendered_with_the_rest(thin):
    """Prose that quotes what was not computed says so, and which run is shown stands at the top."""
    page = build.chapter("latency", {"recorded": str(thin)}, lambda line: None).read_text()
    text = BeautifulSoup(page, "html.parser").get_text(" ")
    assert "glue:text" not in text
    assert "not determined" in text
    assert "comparing levels takes two" in text
    assert "instead of standard-2.1.20" in text
    assert "recorded 5.0.9" in text, "the other run is shown as always"
