"""The page of `cassbook report`: whole, by itself, and safe to send."""

import html
import re
from html.parser import HTMLParser

import pytest

from cassbook.book import report
from tests.helpers.command import cassbook
from tests.helpers.data import ROOT
from tests.helpers.made_runs import report_run

RAW = ROOT / "tests" / "data" / "logs" / "ycsb-0.17.0" / "raw.txt"


@pytest.fixture(scope="module")
def page():
    return report.page([report_run()])


class Page(HTMLParser):
    """Names and addresses of a page; an error where its elements do not nest."""

    ALONE = frozenset({"meta", "link", "use", "path", "rect"})

    def __init__(self, text):
        super().__init__()
        self.ids, self.addresses, self.open = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.addresses += [given[key] for key in ("href", "src", "xlink:href") if key in given]
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.ALONE:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.ALONE:
            assert self.open.pop() == tag


def test_it_holds_everything_and_asks_nothing_of_a_network(page):
    parts = Page(page)
    assert len(parts.ids) == len(set(parts.ids))
    assert {address for address in parts.addresses if not address.startswith("#")} == {"data:,"}
    assert {address[1:] for address in parts.addresses if address.startswith("#")} <= set(parts.ids)
    assert set(re.findall(r"url\(#([^)]*)\)", page)) <= set(parts.ids)
    assert "http" not in page
    assert len(page) < 200_000
    for said in (
        "mine: Cassandra 2.1.20, 18 cells in 3 blocks", "nodes and client share the 2 cores of one machine (made)",
        '<td>QUORUM/QUORUM</td><td class="number">1</td><td class="number">1</td><td class="wide">goes on</td>',
        "Over all loads together", "<figcaption>p99</figcaption>", "p99 against throughput",
        "Mixes of reads and writes",
        "p99.9 of 18 cells is not shown: it needs 10,000 operations per cell", "(Little's law)", "<dd>0.12</dd>",
        "The whole manifest", '"seed": 20200908',
    ):  # fmt: skip
        assert said in html.unescape(page)
    assert "<figcaption>p99.9</figcaption>" not in page


def test_the_sums_of_its_files_stay_out_and_names_are_escaped(page, tmp_path):
    assert "sums" not in page
    log = tmp_path / "<b>&.txt"
    log.write_bytes(RAW.read_bytes())
    assert cassbook("report", log, "--output", tmp_path / "r.html").exit_code == 0
    text = (tmp_path / "r.html").read_text()
    assert "&lt;b&gt;&amp;.txt" in text
    assert "<b>" not in text
    Page(text)


def test_a_run_without_cells_has_its_notes_and_its_manifest_and_no_tables():
    run = report_run("nothing")
    run.statistics, run.notes = run.statistics.iloc[:0], ["Its log ended early."]
    text = report.page([run])
    Page(text)
    assert "<li>Its log ended early.</li>" in text
    assert "<dt>Machine</dt><dd>cpu made, cores 2</dd>" in text
    assert "In short" not in text
    assert "<table>" not in text


def test_each_further_run_is_compared_with_the_first():
    text = report.page([report_run("first"), report_run("second", seed=2), report_run("third", threads=(7,))])
    Page(text)
    assert "first and second compared" in text
    assert "The largest differences, second by first:" in text
    assert not re.search(r">\d[.\d]*e[+-]\d", text)
    assert "no cell in common" in text[text.index("first and third compared") :]


def test_an_output_that_exists_is_kept_and_none_is_left_half_made(tmp_path, monkeypatch):
    place = tmp_path / "r.html"
    place.write_text("mine")
    done = cassbook("report", RAW, "--output", place)
    assert (done.exit_code, place.read_text()) == (2, "mine")
    assert f"--output {place}: exists; --force overwrites it" in done.output
    assert f"{tmp_path}: is a folder" in cassbook("report", RAW, "--output", tmp_path, "--force").output
    assert "there is no folder" in cassbook("report", RAW, "--output", tmp_path / "a" / "r.html").output
    assert cassbook("report", "nothing", "--output", place, "--force").exit_code == 2
    assert place.read_text() == "mine"
    assert cassbook("report", RAW, "--output", place, "--force").exit_code == 0
    assert place.read_text().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
