"""Tables of a chapter: numbered in order, captioned, with their values as CSV, folded where asked."""

import csv
import zipfile
from urllib.parse import unquote

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from cassbook.book import layout, notebooks, publication
from cassbook.book.evidence import describe
from cassbook.ingest.folder import open_run


def shown(frame, label=""):
    """Outputs of a cell that displays a table, as `show` does if it has a label."""
    named = [new_output("display_data", {"text/markdown": f"*{label}*"})] if label else []
    return [*named, new_output("execute_result", {"text/html": frame._repr_html_(), "text/plain": "..."})]


def values_of(html):
    link = BeautifulSoup(html, "html.parser").find("a", class_="values")
    return link["download"], list(csv.reader(unquote(link["href"].partition(",")[2]).splitlines()))


@pytest.fixture
def by_level():
    columns = pd.MultiIndex.from_tuples([("latency, ms", "ONE"), ("latency, ms", "ALL")])
    index = pd.MultiIndex.from_tuples([("READ", 10), ("READ", 50), ("WRITE", 10)], names=["operation", "threads"])
    return pd.DataFrame([["1 ±2%", "3, at most"], ["2", "4"], ["5", "é"]], index=index, columns=columns)


def test_tables_are_numbered_through_the_chapter_and_named_for_their_source(by_level):
    cells = [
        new_code_cell("a", outputs=shown(by_level), metadata={"table": {"caption": "What does <it> cost?"}}),
        new_markdown_cell("Words."),
        new_code_cell("b", outputs=shown(by_level)),
        new_code_cell(
            "c",
            outputs=[*shown(by_level, "published"), *shown(by_level, "recorded 2.1.20")],
            metadata={"table": {"caption": "And there?", "folded": True}},
        ),
    ]
    layout.caption(cells, "latency")
    first, untouched, (second, third) = cells[0].outputs[0], cells[2].outputs[0], cells[3].outputs
    assert "<figcaption><b>Table 1.</b> What does &lt;it&gt; cost? <a" in first.data["text/html"]
    assert untouched.data["text/html"] == by_level._repr_html_()
    assert second.data["text/html"].startswith(
        '<details class="table"><summary><b>Table 2, published.</b> And there?</summary>'
    )
    assert "<b>Table 3, recorded 2.1.20.</b>" in third.data["text/html"]
    assert values_of(third.data["text/html"])[0] == "latency-3.csv"


def test_names_of_the_library_are_headings_in_words_and_stay_names_in_the_file():
    frame = pd.DataFrame({"worst_percent": [3.0], "R² of_x": [1.0]}, index=pd.Index(["to_third"], name="way_ms"))
    cell = new_code_cell("a", outputs=shown(frame), metadata={"table": {"caption": "How far?"}})
    layout.caption([cell], "x")
    html = cell.outputs[0].data["text/html"]
    heads = [head.get_text() for head in BeautifulSoup(html, "html.parser").select("th") if head.get_text()]
    assert heads == ["worst, %", "R² of_x", "way, ms", "to third"]
    assert values_of(html)[1][0][1:] == ["worst_percent", "R² of_x"]


def test_a_long_table_is_folded_unless_it_is_to_stay_open_and_sentences_may_be_broken():
    frame = pd.DataFrame({"x": range(layout.MOST_ROWS), "words": "Does it break where the page ends, or go on and on?"})
    longer = pd.concat([frame, frame.head(1)])
    shapes = []
    for table, wanted in ((frame, {}), (longer, {}), (longer, {"folded": False})):
        cell = new_code_cell("a", outputs=shown(table), metadata={"table": {"caption": "What?"} | wanted})
        layout.caption([cell], "x")
        page = BeautifulSoup(cell.outputs[0].data["text/html"], "html.parser")
        shapes.append((page.contents[0].name, len(page.select("td.sentence"))))
    assert shapes == [("figure", len(frame)), ("details", len(longer)), ("figure", len(longer))]


def test_headings_link_to_the_chapters_that_they_come_from():
    frame = pd.DataFrame({"1R-1W": [1, 2]}, index=["reads, mean", "dead replicas, reads"])
    table = {"caption": "What?", "links": {"reads, ": "latency"}}
    cell = new_code_cell("a", outputs=shown(frame), metadata={"table": table})
    layout.caption([cell], "x")
    found = BeautifulSoup(cell.outputs[0].data["text/html"], "html.parser").select("th a")
    assert [(link["href"], link.get_text()) for link in found] == [("latency.html", "reads, mean")]


@pytest.mark.parametrize(
    ("columns", "shown_as"),
    [(["1R-3W", "2R-2W"], ["", "ONE/ALL", "QUORUM/QUORUM"]), (["3R-3W", "1R-5W"], ["", "3R-3W", "1R-5W"])],
    ids=["three replicas", "five"],
)
def test_settings_of_three_replicas_are_pairs_of_levels(columns, shown_as):
    frame = pd.DataFrame([[1, 2]], index=["reads"], columns=columns)
    cell = new_code_cell("a", outputs=shown(frame), metadata={"table": {"caption": "Is 2R-2W fast?"}})
    layout.caption([cell], "x")
    html = cell.outputs[0].data["text/html"]
    assert values_of(html)[1][0] == shown_as
    assert "Is QUORUM/QUORUM fast?" in html


def test_values_are_those_of_the_table_with_spans_filled_in(by_level):
    cell = new_code_cell("a", outputs=shown(by_level), metadata={"table": {"caption": "What?"}})
    layout.caption([cell], "x")
    _, rows = values_of(cell.outputs[0].data["text/html"])
    assert rows == [
        ["", "", "latency, ms", "latency, ms"],
        ["", "", "ONE", "ALL"],
        ["operation", "threads", "", ""],
        ["READ", "10", "1 ±2%", "3, at most"],
        ["READ", "50", "2", "4"],
        ["WRITE", "10", "5", "é"],
    ]


def test_words_before_something_else_than_a_table_stay():
    label, text = new_output("display_data", {"text/markdown": "*a*"}), new_output("stream", name="stdout", text="b")
    cell = new_code_cell("a", outputs=[label, text, label], metadata={"table": {"caption": "What?"}})
    layout.caption([cell], "x")
    assert cell.outputs == [label, text, label]


@pytest.mark.parametrize("path", notebooks.analyse_notebooks(), ids=lambda path: path.stem)
def test_every_table_of_the_book_has_a_caption(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    bare = [
        cell.source for cell in cells if layout.KEY not in cell.metadata and any(map(layout.has_table, cell.outputs))
    ]
    assert not bare
    assert all(cell.metadata[layout.KEY]["caption"] for cell in cells if layout.KEY in cell.metadata)


def test_the_strip_of_evidence_stands_last_and_leads_to_the_data(tmp_path):
    strip = describe(["quick-2.1.20", "switches-2.1.20"])._repr_html_()
    cells = [
        new_markdown_cell("# Words\n"),
        new_code_cell("describe()", outputs=[new_output("execute_result", {"text/html": strip, "text/plain": "..."})]),
        new_markdown_cell("## More\n"),
    ]
    executed = tmp_path / "words.ipynb"
    nbformat.write(new_notebook(cells=cells), executed)
    offered = layout.stage(executed, tmp_path / "page.ipynb")
    assert offered == ["quick-2.1.20", "switches-2.1.20"]
    staged = nbformat.read(tmp_path / "page.ipynb", as_version=4).cells
    assert staged[1].outputs == []
    assert "<code>quick-2.1.20</code>" in staged[2].source
    assert 'href="#evidence"' in staged[2].source
    assert staged[3].source == "## More\n"
    assert '<div id="evidence">' in staged[4].source
    soup = BeautifulSoup(staged[5].source, "html.parser")
    links = [link["href"] for link in soup.select(".evidence a[download]")]
    assert links == [f"../../_static/records/{name}.zip" for name in offered]


def test_captions_link_the_function_that_computes_what_they_stand_at(by_level):
    cells = [
        new_code_cell("from cassbook.book.chapters import failures, failures_figures\nprint(1)"),
        new_code_cell(
            "failures.by_version(runs, lambda run: failures.noticed_shown(failures.noticed(run)))",
            outputs=shown(by_level), metadata={"table": {"caption": "What?"}},
        ),
        new_code_cell("failures_figures.trade_off(x)", metadata={"mystnb": {"figure": {"caption": "Which?"}}}),
        new_code_cell("other.thing(x)", metadata={"mystnb": {"figure": {"caption": "Whose?"}}}),
    ]  # fmt: skip
    layout._name_functions(cells)
    layout.caption(cells, "x")
    page = "../../book/library/chapters.html#cassbook.book.chapters"
    (link,) = BeautifulSoup(cells[1].outputs[0].data["text/html"], "html.parser").select("figcaption a:not([download])")
    assert (link.text, link["href"]) == ("noticed()", f"{page}.failures.noticed")
    assert f'href="{page}.failures_figures.trade_off"' in cells[2].metadata["mystnb"]["figure"]["caption"]
    assert cells[3].metadata["mystnb"]["figure"]["caption"] == "Whose?"


def test_data_of_a_record_are_its_manifest_and_tables(tmp_path):
    publication.offer_data(["quick-2.1.20", "quick-2.1.20", "faults-5.0.9"], tmp_path / "records")
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == ["faults-5.0.9.zip", "quick-2.1.20.zip"]
    with zipfile.ZipFile(tmp_path / "records" / "quick-2.1.20.zip") as packed:
        names = packed.namelist()
        cells = pd.read_csv(packed.open("quick-2.1.20/cells.csv"))
    assert "quick-2.1.20/manifest.json" in names
    assert {name.rpartition(".")[2] for name in names} == {"json", "csv"}
    assert len(cells) == len(open_run("quick-2.1.20").cells)
